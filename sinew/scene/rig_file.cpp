#include <sinew/scene/rig_file.h>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/nesting.h>
#include <sinew/scene/rig_json.h>
#include <sinew/scene/rig_values.h>
#include <sinew/scene/rigify_dump.h>
#include <sinew/skeleton/rig_from_skeleton.h>

namespace sinew {

ControlRig parse_rig(std::string_view text, const std::string& name) {
  const nlohmann::ordered_json document = parse_rig_text(text, name);
  if (document.is_object() && document.contains("sinew_rig")) return rig_from_json(document, name);
  if (is_dump(document)) {
    check_json_nesting(text, name, kDumpDepth);
    return rig_from_dump(document, name);
  }
  if (document.is_object() && document.contains("layers"))
    throw Error(fmt::format("{}: is a recipe, not a rig; give it with --recipe", name));
  throw Error(fmt::format(
      "{}: is no rig: expected a Sinew rig, with a member \"sinew_rig\", or a dump of a Blender rig, "
      "with \"blender\" and \"bones\" (docs/rigs.md)",
      name));
}

ControlRig read_rig(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path, kLargestRigFile);
  return parse_rig(as_text(bytes), path.string());
}

void write_rig(const ControlRig& rig, const std::filesystem::path& path) {
  if (is_from_dump(rig))
    write_rigify_dump(rig, path);
  else
    write_rig_json(rig, path);
}

Scene scene_from_rig(ControlRig rig, const std::filesystem::path& source) {
  Scene scene;
  scene.source = source;
  if (is_from_dump(rig)) scene.original_space.up_axis = 'z';
  scene.skeleton = skeleton_from_rig(rig, &scene.joint_bones);
  scene.control_rig = std::make_shared<const ControlRig>(std::move(rig));
  check_scene(scene);
  return scene;
}

}  // namespace sinew
