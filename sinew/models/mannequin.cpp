#include <algorithm>
#include <cmath>

#include <sinew/models/mannequin_clips.h>
#include <sinew/models/models.h>

namespace sinew {

namespace {

/// Heights of an adult of 1.78 m, from the ground up, with legs and head scaled.
struct MannequinBody {
  explicit MannequinBody(const Proportions& p) : leg(p.leg), arm(p.arm), head(p.head), g(p.girth) {
    const double foot = 0.085;
    knee = foot + leg * 0.42;
    hip = knee + leg * 0.42;
    lift = hip - 0.925;
  }
  double leg, arm, head, g;
  double knee, hip;
  double lift;  ///< how much higher than usual the trunk stands

  Vec3d at(double x, double y, double z) const { return {x, y + lift, z}; }
  /// Where flesh lies: it moves away from the bones as it grows.
  Vec3d flesh_at(double x, double y, double z) const { return at(g * x, y, g * z); }
};

void add_trunk(Rig& rig, Flesh& flesh, const MannequinBody& body) {
  const double g = body.g;
  const Vec3d x = Vec3d::UnitX();
  const auto at = [&](double px, double y, double z) { return body.at(px, y, z); };
  const auto r = [&](double rx, double ry, double rz) {
    return Vec3d(rx * g, ry * std::pow(g, 0.3), rz * g);
  };
  // Bending forwards is positive: it turns y towards z.
  const int hips = rig.add("hips", -1, at(0, 0.955, 0), at(0, 1.05, 0), x, even_limits({-180, 180}, 90, 180));
  const int spine =
      rig.add("spine", hips, at(0, 1.05, 0), at(0, 1.16, -0.005), x, even_limits({-25, 35}, 20, 20));
  const int waist =
      rig.add("waist", spine, at(0, 1.16, -0.005), at(0, 1.28, -0.012), x, even_limits({-20, 30}, 20, 25));
  const int chest =
      rig.add("chest", waist, at(0, 1.28, -0.012), at(0, 1.46, -0.02), x, even_limits({-15, 25}, 15, 25));

  const int trunk = flesh.add_group(0, 0.02 * g);
  const auto add = [&](std::vector<int> joints, const Vec3d& centre, const Vec3d& radii, double blend,
                       const Mat3d& axes = Mat3d::Identity()) {
    flesh.add_ellipsoid({trunk, blend * g, std::move(joints)}, centre, radii, axes);
  };
  const auto add_pair = [&](const std::vector<int>& joints, double px, double y, double z, const Vec3d& radii,
                            double blend, double tx = 0, double ty = 0, double tz = 0) {
    add(joints, body.flesh_at(px, y, z), radii, blend, tilt(tx, ty, tz));
    add(joints, body.flesh_at(-px, y, z), radii, blend, tilt(tx, -ty, -tz));
  };
  const std::vector<int> back{hips, spine, waist, chest};
  add(back, body.flesh_at(0, 1.285, -0.008), r(0.142, 0.175, 0.100), 0.03);                // rib cage
  add(back, body.flesh_at(0, 1.09, 0.0), r(0.122, 0.15, 0.087), 0.07);                     // waist
  add({hips, spine}, body.flesh_at(0, 0.962, -0.004), r(0.148, 0.10, 0.098), 0.07);        // pelvis
  add({hips, spine, waist}, body.flesh_at(0, 1.05, 0.038), r(0.085, 0.125, 0.058), 0.04);  // belly
  add_pair({hips}, 0.070, 0.905, -0.058, r(0.076, 0.086, 0.07), 0.03);                     // glutes
  add_pair(back, 0.068, 1.352, 0.066, r(0.082, 0.056, 0.040), 0.025, -12, 14, -12);        // pectorals
  add_pair(back, 0.102, 1.285, -0.042, r(0.052, 0.135, 0.058), 0.03, 0, 0, -10);           // latissimus
  add_pair(back, 0.072, 1.37, -0.078, r(0.062, 0.085, 0.034), 0.03, 10, 18, 10);           // shoulder blades
  add_pair(back, 0.030, 1.13, -0.062, r(0.030, 0.15, 0.030), 0.02);                        // along the spine
  add_pair(back, 0.094, 1.07, 0.008, r(0.040, 0.10, 0.058), 0.05);                         // flanks
  add_pair(back, 0.036, 1.19, 0.082, r(0.032, 0.055, 0.020), 0.018);                       // abdominals
  add_pair(back, 0.034, 1.10, 0.084, r(0.031, 0.050, 0.020), 0.018);
  add(back, body.flesh_at(0, 1.405, -0.012), r(0.150, 0.062, 0.072), 0.03);  // between the shoulders
  // A furrow down the front and down the back.
  flesh.carve_ellipsoid({trunk, 0.02 * g, {}}, body.flesh_at(0, 1.30, 0.128), {0.006 * g, 0.09, 0.022 * g});
  flesh.carve_ellipsoid({trunk, 0.025 * g, {}}, body.flesh_at(0, 1.22, -0.122), {0.006 * g, 0.2, 0.016 * g});
  flesh.carve_ellipsoid({trunk, 0.012 * g, {}}, body.flesh_at(0, 1.055, 0.112),
                        {0.006 * g, 0.007, 0.012 * g});  // navel
}

void add_head(Rig& rig, Flesh& flesh, const MannequinBody& body) {
  const double g = body.g, h = body.head;
  const Vec3d x = Vec3d::UnitX();
  const int chest = rig.at("chest");
  const Vec3d base = body.at(0, 1.562, 0.0);
  const int neck = rig.add("neck", chest, body.at(0, 1.475, -0.025), base, x, even_limits({-40, 40}, 35, 40));
  const int head =
      rig.add("head", neck, base, base + h * Vec3d(0, 0.2, 0.01), x, even_limits({-30, 35}, 20, 45));
  const int jaw = rig.add("jaw", head, base + h * Vec3d(0, 0.048, 0.012), base + h * Vec3d(0, -0.004, 0.085),
                          x, even_limits({0, 25}, 5, 0));

  const int throat = flesh.add_group(0, 0.03 * g);
  flesh.add_cone({throat, 0.03 * g, {neck, chest}}, body.at(0, 1.455, -0.028), 0.060 * g,
                 base + Vec3d(0, 0.03 * h, -0.012), 0.052 * std::sqrt(g * h));
  for (const double side : {1.0, -1.0}) {
    // From behind the ear to the collar bone, and from the neck to the shoulder.
    flesh.add_cone({throat, 0.012 * g, {neck}},
                   base + h * Vec3d(side * 0.054 * std::min(1.0, g), 0.045, -0.012), 0.011 * g,
                   body.flesh_at(side * 0.016, 1.462, 0.036), 0.0085 * g);
    // On a thin body it sinks between the shoulders, else a hole would open under it.
    const double slope = 0.4 + 0.6 * std::min(1.0, g), out = 0.5 + 0.5 * g;
    flesh.add_cone({throat, 0.03 * g, {neck, chest}}, body.flesh_at(side * 0.028, 1.42 + 0.11 * slope, -0.04),
                   0.032 * g, body.at(side * 0.128 * out, 1.42 + 0.032 * slope, -0.034 * g), 0.030 * g);
    flesh.add_cone({throat, 0.03 * g, {neck, chest}}, body.flesh_at(side * 0.03, 1.45, -0.025), 0.04 * g,
                   body.at(side * 0.10 * out, 1.425, -0.025 * g), 0.034 * g);
  }
  flesh.add_sphere({throat, 0.012 * g, {neck}}, body.at(0, 1.535, 0.034 * g), 0.011 * g);

  const int skull = flesh.add_group(0, 0.016 * h);
  const std::vector<int> own{head};
  const auto at = [&](double px, double y, double z) { return Vec3d(base + h * Vec3d(px, y, z)); };
  const auto add = [&](std::vector<int> joints, const Vec3d& centre, const Vec3d& radii, double blend,
                       const Mat3d& axes = Mat3d::Identity()) {
    flesh.add_ellipsoid({skull, blend * h, std::move(joints)}, centre, h * radii, axes);
  };
  const auto add_pair = [&](const std::vector<int>& joints, double px, double y, double z, const Vec3d& radii,
                            double blend, double tx = 0, double ty = 0, double tz = 0) {
    add(joints, at(px, y, z), radii, blend, tilt(tx, ty, tz));
    add(joints, at(-px, y, z), radii, blend, tilt(tx, -ty, -tz));
  };
  add(own, at(0, 0.112, -0.008), {0.076, 0.090, 0.096}, 0.02);                        // cranium
  add({head, jaw}, at(0, 0.052, 0.034), {0.056, 0.074, 0.056}, 0.03);                 // face
  add({head}, at(0, 0.120, 0.058), {0.058, 0.040, 0.036}, 0.025);                     // forehead
  add_pair({jaw, head}, 0.034, 0.022, 0.028, {0.020, 0.034, 0.042}, 0.04, 25, 0, 8);  // jaw
  add({jaw}, at(0, -0.008, 0.072), {0.022, 0.019, 0.019}, 0.025);                     // chin
  add_pair({head, jaw}, 0.031, 0.036, 0.056, {0.024, 0.030, 0.026}, 0.03);            // cheeks
  add_pair(own, 0.042, 0.064, 0.058, {0.020, 0.017, 0.020}, 0.03);                    // cheek bones
  add_pair(own, 0.030, 0.102, 0.083, {0.026, 0.010, 0.012}, 0.02, 0, 12, -6);         // brows
  flesh.carve_ellipsoid({skull, 0.018 * h, {}}, at(0.031, 0.082, 0.108), h * Vec3d(0.018, 0.011, 0.017));
  flesh.carve_ellipsoid({skull, 0.018 * h, {}}, at(-0.031, 0.082, 0.108), h * Vec3d(0.018, 0.011, 0.017));
  // What stands out of the sockets is a group of its own, else it would be carved too.
  const int features = flesh.add_group(0, 0.010 * h);
  const auto feature = [&](std::vector<int> joints, const Vec3d& centre, const Vec3d& radii, double blend,
                           const Mat3d& axes = Mat3d::Identity()) {
    flesh.add_ellipsoid({features, blend * h, std::move(joints)}, centre, h * radii, axes);
  };
  for (const double side : {1.0, -1.0}) {
    feature(own, at(side * 0.031, 0.081, 0.0775), {0.0150, 0.0125, 0.0125}, 0.006);  // closed eyes
    feature(own, at(side * 0.0085, 0.042, 0.099), {0.0095, 0.0085, 0.010}, 0.010);   // nostrils
    feature(own, at(side * 0.073, 0.070, -0.006), {0.0115, 0.031, 0.019}, 0.010,
            tilt(-12, side * 16, side * -6));  // ears
  }
  flesh.add_cone({features, 0.014 * h, own}, at(0, 0.094, 0.083), 0.0105 * h, at(0, 0.048, 0.108),
                 0.0105 * h);                                                   // nose
  feature({head, jaw}, at(0, 0.0195, 0.0895), {0.023, 0.0075, 0.0105}, 0.008);  // lips
  feature({jaw}, at(0, 0.0080, 0.0875), {0.0195, 0.0075, 0.0105}, 0.006);
}

void add_side(Rig& rig, Flesh& flesh, const MannequinBody& body, double side) {
  const double g = body.g;
  const std::string suffix = side > 0 ? ".L" : ".R";
  const auto at = [&](double x, double y, double z) { return body.at(side * x, y, z); };
  const int chest = rig.at("chest"), hips = rig.at("hips");

  // Arms hang at 45°, palms to the thighs.
  LimbFrame arm;
  arm.origin = at(0.172 * (0.5 + 0.5 * g), 1.432, -0.022);
  arm.along = Vec3d(side * 0.70, -0.71, 0.03).normalized();
  arm.thumb = (Vec3d::UnitZ() - Vec3d::UnitZ().dot(arm.along) * arm.along).normalized();
  arm.palm = side * arm.along.cross(arm.thumb);
  const Vec3d collar = at(0.022, 1.445, 0.028);
  const int clavicle = rig.add("clavicle" + suffix, chest, collar, arm.origin, side * Vec3d::UnitY(),
                               {{-25, 25}, {-15, 40}, {-10, 10}});
  Vec3d wrist;
  const int shoulder = flesh.add_group(0, 0.03 * g);
  const int lower =
      add_arm(rig, flesh, shoulder, clavicle, arm, suffix, 0.285 * body.arm, 0.25 * body.arm, g, wrist);
  const int upper = rig.at("upper_arm" + suffix);
  // Deltoid: a cap over the shoulder, tapering into the upper arm.
  flesh.add_ellipsoid({shoulder, 0.03 * g, {upper, clavicle}}, arm.at(0.030, 0.002, -0.010 * g),
                      {0.082, 0.050 * g, 0.046 * g}, arm.axes());
  flesh.add_cone({shoulder, 0.02 * g, {clavicle, chest}}, at(0.03, 1.447, 0.034 * g), 0.010 * g,
                 arm.at(0, 0.02, -0.025 * g), 0.012 * g);  // collar bone
  flesh.add_cone({shoulder, 0.03 * g, {chest, clavicle}}, at(0.09 * g, 1.36, 0.045 * g), 0.034 * g,
                 arm.at(0.03, 0.012, 0), 0.034 * g);  // chest to arm
  flesh.add_cone({shoulder, 0.03 * g, {chest, clavicle}}, at(0.10 * g, 1.34, -0.060 * g), 0.038 * g,
                 arm.at(0.03, -0.012, 0), 0.034 * g);  // back to arm
  flesh.add_cone({shoulder, 0.03 * g, {clavicle, chest}}, at(0.06 * g, 1.40, -0.010 * g), 0.05 * g,
                 arm.origin,
                 0.044 * g);  // what lies between them
  LimbFrame hand = arm;
  hand.origin = wrist;
  const int hand_group = flesh.add_group(shoulder, 0.02 * g);
  add_hand(rig, flesh, hand_group, lower, hand, suffix, std::sqrt(body.arm), g);

  // The leg: straight, a little outwards.
  const Vec3d hip(side * 0.088 * (0.4 + 0.6 * g), body.hip, 0.0),
      knee(side * 0.100 * (0.6 + 0.4 * g), body.knee, 0.006),
      ankle(side * 0.104 * (0.6 + 0.4 * g), 0.085, -0.018);
  const Vec3d ball = ankle + Vec3d(side * 0.014, -0.060, 0.128),
              toe = ball + Vec3d(side * 0.008, -0.004, 0.07);
  // Knees close backwards, hips forwards, ankles lift the toes.
  const Vec3d x = Vec3d::UnitX();
  const int thigh = rig.add("thigh" + suffix, hips, hip, knee, -x, {{-30, 135}, {-50, 50}, {-45, 45}});
  const int shin = rig.add("shin" + suffix, thigh, knee, ankle, x, {{0, 150}, {-3, 3}, {-10, 10}});
  const int foot = rig.add("foot" + suffix, shin, ankle, ball, -x, {{-55, 40}, {-25, 25}, {-20, 20}});
  const int toes = rig.add("toes" + suffix, foot, ball, toe, -x, {{-35, 60}, {-5, 5}, {-5, 5}});

  const int leg = flesh.add_group(0, 0.035 * g);
  const auto cone = [&](std::vector<int> joints, const Vec3d& a, double ra, const Vec3d& b, double rb,
                        double blend) {
    flesh.add_cone({leg, blend * g, std::move(joints)}, a, ra * g, b, rb * g);
  };
  const auto on = [](const Vec3d& a, const Vec3d& b, double share, double dx, double dz) {
    return Vec3d(a + share * (b - a) + Vec3d(dx, 0, dz));
  };
  const auto mass = [&](std::vector<int> joints, const Vec3d& a, const Vec3d& b, double share, double dx,
                        double dz, double rx, double length, double rz, double blend) {
    Mat3d axes;
    axes.col(1) = (b - a).normalized();
    axes.col(0) = (Vec3d::UnitX() - axes.col(1).x() * axes.col(1)).normalized();
    axes.col(2) = axes.col(0).cross(axes.col(1));
    flesh.add_ellipsoid({leg, blend * g, std::move(joints)}, on(a, b, share, side * dx * g, dz * g),
                        {rx * g, length * (b - a).norm(), rz * g}, axes);
  };
  cone({thigh, hips}, on(hip, knee, 0.04, 0, 0), 0.072, on(hip, knee, 0.93, 0, 0), 0.044, 0.03);
  mass({thigh}, hip, knee, 0.45, 0.010, 0.028, 0.058, 0.46, 0.048, 0.03);        // quadriceps
  mass({thigh}, hip, knee, 0.74, -0.026, 0.022, 0.027, 0.18, 0.028, 0.02);       // above the knee, inside
  mass({thigh}, hip, knee, 0.70, 0.026, 0.022, 0.025, 0.20, 0.028, 0.02);        // and outside
  mass({thigh}, hip, knee, 0.48, -0.006, -0.030, 0.050, 0.42, 0.042, 0.03);      // hamstrings
  mass({thigh, hips}, hip, knee, 0.22, -0.028, 0.0, 0.044, 0.30, 0.052, 0.03);   // adductors
  mass({thigh, hips}, hip, knee, 0.04, 0.040, -0.010, 0.040, 0.26, 0.05, 0.06);  // outside of the hip
  flesh.add_ellipsoid({leg, 0.022 * g, {shin, thigh}}, knee + Vec3d(0, 0.004, 0.036 * g),
                      g * Vec3d(0.023, 0.028, 0.012));                     // knee cap
  mass({thigh, shin}, hip, knee, 1.0, 0, 0.0, 0.044, 0.10, 0.042, 0.035);  // condyles
  cone({shin}, on(knee, ankle, 0.05, 0, -0.002), 0.042, on(knee, ankle, 0.97, 0, 0), 0.029, 0.025);
  mass({shin}, knee, ankle, 0.29, -0.015, -0.028, 0.033, 0.33, 0.036, 0.035);  // calf, inside
  mass({shin}, knee, ankle, 0.26, 0.017, -0.027, 0.031, 0.31, 0.034, 0.035);   // calf, outside
  mass({shin}, knee, ankle, 0.33, 0.012, 0.014, 0.027, 0.34, 0.024, 0.02);     // shin muscle
  cone({shin, foot}, on(knee, ankle, 0.6, 0, -0.022 * g), 0.018,
       ankle + Vec3d(0, -0.035, -0.036 * std::min(1.0, g)), 0.015,
       0.018);  // heel tendon
  flesh.add_sphere({leg, 0.012 * g, {foot, shin}}, ankle + g * Vec3d(side * 0.027, -0.008, -0.004),
                   0.0125 * g);  // ankle bones
  flesh.add_sphere({leg, 0.012 * g, {foot, shin}}, ankle + g * Vec3d(side * -0.027, 0.004, 0.004),
                   0.0135 * g);

  // Feet grow less than the body: their toes would melt together or come apart.
  const double f = std::clamp(g, 0.8, 1.2);
  const int sole = flesh.add_group(leg, 0.02 * f);
  // Whatever their size, pads keep their lowest point.
  const auto pad = [&](std::vector<int> joints, const Vec3d& a, double ra, const Vec3d& b, double rb,
                       double blend) {
    const Vec3d up = (f - 1) * Vec3d::UnitY();
    flesh.add_cone({sole, blend * f, std::move(joints)}, a + ra * up, ra * f, b + rb * up, rb * f);
  };
  const Vec3d heel = ankle + Vec3d(0, -0.050, -0.042);
  pad({foot}, ankle + Vec3d(0, -0.012, 0.0), 0.034, ankle + Vec3d(side * 0.004, -0.038, 0.07), 0.031, 0.02);
  pad({foot}, heel, 0.033, ankle + Vec3d(0, -0.045, 0.0), 0.034, 0.02);
  pad({foot}, heel + Vec3d(side * 0.008, -0.006, 0.01), 0.025, ball + Vec3d(side * 0.018, 0.002, -0.03),
      0.022, 0.02);  // outer edge
  pad({foot}, ankle + Vec3d(side * -0.004, -0.030, 0.05), 0.026, ball + Vec3d(side * -0.018, 0.004, -0.01),
      0.0215, 0.02);  // arch
  pad({foot, toes}, ball + Vec3d(side * -0.022, 0.0, 0.0), 0.0215, ball + Vec3d(side * 0.026, -0.004, -0.014),
      0.018, 0.014);
  const double toe_length[5] = {0.060, 0.058, 0.050, 0.042, 0.032};
  const double toe_radius[5] = {0.0132, 0.0098, 0.0092, 0.0088, 0.0086};
  for (int t = 0; t < 5; ++t) {
    const double across = -0.028 + 0.0155 * t + (t == 0 ? -0.002 : 0.0025);
    const Vec3d root = ball + Vec3d(side * across, -0.004, 0.012 - 0.006 * t);
    const Vec3d tip = root + Vec3d(side * (0.0015 * t - 0.002), -0.006, toe_length[t] - 0.012);
    pad({toes}, root, toe_radius[t] + 0.003, tip, toe_radius[t], 0.006);
  }
  // The ground flattens the sole.
  flesh.carve_beyond({sole, 0.008, {}}, Vec3d(0, 0.001, 0), -Vec3d::UnitY());
}

}  // namespace

BuiltModel make_mannequin_model(const ModelOptions& options, const Progress& progress) {
  const MannequinBody body(options.proportions);
  Rig rig;
  Flesh flesh;
  add_trunk(rig, flesh, body);
  add_head(rig, flesh, body);
  add_side(rig, flesh, body, 1);
  add_side(rig, flesh, body, -1);
  BuiltModel model = finish_model("mannequin", std::move(rig), flesh, body.at(0, 1.0, 0),
                                  0.0045 * std::min(1.0, body.g), options.vertices, progress);
  model.scene.clips = mannequin_clips(model.rig);
  return model;
}

}  // namespace sinew
