#include <sinew/models/models.h>

namespace sinew {

BuiltModel make_tube_model(const ModelOptions& options, const Progress& progress) {
  const Proportions& p = options.proportions;
  const double length = 2 * p.arm, radius = 0.2 * p.girth;
  Rig rig;
  Flesh flesh;
  const Vec3d axis = Vec3d::UnitX();
  // Joints end inside: one on the cap itself would be neither inside nor outside.
  const JointLimits free{{-180, 180}, {-90, 90}, {-180, 180}};
  const int lower = rig.add("lower", -1, -0.45 * length * axis, Vec3d::Zero(), Vec3d::UnitZ(), free);
  const int upper = rig.add("upper", lower, Vec3d::Zero(), 0.45 * length * axis, Vec3d::UnitZ(), free);
  flesh.add_cone({0, 0, {lower, upper}}, -length * axis, radius, length * axis, radius);
  // Caps with a rounded rim: a sharp one would need slivers.
  flesh.carve_beyond({0, 0.25 * radius, {}}, -0.5 * length * axis, -axis);
  flesh.carve_beyond({0, 0.25 * radius, {}}, 0.5 * length * axis, axis);
  BuiltModel model =
      finish_model("tube", std::move(rig), flesh, Vec3d::Zero(), 0.3 * radius, options.vertices, progress);
  const Rig& r = model.rig;
  for (const bool twist : {false, true})
    model.scene.clips.push_back(make_clip(r, twist ? "twist" : "bend", 150, 30, [&](int degrees) {
      Posture posture = r.rest();
      (twist ? posture.angles[1].twist : posture.angles[1].flex) = degrees;
      return posture;
    }));
  return model;
}

}  // namespace sinew
