#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// Divides the volume of a surface among anchors, which are points of the skeleton such as joints. Each
/// vertex hangs on one anchor; the surface between vertices and their anchors encloses cells, one for each
/// connected part of the surface and anchor that it has. The volumes of a part's cells always add up to the
/// part's volume, and a cell whose vertices and anchor move as one keeps its volume: so it tells where volume
/// was lost.
///
/// A triangle of one anchor makes a tetrahedron with it. A triangle of several anchors makes a prism with
/// their triangle, whose walls are bilinear, the same from both sides; a third of it belongs to each corner's
/// anchor. What remains is the volume within the closed surface that the anchors' triangles make; it is zero
/// where they cancel out, as along limbs. Where they do not, as between the bones of a palm, those that hang
/// together make a polyhedron; the tetrahedron of each of its triangles with its middle goes to the three
/// anchors.
///
/// Borders are closed by fans (geometry/closed_surface.h).
class VolumeCells {
 public:
  struct Cell {
    std::uint32_t part = 0;
    std::uint32_t anchor = 0;
  };

  /// `anchor_of_vertex` has one entry per vertex. Corners must name vertices, and no triangle one vertex
  /// twice.
  VolumeCells(std::span<const Triangle> triangles, std::span<const std::uint32_t> anchor_of_vertex);

  /// Sorted by part, then anchor.
  std::span<const Cell> cells() const { return cells_; }
  std::size_t part_count() const { return surface_.part_count; }
  const ClosedSurface& surface() const { return surface_; }
  /// Of each vertex, then of the fans' middles; kNone for vertices without triangles.
  std::span<const std::uint32_t> cell_of_vertex() const { return cell_of_vertex_; }
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// Room for all vertices, the fans' middles included.
  std::size_t point_count() const { return cell_of_vertex_.size(); }
  /// `points` has point_count() entries, of which the surface's vertices are set: sets the fans' middles.
  void place_fans(std::span<Vec3d> points) const;

  /// The signed volume of each cell: positive when the triangles face outwards. `points` after place_fans;
  /// `anchors` has an entry for every anchor.
  void measure(std::span<const Vec3d> points, std::span<const Vec3d> anchors,
               std::span<double> volumes) const;

  /// Calls visit(cell, triangle, volume) for each triangle's contribution to a cell; triangles are those of
  /// surface().
  template <class Visit>
  void for_each_contribution(std::span<const Vec3d> points, std::span<const Vec3d> anchors,
                             const Visit& visit) const;

 private:
  /// Triangles of one anchor, those of a cell side by side.
  struct Inner {
    std::vector<std::uint32_t> starts;     // per cell, and the end
    std::vector<std::uint32_t> triangles;  // of surface_
    std::vector<Triangle> corners;         // the same, for speed
  };
  /// Triangles between anchors that do not cancel out, and hang together.
  struct Bridge {
    struct Face {
      std::array<std::uint32_t, 3> cells;
      double times;
    };
    std::vector<Face> faces;
    std::vector<std::uint32_t> anchors;  // their corners
  };

  void find_cells(std::span<const std::uint32_t> anchor_of_vertex);
  void find_bridges();
  static double tetrahedron(const Triangle& corners, std::span<const Vec3d> points, const Vec3d& anchor) {
    const Vec3d a = points[corners[0]] - anchor, b = points[corners[1]] - anchor,
                c = points[corners[2]] - anchor;
    return a.dot(b.cross(c)) / 6;
  }
  double prism(const Triangle& corners, std::span<const Vec3d> points, std::span<const Vec3d> anchors) const;
  void measure_shared(std::span<const Vec3d> points, std::span<const Vec3d> anchors,
                      std::span<double> volumes) const;

  ClosedSurface surface_;
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> cell_of_vertex_;
  Inner inner_;
  std::vector<std::uint32_t> shared_;  // triangles of several anchors
  std::vector<Bridge> bridges_;
};

template <class Visit>
void VolumeCells::for_each_contribution(std::span<const Vec3d> points, std::span<const Vec3d> anchors,
                                        const Visit& visit) const {
  for (std::uint32_t cell = 0; cell < cells_.size(); ++cell)
    for (std::uint32_t i = inner_.starts[cell]; i < inner_.starts[cell + 1]; ++i)
      visit(cell, inner_.triangles[i], tetrahedron(inner_.corners[i], points, anchors[cells_[cell].anchor]));
  for (const std::uint32_t t : shared_) {
    const double third = prism(surface_.triangles[t], points, anchors) / 3;
    for (const std::uint32_t v : surface_.triangles[t]) visit(cell_of_vertex_[v], t, third);
  }
}

}  // namespace sinew
