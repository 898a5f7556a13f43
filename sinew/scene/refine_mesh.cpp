#include <sinew/scene/refine_mesh.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/butterfly.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/weld.h>
#include <sinew/scene/weld_keys.h>

namespace sinew {

namespace {

using Edge = std::array<std::uint32_t, 2>;

constexpr float kCreaseCosine = 0.866f;  // 30°
// The butterfly ripples where edges of very different length meet. A new vertex lies no farther from where
// the normals at the ends of its edge would have it than this share of the edge,
constexpr double kRipple = 0.02;
// and no farther from the edge's middle than this, normals or not.
constexpr double kFarthestFromEdge = 0.25;

constexpr double kLeastWeight = 1e-4;  // less is the stencil's overshoot

std::uint64_t key_of(std::uint32_t a, std::uint32_t b) {
  return (std::uint64_t{std::min(a, b)} << 32) | std::max(a, b);
}

/// What a polygon corner refers to.
struct RefinedCorner {
  std::uint32_t vertex = 0, texcoord = 0, normal = 0;
};

/// Edges whose two sides show different normals at both ends.
std::vector<Edge> find_creases(const SceneMesh& mesh, std::span<const Triangle> welded,
                               std::span<const char> is_near) {
  std::vector<Edge> creases;
  if (mesh.normals.empty()) return creases;
  struct Side {
    Vec3f low, high;  // normals at the ends, the smaller vertex's first
  };
  std::unordered_map<std::uint64_t, Side> first_sides;
  const auto normal = [&](std::size_t t, std::size_t c) -> const Vec3f& {
    return mesh.normals.values[mesh.normals.corners[mesh.surface.triangle_corners[t][c]]];
  };
  for (std::size_t t = 0; t < welded.size(); ++t) {
    if (!is_near[t]) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t d = (c + 1) % 3;
      const bool swapped = welded[t][c] > welded[t][d];
      const Side side{normal(t, swapped ? d : c), normal(t, swapped ? c : d)};
      const auto [other, added] = first_sides.try_emplace(key_of(welded[t][c], welded[t][d]), side);
      if (added) continue;
      if (other->second.low.dot(side.low) < kCreaseCosine &&
          other->second.high.dot(side.high) < kCreaseCosine)
        creases.push_back({welded[t][c], welded[t][d]});
    }
  }
  return creases;
}

class MeshRefiner {
 public:
  MeshRefiner(const SceneMesh& mesh, std::span<const std::uint8_t> levels, float weld_tolerance)
      : mesh_(mesh), weld_(weld_vertices(mesh.surface.positions, {}, weld_tolerance)), result_(mesh) {
    std::vector<Triangle> welded;
    welded.reserve(mesh.surface.triangles.size());
    for (const Triangle& triangle : mesh.surface.triangles)
      welded.push_back({weld_.welded_of_vertex[triangle[0]], weld_.welded_of_vertex[triangle[1]],
                        weld_.welded_of_vertex[triangle[2]]});
    const std::vector<Edge> creases = find_creases(mesh, welded, near(welded, levels));
    surface_ = refine_butterfly(weld_.size(), welded, levels, creases);
    find_normals(welded, creases);
    positions_ = refined_positions();
    find_splits();
    if (mesh.skin >= 0) refine_weights();
    for (const MorphTarget& target : mesh.morph_targets) {
      std::vector<Vec3d> displacements;
      for (const std::uint32_t first : weld_.first_vertex)
        displacements.push_back(target.displacements[first].cast<double>());
      morphs_.push_back(surface_.extended(std::move(displacements)));
    }
  }

