#include <sinew/models/limbs.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr std::array<const char*, 5> kFingers{"thumb", "index", "middle", "ring", "little"};

struct FingerShape {
  double root_along, root_thumb;  // carpal end, metres
  double knuckle_along, knuckle_thumb, knuckle_palm;
  double fan;                       // degrees towards the thumb
  std::array<double, 3> phalanges;  // metres
  double radius;                    // of the first phalanx
};

// Index to little finger of an adult hand, 19 cm from wrist to tip, in a relaxed spread.
constexpr std::array<FingerShape, 4> kFingerShapes{{
    {0.018, 0.013, 0.096, 0.031, -0.001, 9, {0.043, 0.026, 0.021}, 0.0092},
    {0.018, 0.004, 0.100, 0.010, -0.003, 2, {0.047, 0.030, 0.022}, 0.0095},
    {0.018, -0.005, 0.094, -0.011, -0.002, -6, {0.044, 0.028, 0.022}, 0.0089},
    {0.018, -0.013, 0.084, -0.030, 0.001, -16, {0.034, 0.021, 0.019}, 0.0079},
}};

JointLimits hinge(double least, double most, double spread = 0, double twist = 0) {
  return {{least, most}, {-spread, spread}, {-twist, twist}};
}

}  // namespace

std::string finger_joint(int finger, int segment, const std::string& suffix) {
  return std::string(kFingers[to_size(finger)]) + "_" + std::to_string(segment) + suffix;
}

