#include <sinew/scene/assimp_import.h>

#include <numbers>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <tests/support/collada_file.h>
#include <tests/support/fbx_file.h>
#include <tests/support/rigged_tube.h>
#include <tests/support/temporary_directory.h>

namespace sinew {
namespace {

using test::FbxNode;
using test::RiggedTube;
using test::TubeFileOptions;

constexpr double kQuarter = std::numbers::pi / 2;

Scene parse(const std::string& text, const std::string& extension) {
  return parse_assimp(std::as_bytes(std::span(text)), "tube." + extension, extension);
}

/// Everything that must come back from a file of the tube, whatever its kind, axes and unit.
void expect_tube(const Scene& scene, const RiggedTube& tube) {
  ASSERT_EQ(scene.meshes.size(), 1u);
  const SceneMesh& mesh = scene.meshes[0];
  EXPECT_EQ(mesh.name, "Tube");
  // Corners were joined again: as many vertices as the tube has, in the order the polygons use them.
  ASSERT_EQ(mesh.surface.positions.size(), tube.mesh.positions.size());
  ASSERT_EQ(mesh.surface.polygons.starts, tube.mesh.polygons.starts);
  std::vector<std::uint32_t> original(tube.mesh.positions.size());
  for (std::size_t c = 0; c < tube.mesh.polygons.corners.size(); ++c)
    original[mesh.surface.polygons.corners[c]] = tube.mesh.polygons.corners[c];
  for (std::size_t c = 0; c < tube.mesh.polygons.corners.size(); ++c)
    EXPECT_EQ(original[mesh.surface.polygons.corners[c]], tube.mesh.polygons.corners[c]);

  ASSERT_EQ(scene.skins.size(), 1u);
  const Skin& skin = scene.skins[0];
  const int lower = scene.skeleton.find("Lower"), upper = scene.skeleton.find("Upper");
  ASSERT_GE(lower, 0);
  ASSERT_GE(upper, 0);
  EXPECT_EQ(scene.skeleton.joints[to_size(upper)].parent, lower);
  EXPECT_TRUE(scene.skeleton.joints[to_size(upper)].deforms);
  EXPECT_EQ(scene.skeleton.find("RootNode"), -1);
  for (std::size_t v = 0; v < original.size(); ++v) {
    EXPECT_LT((mesh.surface.positions[v] - tube.mesh.positions[original[v]]).norm(), 1e-5f) << v;
    float weight = 0;
    for (std::size_t i = 0; i < mesh.weights.row_size(v); ++i)
      if (skin.joints[mesh.weights.row_joints(v)[i]] == upper) weight += mesh.weights.row_values(v)[i];
    EXPECT_NEAR(weight, tube.upper_weights[original[v]], 1e-5f) << v;
  }
  ASSERT_EQ(mesh.normals.corners.size(), tube.mesh.polygons.corners.size());
  ASSERT_EQ(mesh.texcoords.corners.size(), tube.mesh.polygons.corners.size());
  for (std::size_t c = 0; c < mesh.normals.corners.size(); ++c) {
    const Vec3f& position = tube.mesh.positions[tube.mesh.polygons.corners[c]];
    const Vec3f outwards = Vec3f(position.x(), 0, position.z()).normalized();
    EXPECT_LT((mesh.normals.values[mesh.normals.corners[c]] - outwards).norm(), 1e-5f) << c;
    EXPECT_NEAR(mesh.texcoords.values[mesh.texcoords.corners[c]].y(), 1 - position.y() / 2, 1e-6f) << c;
  }

  ASSERT_EQ(scene.clips.size(), 1u);
  EXPECT_EQ(scene.clips[0].name, "bend");
  EXPECT_NEAR(scene.clips[0].duration(), 2, 1e-4);
  for (const double seconds : {0.0, 0.5, 1.0, 1.7, 2.0}) {
    const std::vector<Vec3f> posed = test::pose_mesh(scene, 0, seconds);
    const std::vector<Vec3f> expected = tube.bent(kQuarter * seconds / 2);
    for (std::size_t v = 0; v < posed.size(); ++v)
      EXPECT_LT((posed[v] - expected[original[v]]).norm(), 2e-5f) << "at " << seconds << " s, vertex " << v;
  }
}

TEST(AssimpImport, FbxTextComesBackInMetres) {
  const RiggedTube tube = test::make_rigged_tube();
  const Scene scene = parse(test::fbx_text(test::tube_fbx(tube)), "fbx");
  expect_tube(scene, tube);
  EXPECT_DOUBLE_EQ(scene.original_space.metres_per_unit, 0.01);
  EXPECT_EQ(scene.original_space.up_axis, 'y');
  EXPECT_TRUE(scene.warnings.empty()) << scene.warnings.front();
}

TEST(AssimpImport, FbxInOtherUnits) {
  const RiggedTube tube = test::make_rigged_tube();
  for (const double metres : {1.0, 0.0254}) {
    TubeFileOptions options;
    options.metres_per_unit = metres;
    const Scene scene = parse(test::fbx_text(test::tube_fbx(tube, options)), "fbx");
    expect_tube(scene, tube);
    EXPECT_NEAR(scene.original_space.metres_per_unit, metres, 1e-6 * metres);
  }
}

TEST(AssimpImport, FbxWithZUpStandsUpright) {
  const RiggedTube tube = test::make_rigged_tube();
  TubeFileOptions options;
  options.up_axis = 'z';
  const Scene scene = parse(test::fbx_text(test::tube_fbx(tube, options)), "fbx");
  expect_tube(scene, tube);
  EXPECT_EQ(scene.original_space.up_axis, 'z');
}

TEST(AssimpImport, FbxBinaryOfBothWidths) {
  const RiggedTube tube = test::make_rigged_tube();
  for (const std::uint32_t version : {7400u, 7500u})
    for (const bool packed : {false, true})
      expect_tube(parse(test::fbx_binary(test::tube_fbx(tube), version, packed), "fbx"), tube);
}

TEST(AssimpImport, FbxJointsMayBeTurnedBeforeTheyRotate) {
  // As Maya and Mixamo write them: the joint's frame is in PreRotation, its curves start from zero.
  const RiggedTube tube = test::make_rigged_tube();
  FbxNode file = test::tube_fbx(tube);
  FbxNode& upper = file.child("Objects").children[3];
  ASSERT_EQ(std::get<std::string>(upper.values[1]), "Model::Upper");
  const std::string flag = "A";
  upper.child("Properties70")
      .children.push_back(
          {"P", {std::string("RotationActive"), std::string("bool"), std::string(), flag, 1}, {}});
  upper.child("Properties70")
      .children.push_back(
          {"P",
           {std::string("PreRotation"), std::string("Vector3D"), std::string("Vector"), flag, 0.0, 90.0, 0.0},
           {}});
  // A quarter turn about y: x goes to -z, and the scene's z axis is the joint's -x.
  FbxNode& cluster = file.child("Objects").children[6];
  using Matrix = std::vector<double>;
  cluster.child("TransformLink").values = {Matrix{0, 0, -1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 100, 0, 1}};
  cluster.child("Transform").values = {Matrix{0, 0, 1, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, -100, 25, 1}};
  file.child("Objects").children[10].child("KeyValueFloat").values = {std::vector<float>{0, -45, -90}};
  file.child("Connections").children.back().values.back() = std::string("d|X");
  const Scene scene = parse(test::fbx_text(file), "fbx");
  expect_tube(scene, tube);
  EXPECT_EQ(scene.skeleton.size(), 3u);  // pivots are no joints
}

TEST(AssimpImport, FbxTextAndBinaryGiveTheSameScene) {
  const FbxNode file = test::tube_fbx(test::make_rigged_tube());
  const Scene text = parse(test::fbx_text(file), "fbx"), binary = parse(test::fbx_binary(file), "fbx");
  EXPECT_EQ(text.skeleton, binary.skeleton);
  EXPECT_EQ(text.meshes, binary.meshes);
  EXPECT_EQ(text.skins, binary.skins);
  EXPECT_EQ(text.clips, binary.clips);
}

TEST(AssimpImport, ColladaComesBackInMetres) {
  const RiggedTube tube = test::make_rigged_tube();
  const Scene scene = parse(test::tube_collada(tube), "dae");
  expect_tube(scene, tube);
  EXPECT_DOUBLE_EQ(scene.original_space.metres_per_unit, 0.01);
}

TEST(AssimpImport, ColladaWithZUpStandsUpright) {
  const RiggedTube tube = test::make_rigged_tube();
  TubeFileOptions options;
  options.up_axis = 'z';
  options.metres_per_unit = 1;
  const Scene scene = parse(test::tube_collada(tube, options), "dae");
  expect_tube(scene, tube);
  EXPECT_EQ(scene.original_space.up_axis, 'z');
}

TEST(AssimpImport, FileOnDiskWithUpperCaseExtension) {
  test::TemporaryDirectory directory;
  const RiggedTube tube = test::make_rigged_tube();
  write_file(directory / "Tube.FBX", test::fbx_text(test::tube_fbx(tube)));
  const Scene scene = read_scene(directory / "Tube.FBX");
  expect_tube(scene, tube);
  EXPECT_EQ(scene.source, directory / "Tube.FBX");
}

TEST(AssimpImport, MeshWithoutSkinHangsOnItsNode) {
  const RiggedTube tube = test::make_rigged_tube();
  FbxNode file = test::tube_fbx(tube);
  std::erase_if(file.child("Objects").children, [](const FbxNode& node) { return node.name == "Deformer"; });
  std::erase_if(file.child("Connections").children, [](const FbxNode& node) {
    const auto from = std::get<std::int64_t>(node.values[1]), to = std::get<std::int64_t>(node.values[2]);
    return (from >= 300 && from < 400) || (to >= 300 && to < 400);
  });
  const Scene scene = parse(test::fbx_text(file), "fbx");
  ASSERT_EQ(scene.meshes.size(), 1u);
  EXPECT_EQ(scene.meshes[0].skin, -1);
  ASSERT_EQ(scene.meshes[0].joint, scene.skeleton.find("TubeNode"));
  const std::vector<Vec3f> placed = test::pose_mesh(scene, 0, 0);
  float left = 1e9f;
  for (const Vec3f& position : placed) left = std::min(left, position.x());
  EXPECT_NEAR(left, -0.3f, 1e-5f);  // where the tube is, not shifted by its node
}

TEST(AssimpImport, SameBytesGiveTheSameScene) {
  const std::string text = test::tube_collada(test::make_rigged_tube());
  const Scene a = parse(text, "dae"), b = parse(text, "dae");
  EXPECT_EQ(a.meshes, b.meshes);
  EXPECT_EQ(a.skeleton, b.skeleton);
  EXPECT_EQ(a.clips, b.clips);
}

TEST(AssimpImport, PartsThatCannotBeReadAreReported) {
  FbxNode file = test::tube_fbx(test::make_rigged_tube());
  file.child("Objects").children[0].child("Vertices").name = "Vertexes";
  const Scene scene = parse(test::fbx_text(file), "fbx");
  EXPECT_TRUE(scene.meshes.empty());
  ASSERT_FALSE(scene.warnings.empty());
  EXPECT_NE(scene.warnings[0].find("Vertices"), std::string::npos) << scene.warnings[0];
}

TEST(AssimpImport, OtherExtensionsAreRefused) {
  const std::string text = "v 0 0 0\n";
  EXPECT_THROW(parse(text, "obj"), Error);
}

}  // namespace
}  // namespace sinew
