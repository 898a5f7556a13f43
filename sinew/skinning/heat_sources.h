#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/oriented_surface.h>
#include <sinew/skeleton/bones.h>

namespace sinew {

/// Which joint warms each vertex of a surface, and from how far.
struct HeatSources {
  static constexpr std::size_t kMostEqual = 4;

  struct Vertex {
    std::array<std::uint32_t, kMostEqual> joints{};  ///< the nearest joint, or several equally near ones
    std::uint8_t count = 0;                          ///< how many; at least 1
    bool sees_bone = false;                          ///< nothing stands between it and the bone
    bool faces_bone = false;                         ///< the segment to the bone leads into the flesh
    double distance = 0;                             ///< to the nearest bone of theirs, metres; above 0
  };
  std::vector<Vertex> vertices;
  std::vector<std::uint8_t> bone_is_outside;  ///< per bone: less than half of it lies inside of the surface
};

/// The nearest bone of every vertex (Baran & Popović 2007, §4), where what "nearest" means has been chosen
/// by comparing with the weights that artists gave (docs/binding.md):
/// - Past a bone's ends distance counts 1.5-fold along it, so that of two bones that share a joint the one on
///   whose side a vertex lies is the nearer.
/// - Bones that a vertex faces away from are farther: divided by ((1 + cos) / 2)², cos between the bone's
///   direction and the direction into the flesh, but no more than five times as far.
/// - The pieces of the segment to the bone that lie outside of the flesh count 4-fold. The paper takes a bone
///   only if it is visible; then a toe that its neighbour hides from the toes' bone goes to the foot's, and
///   vertices behind a mouth see no bone at all.
/// - Bones that lie outside for the most part are four times as far.
///
/// `normals` point outwards (geometry/orientation.h); distances below a vertex's `smallest` (metres, above 0)
/// count as that: bones on the surface would heat it without bound. There is at least one bone; all numbers
/// are finite. The result depends neither on the scale nor on the number of threads.
HeatSources find_heat_sources(std::span<const Vec3f> positions, std::span<const Vec3d> normals,
                              std::span<const double> smallest, const OrientedSurface& surface,
                              std::span<const Bone> bones);

}  // namespace sinew
