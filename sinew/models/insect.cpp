// An ant the size of a toy. `leg` scales all six legs, `arm` the antennae (what an insect feels with), `head`
// the head with all that is on it, `girth` the thickness; of legs and antennae by its 0.6th power, so that
// they neither touch nor tear.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <sinew/models/insect_clips.h>
#include <sinew/models/keys.h>
#include <sinew/models/models.h>

namespace sinew {

namespace {

/// Limits of a leg_hinge that stands bent at rest, from how far it may be bent at all (0 is straight).
JointLimits leg_hinge(const Vec3d& upper, const Vec3d& lower, double least_bend, double most_bend) {
  const double bend = std::atan2(upper.cross(lower).norm(), upper.dot(lower)) / kDegree;
  return {{least_bend - bend, most_bend - bend}, {-6, 6}, {-6, 6}};
}

/// Where a leg leaves the thorax, and how it goes on from there in an upright plane.
struct InsectLegPlan {
  const char* name;
  double root_z;   // metres
  double coxa_z;   // how much farther forwards the coxa ends
  double forward;  // degrees of the plane, from the side towards +z
  double size;     // against the middle legs
};
constexpr std::array<InsectLegPlan, 3> kLegs{{
    {"fore", 0.042, 0.010, 42, 0.94},
    {"mid", 0.011, -0.001, -6, 1},
    {"hind", -0.019, -0.009, -47, 1.14},
}};

/// A leg's joints in its plane: outwards and up from the coxa's end, metres.
constexpr std::array<std::array<double, 2>, 3> kLegWay{{{0.056, 0.047}, {0.099, -0.033}, {0.134, -0.0455}}};

/// The coxae end at this height; girth swells the body round it, so that it never comes down to the ground.
constexpr double kSwellHeight = 0.050;
constexpr double kFootRadius = 0.0032;

/// Where things are for given proportions.
struct InsectBody {
  explicit InsectBody(const Proportions& p)
      : antenna(p.arm), leg(p.leg), head(p.head), g(p.girth), thin(std::pow(p.girth, 0.6)) {
    lift = kFootRadius * thin - leg * kLegWay[2][1] - kSwellHeight;
  }
  double antenna, leg, head, g;
  double thin;  ///< thickness of legs and antennae
  double lift;  ///< how much higher than usual the body stands

