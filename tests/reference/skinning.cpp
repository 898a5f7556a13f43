#include "tests/reference/skinning.h"

#include <Eigen/SVD>

namespace sinew::reference {

template <class Real>
void linear_blend(std::span<const Vec3f> rest, const SkinWeights& weights,
                  std::span<const Affine3d> posed_from_rest, std::span<Vec3f> posed) {
  using Vec3 = Eigen::Matrix<Real, 3, 1>;
  using Mat34 = Eigen::Matrix<Real, 3, 4, Eigen::DontAlign>;
  std::vector<Mat34> matrices;
  for (const Affine3d& transform : posed_from_rest)
    matrices.push_back(transform.matrix().topRows<3>().cast<Real>());
  for (std::size_t v = 0; v < rest.size(); ++v) {
    const Vec3 p = rest[v].cast<Real>();
    Vec3 sum = Vec3::Zero();
    for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i) {
      const Mat34& m = matrices[weights.joints[i]];
      sum += static_cast<Real>(weights.values[i]) * (m.template leftCols<3>() * p + m.col(3));
    }
    posed[v] = sum.template cast<float>();
  }
}

template <class Real>
void dual_quaternion(std::span<const Vec3f> rest, const SkinWeights& weights,
                     std::span<const Affine3d> posed_from_rest, std::span<Vec3f> posed) {
  using Vec3 = Eigen::Matrix<Real, 3, 1>;
  using Mat3 = Eigen::Matrix<Real, 3, 3, Eigen::DontAlign>;
  using Quat = Eigen::Quaternion<Real, Eigen::DontAlign>;
  struct Motion {
    Quat real, dual;
    Mat3 stretch;
  };
  std::vector<Motion> motions;
  bool stretched = false;
  for (const Affine3d& transform : posed_from_rest) {
    const Mat3d linear = transform.linear();
    const Eigen::JacobiSVD<Mat3d> svd(linear, Eigen::ComputeFullU | Eigen::ComputeFullV);
    Mat3d rotation = svd.matrixU() * svd.matrixV().transpose();
    if (rotation.determinant() < 0) rotation = -rotation;
    const Mat3d stretch = rotation.transpose() * linear;
    stretched = stretched || !stretch.isIdentity(1e-6);
    const Vec3d t = transform.translation();
    const Quatd real(rotation);
    Quatd dual = Quatd(0, t.x(), t.y(), t.z()) * real;
    dual.coeffs() *= 0.5;
    motions.push_back({real.cast<Real>(), dual.cast<Real>(), stretch.cast<Real>()});
  }
  for (std::size_t v = 0; v < rest.size(); ++v) {
    Vec3 p = rest[v].cast<Real>();
    const std::size_t begin = weights.starts[v], end = weights.starts[v + 1];
    if (stretched) {
      Vec3 sum = Vec3::Zero();
      for (std::size_t i = begin; i < end; ++i)
        sum += static_cast<Real>(weights.values[i]) * (motions[weights.joints[i]].stretch * p);
      p = sum;
    }
    const Quat& pivot = motions[weights.joints[begin]].real;
    Quat real(0, 0, 0, 0), dual(0, 0, 0, 0);
    for (std::size_t i = begin; i < end; ++i) {
      const Motion& motion = motions[weights.joints[i]];
      Real w = weights.values[i];
      if (pivot.dot(motion.real) < 0) w = -w;
      real.coeffs() += w * motion.real.coeffs();
      dual.coeffs() += w * motion.dual.coeffs();
    }
    const Real norm = real.norm();
    real.coeffs() /= norm;
    dual.coeffs() /= norm;
    // Kavan et al. 2007: v = p + 2 d × (d × p + a p) + 2 (a e − b d + d × e), real (a, d), dual (b, e).
    const Vec3 d = real.vec(), e = dual.vec();
    const Vec3 turned = p + 2 * d.cross(d.cross(p) + real.w() * p);
    posed[v] = (turned + 2 * (real.w() * e - dual.w() * d + d.cross(e))).template cast<float>();
  }
}

template void linear_blend<float>(std::span<const Vec3f>, const SkinWeights&, std::span<const Affine3d>,
                                  std::span<Vec3f>);
template void linear_blend<double>(std::span<const Vec3f>, const SkinWeights&, std::span<const Affine3d>,
                                   std::span<Vec3f>);
template void dual_quaternion<float>(std::span<const Vec3f>, const SkinWeights&, std::span<const Affine3d>,
                                     std::span<Vec3f>);
template void dual_quaternion<double>(std::span<const Vec3f>, const SkinWeights&, std::span<const Affine3d>,
                                      std::span<Vec3f>);

}  // namespace sinew::reference