  SceneMesh refine(RefinementStencils* stencils) {
    if (stencils != nullptr) set_stencils(*stencils);
    stencils_ = stencils;
    if (surface_.parents.empty()) return result_;
    const Polygons& old = mesh_.surface.polygons;
    // Triangles of a polygon follow one another, and so do the parts of a triangle.
    std::vector<std::uint32_t> polygon_of_corner(old.corners.size());
    for (std::size_t p = 0; p < old.size(); ++p)
      std::fill(polygon_of_corner.begin() + old.starts[p], polygon_of_corner.begin() + old.starts[p + 1],
                static_cast<std::uint32_t>(p));
    std::vector<std::vector<std::uint32_t>> parts(old.size());
    std::vector<char> changes(old.size(), 0);
    std::vector<std::uint32_t> parts_of_triangle(mesh_.surface.triangles.size(), 0);
    for (std::size_t i = 0; i < surface_.triangles.size(); ++i) {
      const std::uint32_t t = surface_.triangle_sources[i];
      const std::uint32_t p = polygon_of_corner[mesh_.surface.triangle_corners[t][0]];
      parts[p].push_back(static_cast<std::uint32_t>(i));
      if (++parts_of_triangle[t] > 1) changes[p] = 1;
    }
    std::vector<std::uint32_t> new_place(old.size() + 1);
    for (std::size_t p = 0; p < old.size(); ++p) {
      new_place[p] = static_cast<std::uint32_t>(polygons_.size());
      if (changes[p])
        add_parts(parts[p]);
      else
        keep_polygon(p);
      if (!mesh_.polygon_groups.empty()) groups_.resize(polygons_.size(), mesh_.polygon_groups[p]);
    }
    new_place[old.size()] = static_cast<std::uint32_t>(polygons_.size());
    for (auto& [polygon, line] : result_.obj_directives)
      polygon = new_place[std::min<std::size_t>(polygon, old.size())];
    result_.polygon_groups = std::move(groups_);
    result_.texcoords.corners = std::move(texcoord_corners_);
    result_.normals.corners = std::move(normal_corners_);
    std::vector<Vec3f> positions = std::move(result_.surface.positions);
    result_.surface = make_mesh(std::move(positions), std::move(polygons_));
    return std::move(result_);
  }

 private:
  void set_stencils(RefinementStencils& stencils) const {
    stencils = {};
    stencils.file_vertices = mesh_.surface.positions.size();
    stencils.place_vertex = weld_.first_vertex;
    for (std::size_t i = 0; i < surface_.parents.size(); ++i) {
      const std::size_t first = stencils.sources.size();
      for (std::uint32_t k = surface_.starts[i]; k < surface_.starts[i + 1]; ++k) {
        stencils.sources.push_back(surface_.sources[k]);
        stencils.weights.push_back(static_cast<float>(shares_[i] * surface_.weights[k]));
      }
      for (const std::uint32_t end : surface_.parents[i]) {
        const auto found = std::find(stencils.sources.begin() + static_cast<std::ptrdiff_t>(first),
                                     stencils.sources.end(), end);
        const auto place = to_size(found - stencils.sources.begin());
        if (found == stencils.sources.end()) {
          stencils.sources.push_back(end);
          stencils.weights.push_back(0);
        }
        stencils.weights[place] += static_cast<float>((1 - shares_[i]) / 2);
      }
      stencils.starts.push_back(static_cast<std::uint32_t>(stencils.sources.size()));
    }
  }

  /// Triangles with a vertex of one that is halved.
  static std::vector<char> near(std::span<const Triangle> triangles, std::span<const std::uint8_t> levels) {
    std::uint32_t vertices = 0;
    for (const Triangle& triangle : triangles)
      vertices = std::max(vertices, *std::max_element(triangle.begin(), triangle.end()) + 1);
    std::vector<char> is_near(triangles.size(), 0), marked(vertices, 0);
    for (std::size_t t = 0; t < triangles.size(); ++t) is_near[t] = levels[t] > 0;
    // Levels sink by one from ring to ring.
    for (int ring = 0; ring <= kMostRefinement; ++ring) {
      for (std::size_t t = 0; t < triangles.size(); ++t)
        if (is_near[t])
          for (const std::uint32_t v : triangles[t]) marked[v] = 1;
      for (std::size_t t = 0; t < triangles.size(); ++t)
        is_near[t] |= marked[triangles[t][0]] | marked[triangles[t][1]] | marked[triangles[t][2]];
    }
    return is_near;
  }

