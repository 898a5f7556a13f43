#include <sinew/models/mannequin_clips.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <sinew/core/index.h>
#include <sinew/models/keys.h>
#include <sinew/models/limbs.h>

namespace sinew {

namespace {

constexpr double kPressed = 50;  // degrees that the arms come down; they hang at 36

Quatd about_z(double degrees) {
  return Quatd(Eigen::AngleAxisd(degrees * kDegree, Vec3d::UnitZ()));
}

class MannequinActor {
 public:
  explicit MannequinActor(const Rig& rig) : rig_(rig) {
    for (const bool right : {false, true}) {
      const std::string suffix = right ? ".R" : ".L";
      Side& side = sides_[right ? 1 : 0];
      side.sign = right ? -1 : 1;
      side.suffix = suffix;
      side.clavicle = rig.at("clavicle" + suffix);
      side.upper_arm = rig.at("upper_arm" + suffix);
      side.lower_arm = rig.at("lower_arm" + suffix);
      side.wrist = rig.at("wrist" + suffix);
      side.thigh = rig.at("thigh" + suffix);
      side.shin = rig.at("shin" + suffix);
      side.foot = rig.at("foot" + suffix);
      side.toes = rig.at("toes" + suffix);
    }
    leg_ = (rig[sides_[0].shin].head - rig[sides_[0].thigh].head).norm() +
           (rig[sides_[0].shin].tail - rig[sides_[0].shin].head).norm();
  }

  Clip bend() const {
    // Every hinge to its limit, one degree per frame; limits do the rest.
    return make_clip(rig_, "bend", 150, kFramesPerSecond, [&](int frame) {
      Posture posture = rig_.rest();
      at(posture, rig_.at("jaw")).flex = frame;
      for (const Side& side : sides_) {
        at(posture, side.lower_arm).flex = frame;
        at(posture, side.shin).flex = frame;
        // Thighs lift, so that the heels have room; feet point.
        at(posture, side.thigh).flex = 0.5 * frame;
        at(posture, side.foot).flex = -frame;
        at(posture, side.toes).flex = frame;
        for (int finger = 0; finger < 5; ++finger)
          for (int segment = 1; segment < 4; ++segment)
            at(posture, rig_.at(finger_joint(finger, segment, side.suffix))).flex = frame;
      }
      return posture;
    });
  }

  Clip knee() const {
    // One hinge alone, as deep as it goes; the heel has room.
    return make_clip(rig_, "knee", 150, kFramesPerSecond, [&](int frame) {
      Posture posture = rig_.rest();
      at(posture, sides_[0].shin).flex = frame;
      at(posture, sides_[0].thigh).flex = 0.6 * frame;
      at(posture, sides_[0].foot).flex = -0.3 * frame;
      return posture;
    });
  }

  Clip press() const {
    // The upper arms come down and are pressed into the flanks.
    return make_clip(rig_, "press", 60, kFramesPerSecond, [&](int frame) {
      const double share = smooth(frame / 60.0);
      Posture posture = rig_.rest();
      for (const Side& side : sides_) {
        rig_.orient(posture, side.upper_arm, about_x(-8 * share) * about_z(side.sign * -kPressed * share));
        at(posture, side.lower_arm).flex = 30 * share;
      }
      return posture;
    });
  }

  Clip twist() const {
    // From one end of the forearm's range to the other, and the trunk with it.
    return make_clip(rig_, "twist", 150, kFramesPerSecond, [&](int frame) {
      Posture posture = rig_.rest();
      const double share = frame / 75.0 - 1;
      for (const Side& side : sides_) {
        at(posture, side.lower_arm).twist = side.sign * 75 * share;
        at(posture, side.thigh).twist = side.sign * 30 * share;
      }
      for (const char* name : {"spine", "waist", "chest"}) at(posture, rig_.at(name)).twist = 20 * share;
      at(posture, rig_.at("neck")).twist = 30 * share;
      at(posture, rig_.at("head")).twist = 20 * share;
      return posture;
    });
  }

  Clip fist() const {
    return make_clip(rig_, "fist", 90, kFramesPerSecond, [&](int frame) {
      Posture posture = rig_.rest();
      for (const Side& side : sides_) {
        close_fist(rig_, posture, side.suffix, frame / 90.0);
        at(posture, side.lower_arm).flex = frame;
      }
      return posture;
    });
  }

