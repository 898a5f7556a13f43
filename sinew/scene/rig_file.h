#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <sinew/scene/scene.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// Bytes; larger rig files are refused.
inline constexpr std::uint64_t kLargestRigFile = std::uint64_t{256} << 20;

/// Reads a rig of either JSON format, by its content: Sinew's own (scene/rig_json.h) or a dump of Blender's
/// (scene/rigify_dump.h). Throws Error, which for other JSON says what is read.
ControlRig parse_rig(std::string_view text, const std::string& name);
ControlRig read_rig(const std::filesystem::path& path);

/// Writes the rig in the format it came in: a dump when it was read from one, else Sinew's own.
void write_rig(const ControlRig& rig, const std::filesystem::path& path);

/// The rig as a scene with a skeleton, controllers included, and no mesh.
Scene scene_from_rig(ControlRig rig, const std::filesystem::path& source);

}  // namespace sinew
