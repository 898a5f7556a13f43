#include <tests/support/rigged_tube.h>

#include <algorithm>

#include <tests/support/meshes.h>

#include <sinew/core/index.h>

namespace sinew::test {

RiggedTube make_rigged_tube(int around, int along) {
  RiggedTube tube;
  tube.mesh = make_tube(around, along, 0.3f, 2.0f);
  for (const Vec3f& position : tube.mesh.positions)
    tube.upper_weights.push_back(std::clamp((position.y() - 0.25f) / 1.5f, 0.0f, 1.0f));
  return tube;
}

std::vector<Vec3f> RiggedTube::bent(double angle) const {
  const Vec3d joint(0, 1, 0);
  const Mat3d turn = Eigen::AngleAxisd(angle, Vec3d::UnitZ()).toRotationMatrix();
  std::vector<Vec3f> result;
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    const Vec3d rest = mesh.positions[v].cast<double>();
    const double upper = upper_weights[v];
    result.push_back(((1 - upper) * rest + upper * (joint + turn * (rest - joint))).cast<float>());
  }
  return result;
}

Vec3d to_file_axes(const TubeFileOptions& options, const Vec3d& scene) {
  return options.up_axis == 'z' ? Vec3d(scene.x(), -scene.z(), scene.y()) : scene;
}

std::vector<Vec3f> pose_mesh(const Scene& scene, std::size_t m, double seconds) {
  Pose pose = rest_pose(scene);
  if (!scene.clips.empty()) sample_clip(scene.clips[0], seconds, pose);
  std::vector<Affine3d> world(scene.skeleton.size());
  forward_kinematics(scene.skeleton, pose.joints, world);
  const SceneMesh& mesh = scene.meshes[m];
  std::vector<Vec3f> result;
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
    const Vec3d rest = mesh.surface.positions[v].cast<double>();
    if (mesh.skin < 0) {
      result.push_back((mesh.joint < 0 ? rest : world[to_size(mesh.joint)] * rest).cast<float>());
      continue;
    }
    const Skin& skin = scene.skins[to_size(mesh.skin)];
    Vec3d sum = Vec3d::Zero();
    for (std::size_t i = 0; i < mesh.weights.row_size(v); ++i) {
      const std::uint32_t slot = mesh.weights.row_joints(v)[i];
      const Affine3d joint_from_mesh(skin.joint_from_mesh[slot].cast<double>());
      sum += mesh.weights.row_values(v)[i] * (world[to_size(skin.joints[slot])] * (joint_from_mesh * rest));
    }
    result.push_back(sum.cast<float>());
  }
  return result;
}

}  // namespace sinew::test
