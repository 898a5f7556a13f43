#pragma once

#include <optional>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/skeleton/control_rig.h>
#include <sinew/skeleton/joint_sides.h>

namespace sinew {

/// Two points of a rig that are mirror images of each other; the same twice for one on the plane.
struct SymmetricPoints {
  int left = -1;
  int right = -1;
};

/// Makes points exactly symmetric about the plane that they are nearly symmetric about, if the mesh is
/// symmetric about it, too: a mirrored sample of its vertices lies on it within 1.5 % of its size, but for a
/// twentieth. Gives the plane, or nothing when the points were left as they are (no pairs, a posed character,
/// an asymmetric mesh).
std::optional<MirrorPlane> make_symmetric(const MeshView& mesh, const SurfaceQuery& surface,
                                          std::span<const SymmetricPoints> pairs, std::vector<Vec3d>& points);

/// Per bone the one on the other side, by its name (skeleton/joint_sides.h): itself where it has no side, -1
/// where there is none.
std::vector<int> partner_bones(const ControlRig& rig);

}  // namespace sinew
