#pragma once

#include <utility>
#include <vector>

#include <sinew/geometry/isosurface.h>
#include <sinew/geometry/mesh.h>

namespace sinew::test {

/// Round the origin; edges the same length everywhere.
SolidFunction ball(double radius);

/// A torus about the y axis; edges the same length everywhere.
SolidFunction ring(double radius, double thickness);

/// All points within `radius` of any of the segments: limbs with round ends; edges the same length
/// everywhere.
SolidFunction capsules(std::vector<std::pair<Vec3d, Vec3d>> segments, double radius);

Mesh to_mesh(const IsoSurface& surface);

/// Vertices - edges + triangles: 2 for a sphere, 0 for a torus.
long euler_number(const MeshView& mesh);

/// Smallest angle of any triangle, in degrees.
double smallest_angle(const MeshView& mesh);

}  // namespace sinew::test
