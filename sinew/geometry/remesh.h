#pragma once

#include <cstddef>

#include <sinew/core/progress.h>
#include <sinew/geometry/isosurface.h>

namespace sinew {

/// Triangulates the surface of a solid anew, with exactly `vertices` vertices: isotropic remeshing (Botsch
/// and Kobbelt 2004) with a sizing field (Dunyach et al. 2013). Long edges are split, short ones collapsed,
/// edges flipped towards six neighbours per vertex, vertices moved within the surface to the middle of their
/// neighbourhood and brought back onto the solid's surface by Newton steps. Edge lengths follow
/// SolidSample::edge_length. The number of vertices is met exactly because the last edges are split or
/// collapsed one by one. `start` must be a closed manifold near the surface that faces outwards; the result
/// is one too, of the same genus, its vertices along a curve through space so that neighbours lie near each
/// other in memory. The same for any number of threads.
///
/// Throws Error when `vertices` is below 12 or too few to show the shape (triangles with an angle below 3°
/// remain, or no further edge can be collapsed), and when `start` is not closed.
IsoSurface remesh(const IsoSurface& start, const SolidFunction& solid, std::size_t vertices,
                  const Progress& progress = {});

}  // namespace sinew
