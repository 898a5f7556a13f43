#include <sinew/character/wrinkle_layer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/core/pattern.h>
#include <sinew/core/rotation.h>
#include <sinew/core/smooth_step.h>
#include <sinew/geometry/incidence.h>
#include <sinew/scene/refine_mesh.h>

namespace sinew {

namespace {

constexpr std::array<std::string_view, 3> kGrowths{"all", "from_start", "from_both_ends"};
constexpr std::array<std::string_view, 3> kAttenuations{"bell", "linear", "none"};
constexpr std::array<std::string_view, 2> kMeasures{"surface", "chord"};
constexpr double kEdgesAcross = 4;  // of half the width
constexpr std::size_t kFewestPathPoints = 9, kMostPathPoints = 65;
// Points farther from the skin than this share of their segment were hardly meant for it.
constexpr double kFarFromSkin = 0.5;
// Sums of normals this much shorter than their parts are no directions, and full ones.
constexpr float kDisagreeing = 0.2f, kAgreeing = 0.7f;
constexpr std::size_t kItemsPerTask = 2048;

/// A tool's ends on the welded surface.
struct Anchors {
  std::uint32_t from = 0, to = 0;
  std::size_t mesh = 0;
  double far = 0;  ///< of the points from the skin, metres
};

class AnchorFinder {
 public:
  explicit AnchorFinder(const Character& character)
      : character_(character), on_surface_(character.rest().size(), 0) {
    for (const Triangle& triangle : character.triangles())
      for (const std::uint32_t v : triangle) on_surface_[v] = 1;
  }

  Anchors find(const WrinkleChoice& choice, const std::string& where) const {
    std::vector<std::size_t> meshes;
    for (std::size_t m = 0; m < character_.meshes().size(); ++m)
      if (choice.mesh.empty() || matches_pattern(character_.meshes()[m].name, choice.mesh))
        meshes.push_back(m);
    if (meshes.empty()) throw Error(fmt::format("{}: mesh: no mesh fits '{}'", where, choice.mesh));
    Anchors anchors;
    if (choice.from_vertex >= 0 || choice.to_vertex >= 0) {
      if (!choice.points.empty())
        throw Error(fmt::format("{}: points and vertices both say where it lies; give one of them", where));
      if (meshes.size() > 1)
        throw Error(fmt::format("{}: mesh: {} meshes fit '{}'; vertices belong to one", where, meshes.size(),
                                choice.mesh));
      anchors.mesh = meshes[0];
      anchors.from = numbered(choice.from_vertex, anchors.mesh, where + ": from_vertex");
      anchors.to = numbered(choice.to_vertex, anchors.mesh, where + ": to_vertex");
    } else {
      if (choice.points.size() != 2)
        throw Error(fmt::format("{}: points: two are needed, where its segment starts and ends", where));
      anchors.from = nearest(choice.points[0].position(), meshes, anchors, where);
      anchors.to = nearest(choice.points[1].position(), {anchors.mesh}, anchors, where);
    }
    const double length = (character_.rest()[anchors.from] - character_.rest()[anchors.to]).norm();
    if (anchors.from == anchors.to || !(length > 0))
      throw Error(fmt::format("{}: both ends are the same vertex; draw a longer segment", where));
    return anchors;
  }

 private:
  std::uint32_t numbered(int vertex, std::size_t m, const std::string& where) const {
    const CharacterMesh& mesh = character_.meshes()[m];
    if (vertex < 0) throw Error(fmt::format("{}: is missing; both ends are needed", where));
    if (static_cast<std::size_t>(vertex) >= mesh.weld.welded_of_vertex.size())
      throw Error(fmt::format("{}: mesh '{}' has the vertices 0 to {}", where, mesh.name,
                              static_cast<std::int64_t>(mesh.weld.welded_of_vertex.size()) - 1));
    const auto welded = static_cast<std::uint32_t>(
        mesh.first_vertex + mesh.weld.welded_of_vertex[static_cast<std::size_t>(vertex)]);
    if (!on_surface_[welded]) throw Error(fmt::format("{}: vertex {} is in no triangle", where, vertex));
    return welded;
  }

