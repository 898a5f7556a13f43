#include <sinew/layers/wrinkle_layer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/core/smooth_step.h>
#include <sinew/geometry/incidence.h>
#include <sinew/layers/wrinkle_anchors.h>

namespace sinew {

namespace {

constexpr double kEdgesAcross = 4;  // of half the width
constexpr std::size_t kFewestPathPoints = 9, kMostPathPoints = 65;
// Points farther from the skin than this share of their segment were hardly meant for it.
constexpr double kFarFromSkin = 0.5;
// Sums of normals this much shorter than their parts are no directions, and full ones.
constexpr float kDisagreeing = 0.2f, kAgreeing = 0.7f;
// Folds that lean against each other stop at this share of the height at which two points would meet: crests
// are no points.
constexpr double kCloseness = 0.4;
constexpr std::size_t kItemsPerTask = 2048;

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
double winding_side(const Character& character, const WrinkleAnchors& anchors) {
  const CharacterMesh& mesh = character.meshes()[anchors.mesh];
  return static_cast<double>(mesh.slot_sign[mesh.weld.first_vertex[anchors.from - mesh.first_vertex]]);
}

WrinkleRegion find_region(const Character& character, const WrinkleChoice& choice,
                          const WrinkleAnchors& anchors, const WrinkleCurve& curve) {
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
    WrinkleConcavity::State concavity;
    bool active = false;
    float side = 1;  // -1: the normals point inwards in this frame
  };
  std::vector<ToolState> tools;

  std::size_t bytes() const override {
    std::size_t sum =
        held_bytes(triangle_normals, normals, triangle_done, normal_done, lifted, heights, tightness, tools);
    for (const ToolState& tool : tools) sum += tool.heights.bytes() + tool.concavity.bytes();
    return sum;
  }
};

/// h for small h, never more than 1 / tightness, smooth between.
double bounded(double h, double tightness) {
  const double r = h * tightness, s = r * r;
  return h / std::sqrt(std::sqrt(1 + s * s));
}

}  // namespace

std::vector<std::uint8_t> WrinkleLayerOptions::triangle_levels(const Character& character) const {
  std::vector<std::uint8_t> levels(refine > 0 && !tools.empty() ? character.triangles().size() : 0, 0);
  if (levels.empty()) return levels;
  const WrinkleAnchorFinder anchor_finder(character);
  const MeshView mesh{character.rest(), character.triangles()};
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const std::string where = tool_label(i, tools[i]);
    const WrinkleCurve curve = make_curve(tools[i], where);
    const WrinkleAnchors anchors = anchor_finder.find(tools[i], where);
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
  const WrinkleAnchorFinder anchor_finder(character);
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
    const WrinkleAnchors anchors = anchor_finder.find(choice, where);
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
    tool.concavity = WrinkleConcavity(character, tool.region, anchors.from, tool.side);
    tool.own_normals = tool.own_vertices;
    for (const std::uint32_t v : tool.concavity.vertices()) {
      tool.own_corners.push_back(number_of(v));
      tool.own_normals.push_back(tool.own_corners.back());
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
    WrinkleState::ToolState own;
    own.heights = tool.curve.make_heights();
    own.concavity = tool.concavity.make_state();
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
    const bool mirrored = tool.concavity.is_mirrored(frame);
    own.side = static_cast<float>(mirrored ? -tool.side : tool.side);
    tool.concavity.find(
        tool.region, frame, before,
        [&](std::size_t corner) {
          return Vec3d(static_cast<double>(own.side) * s.normals[tool.own_corners[corner]].cast<double>());
        },
        own.concavity);
    const double shown = smooth_step(0.0, std::max(tool.fade * tool.rest_length, 1e-300), lost);
    const double scale = tool.strength * shown;
    parallel_blocks(tool.places.size(), kItemsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const WrinkleVertex& vertex = tool.region.vertices[k];
        // A tool that is just coming up does not press others' folds down at once.
        const double tightness = shown / kCloseness * WrinkleConcavity::tightness_at(own.concavity, vertex);
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
      const float free_motion = frame.free_motion.empty() ? 1.0f : frame.free_motion[moved_[v]];
      const auto height = static_cast<float>(bounded(s.heights[v], s.tightness[v]));
      positions[moved_[v]] += free_motion * own.side * height * s.normals[v];
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
