#include <sinew/skeleton/skeleton.h>

#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/polar.h>

namespace sinew {

Affine3d Transform::matrix() const {
  Affine3d result;
  result.linear() = rotation.cast<double>().toRotationMatrix() * scale.cast<double>().asDiagonal();
  result.translation() = translation.cast<double>();
  result.makeAffine();
  return result;
}

Transform decompose(const Affine3d& matrix, double* shear) {
  // For M = R diag(s) the columns of M are orthogonal, so their lengths are |s| and the unit columns are R up
  // to sign. A reflection goes into x, as everywhere in the field; where columns vanish or shear mixes them,
  // the nearest rotation (polar factor) is taken.
  const Mat3d linear = matrix.linear();
  Vec3d scale = linear.colwise().norm();
  const double largest = scale.maxCoeff();
  Mat3d axes = linear;
  for (int c = 0; c < 3; ++c) {
    if (scale[c] > 1e-30 * largest && scale[c] > 0) {
      axes.col(c) /= scale[c];
    } else {
      scale[c] = 0;
      axes.col(c).setZero();
    }
  }
  if (linear.determinant() < 0) {
    scale.x() = -scale.x();
    axes.col(0) = -axes.col(0);
  }
  const Mat3d rotation = nearest_rotation(axes);
  Transform result;
  result.translation = matrix.translation().cast<float>();
  result.rotation = Quatd(rotation).normalized().cast<float>();
  result.scale = scale.cast<float>();
  if (shear != nullptr) *shear = (result.matrix().matrix() - matrix.matrix()).cwiseAbs().maxCoeff();
  return result;
}

int Skeleton::find(std::string_view name) const {
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (joints[j].name == name) return static_cast<int>(j);
  return -1;
}

void check_skeleton(const Skeleton& skeleton, const std::string& where) {
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const Joint& joint = skeleton.joints[j];
    if (joint.parent < -1 || joint.parent >= static_cast<int>(j))
      throw Error(fmt::format("{}: joint {} '{}': parent {} does not come before it", where, j, joint.name,
                              joint.parent));
    const Transform& rest = joint.rest;
    if (!rest.translation.allFinite() || !rest.rotation.coeffs().allFinite() || !rest.scale.allFinite())
      throw Error(fmt::format("{}: joint {} '{}': rest transform is not finite", where, j, joint.name));
    if (std::abs(rest.rotation.norm() - 1.0f) > 1e-3f)
      throw Error(fmt::format("{}: joint {} '{}': rest rotation has length {}, not 1", where, j, joint.name,
                              rest.rotation.norm()));
  }
}

Pose rest_pose(const Skeleton& skeleton) {
  Pose pose;
  pose.joints.reserve(skeleton.size());
  for (const Joint& joint : skeleton.joints) pose.joints.push_back(joint.rest);
  return pose;
}

void forward_kinematics(const Skeleton& skeleton, std::span<const Transform> local,
                        std::span<Affine3d> world_from_joint) {
  assert(local.size() == skeleton.size() && world_from_joint.size() == skeleton.size());
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const int parent = skeleton.joints[j].parent;
    world_from_joint[j] = parent < 0 ? local[j].matrix() : world_from_joint[parent] * local[j].matrix();
  }
}

}  // namespace sinew
