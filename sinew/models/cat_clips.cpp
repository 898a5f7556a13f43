#include <sinew/models/cat_clips.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include <sinew/core/index.h>
#include <sinew/models/keys.h>

namespace sinew {

namespace {

/// From 0 to 1 with these slopes at the ends.
double eased(double share, double slope_0, double slope_1) {
  const double s = share, s2 = s * s, s3 = s2 * s;
  return (3 * s2 - 2 * s3) + slope_0 * (s3 - 2 * s2 + s) + slope_1 * (s3 - s2);
}

class CatActor {
 public:
  explicit CatActor(const Rig& rig) : rig_(rig) {
    for (std::size_t l = 0; l < legs_.size(); ++l) {
      Leg& leg = legs_[l];
      leg.fore = l == kLeftFore || l == kRightFore;
      const std::string suffix = l == kLeftHind || l == kLeftFore ? ".L" : ".R";
      leg.upper = rig.at((leg.fore ? "upper_arm" : "thigh") + suffix);
      leg.lower = rig.at((leg.fore ? "lower_arm" : "shin") + suffix);
      leg.heel = rig.at((leg.fore ? "paw" : "metatarsus") + suffix);
      leg.toes = rig.at((leg.fore ? "toes" : "foot") + suffix);
      const Vec3d middle = rig[leg.lower].head - rig[leg.upper].head;
      const Vec3d line = (rig[leg.heel].head - rig[leg.upper].head).normalized();
      leg.pole = (middle - middle.dot(line) * line).normalized();
      leg.height = rig[leg.upper].head.y() - rig[leg.toes].head.y();
      leg.toe_length = rig[leg.toes].tail.z() - rig[leg.toes].head.z();
    }
    size_ = std::min(legs_[kLeftFore].height, legs_[kLeftHind].height);
    const auto bend = [&](int upper, int lower) {
      const Vec3d a = rig[upper].tail - rig[upper].head, b = rig[lower].tail - rig[lower].head;
      return std::atan2(a.cross(b).norm(), a.dot(b)) / kDegree;
    };
    for (Leg& leg : legs_) {
      leg.middle_bend = bend(leg.upper, leg.lower);
      leg.heel_bend = bend(leg.lower, leg.heel);
    }
  }

  /// Elbows, knees and hocks from straight to 150°, one degree per frame, as far as they go.
  Clip bend() const {
    constexpr int kStraightest = 14;  // no hinge opens further
    return make_clip(rig_, "bend", 150 - kStraightest, kFramesPerSecond, [&](int frame) {
      const double angle = kStraightest + frame;
      const double closed = frame / (150.0 - kStraightest);
      Posture posture = rig_.rest();
      posture.root_offset.y() = 0.30 * size_ * (1 - closed);
      for (const Leg& leg : legs_) {
        at(posture, leg.lower).flex = angle - leg.middle_bend;
        if (leg.fore) {
          // The upper arm stays by the chest; the paw folds under.
          at(posture, leg.upper).flex = 20 * (1 - closed) - 10 * closed;
          at(posture, leg.heel).flex = 70 * closed;
          at(posture, leg.toes).flex = 20 * closed;
        } else {
          at(posture, leg.upper).flex = -25 * (1 - closed) + 45 * closed;
          at(posture, leg.heel).flex = angle - leg.heel_bend;
          at(posture, leg.toes).flex = 15 * closed;
        }
      }
      at(posture, rig_.at("jaw")).flex = 35 * closed;
      return posture;
    });
  }

  /// The trunk turned against the hips, and the tail, from one end of their range to the other.
  Clip twist() const {
    return make_clip(rig_, "twist", 150, kFramesPerSecond, [&](int frame) {
      Posture posture = rig_.rest();
      const double share = frame / 75.0 - 1;
      for (const char* name : {"spine_1", "spine_2", "spine_3", "chest"})
        at(posture, rig_.at(name)).twist = 14 * share;
      for (const char* name : {"neck_1", "neck_2", "head"}) at(posture, rig_.at(name)).twist = 20 * share;
      for (const char* name : {"spine_1", "spine_2"}) at(posture, rig_.at(name)).spread = 8 * share;
      for (const int joint : tail_joints()) {
        at(posture, joint).twist = 18 * share;
        at(posture, joint).spread = -12 * share;
      }
      return posture;
    });
  }

