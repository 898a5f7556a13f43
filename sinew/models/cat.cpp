#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <sinew/core/index.h>
#include <sinew/models/cat_clips.h>
#include <sinew/models/models.h>

namespace sinew {

namespace {

Mat3d turn_x(double degrees) {
  return Eigen::AngleAxisd(degrees * kDegree, Vec3d::UnitX()).toRotationMatrix();
}

/// Limits of a bent_hinge that stands bent at rest, from how far it may be bent at all (0 is straight).
JointLimits bent_hinge(const Vec3d& upper, const Vec3d& lower, double least_bend, double most_bend) {
  const double bend = std::atan2(upper.cross(lower).norm(), upper.dot(lower)) / kDegree;
  return {{least_bend - bend, most_bend - bend}, {-4, 4}, {-12, 12}};
}

/// A leg's joints at rest on the left, as if the trunk stood level: shoulder or hip, elbow or knee, carpus or
/// hock, root of the toes, tip of the toes.
using LegPlan = std::array<Vec3d, 5>;
const LegPlan kForeLeg{{{0.036, 0.184, 0.146},
                        {0.040, 0.128, 0.090},
                        {0.033, 0.040, 0.099},
                        {0.033, 0.0150, 0.112},
                        {0.0335, 0.0085, 0.137}}};
const LegPlan kHindLeg{{{0.028, 0.217, -0.143},
                        {0.042, 0.135, -0.098},
                        {0.033, 0.074, -0.170},
                        {0.034, 0.0150, -0.153},
                        {0.0345, 0.0085, -0.127}}};

/// The axis of the trunk runs at this height; girth swells round it.
constexpr double kTrunkAxis = 0.210;

/// Where things are for given proportions. The trunk is built level, about the height of a usual cat, and
/// then turned about x and lifted so that legs of any length reach the ground.
class CatBody {
 public:
  explicit CatBody(const Proportions& p) : arm(p.arm), leg(p.leg), head(p.head), g(p.girth) {
    const Vec3d between = kForeLeg[0] - kHindLeg[0];
    const double length = std::hypot(between.y(), between.z());
    const double level = std::atan2(between.y(), between.z());
    double shoulder = kForeLeg[2].y() + arm * (kForeLeg[0].y() - kForeLeg[2].y());
    double hip = kHindLeg[3].y() + leg * (kHindLeg[0].y() - kHindLeg[3].y());
    // Very unequal legs would stand the cat on its head: then the longer ones stand more bent.
    constexpr double kSteepest = 36 * kDegree;
    const double slope = std::asin(std::clamp((shoulder - hip) / length, -1.0, 1.0)) - level;
    const double pitch = std::clamp(slope, -kSteepest, kSteepest);
    if (pitch < slope) shoulder = hip + length * std::sin(pitch + level);
    if (pitch > slope) hip = shoulder - length * std::sin(pitch + level);
    fore_rise = (shoulder - kForeLeg[2].y()) / (kForeLeg[0].y() - kForeLeg[2].y());
    hind_rise = (hip - kHindLeg[3].y()) / (kHindLeg[0].y() - kHindLeg[3].y());
    turn_ = turn_x(-pitch / kDegree);
    half_turn_ = turn_x(-0.4 * pitch / kDegree);
    hip_height_ = hip;
  }

  double arm, leg, head, g;
  double fore_rise, hind_rise;  ///< height of the legs against the usual cat's; less than length if more bent

  /// A place in the trunk, for bones.
  Vec3d bone(double x, double y, double z) const {
    const Vec3d hip(0, kHindLeg[0].y(), kHindLeg[0].z());
    return Vec3d(0, hip_height_, hip.z()) + turn_ * (Vec3d(x, y, z) - hip);
  }
  Vec3d bone(const Vec3d& p) const { return bone(p.x(), p.y(), p.z()); }
  /// A place in the trunk, for flesh: moves outwards with girth.
  Vec3d at(double x, double y, double z) const { return bone(g * x, kTrunkAxis + g * (y - kTrunkAxis), z); }
  Vec3d radii(double x, double y, double z) const { return {g * x, g * y, std::sqrt(g) * z}; }
  const Mat3d& turn() const { return turn_; }

