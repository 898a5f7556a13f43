#pragma once

#include <cstddef>

#include <Eigen/SparseCore>

#include <sinew/geometry/mesh.h>

namespace sinew {

struct IntrinsicLaplacianOptions {
  /// How far every triangle must be from a line, at least 0: its two shorter edges together exceed its
  /// longest by this part of the component's mean edge length. Components where one does not have all their
  /// edges made longer by the same, smallest sufficient, amount.
  double mollification = 1e-5;
  /// Edge flips at most, per edge, at least 0. Well-shaped meshes need less than 1.
  double flips_per_edge = 100;
  /// Work on the double cover everywhere, even where it is known to change nothing. Same result up to
  /// rounding, slower.
  bool always_double = false;
};

struct IntrinsicLaplacian {
  /// L = D - W: symmetric to the bit, every entry off the diagonal ≤ 0, rows sum to 0 up to rounding, hence
  /// positive semi-definite; (L + E)⁻¹ has no negative entry for any diagonal E ≥ 0 that makes it regular. It
  /// does not depend on the mesh's size. Vertices without triangles have an empty row (a diagonal of 0).
  Eigen::SparseMatrix<double> laplacian;
  /// A third of the area around each vertex of the intrinsic triangles (m²), which are larger than the mesh's
  /// own where edges were made longer. Strictly positive: vertices without area get a millionth of the mean
  /// of their component, or of the mesh where that has none (1 m² when the whole mesh has no area).
  Eigen::VectorXd mass;

  std::size_t repeated_corner_triangles = 0;  ///< left out
  std::size_t duplicate_triangles = 0;        ///< the same three vertices as an earlier one: left out
  std::size_t boundary_edges = 0;             ///< one triangle
  std::size_t non_manifold_edges = 0;         ///< three or more triangles
  std::size_t flipped_edges = 0;              ///< two triangles that run the same way
  std::size_t components = 0;                 ///< without vertices that are in no triangle
  std::size_t mollified_components = 0;       ///< their edges were made longer
  std::size_t doubled_components = 0;         ///< the double cover was needed
  std::size_t flips = 0;
  /// Edges left with opposite angles that sum to more than 180°: the flips ran out. The matrix keeps its
  /// properties, but is less exact there.
  std::size_t non_delaunay_edges = 0;
};

/// The Laplacian of Sharp & Crane 2020, "A Laplacian for Nonmanifold Triangle Meshes": the cotangent
/// Laplacian of an intrinsic Delaunay triangulation with the mesh's vertices. Unlike cotangent_laplacian() it
/// obeys the maximum principle whatever the triangles look like; on Delaunay meshes both are the same.
///
/// Takes any triangles: non-manifold edges and vertices, any winding (it does not matter), borders, needles,
/// zero-area ones, coincident points. A connected component whose vertices are all one point counts as made
/// of equilateral triangles, so that what hangs together stays coupled. Components do not influence each
/// other's part of the matrix.
///
/// Positions must be finite.
IntrinsicLaplacian intrinsic_laplacian(const MeshView& mesh, const IntrinsicLaplacianOptions& options = {});

}  // namespace sinew