  Clip walk() const {
    constexpr int kCycleFrames = 24, kCycles = 2;
    const double stride = 1.75 * size_;
    return make_clip(rig_, "walk", kCycleFrames * kCycles, kFramesPerSecond, [&, stride](int frame) {
      const double cycles = static_cast<double>(frame) / kCycleFrames;
      Posture posture = rig_.rest();
      // The hips swing with the hind leg that reaches out; the chest follows the fore legs.
      const double yaw = 5 * std::cos(kTurn * (cycles - 0.0));
      const double fore_yaw = 4 * std::cos(kTurn * (cycles - 0.25));
      const double roll = 2.5 * std::sin(kTurn * (cycles - 0.1));
      at(posture, 0).spread = -yaw;
      at(posture, 0).twist = roll;
      for (const char* name : {"spine_1", "spine_2"}) {
        at(posture, rig_.at(name)).spread = 0.5 * (yaw - fore_yaw);
        at(posture, rig_.at(name)).twist = -0.5 * roll;
      }
      for (const char* name : {"neck_1", "neck_2"}) at(posture, rig_.at(name)).spread = 0.5 * fore_yaw;
      at(posture, rig_.at("neck_1")).flex = 10 + 1.5 * std::cos(2 * kTurn * (cycles - 0.3));
      at(posture, rig_.at("head")).flex = -8 - 1.5 * std::cos(2 * kTurn * (cycles - 0.3));
      sway_tail(posture, cycles, 5, 6);
      posture.root_offset =
          Vec3d(0, size_ * (-0.055 + 0.012 * std::cos(2 * kTurn * (cycles - 0.32))), stride * cycles);
      // Lateral sequence: left hind, left fore, right hind, right fore.
      constexpr std::array<double, 4> kTouchDown{0, 0.25, 0.5, 0.75};
      for (std::size_t l = 0; l < legs_.size(); ++l) {
        Step step;
        step.touch_down = kTouchDown[l];
        step.stance = 0.67;
        step.forwards = (legs_[l].fore ? 0.02 : 0.03) * size_;
        step.lift = (legs_[l].fore ? 0.08 : 0.09) * size_;
        step.heel_on = legs_[l].fore ? -4 : 0;
        step.heel_off = legs_[l].fore ? 48 : 42;
        step.fold = legs_[l].fore ? 58 : 14;
        step.follow = 0.9;
        take_step(posture, legs_[l], step, cycles, stride);
      }
      return posture;
    });
  }

