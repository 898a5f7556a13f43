#pragma once

#include <span>
#include <string>
#include <string_view>

#include <sinew/skeleton/control_rig.h>

/// Rigs to fit to a mesh when there is none of one's own.
///
/// Facing +z, Y up, metres; left is x > 0 and ends in ".L"; the right side is its mirror image, rolls
/// included. Deforming bones have the names and the hierarchy of the built-in characters' joints. A bone's
/// local x axis is the one it bends about: positive turns close hinges (elbow, knee, finger), bend the trunk
/// forwards, open the jaw. The upper bone of an IK chain has its hinge's axis.
namespace sinew {

struct TemplateRig {
  std::string_view name;
  std::string_view summary;
  ControlRig (*make)();
  std::string_view head_bone;  ///< the bone of the head; empty: it has none
};

std::span<const TemplateRig> template_rigs();
/// "biped, quadruped, insect, hand": for messages.
std::string template_names();
/// Throws Error, with the names that there are, for others.
ControlRig make_template_rig(std::string_view name);

/// An adult in a T-pose: palms down, elbows and knees bent by 3°, fingers a little curled.
ControlRig make_biped_template();
/// A cat, standing.
ControlRig make_quadruped_template();
/// An ant, standing.
ControlRig make_insect_template();
/// A left hand, upright, palm to +z.
ControlRig make_hand_template();

}  // namespace sinew
