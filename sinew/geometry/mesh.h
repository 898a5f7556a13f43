#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>

namespace sinew {

using Triangle = std::array<std::uint32_t, 3>;

inline bool repeats_corner(const Triangle& f) {
  return f[0] == f[1] || f[1] == f[2] || f[2] == f[0];
}

/// A triangle surface that somebody else owns. What the algorithms of this module take.
struct MeshView {
  std::span<const Vec3f> positions;
  std::span<const Triangle> triangles;
};

/// Polygons as a file holds them, in compact storage: polygon p has the vertices
/// corners[starts[p]] … corners[starts[p + 1] - 1].
struct Polygons {
  std::vector<std::uint32_t> corners;
  std::vector<std::uint32_t> starts{0};

  std::size_t size() const { return starts.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t p) const {
    return {corners.data() + starts[p], starts[p + 1] - starts[p]};
  }
  void add(std::span<const std::uint32_t> polygon) {
    corners.insert(corners.end(), polygon.begin(), polygon.end());
    starts.push_back(static_cast<std::uint32_t>(corners.size()));
  }
  bool operator==(const Polygons&) const = default;
};

/// A surface with the file's polygons, kept for output, and their triangles, for work.
struct Mesh {
  std::vector<Vec3f> positions;
  Polygons polygons;
  std::vector<Triangle> triangles;
  /// Per triangle, its three places in polygons.corners: how per-corner data (UVs, normals) is reached.
  std::vector<Triangle> triangle_corners;

  MeshView view() const { return {positions, triangles}; }
  bool operator==(const Mesh&) const = default;
};

/// A mesh with its polygons triangulated: triangles as they are, convex polygons as a fan, concave ones by
/// ear clipping in their own plane. Polygons with fewer than three corners give no triangle. Throws Error
/// when a corner names a vertex that does not exist, a position is not finite, or a concave polygon has more
/// than 16 384 corners.
Mesh make_mesh(std::vector<Vec3f> positions, Polygons polygons);

/// The same for a plain triangle list.
Mesh make_mesh(std::vector<Vec3f> positions, std::span<const Triangle> triangles);

}  // namespace sinew
