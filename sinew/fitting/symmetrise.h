#pragma once

#include <optional>
#include <span>

#include <sinew/fitting/ids.h>
#include <sinew/geometry/mesh.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/skeleton/control_rig.h>
#include <sinew/skeleton/joint_sides.h>

namespace sinew {

/// Two points of a rig that are mirror images of each other; the same twice for one on the plane.
struct SymmetricPoints {
  PointId left;
  PointId right;
};

/// Makes points exactly symmetric about the plane that they are nearly symmetric about, if the mesh is
/// symmetric about it, too: of a mirrored sample of its vertices 95 % lie on it within 1.5 % of its size.
/// Gives the plane, or nothing when the points were left as they are (no pairs, a posed character, an
/// asymmetric mesh).
std::optional<MirrorPlane> make_symmetric(const MeshView& mesh, const SurfaceQuery& surface,
                                          std::span<const SymmetricPoints> pairs, PerPoint<Vec3d>& points);

/// Per bone the one on the other side, by its name (skeleton/joint_sides.h): itself where it has no side,
/// kNone where the other side has none.
PerBone<BoneId> mirror_bones(const ControlRig& rig);

}  // namespace sinew
