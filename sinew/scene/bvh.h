#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <sinew/scene/scene.h>

namespace sinew {

/// Reads a Biovision motion file: a skeleton whose rest pose has the offsets and no rotation, and one clip
/// named after the file. An End Site becomes a leaf joint "PARENT_end". Rotations are applied in the order
/// the channels are declared; position channels replace the offset. BVH has no unit: lengths stay as they
/// are, retarget_clip works by proportion. Throws Error naming the line when the text is not a BVH file,
/// names a joint twice, nests more than 256 deep, or does not hold exactly the numbers it announces.
Scene read_bvh(const std::filesystem::path& path);

/// The same from memory. `name` is what errors call the file.
Scene parse_bvh(std::string_view text, const std::string& name);

}  // namespace sinew
