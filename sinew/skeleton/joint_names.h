#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew {

// What the names of joints say. Names are bytes of any encoding: only ASCII letters and digits are looked at,
// whatever the locale. Sides are in joint_sides.h.

/// ASCII letters alone, in lower case: "Left_UpLeg.001" is "leftupleg".
std::string letters_of(std::string_view name);

/// "b_LeftForeArm_01" to b, left, fore, arm: so that no forearm has an ear.
std::vector<std::string> words_of(std::string_view name);

/// Without what some programs put before it, up to the last ':' or '|'.
std::string_view without_namespace(std::string_view name);

/// Arms, legs, hands, feet, fingers, wings and their joints.
bool is_limb_name(std::string_view name);
/// What legs hang on.
bool is_hip_name(std::string_view name);
/// The trunk above the hips.
bool is_trunk_name(std::string_view name);
bool is_tail_name(std::string_view name);
/// Joints that only say where the character stands: root, world, ground and the like, and nothing else.
bool is_ground_name(std::string_view name);
/// How well a name says that it is the head: 3 for a plain "head", 2 for "head_end", 1 for "bighead", else 0.
int head_likeness(std::string_view name);

/// Parts that bend along their whole length, by a word of their names.
enum class SoftPart { none, tail, tentacle, trunk, ear, hair, rope, antenna, tongue, spine };
SoftPart soft_part_of(std::string_view name);

/// Parts with much flesh on them.
enum class FleshPart { none, thigh, calf, upper_arm, breast, cheek, buttock };
FleshPart flesh_part_of(std::string_view name);

/// A joint's name without its spelling.
struct PlainName {
  char side = ' ';   ///< 'l', 'r' or ' '
  std::string part;  ///< the bare lower-case rest, without prefixes of programs

  std::string key() const { return side + part; }
};
PlainName plain_name(std::string_view name);

/// The word that stands for all that programs call the same part: "thigh" for "upleg"; the part itself where
/// none is known. Fingers keep the number behind the word.
std::string usual_part_name(const std::string& part);

}  // namespace sinew
