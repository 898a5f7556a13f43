#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/implicit/bone_field.h>
#include <sinew/implicit/composition.h>
#include <sinew/implicit/muscle.h>

namespace sinew {

/// Where the fields of a bone and of the bone before it hang together.
struct FieldJoint {
  std::uint32_t parent = 0;
  std::uint32_t child = 0;
  Vec3d place = Vec3d::Zero();  ///< at rest; both carry it along
};

/// Two fields that an operator of its own joins: those of a joint, or of parts that can touch.
struct FieldPair {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  Operator operation;
  bool is_joint = false;  ///< the fields hang together there
};

/// The fields of a character and how they are composed. Immutable; poses of it are FieldPose.
struct FieldSet {
  std::vector<BoneField> fields;         ///< none empty
  std::vector<std::uint32_t> transform;  ///< per field, which posed_from_rest moves it
  CompositionTree tree;                  ///< its leaves are the fields
  std::vector<FieldJoint> joints;
  std::vector<FieldPair>
      pairs;                    ///< which operators shape; joints that are not named stay as they are skinned
  std::vector<Muscle> muscles;  ///< see check_muscles()
  /// Per field, how far the part gives way to others that it meets, beyond what sizes say: 1 wholly to those
  /// of 0, −1 not at all. May be empty: 0.
  std::vector<float> softness;
  /// Per transform, the field of what it moves, or of the nearest one above that has a field; -1: none. May
  /// be empty: then just the fields' own transforms have one.
  std::vector<std::int32_t> field_of_transform;
};

/// FieldSet::field_of_transform, made of the fields' own transforms where it is empty.
std::vector<std::int32_t> fields_of_transforms(const FieldSet& set);

/// A field in a pose: how points get into its grid, and gradients out of it; and its muscles.
struct PosedField {
  static constexpr std::size_t kMostMuscles = 3;

  const FieldGrid* grid = nullptr;
  std::array<float, 12> grid_from_world{};  ///< rows of a 3×4 matrix
  bool usable = false;                      ///< false when its transform cannot be inverted: it counts as 0
  std::uint32_t muscle_count = 0;
  std::array<PosedMuscle, kMostMuscles> muscles{};
  Vec3f low = Vec3f::Zero(), high = Vec3f::Zero();  ///< a box outside of which it is zero, muscles and all

  Vec3f to_grid(const Vec3f& at) const {
    const std::array<float, 12>& m = grid_from_world;
    return {m[0] * at.x() + m[1] * at.y() + m[2] * at.z() + m[3],
            m[4] * at.x() + m[5] * at.y() + m[6] * at.z() + m[7],
            m[8] * at.x() + m[9] * at.y() + m[10] * at.z() + m[11]};
  }
  /// Whether the point is in a cell in which the field is not zero throughout.
  bool covers(const Vec3f& at) const {
    const bool bone = grid->covers(to_grid(at));
    if (muscle_count != 0) [[unlikely]]
      return bone || muscles_cover(at);
    return bone;
  }

  FieldSample sample(const Vec3f& at) const {
    FieldSample s = sample_bone(at);
    if (muscle_count != 0) [[unlikely]]
      s = with_muscles(s, at);
    return s;
  }

  /// Without muscles.
  FieldSample sample_bone(const Vec3f& at) const {
    const std::array<float, 12>& m = grid_from_world;
    FieldSample s = grid->sample(to_grid(at));
    if (!(s.value > 0)) return {};
    const Vec3f g = s.gradient;
    s.gradient = {m[0] * g.x() + m[4] * g.y() + m[8] * g.z(), m[1] * g.x() + m[5] * g.y() + m[9] * g.z(),
                  m[2] * g.x() + m[6] * g.y() + m[10] * g.z()};
    return s;
  }

 private:
  bool muscles_cover(const Vec3f& at) const;
  FieldSample with_muscles(FieldSample bone, const Vec3f& at) const;
};

/// Throws Error for muscles of fields or transforms that are not there (`transforms`: how many there are),
/// more than PosedField::kMostMuscles of one field, and sizes, places or angles that are not finite or not
/// positive. What this has not passed, pose_fields() leaves out.
void check_muscles(const FieldSet& set, std::size_t transforms);

/// Poses every field of the set; `posed` has one entry per field. Allocates nothing.
void pose_fields(const FieldSet& set, std::span<const Affine3d> posed_from_rest, std::span<PosedField> posed);

/// Whether a field can be other than zero somewhere in a box; true for boxes that are not finite, but for
/// those that are infinitely far away.
bool reaches(const PosedField& field, const Vec3f& low, const Vec3f& high);
/// A first look at a field that is usable: where it is false, reaches() is, too.
inline bool may_reach(const PosedField& field, const Vec3f& low, const Vec3f& high) {
  return !((low.array() > field.high.array()).any() || (high.array() < field.low.array()).any());
}

/// The composed field at a point, all fields asked: the plain way, for pictures and set-up.
FieldSample sample(const FieldSet& set, std::span<const PosedField> posed, const Vec3f& at);

}  // namespace sinew
