#include <sinew/measure/hinges.h>

#include <cmath>

#include <Eigen/Geometry>

#include <sinew/measure/flips.h>

namespace sinew {

double turned_angle(const Hinge& hinge, std::span<const Affine3d> posed_from_rest) {
  if (hinge.binding >= posed_from_rest.size() || hinge.parent >= posed_from_rest.size()) return 0;
  Mat3d own = nearest_orthogonal(posed_from_rest[hinge.binding].linear());
  Mat3d parents = nearest_orthogonal(posed_from_rest[hinge.parent].linear());
  if (own.determinant() < 0) own = -own;
  if (parents.determinant() < 0) parents = -parents;
  // Half the angle's sine and cosine: accurate for angles near 0 and near 180° alike.
  const Quatd turn(Mat3d(parents.transpose() * own));
  return 2 * std::atan2(turn.vec().norm(), std::abs(turn.w()));
}

}  // namespace sinew
