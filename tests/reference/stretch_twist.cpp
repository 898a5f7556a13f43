#include "tests/reference/stretch_twist.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/SVD>

namespace sinew::reference {

namespace {

double along_bone(const Vec3d& p, const StretchBone& bone) {
  return (p - bone.head).dot(bone.tail - bone.head) / (bone.tail - bone.head).squaredNorm();
}

double distance(const Vec3d& p, const StretchBone& bone) {
  const double u = std::min(1.0, std::max(0.0, along_bone(p, bone)));
  return (p - (bone.head + u * (bone.tail - bone.head))).norm();
}

// The integral, scaled to end at 1, of a slope that rises to 1 over the first tenth and falls over the last.
double end_weight(double u) {
  if (u <= 0) return 0;
  if (u >= 1) return 1;
  double area = 0;
  if (u < 0.1)
    area = 0.5 * u * u / 0.1;
  else if (u < 0.9)
    area = 0.05 + (u - 0.1);
  else
    area = 0.9 - 0.5 * (1 - u) * (1 - u) / 0.1;
  return area / 0.9;
}

// The angle whose turn about the axis is nearest to the end's rotation relative to the start.
double twist(const StretchBone& bone, const Affine3d& start, const Affine3d& end) {
  const Mat3d relative = start.linear().inverse() * end.linear();
  const Eigen::JacobiSVD<Mat3d> svd(relative, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Mat3d rotation = svd.matrixU() * svd.matrixV().transpose();
  const Vec3d axis = (bone.tail - bone.head).normalized();
  const Vec3d x = axis.unitOrthogonal(), y = axis.cross(x);
  const double sine = y.dot(rotation * x) - x.dot(rotation * y);
  const double cosine = x.dot(rotation * x) + y.dot(rotation * y);
  const double swing = std::acos(std::min(1.0, std::max(-1.0, axis.dot(rotation * axis))));
  const double fade = std::min(1.0, std::max(0.0, (std::cos(swing / 2) - 0.05) / 0.2));
  return fade * fade * (3 - 2 * fade) * std::atan2(sine, cosine);
}

}  // namespace

void stretch_twist(std::span<const Vec3f> rest, const SkinWeights& weights,
                   std::span<const StretchBone> bones, std::span<const Affine3d> posed_from_rest,
                   std::span<Vec3f> posed) {
  std::vector<double> twists;
  for (const StretchBone& bone : bones)
    twists.push_back(bone.twist * twist(bone, posed_from_rest[bone.start], posed_from_rest[bone.end]));
  for (std::size_t v = 0; v < rest.size(); ++v) {
    const Vec3d p = rest[v].cast<double>();
    Vec3d sum = Vec3d::Zero();
    for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i) {
      const Affine3d& start = posed_from_rest[weights.joints[i]];
      double shares = 0;
      Vec3d moved = Vec3d::Zero();
      for (std::size_t b = 0; b < bones.size(); ++b) {
        const StretchBone& bone = bones[b];
        if (bone.start != weights.joints[i]) continue;
        const Affine3d& end = posed_from_rest[bone.end];
        const double share = std::pow(std::max(distance(p, bone), 1e-6), -4);
        const double e = end_weight(along_bone(p, bone));
        const Eigen::AngleAxisd turn(e * twists[b], (bone.tail - bone.head).normalized());
        const Vec3d stretch = bone.stretch ? Vec3d(end * bone.tail - start * bone.tail) : Vec3d(0, 0, 0);
        moved += share * (start * (bone.head + turn * (p - bone.head)) + e * stretch);
        shares += share;
      }
      sum += static_cast<double>(weights.values[i]) * (shares > 0 ? Vec3d(moved / shares) : start * p);
    }
    posed[v] = sum.cast<float>();
  }
}

}  // namespace sinew::reference
