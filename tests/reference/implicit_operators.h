#pragma once

#include <vector>

#include <Eigen/Core>

#include <sinew/implicit/operator_profile.h>
#include <sinew/implicit/response_curve.h>

// The operators of implicit skinning, straight from their formulas.
namespace sinew::reference {

/// θ(α), with κ as printed, in extended precision.
double response(const ResponseCurve& curve, double alpha);

/// g_m by bisection; `roots` counts how often its equation changes sign between the bounds of C.
struct Blend {
  double value;
  int roots;
};
Blend gradient_blend(double f1, double f2, double theta);

/// A clamped cubic B-spline at t in [0, 1], by the recursion of its basis functions.
Eigen::Vector2d spline_point(const std::vector<Eigen::Vector2d>& points, double t);

/// g on nodes × nodes for one depth, without the bound of clean unions: all nodes are unknowns of one dense
/// system, the Laplacian of the Laplacian, symmetry is not made use of.
Eigen::MatrixXd operator_slice(const OperatorProfile& profile, double depth, int nodes);

/// Δ²g at a node, times the fourth power of the nodes' distance; normal derivatives are zero on the edges.
double bi_laplacian(const Eigen::MatrixXd& g, int i, int j);

}  // namespace sinew::reference
