#pragma once

#include <Eigen/SparseCore>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// See cotangent_laplacian().
inline constexpr double kSmallestHeight = 1e-6;

/// The cotangent Laplacian L = D - W of a surface: symmetric, positive semi-definite, rows sum to 0 up to
/// rounding. Off the diagonal L_ij = -(cot α + cot β) / 2 for the angles opposite edge ij. It does not depend
/// on the mesh's size. Each triangle brings its own three cotangents, so non-manifold edges and duplicate
/// triangles need no special case.
///
/// Flat triangles: a triangle's double area counts as at least kSmallestHeight times its longest edge
/// squared, so no cotangent exceeds 1 / kSmallestHeight. This clamps all three cotangents by the same factor,
/// which keeps the matrix positive semi-definite; clamping each by itself would not. Triangles of a single
/// point contribute nothing.
///
/// Positions must be finite.
Eigen::SparseMatrix<double> cotangent_laplacian(const MeshView& mesh);

/// A third of the area of the triangles around each vertex, in m². Strictly positive: vertices without area
/// get a millionth of the mean (1 m² when the whole mesh has no area).
Eigen::VectorXd lumped_mass(const MeshView& mesh);

}  // namespace sinew