  /// Unit normals of the welded vertices; zero at creases and borders, where there are several or none.
  void find_normals(std::span<const Triangle> welded, std::span<const Edge> creases) {
    normals_at_.assign(surface_.size(), Vec3d::Zero());
    const auto at = [&](std::uint32_t v) -> Vec3d {
      return mesh_.surface.positions[weld_.first_vertex[v]].cast<double>();
    };
    for (const Triangle& t : welded) {
      const Vec3d normal = unit((at(t[1]) - at(t[0])).cross(at(t[2]) - at(t[0])));
      // Weighed by angles: areas would turn normals towards the long side of uneven triangles.
      for (std::size_t c = 0; c < 3; ++c) {
        const Vec3d a = unit(at(t[(c + 1) % 3]) - at(t[c])), b = unit(at(t[(c + 2) % 3]) - at(t[c]));
        normals_at_[t[c]] += std::acos(std::clamp(a.dot(b), -1.0, 1.0)) * normal;
      }
    }
    for (const Edge& crease : creases)
      for (const std::uint32_t v : crease) normals_at_[v].setZero();
    for (const BoundaryLoop& loop : boundary_loops(welded))
      for (const std::uint32_t v : loop.vertices) normals_at_[v].setZero();
    for (std::size_t v = 0; v < weld_.size(); ++v) normals_at_[v] = unit(normals_at_[v]);
    for (std::size_t i = 0; i < surface_.parents.size(); ++i) {
      const Vec3d &a = normals_at_[surface_.parents[i][0]], &b = normals_at_[surface_.parents[i][1]];
      if (!a.isZero() && !b.isZero()) normals_at_[weld_.size() + i] = unit(a + b);
    }
  }

  static Vec3d unit(const Vec3d& v) {
    const double length = v.norm();
    return length > 0 && std::isfinite(length) ? Vec3d(v / length) : Vec3d::Zero();
  }

  /// How much of the way from the middle of an edge to where the butterfly has it a new vertex goes: all of
  /// it, unless that is a ripple. A share, so that stencils stay what they are in any pose: linear.
  static double butterfly_share(const Vec3d& away, const Vec3d& edge, const Vec3d& at_a, const Vec3d& at_b) {
    const double length = edge.norm(), squared = away.squaredNorm();
    if (!(squared > 0)) return 1;
    double share = std::min(1.0, kFarthestFromEdge * length / std::sqrt(squared));
    if (at_a.isZero() || at_b.isZero()) return share;
    // The middle of the cubic whose tangents are the edge without its part along the normals, and the largest
    // share within kRipple of it; without one the nearest.
    const Vec3d by_normals = (edge.dot(at_b) * at_b - edge.dot(at_a) * at_a) / 8;
    const double along = away.dot(by_normals), ripple = kRipple * length;
    const double inside = along * along - squared * (by_normals.squaredNorm() - ripple * ripple);
    const double largest = (along + std::sqrt(std::max(inside, 0.0))) / squared;
    return std::clamp(largest, 0.0, share);
  }

  std::vector<Vec3d> refined_positions() {
    std::vector<Vec3d> values;
    values.reserve(surface_.size());
    for (const std::uint32_t first : weld_.first_vertex)
      values.push_back(mesh_.surface.positions[first].cast<double>());
    for (std::size_t i = 0; i < surface_.parents.size(); ++i) {
      Vec3d sum = Vec3d::Zero();
      for (std::uint32_t k = surface_.starts[i]; k < surface_.starts[i + 1]; ++k)
        sum += surface_.weights[k] * values[surface_.sources[k]];
      const Edge& ends = surface_.parents[i];
      const Vec3d &a = values[ends[0]], &b = values[ends[1]];
      const Vec3d middle = (a + b) / 2;
      shares_.push_back(butterfly_share(sum - middle, b - a, normals_at_[ends[0]], normals_at_[ends[1]]));
      values.push_back(middle + shares_.back() * (sum - middle));
    }
    return values;
  }

  /// Where file vertices in one place move apart (lips), and what borrows from them, `is_split_` is set:
  /// there each file vertex has weights and displacements of its own, halfway along its edge.
  void find_splits() {
    is_split_.assign(surface_.size(), 0);
    const std::vector<std::uint32_t> keys = weld_keys(mesh_);
    for (std::size_t v = 0; v < keys.size(); ++v) {
      const std::uint32_t w = weld_.welded_of_vertex[v];
      if (keys[v] != keys[weld_.first_vertex[w]]) is_split_[w] = 1;
    }
    for (std::size_t i = 0; i < surface_.parents.size(); ++i)
      for (std::uint32_t k = surface_.starts[i]; k < surface_.starts[i + 1]; ++k)
        if (is_split_[surface_.sources[k]]) is_split_[weld_.size() + i] = 1;
  }

