#pragma once

#include <sinew/geometry/mesh.h>

// Meshes made by code for tests. Closed ones are oriented outwards (counter-clockwise seen from outside).
namespace sinew::test {

/// A flat grid of columns × rows quads in the plane z = 0, normal +z, from the origin to (width, height, 0),
/// each quad cut along the diagonal from its lower left corner. Vertex (i, j) is number j · (columns + 1) +
/// i.
Mesh make_grid(int columns, int rows, float width = 1.0f, float height = 1.0f);

/// An axis-parallel cube of 8 vertices around the origin. Vertex v has its x, y, z sign in bits 0, 1, 2 (set:
/// +). Six quads, or twelve triangles when triangulated.
Mesh make_cube(float edge = 2.0f);

/// A subdivided icosahedron around the origin: 20 · 4^levels triangles, 10 · 4^levels + 2 vertices.
Mesh make_icosphere(int levels, float radius = 1.0f);

/// A torus around the z axis: `around` quads along the big circle, `across` along the small one.
/// Vertex (i, j), i along the big circle, is number i · across + j.
Mesh make_torus(int around, int across, float big_radius = 1.0f, float small_radius = 0.25f);

/// A tube of quads along +y from y = 0 to y = length. `around` segments of its circle, `along` of its length.
/// Vertex (i, j), i around, is number j · around + i. Closed tubes have two further vertices, the middles of
/// the bottom and the top cap.
Mesh make_tube(int around, int along, float radius = 0.1f, float length = 1.0f, bool closed = false);

/// Both surfaces in one mesh; vertices and polygons of `b` come behind those of `a`.
Mesh join(const Mesh& a, const Mesh& b);

/// The same surface with positions x ↦ scale · x + shift.
Mesh moved(const Mesh& mesh, const Vec3f& shift, float scale = 1.0f);

/// The same surface with every polygon owning its vertices, as a file with seams everywhere would.
Mesh split_all(const Mesh& mesh);

}  // namespace sinew::test
