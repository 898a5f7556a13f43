#include <sinew/layers/character_fields.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

#include "tests/support/grid_tube.h"
#include "tests/support/meshes.h"
#include "tests/support/one_joint.h"

namespace sinew {
namespace {

constexpr float kRadius = 0.2f;  // of the grid tube

Scene tube_scene() {
  test::GridTubeOptions options;
  options.rings = 32;
  options.segments = 12;
  return test::make_grid_tube(options);
}

std::shared_ptr<const Character> make_character(const Scene& scene) {
  Recipe recipe;
  recipe.normals = false;
  return Character::make(scene, recipe);
}

/// Adds a mesh to the tube's skin, in front of the others, with one bone for every vertex.
void add_mesh(Scene& scene, const char* name, Mesh surface, auto bone_of) {
  SceneMesh mesh;
  mesh.name = name;
  mesh.skin = 0;
  WeightRepairs repairs;
  for (const Vec3f& p : surface.positions) {
    Influence row[1] = {{static_cast<std::uint32_t>(bone_of(p)), 1}};
    append_row(mesh.weights, row, 0, repairs);
  }
  mesh.surface = std::move(surface);
  scene.meshes.insert(scene.meshes.begin(), std::move(mesh));
  scene.mesh_nodes.push_back(-1);
  check_scene(scene);
}

int half(const Vec3f& p) {
  return p.x() > 0 ? 1 : 0;
}

/// A tube of length 1 round the joint.
Mesh sleeve(float radius) {
  Mesh mesh = test::make_tube(12, 16, radius, 1);
  for (Vec3f& p : mesh.positions) p = {0.5f - p.y(), p.x(), p.z()};
  return mesh;
}

float farthest_sample(const BoneField& field) {
  double farthest = 0;
  for (const HermitePoint& sample : field.samples)
    farthest = std::max(farthest, Vec3d(0, sample.position.y(), sample.position.z()).norm());
  return static_cast<float>(farthest);
}

TEST(CharacterFields, OnePerJointWithSkin) {
  const auto character = make_character(tube_scene());
  const CharacterFields fields = make_character_fields(*character, {});
  ASSERT_EQ(fields.set->fields.size(), 2u);
  EXPECT_EQ(fields.set->transform, (std::vector<std::uint32_t>{0, 1}));
  ASSERT_EQ(fields.set->joints.size(), 1u);
  EXPECT_EQ(fields.set->joints[0].parent, 0u);
  EXPECT_EQ(fields.set->joints[0].child, 1u);
  EXPECT_LT(fields.set->joints[0].place.norm(), 1e-6);
  ASSERT_EQ(fields.own.size(), character->rest().size());
  for (std::size_t v = 0; v < fields.own.size(); ++v) {
    const float x = character->rest()[v].x();
    if (std::abs(x) > 1e-4f) {
      EXPECT_EQ(fields.own[v], x > 0 ? 1 : 0) << x;
    }
  }
  // Each is made of its own half, closed at the joint only, and is 1/2 on the skin.
  for (std::size_t f = 0; f < 2; ++f) {
    const BoneField& field = fields.set->fields[f];
    EXPECT_EQ(field.closures.size(), 1u);
    for (const HermitePoint& sample : field.samples)
      EXPECT_GT(f == 1 ? sample.position.x() : -sample.position.x(), -0.1);
    EXPECT_NEAR(field.value(Vec3d(f == 1 ? 0.5 : -0.5, kRadius, 0)), 0.5, 0.03);
    EXPECT_GT(field.value(Vec3d(f == 1 ? 0.5 : -0.5, 0, 0)), 0.9);
  }
}

TEST(CharacterFields, BonesWithoutVerticesAreSteppedOver) {
  // A joint between the two that has skin nowhere, and one at the end that no vertex follows.
  Scene scene = tube_scene();
  const CharacterFields plain = make_character_fields(*make_character(scene), {});
  scene.skeleton.joints = {
      scene.skeleton.joints[0], {"between", 0, {}, true}, {"upper", 1, {}, true}, {"idle", 2, {}, true}};
  scene.skeleton.joints[1].rest.translation = {0.9f, 0, 0};
  scene.skeleton.joints[3].rest.translation = {0.5f, 0, 0};
  scene.skins[0].joints = {0, 2, 1, 3};
  scene.skins[0].joint_from_mesh.resize(4, Mat4f::Identity());
  scene.skins[0].joint_from_mesh[3](0, 3) = -0.5f;
  scene.clips.clear();
  scene.joint_nodes.assign(4, -1);
  check_scene(scene);
  const CharacterFields fields = make_character_fields(*make_character(scene), {});
  ASSERT_EQ(fields.set->fields.size(), 2u);
  ASSERT_EQ(fields.set->joints.size(), 1u);
  EXPECT_EQ(fields.set->joints[0].parent, 0u);
  EXPECT_EQ(fields.set->joints[0].child, 1u);
  EXPECT_TRUE(fields.own == plain.own);
  // The upper field is still closed at its head: there is a part above, though not of its parent.
  EXPECT_GE(fields.set->fields[1].closures.size(), 1u);
}

TEST(CharacterFields, JointsWithSeveralChildrenHaveASegmentForEach) {
  // A second upper bone, for the half of the tube with z > 0.
  Scene scene = tube_scene();
  scene.skeleton.joints.push_back({"upper_b", 0, {}, true});
  scene.skeleton.joints[3].rest.translation = {0.9f, 0, 0.1f};
  Skin& skin = scene.skins[0];
  skin.joints.push_back(3);
  skin.joint_from_mesh.push_back(Mat4f::Identity());
  skin.joint_from_mesh[2](2, 3) = -0.1f;
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& p : scene.meshes[0].surface.positions) {
    Influence row[1] = {{p.x() < 0 ? 0u : p.z() > 0 ? 2u : 1u, 1}};
    append_row(weights, row, 0, repairs);
  }
  scene.meshes[0].weights = weights;
  scene.joint_nodes.assign(4, -1);
  check_scene(scene);
  const CharacterFields fields = make_character_fields(*make_character(scene), {});
  ASSERT_EQ(fields.set->fields.size(), 3u);
  EXPECT_EQ(fields.set->fields[0].segments.size(), 2u);
  ASSERT_EQ(fields.set->joints.size(), 2u);
  for (const FieldJoint& joint : fields.set->joints) EXPECT_EQ(joint.parent, 0u);
  EXPECT_EQ(fields.set->joints[1].child, 2u);
  EXPECT_LT((fields.set->joints[1].place - Vec3d(0, 0, 0.1)).norm(), 1e-6);
}

TEST(CharacterFields, TheLargestMeshMakesTheFields) {
  Scene scene = tube_scene();
  add_mesh(scene, "sleeve", sleeve(0.25f), half);
  add_mesh(scene, "eye", test::moved(test::make_icosphere(1, 0.05f), {0.5f, 0, 0}), half);
  const auto character = make_character(scene);
  const CharacterFields fields = make_character_fields(*character, {});
  ASSERT_EQ(fields.set->fields.size(), 2u);
  for (const BoneField& field : fields.set->fields) EXPECT_NEAR(farthest_sample(field), kRadius, 0.005);
  // But the others have own fields all the same.
  EXPECT_EQ(std::count(fields.own.begin(), fields.own.end(), -1), 0);
  const std::size_t eye = scene.meshes[0].surface.positions.size();
  for (std::size_t v = 0; v < eye; ++v) EXPECT_EQ(fields.own[v], 1);
}

TEST(CharacterFields, APatternChoosesOtherMeshes) {
  Scene scene = tube_scene();
  add_mesh(scene, "sleeve", sleeve(0.25f), half);
  const auto character = make_character(scene);
  ImplicitOptions options;
  options.meshes = "sl*";
  const CharacterFields fields = make_character_fields(*character, options);
  ASSERT_EQ(fields.set->fields.size(), 2u);
  for (const BoneField& field : fields.set->fields) EXPECT_NEAR(farthest_sample(field), 0.25f, 0.005);
  EXPECT_EQ(std::count(fields.own.begin(), fields.own.end(), -1), 0);
  options.meshes = "hat";
  try {
    make_character_fields(*character, options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("implicit: meshes: no skinned mesh is named hat"),
              std::string::npos)
        << error.what();
  }
}

TEST(CharacterFields, BonesThatTheLargestMeshDoesNotCoverTakeTheNext) {
  // The body is bound to the lower bone alone; a smaller mesh has the upper one.
  Scene scene = tube_scene();
  test::bind_to_first_joint(scene.meshes[0]);
  add_mesh(scene, "glove", sleeve(0.25f), half);
  const CharacterFields fields = make_character_fields(*make_character(scene), {});
  ASSERT_EQ(fields.set->fields.size(), 2u);
  EXPECT_NEAR(farthest_sample(fields.set->fields[0]), kRadius, 0.005);
  EXPECT_NEAR(farthest_sample(fields.set->fields[1]), 0.25f, 0.005);
  // With the body alone there is one field, and the glove's upper half has none.
  ImplicitOptions options;
  options.meshes = "tube";
  const CharacterFields body = make_character_fields(*make_character(scene), options);
  EXPECT_EQ(body.set->fields.size(), 1u);
  EXPECT_GT(std::count(body.own.begin(), body.own.end(), -1), 0);
}

TEST(CharacterFields, EditsChangeTheFieldsTheyName) {
  const auto character = make_character(tube_scene());
  const CharacterFields plain = make_character_fields(*character, {});
  const auto edited = [&](auto change) {
    ImplicitOptions options;
    options.fields.resize(2);
    options.fields[0].joint = "*";
    options.fields[0].options.samples = 7;  // the last that matches counts
    options.fields[1].joint = "*";
    change(options);
    return make_character_fields(*character, options);
  };
  const auto unchanged = edited([](ImplicitOptions&) {});
  for (std::size_t f = 0; f < 2; ++f)
    EXPECT_EQ(unchanged.set->fields[f].samples.size(), plain.set->fields[f].samples.size());
  // More samples of the upper bone only.
  const auto more =
      edited([](ImplicitOptions& o) { o.fields[1].joint = "upp*", o.fields[1].options.samples = 90; });
  EXPECT_GT(more.set->fields[1].samples.size(), plain.set->fields[1].samples.size() + 10);
  EXPECT_LT(more.set->fields[0].samples.size(), 20u);
  ImplicitOptions all;
  all.field.samples = 20;
  const CharacterFields fewer = make_character_fields(*character, all);
  for (const BoneField& field : fewer.set->fields) EXPECT_LT(field.samples.size(), 35u);
  // A closure point twice as far: the field reaches farther beyond the joint.
  const Vec3d beyond(-0.25, 0, 0);
  const auto closed = edited([](ImplicitOptions& o) { o.fields[1].options.closure_head = 2; });
  EXPECT_GT(closed.set->fields[1].value(beyond), plain.set->fields[1].value(beyond) + 0.05);
  const auto open = edited([](ImplicitOptions& o) { o.fields[1].options.closure_head = 0; });
  EXPECT_TRUE(open.set->fields[1].closures.empty());
  const auto wide = edited([](ImplicitOptions& o) { o.fields[1].options.support = 1.5; });
  EXPECT_NEAR(wide.set->fields[0].radius, 1.5 * plain.set->fields[0].radius, 1e-3);
  // Points taken away, and added.
  const auto removed = edited([](ImplicitOptions& o) {
    o.fields[1].remove.resize(1);
    o.fields[1].remove[0].x = 0.5, o.fields[1].remove[0].radius = 0.3;
  });
  for (const HermitePoint& sample : removed.set->fields[1].samples)
    EXPECT_GT((sample.position - Vec3d(0.5, 0, 0)).norm(), 0.3);
  EXPECT_LT(removed.set->fields[1].samples.size(), plain.set->fields[1].samples.size());
  const auto added = edited([](ImplicitOptions& o) {
    o.fields[1].joint = "upper";
    o.fields[1].add.resize(1);
    o.fields[1].add[0].x = 0.5, o.fields[1].add[0].y = 0.3;
    o.fields[0].options.samples = 60;
  });
  double nearest = 1;
  for (const HermitePoint& sample : added.set->fields[1].samples)
    nearest = std::min(nearest, (sample.position - Vec3d(0.5, kRadius, 0)).norm());
  EXPECT_LT(nearest, 0.05);
}

TEST(CharacterFields, OperatorsStandWhereTheirJointsAre) {
  const auto character = make_character(tube_scene());
  ImplicitOptions options;
  options.joints.resize(2);
  options.joints[0].joint = "*";
  options.joints[0].operation.kind = to_size(OperatorKind::blend);
  options.joints[1].joint = "u*r";
  options.joints[1].operation.kind = to_size(OperatorKind::contact);
  const auto kind = [&] {
    const CharacterFields fields = make_character_fields(*character, options);
    const CompositionTree& tree = fields.set->tree;
    EXPECT_EQ(tree.nodes().size(), 1u);
    return tree.operators()[tree.nodes()[0].operation].kind();
  };
  EXPECT_EQ(kind(), OperatorKind::contact);
  options.joints[1].joint = "lower";  // not the child's name
  EXPECT_EQ(kind(), OperatorKind::blend);
  options.joints.clear();
  EXPECT_EQ(kind(), OperatorKind::union_);
}

TEST(CharacterFields, SameBitsEveryTime) {
  const auto character = make_character(tube_scene());
  const CharacterFields a = make_character_fields(*character, {}), b = make_character_fields(*character, {});
  ASSERT_EQ(a.set->fields.size(), b.set->fields.size());
  EXPECT_TRUE(a.own == b.own);
  for (std::size_t f = 0; f < a.set->fields.size(); ++f) {
    const auto first = a.set->fields[f].grid.nodes(), second = b.set->fields[f].grid.nodes();
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin(), second.end(),
                           [](const FieldGrid::Node& x, const FieldGrid::Node& y) {
                             return x.value == y.value && x.gx == y.gx && x.gy == y.gy && x.gz == y.gz;
                           }));
  }
}

TEST(CharacterFields, FlatAndTinyMeshesAreHarmless) {
  for (const bool flat : {false, true}) {
    Scene scene = tube_scene();
    SceneMesh& mesh = scene.meshes[0];
    std::vector<Vec3f> corners{{0.1f, 0.2f, 0}, {0.3f, 0.2f, 0.1f}, {0.2f, 0.2f, -0.1f}};
    if (flat) corners.assign(3, Vec3f(0.1f, 0.2f, 0));
    mesh.surface = make_mesh(corners, std::vector<Triangle>{{0, 1, 2}});
    mesh.weights = {};
    WeightRepairs repairs;
    for (int v = 0; v < 3; ++v) {
      Influence row[2] = {{0, 0.3f}, {1, 0.7f}};
      append_row(mesh.weights, row, 0, repairs);
    }
    check_scene(scene);
    const auto character = make_character(scene);
    const CharacterFields fields = make_character_fields(*character, {});
    EXPECT_LE(fields.set->fields.size(), 1u);
    EXPECT_EQ(fields.own.size(), character->rest().size());
  }
}

}  // namespace
}  // namespace sinew
