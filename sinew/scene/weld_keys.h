#pragma once

#include <cstdint>
#include <vector>

#include <sinew/scene/scene.h>

namespace sinew {

/// A number per vertex, equal where two vertices move alike: same weights and same morph displacements, bit
/// for bit. Vertices at one position weld only when these agree, so that closed lips and eyelids stay apart.
std::vector<std::uint32_t> weld_keys(const SceneMesh& mesh);

}  // namespace sinew