  std::uint32_t nearest(const Vec3d& point, const std::vector<std::size_t>& meshes, Anchors& anchors,
                        const std::string& where) const {
    std::uint32_t best = 0;
    double distance = std::numeric_limits<double>::infinity();
    for (const std::size_t m : meshes) {
      const CharacterMesh& mesh = character_.meshes()[m];
      for (std::size_t v = mesh.first_vertex; v < mesh.first_vertex + mesh.weld.size(); ++v) {
        const double d = (character_.rest()[v].cast<double>() - point).norm();
        if (!on_surface_[v] || d >= distance) continue;
        distance = d;
        best = static_cast<std::uint32_t>(v);
        anchors.mesh = m;
      }
    }
    if (!std::isfinite(distance)) throw Error(fmt::format("{}: there is no skin to lie on", where));
    anchors.far = std::max(anchors.far, distance);
    return best;
  }

  const Character& character_;
  std::vector<char> on_surface_;
};

std::string tool_label(std::size_t number, const WrinkleChoice& choice) {
  return fmt::format("wrinkles: tools: {} ('{}')", number, choice.name);
}

WrinkleCurve make_curve(const WrinkleChoice& choice, const std::string& where) {
  try {
    return WrinkleCurve(choice.shape());
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", where, error.what()));
  }
}

/// Which side of its triangles a mesh shows, at one of its vertices.
double winding_side(const Character& character, const Anchors& anchors) {
  const CharacterMesh& mesh = character.meshes()[anchors.mesh];
  return static_cast<double>(mesh.slot_sign[mesh.weld.first_vertex[anchors.from - mesh.first_vertex]]);
}

WrinkleRegion find_region(const Character& character, const WrinkleChoice& choice, const Anchors& anchors,
                          const WrinkleCurve& curve) {
  WrinkleSegment segment;
  segment.from = anchors.from;
  segment.to = anchors.to;
  const double length =
      (character.rest()[anchors.from].cast<double>() - character.rest()[anchors.to].cast<double>()).norm();
  segment.width = choice.width > 0 ? choice.width : length;
  segment.attenuation = static_cast<WrinkleAttenuation>(choice.attenuation);
  segment.side = winding_side(character, anchors);
  return find_wrinkle_region({character.rest(), character.triangles()}, segment,
                             std::clamp(2 * curve.steps(0) + 1, kFewestPathPoints, kMostPathPoints));
}

struct WrinkleState : LayerState {
  std::uint32_t frame = 0;
  std::vector<Vec3f> triangle_normals, normals;           // not of unit length; of unit length at most
  std::vector<std::uint32_t> triangle_done, normal_done;  // the frame for which they hold
  std::vector<std::uint32_t> lifted;                      // the frame for which `heights` holds
  std::vector<double> heights, tightness;                 // of all tools together
  struct ToolState {
    WrinkleCurve::Heights heights;
    std::vector<double> angles;  // of the bindings that turn it
    std::vector<double> lengths, turns;
    std::array<std::vector<double>, 3> tightness;  // of each path
    bool active = false;
    float side = 1;  // -1: the normals point inwards in this frame
  };
  std::vector<ToolState> tools;
};

/// h for small h, never more than 1 / tightness, smooth between.
double bounded(double h, double tightness) {
  const double r = h * tightness, s = r * r;
  return h / std::sqrt(std::sqrt(1 + s * s));
}

const std::vector<SurfacePoint>& path_of(const WrinkleRegion& region, std::size_t number) {
  return number == 1 ? region.path : region.side_paths[number / 2];
}

/// The turn about an axis of unit length that is in a rotation, from -π to π.
double turn_about(const Vec3d& axis, const Quatd& rotation) {
  const double sign = rotation.w() < 0 ? -1 : 1;
  return 2 * std::atan2(sign * rotation.vec().dot(axis), sign * rotation.w());
}

/// How far a normal leans from `up` against the way `along`, both of unit length, from -π to π: what flanks
/// of a valley do towards its end.
double inward_turn(const Vec3d& normal, const Vec3d& up, const Vec3d& along) {
  return -std::atan2(normal.dot(along), normal.dot(up));
}

/// A turn brought to between -π/2 and π/2: as it is when small, less again beyond a quarter turn, so that it
/// does not jump where half a turn one way becomes half a turn the other way.
double tamed(double turn) {
  turn = std::remainder(turn, 2 * std::numbers::pi);
  if (std::abs(turn) <= std::numbers::pi / 2) return turn;
  return std::copysign(std::numbers::pi - std::abs(turn), turn);
}

/// Finds how tightly the skin under each of the tool's paths is rolled up. Its turns are those of its joints,
/// and what its normals differ from them; these alone would not do: where skin goes through itself they point
/// anywhere.
void set_tightness(const WrinkleLayer::Tool& tool, const LayerFrame& frame, const WrinkleState& state,
                   std::span<const Vec3f> positions, WrinkleState::ToolState& own) {
  const Mat3d start = frame.posed_from_rest[tool.turning_bindings[0]].linear();
  const Mat3d back = start.inverse();
  Vec3d across = start * tool.region.across;
  const bool usable = back.allFinite() && across.allFinite() && across.norm() > 0;
  if (usable) across.normalize();
  const double sign = start.determinant() < 0 ? -1 : 1;  // a mirror turns turns round
  Vec3d along = start * tool.region.along;
  along -= along.dot(across) * across;
  if (along.norm() > 0) along.normalize();
  const Vec3d up = sign * along.cross(across);
  for (std::size_t b = 0; b < tool.turning_bindings.size(); ++b) {
    const Mat3d turned = frame.posed_from_rest[tool.turning_bindings[b]].linear() * back;
    own.angles[b] =
        usable && turned.allFinite() ? sign * turn_about(across, rotation_of(Affine3d(turned))) : 0;
  }
  for (std::size_t p = 0; p < own.tightness.size(); ++p) {
    const std::vector<SurfacePoint>& path = path_of(tool.region, p);
    const WrinkleLayer::Tool::PathTurns& turns = tool.paths[p];
    Vec3d last = path[0].at(positions);
    for (std::size_t i = 0; i < path.size(); ++i) {
      const Vec3d point = path[i].at(positions);
      own.lengths[i] = (i == 0 ? 0 : own.lengths[i - 1]) + (point - last).norm();
      last = point;
      own.turns[i] = turns.at_rest[i];
      for (std::uint32_t k = turns.starts[i]; k < turns.starts[i + 1]; ++k)
        own.turns[i] -= turns.weights[k] * own.angles[turns.bindings[k]];
      Vec3d normal = Vec3d::Zero();
      for (std::size_t c = 0; c < 3; ++c)
        normal += path[i].weights[c] * state.normals[turns.corners[3 * i + c]].cast<double>();
      if (usable && normal.norm() > 0)
        own.turns[i] += tamed(inward_turn(static_cast<double>(own.side) * normal, up, along) - own.turns[i]);
    }
    find_fold_tightness(own.lengths, own.turns, own.tightness[p]);
  }
}

/// At a place of the region: between the paths, and between their points.
double tightness_at(const WrinkleState::ToolState& own, const WrinkleVertex& vertex) {
  const double at = vertex.along * static_cast<double>(own.turns.size() - 1);
  const auto point = std::min(static_cast<std::size_t>(at), own.turns.size() - 2);
  const double t = at - static_cast<double>(point);
  const auto along = [&](std::size_t path) {
    return (1 - t) * own.tightness[path][point] + t * own.tightness[path][point + 1];
  };
  const double side = std::min(std::abs(vertex.across) / WrinkleRegion::kSidePath, 1.0);
  return (1 - side) * along(1) + side * along(vertex.across < 0 ? 0 : 2);
}

/// Normals at rest of the vertices of a region's triangles, zero elsewhere.
std::vector<Vec3d> rest_normals(const Character& character, const WrinkleRegion& region) {
  std::vector<Vec3d> normals(character.rest().size(), Vec3d::Zero());
  for (const std::uint32_t t : region.triangles) {
    const Triangle& triangle = character.triangles()[t];
    const Vec3d a = character.rest()[triangle[0]].cast<double>();
    const Vec3d normal = (character.rest()[triangle[1]].cast<double>() - a)
                             .cross(character.rest()[triangle[2]].cast<double>() - a);
    for (const std::uint32_t v : triangle) normals[v] += normal;
  }
  return normals;
}

void set_paths(const Character& character, std::uint32_t start, WrinkleLayer::Tool& tool) {
  const SkinWeights& weights = character.skin_weights();
  tool.turning_bindings = {weights.row_joints(start)[0]};
  const auto number_of = [&](std::uint32_t binding) {
    const auto found = std::find(tool.turning_bindings.begin(), tool.turning_bindings.end(), binding);
    if (found == tool.turning_bindings.end()) tool.turning_bindings.push_back(binding);
    return static_cast<std::uint32_t>(
        std::find(tool.turning_bindings.begin(), tool.turning_bindings.end(), binding) -
        tool.turning_bindings.begin());
  };
  const std::vector<Vec3d> vertex_normals = rest_normals(character, tool.region);
  for (std::size_t p = 0; p < tool.paths.size(); ++p) {
    WrinkleLayer::Tool::PathTurns& turns = tool.paths[p];
    std::vector<Vec3d> normals;
    for (const SurfacePoint& point : path_of(tool.region, p)) {
      Vec3d normal = Vec3d::Zero();
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = point.corners[c];
        normal += tool.side * point.weights[c] * vertex_normals[v];
        for (std::size_t k = 0; k < weights.row_size(v); ++k) {
          turns.bindings.push_back(number_of(weights.row_joints(v)[k]));
          turns.weights.push_back(point.weights[c] * static_cast<double>(weights.row_values(v)[k]));
        }
      }
      turns.starts.push_back(static_cast<std::uint32_t>(turns.bindings.size()));
      normals.push_back(normal.norm() > 0 ? Vec3d(normal.normalized()) : tool.region.normal);
    }
    turns.at_rest.resize(normals.size());
    find_inward_turns(normals, tool.region.across.normalized(), turns.at_rest);
    const double first = inward_turn(normals[0], tool.region.normal, tool.region.along.normalized());
    for (double& turn : turns.at_rest) turn += first;
  }
}

}  // namespace

