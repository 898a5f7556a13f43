#include <sinew/skinning/hinge_patches.h>

#include <algorithm>
#include <map>

#include <sinew/core/parallel.h>
#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/triangle_tree.h>
#include <sinew/geometry/volume.h>

namespace sinew {

namespace {

constexpr double kPatchRadius = 1.5;  // limb radii
constexpr std::size_t kNearestVertices = 24;
constexpr double kLeastWeight = 0.5;

/// Which vertices each binding moves.
struct MovedVertices {
  std::vector<std::uint32_t> starts;
  std::vector<std::uint32_t> vertices;

  std::span<const std::uint32_t> operator[](std::uint32_t binding) const {
    if (std::size_t{binding} + 1 >= starts.size()) return {};
    return {vertices.data() + starts[binding], starts[binding + 1] - starts[binding]};
  }
};

MovedVertices moved_vertices(const SkinWeights& weights) {
  std::uint32_t bindings = 0;
  for (const std::uint32_t binding : weights.joints) bindings = std::max(bindings, binding + 1);
  MovedVertices moved;
  moved.starts.assign(std::size_t{bindings} + 1, 0);
  for (const std::uint32_t binding : weights.joints) ++moved.starts[binding + 1];
  for (std::size_t b = 0; b < bindings; ++b) moved.starts[b + 1] += moved.starts[b];
  moved.vertices.resize(weights.joints.size());
  std::vector<std::uint32_t> next(moved.starts.begin(), moved.starts.end() - 1);
  for (std::uint32_t v = 0; v < weights.rows(); ++v)
    for (const std::uint32_t binding : weights.row_joints(v)) moved.vertices[next[binding]++] = v;
  return moved;
}

/// Which bindings lie above which.
class Lineage {
 public:
  explicit Lineage(std::span<const Hinge> hinges) : most_steps_(hinges.size()) {
    for (const Hinge& hinge : hinges) parent_.emplace(hinge.binding, hinge.parent);
  }

  /// One is the other, or hangs on it through others.
  bool related(std::uint32_t a, std::uint32_t b) const { return hangs_on(a, b) || hangs_on(b, a); }

 private:
  bool hangs_on(std::uint32_t a, std::uint32_t b) const {
    for (std::size_t step = 0; a != b; ++step) {
      const auto found = parent_.find(a);
      if (found == parent_.end() || step == most_steps_) return false;
      a = found->second;
    }
    return true;
  }