  Clip crouch() const {
    return make_clip(rig_, "crouch", 60, kFramesPerSecond, [&](int frame) {
      const double share = smooth(frame / 60.0);
      Posture posture = rig_.rest();
      // Down until the thighs lie against the belly, the weight over the feet.
      posture.root_offset = share * Vec3d(0, -0.66 * leg_, -0.12 * leg_);
      at(posture, 0).flex = 26 * share;
      at(posture, rig_.at("spine")).flex = 22 * share;
      at(posture, rig_.at("waist")).flex = 18 * share;
      at(posture, rig_.at("chest")).flex = 12 * share;
      at(posture, rig_.at("neck")).flex = -20 * share;
      at(posture, rig_.at("head")).flex = -15 * share;
      for (const Side& side : sides_) {
        // Heels lift: the foot turns about its ball, which stays on the ground.
        const double lift = 28 * share;
        const Vec3d ball(rig_[side.toes].head.x(), 0, rig_[side.toes].head.z());
        const Vec3d ankle =
            ball + about_x(lift) * (rest_ankle(side) - ball) + share * Vec3d(side.sign * 0.04, 0, 0);
        plant(posture, side, ankle, lift, Vec3d(0.35 * side.sign * share, 0, 1));
        at(posture, side.toes).flex = 28 * share;
      }
      cross_arms(posture, share);
      return posture;
    });
  }

  /// Walking and running: what each foot does within a cycle, and what the trunk adds.
  struct Gait {
    const char* name;
    double seconds;       ///< of one cycle of two steps
    double stride;        ///< travelled in a cycle, in leg lengths
    double stance;        ///< share of the cycle a foot is on the ground
    double heel_strike;   ///< degrees the toes are up at touch-down
    double flat_from;     ///< shares of stance: the sole comes down …
    double heel_off;      ///< … and the heel leaves
    double push_off;      ///< degrees the heel is up at the end of stance
    double swing_lift;    ///< ankle above its straight way, in leg lengths
    double crouch;        ///< how much lower than standing the hips are, in leg lengths
    double bounce;        ///< of the hips, in leg lengths, highest at mid-stance (walk) or flight (run)
    double bounce_phase;  ///< in cycles of a step
    double lean;          ///< degrees
    double arm_swing, elbow, elbow_swing;  ///< degrees
    int cycles;
  };

  Clip locomote(const Gait& gait) const {
    const int frames = static_cast<int>(std::lround(gait.seconds * kFramesPerSecond)) * gait.cycles;
    return make_clip(rig_, gait.name, frames, kFramesPerSecond, [&, frames](int frame) {
      const double cycles = static_cast<double>(frame) / frames * gait.cycles;
      const double stride = gait.stride * leg_;
      Posture posture = rig_.rest();
      const double step_wave = std::cos(4 * std::numbers::pi * (cycles - gait.bounce_phase));
      posture.root_offset = Vec3d(0.012 * std::sin(2 * std::numbers::pi * (cycles + 0.05)),
                                  leg_ * (gait.bounce * step_wave - gait.crouch), stride * cycles);
      const double yaw = 6 * std::cos(2 * std::numbers::pi * cycles);
      at(posture, 0).flex = 0.5 * gait.lean;
      at(posture, 0).twist = -yaw;
      at(posture, rig_.at("spine")).flex = 0.5 * gait.lean;
      for (const char* name : {"waist", "chest"}) at(posture, rig_.at(name)).twist = yaw;
      at(posture, rig_.at("neck")).flex = -0.4 * gait.lean;
      at(posture, rig_.at("head")).flex = -0.4 * gait.lean;
      for (std::size_t s = 0; s < 2; ++s) {
        const Side& side = sides_[s];
        step(posture, side, gait, cycles + 0.5 * static_cast<double>(s), stride,
             0.5 * static_cast<double>(s));
        // Arms swing against the legs.
        const double swing =
            -gait.arm_swing * std::cos(2 * std::numbers::pi * (cycles + 0.5 * static_cast<double>(s)));
        hang_arm(posture, side, swing,
                 gait.elbow + gait.elbow_swing * (swing > 0 ? swing / gait.arm_swing : 0));
      }
      return posture;
    });
  }

