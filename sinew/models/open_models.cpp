#include <sinew/models/open_models.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/models/keys.h>

namespace sinew {

namespace {

constexpr std::array<OpenModel, 2> kOpenModels{{
    {"forehead", "a patch of skin whose brow rises", make_forehead_model},
    {"trousers", "loose trousers that sit down", make_trousers_model},
}};

constexpr int kLastFrame = 60;

/// From 0 to 1 at half time and back, level at all three: the clip can be played again and again.
double there_and_back(int frame) {
  return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * frame / kLastFrame);
}

const OpenModel* find_open_model(std::string_view name) {
  const auto found = std::find_if(kOpenModels.begin(), kOpenModels.end(),
                                  [&](const OpenModel& model) { return model.name == name; });
  return found == kOpenModels.end() ? nullptr : &*found;
}

// The forehead's ellipsoid is round about the x axis, so that skin slides along it by turning about that
// axis.
constexpr double kForeheadRadius = 0.10;
constexpr double kForeheadHalfWidth = 0.08, kForeheadHalfHeight = 0.04;
constexpr double kForeheadReachX = 0.12;  // semi-axis
constexpr double kBrowRise = 0.02;        // metres along the skin

/// `depth` below the middle of the patch at `angle` above the horizon.
Vec3d below_forehead(double angle, double depth) {
  return (kForeheadRadius - depth) * Vec3d(0, std::sin(angle), std::cos(angle));
}

/// Which side of a horizontal cut remains.
enum class Keep { below, above };

/// Opens a garment: takes away what lies beyond the plane y = `height`, with a straight border. Vertices near
/// the plane are moved into it first, and only then are the triangles that still cross it cut, as isosurface
/// stuffing does: cutting alone would leave slivers.
class Cutter {
 public:
  Cutter(SceneMesh& mesh, const Flesh& flesh, double height, Keep keep)
      : mesh_(mesh),
        flesh_(flesh),
        height_(height),
        keep_(keep),
        positions_(mesh.surface.positions),
        weights_(mesh.weights) {}

  void cut() {
    snap();
    for (const Triangle& triangle : mesh_.surface.triangles) clip(triangle);
    drop_unused();
  }

 private:
  static constexpr double kSnap = 0.45;  // of the shortest edge at the vertex

  double inside_by(const Vec3f& p) const {
    const double above = static_cast<double>(p.y()) - height_;
    return keep_ == Keep::above ? above : -above;
  }

  /// Into the plane and, within it, back onto the solid's surface.
  Vec3f onto_border(const Vec3f& from) const {
    Vec3d p(from.x(), height_, from.z());
    for (int step = 0; step < 4; ++step) {
      const SolidSample sample = flesh_.sample(p);
      const Vec3d level(sample.gradient.x(), 0, sample.gradient.z());
      p -= sample.value / level.squaredNorm() * level;
    }
    return p.cast<float>();
  }

  void snap() {
    std::vector<float> shortest(positions_.size(), std::numeric_limits<float>::infinity());
    for (const Triangle& t : mesh_.surface.triangles)
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t a = t[k], b = t[(k + 1) % 3];
        const float length = (positions_[a] - positions_[b]).norm();
        shortest[a] = std::min(shortest[a], length);
        shortest[b] = std::min(shortest[b], length);
      }
    for (std::size_t v = 0; v < positions_.size(); ++v) {
      const double inside = inside_by(positions_[v]);
      const bool on_border = std::abs(inside) < kSnap * static_cast<double>(shortest[v]);
      if (on_border) positions_[v] = onto_border(positions_[v]);
      sides_.push_back(on_border ? 0 : inside > 0 ? 1 : -1);
    }
  }

  /// The vertex where an edge crosses the plane; made once for both of the edge's triangles.
  std::uint32_t crossing(std::uint32_t a, std::uint32_t b) {
    const auto [entry, is_new] = crossings_.try_emplace(std::minmax(a, b), 0);
    if (!is_new) return entry->second;
    entry->second = static_cast<std::uint32_t>(positions_.size());
    const auto share =
        static_cast<float>(inside_by(positions_[a]) / (inside_by(positions_[a]) - inside_by(positions_[b])));
    positions_.push_back(onto_border(positions_[a] + share * (positions_[b] - positions_[a])));
    // Cuts go where one joint leads alone, so the weights of either end will do.
    append(weights_, sides_[a] > 0 ? a : b);
    return entry->second;
  }

