#include <sinew/fitting/template_hand.h>

#include <array>
#include <cmath>
#include <numbers>

#include <sinew/fitting/template_rigs.h>

namespace sinew {

namespace {

struct Finger {
  const char* name;
  std::array<double, 2> root;       // along, towards the thumb; metres from the wrist
  std::array<double, 2> knuckle;    // likewise
  double fan;                       // degrees towards the thumb
  std::array<double, 3> phalanges;  // metres
};

// Lengths of an adult's bones.
constexpr std::array<Finger, 4> kFingers{{
    {"index", {0.020, 0.013}, {0.092, 0.027}, 6, {0.042, 0.025, 0.020}},
    {"middle", {0.020, 0.004}, {0.095, 0.006}, 1, {0.046, 0.029, 0.021}},
    {"ring", {0.020, -0.005}, {0.090, -0.013}, -5, {0.043, 0.028, 0.021}},
    {"little", {0.019, -0.013}, {0.082, -0.030}, -12, {0.034, 0.020, 0.018}},
}};

/// How far each finger joint is bent at rest, degrees: knuckle, middle, last.
constexpr std::array<double, 3> kCurl{5, 7, 5};
/// How much of a flexor's turn each phalanx takes.
constexpr std::array<double, 3> kFingerShares{0.8, 1.0, 0.7}, kThumbShares{0.4, 0.8, 1.0};

std::string joint(const std::string& finger, std::size_t segment, const std::string& suffix) {
  return finger + "_" + std::to_string(segment) + suffix;
}

void add_flexor(TemplateBuilder& rig, const std::string& finger, const std::string& suffix,
                std::span<const double> shares) {
  rig.flexor(finger + "_flex" + suffix, joint(finger, 0, suffix),
             {joint(finger, 1, suffix), joint(finger, 2, suffix), joint(finger, 3, suffix)}, shares);
}

}  // namespace

void add_template_hand(TemplateBuilder& rig, const std::string& parent, const Vec3d& origin,
                       const HandFrame& frame, const std::string& suffix) {
  const auto at = [&](double along, double thumb, double palm) {
    return Vec3d(origin + along * frame.along + thumb * frame.thumb + palm * frame.palm);
  };
  const std::string wrist = "wrist" + suffix;
  rig.bone(wrist, parent, origin, at(0.05, 0, 0), frame.along.cross(frame.palm));
  for (const Finger& finger : kFingers) {
    const double fan = finger.fan * kDegree;
    const Vec3d straight = std::cos(fan) * frame.along + std::sin(fan) * frame.thumb;
    const Vec3d flex = straight.cross(frame.palm);
    const Vec3d knuckle = at(finger.knuckle[0], finger.knuckle[1], 0);
    rig.bone(joint(finger.name, 0, suffix), wrist, at(finger.root[0], finger.root[1], 0), knuckle, flex);
    Vec3d head = knuckle;
    double curl = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      curl += kCurl[k] * kDegree;
      const Vec3d tail =
          head + finger.phalanges[k] * (std::cos(curl) * straight + std::sin(curl) * frame.palm);
      rig.bone(joint(finger.name, k + 1, suffix), joint(finger.name, k, suffix), head, tail, flex);
      head = tail;
    }
    add_flexor(rig, finger.name, suffix, kFingerShares);
  }

  // The thumb lies before the palm and closes towards the other fingers.
  const auto direction = [&](double along, double thumb, double palm) {
    return Vec3d((along * frame.along + thumb * frame.thumb + palm * frame.palm).normalized());
  };
  const Vec3d out = direction(0.70, 0.68, 0.24);
  const Vec3d flex = out.cross(direction(0.1, -0.62, 0.78)).normalized();
  constexpr std::array<double, 3> kLengths{0.044, 0.032, 0.026};
  constexpr std::array<double, 3> kBends{0, 6, 6};
  Vec3d head = at(0.024, 0.027, 0.008);
  rig.bone(joint("thumb", 0, suffix), wrist, at(0.012, 0.016, 0.003), head, flex);
  double bend = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    bend += kBends[k] * kDegree;
    const Vec3d tail = head + kLengths[k] * (Eigen::AngleAxisd(bend, flex) * out);
    rig.bone(joint("thumb", k + 1, suffix), joint("thumb", k, suffix), head, tail, flex);
    head = tail;
  }
  add_flexor(rig, "thumb", suffix, kThumbShares);
}

ControlRig make_hand_template() {
  TemplateBuilder rig("hand");
  const HandFrame frame{Vec3d::UnitY(), -Vec3d::UnitX(), Vec3d::UnitZ()};
  rig.control("wrist_control", "", Vec3d::Zero(), 0.1 * frame.along, frame.along.cross(frame.palm));
  add_template_hand(rig, "wrist_control", Vec3d::Zero(), frame, "");
  return rig.finish();
}

}  // namespace sinew