  Clip walk() const {
    return locomote(
        {"walk", 1.0667, 1.46, 0.62, 18, 0.18, 0.58, 38, 0.05, 0.042, 0.016, 0.27, 4, 24, 14, 16, 2});
  }
  Clip run() const {
    return locomote(
        {"run", 0.7333, 2.35, 0.36, 8, 0.2, 0.42, 42, 0.26, 0.085, 0.032, 0.42, 12, 42, 85, 15, 3});
  }

  Clip jump() const {
    // Standing, crouching, flying, landing, standing again.
    constexpr int kLast = 66;
    return make_clip(rig_, "jump", kLast, kFramesPerSecond, [&](int frame) {
      const double t = static_cast<double>(frame) / kLast;
      constexpr double kOff = 0.38, kDown = 0.66;
      Posture posture = rig_.rest();
      double depth, height = 0;
      if (t > kOff && t < kDown) {
        const double share = (t - kOff) / (kDown - kOff);
        height = 4 * share * (1 - share) * 0.42 * leg_;
        depth = through<3>({{{0, 0.0}, {0.5, 0.10}, {1, 0.04}}}, share);
      } else if (t <= kOff) {
        depth = through<4>({{{0, 0.0}, {0.55, 0.30}, {0.68, 0.30}, {1, 0.0}}}, t / kOff);
      } else {
        depth = through<4>({{{0, 0.04}, {0.3, 0.28}, {0.42, 0.28}, {1, 0.0}}}, (t - kDown) / (1 - kDown));
      }
      const bool flies = t > kOff && t < kDown;
      posture.root_offset = Vec3d(0, height - (flies ? 0.01 : 1) * depth * leg_, -0.25 * depth * leg_);
      at(posture, 0).flex = 70 * depth;
      at(posture, rig_.at("spine")).flex = 35 * depth;
      at(posture, rig_.at("chest")).flex = 20 * depth;
      at(posture, rig_.at("neck")).flex = -60 * depth;
      // Toes point when the feet leave the ground.
      const double point = flies ? 38 * smooth((t - kOff) * 12) * smooth((kDown - t) * 8) : 0;
      const double tuck = flies ? depth : 0;
      for (const Side& side : sides_) {
        plant(posture, side, rest_ankle(side) + Vec3d(0, height + 0.5 * tuck * leg_, -0.2 * tuck * leg_),
              point, Vec3d::UnitZ());
        const double arm =
            through<6>({{{0, 0}, {0.22, -50}, {0.42, 150}, {0.6, 120}, {0.78, 10}, {1, 0}}}, t);
        hang_arm(posture, side, arm, 15 + 60 * depth);
        // Back to the rest pose at both ends.
        const double settle = smooth(t * 8) * smooth((1 - t) * 8);
        for (const int joint : {side.upper_arm, side.lower_arm}) {
          Angles& angles = at(posture, joint);
          angles = {settle * angles.flex, settle * angles.spread, settle * angles.twist};
        }
      }
      return posture;
    });
  }

 private:
  struct Side {
    double sign;
    std::string suffix;
    int clavicle, upper_arm, lower_arm, wrist, thigh, shin, foot, toes;
  };

  static Angles& at(Posture& posture, int joint) { return posture.angles[to_size(joint)]; }

  Vec3d rest_ankle(const Side& side) const { return rig_[side.foot].head; }

  /// Puts the ankle at `ankle`, the heel raised by `pitch` degrees, the knee towards `pole`.
  void plant(Posture& posture, const Side& side, const Vec3d& ankle, double pitch, const Vec3d& pole) const {
    rig_.reach(posture, side.thigh, side.shin, ankle, pole);
    rig_.orient(posture, side.foot, about_x(pitch));
  }

