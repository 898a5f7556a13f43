#pragma once

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The generalised winding number of the surface at `point` (Jacobson et al. 2013): how often the surface
/// wraps round it; 1 inside and 0 outside a closed surface that faces outwards, something between for an open
/// one. Exact sum over all triangles, in double.
double winding_number(const MeshView& mesh, const Vec3d& point);

}  // namespace sinew
