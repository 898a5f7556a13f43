#include <sinew/authoring/bind_scene.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/bvh.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/gltf_document.h>
#include <sinew/scene/merge_rig.h>
#include <tests/support/assets.h>
#include <tests/support/grid_tube.h>
#include <tests/support/meshes.h>
#include <tests/support/rigged_tube.h>
#include <tests/support/sanitized.h>
#include <tests/support/temporary_directory.h>
#include <tests/support/validator.h>

namespace sinew {
namespace {

Joint joint(const std::string& name, int parent, const Vec3f& translation) {
  Joint result{name, parent, {}, false};
  result.rest.translation = translation;
  return result;
}

/// A closed tube along y from 0 to 3 m, without a skeleton.
Scene tube() {
  Scene scene;
  scene.source = "tube.obj";
  SceneMesh mesh;
  mesh.name = "tube";
  mesh.surface = test::make_tube(8, 24, 0.3f, 3, true);
  scene.meshes = {mesh};
  return scene;
}

/// Three joints up the tube, and a clip that bends the middle one.
Scene chain() {
  Scene scene;
  scene.source = "chain.glb";
  scene.skeleton.joints = {joint("low", -1, Vec3f(0, 0.1f, 0)), joint("middle", 0, Vec3f(0, 0.9f, 0)),
                           joint("high", 1, Vec3f(0, 1, 0))};
  Channel channel{
      1, ChannelPath::rotation, Interpolation::linear, 4, {0, 1}, {0, 0, 0, 1, 0, 0, 0.5f, 0.8660254f}};
  scene.clips = {{"bend", {channel}}};
  return scene;
}

void expect_good_rows(const Scene& scene, std::size_t most) {
  for (const SceneMesh& mesh : scene.meshes) {
    if (mesh.skin < 0) continue;
    ASSERT_EQ(mesh.weights.rows(), mesh.surface.positions.size());
    for (std::size_t v = 0; v < mesh.weights.rows(); ++v) {
      ASSERT_GE(mesh.weights.row_size(v), 1u) << mesh.name << " vertex " << v;
      ASSERT_LE(mesh.weights.row_size(v), most);
      double sum = 0;
      for (const float value : mesh.weights.row_values(v)) {
        ASSERT_GT(value, 0);
        sum += value;
      }
      ASSERT_NEAR(sum, 1, 1e-5);
    }
  }
}

/// The name of the joint with the largest weight.
std::string owner(const Scene& scene, std::size_t m, std::size_t v) {
  const SceneMesh& mesh = scene.meshes[m];
  const std::uint32_t slot = mesh.weights.row_joints(v)[0];
  return scene.skeleton.joints[to_size(scene.skins[to_size(mesh.skin)].joints[slot])].name;
}

/// At rest every vertex is where `places` of its mesh put it.
void expect_at_rest(const Scene& bound, std::size_t m, const Affine3d& place, double tolerance = 1e-5) {
  Scene still = bound;
  still.clips.clear();
  const std::vector<Vec3f> posed = test::pose_mesh(still, m, 0);
  for (std::size_t v = 0; v < posed.size(); ++v) {
    const Vec3d expected = place * bound.meshes[m].surface.positions[v].cast<double>();
    ASSERT_LT((posed[v].cast<double>() - expected).norm(), tolerance) << "vertex " << v;
  }
}

Scene written(const Scene& scene, bool allow_warnings = false) {
  const test::TemporaryDirectory directory;
  write_glb(scene, directory / "out.glb");
  test::expect_valid(directory / "out.glb", allow_warnings);
  return read_gltf(directory / "out.glb");
}

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

void expect_error(const Scene& mesh, const Scene& rig, const BindSceneOptions& options,
                  const std::string& expected) {
  try {
    bind_scene(mesh, rig, options);
    FAIL() << "expected: " << expected;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

TEST(BindScene, AMeshMovesWithTheRig) {
  const Scene mesh = tube();
  BindSceneReport report;
  const Scene bound = bind_scene(mesh, chain(), {}, &report);
  check_scene(bound);
  expect_good_rows(bound, 4);
  EXPECT_EQ(bound.meshes[0].surface, mesh.meshes[0].surface);
  EXPECT_EQ(bound.skeleton.joints.size(), 3u);
  EXPECT_EQ(bound.clips, chain().clips);
  for (std::size_t v = 0; v < bound.meshes[0].surface.positions.size(); ++v) {
    const float y = bound.meshes[0].surface.positions[v].y();
    const std::string name = owner(bound, 0, v);
    EXPECT_TRUE(y >= 0.7f || name == "low") << y << name;
    EXPECT_TRUE(y <= 1.3f || y >= 1.7f || name == "middle") << y << name;
    EXPECT_TRUE(y <= 2.3f || name == "high") << y << name;
  }
  expect_at_rest(bound, 0, Affine3d::Identity());
  EXPECT_EQ(report.unbound(), 0u);
  ASSERT_EQ(report.meshes.size(), 1u);
  EXPECT_EQ(report.meshes[0].vertices, mesh.meshes[0].surface.positions.size());
  ASSERT_EQ(report.joints.size(), 3u);
  std::size_t dominated = 0;
  double weight = 0;
  for (const BoundJoint& moved : report.joints) {
    EXPECT_GE(moved.vertices, moved.dominated);
    EXPECT_EQ(moved.name, bound.skeleton.joints[to_size(moved.joint)].name);
    dominated += moved.dominated;
    weight += moved.weight;
  }
  EXPECT_EQ(dominated, report.meshes[0].vertices);
  EXPECT_NEAR(weight, static_cast<double>(report.meshes[0].vertices), 1e-2);
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];

  const Scene read = written(bound);
  expect_good_rows(read, 4);
  EXPECT_EQ(read.skins[0].name, "chain");
}

TEST(BindScene, SplitVerticesGetOneRow) {
  Scene mesh = tube();
  mesh.meshes[0].surface = test::split_all(mesh.meshes[0].surface);
  const Scene whole = bind_scene(tube(), chain());
  const Scene split = bind_scene(mesh, chain());
  EXPECT_EQ(split.meshes[0].weights.rows(), mesh.meshes[0].surface.positions.size());
  const std::vector<Vec3f>& positions = whole.meshes[0].surface.positions;
  for (std::size_t v = 0; v < split.meshes[0].weights.rows(); ++v) {
    const auto same = std::find(positions.begin(), positions.end(), split.meshes[0].surface.positions[v]);
    const std::size_t w = to_size(same - positions.begin());
    EXPECT_EQ(owner(split, 0, v), owner(whole, 0, w));
    EXPECT_NEAR(split.meshes[0].weights.row_values(v)[0], whole.meshes[0].weights.row_values(w)[0], 1e-3);
  }
}

TEST(BindScene, NodesWithTransformsKeepTheirVertices) {
  Scene mesh = tube();
  const Affine3d place = Eigen::Translation3d(0.5, 0, 0) * Affine3d(Eigen::Scaling(0.02, 0.01, 0.01));
  for (Vec3f& p : mesh.meshes[0].surface.positions) p = (place.inverse() * p.cast<double>()).cast<float>();
  mesh.skeleton.joints = {joint("holder", -1, Vec3f(0.5f, 0, 0))};
  mesh.skeleton.joints[0].rest.scale = Vec3f(0.02f, 0.01f, 0.01f);
  mesh.meshes[0].joint = 0;
  SceneMesh other = mesh.meshes[0];
  other.name = "plain";
  other.joint = -1;
  other.surface = tube().meshes[0].surface;
  mesh.meshes.push_back(other);

  BindSceneReport report;
  const Scene bound = bind_scene(mesh, chain(), {}, &report);
  check_scene(bound);
  EXPECT_EQ(bound.meshes[0].surface, mesh.meshes[0].surface);
  EXPECT_EQ(bound.skins.size(), 2u);
  expect_at_rest(bound, 0, place);
  expect_at_rest(bound, 1, Affine3d::Identity());
  EXPECT_EQ(owner(bound, 0, 0), "low");
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
  const Scene read = written(bound, true);
  expect_at_rest(read, 0, place);
  // The same through a document that has the node.
  const Scene again = bind_scene(written(mesh), chain());
  expect_at_rest(again, 0, place);
  expect_at_rest(written(again, true), 0, place);
}

TEST(BindScene, OnlyTheMeshesAskedFor) {
  Scene mesh = tube();
  mesh.meshes.push_back(mesh.meshes[0]);
  mesh.meshes[1].name = "stone";
  const Scene bound = bind_scene(mesh, chain(), {.meshes = {"tu*"}});
  EXPECT_GE(bound.meshes[0].skin, 0);
  EXPECT_EQ(bound.meshes[1], mesh.meshes[1]);
  expect_error(mesh, chain(), {.meshes = {"cloth"}}, "no mesh is called 'cloth'; there are 'tube', 'stone'");
}

TEST(BindScene, PiecesFollowTheBodyTheySitOn) {
  Scene mesh = tube();
  SceneMesh button;
  button.name = "button";
  button.surface = test::moved(test::make_icosphere(1), Vec3f(0.33f, 2.6f, 0), 0.05f);
  mesh.meshes.push_back(button);
  const Scene bound = bind_scene(mesh, chain());
  expect_good_rows(bound, 4);
  EXPECT_EQ(bound.meshes[0].skin, bound.meshes[1].skin);
  for (std::size_t v = 0; v < bound.meshes[1].weights.rows(); ++v) EXPECT_EQ(owner(bound, 1, v), "high");
}

TEST(BindScene, OwnSkinKeepsItsMatrices) {
  Scene scene = test::make_grid_tube({.rings = 12, .segments = 8});
  const Skin skin = scene.skins[0];
  scene = written(scene);
  BindSceneReport report;
  const Scene bound = bind_scene(scene, scene, {}, &report);
  EXPECT_EQ(bound.skins, scene.skins);
  EXPECT_EQ(bound.skins[0].joints.size(), skin.joints.size());
  EXPECT_EQ(bound.skeleton, scene.skeleton);
  EXPECT_EQ(bound.clips, scene.clips);
  EXPECT_NE(bound.meshes[0].weights, scene.meshes[0].weights);
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
  const nlohmann::ordered_json was = scene.document->json;
  const nlohmann::ordered_json is = written(bound).document->json;
  for (const char* key : {"nodes", "scenes", "asset"}) EXPECT_EQ(is[key], was[key]) << key;
}

TEST(BindScene, BoundInTheBindPoseNotAtRest) {
  // The rig rests bent by 90°; the mesh is straight, as when the rig's own skin was bound.
  Scene rig = bind_scene(tube(), chain());
  rig.skeleton.joints[1].rest.rotation = Quatf(Eigen::AngleAxisf(1.5707963f, Vec3f::UnitZ()));
  for (const bool own : {true, false}) {
    const Scene bound = own ? bind_scene(rig, rig) : bind_scene(tube(), rig);
    EXPECT_EQ(bound.skeleton.joints[1].rest, rig.skeleton.joints[1].rest);
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_LT((bound.skins[0].joint_from_mesh[j] - rig.skins[0].joint_from_mesh[j]).norm(), 1e-5);
    for (std::size_t v = 0; v < bound.meshes[0].weights.rows(); ++v)
      EXPECT_TRUE(bound.meshes[0].surface.positions[v].y() <= 2.3f || owner(bound, 0, v) == "high");
  }
}

TEST(BindScene, AnotherSkeletonTakesOver) {
  Scene old = bind_scene(tube(), chain());
  for (Joint& j : old.skeleton.joints) j.name = "old " + j.name;
  BindSceneReport report;
  const Scene bound = bind_scene(written(old), chain(), {}, &report);
  EXPECT_TRUE(mentions(report.warnings, "was bound to another skeleton")) << report.warnings.size();
  ASSERT_EQ(bound.skins.size(), 1u);
  const Scene read = written(bound);
  EXPECT_EQ(read.skins.size(), 1u);
  EXPECT_EQ(read.skeleton.size(), bound.skeleton.size());
  for (const int j : read.skins[0].joints)
    EXPECT_FALSE(read.skeleton.joints[to_size(j)].name.starts_with("old "));
  EXPECT_EQ(read.clips.size(), 2u);
}

TEST(BindScene, ControllersGetNoWeights) {
  Scene rig = chain();
  for (const char* name : {"MCH-low", "rig:ORG-low", "ctrl_low", "ik_hand", "CTRL-x"})
    rig.skeleton.joints.push_back(joint(name, 0, Vec3f(0.01f, 0.5f, 0)));
  BindSceneReport report;
  const Scene bound = bind_scene(tube(), rig, {}, &report);
  EXPECT_EQ(report.joints.size(), 3u);
  ASSERT_EQ(report.left_out.size(), 5u);
  EXPECT_EQ(report.left_out[1].name, "rig:ORG-low");
  EXPECT_EQ(report.left_out[1].reason, "a controller by its name");
  EXPECT_EQ(bound.skeleton.size(), 8u);  // they stay in the rig

  for (int j = 0; j < 2; ++j) rig.skeleton.joints[to_size(j)].name.insert(0, "DEF-");
  bind_scene(tube(), rig, {}, &report);
  ASSERT_EQ(report.joints.size(), 2u);
  EXPECT_EQ(report.joints[1].name, "DEF-middle");
  EXPECT_EQ(report.left_out.size(), 6u);

  Scene only = chain();
  for (Joint& j : only.skeleton.joints) j.name.insert(0, "ctrl_");
  bind_scene(tube(), only, {}, &report);
  EXPECT_EQ(report.joints.size(), 3u);
}

TEST(BindScene, ARootOnTheFloorGetsNoWeights) {
  Scene rig = chain();
  rig.skeleton.joints.insert(rig.skeleton.joints.begin(), joint("root", -1, Vec3f(0, -1, 0)));
  for (std::size_t j = 1; j < 4; ++j) rig.skeleton.joints[j].parent = static_cast<int>(j) - 1;
  rig.skeleton.joints[1].rest.translation.y() += 1;
  rig.clips.clear();
  BindSceneReport report;
  bind_scene(tube(), rig, {}, &report);
  EXPECT_EQ(report.joints.size(), 3u);
  ASSERT_EQ(report.left_out.size(), 1u);
  EXPECT_EQ(report.left_out[0].name, "root");
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
  // One that starts inside is a bone as any other.
  bind_scene(tube(), chain(), {}, &report);
  EXPECT_TRUE(report.left_out.empty());
}

TEST(BindScene, IgnoredJointsGetNoWeights) {
  BindSceneReport report;
  const Scene bound = bind_scene(tube(), chain(), {.ignore = {"mid*"}}, &report);
  ASSERT_EQ(report.joints.size(), 2u);
  ASSERT_EQ(report.left_out.size(), 1u);
  EXPECT_EQ(report.left_out[0].reason, "ignored");
  for (std::size_t v = 0; v < bound.meshes[0].weights.rows(); ++v) EXPECT_NE(owner(bound, 0, v), "middle");
  expect_error(tube(), chain(), {.ignore = {"Mid*"}}, "none is called 'Mid*'");
  expect_error(tube(), chain(), {.ignore = {"*"}}, "all 3 are ignored");
}

TEST(BindScene, LockedJointsKeepTheirWeights) {
  Scene scene = test::make_grid_tube({.rings = 12, .segments = 8});
  const std::string locked = scene.skeleton.joints[to_size(scene.skins[0].joints[1])].name;
  // Weights that no method would give.
  SkinWeights& weights = scene.meshes[0].weights;
  weights = {};
  for (std::size_t v = 0; v < scene.meshes[0].surface.positions.size(); ++v) {
    const float value = v % 3 == 0 ? 0.25f : 0.5f;
    weights.joints.insert(weights.joints.end(), {0, 1});
    weights.values.insert(weights.values.end(), {1 - value, value});
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  BindSceneReport report;
  const Scene bound = bind_scene(scene, scene, {.lock = {locked}}, &report);
  expect_good_rows(bound, 4);
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    const auto joints = bound.meshes[0].weights.row_joints(v);
    const auto place = std::find(joints.begin(), joints.end(), 1u);
    ASSERT_NE(place, joints.end());
    EXPECT_NEAR(bound.meshes[0].weights.row_values(v)[to_size(place - joints.begin())],
                v % 3 == 0 ? 0.25f : 0.5f, 1e-5);
  }
  EXPECT_TRUE(report.joints[1].locked);
  EXPECT_FALSE(report.joints[0].locked);
  expect_error(tube(), chain(), {.lock = {"middle"}}, "has no weights of joints called 'middle'");
  expect_error(scene, scene, {.lock = {"*"}}, "all joints are locked");
}

TEST(BindScene, OptionsReachTheSurface) {
  const Scene rigid = bind_scene(tube(), chain(), {.method = BindMethod::rigid});
  expect_good_rows(rigid, 1);
  const Scene two = bind_scene(tube(), chain(), {.influences = 2});
  expect_good_rows(two, 2);
  expect_good_rows(bind_scene(tube(), chain(), {.method = BindMethod::envelope, .influences = 0}), 3);
  expect_error(tube(), chain(), {.prune = 2}, "");
  expect_error(tube(), chain(), {.smooth = -1}, "");
}

TEST(BindScene, SaysWhatToDoAboutRigsThatDoNotFit) {
  BindSceneReport report;
  Scene mesh = tube();
  for (Vec3f& p : mesh.meshes[0].surface.positions) p *= 100;
  expect_good_rows(bind_scene(mesh, chain(), {}, &report), 4);
  EXPECT_TRUE(mentions(report.warnings, "Scale the mesh by 0.01")) << report.warnings[0];

  mesh = tube();
  for (Vec3f& p : mesh.meshes[0].surface.positions) p.x() += 10;
  expect_good_rows(bind_scene(mesh, chain(), {}, &report), 4);
  EXPECT_TRUE(mentions(report.warnings, "do not overlap")) << report.warnings[0];

  Scene rig = chain();
  rig.skeleton.joints.push_back(joint("prop", 1, Vec3f(1, 0, 0)));
  rig.skeleton.joints.push_back(joint("prop tip", 3, Vec3f(0.2f, 0, 0)));
  bind_scene(tube(), rig, {}, &report);
  EXPECT_TRUE(mentions(report.warnings, "outside of the mesh: prop, prop tip")) << report.warnings.size();
}

TEST(BindScene, ErrorsSayWhatIsMissing) {
  expect_error(Scene(), chain(), {}, "no mesh");
  expect_error(tube(), Scene(), {}, "no skeleton");
  Scene flat = chain();
  flat.skeleton.joints[2].rest.scale.setZero();
  expect_error(tube(), flat, {}, "'high' is scaled to nothing");
}

// --- symmetry

/// Two tubes, left and right, each with a joint, and one between them.
Scene pair_rig() {
  Scene rig;
  rig.source = "pair.glb";
  rig.skeleton.joints = {joint("hips", -1, Vec3f(0.5f, 0, 0)), joint("leg.L", 0, Vec3f(1, 0.1f, 0)),
                         joint("foot.L", 1, Vec3f(0, 1.4f, 0)), joint("leg.R", 0, Vec3f(-1, 0.1f, 0)),
                         joint("foot.R", 3, Vec3f(0, 1.4f, 0))};
  return rig;
}

Scene pair_mesh() {
  Scene scene = tube();
  Mesh& surface = scene.meshes[0].surface;
  surface = test::join(test::moved(surface, Vec3f(1.5f, 0, 0)), test::moved(surface, Vec3f(-0.5f, 0, 0)));
  return scene;
}

TEST(BindScene, SymmetryIsFoundByNames) {
  BindSceneReport report;
  const Scene bound = bind_scene(pair_mesh(), pair_rig(), {}, &report);
  ASSERT_TRUE(report.mirror.has_value());
  EXPECT_EQ(report.mirror_pairs, 2u);
  EXPECT_NEAR(std::abs(report.mirror->normal.x()), 1, 1e-9);
  EXPECT_NEAR(report.mirror->point.dot(report.mirror->normal), 0.5 * report.mirror->normal.x(), 1e-6);
  const std::size_t half = bound.meshes[0].surface.positions.size() / 2;
  EXPECT_EQ(report.surface.mirrored_vertices, 2 * half);
  // Vertices are at mirrored places in another order; compare what each side's joints move.
  EXPECT_EQ(report.joints[1].dominated, report.joints[3].dominated);
  EXPECT_NEAR(report.joints[2].weight, report.joints[4].weight, 1e-3);

  bind_scene(pair_mesh(), pair_rig(), {.symmetry = SymmetryChoice::none}, &report);
  EXPECT_FALSE(report.mirror.has_value());
  Scene crooked = pair_rig();
  crooked.skeleton.joints[4].rest.translation = Vec3f(0, 1.1f, 0);
  bind_scene(pair_mesh(), crooked, {}, &report);
  EXPECT_FALSE(report.mirror.has_value());
  EXPECT_TRUE(mentions(report.warnings, "do not mirror each other"));
  bind_scene(pair_mesh(), crooked, {.symmetry = SymmetryChoice::x}, &report);
  ASSERT_TRUE(report.mirror.has_value());
  EXPECT_NEAR(report.mirror->point.x(), 0.5, 1e-6);
}

TEST(BindScene, SymmetryAcrossAnAxisNeedsNoNames) {
  Scene rig = pair_rig();
  for (std::size_t j = 0; j < rig.skeleton.size(); ++j)
    rig.skeleton.joints[j].name = std::string(1, static_cast<char>('a' + j));
  BindSceneReport report;
  bind_scene(pair_mesh(), rig, {}, &report);
  EXPECT_FALSE(report.mirror.has_value());
  bind_scene(pair_mesh(), rig, {.symmetry = SymmetryChoice::x}, &report);
  ASSERT_TRUE(report.mirror.has_value());
  EXPECT_NEAR(report.mirror->point.x(), 0.5, 1e-6);
  EXPECT_EQ(report.mirror_pairs, 2u);
}

TEST(BindScene, SymmetryAcrossTheWrongAxisIsRefused) {
  expect_error(pair_mesh(), pair_rig(), {.symmetry = SymmetryChoice::z},
               "do not mirror each other across that plane");
}

TEST(BindScene, JointsWithoutASideMayStandOnOne) {
  // Names without sides on the legs' lower halves: they must not be shared out over both legs.
  Scene rig = pair_rig();
  rig.skeleton.joints[2].name = "claw";
  rig.skeleton.joints[4].name = "hook";
  for (int i = 0; i < 4; ++i)
    rig.skeleton.joints.push_back(joint("spine", i == 0 ? 0 : 4 + i, Vec3f(0, 0.2f, 0)));
  BindSceneReport report;
  const Scene bound = bind_scene(pair_mesh(), rig, {}, &report);
  ASSERT_TRUE(report.mirror.has_value());
  const SceneMesh& mesh = bound.meshes[0];
  const Skin& skin = bound.skins[to_size(mesh.skin)];
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v)
    for (const std::uint32_t slot : mesh.weights.row_joints(v)) {
      const std::string& name = bound.skeleton.joints[to_size(skin.joints[slot])].name;
      EXPECT_NE(name, mesh.surface.positions[v].x() > 0.5f ? "hook" : "claw");
    }
}

TEST(BindScene, LockedJointsAreNotMirrored) {
  const Scene bound = bind_scene(pair_mesh(), pair_rig(), {});
  const Scene again = bind_scene(bound, bound, {.lock = {"leg.L"}});
  const auto weight = [](const Scene& scene, std::size_t v) {
    const SceneMesh& mesh = scene.meshes[0];
    const Skin& skin = scene.skins[to_size(mesh.skin)];
    for (std::size_t i = 0; i < mesh.weights.row_size(v); ++i)
      if (scene.skeleton.joints[to_size(skin.joints[mesh.weights.row_joints(v)[i]])].name == "leg.L")
        return mesh.weights.row_values(v)[i];
    return 0.0f;
  };
  for (std::size_t v = 0; v < bound.meshes[0].surface.positions.size(); ++v)
    EXPECT_NEAR(weight(again, v), weight(bound, v), 1e-5);
  expect_error(bound, bound, {.ignore = {"leg.*"}, .lock = {"leg.L"}}, "both to be ignored and locked");
}

// --- other files

TEST(BindScene, MotionFilesServeAsRigs) {
  const Scene rig = parse_bvh(
      "HIERARCHY\nROOT low\n{\n OFFSET 0 0.1 0\n CHANNELS 3 Zrotation Xrotation Yrotation\n JOINT high\n {\n "
      " "
      "OFFSET 0 1.4 0\n  CHANNELS 3 Zrotation Xrotation Yrotation\n  End Site\n  {\n   OFFSET 0 1.4 0\n  }\n "
      "}\n}\nMOTION\nFrames: 2\nFrame Time: 0.1\n0 0 0 0 0 0\n0 0 0 45 0 0\n",
      "chain.bvh");
  BindSceneReport report;
  const Scene bound = bind_scene(tube(), rig, {}, &report);
  expect_good_rows(bound, 4);
  EXPECT_EQ(report.joints.size(), 2u);
  ASSERT_EQ(report.left_out.size(), 1u);
  EXPECT_EQ(report.left_out[0].name, "high_end");
  EXPECT_EQ(bound.clips.size(), 1u);
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
  written(bound);
}

TEST(BindScene, AnUnriggedHumanGetsTheRigOfAnotherFile) {
  const auto mesh_path = test::asset("human_unrigged.obj"), rig_path = test::asset("human.glb");
  if (!mesh_path || !rig_path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene mesh = read_scene(*mesh_path), rig = read_scene(*rig_path);
  BindSceneReport report;
  const Scene bound = bind_scene(mesh, rig, {}, &report);
  expect_good_rows(bound, 4);
  EXPECT_EQ(bound.skeleton.size(), rig.skeleton.size() - 1);  // without the node of the rig's mesh
  EXPECT_EQ(bound.skins[0].joints.size(), rig.skins[0].joints.size());
  EXPECT_EQ(bound.clips.size(), rig.clips.size());
  EXPECT_TRUE(report.mirror.has_value());
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
  EXPECT_EQ(report.left_out.back().name, "Root");
  EXPECT_EQ(bound.meshes[0].surface, mesh.meshes[0].surface);
  if (test::kSanitized) return;
  const Scene read = written(bound);
  for (std::size_t i = 0; i < rig.skins[0].joints.size(); ++i)
    EXPECT_EQ(read.skeleton.joints[to_size(read.skins[0].joints[i])].name,
              rig.skeleton.joints[to_size(rig.skins[0].joints[i])].name);
}

class BindSceneAssets : public ::testing::TestWithParam<const char*> {};

TEST_P(BindSceneAssets, AreBoundAnew) {
  const auto path = test::asset(GetParam());
  if (!path) GTEST_SKIP() << test::missing_asset(GetParam());
  const Scene scene = read_scene(*path);
  BindSceneReport report;
  const Scene bound = bind_scene(scene, scene, {}, &report);
  expect_good_rows(bound, 4);
  EXPECT_EQ(bound.skins, scene.skins);
  EXPECT_EQ(bound.skeleton, scene.skeleton);
  EXPECT_EQ(bound.clips, scene.clips);
  EXPECT_FALSE(mentions(report.warnings, "size"));
  EXPECT_FALSE(mentions(report.warnings, "overlap"));
  if (test::kSanitized) return;
  const Scene read = written(bound, true);
  EXPECT_EQ(read.skins, scene.skins);
  const auto &was = scene.document->json, &is = read.document->json;
  for (const char* key : {"nodes", "scenes", "materials", "textures", "asset"})
    EXPECT_EQ(is.value(key, nlohmann::ordered_json()), was.value(key, nlohmann::ordered_json())) << key;
}

INSTANTIATE_TEST_SUITE_P(Files, BindSceneAssets,
                         ::testing::Values("human.glb", "fox.glb", "rigged_figure.glb"));

}  // namespace
}  // namespace sinew