  Clip run() const {
    constexpr int kCycleFrames = 14, kCycles = 3;
    const double stride = 5.3 * size_;
    return make_clip(rig_, "run", kCycleFrames * kCycles, kFramesPerSecond, [&, stride](int frame) {
      const double cycles = static_cast<double>(frame) / kCycleFrames;
      Posture posture = rig_.rest();
      // The back arches while all feet are gathered under it and stretches in the long leap.
      const double gathered = std::cos(kTurn * (cycles - 0.93));
      const double arch = 8 + 20 * gathered;
      at(posture, rig_.at("spine_1")).flex = arch;
      at(posture, rig_.at("spine_2")).flex = arch;
      at(posture, rig_.at("spine_3")).flex = 0.5 * arch;
      at(posture, rig_.at("neck_1")).flex = 12 - 0.55 * arch;
      at(posture, rig_.at("neck_2")).flex = 8 - 0.4 * arch;
      at(posture, rig_.at("head")).flex = -10 - 0.35 * arch;
      // Nose up after the fore feet have pushed, down after the hind feet.
      const double pitch = 7 * std::cos(kTurn * (cycles - 0.22));
      at(posture, 0).flex = -1.25 * arch - pitch;
      for (const int joint : tail_joints()) at(posture, joint).flex = 3;
      at(posture, tail_joints()[0]).flex = 22 - 12 * std::cos(kTurn * (cycles - 0.2));
      // Highest in the two flights.
      const double rise = -0.15 + 0.05 * std::cos(2 * kTurn * (cycles - 0.42)) + 0.02 * gathered;
      carry_trunk(posture, size_ * rise, stride * cycles);
      // Rotary gallop: right hind, left hind, long flight, left fore, right fore, gathered flight.
      constexpr std::array<double, 4> kTouchDown{2.0 / kCycleFrames, 7.0 / kCycleFrames, 0,
                                                 9.0 / kCycleFrames};
      for (std::size_t l = 0; l < legs_.size(); ++l) {
        Step step;
        step.touch_down = kTouchDown[l];
        step.stance = 3.2 / kCycleFrames;
        step.forwards = (legs_[l].fore ? -0.02 : 0.14) * size_;
        step.lift = (legs_[l].fore ? 0.30 : 0.22) * size_;
        step.heel_on = legs_[l].fore ? 0 : -22;
        step.heel_off = legs_[l].fore ? 62 : 58;
        step.fold = legs_[l].fore ? 75 : -6;
        step.follow = 0.30;
        take_step(posture, legs_[l], step, cycles, stride);
      }
      return posture;
    });
  }

  /// Crouch, leap forwards, land on the fore feet first, stand.
  Clip jump() const {
    constexpr int kLast = 54;
    return make_clip(rig_, "jump", kLast, kFramesPerSecond, [&](int frame) {
      const double t = static_cast<double>(frame) / kLast;
      constexpr double kForeOff = 18.0 / kLast, kHindOff = 22.0 / kLast, kForeOn = 34.0 / kLast,
                       kHindOn = 38.0 / kLast;
      const double far = 3.2 * size_;
      Posture posture = rig_.rest();
      const double nose_up = through<8>(
          {{{0, 0}, {0.20, -4}, {0.29, -3}, {0.40, 33}, {0.52, 4}, {0.63, -16}, {0.76, -3}, {0.92, 0}}}, t);
      const double arch = through<8>(
          {{{0, 0}, {0.20, 12}, {0.29, 14}, {0.41, -9}, {0.55, 2}, {0.68, 20}, {0.78, 10}, {0.95, 0}}}, t);
      at(posture, rig_.at("spine_1")).flex = arch;
      at(posture, rig_.at("spine_2")).flex = arch;
      at(posture, rig_.at("spine_3")).flex = 0.5 * arch;
      at(posture, 0).flex = -nose_up - 1.25 * arch;
      at(posture, rig_.at("neck_1")).flex = 0.35 * nose_up - 0.3 * arch;
      at(posture, rig_.at("head")).flex = 0.45 * nose_up - 0.3 * arch;
      at(posture, tail_joints()[0]).flex =
          through<5>({{{0, 0}, {0.25, -12}, {0.45, 12}, {0.66, 45}, {1, 0}}}, t);
      for (const int joint : tail_joints())
        at(posture, joint).flex += through<4>({{{0, 0}, {0.4, 6}, {0.66, -6}, {1, 0}}}, t);
      // The trunk's middle: down and back, up and away on a parabola, down onto the fore legs, up.
      constexpr double kPush = 0.29, kFlight = kForeOn - kHindOff, kLand = 0.12;
      double up, forth;
      if (t < kPush) {
        up = through<3>({{{0, 0}, {0.20, -0.35}, {kPush, -0.38}}}, t);
        forth = through<3>({{{0, 0}, {0.22, -0.10}, {kPush, -0.08}}}, t);
      } else if (t < kHindOff) {
        const double share = (t - kPush) / (kHindOff - kPush);
        up = -0.38 + 0.45 * share * share;
        forth = -0.08 + 0.60 * share * share;
      } else if (t < kForeOn) {
        const double share = (t - kHindOff) / kFlight;
        up = 0.07 + 0.17 * share + 1.6 * share * (1 - share);
        forth = 0.52 + 2.18 * share;
      } else {
        up = t < kForeOn + kLand ? 0.24 - 0.42 * eased((t - kForeOn) / kLand, 2.0, 0)
                                 : through<2>({{{kForeOn + kLand, -0.18}, {0.97, 0}}}, t);
        forth = 2.70 + 0.50 * eased((t - kForeOn) / (1 - kForeOn), 2.6, 0);
      }
      carry_trunk(posture, size_ * up, size_ * forth);
      for (const Leg& leg : legs_) {
        const double off = leg.fore ? kForeOff : kHindOff, on = leg.fore ? kForeOn : kHindOn;
        Vec3d place = rig_[leg.toes].head;
        double heel = 0, toes = 0;
        if (t < off) {
          heel = (leg.fore ? 50 : 62) * smooth((t - (off - 0.13)) / 0.13);
        } else if (t < on) {
          const double share = (t - off) / (on - off);
          place.z() += far * eased(share, 0.7, 0.5);
          const double lift = leg.fore ? through<4>({{{0, 0}, {0.4, 1.35}, {0.65, 1.05}, {1, 0}}}, share)
                                       : through<4>({{{0, 0}, {0.35, 0.55}, {0.65, 0.85}, {1, 0}}}, share);
          heel = (leg.fore ? 50 : 62) * (1 - smooth(share * 1.6));
          toes = heel * smooth(share * 6) + (leg.fore ? 30 : 20) * std::sin(std::numbers::pi * share);
          place.y() += size_ * lift + leg.toe_length * std::sin(std::max(0.0, toes) * kDegree);
        } else {
          place.z() += far;
        }
        plant(posture, leg, place, heel, toes);
      }
      return posture;
    });
  }

