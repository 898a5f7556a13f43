#include <sinew/scene/import_conversion.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <tests/support/rigged_tube.h>

namespace sinew {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

Mat4f translation(const Vec3f& place) {
  Mat4f matrix = Mat4f::Identity();
  matrix.topRightCorner<3, 1>() = place;
  return matrix;
}

/// Two triangles that share an edge, with a vertex per corner, as importers give them.
ImportedMesh two_triangles() {
  ImportedMesh mesh;
  mesh.name = "patch";
  mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  mesh.corners = {0, 1, 2, 3, 4, 5};
  mesh.starts = {0, 3, 6};
  return mesh;
}

/// A root that stands for the scene, two bones, and a node with the patch.
ImportedScene patch_scene() {
  ImportedScene scene;
  scene.nodes = {{"RootNode", -1, Mat4f::Identity(), {}},
                 {"a", 0, Mat4f::Identity(), {}},
                 {"b", 1, translation({0, 1, 0}), {}},
                 {"patch node", 0, translation({5, 0, 0}), {0}}};
  scene.meshes = {two_triangles()};
  return scene;
}

void add_bones(ImportedMesh& mesh) {
  mesh.bones = {{"a", translation({5, 0, 0}), {0, 1, 2, 3, 4, 5}, {1, 1, 0.5f, 1, 0.5f, 0.5f}},
                {"b", translation({5, -1, 0}), {2, 4, 5}, {0.5f, 0.5f, 0.5f}}};
}

ImportSpace metres() {
  return collada_space(1, 'y');
}

std::string error_of(const ImportedScene& imported) {
  try {
    convert_import(imported, metres(), "a.fbx");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImportConversion, CornersOfOneVertexAreJoined) {
  const Scene scene = convert_import(patch_scene(), metres(), "a.fbx");
  ASSERT_EQ(scene.meshes.size(), 1u);
  EXPECT_EQ(scene.meshes[0].surface.positions.size(), 4u);
  EXPECT_EQ(scene.meshes[0].surface.polygons.corners, (std::vector<std::uint32_t>{0, 1, 2, 1, 3, 2}));
  EXPECT_EQ(scene.meshes[0].joint, scene.skeleton.find("patch node"));
  EXPECT_EQ(scene.skeleton.find("RootNode"), -1);
  EXPECT_EQ(scene.skeleton.joints[0].parent, -1);
}

TEST(ImportConversion, CornersWithOtherWeightsOrMorphsStayApart) {
  ImportedScene imported = patch_scene();
  add_bones(imported.meshes[0]);
  EXPECT_EQ(convert_import(imported, metres(), "a.fbx").meshes[0].surface.positions.size(), 4u);
  imported.meshes[0].bones[0].weights[5] = 0.75f;
  EXPECT_EQ(convert_import(imported, metres(), "a.fbx").meshes[0].surface.positions.size(), 5u);
  imported = patch_scene();
  ImportedMorph smile{"smile", 0.25f, imported.meshes[0].positions};
  smile.positions[5].z() = 1;
  imported.meshes[0].morphs = {smile};
  const Scene scene = convert_import(imported, metres(), "a.fbx");
  EXPECT_EQ(scene.meshes[0].surface.positions.size(), 5u);
  EXPECT_EQ(scene.meshes[0].morph_targets[0].name, "smile");
  EXPECT_EQ(scene.meshes[0].morph_targets[0].displacements[4], Vec3f(0, 0, 1));
  EXPECT_EQ(scene.meshes[0].morph_weights, std::vector<float>{0.25f});
}

TEST(ImportConversion, SkinnedMeshesStandWhereTheyWereBound) {
  ImportedScene imported = patch_scene();
  add_bones(imported.meshes[0]);
  const Scene scene = convert_import(imported, metres(), "a.fbx");
  EXPECT_EQ(scene.meshes[0].surface.positions[0], Vec3f(5, 0, 0));
  EXPECT_TRUE(scene.skins[0].joint_from_mesh[0].isApprox(Mat4f::Identity()));
  EXPECT_LT((test::pose_mesh(scene, 0, 0)[3] - Vec3f(6, 1, 0)).norm(), 1e-6f);
}

TEST(ImportConversion, RestPoseThatIsNotTheBindPoseGivesTheSamePicture) {
  // Bone b was moved after binding: wherever the vertices are put, the skinned ones are where the file has
  // them.
  ImportedScene imported = patch_scene();
  add_bones(imported.meshes[0]);
  imported.nodes[2].local = translation({0, 3, 0});
  const Scene scene = convert_import(imported, metres(), "a.fbx");
  const std::vector<Vec3f> posed = test::pose_mesh(scene, 0, 0);
  EXPECT_LT((posed[3] - Vec3f(6, 2, 0)).norm(), 1e-6f);  // half of it moved up by 2
  EXPECT_LT((posed[0] - Vec3f(5, 0, 0)).norm(), 1e-6f);
}

TEST(ImportConversion, PartsOfOneNodeBecomeOneMesh) {
  ImportedScene imported = patch_scene();
  imported.meshes.push_back(two_triangles());
  for (Vec3f& position : imported.meshes[1].positions) position.x() += 1;
  imported.nodes[3].meshes = {0, 1};
  add_bones(imported.meshes[0]);
  add_bones(imported.meshes[1]);
  const Scene scene = convert_import(imported, metres(), "a.fbx");
  ASSERT_EQ(scene.meshes.size(), 1u);
  EXPECT_EQ(scene.skins.size(), 1u);
  EXPECT_EQ(scene.skins[0].joints.size(), 2u);
  EXPECT_EQ(scene.meshes[0].surface.polygons.size(), 4u);
  EXPECT_EQ(scene.meshes[0].weights.rows(), scene.meshes[0].surface.positions.size());
}

TEST(ImportConversion, SkinnedAndPlainPartsAreKeptApart) {
  ImportedScene imported = patch_scene();
  imported.meshes.push_back(two_triangles());
  imported.nodes[3].meshes = {0, 1};
  add_bones(imported.meshes[0]);
  const Scene scene = convert_import(imported, metres(), "a.fbx");
  ASSERT_EQ(scene.meshes.size(), 2u);
  EXPECT_EQ(scene.meshes[0].skin, 0);
  EXPECT_EQ(scene.meshes[1].skin, -1);
  EXPECT_EQ(scene.meshes[1].surface.positions[0], Vec3f(0, 0, 0));
}

TEST(ImportConversion, ClipsKeepTimeAndTurnRoots) {
  ImportedScene imported = patch_scene();
  ImportedChannel channel;
  channel.node = "a";
  channel.translation_times = {0, 1, 1, 2};
  channel.translations = {{0, 0, 0}, {0, 0, 100}, {9, 9, 9}, {0, 0, 200}};
  channel.rotation_times = {0, 1};
  channel.rotations = {{0, 0, 0, 1}, {0, 0, 0, -2}};
  channel.scale_times = {0};
  channel.scales = {{1, 1, 1}};
  imported.clips = {{"move", {channel}, {}}};
  imported.clips[0].channels.push_back(channel);
  imported.clips[0].channels[1].node = "nobody";
  const Scene scene = convert_import(imported, collada_space(0.01, 'z'), "a.dae");
  ASSERT_EQ(scene.clips.size(), 1u);
  ASSERT_EQ(scene.clips[0].channels.size(), 2u);  // the scale only repeats the rest pose
  Pose pose = rest_pose(scene);
  sample_clip(scene.clips[0], 1, pose);
  EXPECT_LT((pose.joints[0].translation - Vec3f(0, 1, 0)).norm(), 1e-6f);  // up is z, centimetres
  // No turn in the file is no turn against the rest pose, in whatever space that stands.
  EXPECT_LT(pose.joints[0].rotation.angularDistance(scene.skeleton.joints[0].rest.rotation), 1e-3f);
  const Channel& rotation = scene.clips[0].channels[1];
  EXPECT_GT(Eigen::Map<const Vec4f>(&rotation.values[0]).dot(Eigen::Map<const Vec4f>(&rotation.values[4])),
            0.99f);
  ASSERT_EQ(scene.warnings.size(), 2u);
  EXPECT_NE(scene.warnings[0].find("1 animation channels move nothing"), std::string::npos);
  EXPECT_NE(scene.warnings[1].find("1 animation keys share their time"), std::string::npos);
}

TEST(ImportConversion, MorphChannels) {
  ImportedScene imported = patch_scene();
  imported.meshes[0].morphs = {{"smile", 0, imported.meshes[0].positions},
                               {"blink", 0.5f, imported.meshes[0].positions}};
  imported.clips = {{"face", {}, {{"patch node", {0, 1}, {0, 1, 2}, {0, 7}, {0.75f, 1}}}}};
  const Scene scene = convert_import(imported, metres(), "a.fbx");
  ASSERT_EQ(scene.clips.size(), 1u);
  EXPECT_EQ(scene.clips[0].channels[0].width, 2);
  EXPECT_EQ(scene.clips[0].channels[0].values,
            (std::vector<float>{0.75f, 0.5f, 0, 0.5f}));  // target 7 is not there
}

TEST(ImportConversion, FbxAxes) {
  ImportedScene imported;
  imported.axes = {0, 2, 1};
  imported.axis_signs = {1, 1, -1};
  imported.centimetres_per_unit = 2.54;
  ImportSpace space = fbx_space(imported);
  EXPECT_EQ(space.scene_from_file * Vec3d(0, 0, 1), Vec3d(0, 1, 0));
  EXPECT_EQ(space.scene_from_file * Vec3d(0, -1, 0), Vec3d(0, 0, 1));
  EXPECT_EQ(space.original.up_axis, 'z');
  EXPECT_DOUBLE_EQ(space.original.metres_per_unit, 0.0254);
  EXPECT_TRUE(space.warning.empty());
  for (const auto& [axes, signs] : {std::pair(std::array{0, 2, 1}, std::array{1, 1, 1}),  // left-handed
                                    std::pair(std::array{0, 0, 0}, std::array{1, -1, 1}),
                                    std::pair(std::array{9, 2, -1}, std::array{1, 1, 1})}) {
    imported.axes = axes;
    imported.axis_signs = signs;
    space = fbx_space(imported);
    EXPECT_FALSE(space.warning.empty());
    EXPECT_NEAR(space.scene_from_file.determinant(), 1, 1e-12);
    EXPECT_EQ(space.scene_from_file * (Vec3d::Unit(axes[1]) * signs[1]), Vec3d(0, 1, 0));
  }
  imported.centimetres_per_unit = 0;
  EXPECT_DOUBLE_EQ(fbx_space(imported).original.metres_per_unit, 0.01);
}

TEST(ImportConversion, ColladaAxes) {
  EXPECT_EQ(collada_space(1, 'z').scene_from_file * Vec3d(0, 0, 1), Vec3d(0, 1, 0));
  EXPECT_EQ(collada_space(1, 'x').scene_from_file * Vec3d(1, 0, 0), Vec3d(0, 1, 0));
  EXPECT_EQ(collada_space(1, 'x').scene_from_file * Vec3d(0, -1, 0), Vec3d(1, 0, 0));
  for (const char axis : {'x', 'y', 'z'}) EXPECT_EQ(collada_space(1, axis).scene_from_file.determinant(), 1);
}

TEST(ImportConversion, WhatTheImporterGotWrongIsAnError) {
  const auto broken = [](const std::function<void(ImportedScene&)>& change) {
    ImportedScene imported = patch_scene();
    add_bones(imported.meshes[0]);
    imported.clips = {{"clip", {{"a", {0}, {0}, {}, {{0, 0, 0}}, {}, {{0, 0, 0, 1}}}}, {}}};
    change(imported);
    return error_of(imported);
  };
  EXPECT_EQ(broken([](ImportedScene&) {}), "no error");
  const std::pair<std::function<void(ImportedScene&)>, const char*> cases[] = {
      {[](auto& s) { s.nodes.clear(); }, "holds no nodes"},
      {[](auto& s) { s.nodes[2].parent = 7; }, "the importer failed"},
      {[](auto& s) { s.nodes[1].local(0, 3) = kNan; }, "node 'a': its transform is not finite"},
      {[](auto& s) { s.nodes[3].meshes = {4}; }, "the importer failed"},
      {[](auto& s) { s.meshes[0].positions[1].x() = kNan; }, "mesh 'patch': position 1 is not finite"},
      {[](auto& s) { s.meshes[0].corners[2] = 6; }, "mesh 'patch': vertex 6 does not exist (6)"},
      {[](auto& s) { s.meshes[0].starts[2] = 7; }, "the importer failed"},
      {[](auto& s) { s.meshes[0].starts[1] = 9; }, "the importer failed"},
      {[](auto& s) { s.meshes[0].bones[0].node = "c"; }, "mesh 'patch': bone 'c' has no node of that name"},
      {[](auto& s) { s.meshes[0].bones[0].bone_from_mesh(1, 1) = kNan; },
       "bind matrix of bone 'a' is not finite"},
      {[](auto& s) { s.meshes[0].bones[1].vertices[0] = 6; }, "bone 'b' moves vertex 6 by 0.5 (6 vertices)"},
      {[](auto& s) { s.meshes[0].bones[1].weights[0] = kNan; }, "bone 'b' moves vertex 2 by nan"},
      {[](auto& s) { s.meshes[0].bones[1].weights.pop_back(); }, "bone 'b'"},
      {[](auto& s) { s.clips[0].channels[0].translation_times.push_back(1); }, "the importer failed"},
      {[](auto& s) { s.clips[0].channels[0].translation_times[0] = kNan; },
       "the time of a key is not finite"},
      {[](auto& s) { s.clips[0].channels[0].rotations[0].setZero(); }, "is not a unit quaternion"},
      {[](auto& s) { s.clips[0].channels[0].translations[0].x() = kNan; }, "not finite"},
  };
  for (const auto& [change, message] : cases) {
    const std::string error = broken(change);
    EXPECT_NE(error.find(message), std::string::npos) << "expected " << message << ", got " << error;
  }
}

TEST(ImportConversion, SingularNodesDoNoHarm) {
  ImportedScene imported = patch_scene();
  add_bones(imported.meshes[0]);
  imported.nodes[3].local.topLeftCorner<3, 3>().setZero();
  imported.meshes[0].bones[0].bone_from_mesh.topLeftCorner<3, 3>().setZero();
  const Scene scene = convert_import(imported, metres(), "a.fbx");
  for (const Vec3f& position : scene.meshes[0].surface.positions) EXPECT_TRUE(position.allFinite());
}

}  // namespace
}  // namespace sinew
