#include <sinew/scene/frame_writer.h>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <tests/support/meshes.h>
#include <tests/support/temporary_directory.h>

namespace sinew {
namespace {

Scene cube_scene() {
  Scene scene;
  scene.meshes.emplace_back();
  scene.meshes[0].name = "cube";
  scene.meshes[0].surface = test::make_cube();
  return scene;
}

std::string refusal(const Scene& scene, const std::string& name, const FrameWriterOptions& options) {
  const test::TemporaryDirectory directory;
  try {
    make_frame_writer(scene, directory / name, options);
  } catch (const Error& error) {
    EXPECT_TRUE(directory.files().empty());
    return error.what();
  }
  ADD_FAILURE() << name << " was not refused";
  return {};
}

TEST(FrameWriter, PicksTheFormatByExtension) {
  const test::TemporaryDirectory directory;
  const Scene scene = cube_scene();
  const std::vector<Vec3f> normals(8, Vec3f::UnitY());
  for (const char* name : {"a.pc2", "b.mdd", "c.glb", "d.obj", "E.PC2"}) {
    const auto writer = make_frame_writer(scene, directory / name, {});
    writer->write_frame(
        std::vector<MeshFrame>{{scene.meshes[0].surface.positions, normals, Affine3d::Identity()}});
    writer->finish();
    EXPECT_TRUE(std::filesystem::exists(directory / name)) << name;
  }
}

TEST(FrameWriter, RefusesWhatItCannotWrite) {
  const Scene scene = cube_scene();
  EXPECT_NE(refusal(scene, "out.abc", {}).find(".pc2 .mdd .glb .obj"), std::string::npos);
  EXPECT_NE(refusal(Scene{}, "out.pc2", {}).find("no meshes"), std::string::npos);
  FrameWriterOptions options;
  options.frame_count = 0;
  EXPECT_NE(refusal(scene, "out.pc2", options).find("0 frames"), std::string::npos);
  options = {};
  options.frames_per_second = 0;
  EXPECT_NE(refusal(scene, "out.glb", options).find("per second"), std::string::npos);
  options = {};
  options.up_axis = 'x';
  EXPECT_NE(refusal(scene, "out.mdd", options).find("'x'"), std::string::npos);
}

}  // namespace
}  // namespace sinew
