#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/scene/frame_writer.h>
#include <sinew/scene/normal_slots.h>
#include <sinew/scene/obj.h>
#include <tests/support/assets.h>
#include <tests/support/meshes.h>
#include <tests/support/temporary_directory.h>

namespace sinew {
namespace {

std::string content(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return std::string(as_text(bytes));
}

Scene one_mesh(Mesh surface, const std::string& name) {
  Scene scene;
  SceneMesh mesh;
  mesh.name = name;
  mesh.surface = std::move(surface);
  scene.meshes.push_back(std::move(mesh));
  return scene;
}

/// Random positions, UVs and normals of all magnitudes.
Scene random_scene(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-6, 4), mantissa(-1, 1), share(0, 1);
  Scene scene = one_mesh(test::make_grid(7, 5), "grid");
  SceneMesh& mesh = scene.meshes[0];
  std::vector<Vec3f> positions = mesh.surface.positions;
  for (Vec3f& position : positions)
    for (int c = 0; c < 3; ++c) position[c] = mantissa(random) * std::pow(10.0f, exponent(random));
  mesh.surface = make_mesh(positions, mesh.surface.polygons);
  for (std::size_t c = 0; c < mesh.surface.polygons.corners.size(); ++c) {
    mesh.texcoords.corners.push_back(static_cast<std::uint32_t>(c));
    mesh.texcoords.values.emplace_back(mantissa(random), share(random));
    mesh.normals.corners.push_back(static_cast<std::uint32_t>(c));
    mesh.normals.values.push_back(
        Vec3d(mantissa(random), mantissa(random), mantissa(random)).normalized().cast<float>());
  }
  return scene;
}

TEST(ObjWriter, ReadingBackGivesTheSameBits) {
  test::TemporaryDirectory directory;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Scene scene = random_scene(seed);
    write_obj(scene, directory / "a.obj");
    const Scene back = read_obj(directory / "a.obj");
    const SceneMesh &was = scene.meshes[0], &is = back.meshes[0];
    EXPECT_EQ(is.surface.positions, was.surface.positions);
    EXPECT_EQ(is.surface.polygons, was.surface.polygons);
    EXPECT_EQ(is.name, "grid");
    EXPECT_EQ(is.texcoords, was.texcoords);
    ASSERT_EQ(is.normals.corners.size(), was.normals.corners.size());
    for (std::size_t c = 0; c < is.normals.corners.size(); ++c)
      EXPECT_EQ(is.normals.values[is.normals.corners[c]], was.normals.values[was.normals.corners[c]]);
  }
}

TEST(ObjWriter, DirectivesComeBackWhereTheyStood) {
  test::TemporaryDirectory directory;
  const std::string text =
      "mtllib m.mtl\no Body\nv 0 0 0\nv 1 0 0\nv 1 0.1 0\nv 0 1 0\nvt 0.1 0.7\nusemtl red\nf 1/1 2/1 3/1\ns "
      "1\n"
      "usemtl blue\nf 1/1 3/1 4/1\n# end\ng last\n";
  const Scene scene = parse_obj(text, "a.obj");
  write_obj(scene, directory / "a.obj");
  EXPECT_EQ(content(directory / "a.obj"),
            "v 0 0 0\nv 1 0 0\nv 1 0.1 0\nv 0 1 0\nvt 0.1 0.7\nmtllib m.mtl\no Body\nusemtl red\nf 1/1 2/1 "
            "3/1\ns 1\n"
            "usemtl blue\nf 1/1 3/1 4/1\ng last\n");
  EXPECT_EQ(read_obj(directory / "a.obj").meshes, scene.meshes);
}

TEST(ObjWriter, MeshesCountTogetherAndStandWhereTheirNodesAre) {
  test::TemporaryDirectory directory;
  Scene scene = one_mesh(test::make_cube(), "left\nhalf");
  Scene other = one_mesh(test::make_cube(), "right");
  SceneMesh& right = other.meshes[0];
  for (std::size_t c = 0; c < right.surface.polygons.corners.size(); ++c) right.normals.corners.push_back(0);
  right.normals.values.push_back(Vec3f(0, 0, 1));
  Joint joint;
  joint.rest.translation = Vec3f(10, 0, 0);
  joint.rest.rotation = Quatf(Eigen::AngleAxisf(static_cast<float>(M_PI / 2), Vec3f::UnitY()));
  joint.rest.scale = Vec3f(1, 1, 3);
  scene.skeleton.joints.push_back(joint);
  right.joint = 0;
  scene.meshes.push_back(right);
  write_obj(scene, directory / "a.obj");
  const Scene back = read_obj(directory / "a.obj");
  const SceneMesh& mesh = back.meshes[0];
  ASSERT_EQ(mesh.surface.positions.size(), 16u);
  EXPECT_EQ(mesh.surface.polygons.size(), 12u);
  EXPECT_EQ(mesh.obj_directives[0].second, "o left_half");
  EXPECT_EQ(mesh.obj_directives[1], (std::pair<std::uint32_t, std::string>(6, "o right")));
  EXPECT_EQ(mesh.surface.positions[0], Vec3f(-1, -1, -1));
  EXPECT_LT((mesh.surface.positions[8] - Vec3f(7, -1, 1)).norm(), 1e-5f);
  // Only the second mesh has normals, and they turn with it.
  for (std::size_t c = 24; c < 48; ++c)
    EXPECT_LT((mesh.normals.values[mesh.normals.corners[c]] - Vec3f(1, 0, 0)).norm(), 1e-6f) << c;
}

