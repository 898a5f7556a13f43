#include <cstdio>

#include <sinew/character/performer.h>
#include <sinew/models/models.h>
#include <sinew/version.h>

int main() {
  const sinew::Scene tube = sinew::make_model("tube").scene;
  sinew::Performer performer(sinew::Character::make(tube, sinew::Recipe()));
  sinew::Pose pose = performer.character().rest_pose();
  pose.joints[1].rotation = sinew::Quatf(Eigen::AngleAxisf(1.0f, sinew::Vec3f::UnitZ()));
  performer.perform(pose);
  std::printf("sinew %s: %zu vertices\n", SINEW_VERSION, performer.positions(0).size());
  return performer.positions(0).size() == 2050 ? 0 : 1;
}
