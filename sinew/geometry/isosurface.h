#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <sinew/core/progress.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// What a function that describes a solid says of a point.
struct SolidSample {
  double value = 0;                 ///< about the signed distance to the surface, negative inside
  Vec3d gradient = Vec3d::UnitX();  ///< of `value`
  double edge_length = 1;           ///< wanted here, up to a factor that is the same everywhere
};

/// A solid as a function of space. Must be safe to call from many threads and smooth near the surface.
using SolidFunction = std::function<SolidSample(const Vec3d&)>;

/// A closed surface in double precision.
struct IsoSurface {
  std::vector<Vec3d> positions;
  std::vector<Triangle> triangles;
};

/// The surface of the part of the solid that hangs together with the first piece of surface met from
/// `inside` in direction +x: marching tetrahedra on a grid of `cell` metres (six tetrahedra per cube, Kuhn's
/// division, so that neighbours agree and the result is a closed manifold without any ambiguous case). Walks
/// along the surface, so cost follows its area and not its bounding box. Parts thinner than a cell may be
/// missed. Triangles face outwards; their shape is poor: remesh them. Throws Error when `inside` is not
/// inside, or when no end of the solid is found within 10 000 cells.
IsoSurface extract_isosurface(const SolidFunction& solid, const Vec3d& inside, double cell);

}  // namespace sinew