void WrinkleChoice::Level::visit(FieldVisitor& fields) {
  fields.number("share", share, 0, 1,
                "of the lost length that its folds take up; shares are scaled to sum 1");
}

void WrinkleChoice::visit(FieldVisitor& fields) {
  fields.text("name", name, "for messages");
  fields.text("mesh", mesh, "name or pattern of the mesh it lies on; none: the one nearest to its start");
  fields.list("points", points, "where its segment starts and ends, at rest; folds run across it");
  fields.integer("from_vertex", from_vertex, -1, 2'000'000'000,
                 "vertex of the file's mesh where it starts, instead of points");
  fields.integer("to_vertex", to_vertex, -1, 2'000'000'000, "and where it ends");
  fields.number("width", width, 0, 1e6, "of the skin that folds, across the segment, metres; 0: its length");
  fields.integer("folds", folds, 1, 64, "of the coarsest level");
  fields.integer("crest", crest, 1, 8, "width of a crest, in control points");
  fields.integer("spacing", spacing, 0, 8, "between two folds, in steps: half widths of a fold");
  fields.choice("growth", growth, kGrowths,
                "all folds at once, one after the other from the start, or from both ends");
  fields.number("height", height, 0.01, 10,
                "of a fold at which the next one grows, in its half widths; when all have it, all go on");
  fields.list("levels", levels, "finer folds upon the folds, each twice as many; none: one level");
  fields.choice("attenuation", attenuation, kAttenuations, "how folds become lower towards their ends");
  fields.boolean("sharp", sharp, "edged crests, as of stiff cloth");
  fields.number("strength", strength, 0, 4, "multiplies the height that is seen");
  fields.number("extension", extension, 0.2, 5,
                "its length when stretched the most, where folds begin, as a share of that at rest");
  fields.number("fade", fade, 0, 0.5, "share of the length that skin takes up before folds show in full");
  fields.choice("measure", measure, kMeasures,
                "its length is measured along the skin, or straight from end to end");
}

WrinkleShape WrinkleChoice::shape() const {
  WrinkleShape shape;
  shape.folds = folds;
  shape.crest = crest;
  shape.spacing = spacing;
  shape.growth = static_cast<WrinkleGrowth>(growth);
  shape.most_height = height;
  shape.sharp = sharp;
  if (!levels.empty()) shape.shares.clear();
  for (const Level& level : levels) shape.shares.push_back(level.share);
  return shape;
}

void WrinkleLayerOptions::visit(FieldVisitor& fields) {
  fields.list("tools", tools, "segments that fold; `sinew suggest --layer wrinkles` finds some");
  fields.integer("refine", refine, 0, kMostRefinement,
                 "how often triangles may be halved where folds need it, once, when the character is made");
  fields.number("detail", detail, 1, 16, "triangle edges that half a fold should have");
  fields.boolean("respect_contact", respect_contact, "skin in contact, as earlier layers say, stays flat");
}

std::vector<std::uint8_t> WrinkleLayerOptions::triangle_levels(const Character& character) const {
  std::vector<std::uint8_t> levels(refine > 0 && !tools.empty() ? character.triangles().size() : 0, 0);
  if (levels.empty()) return levels;
  const AnchorFinder anchor_finder(character);
  const MeshView mesh{character.rest(), character.triangles()};
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const std::string where = tool_label(i, tools[i]);
    const WrinkleCurve curve = make_curve(tools[i], where);
    const Anchors anchors = anchor_finder.find(tools[i], where);
    const WrinkleRegion region = find_region(character, tools[i], anchors, curve);
    const double along = 1 / (detail * static_cast<double>(curve.steps(curve.levels() - 1)));
    for (const std::uint32_t t : region.triangles)
      levels[t] = std::max(levels[t], static_cast<std::uint8_t>(wrinkle_refinement(
                                          mesh, region, t, along, 1 / kEdgesAcross, refine)));
  }
  return levels;
}

