#pragma once

#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// Unit normals per vertex, each triangle weighted by its angle there (Bærentzen & Aanæs 2005: unlike
/// area-weighted ones they do not depend on how the surface is cut into triangles). In double, for positions
/// of any size. Zero where the triangles have no area or cancel out.
std::vector<Vec3d> angle_weighted_normals(const MeshView& mesh);

}  // namespace sinew