  void clip(const Triangle& triangle) {
    std::array<std::uint32_t, 4> corners{};
    std::size_t count = 0;
    bool any_inside = false;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = triangle[k], b = triangle[(k + 1) % 3];
      any_inside = any_inside || sides_[a] > 0;
      if (sides_[a] >= 0) corners[count++] = a;
      if (sides_[a] * sides_[b] < 0) corners[count++] = crossing(a, b);
    }
    if (!any_inside) return;
    for (std::size_t k = 2; k < count; ++k) triangles_.push_back({corners[0], corners[k - 1], corners[k]});
  }

  /// Appends the row of vertex v.
  void append(SkinWeights& rows, std::size_t v) const {
    for (std::size_t k = 0, size = weights_.row_size(v); k < size; ++k) {
      rows.joints.push_back(weights_.joints[weights_.starts[v] + k]);
      rows.values.push_back(weights_.values[weights_.starts[v] + k]);
    }
    rows.starts.push_back(static_cast<std::uint32_t>(rows.joints.size()));
  }

  void drop_unused() {
    std::vector<bool> used(positions_.size(), false);
    for (const Triangle& t : triangles_)
      for (const std::uint32_t v : t) used[v] = true;
    std::vector<std::uint32_t> renumbered(positions_.size(), 0);
    std::vector<Vec3f> kept;
    SkinWeights kept_weights;
    for (std::size_t v = 0; v < positions_.size(); ++v) {
      if (!used[v]) continue;
      renumbered[v] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(positions_[v]);
      append(kept_weights, v);
    }
    for (Triangle& t : triangles_)
      for (std::uint32_t& v : t) v = renumbered[v];
    mesh_.surface = make_mesh(std::move(kept), triangles_);
    mesh_.weights = std::move(kept_weights);
  }

  SceneMesh& mesh_;
  const Flesh& flesh_;
  double height_;
  Keep keep_;
  std::vector<Vec3f> positions_;
  SkinWeights weights_;
  std::vector<int> sides_;  // 1: stays, 0: on the border, -1: goes
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> crossings_;
  std::vector<Triangle> triangles_;
};

/// A belt holds the waist: weights go over to `hips` on the way up from `low` to `high` (heights in metres).
SkinWeights belted(const SceneMesh& mesh, int hips, double low, double high) {
  SkinWeights belted;
  WeightRepairs repairs;
  for (std::size_t v = 0; v < mesh.weights.rows(); ++v) {
    const double height = static_cast<double>(mesh.surface.positions[v].y());
    const auto held = static_cast<float>(smooth((height - low) / (high - low)));
    std::vector<Influence> row{{static_cast<std::uint32_t>(hips), held}};
    for (std::size_t k = 0; k < mesh.weights.row_size(v); ++k)
      row.push_back({mesh.weights.row_joints(v)[k], (1 - held) * mesh.weights.row_values(v)[k]});
    append_row(belted, row, 4, repairs);
  }
  return belted;
}

}  // namespace

