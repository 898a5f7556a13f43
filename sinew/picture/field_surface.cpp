#include <sinew/picture/field_surface.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/isosurface.h>
#include <sinew/geometry/one_rings.h>

namespace sinew {

namespace {

constexpr int kFewestCells = 4, kMostCells = 512;
constexpr double kOutside = 1;
constexpr double kHardEdge = 60;  // degrees: where a union folds

/// The field at the nodes of a grid over its box, as level - field: negative inside. One node beyond each
/// face of the box is outside, so that every surface closes. Places are counted in cells.
class NodeValues {
 public:
  NodeValues(const FieldFunction& field, const Eigen::AlignedBox3d& box, const FieldSurfaceOptions& options)
      : cell_(box.sizes().maxCoeff() / options.cells) {
    for (int k = 0; k < 3; ++k) {
      nodes_[k] = static_cast<int>(std::ceil(box.sizes()[k] / cell_ - 1e-9)) + 3;
      // Cells stick out by the same length on both sides.
      origin_[k] = box.center()[k] - 0.5 * cell_ * (nodes_[k] - 1);
    }
    values_.assign(to_size(nodes_[0]) * to_size(nodes_[1]) * to_size(nodes_[2]), kOutside);
    const auto layers = to_size(nodes_[2]) - 2;
    parallel_blocks(layers * to_size(nodes_[1] - 2), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const int z = static_cast<int>(row % layers) + 1, y = static_cast<int>(row / layers) + 1;
        for (int x = 1; x < nodes_[0] - 1; ++x) {
          const Vec3d point = world({static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
          const double value = options.level - field(point);
          if (std::isfinite(value)) values_[place(x, y, z)] = value;
        }
      }
    });
  }

  double cell() const { return cell_; }
  int nodes(int axis) const { return nodes_[axis]; }
  Vec3d world(const Vec3d& p) const { return origin_ + cell_ * p; }
  std::size_t place(int x, int y, int z) const {
    return (to_size(z) * to_size(nodes_[1]) + to_size(y)) * to_size(nodes_[0]) + to_size(x);
  }
  double operator[](std::size_t place) const { return values_[place]; }
  /// At a node, also beyond the grid.
  double at(const Vec3d& node) const {
    int p[3];
    for (int k = 0; k < 3; ++k) {
      p[k] = static_cast<int>(std::lround(node[k]));
      if (p[k] < 0 || p[k] >= nodes_[k]) return kOutside;
    }
    return values_[place(p[0], p[1], p[2])];
  }

 private:
  double cell_;
  Vec3d origin_;
  std::array<int, 3> nodes_{};
  std::vector<double> values_;
};

/// Evens the triangles out and brings them onto the true surface, `inset` metres below it: marching
/// tetrahedra leave slivers whose normals would show the grid.
void settle(std::vector<Vec3d>& positions, std::span<const Triangle> triangles, const FieldFunction& field,
            double level, double cell, double inset) {
  constexpr int kRounds = 4;
  const OneRings rings = one_rings(positions.size(), triangles);
  const double reach = 0.05 * cell, farthest = 0.7 * cell;
  std::vector<Vec3d> moved(positions.size());
  for (int round = 0; round < kRounds; ++round) {
    parallel_blocks(positions.size(), 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        const Vec3d& here = positions[v];
        moved[v] = here;
        Vec3d place = here;
        if (round > 0) {
          const auto ring = rings[v];
          Vec3d middle = Vec3d::Zero();
          for (const std::uint32_t other : ring) middle += positions[other];
          if (!ring.empty()) place = 0.5 * (here + middle / static_cast<double>(ring.size()));
        }
        Vec3d gradient;
        for (int k = 0; k < 3; ++k)
          gradient[k] =
              (field(place + reach * Vec3d::Unit(k)) - field(place - reach * Vec3d::Unit(k))) / (2 * reach);
        const double steepness = gradient.norm();
        const double step = (level - field(place)) / steepness + inset;
        place += step / steepness * gradient;
        // Not so where the field is flat, not finite or ends, nor on the lids that close it at the box.
        if ((place - here).norm() <= farthest) moved[v] = place;
      }
    });
    positions.swap(moved);
  }
}

