#pragma once

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The signed volume that the surface encloses, in m³: positive when its triangles face outwards. Measured
/// from the middle of the surface's bounding box, so that a shift of the mesh does not cost digits. For an
/// open surface it is the volume between the surface and that point. Overlapping parts count as often as they
/// overlap.
double enclosed_volume(const MeshView& mesh);

/// In m².
double surface_area(const MeshView& mesh);

/// The centre of mass of the surface, weighted by area; without area, the mean of the vertices that triangles
/// use; the origin when there are none.
Vec3d surface_centroid(const MeshView& mesh);

}  // namespace sinew
