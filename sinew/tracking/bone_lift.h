#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>
#include <sinew/tracking/lift_chains.h>

namespace sinew {

/// Scratch of one performer; made by BoneLift::make_scratch().
struct BoneLiftScratch {
  /// A bone and a field that it may lie in.
  struct Meeting {
    std::uint16_t field = 0, other = 0;
    float goal = 0;     ///< value of the other's field that the bone may lie in
    float longest = 0;  ///< step out of it
    float arrived = 0;  ///< a step so short is the last
    /// From the bone's middle to where the other's grid may reach it, in that grid's coordinates.
    std::array<float, 3> low{}, high{};
    float from = 0, to = 0;  ///< of a way along a direction: before and after it the other does not reach it
  };
  std::vector<PosedField> posed;
  std::vector<float> scale;               ///< per field, of its transform
  std::vector<Vec3f> posed_nodes, nodes;  ///< where the pose puts them, and where they have risen to
  std::vector<Vec3f> before;              ///< nodes when the round began
  std::vector<std::uint8_t> stirred;      ///< per field, 1: has moved since it was looked at
  std::vector<std::uint8_t> shifted;      ///< per field, 1: the last round moved it
  std::vector<Meeting> meetings;          ///< of what is looked at
  std::size_t nearby_count = 0;           ///< of one bone's meetings: the first, which it may have nearby
  float nearby = 0;                       ///< how far that is
  std::vector<Affine3d> lifts;            ///< per field
  std::vector<Mat3d> turns;               ///< per field, of its lift
  std::vector<Affine3d> transforms;       ///< as the pose's, lifted
};

/// Depenetration: moves bones out of other flesh, for the skin only; the pose stays as it is. Without it the
/// skin of a finger whose bone lies inside of a thigh would shrink to the bone and be hidden there. A bone
/// rises to the surface of the flesh that it is in, or between two bodies to where both press on it equally.
/// Of two limbs the smaller one moves. Bones keep their lengths, and carry what hangs on them; hands stay in
/// one piece and go to one side.
///
/// Not in the papers; docs/elastic.md gives the reason of each step. History-free. A bone that the pose
/// leads through the middle of another limb changes sides there.
class BoneLift {
 public:
  /// `own` names each vertex's own field, -1: none; `weights` are by transforms, of which there are
  /// `transform_count`. `share`, 0 to 1, of the way is taken. Throws Error when sizes differ, or own fields,
  /// weights or fields name what is not there.
  BoneLift(const MeshView& rest, std::span<const std::int32_t> own, std::shared_ptr<const FieldSet> fields,
           SharedWeights weights, std::size_t transform_count, double share);

  BoneLiftScratch make_scratch() const;

  /// The transforms with what lies in other flesh lifted out of it; `posed_from_rest` itself when nothing
  /// does. `positions`, one per vertex or none, are carried along. Allocates nothing, throws nothing; what is
  /// not finite stays as it is. Same bits for any number of threads.
  std::span<const Affine3d> lift(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& scratch,
                                 std::span<Vec3f> positions) const;

 private:
  void pose(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const;
  /// One round: every group goes out of what it lies in. False when none lies in anything.
  bool rise(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const;
  /// Which bones the round has moved.
  void find_shifted(BoneLiftScratch& s) const;
  /// Whether a group lay in nothing when it was last looked at, and nothing has changed for it since.
  bool is_settled(const std::vector<std::uint32_t>& group, const BoneLiftScratch& s) const;
  struct Box {
    Vec3f low, high;
  };
  /// Round the bones of a field.
  Box box_of(std::size_t field, const BoneLiftScratch& s) const;
  BoneLiftScratch::Meeting meeting(std::size_t field, std::size_t other, const BoneLiftScratch& s) const;
  /// Fills in what a bone may lie in, now or on its way out of one of them; false when none reaches it now.
  bool find_meetings(const std::vector<std::uint8_t>& meets, std::size_t field, BoneLiftScratch& s) const;
  Vec3f place(const LiftChains::Sample& sample, const BoneLiftScratch& s) const;
  float radius_of(std::size_t field, const BoneLiftScratch& s) const;

  /// How far a field is above what a bone may lie in, and its gradient there with its length.
  struct Excess {
    float value = 0, slope = 0;
    Vec3f gradient = Vec3f::Zero();
  };
  Excess excess(const BoneLiftScratch::Meeting& meeting, const Vec3f& at, const BoneLiftScratch& s) const;
  /// Of a way out of another field, what `mover` takes.
  float share_of(std::size_t mover, std::size_t other, const BoneLiftScratch& s) const;

  /// The axis about which the pose has bent a finger, times how much it is a hinge, and its palm's group.
  struct Hinge {
    std::int32_t palm = -1;
    Vec3f axis = Vec3f::Zero();
  };
  Hinge find_hinge(std::size_t group, std::span<const Affine3d> posed_from_rest) const;

  /// The shortest way of one sample out of all that it meets, as far as `mover` takes it.
  Vec3f way_out(std::size_t mover, std::size_t sample, const Hinge& hinge, const BoneLiftScratch& s) const;
  /// How far a direction leads until all bones that meet something are out of it; `longest` if not before.
  float way_along(const Vec3f& direction, float longest, const BoneLiftScratch& s) const;
  void place_in_grid(BoneLiftScratch::Meeting& meeting, const BoneLiftScratch& s) const;
  /// Whether no way of that length leads a bone to the other field.
  bool is_farther(const BoneLiftScratch::Meeting& meeting, float length, const BoneLiftScratch& s) const;
  /// Finds where a bone that goes in a direction may lie in the other field.
  void find_passage(BoneLiftScratch::Meeting& meeting, const Vec3f& direction,
                    const BoneLiftScratch& s) const;
  /// The shortest of such ways of a group with its extremities, of 26 directions in the given frame.
  Vec3f way_as_one(std::size_t group, const Mat3d& frame, BoneLiftScratch& s) const;
  /// Moves a group and all that it carries so that its ends go these ways, as far as it can.
  void move(std::size_t group, const Vec3f& head_way, const Vec3f& tail_way, BoneLiftScratch& s) const;

  /// Bones get back their shapes and bend no further than they can.
  void keep_shapes(BoneLiftScratch& s) const;
  /// By its nodes, where the bone that it hangs on has its turn already.
  Mat3d turn_of(std::size_t field, const BoneLiftScratch& s) const;
  Mat3d turn_above(std::size_t field, const BoneLiftScratch& s) const;
  void make_transforms(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const;
  void carry(const BoneLiftScratch& s, std::span<Vec3f> positions) const;

  std::shared_ptr<const FieldSet> fields_;
  LiftChains chains_;
  std::vector<std::int32_t> field_of_;  // per transform, -1: none
  std::vector<std::int32_t> own_;
  SharedWeights weights_;
  float share_ = 1;
};

}  // namespace sinew
