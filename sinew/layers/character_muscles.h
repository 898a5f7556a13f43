#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/rest_joints.h>
#include <sinew/implicit/muscle.h>
#include <sinew/layers/implicit_options.h>

namespace sinew {

/// What a field of a character was made of.
struct FieldSource {
  int joint = -1;
  std::size_t binding = 0;
  std::size_t mesh = 0;
};

/// The muscles that a recipe asks for, on the bones of `fields`. One that is placed by its side lies just
/// below the skin of its bone's mesh, where a ray from the middle of its stretch of the bone meets it; its
/// ends stay inside of the skin. Throws Error, naming the entry and what to do, for joints that are not there
/// or move no skin, drivers that cannot be told or have nothing to bend against, rays that meet no skin and
/// more muscles on a bone than it can have.
std::vector<Muscle> make_muscles(const Character& character, const RestJoints& joints,
                                 std::span<const FieldSource> fields, std::span<const MuscleChoice> choices);

}  // namespace sinew