WrinkleLayer::WrinkleLayer(const Character& character, const WrinkleLayerOptions& options)
    : respect_contact_(options.respect_contact) {
  const AnchorFinder anchor_finder(character);
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> own_vertex(character.rest().size(), kNone);
  const auto number_of = [&](std::uint32_t v) {
    if (own_vertex[v] == kNone) {
      own_vertex[v] = static_cast<std::uint32_t>(moved_.size());
      moved_.push_back(v);
    }
    return own_vertex[v];
  };
  for (std::size_t i = 0; i < options.tools.size(); ++i) {
    const WrinkleChoice& choice = options.tools[i];
    const std::string where = tool_label(i, choice);
    const Anchors anchors = anchor_finder.find(choice, where);
    Tool tool;
    tool.name = choice.name;
    tool.curve = make_curve(choice, where);
    tool.region = find_region(character, choice, anchors, tool.curve);
    tool.along_surface = choice.measure == 0;
    tool.strength = choice.strength;
    tool.fade = choice.fade;
    tool.side = winding_side(character, anchors);
    if (tool.region.vertices.empty()) {
      notes_.push_back(
          fmt::format("tool '{}' lifts nothing: no skin under its segment faces its way", tool.name));
      continue;
    }
    if (anchors.far > kFarFromSkin * tool.region.chord)
      notes_.push_back(
          fmt::format("tool '{}': its points are up to {:.3g} m away from the skin; points are "
                      "metres in the space of the file at rest",
                      tool.name, anchors.far));
    tool.rest_length = -loss(tool, character.rest()) * choice.extension;
    for (const WrinkleVertex& vertex : tool.region.vertices) {
      tool.places.push_back(tool.curve.place(vertex.along));
      tool.own_vertices.push_back(number_of(vertex.vertex));
    }
    set_paths(character, anchors.from, tool);
    tool.own_normals = tool.own_vertices;
    for (std::size_t p = 0; p < tool.paths.size(); ++p)
      for (const SurfacePoint& point : path_of(tool.region, p))
        for (const std::uint32_t v : point.corners) {
          tool.paths[p].corners.push_back(number_of(v));
          tool.own_normals.push_back(tool.paths[p].corners.back());
        }
    std::sort(tool.own_normals.begin(), tool.own_normals.end());
    tool.own_normals.erase(std::unique(tool.own_normals.begin(), tool.own_normals.end()),
                           tool.own_normals.end());
    tools_.push_back(std::move(tool));
  }

  const Incidence incidence = vertex_incidence(character.rest().size(), character.triangles());
  std::vector<std::uint32_t> own_triangle(character.triangles().size(), kNone);
  for (const std::uint32_t v : moved_) {
    for (const std::uint32_t corner : incidence[v]) {
      std::uint32_t& number = own_triangle[corner / 3];
      if (number == kNone) {
        number = static_cast<std::uint32_t>(triangles_.size());
        triangles_.push_back(character.triangles()[corner / 3]);
      }
      triangle_numbers_.push_back(number);
    }
    triangle_starts_.push_back(static_cast<std::uint32_t>(triangle_numbers_.size()));
  }
  for (Tool& tool : tools_) {
    for (const std::uint32_t v : tool.own_normals)
      tool.own_triangles.insert(tool.own_triangles.end(), triangle_numbers_.begin() + triangle_starts_[v],
                                triangle_numbers_.begin() + triangle_starts_[v + 1]);
    std::sort(tool.own_triangles.begin(), tool.own_triangles.end());
    tool.own_triangles.erase(std::unique(tool.own_triangles.begin(), tool.own_triangles.end()),
                             tool.own_triangles.end());
  }
}

