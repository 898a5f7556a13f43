#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// Reads a dump of a Blender armature: {"blender": "3.4.1", "object": "rig", "bones": […], "drivers": […]},
/// as scripts write them from Rigify's metarigs and generated rigs; Z up, facing -y, metres. Bones deform by
/// "use_deform", or else when their "category" is "deform". A constraint has a target when that is a bone of
/// this very armature. The dump's own values stay in the extras, each under "blender", so that nothing is
/// lost. `name` is what errors call the file. Throws Error.
ControlRig parse_rigify_dump(std::string_view text, const std::string& name);
ControlRig read_rigify_dump(const std::filesystem::path& path);

/// Whether the rig was read from a dump.
bool is_from_dump(const ControlRig& rig);

/// The rig as a dump: the one it was read from where nothing changed. Bones that moved get new head, tail,
/// roll, length and matrix_rest, constraints new targets, angles and lengths. Rigs from elsewhere get the
/// fields that Sinew knows. Throws Error as rig_json_text does.
std::string rigify_dump_text(const ControlRig& rig);
/// The file appears whole or not at all.
void write_rigify_dump(const ControlRig& rig, const std::filesystem::path& path);

}  // namespace sinew
