#pragma once

#include <vector>

#include <sinew/character/character.h>
#include <sinew/skinning/hinge_patches.h>

namespace sinew {

/// The hinges of a character, in the order of its bindings. A binding turns against that of the nearest joint
/// above it which moves the same connected piece of surface; roots, and bindings that move nothing, have no
/// hinge. Bindings that cannot be inverted, and so have no place at rest, are left out.
std::vector<Hinge> find_hinges(const Character& character);

}  // namespace sinew
