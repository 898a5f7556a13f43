#pragma once

#include <string>

#include <sinew/models/flesh.h>
#include <sinew/models/rig.h>

/// Parts that several built-in characters have.
namespace sinew {

/// How a character differs from the default. 1 is the default; each from 0.5 to 2.
struct Proportions {
  double arm = 1;    ///< length of the arms (cat: fore legs; insect: antennae)
  double leg = 1;    ///< length of the legs (cat: hind legs; insect: all six)
  double head = 1;   ///< size of the head
  double girth = 1;  ///< thickness of everything
};

/// A turn about x, y, z in degrees, for shapes that lie askew.
inline Mat3d tilt(double x, double y, double z) {
  return (Eigen::AngleAxisd(z * kDegree, Vec3d::UnitZ()) * Eigen::AngleAxisd(y * kDegree, Vec3d::UnitY()) *
          Eigen::AngleAxisd(x * kDegree, Vec3d::UnitX()))
      .toRotationMatrix();
}

/// Limits of a joint that spreads and twists alike to both sides, degrees.
inline JointLimits even_limits(AngleRange flex, double spread, double twist) {
  return {flex, {-spread, spread}, {-twist, twist}};
}

/// A limb's own frame: where it starts, where it goes, and which way its inside (palm) faces.
struct LimbFrame {
  Vec3d origin = Vec3d::Zero();
  Vec3d along = Vec3d::UnitX();
  Vec3d thumb = Vec3d::UnitZ();  ///< towards the thumb; at right angles to `along`
  Vec3d palm = -Vec3d::UnitY();  ///< out of the palm; at right angles to both

  Vec3d at(double along_by, double thumb_by, double palm_by) const {
    return origin + along_by * along + thumb_by * thumb + palm_by * palm;
  }
  Vec3d direction(double along_by, double thumb_by, double palm_by) const {
    return along_by * along + thumb_by * thumb + palm_by * palm;
  }
  Mat3d axes() const {
    Mat3d m;
    m << along, thumb, palm;
    return m;
  }
};

/// Joints and flesh of an adult hand whose wrist is the frame's origin: `wrist` and, per finger, four joints
/// from the carpus to the tip (thumb: carpal, metacarpal and two phalanges), 21 in all. `suffix` ends the
/// names ("" or ".L"). `length` and `girth` scale it. Gives the wrist's joint.
int add_hand(Rig& rig, Flesh& flesh, int group, int parent, const LimbFrame& frame, const std::string& suffix,
             double length, double girth);

/// Upper and lower arm from the frame's origin (the shoulder), straight, without the hand. `upper` and
/// `lower` are lengths in metres. Gives the lower arm's joint and its end through `wrist`.
int add_arm(Rig& rig, Flesh& flesh, int group, int parent, const LimbFrame& frame, const std::string& suffix,
            double upper, double lower, double girth, Vec3d& wrist);

/// The names of a hand's finger joints, four per finger from the root on, thumb first.
std::string finger_joint(int finger, int segment, const std::string& suffix);

/// Curls the fingers to a fist: 0 open, 1 closed.
void close_fist(const Rig& rig, Posture& posture, const std::string& suffix, double amount);

}  // namespace sinew