  std::map<std::uint32_t, std::uint32_t> parent_;
  std::size_t most_steps_;
};

/// The triangles of the connected piece with the largest area.
std::vector<Triangle> largest_piece(std::span<const Vec3f> positions, std::span<const Triangle> triangles) {
  const Components pieces = connected_components(positions.size(), triangles);
  std::vector<double> area(pieces.count, 0);
  for (std::size_t t = 0; t < triangles.size(); ++t)
    area[pieces.of_triangle[t]] += surface_area({positions, triangles.subspan(t, 1)});
  const auto largest = static_cast<std::uint32_t>(std::max_element(area.begin(), area.end()) - area.begin());
  std::vector<Triangle> piece;
  for (std::size_t t = 0; t < triangles.size(); ++t)
    if (pieces.of_triangle[t] == largest) piece.push_back(triangles[t]);
  return piece;
}

std::vector<Vec3f> chosen(std::span<const Vec3f> positions, std::span<const std::uint32_t> vertices) {
  std::vector<Vec3f> result;
  result.reserve(vertices.size());
  for (const std::uint32_t v : vertices) result.push_back(positions[v]);
  return result;
}

/// Names the vertices by their places in the list, which is sorted.
void renumber(std::span<const std::uint32_t> vertices, std::vector<Triangle>& triangles) {
  for (Triangle& f : triangles)
    for (std::uint32_t& v : f)
      v = static_cast<std::uint32_t>(std::lower_bound(vertices.begin(), vertices.end(), v) -
                                     vertices.begin());
}

std::vector<std::uint32_t> vertices_of(std::span<const Triangle> triangles) {
  std::vector<std::uint32_t> vertices;
  for (const Triangle& f : triangles) vertices.insert(vertices.end(), f.begin(), f.end());
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  return vertices;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> vertices_nearest_to(const MeshView& rest, const SkinWeights& weights,
                                                            std::span<const Hinge> hinges,
                                                            std::span<const double> known) {
  const MovedVertices moved = moved_vertices(weights);
  std::vector<std::vector<std::uint32_t>> result(hinges.size());
  parallel_blocks(hinges.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t h = begin; h < end; ++h) {
      std::vector<std::pair<double, std::uint32_t>> near;  // distance, vertex
      for (const std::uint32_t binding : {hinges[h].binding, hinges[h].parent})
        for (const std::uint32_t v : moved[binding])
          if (known.empty() || known[v] > 0)
            near.emplace_back((rest.positions[v].cast<double>() - hinges[h].position).norm(), v);
      std::sort(near.begin(), near.end());
      near.erase(std::unique(near.begin(), near.end()), near.end());
      near.resize(std::min(near.size(), kNearestVertices));
      for (const auto& [distance, v] : near) result[h].push_back(v);
    }
  });
  return result;
}

std::vector<HingePatch> hinge_patches(const MeshView& rest, const SkinWeights& weights,
                                      std::span<const Hinge> hinges, std::span<const double> radius) {
  std::vector<HingePatch> patches(hinges.size());
  if (hinges.empty()) return patches;
  const Lineage lineage(hinges);
  const TriangleTree tree(rest);
  const FittedTriangleTree boxes(tree, rest.positions);
  const auto weight_near = [&](std::uint32_t v, const Hinge& hinge) {
    double sum = 0;
    for (std::size_t i = 0; i < weights.row_size(v); ++i)
      if (lineage.related(weights.row_joints(v)[i], hinge.binding)) sum += weights.row_values(v)[i];
    return sum;
  };
  parallel_blocks(hinges.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t h = begin; h < end; ++h) {
      const Hinge& hinge = hinges[h];
      const double reach = kPatchRadius * radius[h];
      if (!(reach > 0)) continue;
      std::vector<std::uint32_t> near;
      boxes.for_each(
          [&](const Eigen::AlignedBox3f& box) {
            return box.cast<double>().squaredExteriorDistance(hinge.position) <= reach * reach;
          },
          [&](std::uint32_t t) { near.push_back(t); });
      std::sort(near.begin(), near.end());
      std::vector<Triangle> triangles;
      for (const std::uint32_t t : near) {
        const Triangle& f = rest.triangles[t];
        if (std::all_of(f.begin(), f.end(), [&](std::uint32_t v) {
              return (rest.positions[v].cast<double>() - hinge.position).norm() <= reach &&
                     weight_near(v, hinge) >= kLeastWeight;
            }))
          triangles.push_back(f);
      }
      if (triangles.empty()) continue;
      std::vector<std::uint32_t> vertices = vertices_of(triangles);
      renumber(vertices, triangles);
      std::vector<Triangle> piece = largest_piece(chosen(rest.positions, vertices), triangles);
      const std::vector<std::uint32_t> kept = vertices_of(piece);
      renumber(kept, piece);
      for (std::size_t i = 0; i < kept.size(); ++i) vertices[i] = vertices[kept[i]];
      vertices.resize(kept.size());
      const std::vector<Vec3f> positions = chosen(rest.positions, vertices);
      const ClosedSurface closed = close_surface(positions.size(), piece);
      if (enclosed_volume({closed.place(positions), closed.triangles}) < 0)
        for (Triangle& f : piece) std::swap(f[1], f[2]);  // a surface that faces inwards
      patches[h] = {std::move(vertices), std::move(piece), reach};
    }
  });
  return patches;
}

}  // namespace sinew
