#include "tests/reference/implicit_operators.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include <sinew/core/index.h>

namespace sinew::reference {

namespace {

long double kappa(long double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  return 1 - std::exp(1 - 1 / (1 - std::exp(1 - 1 / x)));
}

double basis(int i, int degree, const std::vector<double>& knots, double t) {
  const auto knot = [&](int k) { return knots[to_size(k)]; };
  if (degree == 0) {
    const bool last = t == 1 && knot(i + 1) == 1 && knot(i) < 1;
    return (knot(i) <= t && t < knot(i + 1)) || last ? 1 : 0;
  }
  double sum = 0;
  if (knot(i + degree) > knot(i))
    sum += (t - knot(i)) / (knot(i + degree) - knot(i)) * basis(i, degree - 1, knots, t);
  if (knot(i + degree + 1) > knot(i + 1))
    sum += (knot(i + degree + 1) - t) / (knot(i + degree + 1) - knot(i + 1)) *
           basis(i + 1, degree - 1, knots, t);
  return sum;
}

int mirrored(int k, int nodes) {
  return k < 0 ? -k : k >= nodes ? 2 * (nodes - 1) - k : k;
}

double laplacian(const Eigen::MatrixXd& g, int i, int j) {
  const int n = static_cast<int>(g.rows());
  return g(mirrored(i - 1, n), j) + g(mirrored(i + 1, n), j) + g(i, mirrored(j - 1, n)) +
         g(i, mirrored(j + 1, n)) - 4 * g(i, j);
}

}  // namespace

double response(const ResponseCurve& curve, double alpha) {
  const auto& a = curve.angles;
  const auto& v = curve.values;
  if (alpha <= a[0]) return v[0];
  if (alpha <= a[1])
    return static_cast<double>(
        v[1] + (v[0] - v[1]) * std::pow(kappa((static_cast<long double>(alpha) - a[1]) / (a[0] - a[1])),
                                        static_cast<long double>(curve.slopes[0])));
  if (alpha <= a[2])
    return static_cast<double>(
        v[1] + (v[2] - v[1]) * std::pow(kappa((static_cast<long double>(alpha) - a[1]) / (a[2] - a[1])),
                                        static_cast<long double>(curve.slopes[1])));
  return v[2];
}

Blend gradient_blend(double f1, double f2, double theta) {
  const double tan = std::tan(theta);
  const auto k = [&](double x) {
    if (x <= 0.5) return tan * x;
    return x <= 0.7 ? 0.5 * (7 - 5 * tan) * x + 1.75 * (tan - 1) : x;
  };
  const double larger = std::max(f1, f2), smaller = std::min(f1, f2);
  if (f1 > 0.7 || f2 > 0.7 || smaller <= k(larger)) return {larger, 0};
  const auto excess = [&](double c) {
    return std::pow(f1 - k(c), 2) + std::pow(f2 - k(c), 2) - std::pow(c - k(c), 2);
  };
  // k(1) = 1: the inverse of k lies below.
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) (k((low + high) / 2) < smaller ? low : high) = (low + high) / 2;
  const double top = high;
  int roots = 0;
  bool positive = true;  // (smaller - k(larger))² > 0
  for (int i = 1; i <= 400; ++i) {
    const double value = excess(larger + (top - larger) * (i - 0.5) / 400);
    if ((value > 0) != positive) ++roots;
    positive = value > 0;
  }
  low = larger;
  for (int i = 0; i < 60; ++i) (excess((low + high) / 2) > 0 ? low : high) = (low + high) / 2;
  return {high, roots};
}

Eigen::Vector2d spline_point(const std::vector<Eigen::Vector2d>& points, double t) {
  const int count = static_cast<int>(points.size()), degree = std::min(3, count - 1);
  std::vector<double> knots(to_size(degree) + 1, 0.0);
  for (int i = 1; i < count - degree; ++i) knots.push_back(i / static_cast<double>(count - degree));
  knots.insert(knots.end(), to_size(degree) + 1, 1.0);
  Eigen::Vector2d sum(0, 0);
  for (int i = 0; i < count; ++i) sum += basis(i, degree, knots, t) * points[to_size(i)];
  return sum;
}