  Vec3d neck_root() const { return at(0, 0.228, 0.136); }
  /// Where the skull sits on the neck. The head itself stays level.
  Vec3d head_root() const {
    return neck_root() + half_turn_ * Vec3d(0, 0.054, 0.048) * (0.65 + 0.35 * std::sqrt(head * g));
  }

  /// The joints of a leg: lengths scaled, bent more where it rises less.
  LegPlan leg_joints(const LegPlan& plan, double side, double length, double rise, std::size_t scaled) const {
    LegPlan joints;
    const double wide = 0.35 + 0.65 * g;
    joints[0] = bone(side * g * plan[0].x(), plan[0].y(), plan[0].z());
    for (std::size_t k = 0; k + 1 < plan.size(); ++k) {
      Vec3d step = plan[k + 1] - plan[k];
      if (k < scaled) {
        const double reach = length * std::hypot(step.y(), step.z());
        step.y() *= rise;
        step.z() = std::copysign(std::sqrt(std::max(0.0, reach * reach - step.y() * step.y())), step.z());
      }
      joints[k + 1] = joints[k] + step;
      joints[k + 1].x() = side * wide * plan[k + 1].x();
    }
    // Thick paws are high.
    for (const std::size_t k : {3, 4}) joints[k].y() *= 0.4 + 0.6 * g;
    return joints;
  }

