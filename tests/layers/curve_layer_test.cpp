#include <sinew/layers/curve_layer.h>

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <sinew/character/character.h>
#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {
namespace {

struct TestJoint {
  const char* name;
  int parent;
  Vec3f place;  ///< relative to its parent
};

/// A tube about the x axis from 0 to `length`, each vertex bound to the two joints on its sides among the
/// first `bound` joints, which stand at x = 0, 1, 2 …; all joints deform.
Scene make_tube_scene(const std::vector<TestJoint>& joints, int bound, double metres = 1) {
  Scene scene;
  scene.source = "tube";
  Skin skin;
  std::vector<Vec3f> places;
  for (const TestJoint& joint : joints) {
    scene.skeleton.joints.push_back({joint.name, joint.parent, {}, true});
    scene.skeleton.joints.back().rest.translation = joint.place;
    const Vec3f parent = joint.parent < 0 ? Vec3f(0, 0, 0) : places[to_size(joint.parent)];
    places.push_back(parent + joint.place);
    skin.joints.push_back(static_cast<int>(places.size()) - 1);
    Mat4f joint_from_mesh = Mat4f::Identity();
    joint_from_mesh.diagonal().head<3>().setConstant(static_cast<float>(metres));
    joint_from_mesh.block<3, 1>(0, 3) = -places.back();
    skin.joint_from_mesh.push_back(joint_from_mesh);
  }
  scene.skins.push_back(skin);
  SceneMesh mesh;
  mesh.name = "tube";
  mesh.skin = 0;
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  WeightRepairs repairs;
  constexpr std::uint32_t kAround = 8;
  const int rings = 8 * bound;
  for (int r = 0; r <= rings; ++r)
    for (std::uint32_t s = 0; s < kAround; ++s) {
      const double x = r / 8.0, angle = s * 2 * std::numbers::pi / kAround;
      positions.push_back((Vec3d(x, 0.2 * std::cos(angle), 0.2 * std::sin(angle)) / metres).cast<float>());
      const double number = std::clamp(x - 0.5, 0.0, bound - 1.0);
      const auto lower = static_cast<std::uint32_t>(std::min(std::floor(number), bound - 2.0));
      Influence row[2] = {{lower, static_cast<float>(1 - (number - lower))},
                          {lower + 1, static_cast<float>(number - lower)}};
      append_row(mesh.weights, row, 0, repairs);
      if (r == rings) continue;
      const std::uint32_t first = static_cast<std::uint32_t>(r) * kAround, next = (s + 1) % kAround;
      triangles.push_back({first + s, first + next, first + kAround + s});
      triangles.push_back({first + next, first + kAround + next, first + kAround + s});
    }
  mesh.surface = make_mesh(std::move(positions), triangles);
  scene.meshes.push_back(std::move(mesh));
  scene.joint_nodes.assign(scene.skeleton.size(), -1);
  scene.mesh_nodes.assign(1, -1);
  return scene;
}

const std::vector<TestJoint> kTail = {{"hips", -1, {0, 0, 0}},  {"tail_1", 0, {1, 0, 0}},
                                      {"tail_2", 1, {1, 0, 0}}, {"tail_3", 2, {1, 0, 0}},
                                      {"tail_4", 3, {1, 0, 0}}, {"tail_5", 4, {1, 0, 0}}};

std::vector<Vec3f> deform(const Character& character, const Layer& layer, const Pose& pose) {
  std::vector<Affine3d> world(character.skeleton().size()), posed;
  forward_kinematics(character.skeleton(), pose.joints, world);
  for (const Binding& binding : character.bindings())
    posed.push_back(world[to_size(binding.joint)] * binding.joint_from_rest);
  std::vector<Vec3f> positions(character.rest().begin(), character.rest().end());
  const auto state = layer.make_state();
  layer.deform({pose, world, posed, character.rest()}, state.get(), positions);
  return positions;
}

Pose curled(const Character& character, float degrees) {
  Pose pose = character.rest_pose();
  for (std::size_t j = 1; j < pose.joints.size(); ++j)
    pose.joints[j].rotation =
        Quatf(Eigen::AngleAxisf(degrees * std::numbers::pi_v<float> / 180, Vec3f::UnitZ()));
  return pose;
}

/// The names of the chains found, "a b c, d e f".
std::string found(const std::vector<TestJoint>& joints) {
  const auto character = Character::make(make_tube_scene(joints, 2), Recipe());
  std::string text;
  for (const std::vector<int>& chain : find_chains(*character)) {
    if (!text.empty()) text += ",";
    for (const int joint : chain) text += std::string(text.empty() ? "" : " ") + joints[to_size(joint)].name;
  }
  return text;
}

/// A row of joints one after another.
std::vector<TestJoint> row(const std::vector<const char*>& names, float length = 1) {
  std::vector<TestJoint> joints;
  for (const char* name : names)
    joints.push_back({name, static_cast<int>(joints.size()) - 1, {length, 0, 0}});
  return joints;
}

TEST(CurveLayer, FindsChainsByName) {
  EXPECT_EQ(found(kTail), "tail_1 tail_2 tail_3 tail_4 tail_5");
  EXPECT_EQ(found(row({"b_Hip_01", "b_Tail01_012", "b_Tail02_013", "b_Tail03_014"})),
            "b_Tail01_012 b_Tail02_013 b_Tail03_014");
  EXPECT_EQ(found(row({"hips", "tail1", "tail2"})), "");  // too short
  EXPECT_EQ(found(row({"pelvis", "spine_01", "spine_02", "spine_03", "neck_01", "head"})),
            "spine_01 spine_02 spine_03 neck_01");
  EXPECT_EQ(found(row({"pelvis", "spine_01", "spine_02", "spine_03", "head"})), "");
  // Side branches do not end a spine, nor do they join it.
  std::vector<TestJoint> ribbed = row({"spine1", "spine2", "spine3", "spine4"});
  ribbed.insert(ribbed.end(), {{"rib.L", 1, {0, 1, 0}}, {"shoulder.L", 3, {0, 1, 0}}});
  EXPECT_EQ(found(ribbed), "spine1 spine2 spine3 spine4");
  // Strands beside each other are chains of their own.
  EXPECT_EQ(found({{"head", -1, {0, 0, 0}},
                   {"hair_a1", 0, {1, 0, 0}},
                   {"hair_a2", 1, {1, 0, 0}},
                   {"hair_a3", 2, {1, 0, 0}},
                   {"hair_b1", 0, {0, 1, 0}},
                   {"hair_b2", 4, {0, 1, 0}},
                   {"hair_b3", 5, {0, 1, 0}}}),
            "hair_a1 hair_a2 hair_a3, hair_b1 hair_b2 hair_b3");
}

TEST(CurveLayer, LimbsAreNoChains) {
  EXPECT_EQ(found(row({"clavicle_l", "upperarm_l", "lowerarm_l", "hand_l", "middle_01_l", "middle_02_l"})),
            "");
  EXPECT_EQ(found(row({"LeftUpperArm", "LeftForeArm", "LeftForeArmRoll", "LeftHand", "a", "b", "c"})), "");
  EXPECT_EQ(found(row({"scapula.L", "upper_arm.L", "lower_arm.L", "paw.L", "toes.L", "toes_end.L"})), "");
  EXPECT_EQ(found(row({"forearm1", "forearm2", "forearm3", "forearm4"})), "");  // no ears
  EXPECT_EQ(found(row({"a", "b", "c", "d", "e"})), "");                         // may be anything
}

TEST(CurveLayer, LongEvenRowsNeedNoName) {
  EXPECT_EQ(found(row({"Bone", "Bone.001", "Bone.002", "Bone.003", "Bone.004", "Bone.005"})),
            "Bone Bone.001 Bone.002 Bone.003 Bone.004 Bone.005");
  std::vector<TestJoint> uneven = row({"a", "b", "c", "d", "e", "f"});
  uneven[3].place.x() = 2.5f;
  EXPECT_EQ(found(uneven), "");
  std::vector<TestJoint> tail = kTail;
  tail[4].place.x() = 2.5f;  // uneven, but a tail
  EXPECT_EQ(found(tail), "tail_1 tail_2 tail_3 tail_4 tail_5");
  tail[4].place.x() = 4;
  EXPECT_EQ(found(tail), "tail_1 tail_2 tail_3");
}

TEST(CurveLayer, RestStaysAndBendsAreSmooth) {
  const auto character = Character::make(make_tube_scene(kTail, 6), recipe_for_method("dqs"));
  const auto layer = make_curve_layer(CurveOptions(), *character);
  const std::vector<Vec3f> rest = deform(*character, *layer, character->rest_pose());
  for (std::size_t v = 0; v < rest.size(); ++v) ASSERT_LT((rest[v] - character->rest()[v]).norm(), 1e-6f);

  // Round the circle that the tail is bent to all points of one line of the tube have one distance from its
  // middle; bones make corners.
  const Pose pose = curled(*character, 30);
  const auto unevenness = [&](const std::vector<Vec3f>& posed) {
    // Joints 2, 3 and 4 lie on the circle.
    std::vector<Affine3d> world(character->skeleton().size());
    forward_kinematics(character->skeleton(), pose.joints, world);
    const Vec3d a = world[2].translation(), b = world[3].translation(), c = world[4].translation();
    const double radius = (b - a).norm() / 2 / std::sin(15 * std::numbers::pi / 180);
    const Vec3d middle = b + (a + c - 2 * b).normalized() * radius;
    double least = 9, most = 0;
    for (std::size_t v = 0; v < posed.size(); ++v) {
      const Vec3f& p = character->rest()[v];
      if (p.x() < 2.5f || p.x() > 4 || p.y() < 0.19f) continue;
      const double distance = (posed[v].cast<double>() - middle).norm();
      least = std::min(least, distance);
      most = std::max(most, distance);
    }
    return most - least;
  };
  const double curves = unevenness(deform(*character, *layer, pose));
  const double bones = unevenness(deform(*character, *character->layers()[0], pose));
  EXPECT_LT(curves, 0.02);
  EXPECT_GT(bones, 2 * curves);
}

TEST(CurveLayer, OtherSkinIsLeftAlone) {
  const auto character = Character::make(make_tube_scene(kTail, 6), recipe_for_method("dqs"));
  CurveOptions options;
  options.chains = {{"tail_3", "tail_5"}};
  const auto layer = make_curve_layer(options, *character);
  const std::vector<Vec3f> posed = deform(*character, *layer, curled(*character, 30));
  int kept = 0, moved = 0;
  for (std::size_t v = 0; v < posed.size(); ++v) {
    if (character->rest()[v].x() <= 2.5f)
      kept += posed[v] == character->rest()[v] ? 1 : -1000000;  // no weights on the chain
    else if (character->rest()[v].x() > 4)
      moved += posed[v] == character->rest()[v] ? -1000000 : 1;
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(moved, 100);
}

/// The same tube once more, in centimetres and with bind matrices to match.
TEST(CurveLayer, EverySkinKeepsItsOwnRestSpace) {
  Scene scene = make_tube_scene(kTail, 6);
  const Scene centimetres = make_tube_scene(kTail, 6, 0.01);
  scene.skins.push_back(centimetres.skins[0]);
  scene.meshes.push_back(centimetres.meshes[0]);
  scene.meshes[1].skin = 1;
  scene.mesh_nodes.push_back(-1);
  const auto character = Character::make(scene, recipe_for_method("lbs"));
  const Pose pose = curled(*character, 25);
  const std::vector<Vec3f> posed = deform(*character, *make_curve_layer(CurveOptions(), *character), pose);
  const std::size_t half = posed.size() / 2;
  int compared = 0;
  for (std::size_t v = 0; v < half; ++v) {
    if (character->rest()[v].x() < 1.5f) continue;  // before the chain the rest shines through
    ASSERT_LT((posed[v] - posed[v + half]).norm(), 1e-4f);
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

TEST(CurveLayer, MistakesNameTheField) {
  const auto character = Character::make(make_tube_scene(kTail, 6), Recipe());
  const auto error_of = [&](std::vector<ChainOptions> chains) -> std::string {
    CurveOptions options;
    options.chains = std::move(chains);
    try {
      make_curve_layer(options, *character);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({{"tail_1", "tail_5"}}), "no error");
  EXPECT_NE(error_of({{"tail_1", "tail_2"}, {"tial_1", "tail_5"}})
                .find("chains[1].from: there is no joint 'tial_1'; there are: hips, tail_1"),
            std::string::npos);
  EXPECT_NE(error_of({{"tail_1", "x"}}).find("chains[0].to: there is no joint 'x'"), std::string::npos);
  EXPECT_NE(error_of({{"", "x"}}).find("chains[0].from: is missing"), std::string::npos);
  EXPECT_NE(error_of({{"tail_5", "tail_1"}}).find("chains[0].to: 'tail_1' is not below 'tail_5'"),
            std::string::npos);
  EXPECT_NE(error_of({{"tail_1", "tail_1"}}).find("chains[0]: has only one joint"), std::string::npos);
  EXPECT_NE(error_of({{"tail_1", "tail_3"}, {"tail_3", "tail_5"}})
                .find("chains[1]: joint 'tail_3' is in chains[0] already"),
            std::string::npos);
}

TEST(CurveLayer, OptionsSurviveARoundTrip) {
  CurveOptions options;
  read_options(options, R"({"chains": [{"from": "a", "to": "b"}, {"from": "c", "to": "d"}]})", "r");
  ASSERT_EQ(options.chains.size(), 2u);
  EXPECT_EQ(options.chains[1].from, "c");
  CurveOptions again;
  read_options(again, to_json(options), "again");
  EXPECT_EQ(to_json(again), to_json(options));
  try {
    read_options(options, R"({"chains": [{"form": "a"}]})", "r");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "r: chains[0].'form' is not a field; allowed are: from, to");
  }
}

TEST(CurveLayer, CharactersWithoutChainsAreLeftAlone) {
  const auto character = Character::make(make_tube_scene(row({"upper_arm", "lower_arm"}), 2), Recipe());
  const auto layer = make_curve_layer(CurveOptions(), *character);
  EXPECT_TRUE(deform(*character, *layer, curled(*character, 40)) ==
              std::vector<Vec3f>(character->rest().begin(), character->rest().end()));
  EXPECT_NE(layer->idle_because(), "");
  // A user who asked for curves is told.
  const auto told =
      Character::make(make_tube_scene(row({"upper_arm", "lower_arm"}), 2), recipe_for_method("curves"));
  ASSERT_EQ(told->warnings().size(), 1u);
  EXPECT_EQ(told->warnings()[0].find("layer 'curves' does nothing: no tail"), 0u);
}

}  // namespace
}  // namespace sinew
