#include <sinew/fitting/template_builder.h>
#include <sinew/fitting/template_rigs.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>

namespace sinew {

namespace {

struct Leg {
  const char* name;
  Vec3d root, hip;  // of the coxa, of the femur; metres
  double forward;   // degrees of the leg's upright plane, from the side towards +z
  double size;
};

void add_insect_leg(TemplateBuilder& rig, const Leg& leg) {
  const std::string name = leg.name;
  const double forward = leg.forward * std::numbers::pi / 180;
  const Vec3d out(std::cos(forward), 0, std::sin(forward));
  const auto at = [&](double outwards, double height) {
    return Vec3d(Vec3d(leg.hip.x(), height, leg.hip.z()) + leg.size * outwards * out);
  };
  const Vec3d knee = at(0.054, 0.096), heel = at(0.096, 0.015), tip = at(0.130, 0.003);
  const Vec3d hinge = hinge_axis(leg.hip, knee, heel);
  // The coxa swings the leg forwards.
  rig.bone(name + "_coxa.L", "thorax", leg.root, leg.hip, -kY);
  rig.bone(name + "_femur.L", name + "_coxa.L", leg.hip, knee, hinge);
  rig.bone(name + "_tibia.L", name + "_femur.L", knee, heel, hinge);
  rig.limit_rotation(name + "_tibia.L", {-85, 0, 0}, {45, 0, 0});
  rig.bone(name + "_tarsus.L", name + "_tibia.L", heel, tip, hinge);
  rig.control_on(name + "_foot_ik.L", "root", name + "_tarsus.L");
  rig.ik(name + "_tibia.L", name + "_foot_ik.L", name + "_knee_pole.L", "root", 0.06);
  rig.copy_rotation(name + "_tarsus.L", name + "_foot_ik.L", 1, false);
}

}  // namespace

ControlRig make_insect_template() {
  TemplateBuilder rig("insect");
  rig.control("root", "", Vec3d::Zero(), {0, 0, 0.1}, kX);
  rig.control("body", "root", {0, 0.077, -0.034}, {0, 0.127, -0.034}, kX);
  rig.bone("thorax", "body", {0, 0.077, -0.034}, {0, 0.080, 0.052}, kX);
  rig.bone("waist", "thorax", {0, 0.073, -0.037}, {0, 0.076, -0.058}, kX);
  rig.bone("abdomen_1", "waist", {0, 0.076, -0.058}, {0, 0.082, -0.110}, kX);
  rig.bone("abdomen_2", "abdomen_1", {0, 0.082, -0.110}, {0, 0.072, -0.168}, kX);
  rig.bone("head", "thorax", {0, 0.080, 0.056}, {0, 0.076, 0.120}, kX);
  constexpr std::array<double, 3> kAbdomen{0.5, 0.7, 0.7};
  rig.flexor("abdomen_control", "thorax", {"waist", "abdomen_1", "abdomen_2"}, kAbdomen);

  const Vec3d root(0.010, 0.089, 0.115), elbow(0.043, 0.122, 0.146), tip(0.062, 0.097, 0.206);
  const Vec3d bend = hinge_axis(root, elbow, tip);
  rig.bone("antenna_0.L", "head", root, elbow, bend);
  rig.bone("antenna_1.L", "antenna_0.L", elbow, tip, bend);
  constexpr std::array<double, 2> kAntenna{1, 1};
  rig.flexor("antenna_control.L", "head", {"antenna_0.L", "antenna_1.L"}, kAntenna);

  add_insect_leg(rig, {"fore", {0.011, 0.065, 0.041}, {0.030, 0.049, 0.051}, 40, 0.95});
  add_insect_leg(rig, {"mid", {0.011, 0.065, 0.011}, {0.030, 0.049, 0.010}, -5, 1});
  add_insect_leg(rig, {"hind", {0.011, 0.065, -0.019}, {0.030, 0.049, -0.028}, -45, 1.12});
  return rig.finish();
}

}  // namespace sinew
