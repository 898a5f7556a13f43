#pragma once

#include <memory>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/layer.h>
#include <sinew/skinning/stretch_twist.h>

namespace sinew {

/// Stretchable, twistable bones (skinning/stretch_twist.h) as a layer.
class StretchTwistOptions : public LayerOptions {
 public:
  double twist = 1;
  bool stretch = true;
  void visit(FieldVisitor& fields) override;
};
std::unique_ptr<LayerOptions> make_stretch_twist_options();
std::unique_ptr<const Layer> make_stretch_twist_layer(const LayerOptions& options,
                                                      const Character& character);

/// The bones that the character's bindings make, which twist towards their child joints and stretch. A bone
/// passes its child's turn on where the child carries on in its direction (forearm to hand), and not where
/// it turns off (hips to thigh): what turns about such a bone is the child's bending. A joint has no bones to
/// leaves that have siblings: those are handles in its skin (eyes, brows, jaw).
std::vector<StretchBone> stretch_bones(const Character& character, const StretchTwistOptions& options);

}  // namespace sinew