Mesh inset_surface(const FieldFunction& field, const Eigen::AlignedBox3d& box,
                   const FieldSurfaceOptions& options, double cells_inset) {
  if (!field) throw Error("a surface needs a field");
  if (options.cells < kFewestCells || options.cells > kMostCells)
    throw Error(fmt::format("a field's box cannot be cut into {} cells: {} to {}", options.cells,
                            kFewestCells, kMostCells));
  if (!std::isfinite(options.level))
    throw Error(fmt::format("a field has no surface of level {}", options.level));
  if (!box.min().allFinite() || !box.max().allFinite() || !(box.sizes().minCoeff() > 0) ||
      !box.sizes().allFinite())
    throw Error(fmt::format("a field cannot be looked for in the box ({}, {}, {}) … ({}, {}, {})",
                            box.min().x(), box.min().y(), box.min().z(), box.max().x(), box.max().y(),
                            box.max().z()));
  const NodeValues values(field, box, options);
  const SolidFunction solid = [&](const Vec3d& node) {
    SolidSample sample;
    sample.value = values.at(node);
    return sample;
  };
  // Every closed piece of surface, of a solid or of a hole in one, is somewhere left from inside to outside
  // in direction +x. Each such step that no piece has passed yet starts the next.
  std::vector<std::uint8_t> passed(to_size(values.place(0, 0, values.nodes(2))), 0);
  std::vector<Vec3d> positions;
  std::vector<Triangle> triangles;
  for (int z = 0; z < values.nodes(2); ++z)
    for (int y = 0; y < values.nodes(1); ++y)
      for (int x = 0; x + 1 < values.nodes(0); ++x) {
        const std::size_t here = values.place(x, y, z);
        if (passed[here] != 0 || !(values[here] < 0) || values[here + 1] < 0) continue;
        const IsoSurface piece = extract_isosurface(solid, Vec3d(x, y, z), 1);
        const auto first = static_cast<std::uint32_t>(positions.size());
        for (const Vec3d& p : piece.positions) {
          positions.push_back(values.world(p));
          const Vec3d node(std::floor(p.x()), std::round(p.y()), std::round(p.z()));
          // On an edge along x, whose other two numbers are whole.
          if (std::abs(p.y() - node.y()) < 1e-3 && std::abs(p.z() - node.z()) < 1e-3)
            passed[values.place(static_cast<int>(node.x()), static_cast<int>(node.y()),
                                static_cast<int>(node.z()))] = 1;
        }
        for (const Triangle& f : piece.triangles)
          triangles.push_back({first + f[0], first + f[1], first + f[2]});
        passed[here] = 1;
      }
  settle(positions, triangles, field, options.level, values.cell(), cells_inset * values.cell());
  std::vector<Vec3f> rounded;
  rounded.reserve(positions.size());
  for (const Vec3d& p : positions) rounded.push_back(p.cast<float>());
  return make_mesh(std::move(rounded), triangles);
}

}  // namespace

Mesh field_surface(const FieldFunction& field, const Eigen::AlignedBox3d& box,
                   const FieldSurfaceOptions& options) {
  return inset_surface(field, box, options, 0);
}

FieldPicture::FieldPicture(std::span<const DrawnField> fields, const FieldSurfaceOptions& options)
    : fields_(fields.size()) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    // Fields of neighbours share the ball round their joint. One a hair below the other keeps their colours
    // from mixing at random there.
    const double inset = 0.04 * static_cast<double>(i % 4);
    const Mesh mesh = inset_surface(fields[i].field, fields[i].box, options, inset);
    const auto first = static_cast<std::uint32_t>(positions_.size());
    positions_.insert(positions_.end(), mesh.positions.begin(), mesh.positions.end());
    for (const Triangle& f : mesh.triangles) triangles_.push_back({first + f[0], first + f[1], first + f[2]});
    field_of_vertex_.resize(positions_.size(), static_cast<std::uint32_t>(i));
    colors_.resize(positions_.size(), fields[i].color);
  }
  drawn_.emplace_back(surface(), kHardEdge);
}

Image FieldPicture::render(const Camera& camera, const ClayOptions& options,
                           std::span<const Affine3d> moved_from_rest) const {
  if (positions_.empty()) throw Error("nothing to draw: no field has a surface in its box");
  if (!moved_from_rest.empty() && moved_from_rest.size() != fields_)
    throw Error(fmt::format("{} transforms for {} fields", moved_from_rest.size(), fields_));
  std::vector<Vec3f> moved = positions_;
  if (!moved_from_rest.empty())
    for (std::size_t v = 0; v < moved.size(); ++v)
      moved[v] = (moved_from_rest[field_of_vertex_[v]] * positions_[v].cast<double>()).cast<float>();
  return render_clay(drawn_.front(), {moved, colors_, false}, camera, options);
}

}  // namespace sinew
