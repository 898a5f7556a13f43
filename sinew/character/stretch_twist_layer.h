#pragma once

#include <memory>
#include <span>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/layer.h>
#include <sinew/skeleton/bones.h>
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

/// Where a character's bind matrices put its joints, in rest space. Files' rest poses need not agree with
/// their bind matrices; it is the latter that the surface was bound to.
class RestJoints {
 public:
  explicit RestJoints(const Character& character);

  /// Sorted by joint. A joint that several skins bind stands where the first puts it; one that none binds
  /// follows its parent. Leaf bones end at the skin they move.
  std::span<const Bone> bones() const { return bones_; }
  std::span<const Bone> bones_of(int joint) const;
  /// Where the binding's matrix puts its joint; not finite when the matrix has no inverse.
  const Vec3d& place(std::size_t binding) const { return places_[binding]; }
  /// Of the bindings of `joint`, the one that belongs with `binding`: that of the same skin. -1 when there is
  /// none with a usable place. Skins may have rest spaces of their own; the binding is told by where it puts
  /// the joint as seen from `binding`'s joint, which is where the rest pose has it.
  int binding_beside(std::size_t binding, int joint) const;
  /// Whether the binding's mesh hangs on the joint without a skin: a solid thing. Not found by
  /// binding_beside.
  bool is_solid(std::size_t binding) const { return solid_[binding]; }
  /// The tail of a bone of the binding's joint, in the rest space of the binding.
  Vec3d tail(std::size_t binding, const Bone& bone) const;

 private:
  std::vector<Binding> bindings_;
  std::vector<Affine3d> rest_world_;
  std::vector<bool> solid_;
  std::vector<Vec3d> places_;
  std::vector<std::vector<std::size_t>> bindings_of_joint_;  // usable and not solid
  std::vector<Bone> bones_;
};

}  // namespace sinew