Scene make_forehead_model(const Progress& progress) {
  constexpr std::uint32_t kColumns = 33, kRows = 21;
  const double steepest = std::asin(kForeheadHalfHeight / kForeheadRadius);
  const double widest = std::asin(kForeheadHalfWidth / kForeheadReachX);
  SceneMesh mesh;
  mesh.name = "forehead";
  mesh.skin = 0;
  std::vector<Vec3f> positions;
  for (std::uint32_t row = 0; row < kRows; ++row)
    for (std::uint32_t column = 0; column < kColumns; ++column) {
      const double up = row / (kRows - 1.0), across = column / (kColumns - 1.0);
      const double angle = (2 * up - 1) * steepest, turn = (2 * across - 1) * widest;
      const double radius = kForeheadRadius * std::cos(turn);
      positions.push_back(
          Vec3d(kForeheadReachX * std::sin(turn), radius * std::sin(angle), radius * std::cos(angle))
              .cast<float>());
      mesh.texcoords.values.emplace_back(static_cast<float>(across), static_cast<float>(1 - up));
    }
  Polygons quads;
  for (std::uint32_t row = 0; row + 1 < kRows; ++row)
    for (std::uint32_t column = 0; column + 1 < kColumns; ++column) {
      const std::uint32_t first = row * kColumns + column;
      quads.add(std::array{first, first + 1, first + kColumns + 1, first + kColumns});
    }
  mesh.texcoords.corners = quads.corners;
  mesh.surface = make_mesh(std::move(positions), std::move(quads));

  constexpr std::uint32_t kScalp = 0, kBrow = 1;
  WeightRepairs repairs;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    // A fifth of the rows below and above is led by one joint alone.
    const double scalp = smooth((row / (kRows - 1.0) - 0.2) / 0.6);
    for (std::uint32_t column = 0; column < kColumns; ++column) {
      std::array<Influence, 2> influences{
          {{kScalp, static_cast<float>(scalp)}, {kBrow, static_cast<float>(1 - scalp)}}};
      append_row(mesh.weights, influences, 2, repairs);
    }
  }

  Scene scene;
  scene.source = "model:forehead";
  const double depth = 0.02;
  const Vec3d scalp = below_forehead(steepest, depth), brow = below_forehead(-steepest, depth);
  scene.skeleton.joints = {{"scalp", -1, {}, true}, {"brow", kScalp, {}, true}};
  scene.skeleton.joints[kScalp].rest.translation = scalp.cast<float>();
  scene.skeleton.joints[kBrow].rest.translation = (brow - scalp).cast<float>();
  Skin skin{"forehead", {kScalp, kBrow}, {Mat4f::Identity(), Mat4f::Identity()}};
  skin.joint_from_mesh[kScalp].topRightCorner<3, 1>() = -scalp.cast<float>();
  skin.joint_from_mesh[kBrow].topRightCorner<3, 1>() = -brow.cast<float>();
  scene.skins.push_back(std::move(skin));
  scene.meshes.push_back(std::move(mesh));
  scene.joint_nodes.assign(scene.skeleton.size(), -1);
  scene.mesh_nodes.assign(scene.meshes.size(), -1);

  // Turning about the ellipsoid's axis, not about the joint, slides the brow along the skin.
  Channel move{static_cast<int>(kBrow), ChannelPath::translation, Interpolation::linear, 3, {}, {}};
  Channel turn{static_cast<int>(kBrow), ChannelPath::rotation, Interpolation::linear, 4, {}, {}};
  for (int frame = 0; frame <= kLastFrame; ++frame) {
    const double angle = there_and_back(frame) * kBrowRise / kForeheadRadius;
    const Vec3d place = below_forehead(angle - steepest, depth) - scalp;
    const Quatd rotation = about_x(-angle / kDegree);
    for (Channel* channel : {&move, &turn})
      channel->times.push_back(static_cast<float>(frame / kFramesPerSecond));
    for (int axis = 0; axis < 3; ++axis) move.values.push_back(static_cast<float>(place[axis]));
    for (const double part : {rotation.x(), rotation.y(), rotation.z(), rotation.w()})
      turn.values.push_back(static_cast<float>(part));
  }
  scene.clips.push_back({"raise", {std::move(move), std::move(turn)}});
  report_progress(progress, 1);
  return scene;
}

