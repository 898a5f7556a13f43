#include <cstddef>
#include <cstdint>

#include <sinew/core/error.h>
#include <sinew/scene/rig_file.h>
#include <sinew/scene/rig_json.h>
#include <sinew/scene/rigify_dump.h>

namespace {

void round_trip(const sinew::ControlRig& rig) {
  const std::string text = sinew::rig_json_text(rig);
  if (!(sinew::parse_rig(text, "again.json") == rig)) __builtin_trap();
}

}  // namespace

// Anything but a rig or an Error is a bug; what was read must survive a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sinew::ControlRig rig;
  try {
    rig = sinew::parse_rig({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  } catch (const sinew::Error&) {
    return 0;
  }
  round_trip(rig);
  try {
    // A Sinew rig may hold a dump that is none; writing it says so.
    const sinew::ControlRig dump = sinew::parse_rigify_dump(sinew::rigify_dump_text(rig), "dump.json");
    if (dump.bones.size() != rig.bones.size()) __builtin_trap();
  } catch (const sinew::Error&) {
  }
  try {
    sinew::deform_parents(rig);
    sinew::scene_from_rig(rig, "scene.json");
  } catch (const sinew::Error&) {
  }
  return 0;
}
