#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/core/math.h>

namespace sinew {

/// Translation, rotation, scale: x ↦ translation + rotation · (scale ∘ x). Scale may be non-uniform, negative
/// or zero; the rotation is a unit quaternion.
struct Transform {
  Vec3f translation = Vec3f::Zero();
  Quatf rotation = Quatf::Identity();
  Vec3f scale = Vec3f::Ones();

  Affine3d matrix() const;
  bool operator==(const Transform& other) const {
    return translation == other.translation && rotation.coeffs() == other.rotation.coeffs() &&
           scale == other.scale;
  }
};

/// The transform nearest to `matrix`: exact for any product of translation, rotation and (possibly negative)
/// scale; shear, which no Transform can hold, is dropped. `shear`, when given, receives the largest
/// difference between an entry of `matrix` and of the result.
Transform decompose(const Affine3d& matrix, double* shear = nullptr);

/// A node of the character's hierarchy. Files put plain nodes between and above the joints of a skin; those
/// are joints here too, with `deforms` false, so that forward kinematics needs no special case.
struct Joint {
  std::string name;      ///< byte for byte as in the file; may be empty or not unique
  int parent = -1;       ///< index of the parent joint, always smaller than this joint's own; -1 for a root
  Transform rest;        ///< relative to the parent
  bool deforms = false;  ///< some skin binds vertices to it; in a rig without skins: its bone deforms

  bool operator==(const Joint&) const = default;
};

/// Joints in an order where parents come first.
struct Skeleton {
  std::vector<Joint> joints;

  std::size_t size() const { return joints.size(); }
  /// Index of the first joint with that name, or -1.
  int find(std::string_view name) const;
  bool operator==(const Skeleton&) const = default;
};

/// Throws Error (prefixed with `where`) unless parents come first and every rest transform is finite.
void check_skeleton(const Skeleton& skeleton, const std::string& where);

/// A posture: local transforms for all joints of one skeleton, and the weights of all morph targets of one
/// scene, mesh after mesh.
struct Pose {
  std::vector<Transform> joints;
  std::vector<float> morph_weights;
};

Pose rest_pose(const Skeleton& skeleton);

/// Forward kinematics: world_from_joint[j] for every joint. Both spans have one entry per joint of
/// `skeleton`.
void forward_kinematics(const Skeleton& skeleton, std::span<const Transform> local,
                        std::span<Affine3d> world_from_joint);

}  // namespace sinew
