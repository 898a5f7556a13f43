#include <sinew/fitting/bone_rolls.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <vector>

#include <sinew/core/smooth_step.h>
#include <sinew/fitting/best_rotation.h>

namespace sinew {

namespace {

// Bends that begin to define a plane, and that fully do.
constexpr double kSomeBend = 1.5 * kDegree, kFullBend = 4 * kDegree;
// How far from method (a) a plane is obeyed fully, and not at all. At 90° its normal's sign is anyone's
// guess.
constexpr double kFullyObeyed = 60 * kDegree, kNotObeyed = 85 * kDegree;
// A limb's first bone that is shorter than this part of its next is a girdle's, as a clavicle is.
constexpr double kGirdle = 0.7;

Vec3d direction(const RigBone& bone) {
  const Vec3d along = bone.tail - bone.head;
  const double length = along.norm();
  return length > 0 ? Vec3d(along / length) : Vec3d(Vec3d::Zero());
}

/// How well a plane is defined by two directions, 0 to 1: not when they are parallel or opposite.
double bent(const Vec3d& a, const Vec3d& b) {
  const double angle = std::atan2(a.cross(b).norm(), std::abs(a.dot(b)));
  return smooth_step(kSomeBend, kFullBend, angle);
}

/// What a joint says of the turn of a bone about its new direction.
struct Advice {
  double angle = 0;   ///< to add to method (a), radians, within ±π/2
  double weight = 0;  ///< 0 to 1, by how far the joint is bent in the rig and in the mesh
};

class Orienter {
 public:
  Orienter(const ControlRig& rig, std::span<const char> placed, ControlRig& fitted)
      : rig_(rig),
        placed_(placed),
        fitted_(fitted),
        parent_(deform_parents(rig)),
        next_(rig.bones.size(), -1) {
    for (std::size_t b = 0; b < rig.bones.size(); ++b)
      if (rig.bones[b].deforms && joined(b)) {
        int& next = next_[static_cast<std::size_t>(parent_[b])];
        next = next == -1 ? static_cast<int>(b) : kSeveral;
      }
  }

  void run() {
    turn_.assign(rig_.bones.size(), best_rotation(rig_, placed_, fitted_));
    std::vector<char> done(rig_.bones.size(), 0);
    std::vector<std::size_t> path;
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      path.clear();
      for (int up = static_cast<int>(b); up >= 0 && !done[static_cast<std::size_t>(up)];
           up = parent_[static_cast<std::size_t>(up)]) {
        path.push_back(static_cast<std::size_t>(up));
        done[static_cast<std::size_t>(up)] = 1;
      }
      for (auto bone = path.rbegin(); bone != path.rend(); ++bone) orient(*bone);
    }
  }

 private:
  static constexpr int kSeveral = -2;

  /// Whether a bone and its deforming parent meet in a joint, in the rig.
  bool joined(std::size_t b) const {
    if (parent_[b] < 0) return false;
    const RigBone &bone = rig_.bones[b], &parent = rig_.bones[static_cast<std::size_t>(parent_[b])];
    return (bone.head - parent.tail).norm() <= 0.01 * std::max(bone.length(), parent.length());
  }

  /// Whether the joint at the head of b is a shoulder or a hip: it turns any way, so its plane in one pose
  /// says nothing of axes.
  bool of_girdle(std::size_t b) const {
    if (!joined(b) || next_[b] < 0) return false;
    const auto p = static_cast<std::size_t>(parent_[b]);
    const bool first = parent_[p] < 0 || next_[static_cast<std::size_t>(parent_[p])] != static_cast<int>(p);
    return first && rig_.bones[p].length() < kGirdle * rig_.bones[b].length();
  }

  Vec3d old_direction(std::size_t b) const { return direction(rig_.bones[b]); }
  Vec3d new_direction(std::size_t b) const { return direction(fitted_.bones[b]); }

  /// Of the joint between bones p and q, to bone b that `carried` brings to its new direction.
  Advice ask(std::size_t p, std::size_t q, std::size_t b, const Quatd& carried) const {
    const Vec3d p_old = old_direction(p), q_old = old_direction(q), p_new = new_direction(p),
                q_new = new_direction(q), axis = new_direction(b);
    Advice advice;
    advice.weight = bent(p_old, q_old) * bent(p_new, q_new);
    if (advice.weight == 0) return advice;
    const Vec3d was = carried * p_old.cross(q_old), is = p_new.cross(q_new);
    // About the bone, so what is along it does not count; either normal of the plane will do.
    const double sine = axis.dot(was.cross(is)), cosine = was.dot(is) - was.dot(axis) * is.dot(axis);
    advice.angle = cosine < 0 ? std::atan2(-sine, -cosine) : std::atan2(sine, cosine);
    advice.weight *= 1 - smooth_step(kFullyObeyed, kNotObeyed, std::abs(advice.angle));
    return advice;
  }

  /// Of the joint at the tail of b, or the next ones of a limb that is straight there.
  Advice ask_tail(std::size_t b, const Quatd& carried) const {
    Advice sum;
    double left = 1;
    for (std::size_t p = b; left > 0 && next_[p] >= 0;) {
      const auto q = static_cast<std::size_t>(next_[p]);
      if (!placed_[q] || of_girdle(q)) break;
      const Advice advice = ask(p, q, b, carried);
      sum.angle += left * advice.weight * advice.angle;
      sum.weight += left * advice.weight;
      left *= (1 - bent(old_direction(p), old_direction(q))) * (1 - bent(new_direction(p), new_direction(q)));
      p = q;
    }
    if (sum.weight > 0) sum.angle /= sum.weight;
    return sum;
  }

  void orient(std::size_t b) {
    const int parent = parent_[b];
    if (parent >= 0) turn_[b] = turn_[static_cast<std::size_t>(parent)];
    if (!placed_[b]) return;
    const Vec3d is = new_direction(b);
    if (is.isZero(0) || old_direction(b).isZero(0)) return;
    // §3.1.3.3 (a), from what the parent did.
    const Quatd carried = rotation_between(turn_[b] * old_direction(b), is) * turn_[b];
    // §3.1.3.3 (b).
    Advice head;
    if (parent >= 0 && placed_[static_cast<std::size_t>(parent)] &&
        next_[static_cast<std::size_t>(parent)] == static_cast<int>(b) && !of_girdle(b))
      head = ask(static_cast<std::size_t>(parent), b, b, carried);
    const Advice tail = ask_tail(b, carried);
    const double angle = head.weight * head.angle + (1 - head.weight) * tail.weight * tail.angle;
    turn_[b] = (Eigen::AngleAxisd(angle, is) * carried).normalized();

    Mat3d frame = turn_[b] * bone_frame(old_direction(b), rig_.bones[b].roll);
    frame.col(1) = is;
    double roll = bone_roll(frame);
    // Of the angles that mean the same, the one nearest to what it was.
    roll += 2 * std::numbers::pi * std::round((rig_.bones[b].roll - roll) / (2 * std::numbers::pi));
    fitted_.bones[b].roll = roll;
  }

  const ControlRig& rig_;
  std::span<const char> placed_;
  ControlRig& fitted_;
  std::vector<int> parent_;
  std::vector<int> next_;    // the only bone that starts at a bone's tail; -1 none, kSeveral
  std::vector<Quatd> turn_;  // what takes a bone's old axes to its new ones
};

}  // namespace

void transfer_rolls(const ControlRig& rig, std::span<const char> placed, ControlRig& fitted) {
  assert(placed.size() == rig.bones.size() && fitted.bones.size() == rig.bones.size());
  Orienter(rig, placed, fitted).run();
}

}  // namespace sinew
