#pragma once

#include <string>

#include <sinew/fitting/template_builder.h>

namespace sinew {

/// How a hand lies: all three at right angles, unit length.
struct HandFrame {
  Vec3d along;  ///< from the wrist to the finger tips
  Vec3d thumb;  ///< to the thumb's side
  Vec3d palm;   ///< out of the palm
};

/// An adult's left hand: `wrist` at `origin`, a child of `parent`, and four bones per finger from the carpus
/// to the tip, each joint bent a little towards the palm; flexors "index_flex" …, one per finger, which hang
/// on the finger's root. `suffix` ends all names.
void add_template_hand(TemplateBuilder& rig, const std::string& parent, const Vec3d& origin,
                       const HandFrame& frame, const std::string& suffix);

}  // namespace sinew
