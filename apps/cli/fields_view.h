#pragma once

#include <memory>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/performer.h>
#include <sinew/layers/field_layer.h>
#include <sinew/picture/character_picture.h>
#include <sinew/picture/field_surface.h>

#include "apps/cli/render_options.h"

namespace sinew::cli {

/// Draws the fields of a character's implicit layer.
class FieldsView {
 public:
  /// The character must have such a layer, and outlive this. `solids`: to be drawn with render_solids().
  FieldsView(const Character& character, bool solids);

  bool empty() const { return set_.fields.empty(); }

  /// The composed field of the performer's last frame, painted in a plane.
  Image render_slice(const CharacterPicture& picture, const Performer& performer, const AxisPlane& plane,
                     const Camera& camera, const ClayOptions& clay, const Pose* skeleton_pose);

  /// Each bone's field where the performer's last frame carried it, as far as it is above ½, in the skin.
  Image render_solids(const Performer& performer, const Camera& camera, const ClayOptions& clay,
                      const Pose* skeleton_pose) const;

 private:
  const Character& character_;
  const FieldLayer& layer_;
  const FieldSet& set_;
  std::vector<PosedField> posed_;
  std::unique_ptr<DrawnSurface> skin_;
  std::unique_ptr<FieldPicture> solids_;
};

}  // namespace sinew::cli