double WrinkleLayer::loss(const Tool& tool, std::span<const Vec3f> positions) {
  const std::vector<SurfacePoint>& path = tool.region.path;
  if (!tool.along_surface)
    return tool.rest_length - (path.back().at(positions) - path.front().at(positions)).norm();
  double length = 0;
  Vec3d last = path.front().at(positions);
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Vec3d next = path[i].at(positions);
    length += (next - last).norm();
    last = next;
  }
  return tool.rest_length - length;
}

std::string WrinkleLayer::idle_because() const {
  if (!tools_.empty()) return "";
  return notes_.empty() ? "its recipe names no tools; `sinew suggest --layer wrinkles` finds some"
                        : "none of its tools lies on skin";
}

std::unique_ptr<LayerState> WrinkleLayer::make_state() const {
  auto state = std::make_unique<WrinkleState>();
  state->triangle_normals.resize(triangles_.size());
  state->triangle_done.resize(triangles_.size(), 0);
  state->normals.resize(moved_.size());
  state->normal_done.resize(moved_.size(), 0);
  state->lifted.resize(moved_.size(), 0);
  state->heights.resize(moved_.size(), 0);
  state->tightness.resize(moved_.size(), 0);
  for (const Tool& tool : tools_) {
    const std::size_t points = tool.region.path.size();
    WrinkleState::ToolState own;
    own.heights = tool.curve.make_heights();
    own.angles.resize(tool.turning_bindings.size());
    own.lengths.resize(points);
    own.turns.resize(points);
    for (std::vector<double>& tightness : own.tightness) tightness.resize(points);
    state->tools.push_back(std::move(own));
  }
  return state;
}

void WrinkleLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = *static_cast<WrinkleState*>(state);
  if (++s.frame == 0) {  // after 2^32 frames no mark may look like this frame's
    for (std::vector<std::uint32_t>* marks : {&s.triangle_done, &s.normal_done, &s.lifted})
      std::fill(marks->begin(), marks->end(), 0);
    s.frame = 1;
  }
  const std::span<const Vec3f> before = positions;
  for (std::size_t i = 0; i < tools_.size(); ++i) {
    const Tool& tool = tools_[i];
    WrinkleState::ToolState& own = s.tools[i];
    const double lost = loss(tool, before);
    own.active = lost > 0 && tool.strength > 0 &&
                 tool.curve.solve(tool.rest_length, tool.rest_length - lost, own.heights);
    if (!own.active) continue;

    parallel_blocks(tool.own_triangles.size(), kItemsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::uint32_t t = tool.own_triangles[k];
        if (s.triangle_done[t] == s.frame) continue;
        s.triangle_done[t] = s.frame;
        const Triangle& triangle = triangles_[t];
        const Vec3f& a = before[triangle[0]];
        s.triangle_normals[t] = (before[triangle[1]] - a).cross(before[triangle[2]] - a);
      }
    });
    parallel_blocks(tool.own_normals.size(), kItemsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::uint32_t v = tool.own_normals[k];
        if (s.normal_done[v] == s.frame) continue;
        s.normal_done[v] = s.frame;
        Vec3f sum = Vec3f::Zero();
        float total = 0;
        for (std::uint32_t j = triangle_starts_[v]; j < triangle_starts_[v + 1]; ++j) {
          sum += s.triangle_normals[triangle_numbers_[j]];
          total += s.triangle_normals[triangle_numbers_[j]].norm();
        }
        // Where triangles face all ways, as in skin that just goes through itself, there is no way up.
        const float length = sum.norm(), agreement = length / total;
        s.normals[v] = agreement > 0 && std::isfinite(agreement)
                           ? Vec3f(sum * (smooth_step(kDisagreeing, kAgreeing, agreement) / length))
                           : Vec3f(Vec3f::Zero());
      }
    });
    const bool mirrored = frame.posed_from_rest[tool.turning_bindings[0]].linear().determinant() < 0;
    own.side = static_cast<float>(mirrored ? -tool.side : tool.side);
    set_tightness(tool, frame, s, before, own);
    const double shown = smooth_step(0.0, std::max(tool.fade * tool.rest_length, 1e-300), lost);
    const double scale = tool.strength * shown;
    parallel_blocks(tool.places.size(), kItemsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const WrinkleVertex& vertex = tool.region.vertices[k];
        // A tool that is just coming up does not press others' folds down at once.
        const double tightness = shown * tightness_at(own, vertex);
        const std::uint32_t v = tool.own_vertices[k];
        if (s.lifted[v] != s.frame) {
          s.heights[v] = 0;
          s.tightness[v] = 0;
        }
        s.lifted[v] = s.frame;
        s.heights[v] += scale * tool.curve.height(own.heights, tool.places[k]) * vertex.share;
        s.tightness[v] = std::max(s.tightness[v], tightness);
      }
    });
  }

  for (std::size_t i = 0; i < tools_.size(); ++i) {
    const WrinkleState::ToolState& own = s.tools[i];
    if (!own.active) continue;
    for (const std::uint32_t v : tools_[i].own_vertices) {
      if (s.lifted[v] != s.frame) continue;
      s.lifted[v] = s.frame - 1;  // of several tools the first moves it
      const float room = frame.room.empty() ? 1.0f : frame.room[moved_[v]];
      const auto height = static_cast<float>(bounded(s.heights[v], s.tightness[v]));
      positions[moved_[v]] += room * own.side * height * s.normals[v];
    }
  }
}

std::unique_ptr<LayerOptions> make_wrinkle_options() {
  return std::make_unique<WrinkleLayerOptions>();
}

std::unique_ptr<const Layer> make_wrinkle_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<WrinkleLayer>(character, dynamic_cast<const WrinkleLayerOptions&>(options));
}

}  // namespace sinew
