#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The points origin + t · direction with t_near ≤ t ≤ t_far. The direction need not have unit length.
struct Ray {
  Vec3f origin = Vec3f::Zero();
  Vec3f direction = Vec3f::UnitX();
  float t_near = 0;
  float t_far = std::numeric_limits<float>::infinity();
};

struct RayHit {
  std::uint32_t triangle = 0;
  Vec3f barycentric = Vec3f::Zero();  ///< weights of the triangle's corners, sum 1
  Vec3f position = Vec3f::Zero();
  float t = 0;             ///< along the ray
  bool from_front = true;  ///< the ray comes from the side that the triangle faces
};

struct NearestHit {
  std::uint32_t triangle = 0;
  Vec3f barycentric = Vec3f::Zero();
  Vec3f position = Vec3f::Zero();
  float distance = 0;  ///< metres
};

/// Rays and nearest points on a surface. Copies what it needs of the mesh. Safe to ask from many threads.
/// Works at any size of mesh. Where a ray passes through an edge or a corner it hits one of the triangles
/// there: the surface has no cracks. A surface within rounding (a millionth of the mesh's size) of the ray's
/// start or end may be hit or missed. Rays and points that are not finite, or a zero direction, give no hit.
/// Ties go to the triangle with the smallest number, so that answers are the same on every run.
class SurfaceQuery {
 public:
  /// Throws Error when a position that a triangle uses is not finite.
  explicit SurfaceQuery(const MeshView& mesh);
  ~SurfaceQuery();
  SurfaceQuery(SurfaceQuery&&) noexcept;
  SurfaceQuery& operator=(SurfaceQuery&&) noexcept;

  std::optional<RayHit> first_hit(const Ray& ray) const;
  bool occluded(const Ray& ray) const;
  /// All triangles along the ray, by t, then by triangle. A ray through an edge may hit both of its
  /// triangles.
  std::vector<RayHit> all_hits(const Ray& ray) const;
  /// The point of the surface nearest to `point`; none when it is farther than `max_distance` (metres) or the
  /// mesh has no triangles. Triangles without area count as the segments or points that they are.
  std::optional<NearestHit> nearest(const Vec3f& point,
                                    float max_distance = std::numeric_limits<float>::infinity()) const;

  /// The same for many at once, in parallel. The spans have the same size.
  void first_hits(std::span<const Ray> rays, std::span<std::optional<RayHit>> hits) const;
  void occluded(std::span<const Ray> rays, std::span<std::uint8_t> answers) const;
  void nearest(std::span<const Vec3f> points, std::span<std::optional<NearestHit>> hits,
               float max_distance = std::numeric_limits<float>::infinity()) const;

 private:
  struct Scene;
  std::unique_ptr<Scene> scene_;
};

}  // namespace sinew
