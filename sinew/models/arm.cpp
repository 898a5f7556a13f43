#include <algorithm>
#include <cmath>

#include <sinew/core/index.h>
#include <sinew/models/models.h>

namespace sinew {

BuiltModel make_arm_model(const ModelOptions& options, const Progress& progress) {
  const Proportions& p = options.proportions;
  const double g = p.girth;
  Rig rig;
  Flesh flesh;
  // A left arm, stretched out to +x, with the palm up: as far supinated as it goes, so that it can be twisted
  // by 150° the other way.
  LimbFrame frame;
  frame.along = Vec3d::UnitX();
  frame.thumb = -Vec3d::UnitZ();
  frame.palm = Vec3d::UnitY();
  const int shoulder = rig.add("shoulder", -1, frame.at(-0.10, 0, 0), frame.origin, Vec3d::UnitZ(),
                               {{-45, 45}, {-45, 45}, {-45, 45}});
  // The stump of the shoulder: deltoid, and a cut through it.
  flesh.add_ellipsoid({0, 0.03 * g, {shoulder, shoulder}}, frame.at(-0.06, 0, 0),
                      {0.10 * g, 0.066 * g, 0.068 * g});
  flesh.carve_beyond({0, 0.02 * g, {}}, frame.at(-0.085, 0, 0), -frame.along);
  // The elbow closes upwards, palm to shoulder: its crease lies on the palm's side.
  LimbFrame elbow_frame = frame;
  elbow_frame.thumb = frame.palm;
  elbow_frame.palm = frame.thumb;
  Vec3d wrist;
  const int lower_arm =
      add_arm(rig, flesh, 0, shoulder, elbow_frame, "", 0.29 * p.arm, 0.255 * p.arm, g, wrist);
  flesh.add_ellipsoid({0, 0.03 * g, {rig.at("upper_arm"), shoulder}}, frame.at(0.015, 0, -0.002),
                      {0.09 * g, 0.056 * g, 0.058 * g});
  LimbFrame hand_frame = frame;
  hand_frame.origin = wrist;
  const int hand = flesh.add_group(0, 0.02 * g);
  add_hand(rig, flesh, hand, lower_arm, hand_frame, "", std::sqrt(p.arm), g);

  BuiltModel model = finish_model("arm", std::move(rig), flesh, frame.at(0.1, 0, 0), 0.004 * std::min(1.0, g),
                                  options.vertices, progress);
  const Rig& r = model.rig;
  const auto turn = [&](const char* name, int last, const auto& set) {
    model.scene.clips.push_back(make_clip(r, name, last, 30, [&](int frame_number) {
      Posture posture = r.rest();
      set(posture, frame_number);
      return posture;
    }));
  };
  const auto lower = to_size(r.at("lower_arm"));
  turn("bend", 150, [&](Posture& posture, int degrees) { posture.angles[lower].flex = degrees; });
  turn("twist", 150, [&](Posture& posture, int degrees) { posture.angles[lower].twist = degrees; });
  turn("fist", 90,
       [&](Posture& posture, int frame_number) { close_fist(r, posture, "", frame_number / 90.0); });
  return model;
}

}  // namespace sinew
