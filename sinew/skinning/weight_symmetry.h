#pragma once

#include <cstddef>

#include <sinew/geometry/mesh.h>
#include <sinew/skinning/bind.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Counts are of vertices and add up to the surface's.
struct SymmetryReport {
  std::size_t paired_vertices = 0;        ///< mirror another vertex, or themselves, exactly
  std::size_t interpolated_vertices = 0;  ///< mirror a point of a triangle
  std::size_t unmirrored_vertices = 0;    ///< have no counterpart and keep their rows
};

/// Weights that are the same on both sides. Each vertex's row becomes the mean of its own and of its
/// counterpart's, with joints exchanged for their partners. The counterpart is the vertex at its mirror
/// image, or else the point of the surface nearest to it: not farther than half the length of the edges
/// there, or half a percent of the surface's size where they are shorter (2.5 % where they are very long), on
/// a side of the surface that faces within 60° of the same way. Rows of vertices that mirror each other
/// exactly come out as the same numbers. Joints without a partner keep the weight they have on each vertex;
/// the others share the rest. Rows are whole: limit_influences() afterwards. A row is empty only where it and
/// its counterpart's were.
///
/// Throws Error when a position is not finite, rows and vertices do not fit, a joint is not in
/// `symmetry.partner`, or two joints are not each other's partners.
SkinWeights symmetrize(const MeshView& surface, const SkinWeights& weights, const BindSymmetry& symmetry,
                       SymmetryReport* report = nullptr);

}  // namespace sinew
