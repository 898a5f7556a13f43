#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/orientation.h>
#include <sinew/geometry/ray_query.h>

namespace sinew {

/// A surface whose inside is known, however it is wound, open, doubled or crossed by walls inside of it: one
/// closed piece by the side on which rays meet it; anything else by its winding number, inside being above
/// one half, with interior walls left out. Safe to ask from many threads.
class OrientedSurface {
 public:
  /// Copies what it needs of the mesh. Throws Error when a position that a triangle uses is not finite.
  explicit OrientedSurface(const MeshView& mesh);
  ~OrientedSurface();
  OrientedSurface(OrientedSurface&&) noexcept;
  OrientedSurface& operator=(OrientedSurface&&) noexcept;

  const SurfaceQuery& query() const { return query_; }
  const Orientation& orientation() const { return orientation_; }

  bool contains(const Vec3d& point) const;
  /// How far the inside goes from a point in it, metres; 0 from points outside, or where it has no end.
  double reach(const Vec3d& from, const Vec3d& unit_direction) const;
  /// What share of the way from t = 0 to t = 1 lies outside, 0 to 1. Surfaces before t_near and behind t_far
  /// do not count. `starts_inside` is what the caller knows about the ray's start, which lies on the surface.
  double outside_share(const Ray& ray, bool starts_inside) const;

 private:
  struct Winding;
  bool leaves(const RayHit& hit) const {
    return hit.from_front == (orientation_.reversed[hit.triangle] != 0);
  }

  SurfaceQuery query_;
  Orientation orientation_;
  std::unique_ptr<const Winding> winding_;  // null for one closed piece
};

}  // namespace sinew