 private:
  enum : std::size_t { kLeftHind, kLeftFore, kRightHind, kRightFore };
  struct Leg {
    bool fore;
    int upper, lower, heel, toes;  ///< heel: metacarpus or metatarsus
    Vec3d pole;                    ///< where elbow or knee points at rest
    double height;                 ///< from the root of the toes to shoulder or hip
    double toe_length;
    double middle_bend, heel_bend;  ///< degrees at rest; straight is 0
  };
  /// What a foot does within a cycle. Degrees and metres.
  struct Step {
    double touch_down = 0;  ///< when, in cycles
    double stance = 0.6;    ///< share of the cycle on the ground
    double forwards = 0;    ///< the middle of stance, before where it stands at rest
    double lift = 0.02;
    double heel_on = 0, heel_off = 40;  ///< how far the heel is tipped forwards at both ends of stance
    double fold = 30;                   ///< and in the middle of swing
    double follow = 1;  ///< how much of the ground's speed the foot has when leaving and landing
  };

  static Angles& at(Posture& posture, int joint) { return posture.angles[to_size(joint)]; }

  std::vector<int> tail_joints() const {
    std::vector<int> joints;
    for (std::size_t j = 0; j < rig_.size(); ++j)
      if (rig_.joints()[j].name.starts_with("tail_")) joints.push_back(static_cast<int>(j));
    return joints;
  }

  /// A wave that runs down the tail.
  void sway_tail(Posture& posture, double cycles, double degrees, double lift) const {
    double lag = 0;
    for (const int joint : tail_joints()) {
      at(posture, joint).spread = degrees * std::sin(kTurn * (cycles - lag));
      at(posture, joint).flex = lag == 0 ? lift : 0;
      lag += 0.09;
    }
  }

