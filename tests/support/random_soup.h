#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/skeleton/bones.h>

namespace sinew::test {

/// A surface and bones as nobody should make them: random triangles, shells in shells, plates without
/// thickness, all in one line or one point, torn, glued, at any scale; bones inside, outside, on the surface,
/// without length, on top of each other or far away. The same seed gives the same case.
struct RandomSoup {
  std::string what;  ///< kinds of surface and bones
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::vector<Bone> bones;  ///< at least one; joints are 0 to 63, in any order, some with several bones

  MeshView view() const { return {positions, triangles}; }
};

RandomSoup make_random_soup(std::uint32_t seed);

}  // namespace sinew::test
