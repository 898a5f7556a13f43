#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/core/math.h>
#include <sinew/skeleton/clip.h>
#include <sinew/skeleton/skeleton.h>

namespace sinew {

/// How far a joint is turned, in degrees: R = R_flex · R_spread · R_twist about the joint's own axes.
struct Angles {
  double flex = 0;
  double spread = 0;
  double twist = 0;
};

struct AngleRange {
  double least = 0;
  double most = 0;
};

/// Which turns a joint allows. Positive flex closes the joint (elbow, knee, finger) or swings the limb
/// forwards (hip, shoulder).
struct JointLimits {
  AngleRange flex, spread, twist;  ///< degrees
};

/// A joint of a built-in character. Joint frames are parallel to the world's at rest; turning axes are given
/// by `flex` and `along` instead.
struct RigJoint {
  std::string name;
  int parent = -1;
  Vec3d head = Vec3d::Zero();
  Vec3d tail = Vec3d::Zero();
  Vec3d flex = Vec3d::UnitX();   ///< unit axis of the first turn
  Vec3d along = Vec3d::UnitY();  ///< unit axis of the twist, at right angles to `flex`
  JointLimits limits;
};

/// What all joints do at one moment.
struct Posture {
  std::vector<Angles> angles;  ///< one per joint of the rig
  Vec3d root_offset = Vec3d::Zero();
};

/// The skeleton of a built-in character, with what is needed to pose it.
class Rig {
 public:
  Rig() = default;
  /// Joints that a rig has given out: parents come first, flex is at right angles to the bone.
  explicit Rig(std::vector<RigJoint> joints) : joints_(std::move(joints)) {}

  /// Gives the joint's number. `flex` is made orthogonal to the bone. Parents come first.
  int add(std::string name, int parent, const Vec3d& head, const Vec3d& tail, const Vec3d& flex,
          const JointLimits& limits);

  const std::vector<RigJoint>& joints() const { return joints_; }
  std::size_t size() const { return joints_.size(); }
  const RigJoint& operator[](int joint) const { return joints_[to_size(joint)]; }
  /// The joint of that name; an assert fails when there is none.
  int at(std::string_view name) const;
  /// Squared distance from p to the bone (head to tail) of a joint.
  double squared_distance(int joint, const Vec3d& p) const;

  Skeleton skeleton() const;
  Posture rest() const { return {std::vector<Angles>(joints_.size()), Vec3d::Zero()}; }
  /// Brings every angle into its joint's limits.
  void limit(Posture& posture) const;

  Quatd rotation(int joint, const Angles& angles) const;
  /// The inverse of rotation(). Flex may be anything; spread lies within ±90°.
  Angles angles_of(int joint, const Quatd& rotation) const;
  /// World transforms of all joints.
  std::vector<Affine3d> world(const Posture& posture) const;

  /// Turns `upper` and `lower` (a chain: thigh and shin, upper and lower arm) so that lower's tail comes to
  /// `target`, or as near as the limb reaches. The middle joint closes in its flex direction; `pole` is where
  /// it points to (world).
  void reach(Posture& posture, int upper, int lower, const Vec3d& target, const Vec3d& pole) const;
  /// Turns a joint so that its world rotation is `world_rotation`.
  void orient(Posture& posture, int joint, const Quatd& world_rotation) const;

 private:
  Mat3d axes(int joint) const;

  std::vector<RigJoint> joints_;
};

/// A clip with one key per frame: `at_frame` gives the posture of frames 0 to `last_frame`; limits are
/// applied. Joints that never move get no channel.
Clip make_clip(const Rig& rig, std::string name, int last_frame, double frames_per_second,
               const std::function<Posture(int frame)>& at_frame);

}  // namespace sinew
