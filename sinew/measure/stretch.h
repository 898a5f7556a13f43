#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// Ratios of a frame's lengths or areas to the rest's, less 1: 0.2 is 20 % longer, -1 is gone.
struct Stretch {
  double largest = 0;   ///< never below 0
  double smallest = 0;  ///< never above 0: the worst compression
  double rms = 0;       ///< each edge weighted by its rest length, each triangle by its rest area
};

/// Compares areas and edges of a surface with its rest. Triangles whose smallest height at rest is less than
/// a millionth of their longest side, and edges of no length, are left out: they have no ratio.
class StretchMeter {
 public:
  explicit StretchMeter(const MeshView& rest);

  Stretch area_stretch(std::span<const Vec3f> positions) const;
  Stretch edge_stretch(std::span<const Vec3f> positions) const;
  /// Triangles whose smallest height has shrunk to less than a hundredth of the rest's: to a line or to a
  /// point.
  std::size_t degenerate_triangles(std::span<const Vec3f> positions) const;

  std::size_t slivers_at_rest() const { return slivers_; }
  double mean_edge() const { return mean_edge_; }  ///< at rest, metres; 0 without edges

 private:
  struct RestTriangle {
    Triangle corners;
    double area, height;
  };
  struct RestEdge {
    std::array<std::uint32_t, 2> ends;
    double length;
  };
  std::vector<RestTriangle> triangles_;
  std::vector<RestEdge> edges_;
  std::size_t slivers_ = 0;
  double mean_edge_ = 0;
};

}  // namespace sinew
