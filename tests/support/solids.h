#pragma once

#include <sinew/geometry/isosurface.h>
#include <sinew/geometry/mesh.h>

namespace sinew::test {

/// Round the origin; edges the same length everywhere.
SolidFunction ball(double radius);

/// A torus about the y axis; edges the same length everywhere.
SolidFunction ring(double radius, double thickness);

Mesh to_mesh(const IsoSurface& surface);

/// Vertices - edges + triangles: 2 for a sphere, 0 for a torus.
long euler_number(const MeshView& mesh);

/// Smallest angle of any triangle, in degrees.
double smallest_angle(const MeshView& mesh);

}  // namespace sinew::test
