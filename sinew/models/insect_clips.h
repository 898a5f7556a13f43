#pragma once

#include <vector>

#include <sinew/models/rig.h>

namespace sinew {

/// walk for the insect's rig.
std::vector<Clip> insect_clips(const Rig& rig);

}  // namespace sinew
