#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <sinew/scene/imported_scene.h>

namespace sinew {

/// Lets Assimp read the bytes of one file, whose kind is "fbx" or "dae", and copies out what we use. No other
/// file is opened. Assimp is not safe with damaged files: call it through run_isolated. Throws Error with
/// Assimp's reason, prefixed with `name`.
ImportedScene read_with_assimp(std::span<const std::byte> bytes, const std::string& kind,
                               const std::string& name);

}  // namespace sinew