  /// Rows of the welded vertices by the butterfly, too: with weights that change evenly along each edge, a
  /// pose would show every old triangle as a facet.
  void refine_weights() {
    const SkinWeights& weights = mesh_.weights;
    rows_.resize(surface_.size());
    for (std::size_t w = 0; w < weld_.size(); ++w) {
      const std::uint32_t first = weld_.first_vertex[w];
      for (std::size_t i = 0; i < weights.row_size(first); ++i)
        rows_[w].push_back({weights.row_joints(first)[i], weights.row_values(first)[i]});
    }
    std::map<std::uint32_t, double> sums;
    for (std::size_t i = 0; i < surface_.parents.size(); ++i) {
      const std::size_t w = weld_.size() + i;
      sums.clear();
      for (std::uint32_t k = surface_.starts[i]; k < surface_.starts[i + 1]; ++k) {
        const std::uint32_t source = surface_.sources[k];
        for (const Influence& influence : rows_[source])
          sums[influence.joint] += surface_.weights[k] * static_cast<double>(influence.weight);
      }
      double total = 0;
      for (auto& [joint, weight] : sums) total += weight = weight < kLeastWeight ? 0 : weight;
      for (const auto& [joint, weight] : sums)
        if (weight > 0) rows_[w].push_back({joint, static_cast<float>(weight / total)});
    }
  }

  RefinedCorner corner_of(std::uint32_t place) const {
    return {mesh_.surface.polygons.corners[place],
            mesh_.texcoords.empty() ? 0 : mesh_.texcoords.corners[place],
            mesh_.normals.empty() ? 0 : mesh_.normals.corners[place]};
  }

  void add_corner(const RefinedCorner& corner) {
    scratch_.push_back(corner.vertex);
    if (!mesh_.texcoords.empty()) texcoord_corners_.push_back(corner.texcoord);
    if (!mesh_.normals.empty()) normal_corners_.push_back(corner.normal);
  }

  void finish_polygon() {
    polygons_.add(scratch_);
    scratch_.clear();
  }

  void keep_polygon(std::size_t p) {
    for (std::uint32_t c = mesh_.surface.polygons.starts[p]; c < mesh_.surface.polygons.starts[p + 1]; ++c)
      add_corner(corner_of(c));
    finish_polygon();
  }

  /// The triangles that lie in one polygon.
  void add_parts(std::span<const std::uint32_t> parts) {
    std::map<std::uint32_t, RefinedCorner> corners;  // of the welded vertices within one triangle
    std::uint32_t source = 0;
    for (const std::uint32_t i : parts) {
      const std::uint32_t t = surface_.triangle_sources[i];
      if (corners.empty() || t != source) {
        source = t;
        corners.clear();
        for (std::size_t c = 0; c < 3; ++c)
          corners.emplace(weld_.welded_of_vertex[mesh_.surface.triangles[t][c]],
                          corner_of(mesh_.surface.triangle_corners[t][c]));
      }
      for (const std::uint32_t v : surface_.triangles[i]) add_corner(find_corner(v, corners));
      finish_polygon();
    }
  }

  RefinedCorner find_corner(std::uint32_t welded, std::map<std::uint32_t, RefinedCorner>& corners) {
    if (const auto known = corners.find(welded); known != corners.end()) return known->second;
    const Edge& parents = surface_.parents[welded - surface_.original_vertices];
    const RefinedCorner a = find_corner(parents[0], corners), b = find_corner(parents[1], corners);
    RefinedCorner middle;
    middle.vertex = vertex_between(a.vertex, b.vertex, welded);
    if (!mesh_.texcoords.empty()) middle.texcoord = texcoord_between(a.texcoord, b.texcoord);
    if (!mesh_.normals.empty()) middle.normal = normal_between(a.normal, b.normal);
    corners.emplace(welded, middle);
    return middle;
  }

