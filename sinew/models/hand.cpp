#include <algorithm>

#include <sinew/core/index.h>
#include <sinew/models/models.h>

namespace sinew {

BuiltModel make_hand_model(const ModelOptions& options, const Progress& progress) {
  const Proportions& p = options.proportions;
  Rig rig;
  Flesh flesh;
  // A left hand, upright: fingers up, palm to +z, thumb to -x.
  LimbFrame frame;
  frame.along = Vec3d::UnitY();
  frame.thumb = -Vec3d::UnitX();
  frame.palm = Vec3d::UnitZ();
  const int wrist = add_hand(rig, flesh, 0, -1, frame, "", p.arm, p.girth);
  const double g = p.girth;
  const int stump = flesh.add_group(0, 0.02 * g);
  flesh.add_cone({stump, 0.016 * g, {wrist}}, frame.at(-0.07, 0.011 * g, 0), 0.0215 * g,
                 frame.at(0.01, 0.011 * g, 0), 0.018 * g);
  flesh.add_cone({stump, 0.016 * g, {wrist}}, frame.at(-0.07, -0.011 * g, 0), 0.0205 * g,
                 frame.at(0.01, -0.011 * g, 0), 0.017 * g);
  flesh.carve_beyond({stump, 0.012 * g, {}}, frame.at(-0.07, 0, 0), -frame.along);
  BuiltModel model = finish_model("hand", std::move(rig), flesh, frame.at(0.05, 0, 0),
                                  0.004 * std::min(1.0, p.girth), options.vertices, progress);
  const Rig& r = model.rig;
  // Every hinge of the fingers, one degree per frame up to its limit.
  model.scene.clips.push_back(make_clip(r, "bend", 112, 30, [&](int degrees) {
    Posture posture = r.rest();
    for (int finger = 0; finger < 5; ++finger)
      for (int segment = 1; segment < 4; ++segment)
        posture.angles[to_size(r.at(finger_joint(finger, segment, "")))].flex = degrees;
    return posture;
  }));
  model.scene.clips.push_back(make_clip(r, "fist", 90, 30, [&](int frame_number) {
    Posture posture = r.rest();
    close_fist(r, posture, "", frame_number / 90.0);
    return posture;
  }));
  return model;
}

}  // namespace sinew