double bi_laplacian(const Eigen::MatrixXd& g, int i, int j) {
  return laplacian(g, i - 1, j) + laplacian(g, i + 1, j) + laplacian(g, i, j - 1) + laplacian(g, i, j + 1) -
         4 * laplacian(g, i, j);
}

Eigen::MatrixXd operator_slice(const OperatorProfile& profile, double depth, int nodes) {
  const int last = nodes - 1, inner = nodes - 2, count = inner * inner;
  Eigen::MatrixXd g = Eigen::MatrixXd::Zero(nodes, nodes);
  for (int k = 0; k < nodes; ++k) g(k, 0) = g(0, k) = k / static_cast<double>(last);
  for (int k = 0; k < nodes; ++k) g(k, last) = g(last, k) = 1;
  const auto unknown = [&](int i, int j) { return (i - 1) * inner + j - 1; };
  const auto is_inner = [&](int i, int j) { return i > 0 && j > 0 && i < last && j < last; };

  // The bi-Laplacian is linear: its columns are what it makes of one node.
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(count, count);
  Eigen::VectorXd right(count);
  for (int i = 1; i < last; ++i)
    for (int j = 1; j < last; ++j) right[unknown(i, j)] = -bi_laplacian(g, i, j);
  Eigen::MatrixXd one = Eigen::MatrixXd::Zero(nodes, nodes);
  for (int i = 1; i < last; ++i)
    for (int j = 1; j < last; ++j) {
      one(i, j) = 1;
      for (int a = std::max(1, i - 2); a <= std::min(last - 1, i + 2); ++a)
        for (int b = std::max(1, j - 2); b <= std::min(last - 1, j + 2); ++b)
          matrix(unknown(a, b), unknown(i, j)) = bi_laplacian(one, a, b);
      one(i, j) = 0;
    }

  // ½ at a point of one of the grid's lines: a spring, weak enough not to jag g.
  const auto half_between = [&](int i0, int j0, int i1, int j1, double t) {
    // On a node it does not give.
    const double strength = t == 0 || t == 1 ? 1e10 : 1e4;
    double rest = 0.5;
    std::vector<std::pair<int, double>> terms;
    for (const auto& [i, j, share] : {std::tuple{i0, j0, 1 - t}, std::tuple{i1, j1, t}}) {
      if (is_inner(i, j))
        terms.emplace_back(unknown(i, j), share);
      else
        rest -= share * g(i, j);
    }
    if (terms.empty()) return;
    for (const auto& a : terms) {
      right[a.first] += strength * a.second * rest;
      for (const auto& b : terms) matrix(a.first, b.first) += strength * a.second * b.second;
    }
  };
  std::vector<Eigen::Vector2d> control = profile.points;
  for (Eigen::Vector2d& point : control) point.y() = (1 - depth) * 0.5 + depth * point.y();
  const auto curve = [&](double t, int axis) { return spline_point(control, t)[axis] * last; };
  for (const int axis : {0, 1})
    for (int line = 1; line < last; ++line) {
      constexpr int kSteps = 200;
      for (int step = 0; step < kSteps; ++step) {
        double from = step / static_cast<double>(kSteps), to = (step + 1) / static_cast<double>(kSteps);
        const bool rises = curve(from, axis) < line;
        if (rises == (curve(to, axis) < line)) continue;
        for (int i = 0; i < 50; ++i)
          ((curve((from + to) / 2, axis) < line) == rises ? from : to) = (from + to) / 2;
        const double across = curve(to, 1 - axis);
        const double nearest = std::round(across);
        const double at = std::abs(across - nearest) < 1e-9 ? nearest : across;
        const int below = std::min(static_cast<int>(at), last - 1);
        const double t = at - below;
        if (axis == 0) {
          half_between(line, below, line, below + 1, t);
          half_between(below, line, below + 1, line, t);
        } else {
          half_between(below, line, below + 1, line, t);
          half_between(line, below, line, below + 1, t);
        }
      }
    }
  for (int k = last / 2; k < last && (k == last / 2 || (profile.contact && k <= (0.5 + depth / 2) * last));
       ++k)
    half_between(k, k, k, k, 0);

  const Eigen::VectorXd solution = matrix.llt().solve(right);
  for (int i = 1; i < last; ++i)
    for (int j = 1; j < last; ++j) g(i, j) = solution[unknown(i, j)];
  return g;
}

}  // namespace sinew::reference
