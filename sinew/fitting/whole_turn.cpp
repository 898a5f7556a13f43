#include <sinew/fitting/whole_turn.h>

#include <Eigen/SVD>

#include <sinew/core/smooth_step.h>

namespace sinew {

namespace {

// Below the first, a character is too thin to tell how it is turned about its length; above the second, not.
constexpr double kThin = 0.01, kNotThin = 0.03;

}  // namespace

Quatd whole_turn(const ControlRig& rig, std::span<const char> placed, const ControlRig& fitted) {
  Vec3d old_center = Vec3d::Zero(), new_center = Vec3d::Zero();
  double count = 0;
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    if (!placed[b]) continue;
    old_center += rig.bones[b].head + rig.bones[b].tail;
    new_center += fitted.bones[b].head + fitted.bones[b].tail;
    count += 2;
  }
  if (count == 0) return Quatd::Identity();
  old_center /= count;
  new_center /= count;
  Mat3d spread = Mat3d::Zero();
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    if (!placed[b]) continue;
    const RigBone &was = rig.bones[b], &is = fitted.bones[b];
    spread += (is.head - new_center) * (was.head - old_center).transpose();
    spread += (is.tail - new_center) * (was.tail - old_center).transpose();
  }
  const Eigen::JacobiSVD<Mat3d> svd(spread, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Vec3d sizes = svd.singularValues();
  if (!(sizes[0] > 0)) return Quatd::Identity();
  // A line says nothing of the turn about it: the shortest.
  const Quatd shortest = turn_between(svd.matrixV().col(0), svd.matrixU().col(0));
  const double known = smooth_step(kThin, kNotThin, sizes[1] / sizes[0]);
  if (known == 0) return shortest;
  Mat3d u = svd.matrixU();
  if ((u * svd.matrixV().transpose()).determinant() < 0) u.col(2) *= -1;
  return shortest.slerp(known, Quatd(Mat3d(u * svd.matrixV().transpose())));
}

}  // namespace sinew
