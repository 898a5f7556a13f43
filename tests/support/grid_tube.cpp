#include "tests/support/grid_tube.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <sinew/core/error.h>

namespace sinew::test {

namespace {

constexpr double kPi = std::numbers::pi;

Clip turn_clip(const char* name, int joint, const Vec3f& axis) {
  Channel channel;
  channel.target = joint;
  channel.path = ChannelPath::rotation;
  channel.width = 4;
  for (int frame = 0; frame <= 150; ++frame) {
    channel.times.push_back(static_cast<float>(frame / 30.0));
    const Quatf turn(Eigen::AngleAxisf(static_cast<float>(frame * kPi / 180), axis));
    channel.values.insert(channel.values.end(), {turn.x(), turn.y(), turn.z(), turn.w()});
  }
  return {name, {channel}};
}

float smooth_step(float x) {
  x = std::clamp(x, 0.0f, 1.0f);
  return x * x * (3 - 2 * x);
}

}  // namespace

Scene make_grid_tube(const GridTubeOptions& options) {
  if (options.rings < 3 || options.segments < 3 || options.rings > 1'000'000 ||
      options.segments > 1'000'000 || static_cast<double>(options.rings) * options.segments > 1e8)
    throw Error("tube: needs 3 to a million rings and segments, and at most 100 million vertices");
  if (!(options.length > 0) || !(options.radius > 0) || !(options.blend > 0))
    throw Error("tube: length, radius and blend must be positive");

  Scene scene;
  scene.source = "grid tube";
  scene.skeleton.joints.resize(3);
  scene.skeleton.joints[0] = {"lower", -1, {}, true};
  // A joint on the end cap itself would be neither inside nor outside.
  const float bone = 0.45f * options.length;
  scene.skeleton.joints[0].rest.translation = {-bone, 0, 0};
  scene.skeleton.joints[1] = {"upper", 0, {}, true};
  scene.skeleton.joints[1].rest.translation = {bone, 0, 0};
  scene.skeleton.joints[2] = {"tip", 1, {}, false};
  scene.skeleton.joints[2].rest.translation = {bone, 0, 0};

  Skin skin{"tube", {0, 1}, {Mat4f::Identity(), Mat4f::Identity()}};
  skin.joint_from_mesh[0](0, 3) = bone;
  scene.skins.push_back(skin);

  const auto segments = static_cast<std::uint32_t>(options.segments);
  const auto rings = static_cast<std::uint32_t>(options.rings);
  std::vector<Vec3f> positions;
  for (std::uint32_t r = 0; r < rings; ++r)
    for (std::uint32_t s = 0; s < segments; ++s) {
      const double angle = 2 * kPi * s / segments;
      positions.emplace_back(
          static_cast<float>(options.length * (static_cast<double>(r) / (rings - 1) - 0.5)),
          static_cast<float>(options.radius * std::cos(angle)),
          static_cast<float>(options.radius * std::sin(angle)));
    }
  const auto first_pole = static_cast<std::uint32_t>(positions.size());
  positions.emplace_back(-options.length / 2, 0.0f, 0.0f);
  positions.emplace_back(options.length / 2, 0.0f, 0.0f);

  Polygons polygons;
  for (std::uint32_t r = 0; r + 1 < rings; ++r)
    for (std::uint32_t s = 0; s < segments; ++s) {
      const std::uint32_t next = (s + 1) % segments;
      polygons.add(std::array{r * segments + s, r * segments + next, (r + 1) * segments + next,
                              (r + 1) * segments + s});
    }
  for (std::uint32_t s = 0; s < segments; ++s) {
    const std::uint32_t next = (s + 1) % segments, last = (rings - 1) * segments;
    polygons.add(std::array{first_pole, next, s});
    polygons.add(std::array{first_pole + 1, last + s, last + next});
  }

  SceneMesh mesh;
  mesh.name = "tube";
  mesh.skin = 0;
  WeightRepairs repairs;
  for (const Vec3f& p : positions) {
    const float upper = smooth_step(0.5f + p.x() / (2 * options.blend));
    Influence row[2] = {{0, 1 - upper}, {1, upper}};
    append_row(mesh.weights, row, 0, repairs);
  }
  mesh.surface = make_mesh(std::move(positions), std::move(polygons));
  scene.meshes.push_back(std::move(mesh));
  scene.clips.push_back(turn_clip("bend", 1, Vec3f::UnitZ()));
  scene.clips.push_back(turn_clip("twist", 1, Vec3f::UnitX()));
  scene.joint_nodes.assign(scene.skeleton.size(), -1);
  scene.mesh_nodes.assign(scene.meshes.size(), -1);
  check_scene(scene);
  return scene;
}

}  // namespace sinew::test
