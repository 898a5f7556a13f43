#include "tests/reference/implicit_fields.h"

#include <cmath>
#include <optional>

#include <Eigen/LU>

#include <sinew/core/index.h>

namespace sinew::reference {

namespace {

using Wide3 = Eigen::Matrix<long double, 3, 1>;
using Wide33 = Eigen::Matrix<long double, 3, 3>;

Wide3 gradient_of_phi(const Wide3& x) {
  return 3 * x.norm() * x;
}

Wide33 hessian_of_phi(const Wide3& x) {
  const long double r = x.norm();
  if (r == 0) return Wide33::Zero();
  return 3 * (r * Wide33::Identity() + x * x.transpose() / r);
}

std::optional<FieldSample> compose_below(const CompositionTree& tree, std::span<const FieldSample> samples,
                                         const std::vector<bool>& used, std::size_t number) {
  if (number < tree.leaf_count())
    return used[number] ? std::optional<FieldSample>(samples[number]) : std::nullopt;
  const CompositionTree::Node& node = tree.nodes()[number - tree.leaf_count()];
  const auto first = compose_below(tree, samples, used, node.first);
  const auto second = compose_below(tree, samples, used, node.second);
  if (!first || !second) return first ? first : second;
  return combine(tree.operators()[node.operation], *first, *second);
}

}  // namespace

HermiteRbf::HermiteRbf(std::span<const HermitePoint> points) {
  for (const HermitePoint& point : points) centers_.push_back(point.position);
  const auto m = static_cast<Eigen::Index>(points.size());
  Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> matrix(4 * m, 4 * m);
  Eigen::Matrix<long double, Eigen::Dynamic, 1> right(4 * m);
  for (Eigen::Index k = 0; k < m; ++k) {
    const HermitePoint& point = points[to_size(k)];
    right[4 * k] = 0;
    right.segment<3>(4 * k + 1) = point.normal.cast<long double>();
    for (Eigen::Index l = 0; l < m; ++l) {
      const Wide3 x = (point.position - points[to_size(l)].position).cast<long double>();
      matrix(4 * k, 4 * l) = std::pow(x.norm(), 3.0L);
      matrix.block<1, 3>(4 * k, 4 * l + 1) = gradient_of_phi(x).transpose();
      matrix.block<3, 1>(4 * k + 1, 4 * l) = gradient_of_phi(x);
      matrix.block<3, 3>(4 * k + 1, 4 * l + 1) = hessian_of_phi(x);
    }
  }
  coefficients_ = matrix.fullPivLu().solve(right);
}

double HermiteRbf::distance(const Vec3d& x) const {
  long double sum = 0;
  for (std::size_t k = 0; k < centers_.size(); ++k) {
    const auto row = static_cast<Eigen::Index>(4 * k);
    const Wide3 from = (x - centers_[k]).cast<long double>();
    sum += coefficients_[row] * std::pow(from.norm(), 3.0L);
    sum += coefficients_.segment<3>(row + 1).dot(gradient_of_phi(from));
  }
  return static_cast<double>(sum);
}

double compact_support(double x, double r) {
  if (x < -r) return 1;
  if (x > r) return 0;
  return -3.0 / 16 * std::pow(x / r, 5) + 5.0 / 8 * std::pow(x / r, 3) - 15.0 / 16 * (x / r) + 0.5;
}

Eigen::Vector4d trilinear(const FieldGrid& grid, const Vec3d& at) {
  Eigen::Vector4d sum = Eigen::Vector4d::Zero();
  const Vec3d below = at.array().floor();
  const Vec3d share = at - below;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::array<int, 3> node{};
    for (int axis = 0; axis < 3; ++axis) {
      const bool upper = (corner >> axis & 1) != 0;
      node[to_size(axis)] = static_cast<int>(below[axis]) + (upper ? 1 : 0);
      weight *= upper ? share[axis] : 1 - share[axis];
    }
    if (weight == 0) continue;  // such nodes may lie outside
    const FieldGrid::Node& n = grid.nodes()[grid.index(node[0], node[1], node[2])];
    sum += weight * Eigen::Vector4f(n.value, n.gx, n.gy, n.gz).cast<double>();
  }
  return sum;
}

FieldSample compose(const CompositionTree& tree, std::span<const FieldSample> samples,
                    const std::vector<bool>& used) {
  if (tree.leaf_count() == 0) return {};
  return compose_below(tree, samples, used, tree.leaf_count() + tree.nodes().size() - 1)
      .value_or(FieldSample());
}

std::vector<double> mean_value_coordinates(std::span<const Vec3d> polygon, const Vec3d& normal) {
  const std::size_t n = polygon.size();
  const Mat3d in_plane = Mat3d::Identity() - normal * normal.transpose() / normal.squaredNorm();
  std::vector<Vec3d> q;
  for (const Vec3d& corner : polygon) q.push_back(in_plane * corner);
  std::vector<double> half_tangents, weights;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3d &a = q[i], &b = q[(i + 1) % n];
    half_tangents.push_back((a.norm() * b.norm() - a.dot(b)) / a.cross(b).norm());
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    weights.push_back((half_tangents[(i + n - 1) % n] + half_tangents[i]) / q[i].norm());
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace sinew::reference
