#include <sinew/core/index.h>
#include <sinew/scene/merge_rig.h>

#include <numbers>

#include <gtest/gtest.h>

#include <sinew/scene/gltf.h>
#include <sinew/scene/gltf_document.h>
#include <tests/support/assets.h>
#include <tests/support/gltf_builder.h>
#include <tests/support/meshes.h>
#include <tests/support/rigged_tube.h>
#include <tests/support/temporary_directory.h>
#include <tests/support/validator.h>

namespace sinew {
namespace {

using Json = nlohmann::ordered_json;

Joint joint(const std::string& name, int parent, const Vec3f& translation) {
  Joint result{name, parent, {}, false};
  result.rest.translation = translation;
  return result;
}

std::vector<Affine3d> rest_world(const Skeleton& skeleton) {
  std::vector<Affine3d> world(skeleton.size());
  forward_kinematics(skeleton, rest_pose(skeleton).joints, world);
  return world;
}

/// A skin of these joints, bound at rest, for a mesh that `scene_from_mesh` takes to its place.
Skin skin_at_rest(const Skeleton& skeleton, std::vector<int> joints,
                  const Affine3d& scene_from_mesh = Affine3d::Identity()) {
  const std::vector<Affine3d> world = rest_world(skeleton);
  Skin skin{"skin", std::move(joints), {}};
  for (const int j : skin.joints)
    skin.joint_from_mesh.push_back((world[to_size(j)].inverse() * scene_from_mesh).matrix().cast<float>());
  return skin;
}

SkinWeights all_to(std::uint32_t slot, std::size_t rows) {
  SkinWeights weights;
  for (std::size_t v = 0; v < rows; ++v) {
    weights.joints.push_back(slot);
    weights.values.push_back(1);
    weights.starts.push_back(static_cast<std::uint32_t>(v + 1));
  }
  return weights;
}

SceneMesh cube(const std::string& name, int skin = -1, int hangs_on = -1) {
  SceneMesh mesh;
  mesh.name = name;
  mesh.surface = test::make_cube();
  mesh.joint = hangs_on;
  mesh.skin = skin;
  if (skin >= 0) mesh.weights = all_to(0, mesh.surface.positions.size());
  return mesh;
}

Clip turn(const std::string& name, int target) {
  Channel channel{target, ChannelPath::rotation, Interpolation::linear, 4, {0, 1}, {0, 0, 0, 1, 0, 0, 1, 0}};
  return {name, {channel}};
}

/// hips → spine → head, 1 m apart, and a body bound to all three.
Scene person() {
  Scene scene;
  scene.skeleton.joints = {joint("hips", -1, Vec3f(0, 1, 0)), joint("spine", 0, Vec3f(0, 1, 0)),
                           joint("head", 1, Vec3f(0, 1, 0))};
  scene.skins = {skin_at_rest(scene.skeleton, {0, 1, 2})};
  for (Joint& j : scene.skeleton.joints) j.deforms = true;
  scene.meshes = {cube("body", 0)};
  scene.clips = {turn("nod", 2)};
  check_scene(scene);
  return scene;
}

void expect_near(const Affine3d& a, const Affine3d& b) {
  EXPECT_LT((a.matrix() - b.matrix()).cwiseAbs().maxCoeff(), 1e-5) << a.matrix() << "\n!=\n" << b.matrix();
}

// --- where things were bound

TEST(BindPose, IsTheRestPoseWhereTheyAgree) {
  const Scene scene = person();
  const BindPose pose = bind_pose(scene);
  const std::vector<Affine3d> rest = rest_world(scene.skeleton);
  for (std::size_t j = 0; j < rest.size(); ++j) expect_near(pose.world_from_joint[j], rest[j]);
  expect_near(pose.scene_from_mesh[0], Affine3d::Identity());
  EXPECT_LT(pose.rest_differs, 1e-6);
}

TEST(BindPose, MeshesInUnitsOfTheirOwnComeToTheScene) {
  Scene scene = person();
  const Affine3d centimetres(Eigen::Scaling(0.01));
  scene.skins = {skin_at_rest(scene.skeleton, {0, 1, 2}, centimetres)};
  const BindPose pose = bind_pose(scene);
  expect_near(pose.scene_from_mesh[0], centimetres);
  expect_near(pose.world_from_joint[2], rest_world(scene.skeleton)[2]);
  EXPECT_LT(pose.rest_differs, 1e-6);
}

TEST(BindPose, IsWhatTheSkinSaysWhereRestDiffers) {
  Scene scene = person();
  const std::vector<Affine3d> bound = rest_world(scene.skeleton);
  scene.skeleton.joints[1].rest.rotation = Quatf(Eigen::AngleAxisf(1, Vec3f::UnitX()));
  const BindPose pose = bind_pose(scene);
  for (std::size_t j = 0; j < bound.size(); ++j) expect_near(pose.world_from_joint[j], bound[j]);
  EXPECT_GT(pose.rest_differs, 0.1);
}

TEST(BindPose, HelpersAndHangingMeshesGoAlongWithTheirJoint) {
  Scene scene = person();
  scene.skeleton.joints.push_back(joint("hat", 2, Vec3f(0, 0.5f, 0)));
  scene.meshes.push_back(cube("hat", -1, 3));
  const std::vector<Affine3d> bound = rest_world(scene.skeleton);
  scene.skeleton.joints[1].rest.rotation = Quatf(Eigen::AngleAxisf(1, Vec3f::UnitX()));
  const BindPose pose = bind_pose(scene);
  expect_near(pose.world_from_joint[3], bound[3]);
  expect_near(pose.scene_from_mesh[1], bound[3]);
}

TEST(BindPose, SkinsOfDifferentSpacesAgree) {
  Scene scene = person();
  const Affine3d inches(Eigen::Scaling(0.0254));
  scene.skins.push_back(skin_at_rest(scene.skeleton, {2, 1}, inches));
  const std::vector<Affine3d> bound = rest_world(scene.skeleton);
  scene.meshes.push_back(cube("eyes", 1));
  scene.skeleton.joints[1].rest.rotation = Quatf(Eigen::AngleAxisf(1, Vec3f::UnitX()));
  const BindPose pose = bind_pose(scene);
  expect_near(pose.scene_from_mesh[0], Affine3d::Identity());
  expect_near(pose.scene_from_mesh[1], inches);
  expect_near(pose.world_from_joint[2], bound[2]);
}

TEST(BindPose, MatricesWithoutInverseGiveWayToRest) {
  Scene scene = person();
  scene.skins[0].joint_from_mesh[1].setZero();
  scene.skins[0].joint_from_mesh[1](3, 3) = 1;
  const BindPose pose = bind_pose(scene);
  expect_near(pose.world_from_joint[1], rest_world(scene.skeleton)[1]);
  scene.skeleton.joints.push_back(joint("flat", -1, Vec3f::Zero()));
  scene.skeleton.joints[3].rest.scale = Vec3f(1, 0, 1);
  scene.meshes.push_back(cube("flat", -1, 3));
  expect_near(bind_pose(scene).scene_from_mesh[1], Affine3d::Identity());
}

// --- which nodes are joints

TEST(RigJoints, AreThoseOfSkins) {
  Scene scene = person();
  scene.skins[0].joints = {2, 1};
  scene.skins[0].joint_from_mesh.resize(2);
  EXPECT_EQ(rig_joints(scene), (std::vector<int>{1, 2}));
}

TEST(RigJoints, WithoutSkinsNodesOfMeshesAreNone) {
  Scene scene;
  scene.skeleton.joints = {joint("scene", -1, Vec3f::Zero()), joint("group", 0, Vec3f::Zero()),
                           joint("body", 1, Vec3f::Zero()),   joint("hips", 0, Vec3f(0, 1, 0)),
                           joint("spine", 3, Vec3f(0, 1, 0)), joint("hat", 4, Vec3f::Zero())};
  scene.meshes = {cube("body", -1, 2), cube("hat", -1, 5)};
  // The spine carries only a hat, but so does any last joint; it stays behind with it.
  EXPECT_EQ(rig_joints(scene), (std::vector<int>{}));
  scene.skeleton.joints.push_back(joint("head", 4, Vec3f(0, 1, 0)));
  EXPECT_EQ(rig_joints(scene), (std::vector<int>{0, 3, 4, 6}));
  scene.meshes.clear();
  EXPECT_EQ(rig_joints(scene).size(), 7u);
  EXPECT_TRUE(rig_joints(Scene()).empty());
}

TEST(RigJoints, CamerasAndLightsAreNone) {
  test::GltfFile file;
  file.json["cameras"] = {{{"type", "perspective"}, {"perspective", {{"yfov", 1}, {"znear", 1}}}}};
  file.json["nodes"] =
      Json::array({{{"name", "hips"}},
                   {{"name", "camera"}, {"camera", 0}},
                   {{"name", "sun"}, {"extensions", {{"KHR_lights_punctual", {{"light", 0}}}}}}});
  EXPECT_EQ(rig_joints(parse_gltf(file.glb(), "a.glb")), std::vector<int>{0});
}

// --- two scenes in one

TEST(MergeRig, OneSkeletonIsNotDoubled) {
  const Scene scene = person();
  const MergedRig merged = merge_rig(scene, scene);
  EXPECT_EQ(merged.scene.skeleton, scene.skeleton);
  EXPECT_EQ(merged.scene.clips, scene.clips);
  EXPECT_EQ(merged.scene.meshes, scene.meshes);
  EXPECT_EQ(merged.joint_of_rig, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(merged.warnings.empty());

  Scene rig = scene;
  rig.clips.push_back(turn("wave", 1));
  EXPECT_EQ(merge_rig(scene, rig).scene.clips.size(), 2u);
}

TEST(MergeRig, AMeshGetsJointsAndClips) {
  Scene mesh;
  mesh.skeleton.joints = {joint("scene", -1, Vec3f::Zero()), joint("stone", 0, Vec3f(5, 0, 0))};
  mesh.meshes = {cube("stone", -1, 1)};
  mesh.clips = {turn("roll", 1)};
  Scene rig = person();
  rig.skeleton.joints.push_back(joint("body", -1, Vec3f::Zero()));
  rig.meshes[0].joint = 3;
  rig.meshes[0].morph_targets = {{"smile", std::vector<Vec3f>(8, Vec3f::Zero())}};
  rig.meshes[0].morph_weights = {0};
  rig.clips[0].channels.push_back({0, ChannelPath::morph_weights, Interpolation::linear, 1, {0, 1}, {0, 1}});
  const MergedRig merged = merge_rig(mesh, rig);
  check_scene(merged.scene);
  const std::vector<Joint>& joints = merged.scene.skeleton.joints;
  ASSERT_EQ(joints.size(), 5u);
  EXPECT_EQ(merged.joint_of_rig, (std::vector<int>{0, 1, 2, -1}));
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(joints[j], rig.skeleton.joints[j]);
  EXPECT_EQ(joints[4].name, "stone");
  EXPECT_EQ(joints[4].parent, 3);
  EXPECT_EQ(merged.scene.meshes[0].joint, 4);
  ASSERT_EQ(merged.scene.clips.size(), 2u);
  EXPECT_EQ(merged.scene.clips[0].name, "nod");
  EXPECT_EQ(merged.scene.clips[0].channels.size(), 1u);
  EXPECT_EQ(merged.scene.clips[1].channels[0].target, 4);
}

TEST(MergeRig, JointsOfTheSameNameBecomeTheRigs) {
  Scene mesh = person();
  mesh.skeleton.joints.push_back(joint("hat", 2, Vec3f(0, 0.5f, 0)));
  mesh.skeleton.joints.push_back(joint("tail", 0, Vec3f(0, 0, -1)));
  mesh.meshes.push_back(cube("hat", -1, 3));
  mesh.clips.push_back(turn("wag", 4));
  Scene rig = person();
  rig.skeleton.joints.insert(rig.skeleton.joints.begin(), joint("root", -1, Vec3f::Zero()));
  for (std::size_t j = 1; j < 4; ++j) rig.skeleton.joints[j].parent = static_cast<int>(j) - 1;
  rig.skeleton.joints[3].rest.translation = Vec3f(0, 2, 0);
  rig.skins = {skin_at_rest(rig.skeleton, {1, 2, 3})};
  rig.clips.clear();
  const MergedRig merged = merge_rig(mesh, rig);
  check_scene(merged.scene);
  const Skeleton& skeleton = merged.scene.skeleton;
  ASSERT_EQ(skeleton.size(), 6u);
  EXPECT_EQ(skeleton.joints[to_size(skeleton.find("hat"))].parent, skeleton.find("head"));
  EXPECT_EQ(skeleton.joints[to_size(skeleton.find("tail"))].parent, skeleton.find("hips"));
  EXPECT_EQ(skeleton.joints[to_size(skeleton.find("head"))].rest.translation.y(), 2);
  EXPECT_EQ(merged.scene.skins[0].joints, (std::vector<int>{1, 2, 3}));
  // The head rests elsewhere: what "nod" did to it means nothing any more.
  ASSERT_EQ(merged.scene.clips.size(), 1u);
  EXPECT_EQ(merged.scene.clips[0].name, "wag");
  ASSERT_EQ(merged.warnings.size(), 1u);
  EXPECT_NE(merged.warnings[0].find("'nod'"), std::string::npos) << merged.warnings[0];
}

TEST(MergeRig, ANodeOfAJointsNameStaysWhatItIs) {
  Scene mesh;
  mesh.skeleton.joints = {joint("head", -1, Vec3f(7, 0, 0))};
  mesh.meshes = {cube("statue", -1, 0)};
  const MergedRig merged = merge_rig(mesh, person());
  EXPECT_EQ(merged.scene.skeleton.size(), 4u);
  EXPECT_EQ(merged.scene.skeleton.joints[3].rest.translation.x(), 7);
  ASSERT_EQ(merged.warnings.size(), 1u);
  EXPECT_NE(merged.warnings[0].find("'head'"), std::string::npos);
}

// --- into glTF documents

/// What a document holds beside our meshes and joints comes through.
TEST(MergeRig, DocumentsKeepWhatTheyHave) {
  const test::TemporaryDirectory directory;
  Scene made = person();
  made.skeleton.joints[0].name = "other";
  made.meshes[0].attributes = {{"_SIGMA", 1, std::vector<float>(8, 0.5f)}};
  made.meshes[0].morph_targets = {{"smile", std::vector<Vec3f>(8, Vec3f(0.1f, 0, 0))}};
  made.meshes[0].morph_weights = {0.25f};
  write_glb(made, directory / "made.glb");
  GltfDocument document = *read_gltf(directory / "made.glb").document;
  Json& json = document.json;
  json["cameras"] = {{{"type", "perspective"}, {"perspective", {{"yfov", 1}, {"znear", 1}}}}};
  json["nodes"].push_back({{"name", "camera"}, {"camera", 0}, {"extras", {{"lens", "wide"}}}});
  const std::size_t camera = json["nodes"].size() - 1;
  json["scenes"][0]["nodes"].push_back(camera);
  json["extras"] = {{"author", "somebody"}};
  json["materials"] = {{{"name", "skin"}, {"extras", {{"pores", 7}}}}};
  json["meshes"][0]["primitives"][0]["material"] = 0;
  const Scene mesh = scene_from_document(std::make_shared<const GltfDocument>(document), "made.glb");
  MergedRig merged = merge_rig(mesh, person());
  std::vector<Mat4f> matrices = person().skins[0].joint_from_mesh;
  const std::size_t vertices = mesh.meshes[0].surface.positions.size();
  bind_meshes(merged.scene, merged.joint_of_rig, "person", {{0, matrices, all_to(2, vertices)}});
  check_scene(merged.scene);

  write_glb(merged.scene, directory / "out.glb");
  test::expect_valid(directory / "out.glb");
  const Scene read = read_gltf(directory / "out.glb");
  const Json &was = mesh.document->json, &is = read.document->json;
  for (const char* key : {"cameras", "extras", "materials"}) EXPECT_EQ(is[key], was[key]) << key;
  EXPECT_EQ(is["nodes"].size(), was["nodes"].size() + 1);  // the other two are known by their names
  EXPECT_EQ(is["nodes"][camera], was["nodes"][camera]);
  EXPECT_EQ(is["meshes"][0]["primitives"][0]["material"], 0);
  EXPECT_EQ(read.meshes[0].surface, mesh.meshes[0].surface);
  EXPECT_EQ(read.meshes[0].attributes, mesh.meshes[0].attributes);
  EXPECT_EQ(read.meshes[0].morph_targets, mesh.meshes[0].morph_targets);
  ASSERT_EQ(read.skins.size(), 1u);
  EXPECT_EQ(read.skins[0].name, "person");
  EXPECT_EQ(read.skins[0].joint_from_mesh, matrices);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(read.skeleton.joints[to_size(read.skins[0].joints[i])].name, person().skeleton.joints[i].name);
  EXPECT_EQ(read.clips.size(), 2u);
  // Replaced weights do not stay in the file.
  EXPECT_EQ(is["accessors"].size(), was["accessors"].size() + 2);
}

// --- skins

TEST(BindMeshes, KeepTheSkinThatFits) {
  Scene scene = person();
  const Skin skin = scene.skins[0];
  // The same joints in another order, with one that has no weights and another matrix.
  std::vector<Mat4f> matrices = {skin.joint_from_mesh[2], Mat4f::Identity(), skin.joint_from_mesh[1]};
  const std::vector<int> joints{2, 0, 1};
  bind_meshes(scene, joints, "new", {{0, matrices, all_to(2, 8)}});
  EXPECT_EQ(scene.skins, std::vector<Skin>{skin});
  EXPECT_EQ(scene.meshes[0].weights, all_to(1, 8));
  bind_meshes(scene, joints, "new", {{0, matrices, all_to(1, 8)}});
  ASSERT_EQ(scene.skins.size(), 1u);
  EXPECT_EQ(scene.skins[0].name, "new");
  EXPECT_EQ(scene.skins[0].joints, joints);
  EXPECT_EQ(scene.meshes[0].weights, all_to(1, 8));
  check_scene(scene);
}

TEST(BindMeshes, MeshesOfOneSpaceShareASkin) {
  Scene scene = person();
  scene.meshes.push_back(cube("left", -1));
  scene.meshes.push_back(cube("moved", -1));
  scene.meshes.push_back(cube("as it was", 0));
  const std::vector<int> joints{0, 1};
  std::vector<Mat4f> here(2, Mat4f::Identity()), there = here;
  here[0](0, 3) = here[1](0, 3) = 3;
  there[0](0, 3) = 4;
  bind_meshes(scene, joints, "new",
              {{0, here, all_to(0, 8)}, {1, here, all_to(1, 8)}, {2, there, all_to(0, 8)}});
  check_scene(scene);
  ASSERT_EQ(scene.skins.size(), 3u);
  EXPECT_EQ(scene.skins[0].joints.size(), 3u);  // of the mesh that stays as it was
  EXPECT_EQ(scene.meshes[0].skin, scene.meshes[1].skin);
  EXPECT_NE(scene.meshes[0].skin, scene.meshes[2].skin);
  EXPECT_EQ(scene.meshes[3].skin, 0);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_TRUE(scene.skeleton.joints[j].deforms);
}

TEST(BindMeshes, SkinsThatNobodyUsesGo) {
  Scene scene = person();
  scene.skins.push_back(skin_at_rest(scene.skeleton, {1, 2}));
  scene.meshes.push_back(cube("eyes", 1));
  std::vector<Mat4f> matrices(1, Mat4f::Identity());
  bind_meshes(scene, std::vector<int>{0}, "new", {{0, matrices, all_to(0, 8)}, {1, matrices, all_to(0, 8)}});
  check_scene(scene);
  ASSERT_EQ(scene.skins.size(), 1u);
  EXPECT_EQ(scene.skins[0].name, "new");
  EXPECT_TRUE(scene.skeleton.joints[0].deforms);
  EXPECT_FALSE(scene.skeleton.joints[2].deforms);
}

}  // namespace
}  // namespace sinew
