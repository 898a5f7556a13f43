#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/triangle_tree.h>

namespace sinew {

/// The generalised winding number of one frame's surface at many points (Barill et al. 2018, "Fast Winding
/// Numbers for Soups and Clouds"): triangles far from a point act through their node's first two moments,
/// near ones exactly. Within 0.02 of winding_number() on the surfaces of our tests, however close the point
/// is to the surface; at a point of the surface itself its triangle counts nothing, as there. Safe to ask
/// from many threads.
class WindingTree {
 public:
  /// The tree must outlive this object; the boxes may go. `positions` is what the boxes were fitted to.
  WindingTree(const TriangleTree& tree, const FittedTriangleTree& boxes, std::span<const Vec3f> positions);

  double at(const Vec3d& point) const;
  /// The same for many at once, in parallel. The spans have the same size.
  void at(std::span<const Vec3d> points, std::span<double> winding) const;

 private:
  struct Far {
    Vec3d centre;      // mean of the node's triangles, weighted by area
    Vec3d normal;      // Σ area · normal
    Mat3d moment;      // Σ area · normal ⊗ (triangle's centre - centre)
    double reach = 0;  // squared distance from which on these stand for the triangles
  };

  const TriangleTree& tree_;
  std::vector<std::array<Vec3f, 3>> corners_;  // in the tree's order
  std::vector<Far> far_;                       // per node
};

}  // namespace sinew
