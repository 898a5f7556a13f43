#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/normals.h>

namespace sinew {

/// A triangle surface made ready to be drawn in many frames: which way its parts face, where its edges are
/// hard. Made from the rest surface; immutable.
///
/// Parts (connected by shared vertices) that are closed but inside out are turned over, so are open ones that
/// clearly bulge the wrong way; open parts that face neither way, such as a sheet of cloth, count as
/// two-sided. Edges that bend by more than `crease_degrees` at rest are hard.
class DrawnSurface {
 public:
  /// Triangles may name any vertex below positions.size(); positions may be anything, even not finite.
  explicit DrawnSurface(const MeshView& rest, double crease_degrees = 50);

  std::size_t vertex_count() const { return vertex_count_; }
  std::span<const Triangle> triangles() const { return triangles_; }
  /// Per triangle, whether it has no back.
  std::span<const std::uint8_t> two_sided() const { return two_sided_; }
  /// Per triangle, which entries of normals() its corners show.
  std::span<const Triangle> corner_normals() const { return corner_slots_; }
  /// Unit normals of a frame; `positions` has one entry per vertex.
  std::vector<Vec3f> normals(std::span<const Vec3f> positions) const;

 private:
  void orient_parts(const MeshView& rest);
  void find_smooth_corners(const MeshView& rest, double crease_degrees);

  std::size_t vertex_count_ = 0;
  std::size_t slot_count_ = 0;
  std::vector<Triangle> triangles_;
  std::vector<std::uint8_t> two_sided_;
  std::vector<Triangle> corner_slots_;
  std::vector<NormalSolver> solver_;  // one; a vector because it is made last
};

/// Where the plane normal · x = offset passes through a surface: a piece of line per triangle, in the order
/// of the triangles. Triangles with a corner that is not finite have none, nor have those that lie in the
/// plane.
std::vector<std::array<Vec3f, 2>> plane_section(std::span<const Vec3f> positions,
                                                std::span<const Triangle> triangles, const Vec3f& normal,
                                                float offset);

}  // namespace sinew
