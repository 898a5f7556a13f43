#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/scene/frame_writer.h>
#include <tests/support/meshes.h>
#include <tests/support/temporary_directory.h>

namespace sinew {
namespace {

using test::TemporaryDirectory;

Scene scene_of(const std::vector<std::string>& names) {
  Scene scene;
  for (const std::string& name : names) {
    SceneMesh mesh;
    mesh.name = name;
    mesh.surface.positions = {Vec3f(0, 0, 0), Vec3f(1, 0, 0)};
    scene.meshes.push_back(mesh);
  }
  return scene;
}

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& path) {
  std::vector<std::uint8_t> result;
  for (std::byte b : read_file(path)) result.push_back(static_cast<std::uint8_t>(b));
  return result;
}

/// Two frames of two vertices: (1 2 3) (4 5 -6) and (0.5 0 0) (0 0 0).
void write_two_frames(FrameWriter& writer, const Affine3d& scene_from_mesh = Affine3d::Identity()) {
  const std::vector<Vec3f> first = {Vec3f(1, 2, 3), Vec3f(4, 5, -6)};
  const std::vector<Vec3f> second = {Vec3f(0.5f, 0, 0), Vec3f(0, 0, 0)};
  writer.write_frame(std::vector<MeshFrame>{{first, {}, scene_from_mesh}});
  writer.write_frame(std::vector<MeshFrame>{{second, {}, scene_from_mesh}});
  writer.finish();
}

FrameWriterOptions two_frames() {
  FrameWriterOptions options;
  options.frame_count = 2;
  options.first_frame = 3;
  options.frames_per_second = 2;
  return options;
}

TEST(PointCacheWriter, Pc2HasTheExpectedBytes) {
  const TemporaryDirectory directory;
  const auto writer = make_frame_writer(scene_of({"body"}), directory / "out.pc2", two_frames());
  write_two_frames(*writer);
  EXPECT_EQ(writer->outputs(), std::vector<std::filesystem::path>{directory / "out.pc2"});
  const std::vector<std::uint8_t> expected = {
      'P', 'O', 'I',  'N',  'T', 'C', 'A',  'C',  'H', 'E', '2',  0,     // signature
      1,   0,   0,    0,                                                 // version
      2,   0,   0,    0,                                                 // points
      0,   0,   0x40, 0x40,                                              // start frame 3
      0,   0,   0x80, 0x3f,                                              // 1 frame per sample
      2,   0,   0,    0,                                                 // samples
      0,   0,   0x80, 0x3f, 0,   0,   0,    0x40, 0,   0,   0x40, 0x40,  // 1 2 3
      0,   0,   0x80, 0x40, 0,   0,   0xa0, 0x40, 0,   0,   0xc0, 0xc0,  // 4 5 -6
      0,   0,   0,    0x3f, 0,   0,   0,    0,    0,   0,   0,    0,     // 0.5 0 0
      0,   0,   0,    0,    0,   0,   0,    0,    0,   0,   0,    0};
  EXPECT_EQ(bytes_of(directory / "out.pc2"), expected);
}

TEST(PointCacheWriter, MddHasTheExpectedBytes) {
  const TemporaryDirectory directory;
  const auto writer = make_frame_writer(scene_of({"body"}), directory / "out.MDD", two_frames());
  write_two_frames(*writer);
  const std::vector<std::uint8_t> expected = {0,    0,    0, 2,  // frames
                                              0,    0,    0, 2,  // points
                                              0x3f, 0xc0, 0, 0,  // 1.5 s: frame 3 at 2 per second
                                              0x40, 0,    0, 0,  // 2 s
                                              0x3f, 0x80, 0, 0, 0x40, 0,    0, 0, 0x40, 0x40, 0, 0,
                                              0x40, 0x80, 0, 0, 0x40, 0xa0, 0, 0, 0xc0, 0xc0, 0, 0,
                                              0x3f, 0,    0, 0, 0,    0,    0, 0, 0,    0,    0, 0,
                                              0,    0,    0, 0, 0,    0,    0, 0, 0,    0,    0, 0};
  EXPECT_EQ(bytes_of(directory / "out.MDD"), expected);
}

/// The floats behind the header of a PC2 file.
std::vector<float> pc2_values(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  std::vector<float> values((bytes.size() - 32) / 4);
  std::memcpy(values.data(), bytes.data() + 32, 4 * values.size());
  return values;
}

TEST(PointCacheWriter, ZUpTurnsAboutX) {
  const TemporaryDirectory directory;
  FrameWriterOptions options = two_frames();
  options.up_axis = 'z';
  write_two_frames(*make_frame_writer(scene_of({"body"}), directory / "out.pc2", options));
  EXPECT_EQ(pc2_values(directory / "out.pc2"), (std::vector<float>{1, -3, 2, 4, 6, 5, 0.5f, 0, 0, 0, 0, 0}));
}

TEST(PointCacheWriter, TakesTheNodesTransformOut) {
  const TemporaryDirectory directory;
  const Affine3d scene_from_mesh = Eigen::Translation3d(1, 2, 3) * Eigen::Scaling(2.0);
  write_two_frames(*make_frame_writer(scene_of({"body"}), directory / "out.pc2", two_frames()),
                   scene_from_mesh);
  EXPECT_EQ(pc2_values(directory / "out.pc2"),
            (std::vector<float>{0, 0, 0, 1.5f, 1.5f, -4.5f, -0.25f, -1, -1.5f, -0.5f, -1, -1.5f}));
}

TEST(PointCacheWriter, NodeScaledToNothingKeepsScenePositions) {
  const TemporaryDirectory directory;
  const Affine3d flat(Eigen::Scaling(0.0));
  write_two_frames(*make_frame_writer(scene_of({"body"}), directory / "out.pc2", two_frames()), flat);
  EXPECT_EQ(pc2_values(directory / "out.pc2"), (std::vector<float>{1, 2, 3, 4, 5, -6, 0.5f, 0, 0, 0, 0, 0}));
}

TEST(PointCacheWriter, OneFilePerMeshWithSafeNames) {
  const TemporaryDirectory directory;
  const Scene scene = scene_of({"a/b", "", "eye", "eye", "..", "tab\t", "eye_2"});
  FrameWriterOptions options;
  const auto writer = make_frame_writer(scene, directory / "out.pc2", options);
  writer->write_frame(std::vector<MeshFrame>(
      scene.meshes.size(), MeshFrame{scene.meshes[0].surface.positions, {}, Affine3d::Identity()}));
  for (const std::string& name : directory.files())
    EXPECT_FALSE(name.ends_with(".pc2")) << "too early: " << name;
  writer->finish();
  EXPECT_EQ(directory.files(),
            (std::vector<std::string>{"out___.pc2", "out_a_b.pc2", "out_eye.pc2", "out_eye_2.pc2",
                                      "out_eye_2_2.pc2", "out_mesh1.pc2", "out_tab_.pc2"}));
  EXPECT_EQ(writer->outputs()[1], directory / "out_mesh1.pc2");
}

TEST(PointCacheWriter, LeavesNothingBehindUnlessFinished) {
  const TemporaryDirectory directory;
  {
    const auto writer = make_frame_writer(scene_of({"a", "b"}), directory / "out.mdd", two_frames());
    const std::vector<Vec3f> positions(2, Vec3f::Zero());
    writer->write_frame(std::vector<MeshFrame>(2, MeshFrame{positions, {}, Affine3d::Identity()}));
    EXPECT_THROW(writer->finish(), Error) << "one frame is missing";
  }
  EXPECT_TRUE(directory.files().empty());
}

TEST(PointCacheWriter, RefusesFramesThatDoNotFit) {
  const TemporaryDirectory directory;
  const auto writer = make_frame_writer(scene_of({"body"}), directory / "out.pc2", two_frames());
  const std::vector<Vec3f> three(3, Vec3f::Zero());
  EXPECT_THROW(writer->write_frame(std::vector<MeshFrame>{{three, {}, Affine3d::Identity()}}), Error);
  EXPECT_THROW(writer->write_frame({}), Error);
  const std::vector<Vec3f> broken = {Vec3f::Zero(), Vec3f(0, std::nanf(""), 0)};
  EXPECT_THROW(writer->write_frame(std::vector<MeshFrame>{{broken, {}, Affine3d::Identity()}}), Error);
}

}  // namespace
}  // namespace sinew
