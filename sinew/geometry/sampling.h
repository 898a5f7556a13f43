#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

struct SurfaceSample {
  std::uint32_t triangle = 0;
  Vec3f barycentric = Vec3f::Zero();  ///< weights of the triangle's corners, not negative, sum 1
  Vec3f position = Vec3f::Zero();
  Vec3f normal = Vec3f::Zero();  ///< of the triangle, unit length
};

struct SurfaceSamples {
  std::vector<SurfaceSample> samples;
  double distance = 0;  ///< no two samples are nearer to each other than this, in metres
};

/// Poisson-disk samples of the part of a surface that the triangles named in `part` make up (any order,
/// repeats count once): about `count` points spread evenly, none too near to another, in space and not along
/// the surface. The same for the same seed on any machine with the same floating point. Triangles without
/// area get no samples, so a part without area gives none; so does a `count` of 0. Very small counts and
/// parts that fold onto themselves can miss `count`; otherwise it is met within a few percent.
///
/// Positions must be finite. Any size of mesh will do.
SurfaceSamples poisson_disk_samples(const MeshView& mesh, std::span<const std::uint32_t> part,
                                    std::size_t count, std::uint64_t seed = 1);

}  // namespace sinew