 private:
  Mat3d turn_, half_turn_;
  double hip_height_;
};

void add_trunk(Rig& rig, Flesh& flesh, const CatBody& body) {
  const double g = body.g;
  const Vec3d x = Vec3d::UnitX();
  // Arching the back is positive: it takes the front end down.
  const int hips = rig.add("hips", -1, body.at(0, 0.230, -0.135), body.at(0, 0.238, -0.090), x,
                           even_limits({-180, 180}, 90, 180));
  const int spine_1 = rig.add("spine_1", hips, body.at(0, 0.238, -0.090), body.at(0, 0.241, -0.038), x,
                              even_limits({-25, 40}, 20, 15));
  const int spine_2 = rig.add("spine_2", spine_1, body.at(0, 0.241, -0.038), body.at(0, 0.239, 0.014), x,
                              even_limits({-25, 40}, 20, 20));
  const int spine_3 = rig.add("spine_3", spine_2, body.at(0, 0.239, 0.014), body.at(0, 0.235, 0.066), x,
                              even_limits({-20, 30}, 18, 25));
  const int chest = rig.add("chest", spine_3, body.at(0, 0.235, 0.066), body.neck_root(), x,
                            even_limits({-15, 25}, 15, 25));

  const int trunk = flesh.add_group(0, 0.02 * g);
  const auto add = [&](std::vector<int> joints, double px, double y, double z, const Vec3d& radii,
                       double blend, const Mat3d& axes = Mat3d::Identity()) {
    flesh.add_ellipsoid({trunk, blend * g, std::move(joints)}, body.at(px, y, z), radii, body.turn() * axes);
  };
  const auto add_pair = [&](const std::vector<int>& joints, double px, double y, double z, const Vec3d& radii,
                            double blend, double tx = 0, double ty = 0, double tz = 0) {
    add(joints, px, y, z, radii, blend, tilt(tx, ty, tz));
    add(joints, -px, y, z, radii, blend, tilt(tx, -ty, -tz));
  };
  const auto r = [&](double rx, double ry, double rz) { return body.radii(rx, ry, rz); };
  const std::vector<int> back{hips, spine_1, spine_2, spine_3, chest};
  const std::vector<int> thorax{spine_2, spine_3, chest};
  const std::vector<int> loins{hips, spine_1, spine_2, spine_3};
  add(thorax, 0, 0.197, 0.068, r(0.041, 0.056, 0.086), 0.02, tilt(4, 0, 0));             // rib cage
  add({chest}, 0, 0.190, 0.126, r(0.032, 0.042, 0.036), 0.02, tilt(20, 0, 0));           // breast
  add(loins, 0, 0.221, -0.045, r(0.029, 0.030, 0.100), 0.03);                            // loins
  add(loins, 0, 0.198, -0.016, r(0.033, 0.037, 0.074), 0.03, tilt(9, 0, 0));             // belly
  add({hips, spine_1}, 0, 0.224, -0.132, r(0.030, 0.031, 0.054), 0.02, tilt(-9, 0, 0));  // pelvis
  add_pair({hips}, 0.016, 0.235, -0.124, r(0.017, 0.020, 0.046), 0.014, -13);            // gluteals
  add_pair(back, 0.0110, 0.2475, -0.025, r(0.0105, 0.0085, 0.105), 0.010, 2);            // along the spine
  add_pair(thorax, 0.028, 0.198, 0.040, r(0.015, 0.042, 0.055), 0.012, 14, 4, 0);        // latissimus
  add_pair({chest}, 0.013, 0.168, 0.116, r(0.017, 0.020, 0.034), 0.016, 4, 0, 0);        // pectorals
  add(thorax, 0, 0.248, 0.088, r(0.015, 0.012, 0.050), 0.02, tilt(4, 0, 0));             // withers

  // The tail hangs in a bow and lifts its end; a low rump lets it hang less.
  constexpr int kTailJoints = 8;
  constexpr std::array<double, kTailJoints> kFall{22, 38, 52, 56, 46, 24, -4, -30};  // degrees below level
  const double hang = std::clamp((body.at(0, 0.236, -0.176).y() - 0.035) / 0.195, 0.0, 1.0);
  const int tail = flesh.add_group(0, 0.014 * g);
  constexpr double kLength = 0.0365;
  const auto fall = [&](double at) {
    const auto k = to_size(std::clamp(at - 0.5, 0.0, kTailJoints - 1.001));
    const double share = std::clamp(at - 0.5 - static_cast<double>(k), 0.0, 1.0);
    return hang * kDegree * ((1 - share) * kFall[k] + share * kFall[k + 1]);
  };
  const auto radius = [&](double at) { return g * (0.0108 - 0.00062 * at); };
  Vec3d place = body.at(0, 0.236, -0.172);
  flesh.add_cone({tail, 0.010 * g, {hips}}, body.at(0, 0.236, -0.150), 0.015 * g, place, radius(0));
  int joint = hips;
  constexpr int kPieces = 4;  // of a bone: the bow is smooth
  for (int k = 0; k < kTailJoints; ++k) {
    std::array<Vec3d, kPieces + 1> bow{place};
    for (int piece = 0; piece < kPieces; ++piece) {
      const double angle = fall(k + (piece + 0.5) / kPieces);
      place += kLength / kPieces * Vec3d(0, -std::sin(angle), -std::cos(angle));
      bow[to_size(piece) + 1] = place;
    }
    // Lifting the tail is positive.
    joint = rig.add("tail_" + std::to_string(k + 1), joint, bow[0], place, x,
                    even_limits(k == 0 ? AngleRange{-70, 110} : AngleRange{-50, 50}, 40, 20));
    for (std::size_t piece = 0; piece < kPieces; ++piece)
      flesh.add_cone({tail, 0.006 * g, {joint}}, bow[piece], radius(k + static_cast<double>(piece) / kPieces),
                     bow[piece + 1], radius(k + static_cast<double>(piece + 1) / kPieces));
  }
}

void add_head(Rig& rig, Flesh& flesh, const CatBody& body) {
  const double g = body.g, h = body.head;
  const Vec3d x = Vec3d::UnitX();
  const Vec3d root = body.neck_root(), base = body.head_root();
  const Vec3d middle = 0.5 * (root + base) + Vec3d(0, 0.003, 0);
  const auto at = [&](double px, double y, double z) { return Vec3d(base + h * Vec3d(px, y, z)); };
  const int chest = rig.at("chest");
  const int neck_1 = rig.add("neck_1", chest, root, middle, x, even_limits({-40, 45}, 35, 25));
  const int neck_2 = rig.add("neck_2", neck_1, middle, base, x, even_limits({-40, 45}, 35, 35));
  const int head = rig.add("head", neck_2, base, at(0, 0.012, 0.080), x, even_limits({-40, 45}, 25, 45));
  const int jaw =
      rig.add("jaw", head, at(0, -0.006, 0.030), at(0, -0.019, 0.078), x, even_limits({0, 45}, 5, 0));

  const int throat = flesh.add_group(0, 0.02 * g);
  const double nape = 0.028 * std::sqrt(g * h);
  flesh.add_cone({throat, 0.02 * g, {chest, neck_1, neck_2}}, body.at(0, 0.216, 0.116), 0.036 * g,
                 base + h * Vec3d(0, 0.002, 0.010), nape);
  for (const double side : {1.0, -1.0})
    // From behind the ear to the breast bone.
    flesh.add_cone({throat, 0.012 * g, {neck_2, neck_1, chest}}, at(side * 0.022, 0.002, 0.016), 0.013 * g,
                   body.at(side * 0.011, 0.186, 0.143), 0.014 * g);

  const int skull = flesh.add_group(0, 0.014 * h);
  const std::vector<int> own{head};
  const auto add = [&](int group, std::vector<int> joints, const Vec3d& centre, const Vec3d& radii,
                       double blend, const Mat3d& axes = Mat3d::Identity()) {
    flesh.add_ellipsoid({group, blend * h, std::move(joints)}, centre, h * radii, axes);
  };
  const auto add_pair = [&](int group, const std::vector<int>& joints, double px, double y, double z,
                            const Vec3d& radii, double blend, double tx = 0, double ty = 0, double tz = 0) {
    add(group, joints, at(px, y, z), radii, blend, tilt(tx, ty, tz));
    add(group, joints, at(-px, y, z), radii, blend, tilt(tx, -ty, -tz));
  };
  add(skull, own, at(0, 0.015, 0.028), {0.036, 0.031, 0.039}, 0.015);                       // cranium
  add_pair(skull, {head, jaw}, 0.022, -0.004, 0.036, {0.019, 0.019, 0.024}, 0.016, 0, 20);  // cheeks
  add(skull, own, at(0, 0.018, 0.050), {0.026, 0.017, 0.018}, 0.012);                       // forehead
  add(skull, own, at(0, -0.003, 0.058), {0.020, 0.014, 0.020}, 0.012);                      // upper jaw
  add(skull, {jaw, head}, at(0, -0.017, 0.054), {0.015, 0.0095, 0.024}, 0.012);             // lower jaw
  for (const double side : {1.0, -1.0})
    flesh.carve_ellipsoid({skull, 0.006 * h, {}}, at(side * 0.0195, 0.0108, 0.0685),
                          h * Vec3d(0.0128, 0.0102, 0.0118), tilt(0, side * 24, side * 14));  // sockets

  // Carved groups end; what stands out of the sockets comes after them.
  const int face = flesh.add_group(0, 0.006 * h);
  const int eyes = flesh.add_group(0, 0.005 * h);
  add_pair(eyes, own, 0.0180, 0.0108, 0.0540, {0.0122, 0.0100, 0.0118}, 0.003, 0, 24, 14);  // eyes
  flesh.add_cone({face, 0.008 * h, own}, at(0, 0.018, 0.060), 0.0080 * h, at(0, 0.0010, 0.080),
                 0.0072 * h);                                                               // nose
  add(face, own, at(0, 0.0005, 0.0860), {0.0070, 0.0048, 0.0045}, 0.006);                   // its tip
  add_pair(face, {head}, 0.0085, -0.0090, 0.0725, {0.0120, 0.0090, 0.0125}, 0.006, 0, 14);  // whisker pads
  add(face, {jaw}, at(0, -0.0190, 0.0710), {0.0100, 0.0070, 0.0095}, 0.006);                // chin

  // Ears: two rims that meet at the tip, with skin between them set back.
  for (const double side : {1.0, -1.0}) {
    const auto spot = [&](double px, double y, double z) { return at(side * px, y, z); };
    const Vec3d tip = spot(0.0360, 0.0715, 0.0200);
    const int ear_joint = rig.add(side > 0 ? "ear.L" : "ear.R", head, spot(0.024, 0.034, 0.018), tip, x,
                                  even_limits({-35, 25}, 35, 35));
    const int ear = flesh.add_group(0, 0.014 * h);
    const std::vector<int> joints{ear_joint, head};
    const Flesh::Joining rim{ear, 0.006 * h, joints};
    flesh.add_cone(rim, spot(0.0140, 0.0320, 0.0270), 0.0085 * h, tip, 0.0034 * h);
    flesh.add_cone(rim, spot(0.0365, 0.0180, 0.0170), 0.0064 * h, tip, 0.0034 * h);
    flesh.add_cone(rim, spot(0.0250, 0.0250, 0.0100), 0.0130 * h, spot(0.0352, 0.0680, 0.0180), 0.0040 * h);
    flesh.add_cone(rim, spot(0.0180, 0.0340, 0.0170), 0.0080 * h, spot(0.0350, 0.0660, 0.0180), 0.0040 * h);
    flesh.add_cone(rim, spot(0.0340, 0.0200, 0.0120), 0.0080 * h, spot(0.0356, 0.0660, 0.0180), 0.0040 * h);
  }
}

/// A paw with hints of four toes from `root` (the toes' root) to `tip`, and the pads beneath.
void add_paw(Flesh& flesh, int leg, double side, int metapodium, int toes, const Vec3d& root,
             const Vec3d& tip, double g) {
  const int paw = flesh.add_group(leg, 0.008 * g);
  const double length = tip.z() - root.z(), height = root.y();
  flesh.add_ellipsoid({paw, 0.006 * g, {metapodium, toes}}, root + Vec3d(0, -0.001 * g, 0.2 * length),
                      {0.0135 * g, 0.0100 * g, 0.016});
  for (int t = 0; t < 4; ++t) {
    const double across = t - 1.5;                         // -1.5 inside to 1.5 outside
    const double back = std::abs(across) > 1 ? 0.006 : 0;  // the outer toes are shorter
    const Vec3d knuckle = root + Vec3d(side * 0.0068 * across * g, 0.0030 * g, 0.40 * length - back);
    const Vec3d end = root + Vec3d(side * 0.0084 * across * g, -0.47 * height, 0.82 * length - back);
    flesh.add_cone({paw, 0.006 * g, {toes}}, knuckle, 0.0062 * g, end, 0.0064 * g);
  }
  flesh.add_ellipsoid({paw, 0.006 * g, {toes, metapodium}}, root + Vec3d(0, -0.57 * height, 0.001),
                      {0.0105 * g, 0.0070 * g, 0.0100});  // the great pad
  // The ground flattens the pads.
  flesh.carve_beyond({paw, 0.006 * g, {}}, Vec3d(0, 0.0005, 0), -Vec3d::UnitY());
}

/// Masses on a leg, placed along its bones.
class LegFlesh {
 public:
  LegFlesh(Flesh& flesh, int group, double side, double girth)
      : flesh_(flesh), group_(group), side_(side), g_(girth) {}