Scene make_trousers_model(const Progress& progress) {
  constexpr double kWaist = 1.05, kAnkle = 0.12;
  constexpr std::size_t kClosedVertices = 4550;  // about 4000 remain
  Rig rig;
  Flesh flesh;
  const Vec3d x = Vec3d::UnitX();
  const int hips =
      rig.add("hips", -1, {0, 0.955, 0}, {0, kWaist, 0}, x, {{-180, 180}, {-90, 90}, {-180, 180}});
  // Ends above the waist, so that the cut goes through a plain wall.
  flesh.add_ellipsoid({0, 0.05, {hips}}, {0, 0.975, 0}, {0.18, 0.175, 0.125});
  flesh.carve_beyond({0, 0.03, {}}, {0, kWaist + 0.06, 0}, Vec3d::UnitY());
  for (const double side : {1.0, -1.0}) {
    const std::string suffix = side > 0 ? ".L" : ".R";
    const Vec3d hip(side * 0.10, 0.90, 0), knee(side * 0.125, 0.50, 0), ankle(side * 0.145, 0.09, 0);
    const int thigh = rig.add("thigh" + suffix, hips, hip, knee, -x, {{-30, 135}, {-50, 50}, {-45, 45}});
    const int shin = rig.add("shin" + suffix, thigh, knee, ankle, x, {{0, 150}, {-3, 3}, {-10, 10}});
    flesh.add_ellipsoid({0, 0.05, {hips}}, {side * 0.075, 0.915, -0.05}, {0.09, 0.10, 0.085});
    const int leg = flesh.add_group(0, 0.04);
    flesh.add_cone({leg, 0.01, {thigh, hips}}, {side * 0.1025, 0.86, 0}, 0.098, knee, 0.075);
    flesh.add_cone({leg, 0.01, {shin, thigh}}, knee, 0.075, ankle, 0.07);
  }
  BuiltModel model =
      finish_model("trousers", std::move(rig), flesh, {0, 1, 0}, 0.02, kClosedVertices, progress);
  SceneMesh& mesh = model.scene.meshes[0];
  Cutter(mesh, flesh, kWaist, Keep::below).cut();
  Cutter(mesh, flesh, kAnkle, Keep::above).cut();
  mesh.weights = belted(mesh, hips, kWaist - 0.13, kWaist - 0.03);

  const Rig& r = model.rig;
  model.scene.clips.push_back(make_clip(r, "sit", kLastFrame, kFramesPerSecond, [&](int frame) {
    Posture posture = r.rest();
    for (const char* suffix : {".L", ".R"}) {
      const auto at = [&](const char* joint) -> Angles& {
        return posture.angles[to_size(r.at(std::string(joint) + suffix))];
      };
      at("thigh").flex = 90 * there_and_back(frame);
      at("shin").flex = 95 * there_and_back(frame);
    }
    return posture;
  }));
  return std::move(model.scene);
}

std::span<const OpenModel> open_models() {
  return kOpenModels;
}

std::string open_model_names() {
  std::string names;
  for (const OpenModel& model : kOpenModels) names += (names.empty() ? "" : ", ") + std::string(model.name);
  return names;
}

Scene make_open_model(std::string_view name, const Progress& progress) {
  const OpenModel* model = find_open_model(name);
  if (!model)
    throw Error(fmt::format("{}: no such built-in open surface; there are: {}", name, open_model_names()));
  Scene scene = model->make(progress);
  check_scene(scene);
  return scene;
}

Scene make_built_in_scene(std::string_view name, const ModelOptions& options, const Progress& progress) {
  if (!find_open_model(name)) {
    const auto closed = models();
    if (std::none_of(closed.begin(), closed.end(), [&](const Model& model) { return model.name == name; }))
      throw Error(fmt::format("{}: no such built-in character; there are: {}; and open surfaces: {}", name,
                              model_names(), open_model_names()));
    return make_model(name, options, progress).scene;
  }
  if (options.vertices != 0)
    throw Error(fmt::format("{}: {} vertices asked for, but this open surface has a fixed number", name,
                            options.vertices));
  const Proportions& p = options.proportions;
  for (const auto& [what, value] : {std::pair("arm", p.arm), std::pair("leg", p.leg),
                                    std::pair("head", p.head), std::pair("girth", p.girth)})
    if (value != 1)
      throw Error(
          fmt::format("{}: {} is {}, but this open surface has no proportions to change", name, what, value));
  return make_open_model(name, progress);
}

}  // namespace sinew
