#include <sinew/models/insect_clips.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include <sinew/core/index.h>
#include <sinew/models/keys.h>

namespace sinew {

namespace {

class InsectActor {
 public:
  explicit InsectActor(const Rig& rig) : rig_(rig) {
    for (std::size_t l = 0; l < legs_.size(); ++l) {
      Leg& leg = legs_[l];
      constexpr std::array<const char*, 3> kPairs{"fore_", "mid_", "hind_"};
      const std::string pair = kPairs[l / 2], suffix = l % 2 == 0 ? ".L" : ".R";
      leg.coxa = rig.at(pair + "coxa" + suffix);
      leg.femur = rig.at(pair + "femur" + suffix);
      leg.tibia = rig.at(pair + "tibia" + suffix);
      leg.tarsus = rig.at(pair + "tarsus" + suffix);
      // Left fore, right mid and left hind go together.
      leg.touch_down = (l / 2 + l % 2) % 2 == 0 ? 0 : 0.5;
    }
    size_ = (rig[legs_[2].tibia].tail - rig[legs_[2].femur].head).norm();
  }

  /// Three feet on the ground and three in the air, in turns, on the spot: the ground goes backwards under
  /// the feet by a stride each cycle. The last frame is the first.
  Clip walk() const {
    constexpr int kCycleFrames = 24;
    return make_clip(rig_, "walk", kCycleFrames, kFramesPerSecond, [&](int frame) {
      const double cycle = static_cast<double>(frame % kCycleFrames) / kCycleFrames;
      Posture posture = rig_.rest();
      posture.root_offset.y() = 0.025 * size_ * std::cos(2 * kTurn * (cycle - 0.25));
      at(posture, "thorax").spread = 1.5 * std::cos(kTurn * cycle);
      at(posture, "head").spread = -1.5 * std::cos(kTurn * cycle);
      at(posture, "head").flex = 2 * std::cos(2 * kTurn * cycle);
      at(posture, "waist").spread = 2 * std::cos(kTurn * (cycle - 0.1));
      at(posture, "abdomen_1").flex = 2 * std::sin(2 * kTurn * cycle);
      at(posture, "abdomen_2").spread = 2 * std::cos(kTurn * (cycle - 0.2));
      for (const char* suffix : {".L", ".R"}) {
        const double phase = cycle + (suffix[1] == 'L' ? 0 : 0.5);
        at(posture, std::string("antenna_0") + suffix).flex = 8 * std::sin(kTurn * phase);
        at(posture, std::string("antenna_0") + suffix).spread = 6 * std::cos(kTurn * phase);
        at(posture, std::string("antenna_1") + suffix).flex = 10 * std::sin(kTurn * (phase - 0.15));
      }
      for (const Leg& leg : legs_) take_step(posture, leg, cycle);
      return posture;
    });
  }

 private:
  struct Leg {
    int coxa, femur, tibia, tarsus;
    double touch_down;  ///< in cycles
  };

  static Angles& at(Posture& posture, int joint) { return posture.angles[to_size(joint)]; }
  Angles& at(Posture& posture, const std::string& name) const { return at(posture, rig_.at(name)); }

  void take_step(Posture& posture, const Leg& leg, double cycle) const {
    constexpr double kStance = 0.54;
    const double stride = 0.55 * size_, time = cycle - leg.touch_down + 1, phase = time - std::floor(time);
    const double sweep = kStance * stride;
    double along, height = 0, droop = 0;
    if (phase < kStance) {
      along = 0.5 * sweep - stride * phase;
    } else {
      const double share = (phase - kStance) / (1 - kStance);
      along = sweep * (smooth(share) - 0.5);
      height = 0.2 * size_ * std::sin(std::numbers::pi * share);
      droop = 20 * std::sin(std::numbers::pi * share);
    }
    const RigJoint& foot = rig_[leg.tarsus];
    const Vec3d hip = rig_[leg.femur].head, rest = foot.head - hip;
    // A foot on the ground keeps its direction; one in the air hangs, its tip on the way.
    const Quatd hang(Eigen::AngleAxisd(droop * kDegree, foot.flex));
    const Vec3d place = foot.tail + Vec3d(0, height, along) - hang * (foot.tail - foot.head);
    // The coxa swings most of the way, the femur does the rest.
    const double side = hip.x() > 0 ? 1 : -1;
    const double swing =
        std::atan2(place.z() - hip.z(), side * (place.x() - hip.x())) - std::atan2(rest.z(), side * rest.x());
    at(posture, leg.coxa).flex = 0.7 * swing / kDegree;
    rig_.reach(posture, leg.femur, leg.tibia, place, Vec3d::UnitY());
    rig_.orient(posture, leg.tarsus, hang);
  }

  const Rig& rig_;
  std::array<Leg, 6> legs_;
  double size_;  ///< from the middle legs' coxa to their tarsus
};

}  // namespace

std::vector<Clip> insect_clips(const Rig& rig) {
  return {InsectActor(rig).walk()};
}

}  // namespace sinew
