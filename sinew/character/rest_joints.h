#pragma once

#include <span>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/skeleton/bones.h>

namespace sinew {

/// Where a character's bind matrices put its joints, in rest space. Files' rest poses need not agree with
/// their bind matrices; it is the latter that the surface was bound to.
class RestJoints {
 public:
  /// Character::rest_joints() makes them once for all layers.
  explicit RestJoints(const Character& character);

  /// Sorted by joint. A joint that several skins bind stands where the first puts it; one that none binds
  /// follows its parent. Leaf bones end at the skin they move.
  std::span<const Bone> bones() const { return bones_; }
  std::span<const Bone> bones_of(int joint) const;
  /// Where the binding's matrix puts its joint; not finite when the matrix has no inverse.
  const Vec3d& place(std::size_t binding) const { return places_[binding]; }
  /// Whether that place is one: finite, and not beyond all measure.
  bool is_usable(std::size_t binding) const;
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
