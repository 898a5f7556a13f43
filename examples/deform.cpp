// Loads a character, bends a joint and hands the deformed skin on: what an engine does each frame.
#include <cstdio>

#include <sinew/character/performer.h>
#include <sinew/scene/scene.h>

namespace {

// Stands for an engine's upload of the frame.
void draw(std::span<const sinew::Vec3f> positions, std::span<const sinew::Vec3f> normals) {
  std::printf("vertex 0 of %zu is at %g %g %g and faces %g %g %g\n", positions.size(), positions[0].x(),
              positions[0].y(), positions[0].z(), normals[0].x(), normals[0].y(), normals[0].z());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: deform CHARACTER.glb JOINT\n"), 2;
  try {
    // Once: read the file and make the character. Share it between threads and performers.
    const sinew::Scene scene = sinew::read_scene(argv[1]);
    const auto character = sinew::Character::make(scene, sinew::recipe_for_method("dqs"));
    const int joint = scene.skeleton.find(argv[2]);
    if (joint < 0) return std::fprintf(stderr, "%s: no joint '%s'\n", argv[1], argv[2]), 1;

    // Each frame: a pose in, positions and normals out. Nothing is allocated, nothing throws.
    sinew::Performer performer(character);
    sinew::Pose pose = character->rest_pose();
    for (int frame = 0; frame < 60; ++frame) {
      const Eigen::AngleAxisf turn(0.02f * frame, sinew::Vec3f::UnitX());
      pose.joints[joint].rotation = scene.skeleton.joints[joint].rest.rotation * turn;
      performer.perform(pose, 1.0 / 60);
      draw(performer.positions(0), performer.normals(0));  // the file's vertices, in the file's order
    }
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