  void cone(std::vector<int> joints, const Vec3d& a, double radius_a, const Vec3d& b, double radius_b,
            double blend) {
    flesh_.add_cone({group_, blend * g_, std::move(joints)}, a, radius_a * g_, b, radius_b * g_);
  }
  /// An ellipsoid along the bone from a to b, `share` of the way, moved `out` (from the body) and `front`
  /// at right angles to the bone. `half_length` in shares of the bone.
  void mass(std::vector<int> joints, const Vec3d& a, const Vec3d& b, double share, double out, double front,
            double radius_out, double half_length, double radius_front, double blend) {
    Mat3d axes;
    axes.col(1) = (b - a).normalized();
    axes.col(0) = (Vec3d::UnitX() - axes.col(1).x() * axes.col(1)).normalized();
    axes.col(2) = axes.col(1).cross(axes.col(0));  // forwards, for a bone that points down
    const Vec3d centre = a + share * (b - a) + g_ * (side_ * out * axes.col(0) + front * axes.col(2));
    axes.col(2) *= -1;
    flesh_.add_ellipsoid({group_, blend * g_, std::move(joints)}, centre,
                         {radius_out * g_, half_length * (b - a).norm(), radius_front * g_}, axes);
  }
  void knob(std::vector<int> joints, const Vec3d& centre, double radius, double blend) {
    flesh_.add_sphere({group_, blend * g_, std::move(joints)}, centre, radius * g_);
  }

