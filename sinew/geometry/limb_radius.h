#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// How thick the body is at each vertex: half the way from the surface to the other side of the same part,
/// in metres. The median over nine rays into the body, straight and 25° off it, smoothed over the surface. A
/// cylinder gives its radius, a sphere about 0.9 of it. Vertices whose rays leave through holes take it from
/// their neighbours; a part where all do has half its bounding box's smallest side that is not zero. 0 only
/// for vertices in no triangle and parts without size. `part` names the connected part of each triangle.
/// Throws Error when a position that a triangle uses is not finite.
std::vector<double> limb_radius(const MeshView& mesh, std::span<const std::uint32_t> part);

/// The same at some vertices only, not smoothed; 0 where rays leave through holes.
std::vector<double> limb_radius_at(const MeshView& mesh, std::span<const std::uint32_t> part,
                                   std::span<const std::uint32_t> vertices);

}  // namespace sinew
