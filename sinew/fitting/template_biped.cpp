#include <sinew/fitting/template_builder.h>
#include <sinew/fitting/template_hand.h>
#include <sinew/fitting/template_rigs.h>

#include <array>

namespace sinew {

namespace {

/// The elbow and the knee are bent by as much, so that it is clear which way they close.
constexpr double kBend = 3;

void add_biped_trunk(TemplateBuilder& rig) {
  rig.control("root", "", Vec3d::Zero(), {0, 0, 0.4}, kX);
  const Vec3d pelvis(0, 0.94, 0);
  rig.control("torso", "root", pelvis, {0, 0.94, -0.22}, kX);
  rig.bone("hips", "torso", pelvis, {0, 1.03, 0.001}, kX);
  rig.bone("spine", "hips", {0, 1.03, 0.001}, {0, 1.14, -0.007}, kX);
  rig.bone("waist", "spine", {0, 1.14, -0.007}, {0, 1.26, -0.015}, kX);
  rig.bone("chest", "waist", {0, 1.26, -0.015}, {0, 1.45, -0.026}, kX);
  rig.bone("neck", "chest", {0, 1.45, -0.026}, {0, 1.545, -0.002}, kX);
  rig.bone("head", "neck", {0, 1.545, -0.002}, {0, 1.745, 0.008}, kX);
  rig.bone("jaw", "head", {0, 1.592, 0.012}, {0, 1.545, 0.084}, kX);

  rig.control_on("hips_control", "torso", "hips");
  rig.copy_rotation("hips", "hips_control", 1, false);
  constexpr std::array<double, 3> kThirds{1.0 / 3, 1.0 / 3, 1.0 / 3};
  rig.flexor("spine_control", "torso", {"spine", "waist", "chest"}, kThirds);
  rig.control("look_at", "root", {0, 1.64, 0.8}, {0, 1.64, 0.9}, kX);
  rig.damped_track("head", "look_at", 0.3, "z");
}

void add_arm(TemplateBuilder& rig) {
  // T-pose: the arm lies along x, the palm faces the ground, the thumb is in front.
  const Vec3d shoulder(0.165, 1.42, -0.02), wrist(0.700, 1.42, -0.02);
  const Vec3d elbow = bent_joint(shoulder, wrist, 0.53, kBend, -kZ);
  const Vec3d hinge = hinge_axis(shoulder, elbow, wrist);
  rig.bone("clavicle.L", "chest", {0.020, 1.43, 0.024}, shoulder, hinge);
  rig.bone("upper_arm.L", "clavicle.L", shoulder, elbow, hinge);
  rig.bone("lower_arm.L", "upper_arm.L", elbow, wrist, hinge);
  rig.limit_rotation("lower_arm.L", {-kBend, -80, 0}, {145, 80, 0});
  add_template_hand(rig, "lower_arm.L", wrist, {kX, kZ, -kY}, ".L");

  rig.control_on("hand_ik.L", "root", "wrist.L");
  rig.ik("lower_arm.L", "hand_ik.L", "elbow_pole.L", "root", 0.4);
  rig.copy_rotation("wrist.L", "hand_ik.L", 1, false);
}

void add_biped_leg(TemplateBuilder& rig) {
  const Vec3d hip(0.090, 0.915, 0), ankle(0.100, 0.085, -0.012);
  const Vec3d ball(0.112, 0.022, 0.112), tip(0.118, 0.017, 0.182);
  const Vec3d knee = bent_joint(hip, ankle, 0.505, kBend, kZ);
  const Vec3d hinge = hinge_axis(hip, knee, ankle);
  rig.bone("thigh.L", "hips", hip, knee, hinge);
  rig.bone("shin.L", "thigh.L", knee, ankle, hinge);
  rig.limit_rotation("shin.L", {-kBend, 0, 0}, {150, 0, 0});
  // Lifting the toes closes the ankle.
  rig.bone("foot.L", "shin.L", ankle, ball, -kX);
  rig.bone("toes.L", "foot.L", ball, tip, -kX);

  // Foot roll (Annexe I, figure I.4): back, the foot stands on the heel; forwards, on the ball with the toes
  // flat. All pivots roll forwards by positive turns. The toes' tip is turned on by hand.
  const Vec3d under(ankle.x(), 0, ankle.z()), heel(ankle.x(), 0, ankle.z() - 0.055), toe(tip.x(), 0, tip.z());
  rig.control("foot_ik.L", "root", under, under + Vec3d(0, 0, 0.22), kX);
  rig.control("foot_roll.L", "foot_ik.L", heel - Vec3d(0, 0, 0.06), heel + Vec3d(0, 0.08, -0.06), kX);
  rig.control("heel_pivot.L", "foot_ik.L", heel, toe, kX);
  rig.control("toe_pivot.L", "heel_pivot.L", toe, {ball.x(), 0, ball.z()}, kX);
  rig.control("ball_pivot.L", "toe_pivot.L", ball, ankle, kX);
  rig.copy_rotation("heel_pivot.L", "foot_roll.L", 1, true);
  rig.limit_rotation("heel_pivot.L", {-45, 0, 0}, {0, 0, 0});
  rig.copy_rotation("ball_pivot.L", "foot_roll.L", 1, true);
  rig.limit_rotation("ball_pivot.L", {0, 0, 0}, {60, 0, 0});
  // What the leg, the foot and the toes follow: they lie on the foot and the toes, and hang on the pivots.
  rig.control_on("ankle_ik.L", "ball_pivot.L", "foot.L");
  rig.control_on("toes_follow.L", "toe_pivot.L", "toes.L");
  rig.ik("shin.L", "ankle_ik.L", "knee_pole.L", "root", 0.5);
  rig.copy_rotation("foot.L", "ankle_ik.L", 1, false);
  rig.copy_rotation("toes.L", "toes_follow.L", 1, false);
}

}  // namespace

ControlRig make_biped_template() {
  TemplateBuilder rig("biped");
  add_biped_trunk(rig);
  add_arm(rig);
  add_biped_leg(rig);
  return rig.finish();
}

}  // namespace sinew
