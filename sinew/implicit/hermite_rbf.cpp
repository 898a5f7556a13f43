#include <sinew/implicit/hermite_rbf.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <Eigen/LU>

#include <sinew/core/error.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/implicit/hermite_rbf.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// One point per lane, all centres one after the other: the centres' numbers are broadcast, nothing is
/// gathered. `x` holds `lanes` points as rows x, y, z; `out` gets rows d, ∂x, ∂y, ∂z.
/// `centers` holds seven floats each: position, λ, β.
void evaluate_lanes(const float* centers, std::size_t center_count, const float* x, std::size_t stride,
                    std::size_t count, float* out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto px = hn::LoadU(d, x + i), py = hn::LoadU(d, x + stride + i),
               pz = hn::LoadU(d, x + 2 * stride + i);
    auto value = hn::Zero(d), gx = hn::Zero(d), gy = hn::Zero(d), gz = hn::Zero(d);
    const auto tiny = hn::Set(d, 1e-30f);
    const auto three = hn::Set(d, 3.0f);
    for (std::size_t k = 0; k < center_count; ++k) {
      const float* c = centers + 7 * k;
      const auto dx = hn::Sub(px, hn::Set(d, c[0])), dy = hn::Sub(py, hn::Set(d, c[1])),
                 dz = hn::Sub(pz, hn::Set(d, c[2]));
      const auto r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
      const auto r = hn::Sqrt(r2);
      const auto over_r = hn::Div(hn::Set(d, 1.0f), hn::Max(r, tiny));
      const auto lambda = hn::Set(d, c[3]);
      const auto bx = hn::Set(d, c[4]), by = hn::Set(d, c[5]), bz = hn::Set(d, c[6]);
      const auto b_dot = hn::MulAdd(bx, dx, hn::MulAdd(by, dy, hn::Mul(bz, dz)));
      // λ r³ + 3 r <β, x>
      value = hn::MulAdd(r, hn::MulAdd(lambda, r2, hn::Mul(three, b_dot)), value);
      // 3 λ r x + 3 (r β + x <x, β> / r)
      const auto along = hn::Mul(three, hn::MulAdd(lambda, r, hn::Mul(b_dot, over_r)));
      const auto r3 = hn::Mul(three, r);
      gx = hn::MulAdd(along, dx, hn::MulAdd(r3, bx, gx));
      gy = hn::MulAdd(along, dy, hn::MulAdd(r3, by, gy));
      gz = hn::MulAdd(along, dz, hn::MulAdd(r3, bz, gz));
    }
    hn::StoreU(value, d, out + i);
    hn::StoreU(gx, d, out + stride + i);
    hn::StoreU(gy, d, out + 2 * stride + i);
    hn::StoreU(gz, d, out + 3 * stride + i);
  }
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace sinew {

namespace {

HWY_EXPORT(evaluate_lanes);

constexpr double kDuplicate = 1e-3;  // of the set's extent
constexpr double kNormalTolerance = 0.01;
// Up to this sum of the coefficients' absolutes, at unit size, floats are off by 1e-4 of the extent at most.
constexpr double kMostForFloats = 1000;

}  // namespace

HermiteRbf::HermiteRbf(std::span<const HermitePoint> points) {
  if (points.empty()) throw Error("a Hermite RBF needs at least one point");
  if (points.size() > kMostPoints)
    throw Error(fmt::format("a Hermite RBF takes {} points at most, not {}", kMostPoints, points.size()));
  Vec3d low = points[0].position, high = low;
  for (const HermitePoint& point : points) {
    if (!point.position.allFinite() || !point.normal.allFinite())
      throw Error("a Hermite RBF's points and normals must be finite");
    if (std::abs(point.normal.norm() - 1) > kNormalTolerance)
      throw Error("a Hermite RBF's normals must be of unit length");
    low = low.cwiseMin(point.position), high = high.cwiseMax(point.position);
  }
  center_ = (low + high) / 2;
  const double extent = (high - low).norm();
  scale_ = extent > 0 ? 1 / extent : 1.0;
  if (!std::isfinite(scale_) || !(scale_ > 0) || !center_.allFinite())
    throw Error("a Hermite RBF's points are too far or too near from each other");

  std::vector<Vec3d> unit;
  for (const HermitePoint& point : points) {
    const Vec3d p = (point.position - center_) * scale_;
    const bool repeated = std::any_of(unit.begin(), unit.end(), [&](const Vec3d& q) {
      return (p - q).squaredNorm() < kDuplicate * kDuplicate;
    });
    if (repeated) continue;
    unit.push_back(p);
    points_.push_back({point.position, point.normal.normalized()});
  }

  // Row block k: d(v_k) = 0, then ∇d(v_k) = n_k; column block l: λ_l, then β_l.
  const auto m = static_cast<Eigen::Index>(unit.size());
  Eigen::MatrixXd matrix(4 * m, 4 * m);
  Eigen::VectorXd right(4 * m);
  for (Eigen::Index k = 0; k < m; ++k) {
    right.segment<4>(4 * k) << 0, points_[static_cast<std::size_t>(k)].normal;
    for (Eigen::Index l = 0; l < m; ++l) {
      const Vec3d x = unit[static_cast<std::size_t>(k)] - unit[static_cast<std::size_t>(l)];
      const double r = x.norm();
      Mat3d hessian = Mat3d::Zero();
      if (r > 0) hessian = 3 * (r * Mat3d::Identity() + x * x.transpose() / r);
      const Vec3d gradient = 3 * r * x;
      matrix(4 * k, 4 * l) = r * r * r;
      matrix.block<1, 3>(4 * k, 4 * l + 1) = gradient.transpose();
      matrix.block<3, 1>(4 * k + 1, 4 * l) = gradient;
      matrix.block<3, 3>(4 * k + 1, 4 * l + 1) = hessian;
    }
  }
  Eigen::VectorXd solution;
  if (m == 1) {
    // A plane: the system is all zeros, and d(x) = <n, x − v> has no r³ in it.
    solution = Eigen::VectorXd::Zero(4);
  } else {
    const Eigen::PartialPivLU<Eigen::MatrixXd> lu(matrix);
    solution = lu.solve(right);
    solution += lu.solve(right - matrix * solution);  // one refinement buys two digits
    if (!solution.allFinite() || !((matrix * solution - right).cwiseAbs().maxCoeff() < 1e-6))
      throw Error(fmt::format("no smooth surface goes through these {} points and normals", m));
  }
  for (Eigen::Index k = 0; k < m; ++k) {
    x_.push_back(unit[static_cast<std::size_t>(k)].x());
    y_.push_back(unit[static_cast<std::size_t>(k)].y());
    z_.push_back(unit[static_cast<std::size_t>(k)].z());
    lambda_.push_back(solution[4 * k]);
    bx_.push_back(solution[4 * k + 1]);
    by_.push_back(solution[4 * k + 2]);
    bz_.push_back(solution[4 * k + 3]);
  }
}

HermiteRbf::Value HermiteRbf::evaluate(const Vec3d& at) const {
  Value value;
  if (points_.size() == 1) {
    value.gradient = points_[0].normal;
    value.distance = points_[0].normal.dot(at - points_[0].position);
    return value;
  }
  const Vec3d p = (at - center_) * scale_;
  for (std::size_t k = 0; k < x_.size(); ++k) {
    const Vec3d x = p - Vec3d(x_[k], y_[k], z_[k]), beta(bx_[k], by_[k], bz_[k]);
    const double r = x.norm(), dot = beta.dot(x);
    value.distance += lambda_[k] * r * r * r + 3 * r * dot;
    value.gradient += 3 * lambda_[k] * r * x + 3 * r * beta;
    if (r > 0) value.gradient += 3 * x * (dot / r);
  }
  value.distance /= scale_;
  return value;
}

void HermiteRbf::evaluate(std::span<const Vec3f> at, std::span<Vec4f> out) const {
  // Points that nearly meet and whose normals disagree have huge coefficients that cancel each other out.
  double size = 0;
  for (std::size_t k = 0; k < x_.size(); ++k)
    size += std::abs(lambda_[k]) + 3 * Vec3d(bx_[k], by_[k], bz_[k]).norm();
  if (points_.size() == 1 || size > kMostForFloats) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Value value = evaluate(Vec3d(at[i].cast<double>()));
      out[i] << static_cast<float>(value.distance), value.gradient.cast<float>();
    }
    return;
  }
  constexpr std::size_t kBlock = 64;  // a multiple of every vector's lanes
  std::vector<float> centers;
  centers.reserve(7 * x_.size());
  for (std::size_t k = 0; k < x_.size(); ++k)
    for (const double c : {x_[k], y_[k], z_[k], lambda_[k], bx_[k], by_[k], bz_[k]})
      centers.push_back(static_cast<float>(c));
  float x[3 * kBlock], result[4 * kBlock];
  for (std::size_t begin = 0; begin < at.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, at.size() - begin);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const Vec3d p = (at[begin + std::min(i, count - 1)].cast<double>() - center_) * scale_;
      for (std::size_t axis = 0; axis < 3; ++axis)
        x[axis * kBlock + i] = static_cast<float>(p[static_cast<Eigen::Index>(axis)]);
    }
    HWY_DYNAMIC_DISPATCH(evaluate_lanes)(centers.data(), x_.size(), x, kBlock, kBlock, result);
    for (std::size_t i = 0; i < count; ++i)
      out[begin + i] << result[i] / static_cast<float>(scale_), result[kBlock + i], result[2 * kBlock + i],
          result[3 * kBlock + i];
  }
}

}  // namespace sinew

#endif
