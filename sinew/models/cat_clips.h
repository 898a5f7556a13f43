#pragma once

#include <vector>

#include <sinew/models/rig.h>

namespace sinew {

/// bend, twist, walk, run and jump for the cat's rig.
std::vector<Clip> cat_clips(const Rig& rig);

}  // namespace sinew
