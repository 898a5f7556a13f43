#pragma once

#include <vector>

#include <sinew/layers/flesh_layer.h>

namespace sinew {

/// Elements of flesh for a bound character, told by the names of its joints (Mixamo, Unreal, Rigify and the
/// like) and by how much flesh there is: thighs, calves, upper arms, belly, breasts, cheeks, tail. Elements
/// whose flesh is thinner than a hundredth of the character's size are left out, and so is all where no name
/// tells anything but bones are clothed: then the thickest limbs are taken.
std::vector<FleshChoice> suggest_flesh(const Character& character);

}  // namespace sinew