  /// Moves the root so that the middle between hips and chest is `up` and `forth` of where it is at rest.
  void carry_trunk(Posture& posture, double up, double forth) const {
    const int chest = rig_.at("chest");
    posture.root_offset = Vec3d::Zero();
    const std::vector<Affine3d> world = rig_.world(posture);
    const Vec3d middle = 0.5 * (world[0] * Vec3d::Zero() + world[to_size(chest)] * Vec3d::Zero());
    const Vec3d rest = 0.5 * (rig_[0].head + rig_[chest].head);
    posture.root_offset = rest + Vec3d(0, up, forth) - middle;
    posture.root_offset.x() = 0;
  }

  /// Puts the root of the toes at `place`, the heel tipped forwards by `heel` degrees and the toes' tips
  /// down by `toes`.
  void plant(Posture& posture, const Leg& leg, const Vec3d& place, double heel, double toes) const {
    const Vec3d up = rig_[leg.heel].head - rig_[leg.toes].head;
    if (leg.fore) {
      // The shoulder blade goes along with the foot.
      const int blade = rig_[leg.upper].parent;
      at(posture, blade).flex = 0;
      const Vec3d shoulder = rig_.world(posture)[to_size(leg.upper)].translation();
      const Vec3d rest = rig_[leg.toes].head - rig_[leg.upper].head;
      at(posture, blade).flex = std::clamp(26 * (place.z() - shoulder.z() - rest.z()) / size_, -28.0, 28.0);
    }
    rig_.reach(posture, leg.upper, leg.lower, place + about_x(heel) * up, leg.pole);
    rig_.orient(posture, leg.heel, about_x(heel));
    rig_.orient(posture, leg.toes, about_x(toes));
  }

  void take_step(Posture& posture, const Leg& leg, const Step& step, double cycles, double stride) const {
    const double time = cycles - step.touch_down + 1;
    const double cycle = std::floor(time), phase = time - cycle;
    Vec3d place = rig_[leg.toes].head;
    // Where the foot stands; in the middle of stance the trunk is over it.
    const double print = stride * (cycle - 1 + step.touch_down + 0.5 * step.stance) + step.forwards;
    double heel, toes = 0;
    if (phase < step.stance) {
      const double share = phase / step.stance;
      place.z() += print;
      heel = through<4>({{{0, step.heel_on}, {0.25, 0}, {0.5, 0}, {1.1, 1.1 * step.heel_off}}}, share);
    } else {
      const double share = (phase - step.stance) / (1 - step.stance);
      // Seen from the trunk: from behind to before, still going back when it leaves and when it lands.
      const double sweep = step.stance * stride;
      const double ground = -step.follow * stride * (1 - step.stance) / sweep;
      const double trunk = stride * (cycle - 1 + step.touch_down + phase);
      place.z() += trunk + step.forwards + sweep * (eased(share, ground, ground) - 0.5);
      const double last =
          through<4>({{{0, step.heel_on}, {0.25, 0}, {0.5, 0}, {1.1, 1.1 * step.heel_off}}}, 1.0);
      heel = through<4>({{{0, last}, {0.4, step.fold}, {0.85, step.heel_on}, {1, step.heel_on}}}, share);
      const double hang = 0.5 * (last + std::max(0.0, step.fold));
      toes = through<4>({{{0, 0}, {0.25, hang}, {0.8, 0}, {1, 0}}}, share);
      place.y() += step.lift * std::pow(std::sin(std::numbers::pi * std::pow(share, 0.85)), 1.3) +
                   0.8 * leg.toe_length * std::sin(std::max(0.0, toes) * kDegree);
    }
    plant(posture, leg, place, heel, toes);
  }

  const Rig& rig_;
  std::array<Leg, 4> legs_;
  double size_ = 1;  ///< the shorter pair of legs
};

}  // namespace

std::vector<Clip> cat_clips(const Rig& rig) {
  const CatActor actor(rig);
  return {actor.bend(), actor.twist(), actor.walk(), actor.run(), actor.jump()};
}

}  // namespace sinew