  /// The foot's part of a cycle that began with its touch-down. `lag` is how many cycles later than the
  /// left foot's this foot's cycle runs, for the place of its footfalls.
  void step(Posture& posture, const Side& side, const Gait& gait, double time, double stride,
            double lag) const {
    const double cycle = std::floor(time), phase = time - cycle;
    const Vec3d ankle = rest_ankle(side);
    const double ground = 0;
    const Vec3d heel(ankle.x(), ground, ankle.z() - 0.55 * (rig_[side.toes].head.z() - ankle.z()));
    const Vec3d ball(rig_[side.toes].head.x(), ground, rig_[side.toes].head.z());
    // Where the foot stands, seen from where the hips are in the middle of stance.
    // A little behind the hips: push-off reaches farther than touch-down.
    const double print = stride * (cycle - lag + 0.5 * gait.stance) - 0.06 * leg_;
    const auto rolled = [&](double stance_share, double& pitch) {
      // Over the heel, flat, over the ball.
      Vec3d pivot = heel;
      if (stance_share < gait.flat_from) {
        pitch = -gait.heel_strike * (1 - smooth(stance_share / gait.flat_from));
      } else if (stance_share < gait.heel_off) {
        pitch = 0;
      } else {
        pitch = gait.push_off * smooth(0.5 * (stance_share - gait.heel_off) / (1 - gait.heel_off)) * 2;
        pivot = ball;
      }
      return Vec3d(pivot + about_x(pitch) * (ankle - pivot));
    };
    double pitch = 0;
    Vec3d place;
    if (phase < gait.stance) {
      place = rolled(phase / gait.stance, pitch);
      place.z() += print;
      if (pitch > 0) at(posture, side.toes).flex = pitch;
    } else {
      const double share = (phase - gait.stance) / (1 - gait.stance);
      double pitch_off = 0, pitch_on = 0;
      Vec3d from = rolled(1, pitch_off), to = rolled(0, pitch_on);
      from.z() += print;
      to.z() += print + stride;
      place = from + smooth(share) * (to - from);
      place.y() += gait.swing_lift * leg_ * std::sin(std::numbers::pi * std::pow(share, 0.8));
      pitch = through<4>({{{0, pitch_off}, {0.25, pitch_off * 1.25}, {0.8, pitch_on}, {1, pitch_on}}}, share);
      at(posture, side.toes).flex = pitch_off * (1 - smooth(share * 3));
    }
    plant(posture, side, place, pitch, Vec3d::UnitZ());
  }

  /// Lets the arm hang down, swung forwards by `swing` degrees, with the elbow closed.
  void hang_arm(Posture& posture, const Side& side, double swing, double elbow) const {
    const std::vector<Affine3d> world = rig_.world(posture);
    const Quatd chest(world[to_size(rig_[side.clavicle].parent)].linear());
    const Quatd down = about_x(-swing) * about_z(side.sign * -36);
    rig_.orient(posture, side.upper_arm, chest * down);
    at(posture, side.lower_arm).flex = elbow;
  }

  /// Arms folded across the chest, hands on the other side's upper arm.
  void cross_arms(Posture& posture, double share) const {
    const std::vector<Affine3d> world = rig_.world(posture);
    const Affine3d chest = world[to_size(rig_.at("chest"))];
    const Vec3d chest_rest = rig_[rig_.at("chest")].head;
    for (const Side& side : sides_) {
      Posture crossed = posture;
      // In the chest's frame: the wrist before the breast bone, one forearm above the other, the hand laid
      // towards the other shoulder.
      const bool above = side.sign > 0;
      const Vec3d wrist(-side.sign * 0.045, above ? 1.395 : 1.335, above ? 0.165 : 0.150);
      const Vec3d local = wrist + Vec3d(0, rig_[0].head.y() - 0.955, 0) - chest_rest;
      rig_.reach(crossed, side.upper_arm, side.lower_arm, chest * local,
                 chest.linear() * Vec3d(side.sign * 1.0, -0.45, 0.35));
      at(crossed, side.wrist).flex = 30;
      for (const int joint : {side.upper_arm, side.lower_arm, side.wrist}) {
        const Angles& goal = crossed.angles[to_size(joint)];
        at(posture, joint) = {share * goal.flex, share * goal.spread, share * goal.twist};
      }
    }
  }

  const Rig& rig_;
  std::array<Side, 2> sides_;
  double leg_ = 1;
};

}  // namespace

std::vector<Clip> mannequin_clips(const Rig& rig) {
  const MannequinActor actor(rig);
  return {actor.bend(), actor.twist(), actor.fist(), actor.crouch(), actor.walk(),
          actor.run(),  actor.jump(),  actor.knee(), actor.press()};
}

}  // namespace sinew
