#pragma once

#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// One area-weighted unit normal per vertex; zero where a vertex has none, because its triangles (if any)
/// have no area or cancel out. Positions that triangles use must be finite.
std::vector<Vec3d> smooth_normals(const MeshView& surface);

/// The normals of a triangle's corners, interpolated; unit length, or zero where they cancel out.
Vec3d interpolated_normal(std::span<const Vec3d> normals, const Triangle& triangle, const Vec3f& barycentric);

/// Appends the corners' rows times their barycentric weights; a joint may then stand there several times.
void add_interpolated_row(const SkinWeights& weights, const Triangle& triangle, const Vec3f& barycentric,
                          std::vector<Influence>& row);

/// Throws Error, starting with `what`, when a triangle names a vertex that does not exist.
void check_triangles(const MeshView& surface, const char* what);

/// Throws Error, starting with `what`, unless there is one row per vertex and all weights are finite and not
/// negative.
void check_rows(const SkinWeights& weights, std::size_t vertices, const char* what);

}  // namespace sinew
