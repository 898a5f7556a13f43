#pragma once

#include <cstddef>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/ray_query.h>

namespace sinew {

/// A bundle of parallel rays that comes through a surface.
struct LightBundle {
  Vec3f through = Vec3f::Zero();  ///< the place that its middle ray passes, nearest to the joint
  Vec3f direction = Vec3f::UnitX();
};

struct DaylightOptions {
  float width = 0.004f;    ///< of a bundle, metres: seven rays, one in the middle and six round it
  float spacing = 0.004f;  ///< of bundles, metres
};

/// Light that passes a joint where the surface before stops it: bundles of seven parallel rays from 26
/// directions, within `radius` of `place`, all of whose rays miss `after` while all of them hit `before`.
/// With `before` skinned without contact and `after` with it these are the slits and holes that contact
/// opens.
std::vector<LightBundle> find_daylight(const SurfaceQuery& before, const SurfaceQuery& after,
                                       const Vec3f& place, float radius, const DaylightOptions& options = {});

}  // namespace sinew
