#pragma once

#include <vector>

#include <sinew/models/rig.h>

namespace sinew {

/// bend, twist, fist, crouch, walk, run and jump for the mannequin's rig.
std::vector<Clip> mannequin_clips(const Rig& rig);

}  // namespace sinew
