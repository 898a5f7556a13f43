#include <sinew/fitting/best_rotation.h>

#include <algorithm>
#include <cmath>

#include <Eigen/SVD>

#include <sinew/core/smooth_step.h>
#include <sinew/fitting/rig_bones.h>

namespace sinew {

namespace {

/// Ratio of the second to the first singular value: below the first, a character is too thin to tell how it
/// is rotated about its length; above the second, not. By hand, on the built-in characters.
constexpr double kThin = 0.01, kNotThin = 0.03;

}  // namespace

Quatd best_rotation(const ControlRig& rig, const PerBone<char>& placed, const ControlRig& fitted) {
  Vec3d old_center = Vec3d::Zero(), new_center = Vec3d::Zero();
  double count = 0;
  for (const BoneId b : bone_ids(rig)) {
    if (!placed[b]) continue;
    old_center += bone_at(rig, b).head + bone_at(rig, b).tail;
    new_center += bone_at(fitted, b).head + bone_at(fitted, b).tail;
    count += 2;
  }
  if (count == 0) return Quatd::Identity();
  old_center /= count;
  new_center /= count;
  Mat3d spread = Mat3d::Zero();
  for (const BoneId b : bone_ids(rig)) {
    if (!placed[b]) continue;
    const RigBone &was = bone_at(rig, b), &is = bone_at(fitted, b);
    spread += (is.head - new_center) * (was.head - old_center).transpose();
    spread += (is.tail - new_center) * (was.tail - old_center).transpose();
  }
  const Eigen::JacobiSVD<Mat3d> svd(spread, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Vec3d sizes = svd.singularValues();
  if (!(sizes[0] > 0)) return Quatd::Identity();
  // A line says nothing of the rotation about it: the shortest.
  const Quatd shortest = rotation_between(svd.matrixV().col(0), svd.matrixU().col(0));
  if (sizes[1] < 1e-9 * sizes[0]) return shortest;
  Mat3d u = svd.matrixU();
  if ((u * svd.matrixV().transpose()).determinant() < 0) u.col(2) *= -1;
  const Quatd best(Mat3d(u * svd.matrixV().transpose()));
  // However thin, a character that is the rig itself, turned and scaled, is turned so.
  double old_size = 0, new_size = 0, residual = 0;
  const auto each_end = [&](const auto& use) {
    for (const BoneId b : bone_ids(rig)) {
      if (!placed[b]) continue;
      use(bone_at(rig, b).head - old_center, bone_at(fitted, b).head - new_center);
      use(bone_at(rig, b).tail - old_center, bone_at(fitted, b).tail - new_center);
    }
  };
  each_end([&](const Vec3d& was, const Vec3d& is) {
    old_size += was.squaredNorm();
    new_size += is.squaredNorm();
  });
  const double scale = std::sqrt(new_size / old_size);
  each_end([&](const Vec3d& was, const Vec3d& is) {
    residual = std::max(residual, (scale * (best * was) - is).norm());
  });
  if (residual <= 1e-6 * std::sqrt(new_size)) return best;
  return shortest.slerp(smooth_step(kThin, kNotThin, sizes[1] / sizes[0]), best);
}

}  // namespace sinew