 private:
  Flesh& flesh_;
  int group_;
  double side_, g_;
};

void add_fore_leg(Rig& rig, Flesh& flesh, const CatBody& body, double side) {
  const double g = body.g;
  const std::string suffix = side > 0 ? ".L" : ".R";
  const int chest = rig.at("chest");
  const LegPlan joints = body.leg_joints(kForeLeg, side, body.arm, body.fore_rise, 2);
  const Vec3d &shoulder = joints[0], &elbow = joints[1], &carpus = joints[2], &knuckle = joints[3];
  const Vec3d blade = body.at(side * 0.024, 0.246, 0.098);
  const Vec3d x = Vec3d::UnitX();
  // The limb swings forwards, the elbow closes forwards, the carpus and the toes backwards.
  const int scapula = rig.add("scapula" + suffix, chest, blade, shoulder, -x, even_limits({-30, 30}, 12, 12));
  const int upper =
      rig.add("upper_arm" + suffix, scapula, shoulder, elbow, -x, even_limits({-55, 80}, 30, 35));
  const Vec3d upper_way = elbow - shoulder, lower_way = carpus - elbow;
  const int lower = rig.add("lower_arm" + suffix, upper, elbow, carpus, upper_way.cross(lower_way),
                            bent_hinge(upper_way, lower_way, 16, 158));
  const int paw = rig.add("paw" + suffix, lower, carpus, knuckle, x, even_limits({-65, 140}, 20, 25));
  const int toes = rig.add("toes" + suffix, paw, knuckle, joints[4], x, even_limits({-75, 60}, 8, 8));

  const int group = flesh.add_group(0, 0.010 * g);
  LegFlesh leg(flesh, group, side, g);
  leg.mass({scapula, chest}, blade, shoulder, 0.48, 0.001, 0.012, 0.0125, 0.58, 0.013,
           0.008);  // supraspinatus
  leg.mass({scapula, chest}, blade, shoulder, 0.48, 0.001, -0.012, 0.0125, 0.56, 0.016,
           0.008);  // infraspinatus
  leg.mass({upper, scapula}, blade, shoulder, 0.86, 0.003, -0.002, 0.0150, 0.32, 0.0160, 0.010);  // deltoid
  leg.cone({upper}, shoulder, 0.0155, elbow, 0.0130, 0.010);
  leg.mass({upper}, shoulder, elbow, 0.52, 0.002, 0.009, 0.0115, 0.44, 0.0110, 0.010);  // biceps, brachialis
  leg.mass({upper, scapula}, shoulder, elbow, 0.50, 0.004, -0.018, 0.0140, 0.56, 0.0190, 0.010);  // triceps
  // Webs of skin between limb and trunk would leave holes on limbs that are long or thin.
  if (g > 0.9)
    leg.cone({upper, chest}, body.at(side * 0.026, 0.180, 0.075), 0.018,
             shoulder + 0.92 * upper_way / std::max(1.0, body.arm), 0.0110, 0.014);
  leg.knob({lower, upper}, elbow + g * Vec3d(0, 0.004, -0.0115), 0.0078, 0.008);  // point of the elbow
  leg.cone({lower}, elbow, 0.0128, elbow + 0.6 * lower_way, 0.0096, 0.006);
  leg.cone({lower}, elbow + 0.5 * lower_way, 0.0098, carpus, 0.0086, 0.006);
  leg.mass({lower}, elbow, carpus, 0.24, 0.003, 0.004, 0.0115, 0.36, 0.0110, 0.008);        // extensors
  leg.mass({lower}, elbow, carpus, 0.24, -0.002, -0.005, 0.0100, 0.36, 0.0100, 0.008);      // flexors
  leg.knob({lower, paw}, carpus + g * Vec3d(side * 0.001, 0.001, -0.0070), 0.0056, 0.008);  // carpal pad
  leg.cone({paw}, carpus, 0.0088, knuckle, 0.0098, 0.006);
  add_paw(flesh, group, side, paw, toes, knuckle, joints[4], g);
}

void add_hind_leg(Rig& rig, Flesh& flesh, const CatBody& body, double side) {
  const double g = body.g;
  const std::string suffix = side > 0 ? ".L" : ".R";
  const int hips = rig.at("hips"), spine = rig.at("spine_1");
  const LegPlan joints = body.leg_joints(kHindLeg, side, body.leg, body.hind_rise, 3);
  const Vec3d &hip = joints[0], &knee = joints[1], &hock = joints[2], &knuckle = joints[3];
  const Vec3d thigh_way = knee - hip, shin_way = hock - knee, foot_way = knuckle - hock;
  const Vec3d x = Vec3d::UnitX();
  // The limb swings forwards, the knee closes backwards, the hock forwards, the toes backwards.
  const int thigh = rig.add("thigh" + suffix, hips, hip, knee, -x, even_limits({-65, 75}, 35, 30));
  const int shin = rig.add("shin" + suffix, thigh, knee, hock, thigh_way.cross(shin_way),
                           bent_hinge(thigh_way, shin_way, 16, 156));
  const int metatarsus = rig.add("metatarsus" + suffix, shin, hock, knuckle, shin_way.cross(foot_way),
                                 bent_hinge(shin_way, foot_way, 14, 159));
  const int toes = rig.add("foot" + suffix, metatarsus, knuckle, joints[4], x, even_limits({-75, 60}, 8, 8));

  const int group = flesh.add_group(0, 0.012 * g);
  LegFlesh leg(flesh, group, side, g);
  const Vec3d seat = body.at(side * 0.016, 0.214, -0.172);  // the pelvis' rear end
  const Vec3d flank = body.at(side * 0.020, 0.198, -0.084);
  leg.cone({thigh, hips}, hip, 0.024, knee, 0.0150, 0.012);
  leg.mass({thigh, hips}, hip, knee, 0.08, 0.002, 0.004, 0.0180, 0.44 / std::max(1.0, body.leg), 0.034,
           0.014);                                                                       // outside of the hip
  leg.mass({thigh}, hip, knee, 0.54, 0.004, 0.010, 0.0155, 0.54, 0.0165, 0.010);         // quadriceps
  leg.mass({thigh, hips}, hip, knee, 0.44, 0.004, -0.019, 0.0150, 0.56, 0.0220, 0.012);  // biceps femoris
  leg.cone({thigh, hips}, seat, 0.0150, hip + 0.9 * thigh_way / std::max(1.0, body.leg), 0.0120,
           0.020);  // hamstrings
  if (g > 0.75)
    leg.cone({hips, spine, thigh}, flank, 0.0125, hip + 0.40 * thigh_way / std::max(1.0, body.leg), 0.0130,
             0.018);
  if (g > 0.9 * std::max(1.0, body.leg)) {
    leg.cone({thigh, hips}, seat, 0.0145, knee + 0.32 * shin_way + g * Vec3d(0, 0, -0.006), 0.0095, 0.020);
    leg.cone({thigh, spine, hips}, flank, 0.012, knee + g * Vec3d(side * -0.006, 0.014, 0.000), 0.0080,
             0.018);  // fold of the flank
  }
  leg.knob({shin, thigh}, knee + g * Vec3d(0, 0.001, 0.0060), 0.0115, 0.010);  // knee cap
  leg.cone({shin}, knee, 0.0145, knee + 0.55 * shin_way, 0.0104, 0.008);
  leg.cone({shin}, knee + 0.45 * shin_way, 0.0108, hock, 0.0078, 0.006);
  leg.mass({shin}, knee, hock, 0.32, 0.001, -0.0085, 0.0110, 0.38, 0.0115, 0.010);  // gastrocnemius
  leg.mass({shin}, knee, hock, 0.32, 0.003, 0.004, 0.0100, 0.36, 0.0090, 0.008);    // shin muscle
  const Vec3d heel = hock + g * Vec3d(0, 0.0065, -0.0085);
  leg.cone({shin, metatarsus}, knee + 0.55 * shin_way + g * Vec3d(0, -0.003, -0.0065), 0.0072, heel, 0.0058,
           0.008);  // heel tendon
  leg.knob({metatarsus, shin}, heel, 0.0062, 0.006);
  leg.cone({metatarsus}, hock, 0.0086, knuckle, 0.0092, 0.006);
  leg.cone({metatarsus}, heel, 0.0056, knuckle + g * Vec3d(0, 0.004, -0.003), 0.0070, 0.006);
  add_paw(flesh, group, side, metatarsus, toes, knuckle, joints[4], g);
}

}  // namespace

BuiltModel make_cat_model(const ModelOptions& options, const Progress& progress) {
  const CatBody body(options.proportions);
  Rig rig;
  Flesh flesh;
  add_trunk(rig, flesh, body);
  add_head(rig, flesh, body);
  for (const double side : {1.0, -1.0}) {
    add_fore_leg(rig, flesh, body, side);
    add_hind_leg(rig, flesh, body, side);
  }
  BuiltModel model = finish_model("cat", std::move(rig), flesh, body.at(0, 0.2, 0.05),
                                  0.003 * std::min({1.0, body.g, body.head}), options.vertices, progress);
  model.scene.clips = cat_clips(model.rig);
  return model;
}

}  // namespace sinew
