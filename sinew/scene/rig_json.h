#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// Reads Sinew's own rig format, {"sinew_rig": 1, "name": …, "bones": […], "drivers": […]}; docs/rigs.md has
/// every field. Members that Sinew does not know, at any level, go to the extras. `name` is what errors call
/// the file. Throws Error naming the bone, the field and what is allowed.
ControlRig parse_rig_json(std::string_view text, const std::string& name);
ControlRig read_rig_json(const std::filesystem::path& path);

/// The rig in that format; parse_rig_json gives it back, number by number. Extras that have the name of a
/// known field are left out. Throws Error unless the rig passes check_rig and its extras are JSON.
std::string rig_json_text(const ControlRig& rig);
/// The file appears whole or not at all.
void write_rig_json(const ControlRig& rig, const std::filesystem::path& path);

}  // namespace sinew