void write_frames(FrameWriter& writer, const Scene& scene, int count, bool finish) {
  const std::vector<Vec3f> normals(normal_slots(scene.meshes[0]).slot_vertex.size(), Vec3f(0, 1, 0));
  for (int k = 0; k < count; ++k) {
    std::vector<Vec3f> positions = scene.meshes[0].surface.positions;
    for (Vec3f& position : positions) position.x() += static_cast<float>(k);
    MeshFrame frame;
    frame.positions = positions;
    frame.normals = normals;
    writer.write_frame(std::span(&frame, 1));
  }
  if (finish) writer.finish();
}

TEST(ObjWriter, FramesAreNumberedAndAppearTogether) {
  test::TemporaryDirectory directory;
  const Scene scene = one_mesh(test::make_cube(), "cube");
  FrameWriterOptions options;
  options.frame_count = 3;
  options.first_frame = 9;
  write_file(directory / "walk_0010.obj", "old");
  const auto writer = make_obj_frame_writer(scene, directory / "walk.obj", options);
  write_frames(*writer, scene, 3, false);
  EXPECT_EQ(content(directory / "walk_0010.obj"), "old");
  EXPECT_FALSE(std::filesystem::exists(directory / "walk_0009.obj"));
  writer->finish();
  EXPECT_EQ(directory.files(), (std::vector<std::string>{"walk_0009.obj", "walk_0010.obj", "walk_0011.obj"}));
  ASSERT_EQ(writer->outputs().size(), 3u);
  EXPECT_EQ(writer->outputs()[2], directory / "walk_0011.obj");
  const Scene last = read_obj(directory / "walk_0011.obj");
  EXPECT_EQ(last.meshes[0].surface.positions[0], Vec3f(1, -1, -1));
  EXPECT_EQ(last.meshes[0].normals.values[0], Vec3f(0, 1, 0));
}

TEST(ObjWriter, UnfinishedFramesLeaveNothing) {
  test::TemporaryDirectory directory;
  const Scene scene = one_mesh(test::make_cube(), "cube");
  FrameWriterOptions options;
  options.frame_count = 5;
  auto writer = make_obj_frame_writer(scene, directory / "walk.obj", options);
  write_frames(*writer, scene, 3, false);
  EXPECT_THROW(writer->finish(), Error);
  writer.reset();
  EXPECT_TRUE(directory.files().empty());
}

TEST(ObjWriter, ManyFramesKeepNoFilesOpen) {
  test::TemporaryDirectory directory;
  const Scene scene = one_mesh(test::make_cube(), "cube");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit saved = limit;
  limit.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  FrameWriterOptions options;
  options.frame_count = 200;
  EXPECT_NO_THROW({
    const auto writer = make_obj_frame_writer(scene, directory / "walk.obj", options);
    write_frames(*writer, scene, 200, true);
  });
  setrlimit(RLIMIT_NOFILE, &saved);
  EXPECT_EQ(directory.files().size(), 200u);
}

TEST(ObjWriter, SingleFrameKeepsTheName) {
  test::TemporaryDirectory directory;
  const Scene scene = one_mesh(test::make_cube(), "cube");
  const auto writer = make_obj_frame_writer(scene, directory / "walk.obj", {});
  write_frames(*writer, scene, 1, true);
  EXPECT_EQ(directory.files(), std::vector<std::string>{"walk.obj"});
}

TEST(ObjWriter, FramesWithoutNormalsAndFramesThatAreNotFinite) {
  test::TemporaryDirectory directory;
  const Scene scene = one_mesh(test::make_cube(), "cube");
  const auto writer = make_obj_frame_writer(scene, directory / "walk.obj", {});
  std::vector<Vec3f> positions = scene.meshes[0].surface.positions;
  MeshFrame frame;
  positions[3].y() = std::nanf("");
  frame.positions = positions;
  EXPECT_THROW(writer->write_frame(std::span(&frame, 1)), Error);
  positions[3].y() = 1;
  writer->write_frame(std::span(&frame, 1));
  writer->finish();
  EXPECT_EQ(content(directory / "walk.obj").find("vn"), std::string::npos);
}

TEST(ObjWriter, SceneWithoutMeshIsRefused) {
  test::TemporaryDirectory directory;
  EXPECT_THROW(write_obj(Scene{}, directory / "a.obj"), Error);
  EXPECT_THROW(make_obj_frame_writer(Scene{}, directory / "a.obj", {}), Error);
  EXPECT_THROW(write_obj(one_mesh(test::make_cube(), "cube"), directory / "missing" / "a.obj"), Error);
}

TEST(ObjWriter, RealBodyRoundTrip) {
  const auto path = test::asset("human_unrigged.obj");
  if (!path) GTEST_SKIP() << test::missing_asset("human_unrigged.obj");
  test::TemporaryDirectory directory;
  const Scene scene = read_obj(*path);
  write_obj(scene, directory / "a.obj");
  const Scene back = read_obj(directory / "a.obj");
  EXPECT_EQ(back.meshes[0].surface, scene.meshes[0].surface);
  EXPECT_EQ(back.meshes[0].texcoords, scene.meshes[0].texcoords);
}

}  // namespace
}  // namespace sinew