int add_hand(Rig& rig, Flesh& flesh, int group, int parent, const LimbFrame& frame, const std::string& suffix,
             double length, double girth) {
  // A hand that is much thinner or thicker than its size falls apart or has no gaps between the fingers.
  const double s = length, g = std::clamp(girth * std::sqrt(length), 0.8 * s, 1.2 * s);
  const auto at = [&](double a, double t, double p) { return frame.at(s * a, s * t, s * p); };
  const Vec3d curl = frame.along.cross(frame.palm);  // turns `along` towards `palm`
  const int wrist =
      rig.add("wrist" + suffix, parent, frame.origin, at(0.05, 0, 0), curl, hinge(-70, 80, 35, 10));

  const int palm = flesh.add_group(group, 0.012 * g);
  for (int f = 0; f < 4; ++f) {
    const FingerShape& shape = kFingerShapes[to_size(f)];
    const double fan = shape.fan * std::numbers::pi / 180;
    const Vec3d forward = frame.direction(std::cos(fan), std::sin(fan), 0);
    const Vec3d root = at(shape.root_along, shape.root_thumb, -0.002);
    const Vec3d knuckle = at(shape.knuckle_along, shape.knuckle_thumb, shape.knuckle_palm);
    std::array<int, 4> joints{};
    std::array<Vec3d, 5> ends;
    ends[0] = root;
    ends[1] = knuckle;
    for (std::size_t k = 0; k < 3; ++k) ends[k + 2] = ends[k + 1] + s * shape.phalanges[k] * forward;
    const double cup = f == 3 ? 20 : f == 2 ? 12 : 4;
    for (int k = 0; k < 4; ++k) {
      const auto e = to_size(k);
      const JointLimits limits = k == 0   ? hinge(-2, cup)
                                 : k == 1 ? hinge(-25, 92, 22)
                                 : k == 2 ? hinge(-2, 112)
                                          : hinge(-5, 85);
      joints[e] = rig.add(finger_joint(f + 1, k, suffix), k == 0 ? wrist : joints[e - 1], ends[e],
                          ends[e + 1], curl, limits);
    }
    const double r = shape.radius * g;
    // Metacarpal: part of the palm, with the tendon's ridge on the back of the hand.
    flesh.add_cone({palm, 0.012 * g, {joints[0], wrist}}, root, 0.0135 * g, knuckle + 0.004 * g * frame.palm,
                   0.0105 * g);
    flesh.add_cone({palm, 0.007 * g, {joints[0]}}, root - 0.008 * g * frame.palm, 0.0045 * g,
                   knuckle - 0.0045 * g * frame.palm, 0.0055 * g);

    const int finger = flesh.add_group(palm, 0.0075 * g);
    // The web between the fingers reaches half-way down the first phalanx.
    flesh.add_cone({finger, 0.004 * g, {joints[1], joints[0]}}, knuckle + 0.002 * g * frame.palm, 1.12 * r,
                   knuckle + 0.42 * (ends[2] - knuckle) + 0.0015 * g * frame.palm, 1.1 * r);
    const std::array<double, 4> radii{r, 0.93 * r, 0.85 * r, 0.7 * r};
    for (std::size_t k = 0; k < 3; ++k)
      flesh.add_cone({finger, 0.003 * g, {joints[k + 1]}}, ends[k + 1], radii[k],
                     ends[k + 2] - (k == 2 ? radii[3] * forward : Vec3d(Vec3d::Zero())), radii[k + 1]);
    // Knuckles stand out on the back, pads on the palm's side.
    flesh.add_sphere({finger, 0.006 * g, {joints[1], joints[0]}},
                     knuckle - 0.0035 * g * frame.palm + 0.001 * g * forward, 0.86 * r);
    for (std::size_t k = 2; k < 4; ++k)
      flesh.add_ellipsoid({finger, 0.004 * g, {joints[k], joints[k - 1]}}, ends[k] - 0.0018 * g * frame.palm,
                          {0.9 * r, 0.86 * radii[k - 1], 0.8 * radii[k - 1]},
                          LimbFrame{{}, forward, frame.thumb, frame.palm}.axes());
    for (std::size_t k = 1; k < 4; ++k)
      flesh.add_ellipsoid({finger, 0.004 * g, {joints[k]}},
                          ends[k] + (k == 3 ? 0.55 : 0.5) * (ends[k + 1] - ends[k]) + 0.0028 * g * frame.palm,
                          {0.36 * (ends[k + 1] - ends[k]).norm(), 0.78 * radii[k - 1], 0.72 * radii[k - 1]},
                          LimbFrame{{}, forward, frame.thumb, frame.palm}.axes());
  }

  // Heel of the hand, its inner edge, and the hollow between them.
  flesh.add_ellipsoid({palm, 0.014 * g, {wrist}}, at(0.055, 0.0, 0.001), {0.05 * s, 0.034 * g, 0.0125 * g},
                      frame.axes());
  flesh.add_ellipsoid({palm, 0.012 * g, {wrist, rig.at(finger_joint(4, 0, suffix))}},
                      at(0.046, -0.027, 0.009), {0.036 * s, 0.0125 * g, 0.0135 * g}, frame.axes());

  // The thumb turns its pad towards the other fingers.
  const Vec3d out = frame.direction(0.72, 0.66, 0.22).normalized();
  const Vec3d tip_way = frame.direction(0.86, 0.46, 0.22).normalized();
  const Vec3d thumb_palm =
      (frame.direction(-0.15, -0.55, 0.82) - frame.direction(-0.15, -0.55, 0.82).dot(out) * out).normalized();
  std::array<Vec3d, 5> ends;
  ends[0] = at(0.012, 0.018, 0.004);
  ends[1] = at(0.024, 0.028, 0.008);
  ends[2] = ends[1] + s * 0.043 * out;
  ends[3] = ends[2] + s * 0.032 * (0.5 * out + 0.5 * tip_way).normalized();
  ends[4] = ends[3] + s * 0.027 * tip_way;
  std::array<int, 4> joints{};
  for (int k = 0; k < 4; ++k) {
    const auto e = to_size(k);
    const Vec3d way = (ends[e + 1] - ends[e]).normalized();
    const JointLimits limits = k == 0   ? hinge(-5, 10, 10, 10)
                               : k == 1 ? hinge(-20, 50, 40, 40)
                               : k == 2 ? hinge(-10, 60)
                                        : hinge(-15, 80);
    joints[e] = rig.add(finger_joint(0, k, suffix), k == 0 ? wrist : joints[e - 1], ends[e], ends[e + 1],
                        way.cross(thumb_palm), limits);
  }
  const double r = 0.0108 * g;
  const int thumb = flesh.add_group(palm, 0.012 * g);
  flesh.add_cone({thumb, 0.01 * g, {joints[0], wrist}}, ends[0], 0.0125 * g, ends[1], 0.0135 * g);
  flesh.add_cone({thumb, 0.01 * g, {joints[1]}}, ends[1], 0.0135 * g, ends[2], 1.02 * r);
  flesh.add_cone({thumb, 0.003 * g, {joints[2]}}, ends[2], 1.02 * r, ends[3], 0.93 * r);
  flesh.add_cone({thumb, 0.003 * g, {joints[3]}}, ends[3], 0.93 * r, ends[4] - 0.75 * r * tip_way, 0.75 * r);
  flesh.add_sphere({thumb, 0.005 * g, {joints[2], joints[1]}}, ends[2] - 0.0025 * g * thumb_palm, 0.94 * r);
  flesh.add_sphere({thumb, 0.004 * g, {joints[3], joints[2]}}, ends[3] - 0.0015 * g * thumb_palm, 0.86 * r);
  flesh.add_ellipsoid({thumb, 0.004 * g, {joints[3]}},
                      ends[3] + 0.55 * (ends[4] - ends[3]) + 0.003 * g * thumb_palm,
                      {0.4 * (ends[4] - ends[3]).norm(), 0.85 * r, 0.7 * r},
                      LimbFrame{{}, tip_way, thumb_palm.cross(tip_way), thumb_palm}.axes());
  // Ball of the thumb.
  flesh.add_ellipsoid(
      {palm, 0.013 * g, {joints[1], wrist}}, at(0.042, 0.024, 0.011), {0.034 * s, 0.0165 * g, 0.0165 * g},
      LimbFrame{{}, out, frame.palm.cross(out).normalized(), (out.cross(frame.palm.cross(out))).normalized()}
          .axes());
  // Skin between thumb and index finger.
  flesh.add_cone({palm, 0.012 * g, {joints[1], rig.at(finger_joint(1, 0, suffix))}}, at(0.045, 0.026, 0.004),
                 0.008 * g, at(0.066, 0.034, 0.004), 0.0065 * g);
  return wrist;
}

