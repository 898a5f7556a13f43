#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The size of the mean curvature at each vertex, in 1/m: |Σ (cot α + cot β) (x_v - x_n)| / 4 A over its
/// neighbours n, α and β the angles opposite to the edge. A is the area nearer to this vertex than to its
/// neighbours; of a triangle with an obtuse angle half goes to that corner and a quarter to each other one.
/// 1/r on a sphere, 1/2r on a cylinder. Where the triangles do not go all the way round the vertex it means
/// nothing. Finite for all finite positions: 0 for vertices without area.
std::vector<double> mean_curvature(const MeshView& mesh);

struct CurvatureChange {
  double rms = 0;   ///< root mean square of the change over that of the curvature at rest: 0.2 is 20 %
  double mean = 0;  ///< mean size of the curvature over that at rest, less 1: detail lost, or gained
};

/// How much a frame changes a surface's curvature: whether wrinkles, muscles and dents survive.
class CurvatureMeter {
 public:
  explicit CurvatureMeter(const MeshView& rest);

  /// Over the vertices that `left_out` says 0 for, weighted by their area at rest. Border vertices never
  /// count. None when nothing is left or that is flat at rest.
  ///
  /// No curvature counts for more than that of a sphere with no more surface than the vertex's area at rest:
  /// what is more comes from triangles that have collapsed, and one of them would outweigh all the others.
  std::optional<CurvatureChange> change(std::span<const Vec3f> positions,
                                        std::span<const std::uint8_t> left_out) const;

 private:
  std::vector<Triangle> triangles_;
  std::vector<double> rest_;  // curvature
  std::vector<double> area_;  // 0: never counts
  std::vector<double> most_;  // curvature that counts
  double flat_ = 0;           // no larger than this is rounding
};

}  // namespace sinew
