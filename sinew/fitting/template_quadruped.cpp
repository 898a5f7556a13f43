#include <sinew/fitting/template_builder.h>
#include <sinew/fitting/template_rigs.h>

#include <array>
#include <string>
#include <vector>

namespace sinew {

namespace {

void add_quadruped_trunk(TemplateBuilder& rig) {
  rig.control("root", "", Vec3d::Zero(), {0, 0, 0.15}, kX);
  rig.control("torso", "root", {0, 0.228, -0.140}, {0, 0.328, -0.140}, kX);
  const auto chain = [&](const std::vector<const char*>& names, const char* parent,
                         const std::vector<Vec3d>& joints) {
    for (std::size_t k = 0; k < names.size(); ++k)
      rig.bone(names[k], k == 0 ? parent : names[k - 1], joints[k], joints[k + 1], kX);
  };
  chain({"hips", "spine_1", "spine_2", "spine_3", "chest"}, "torso",
        {{0, 0.228, -0.140},
         {0, 0.235, -0.092},
         {0, 0.239, -0.040},
         {0, 0.238, 0.013},
         {0, 0.233, 0.066},
         {0, 0.226, 0.134}});
  chain({"neck_1", "neck_2", "head"}, "chest",
        {{0, 0.226, 0.134}, {0, 0.254, 0.160}, {0, 0.280, 0.184}, {0, 0.288, 0.262}});
  rig.bone("jaw", "head", {0, 0.274, 0.214}, {0, 0.262, 0.258}, kX);
  rig.bone("ear.L", "head", {0.023, 0.314, 0.202}, {0.035, 0.350, 0.204}, kX);
  chain({"tail_1", "tail_2", "tail_3", "tail_4", "tail_5", "tail_6", "tail_7", "tail_8"}, "hips",
        {{0, 0.232, -0.170},
         {0, 0.219, -0.204},
         {0, 0.200, -0.235},
         {0, 0.178, -0.264},
         {0, 0.156, -0.293},
         {0, 0.138, -0.325},
         {0, 0.127, -0.360},
         {0, 0.125, -0.396},
         {0, 0.132, -0.432}});

  constexpr std::array<double, 3> kThirds{1.0 / 3, 1.0 / 3, 1.0 / 3};
  rig.flexor("spine_control", "torso", {"spine_1", "spine_2", "spine_3"}, kThirds);
  std::vector<std::string> tail;
  for (int k = 1; k <= 8; ++k) tail.push_back("tail_" + std::to_string(k));
  rig.flexor("tail_control", "hips", tail, std::vector<double>(tail.size(), 0.5));
  rig.control("look_at", "root", {0, 0.288, 0.50}, {0, 0.288, 0.54}, kX);
  rig.damped_track("head", "look_at", 0.3, "y");
}

/// The paw stands on its toes: `paw` is turned about their root, and carries `heel` (the carpus or the hock),
/// which the leg reaches for.
void add_paw(TemplateBuilder& rig, const std::string& paw, const std::string& heel, const std::string& lower,
             const std::string& metapodium, const std::string& toes, const std::string& pole) {
  rig.control_on(paw, "root", toes);
  rig.control_on(heel, paw, metapodium);
  rig.ik(lower, heel, pole, "root", 0.12);
  rig.copy_rotation(metapodium, heel, 1, false);
  rig.copy_rotation(toes, paw, 1, false);
}

void add_legs(TemplateBuilder& rig) {
  // Elbows point backwards, knees forwards.
  const Vec3d blade(0.024, 0.243, 0.098), shoulder(0.036, 0.182, 0.143), elbow(0.0375, 0.126, 0.088),
      carpus(0.0345, 0.041, 0.099), knuckle(0.0345, 0.0145, 0.111), toe(0.035, 0.0085, 0.135);
  const Vec3d elbow_axis = hinge_axis(shoulder, elbow, carpus);
  rig.bone("scapula.L", "chest", blade, shoulder, -kX);
  rig.bone("upper_arm.L", "scapula.L", shoulder, elbow, elbow_axis);
  rig.bone("lower_arm.L", "upper_arm.L", elbow, carpus, elbow_axis);
  rig.limit_rotation("lower_arm.L", {-35, 0, 0}, {100, 0, 0});
  rig.bone("paw.L", "lower_arm.L", carpus, knuckle, kX);
  rig.bone("toes.L", "paw.L", knuckle, toe, kX);
  add_paw(rig, "fore_paw_ik.L", "carpus_ik.L", "lower_arm.L", "paw.L", "toes.L", "elbow_pole.L");

  const Vec3d hip(0.028, 0.214, -0.146), knee(0.0405, 0.134, -0.100), hock(0.0345, 0.073, -0.170),
      ball(0.0345, 0.0145, -0.152), tip(0.035, 0.0085, -0.127);
  const Vec3d knee_axis = hinge_axis(hip, knee, hock);
  rig.bone("thigh.L", "hips", hip, knee, knee_axis);
  rig.bone("shin.L", "thigh.L", knee, hock, knee_axis);
  rig.limit_rotation("shin.L", {-60, 0, 0}, {75, 0, 0});
  rig.bone("metatarsus.L", "shin.L", hock, ball, hinge_axis(knee, hock, ball));
  rig.bone("foot.L", "metatarsus.L", ball, tip, kX);
  add_paw(rig, "hind_paw_ik.L", "hock_ik.L", "shin.L", "metatarsus.L", "foot.L", "knee_pole.L");
}

}  // namespace

ControlRig make_quadruped_template() {
  TemplateBuilder rig("quadruped");
  add_quadruped_trunk(rig);
  add_legs(rig);
  return rig.finish();
}

}  // namespace sinew
