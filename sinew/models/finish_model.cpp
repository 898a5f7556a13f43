#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/geometry/remesh.h>
#include <sinew/models/diffused_weights.h>
#include <sinew/models/models.h>

namespace sinew {

namespace {

/// How far weights reach beyond a joint, in radii of the limb.
constexpr double kBlendReach = 0.45;

/// The surface, which must not have holes through it: a finer grid is tried where a coarse one makes some.
IsoSurface extract_ball(std::string_view name, const SolidFunction& solid, const Vec3d& inside, double cell) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    IsoSurface surface = extract_isosurface(solid, inside, cell);
    // Euler's formula for a closed surface: V - E + F = 2, with 3 F = 2 E.
    if (surface.positions.size() == surface.triangles.size() / 2 + 2) return surface;
    cell *= 0.7;
  }
  throw Error(
      fmt::format("{}: proportions so far from 1 tear holes into the body; choose milder ones", name));
}

}  // namespace

BuiltModel finish_model(std::string_view name, Rig rig, const Flesh& flesh, const Vec3d& inside, double cell,
                        std::size_t vertices, const Progress& progress) {
  const SolidFunction solid = flesh.solid();
  const IsoSurface surface = remesh(extract_ball(name, solid, inside, cell), solid, vertices,
                                    [&](double share) { return !progress || progress(0.8 * share); });
  std::vector<int> part;
  std::vector<double> reach;
  std::vector<Vec3f> positions;
  for (const Vec3d& p : surface.positions) {
    positions.push_back(p.cast<float>());
    int nearest = -1;
    double distance = std::numeric_limits<double>::infinity();
    for (const int joint : flesh.joints_at(p)) {
      const double d = rig.squared_distance(joint, p);
      if (d < distance) {
        distance = d;
        nearest = joint;
      }
    }
    part.push_back(nearest);
    reach.push_back(kBlendReach * flesh.thickness(p));
  }

  Scene scene;
  scene.source = "model:" + std::string(name);
  scene.skeleton = rig.skeleton();
  Skin skin{std::string(name), {}, {}};
  for (std::size_t j = 0; j < rig.size(); ++j) {
    skin.joints.push_back(static_cast<int>(j));
    Mat4f joint_from_mesh = Mat4f::Identity();
    joint_from_mesh.topRightCorner<3, 1>() = -rig.joints()[j].head.cast<float>();
    skin.joint_from_mesh.push_back(joint_from_mesh);
  }
  scene.skins.push_back(std::move(skin));
  SceneMesh mesh;
  mesh.name = std::string(name);
  mesh.skin = 0;
  mesh.surface = make_mesh(std::move(positions), surface.triangles);
  mesh.weights = diffused_weights(mesh.surface.view(), part, rig.size(), reach);
  scene.meshes.push_back(std::move(mesh));
  scene.joint_nodes.assign(scene.skeleton.size(), -1);
  scene.mesh_nodes.assign(scene.meshes.size(), -1);
  report_progress(progress, 1);
  return {std::move(scene), std::move(rig)};
}

}  // namespace sinew
