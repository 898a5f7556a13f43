#include <sinew/models/rig.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include <sinew/core/index.h>

namespace sinew {

namespace {

/// Right-handed, from two directions that are not parallel: the first is kept.
Mat3d frame_of(const Vec3d& first, const Vec3d& second) {
  Mat3d frame;
  frame.col(0) = first.normalized();
  frame.col(1) = (second - second.dot(frame.col(0)) * frame.col(0)).normalized();
  frame.col(2) = frame.col(0).cross(frame.col(1));
  return frame;
}

}  // namespace

int Rig::add(std::string name, int parent, const Vec3d& head, const Vec3d& tail, const Vec3d& flex,
             const JointLimits& limits) {
  assert(parent < static_cast<int>(joints_.size()));
  RigJoint joint{std::move(name), parent, head, tail, flex, Vec3d::UnitY(), limits};
  joint.along = (tail - head).normalized();
  joint.flex = (flex - flex.dot(joint.along) * joint.along).normalized();
  joints_.push_back(std::move(joint));
  return static_cast<int>(joints_.size()) - 1;
}

int Rig::at(std::string_view name) const {
  const auto found =
      std::find_if(joints_.begin(), joints_.end(), [&](const RigJoint& j) { return j.name == name; });
  assert(found != joints_.end());
  return static_cast<int>(found - joints_.begin());
}

double Rig::squared_distance(int joint, const Vec3d& p) const {
  const RigJoint& bone = (*this)[joint];
  const Vec3d along = bone.tail - bone.head;
  const double t = std::clamp((p - bone.head).dot(along) / along.squaredNorm(), 0.0, 1.0);
  return (p - bone.head - t * along).squaredNorm();
}

Skeleton Rig::skeleton() const {
  Skeleton skeleton;
  for (const RigJoint& joint : joints_) {
    Joint out{joint.name, joint.parent, {}, true};
    out.rest.translation =
        (joint.parent < 0 ? joint.head : Vec3d(joint.head - (*this)[joint.parent].head)).cast<float>();
    skeleton.joints.push_back(std::move(out));
  }
  return skeleton;
}

void Rig::limit(Posture& posture) const {
  const auto clamp = [](double& angle, const AngleRange& range) {
    angle = std::clamp(angle, range.least, range.most);
  };
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    clamp(posture.angles[j].flex, joints_[j].limits.flex);
    clamp(posture.angles[j].spread, joints_[j].limits.spread);
    clamp(posture.angles[j].twist, joints_[j].limits.twist);
  }
}

Mat3d Rig::axes(int joint) const {
  const RigJoint& bone = (*this)[joint];
  Mat3d axes;
  axes.col(0) = bone.flex;
  axes.col(1) = bone.along.cross(bone.flex);
  axes.col(2) = bone.along;
  return axes;
}

Quatd Rig::rotation(int joint, const Angles& angles) const {
  const Mat3d frame = axes(joint);
  return Quatd(Eigen::AngleAxisd(angles.flex * kDegree, frame.col(0))) *
         Quatd(Eigen::AngleAxisd(angles.spread * kDegree, frame.col(1))) *
         Quatd(Eigen::AngleAxisd(angles.twist * kDegree, frame.col(2)));
}

Angles Rig::angles_of(int joint, const Quatd& rotation) const {
  const Mat3d frame = axes(joint);
  // R = Rx(flex) Ry(spread) Rz(twist) in the joint's axes.
  const Mat3d r = frame.transpose() * rotation.toRotationMatrix() * frame;
  return {std::atan2(-r(1, 2), r(2, 2)) / kDegree, std::asin(std::clamp(r(0, 2), -1.0, 1.0)) / kDegree,
          std::atan2(-r(0, 1), r(0, 0)) / kDegree};
}

std::vector<Affine3d> Rig::world(const Posture& posture) const {
  std::vector<Affine3d> world(joints_.size());
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const RigJoint& joint = joints_[j];
    const Quatd turn = rotation(static_cast<int>(j), posture.angles[j]);
    if (joint.parent < 0)
      world[j] = Eigen::Translation3d(joint.head + posture.root_offset) * turn;
    else
      world[j] = world[to_size(joint.parent)] *
                 (Eigen::Translation3d(joint.head - (*this)[joint.parent].head) * turn);
  }
  return world;
}