  Vec3d at(double x, double y, double z) const {
    return {g * x, kSwellHeight + g * (y - kSwellHeight) + lift, std::sqrt(g) * z};
  }
  Vec3d radii(double x, double y, double z) const { return {g * x, g * y, std::sqrt(g) * z}; }
};

void add_trunk(Rig& rig, Flesh& flesh, const InsectBody& body) {
  const double g = body.g;
  const Vec3d x = Vec3d::UnitX();
  const auto at = [&](double px, double y, double z) { return body.at(px, y, z); };
  // Raising the front end is negative, raising the rear end positive: both turn z towards -y.
  const int thorax =
      rig.add("thorax", -1, at(0, 0.078, -0.034), at(0, 0.082, 0.054), x, even_limits({-180, 180}, 90, 180));
  const int waist =
      rig.add("waist", thorax, at(0, 0.074, -0.036), at(0, 0.077, -0.058), x, even_limits({-40, 50}, 25, 20));
  const int abdomen_1 = rig.add("abdomen_1", waist, at(0, 0.077, -0.058), at(0, 0.084, -0.108), x,
                                even_limits({-40, 50}, 25, 20));
  const int abdomen_2 = rig.add("abdomen_2", abdomen_1, at(0, 0.084, -0.108), at(0, 0.074, -0.170), x,
                                even_limits({-30, 30}, 20, 10));

  const int trunk = flesh.add_group(0, 0.008 * g);
  const auto add = [&](int group, std::vector<int> joints, double y, double z, const Vec3d& radii,
                       double blend, double pitch = 0) {
    flesh.add_ellipsoid({group, blend * g, std::move(joints)}, at(0, y, z),
                        body.radii(radii.x(), radii.y(), radii.z()), about_x(pitch).toRotationMatrix());
  };
  add(trunk, {thorax}, 0.079, 0.030, {0.0235, 0.0225, 0.027}, 0.010, -6);  // pronotum
  add(trunk, {thorax}, 0.076, 0.002, {0.0190, 0.0195, 0.027}, 0.010);      // mesonotum
  add(trunk, {thorax}, 0.075, -0.020, {0.0165, 0.0185, 0.020}, 0.010, 8);  // propodeum
  // The waist is a stalk with an upright scale on it.
  const int stalk = flesh.add_group(0, 0.006 * g);
  flesh.add_cone({stalk, 0.006 * g, {thorax, waist}}, at(0, 0.074, -0.030), 0.0085 * g, at(0, 0.074, -0.047),
                 0.0068 * g);
  flesh.add_cone({stalk, 0.006 * g, {waist, abdomen_1}}, at(0, 0.074, -0.047), 0.0068 * g,
                 at(0, 0.078, -0.068), 0.0085 * g);
  add(stalk, {waist}, 0.081, -0.0475, {0.0105, 0.0150, 0.0066}, 0.004, 6);
  // Plates of the abdomen, one sliding out of the other.
  const int gaster = flesh.add_group(0, 0.006 * g);
  const std::vector<int> plates{abdomen_1, abdomen_2};
  add(gaster, {waist, abdomen_1}, 0.0825, -0.0880, {0.0330, 0.0310, 0.0290}, 0.001, 4);
  add(gaster, plates, 0.0840, -0.1060, {0.0385, 0.0365, 0.0330}, 0.001);
  add(gaster, plates, 0.0815, -0.1300, {0.0330, 0.0310, 0.0290}, 0.001, -6);
  add(gaster, {abdomen_2}, 0.0770, -0.1480, {0.0230, 0.0215, 0.0240}, 0.001, -14);
  flesh.add_cone({gaster, 0.004 * g, {abdomen_2}}, at(0, 0.0755, -0.158), 0.0110 * g, at(0, 0.0720, -0.1720),
                 0.0050 * g);
}

void add_head(Rig& rig, Flesh& flesh, const InsectBody& body) {
  const double g = body.g, h = body.head, thin = body.thin;
  const Vec3d x = Vec3d::UnitX();
  const int thorax = rig.at("thorax");
  const Vec3d neck = body.at(0, 0.082, 0.056);
  // A great head stands off, out of the way of the fore legs.
  const Vec3d base = neck + Vec3d(0, 0.006 * std::max(0.0, h - 1), 0.005 + 0.030 * std::max(0.0, h - 1));
  const auto at = [&](double px, double y, double z) { return Vec3d(base + h * Vec3d(px, y, z)); };
  const int head = rig.add("head", thorax, neck, at(0, -0.004, 0.062), x, even_limits({-45, 45}, 35, 35));
  flesh.add_cone({0, 0.006 * g, {head, thorax}}, body.at(0, 0.081, 0.046), 0.0100 * g, at(0, 0.001, 0.012),
                 0.0100 * std::sqrt(g * h));

  const int skull = flesh.add_group(0, 0.006 * h);
  const auto add = [&](int group, const Vec3d& centre, const Vec3d& radii, double blend,
                       const Mat3d& axes = Mat3d::Identity()) {
    flesh.add_ellipsoid({group, blend * h, {head}}, centre, h * radii, axes);
  };
  const Mat3d nod = about_x(14).toRotationMatrix();
  add(skull, at(0, 0.004, 0.030), {0.0300, 0.0245, 0.0290}, 0.010, nod);
  add(skull, at(0, -0.002, 0.046), {0.0215, 0.0185, 0.0215}, 0.012, nod);  // face
  for (const double side : {1.0, -1.0}) {
    add(skull, at(side * 0.0150, 0.006, 0.017), {0.0180, 0.0195, 0.0185}, 0.010, nod);  // back of the cheeks
    const int eye = flesh.add_group(0, 0.002 * h);
    add(eye, at(side * 0.0265, 0.0110, 0.0345), {0.0085, 0.0105, 0.0120}, 0.002,
        Eigen::AngleAxisd(side * 25 * kDegree, Vec3d::UnitY()).toRotationMatrix());
    // Mandibles bow towards each other, and leave a gap.
    const int mandible = flesh.add_group(0, 0.004 * h);
    const std::array<Vec3d, 4> bow{at(side * 0.0150, -0.0085, 0.0560), at(side * 0.0175, -0.0115, 0.0680),
                                   at(side * 0.0145, -0.0135, 0.0780), at(side * 0.0075, -0.0145, 0.0850)};
    constexpr std::array<double, 4> kThick{0.0068, 0.0060, 0.0046, 0.0026};
    for (std::size_t k = 0; k < 3; ++k)
      flesh.add_cone({mandible, 0.003 * h, {head}}, bow[k], kThick[k] * h, bow[k + 1], kThick[k + 1] * h);

    // Scape up and out, funicle bent forwards and down.
    const std::string suffix = side > 0 ? ".L" : ".R";
    const double length = body.antenna * (0.4 + 0.6 * h);
    const Vec3d root = at(side * 0.0105, 0.0085, 0.0560);
    const Vec3d scape = length * Vec3d(side * 0.034, 0.034, 0.030);
    const Vec3d funicle = length * Vec3d(side * 0.020, -0.026, 0.062);
    const Vec3d elbow = root + scape, tip = elbow + funicle;
    const Vec3d bend = scape.cross(funicle).normalized();
    const int antenna_0 =
        rig.add("antenna_0" + suffix, head, root, elbow, bend, even_limits({-50, 60}, 50, 30));
    const int antenna_1 =
        rig.add("antenna_1" + suffix, antenna_0, elbow, tip, bend, leg_hinge(scape, funicle, 10, 150));
    const int feeler = flesh.add_group(0, 0.005 * h);
    flesh.add_sphere({feeler, 0.002 * thin, {antenna_0, head}}, root, 0.0062 * thin);
    flesh.add_cone({feeler, 0.002 * thin, {antenna_0}}, root, 0.0036 * thin, elbow, 0.0036 * thin);
    flesh.add_cone({feeler, 0.002 * thin, {antenna_1}}, elbow, 0.0032 * thin, tip, 0.0042 * thin);
  }
}

void add_leg(Rig& rig, Flesh& flesh, const InsectBody& body, const InsectLegPlan& plan, double side) {
  const double thin = body.thin;
  const std::string suffix = side > 0 ? ".L" : ".R", name = plan.name;
  const int thorax = rig.at("thorax");
  // A great head sends the fore legs to the sides.
  const double forward = plan.forward - (plan.root_z > 0.03 ? 15 * std::max(0.0, body.head - 1) : 0);
  const Vec3d out(side * std::cos(forward * kDegree), 0, std::sin(forward * kDegree));
  const Vec3d root = body.at(side * 0.0110, 0.066, plan.root_z);
  const Vec3d end = body.at(side * 0.0185, kSwellHeight, plan.root_z) + Vec3d(side * 0.012, 0, plan.coxa_z);
  const auto on = [&](std::size_t k) {
    return Vec3d(end + body.leg * (plan.size * kLegWay[k][0] * out + kLegWay[k][1] * Vec3d::UnitY()));
  };
  const Vec3d knee = on(0), heel = on(1), tip = on(2);
  const Vec3d femur_way = knee - end, tibia_way = heel - knee;
  // The coxa swings the leg forwards, the femur lifts it, tibia and tarsus close towards the body.
  const Vec3d lift = out.cross(Vec3d::UnitY());
  const int coxa = rig.add(name + "_coxa" + suffix, thorax, root, end, -side * Vec3d::UnitY(),
                           even_limits({-45, 45}, 30, 30));
  const int femur = rig.add(name + "_femur" + suffix, coxa, end, knee, lift, even_limits({-60, 50}, 30, 40));
  const int tibia =
      rig.add(name + "_tibia" + suffix, femur, knee, heel, -lift, leg_hinge(femur_way, tibia_way, 10, 150));
  const int tarsus =
      rig.add(name + "_tarsus" + suffix, tibia, heel, tip, -lift, even_limits({-40, 80}, 40, 40));

  const int leg = flesh.add_group(0, 0.004 * thin);
  const auto cone = [&](std::vector<int> joints, const Vec3d& a, double radius_a, const Vec3d& b,
                        double radius_b) {
    flesh.add_cone({leg, 0.003 * thin, std::move(joints)}, a, radius_a * thin, b, radius_b * thin);
  };
  cone({coxa, thorax}, root, 0.0098, end, 0.0062);
  cone({femur}, end, 0.0066, knee, 0.0052);
  cone({tibia}, knee, 0.0052, heel, 0.0038);
  cone({tarsus}, heel, 0.0038, tip, kFootRadius);
}

}  // namespace

BuiltModel make_insect_model(const ModelOptions& options, const Progress& progress) {
  const InsectBody body(options.proportions);
  Rig rig;
  Flesh flesh;
  add_trunk(rig, flesh, body);
  add_head(rig, flesh, body);
  for (const double side : {1.0, -1.0})
    for (const InsectLegPlan& plan : kLegs) add_leg(rig, flesh, body, plan, side);
  BuiltModel model = finish_model("insect", std::move(rig), flesh, body.at(0, 0.078, 0.01),
                                  0.0022 * std::min({1.0, body.thin, body.head}), options.vertices, progress);
  model.scene.clips = insect_clips(model.rig);
  return model;
}

}  // namespace sinew
