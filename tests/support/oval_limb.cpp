#include "tests/support/oval_limb.h"

#include <string>

#include <Eigen/Geometry>

#include <sinew/core/smooth_step.h>
#include <sinew/skinning/weights.h>

#include "tests/support/grid_tube.h"

namespace sinew::test {

OvalLimb::OvalLimb(const OvalLimbOptions& options) {
  GridTubeOptions tube;
  tube.rings = options.rings;
  tube.segments = options.segments;
  tube.radius = options.height;
  scene = make_grid_tube(tube);
  scene.clips.clear();
  SceneMesh& mesh = scene.meshes[0];
  for (Vec3f& p : mesh.surface.positions) {
    p.y() += options.raised;
    p.z() *= options.depth / options.height;
  }

  const float begin = -0.45f * tube.length, step = 0.9f * tube.length / static_cast<float>(options.bones);
  scene.skeleton.joints.clear();
  scene.skins[0].joints.clear();
  scene.skins[0].joint_from_mesh.clear();
  for (int k = 0; k <= options.bones; ++k) {
    const float at = begin + static_cast<float>(k) * step;
    scene.skeleton.joints.push_back({"bone " + std::to_string(k), k - 1, {}, k < options.bones});
    scene.skeleton.joints.back().rest.translation = {k == 0 ? begin : step, 0, 0};
    if (k == options.bones) break;
    if (k > 0) joints.emplace_back(at, 0, 0);
    scene.skins[0].joints.push_back(k);
    scene.skins[0].joint_from_mesh.push_back(Mat4f::Identity());
    scene.skins[0].joint_from_mesh.back()(0, 3) = -at;
  }

  mesh.weights = {};
  WeightRepairs repairs;
  for (const Vec3f& p : mesh.surface.positions) {
    std::vector<Influence> row;
    float above = 1;
    for (int k = 0; k < options.bones; ++k) {
      const float next = begin + static_cast<float>(k + 1) * step;
      const float below =
          k + 1 < options.bones ? smooth_step(next - options.blend, next + options.blend, p.x()) : 0.0f;
      row.push_back({static_cast<std::uint32_t>(k), above - below});
      above = below;
    }
    append_row(mesh.weights, row, 0, repairs);
  }
  scene.joint_nodes.assign(scene.skeleton.size(), -1);
  check_scene(scene);
}

std::vector<Affine3d> OvalLimb::posed(std::span<const Eigen::AngleAxisd> turns) const {
  std::vector<Affine3d> result{Affine3d::Identity()};
  for (std::size_t k = 0; k < turns.size(); ++k)
    result.emplace_back(result[k] * Eigen::Translation3d(joints[k]) * turns[k] *
                        Eigen::Translation3d(-joints[k]));
  return result;
}

}  // namespace sinew::test