void Rig::reach(Posture& posture, int upper, int lower, const Vec3d& target, const Vec3d& pole) const {
  const std::vector<Affine3d> frames = world(posture);
  const RigJoint &first = (*this)[upper], &second = (*this)[lower];
  const Vec3d root = frames[to_size(upper)].translation();
  const Vec3d rest_1 = second.head - first.head, rest_2 = second.tail - second.head;
  const double l1 = rest_1.norm(), l2 = rest_2.norm();
  Vec3d to_target = target - root;
  const double distance = std::clamp(to_target.norm(), std::abs(l1 - l2) + 1e-6, l1 + l2 - 1e-6);
  to_target.normalize();
  // Law of cosines for the angle at the root; the middle joint lies in the plane of target and pole.
  const double cosine = (l1 * l1 + distance * distance - l2 * l2) / (2 * l1 * distance);
  const Vec3d sideways = (pole - pole.dot(to_target) * to_target).normalized();
  const Vec3d middle = l1 * (cosine * to_target + std::sqrt(std::max(0.0, 1 - cosine * cosine)) * sideways);
  const Vec3d end = distance * to_target;
  // Closing the joint turns lower about its flex axis, so in the plane's own terms: flex = dir_1 × dir_2
  // side.
  const Vec3d hinge = sideways.cross(to_target).normalized();
  const auto turn = [&](const Vec3d& rest_direction, const Vec3d& direction, const Vec3d& rest_hinge) {
    return Quatd(frame_of(direction, hinge) * frame_of(rest_direction, rest_hinge).transpose());
  };
  const Quatd upper_world = turn(rest_1, middle, second.flex);
  const Quatd lower_world = turn(rest_2, end - middle, second.flex);
  const Quatd parent = first.parent < 0 ? Quatd::Identity() : Quatd(frames[to_size(first.parent)].linear());
  posture.angles[to_size(upper)] = angles_of(upper, parent.conjugate() * upper_world);
  posture.angles[to_size(lower)] = angles_of(lower, upper_world.conjugate() * lower_world);
}

void Rig::orient(Posture& posture, int joint, const Quatd& world_rotation) const {
  const int parent = (*this)[joint].parent;
  const Quatd above = parent < 0 ? Quatd::Identity() : Quatd(world(posture)[to_size(parent)].linear());
  posture.angles[to_size(joint)] = angles_of(joint, above.conjugate() * world_rotation);
}

Clip make_clip(const Rig& rig, std::string name, int last_frame, double frames_per_second,
               const std::function<Posture(int frame)>& at_frame) {
  std::vector<Posture> postures;
  for (int frame = 0; frame <= last_frame; ++frame) {
    postures.push_back(at_frame(frame));
    rig.limit(postures.back());
  }
  Clip clip{std::move(name), {}};
  std::vector<float> times;
  for (int frame = 0; frame <= last_frame; ++frame)
    times.push_back(static_cast<float>(frame / frames_per_second));
  for (std::size_t j = 0; j < rig.size(); ++j) {
    const bool moves = std::any_of(postures.begin(), postures.end(), [&](const Posture& posture) {
      const Angles& a = posture.angles[j];
      return a.flex != 0 || a.spread != 0 || a.twist != 0;
    });
    if (!moves) continue;
    Channel channel{static_cast<int>(j), ChannelPath::rotation, Interpolation::linear, 4, times, {}};
    Quatd last = Quatd::Identity();
    for (const Posture& posture : postures) {
      Quatd turn = rig.rotation(static_cast<int>(j), posture.angles[j]);
      if (turn.dot(last) < 0) turn.coeffs() *= -1;
      last = turn;
      for (const double part : {turn.x(), turn.y(), turn.z(), turn.w()})
        channel.values.push_back(static_cast<float>(part));
    }
    clip.channels.push_back(std::move(channel));
  }
  const bool travels = std::any_of(postures.begin(), postures.end(), [](const Posture& posture) {
    return posture.root_offset != Vec3d::Zero();
  });
  if (travels) {
    Channel channel{0, ChannelPath::translation, Interpolation::linear, 3, times, {}};
    for (const Posture& posture : postures) {
      const Vec3d place = rig[0].head + posture.root_offset;
      for (int axis = 0; axis < 3; ++axis) channel.values.push_back(static_cast<float>(place[axis]));
    }
    clip.channels.push_back(std::move(channel));
  }
  return clip;
}

}  // namespace sinew