  std::uint32_t vertex_between(std::uint32_t a, std::uint32_t b, std::uint32_t welded) {
    const auto [known, added] =
        vertices_.try_emplace(key_of(a, b), static_cast<std::uint32_t>(result_.surface.positions.size()));
    if (!added) return known->second;
    result_.surface.positions.push_back(positions_[welded].cast<float>());
    for (std::size_t m = 0; m < morphs_.size(); ++m) {
      std::vector<Vec3f>& displacements = result_.morph_targets[m].displacements;
      displacements.push_back(is_split_[welded] ? Vec3f(0.5f * (displacements[a] + displacements[b]))
                                                : Vec3f(morphs_[m][welded].cast<float>()));
    }
    for (VertexAttribute& attribute : result_.attributes) {
      const auto width = to_size(attribute.width);
      for (std::size_t k = 0; k < width; ++k)
        attribute.values.push_back(0.5f *
                                   (attribute.values[a * width + k] + attribute.values[b * width + k]));
    }
    if (mesh_.skin >= 0) add_weights(a, b, welded);
    if (stencils_ != nullptr) {
      if (is_split_[welded])
        stencils_->added.push_back({a, b, true});
      else
        stencils_->added.push_back({welded, 0, false});
    }
    return known->second;
  }

  void add_weights(std::uint32_t a, std::uint32_t b, std::uint32_t welded) {
    SkinWeights& weights = result_.weights;
    row_.clear();
    if (!is_split_[welded]) row_ = rows_[welded];
    for (const std::uint32_t v : {a, b})
      for (std::size_t i = 0; is_split_[welded] && i < weights.row_size(v); ++i)
        row_.push_back({weights.row_joints(v)[i], 0.5f * weights.row_values(v)[i]});
    WeightRepairs repairs;  // joints that both ends name are added up, which is no one's fault
    append_row(weights, row_, 0, repairs);
  }

  std::uint32_t texcoord_between(std::uint32_t a, std::uint32_t b) {
    if (a == b) return a;
    std::vector<Vec2f>& values = result_.texcoords.values;
    const auto [known, added] =
        texcoords_.try_emplace(key_of(a, b), static_cast<std::uint32_t>(values.size()));
    if (added) values.push_back(Vec2f(0.5f * (values[a] + values[b])));
    return known->second;
  }

  std::uint32_t normal_between(std::uint32_t a, std::uint32_t b) {
    if (a == b) return a;
    std::vector<Vec3f>& values = result_.normals.values;
    const auto [known, added] = normals_.try_emplace(key_of(a, b), static_cast<std::uint32_t>(values.size()));
    if (!added) return known->second;
    const Vec3f sum = values[a] + values[b];
    const float length = sum.norm();
    values.push_back(length > 1e-6f ? Vec3f(sum / length) : values[a]);
    return known->second;
  }

  const SceneMesh& mesh_;
  Weld weld_;
  RefinedSurface surface_;
  std::vector<Vec3d> normals_at_, positions_;
  std::vector<double> shares_;  // per new place
  std::vector<std::vector<Vec3d>> morphs_;
  SceneMesh result_;
  RefinementStencils* stencils_ = nullptr;
  Polygons polygons_;
  std::vector<std::uint32_t> groups_, scratch_, texcoord_corners_, normal_corners_;
  std::unordered_map<std::uint64_t, std::uint32_t> vertices_, texcoords_, normals_;
  std::vector<char> is_split_;
  std::vector<std::vector<Influence>> rows_;
  std::vector<Influence> row_;
};

}  // namespace

SceneMesh refine_mesh(const SceneMesh& mesh, std::span<const std::uint8_t> levels, float weld_tolerance,
                      RefinementStencils* stencils) {
  if (levels.size() != mesh.surface.triangles.size())
    throw Error("refine_mesh: one level per triangle is needed");
  if (std::any_of(levels.begin(), levels.end(), [](std::uint8_t level) { return level > kMostRefinement; }))
    throw Error("refine_mesh: a level is larger than kMostRefinement");
  if (std::all_of(levels.begin(), levels.end(), [](std::uint8_t level) { return level == 0; })) {
    if (stencils != nullptr) {
      *stencils = {};
      stencils->file_vertices = mesh.surface.positions.size();
    }
    return mesh;
  }
  return MeshRefiner(mesh, levels, weld_tolerance).refine(stencils);
}

}  // namespace sinew