int add_arm(Rig& rig, Flesh& flesh, int group, int parent, const LimbFrame& frame, const std::string& suffix,
            double upper, double lower, double girth, Vec3d& wrist) {
  const double g = girth;
  const Vec3d elbow = frame.at(upper, 0, 0);
  wrist = frame.at(upper + lower, 0, 0);
  // With the palm to the body the elbow closes towards the thumb's side.
  const Vec3d close = frame.along.cross(frame.thumb);
  const int upper_arm = rig.add("upper_arm" + suffix, parent, frame.origin, elbow, close,
                                {{-90, 175}, {-120, 120}, {-110, 110}});
  const int lower_arm =
      rig.add("lower_arm" + suffix, upper_arm, elbow, wrist, close, {{0, 150}, {-3, 3}, {-150, 150}});
  const auto up = [&](double share, double thumb, double palm) {
    return frame.at(share * upper, g * thumb, g * palm);
  };
  const auto low = [&](double share, double thumb, double palm) {
    return frame.at(upper + share * lower, g * thumb, g * palm);
  };
  const Mat3d axes = frame.axes();
  const int arm = flesh.add_group(group, 0.03 * g);
  flesh.add_cone({arm, 0.02 * g, {upper_arm}}, frame.origin, 0.044 * g, up(0.96, 0, 0), 0.031 * g);
  flesh.add_ellipsoid({arm, 0.02 * g, {upper_arm}}, up(0.56, 0.017, -0.002),
                      {0.36 * upper, 0.029 * g, 0.030 * g}, axes);  // biceps
  flesh.add_ellipsoid({arm, 0.02 * g, {upper_arm}}, up(0.42, -0.019, -0.004),
                      {0.36 * upper, 0.029 * g, 0.033 * g}, axes);  // triceps
  flesh.add_sphere({arm, 0.018 * g, {lower_arm, upper_arm}}, up(1.0, -0.021, 0),
                   0.0165 * g);  // point of the elbow
  flesh.add_ellipsoid({arm, 0.03 * g, {upper_arm, lower_arm}}, up(0.99, -0.002, 0.0),
                      {0.05 * g, 0.025 * g, 0.034 * g}, axes);  // epicondyles
  flesh.add_cone({arm, 0.02 * g, {lower_arm}}, low(0.04, 0, 0), 0.031 * g, low(0.6, 0, 0), 0.028 * g);
  flesh.add_cone({arm, 0.018 * g, {lower_arm}}, low(0.5, 0.006, 0), 0.024 * g, low(1.0, 0.011, 0),
                 0.0175 * g);  // radius
  flesh.add_cone({arm, 0.018 * g, {lower_arm}}, low(0.5, -0.006, 0), 0.024 * g, low(1.0, -0.011, 0),
                 0.0165 * g);  // ulna
  flesh.add_ellipsoid({arm, 0.02 * g, {lower_arm}}, low(0.27, 0.008, -0.013),
                      {0.33 * lower, 0.028 * g, 0.027 * g}, axes);  // extensors
  flesh.add_ellipsoid({arm, 0.02 * g, {lower_arm}}, low(0.27, 0.0, 0.015),
                      {0.34 * lower, 0.027 * g, 0.025 * g}, axes);  // flexors
  return lower_arm;
}

void close_fist(const Rig& rig, Posture& posture, const std::string& suffix, double amount) {
  const auto angles = [&](int finger, int segment) -> Angles& {
    return posture.angles[to_size(rig.at(finger_joint(finger, segment, suffix)))];
  };
  // Spread turns mirror with the side.
  const double side = suffix == ".R" ? -1 : 1;
  for (int f = 1; f <= 4; ++f) {
    angles(f, 0).flex = amount * (f == 4 ? 12 : f == 3 ? 6 : 2);
    angles(f, 1).flex = amount * 82;
    angles(f, 1).spread = side * amount * kFingerShapes[to_size(f - 1)].fan * 0.9;
    angles(f, 2).flex = amount * 104;
    angles(f, 3).flex = amount * 62;
  }
  angles(0, 1).flex = amount * 28;
  angles(0, 1).spread = side * amount * 14;
  angles(0, 2).flex = amount * 42;
  angles(0, 3).flex = amount * 50;
}

}  // namespace sinew
