#include <sinew/scene/gltf.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/scene/gltf_document.h>
#include <tests/support/gltf_builder.h>

namespace sinew {
namespace {

using test::Arm;
using test::arm_file;
using test::GltfFile;
using test::to_bytes;
using test::triangle_file;
using Json = nlohmann::ordered_json;

Scene parse(const GltfFile& file) {
  return parse_gltf(file.glb(), "a.glb");
}

Json& primitive(GltfFile& file) {
  return file.json["meshes"][0]["primitives"][0];
}

bool has_warning(const Scene& scene, const std::string& part) {
  for (const std::string& warning : scene.warnings)
    if (warning.find(part) != std::string::npos) return true;
  return false;
}

std::string warnings(const Scene& scene) {
  return std::accumulate(scene.warnings.begin(), scene.warnings.end(), std::string(),
                         [](std::string all, const std::string& one) { return all + one + "\n"; });
}

using Indices = std::vector<std::uint32_t>;

// ------------------------------------------------------------------------------------------------ the whole

TEST(GltfReader, ReadsACharacter) {
  const Scene scene = parse(arm_file());
  EXPECT_EQ(warnings(scene), "");
  EXPECT_EQ(scene.source, "a.glb");
  ASSERT_NE(scene.document, nullptr);
  EXPECT_EQ(scene.document->json["nodes"].size(), 4u);

  ASSERT_EQ(scene.skeleton.size(), 4u);
  EXPECT_EQ(scene.joint_nodes, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(scene.skeleton.joints[3].name, "lower");
  EXPECT_EQ(scene.skeleton.joints[3].parent, 1);
  EXPECT_EQ(scene.skeleton.joints[3].rest.translation, Vec3f(0, 1, 0));
  const bool deforms[] = {false, true, false, true};
  for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(scene.skeleton.joints[j].deforms, deforms[j]) << j;

  ASSERT_EQ(scene.skins.size(), 1u);
  EXPECT_EQ(scene.skins[0].name, "arm");
  EXPECT_EQ(scene.skins[0].joints, (std::vector<int>{1, 3}));
  EXPECT_EQ(scene.skins[0].joint_from_mesh[0], Mat4f::Identity());
  EXPECT_EQ(scene.skins[0].joint_from_mesh[1](1, 3), -1.0f);

  ASSERT_EQ(scene.meshes.size(), 1u);
  EXPECT_EQ(scene.mesh_nodes, std::vector<int>{2});
  const SceneMesh& mesh = scene.meshes[0];
  EXPECT_EQ(mesh.name, "body");
  EXPECT_EQ(mesh.joint, 2);
  EXPECT_EQ(mesh.skin, 0);
  ASSERT_EQ(mesh.surface.positions.size(), 4u);
  EXPECT_EQ(mesh.surface.positions[3], Vec3f(1, 1, 0));
  EXPECT_EQ(mesh.surface.triangles, (std::vector<Triangle>{{0, 1, 2}, {2, 1, 3}}));
  EXPECT_EQ(mesh.surface.polygons.corners, (Indices{0, 1, 2, 2, 1, 3}));
  EXPECT_EQ(mesh.surface.polygons.starts, (Indices{0, 3, 6}));
  EXPECT_EQ(mesh.normals.corners, mesh.surface.polygons.corners);
  EXPECT_EQ(mesh.normals.values, std::vector<Vec3f>(4, Vec3f(0, 0, 1)));
  EXPECT_EQ(mesh.texcoords.corners, mesh.surface.polygons.corners);
  EXPECT_EQ(mesh.texcoords.values[1], Vec2f(1, 1));
  EXPECT_EQ(mesh.attributes, (std::vector<VertexAttribute>{{"_SIGMA", 1, {0.5f, 1, 1.5f, 2}}}));
  ASSERT_EQ(mesh.morph_targets.size(), 1u);
  EXPECT_EQ(mesh.morph_targets[0].name, "smile");
  EXPECT_EQ(mesh.morph_targets[0].displacements[2], Vec3f(0, 0, 3));
  EXPECT_EQ(mesh.morph_weights, std::vector<float>{0.25f});
  EXPECT_EQ(mesh.weights.starts, (Indices{0, 1, 3, 5, 6}));
  EXPECT_EQ(mesh.weights.joints, (Indices{0, 0, 1, 1, 0, 1}));
  EXPECT_EQ(mesh.weights.values, (std::vector<float>{1, 0.75f, 0.25f, 0.75f, 0.25f, 1}));

  ASSERT_EQ(scene.clips.size(), 1u);
  const Clip& clip = scene.clips[0];
  EXPECT_EQ(clip.name, "bend");
  ASSERT_EQ(clip.channels.size(), 3u);
  EXPECT_EQ(clip.channels[0],
            (Channel{3, ChannelPath::rotation, Interpolation::linear, 4, {0, 1}, {0, 0, 0, 1, 0, 0, 1, 0}}));
  EXPECT_EQ(clip.channels[1],
            (Channel{0, ChannelPath::translation, Interpolation::step, 3, {0, 1}, {0, 0, 0, 1, 2, 3}}));
  EXPECT_EQ(clip.channels[2],
            (Channel{0, ChannelPath::morph_weights, Interpolation::linear, 1, {0, 1}, {0, 1}}));
}

TEST(GltfReader, ReadsTheSameFromBothContainers) {
  const Scene glb = parse(arm_file());
  const Scene gltf = parse_gltf(to_bytes(arm_file().gltf()), "a.gltf");
  EXPECT_EQ(glb.skeleton, gltf.skeleton);
  EXPECT_EQ(glb.skins, gltf.skins);
  EXPECT_EQ(glb.meshes, gltf.meshes);
  EXPECT_EQ(glb.clips, gltf.clips);
  const Scene again = scene_from_document(glb.document, "again");
  EXPECT_EQ(glb.meshes, again.meshes);
  EXPECT_EQ(glb.clips, again.clips);
}

TEST(GltfReader, ReadsAnEmptyFile) {
  const Scene scene = parse(GltfFile());
  EXPECT_TRUE(scene.meshes.empty());
  EXPECT_EQ(scene.skeleton.size(), 0u);
}

TEST(GltfReader, KeepsNamesByteForByte) {
  GltfFile file = arm_file();
  const std::string name = std::string("os_\xC3\xA9\n\t\x01\0 .L", 13) + "\xF0\x9F\xA6\xB4";
  file.json["nodes"][1]["name"] = name;
  file.json["meshes"][0]["name"] = name;
  file.json["skins"][0]["name"] = name;
  file.json["animations"][0]["name"] = name;
  file.json["meshes"][0]["extras"]["targetNames"][0] = name;
  const Scene scene = parse(file);
  EXPECT_EQ(scene.skeleton.joints[1].name, name);
  EXPECT_EQ(scene.meshes[0].name, name);
  EXPECT_EQ(scene.skins[0].name, name);
  EXPECT_EQ(scene.clips[0].name, name);
  EXPECT_EQ(scene.meshes[0].morph_targets[0].name, name);
}

TEST(GltfReader, ShowsNamesOnOneLineInErrors) {
  GltfFile file = arm_file();
  file.json["meshes"][0]["name"] = "a\nb";
  file.poke<float>(Arm::kPositions, 3, NAN);
  try {
    parse(file);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a.glb: mesh 'a\\x0Ab', primitive 0: position 1 is not finite");
  }
}

// ------------------------------------------------------------------------------------------------ nodes

TEST(GltfReader, PutsParentsFirstAndElseKeepsTheOrder) {
  GltfFile file;
  // 4 is the parent of 0 and 2; 0 of 1; 3 stands alone.
  file.json["nodes"] = Json::parse(R"([{"name": "n0", "children": [1]}, {"name": "n1"}, {"name": "n2"},
                                       {"name": "n3"}, {"name": "n4", "children": [2, 0]}])");
  const Scene scene = parse(file);
  EXPECT_EQ(scene.joint_nodes, (std::vector<int>{3, 4, 0, 1, 2}));
  std::vector<int> parents;
  for (const Joint& joint : scene.skeleton.joints) parents.push_back(joint.parent);
  EXPECT_EQ(parents, (std::vector<int>{-1, -1, 1, 2, 1}));
  EXPECT_EQ(scene.skeleton.joints[2].name, "n0");
}

TEST(GltfReader, ReadsAVeryDeepHierarchy) {
  GltfFile file;
  constexpr int kDepth = 20000;
  for (int n = 0; n < kDepth; ++n)
    file.json["nodes"].push_back(n + 1 < kDepth ? Json{{"children", {n + 1}}} : Json::object());
  file.json["scenes"] = {{{"nodes", {0}}}};
  EXPECT_EQ(parse(file).skeleton.joints.back().parent, kDepth - 2);
}

TEST(GltfReader, ReadsTransforms) {
  GltfFile file;
  file.json["nodes"] = Json::parse(R"([
    {"translation": [1, 2, 3], "rotation": [0, 0.6, 0, 0.8], "scale": [1, -2, 0]},
    {"matrix": [0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 4, 0, 5, 6, 7, 1]},
    {"rotation": [0, 0, 0, 2]}])");
  const Scene scene = parse(file);
  const Transform& trs = scene.skeleton.joints[0].rest;
  EXPECT_EQ(trs.translation, Vec3f(1, 2, 3));
  EXPECT_EQ(trs.rotation.coeffs(), Vec4f(0, 0.6f, 0, 0.8f));
  EXPECT_EQ(trs.scale, Vec3f(1, -2, 0));
  // A quarter turn about z after a scale of 2 3 4.
  const Transform& matrix = scene.skeleton.joints[1].rest;
  EXPECT_EQ(matrix.translation, Vec3f(5, 6, 7));
  EXPECT_LT((matrix.scale - Vec3f(2, 3, 4)).norm(), 1e-5f);
  EXPECT_LT((matrix.rotation * Vec3f(1, 0, 0) - Vec3f(0, 1, 0)).norm(), 1e-5f);
  EXPECT_EQ(scene.skeleton.joints[2].rest.rotation.coeffs(), Vec4f(0, 0, 0, 1));
  EXPECT_EQ(warnings(scene), "a.glb: node 2: rotation of length 2 normalised\n");
}

TEST(GltfReader, WarnsOfShear) {
  GltfFile file;
  file.json["nodes"] =
      Json::parse(R"([{"name": "bent", "matrix": [1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}])");
  EXPECT_TRUE(has_warning(parse(file), "node 'bent': its matrix has shear"));
}

// ------------------------------------------------------------------------------------------------ scenes

TEST(GltfReader, ShowsTheDefaultSceneElseTheFirstElseAll) {
  GltfFile file = triangle_file();
  file.json["nodes"] = Json::parse(R"([{"mesh": 0}, {"mesh": 0}, {"children": [3]}, {"mesh": 0}])");
  file.json["scenes"] = Json::parse(R"([{"nodes": [1]}, {"nodes": [2, 0]}, {}])");
  file.json["scene"] = 1;
  EXPECT_EQ(parse(file).mesh_nodes, (std::vector<int>{0, 3}));
  EXPECT_EQ(parse(file).skeleton.size(), 4u);
  file.json["scene"] = 2;
  EXPECT_TRUE(parse(file).mesh_nodes.empty());
  file.json.erase("scene");
  EXPECT_EQ(parse(file).mesh_nodes, std::vector<int>{1});
  file.json.erase("scenes");
  EXPECT_EQ(parse(file).mesh_nodes, (std::vector<int>{0, 1, 3}));
}

TEST(GltfReader, GivesEveryInstanceItsOwnMesh) {
  GltfFile file = arm_file();
  file.json["nodes"].push_back(Json::parse(R"({"name": "copy", "mesh": 0, "weights": [0.75]})"));
  file.json["scenes"][0]["nodes"].push_back(4);
  file.json["animations"][0]["channels"].push_back(
      Json::parse(R"({"sampler": 2, "target": {"node": 4, "path": "weights"}})"));
  const Scene scene = parse(file);
  ASSERT_EQ(scene.meshes.size(), 2u);
  EXPECT_EQ(scene.mesh_nodes, (std::vector<int>{2, 4}));
  EXPECT_EQ(scene.meshes[0].surface, scene.meshes[1].surface);
  EXPECT_EQ(scene.meshes[1].joint, 4);
  EXPECT_EQ(scene.meshes[1].skin, -1);
  EXPECT_EQ(scene.meshes[1].weights.rows(), 0u);
  EXPECT_EQ(scene.meshes[1].morph_weights, std::vector<float>{0.75f});
  EXPECT_EQ(scene.clips[0].channels[3].target, 1);
}

TEST(GltfReader, NamesAMeshWithoutNameByItsNode) {
  GltfFile file = triangle_file();
  file.json["meshes"][0].erase("name");
  EXPECT_EQ(parse(file).meshes[0].name, "shape");
}

// ------------------------------------------------------------------------------------------------ primitives

TEST(GltfReader, ConcatenatesPrimitives) {
  GltfFile file = triangle_file();
  const int other = file.add<float>({5, 0, 0, 6, 0, 0, 5, 1, 0}, "VEC3");
  const int normals = file.add<float>({0, 0, 1, 0, 0, 1, 0, 0, 1}, "VEC3");
  const int texcoords = file.add<std::uint8_t>({0, 255, 51, 0, 0, 0}, "VEC2", true);
  file.json["meshes"][0]["primitives"].push_back(
      {{"attributes", {{"POSITION", other}, {"NORMAL", normals}, {"TEXCOORD_0", texcoords}}},
       {"indices", 1}});
  const SceneMesh mesh = parse(file).meshes[0];
  EXPECT_EQ(mesh.surface.positions.size(), 6u);
  EXPECT_EQ(mesh.surface.triangles, (std::vector<Triangle>{{0, 1, 2}, {3, 4, 5}}));
  // The first primitive has neither normals nor UVs.
  EXPECT_EQ(mesh.normals.values[0], Vec3f(0, 0, 0));
  EXPECT_EQ(mesh.normals.values[3], Vec3f(0, 0, 1));
  EXPECT_EQ(mesh.texcoords.values[2], Vec2f(0, 0));
  EXPECT_EQ(mesh.texcoords.values[4], Vec2f(0.2f, 0));
}

TEST(GltfReader, SharesVerticesBetweenPrimitivesOfTheSameAccessors) {
  GltfFile file = arm_file();
  Json second = primitive(file);
  // The same attributes in another order, other indices.
  second["attributes"] =
      Json::parse(R"({"WEIGHTS_0": 5, "JOINTS_0": 4, "_SIGMA": 3, "TEXCOORD_0": 2, "NORMAL": 1,
                                         "POSITION": 0})");
  second["indices"] = file.add<std::uint8_t>({3, 2, 1}, "SCALAR");
  file.json["meshes"][0]["primitives"].push_back(second);
  const Scene shared = parse(file);
  EXPECT_EQ(shared.meshes[0].surface.positions.size(), 4u);
  EXPECT_EQ(shared.meshes[0].weights.rows(), 4u);
  EXPECT_EQ(shared.meshes[0].surface.triangles, (std::vector<Triangle>{{0, 1, 2}, {2, 1, 3}, {3, 2, 1}}));

  file.json["meshes"][0]["primitives"][1]["attributes"].erase("_SIGMA");
  const Scene apart = parse(file);
  EXPECT_EQ(apart.meshes[0].surface.positions.size(), 8u);
  EXPECT_EQ(apart.meshes[0].weights.rows(), 8u);
  EXPECT_EQ(apart.meshes[0].surface.triangles.back(), (Triangle{7, 6, 5}));
  EXPECT_EQ(apart.meshes[0].attributes[0].values, (std::vector<float>{0.5f, 1, 1.5f, 2, 0, 0, 0, 0}));
}

TEST(GltfReader, KeepsBlocksApartThatDifferInMorphTargets) {
  GltfFile file = arm_file();
  Json second = primitive(file);
  second["targets"] = Json::parse(R"([{"POSITION": 0}])");
  file.json["meshes"][0]["primitives"].push_back(second);
  const Scene scene = parse(file);
  ASSERT_EQ(scene.meshes[0].surface.positions.size(), 8u);
  EXPECT_EQ(scene.meshes[0].morph_targets[0].displacements[3], Vec3f(0, 0, 4));
  EXPECT_EQ(scene.meshes[0].morph_targets[0].displacements[7], Vec3f(1, 1, 0));
}

TEST(GltfReader, ReadsStripsAndFans) {
  GltfFile file = triangle_file();
  primitive(file)["attributes"]["POSITION"] =
      file.add<float>({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 2, 0}, "VEC3");
  primitive(file).erase("indices");
  const auto triangles = [&](int mode) {
    primitive(file)["mode"] = mode;
    return parse(file).meshes[0].surface.triangles;
  };
  EXPECT_EQ(triangles(5), (std::vector<Triangle>{{0, 1, 2}, {1, 3, 2}, {2, 3, 4}}));
  EXPECT_EQ(triangles(6), (std::vector<Triangle>{{1, 2, 0}, {2, 3, 0}, {3, 4, 0}}));
  // All triangles of the strip face the same way, +z.
  const Scene scene = [&] {
    primitive(file)["mode"] = 5;
    return parse(file);
  }();
  const auto& p = scene.meshes[0].surface.positions;
  for (const Triangle& t : scene.meshes[0].surface.triangles)
    EXPECT_GT((p[t[1]] - p[t[0]]).cross(p[t[2]] - p[t[0]]).z(), 0);
}

TEST(GltfReader, DropsTheJoinsOfStripsButKeepsListsAsTheyAre) {
  GltfFile file = triangle_file();
  primitive(file)["indices"] = file.add<std::uint32_t>({0, 1, 2, 2, 0, 0, 1, 2}, "SCALAR");
  primitive(file)["mode"] = 5;
  EXPECT_EQ(parse(file).meshes[0].surface.triangles, (std::vector<Triangle>{{0, 1, 2}, {0, 2, 1}}));
  primitive(file)["mode"] = 4;
  const Scene scene = parse(file);
  EXPECT_EQ(scene.meshes[0].surface.triangles, (std::vector<Triangle>{{0, 1, 2}, {2, 0, 0}}));
  EXPECT_TRUE(has_warning(scene, "8 indices do not make whole triangles; the last 2 are ignored"));
}

TEST(GltfReader, ReadsUnindexedTriangles) {
  GltfFile file = triangle_file();
  primitive(file).erase("indices");
  EXPECT_EQ(parse(file).meshes[0].surface.triangles, (std::vector<Triangle>{{0, 1, 2}}));
}

TEST(GltfReader, ReadsEveryIndexType) {
  for (int type = 0; type < 3; ++type) {
    GltfFile file = triangle_file();
    primitive(file)["indices"] = type == 0   ? file.add<std::uint8_t>({2, 1, 0}, "SCALAR")
                                 : type == 1 ? file.add<std::uint16_t>({2, 1, 0}, "SCALAR")
                                             : file.add<std::uint32_t>({2, 1, 0}, "SCALAR");
    EXPECT_EQ(parse(file).meshes[0].surface.triangles, (std::vector<Triangle>{{2, 1, 0}})) << type;
  }
}

TEST(GltfReader, SkipsPointsAndLines) {
  GltfFile file = triangle_file();
  Json lines = primitive(file);
  lines["mode"] = 1;
  file.json["meshes"][0]["primitives"].insert(file.json["meshes"][0]["primitives"].begin(), lines);
  Scene scene = parse(file);
  EXPECT_EQ(scene.meshes[0].surface.positions.size(), 3u);
  EXPECT_EQ(scene.meshes[0].surface.triangles.size(), 1u);
  EXPECT_EQ(warnings(scene), "a.glb: mesh 'triangle': 1 primitives of points or lines skipped\n");
  primitive(file)["mode"] = 0;
  file.json["meshes"][0]["primitives"].erase(1);
  scene = parse(file);
  EXPECT_TRUE(scene.meshes.empty());
  EXPECT_TRUE(has_warning(scene, "no triangles: skipped"));
}

TEST(GltfReader, ReadsQuantizedMeshes) {
  GltfFile file = triangle_file();
  file.json["extensionsUsed"] = {"KHR_mesh_quantization"};
  file.json["extensionsRequired"] = {"KHR_mesh_quantization"};
  Json& attributes = primitive(file)["attributes"];
  attributes["POSITION"] = file.add<std::int16_t>({0, 0, 0, 32767, 0, 0, 0, -32767, 0}, "VEC3", true);
  attributes["NORMAL"] = file.add<std::int8_t>({0, 0, 127, 0, 90, 90, 0, 0, 0}, "VEC3", true);
  attributes["TEXCOORD_0"] = file.add<std::uint16_t>({3, 4, 5, 6, 7, 8}, "VEC2");
  const SceneMesh mesh = parse(file).meshes[0];
  EXPECT_EQ(mesh.surface.positions, (std::vector<Vec3f>{{0, 0, 0}, {1, 0, 0}, {0, -1, 0}}));
  EXPECT_EQ(mesh.normals.values[0], Vec3f(0, 0, 1));
  EXPECT_NEAR(mesh.normals.values[1].norm(), 1, 1e-6);
  EXPECT_EQ(mesh.normals.values[2], Vec3f(0, 0, 0));
  EXPECT_EQ(mesh.texcoords.values[2], Vec2f(7, 8));
}

TEST(GltfReader, MendsNormalsAndTexcoords) {
  GltfFile file = arm_file();
  file.poke<float>(Arm::kNormals, 2, NAN);
  file.poke<float>(Arm::kNormals, 5, 1e38f);
  file.poke<float>(Arm::kTexcoords, 0, INFINITY);
  const Scene scene = parse(file);
  EXPECT_EQ(scene.meshes[0].normals.values[0], Vec3f(0, 0, 0));
  EXPECT_EQ(scene.meshes[0].normals.values[1], Vec3f(0, 0, 1));
  EXPECT_EQ(scene.meshes[0].texcoords.values[0], Vec2f(0, 0));
  EXPECT_EQ(warnings(scene),
            "a.glb: mesh 'body': 1 normals were not finite: set to zero\n"
            "a.glb: mesh 'body': 1 UVs were not finite: set to zero\n");
}

TEST(GltfReader, ReadsCustomAttributesOfAnyType) {
  GltfFile file = triangle_file();
  Json& attributes = primitive(file)["attributes"];
  attributes["_A"] = file.add<std::uint8_t>({0, 255, 51}, "SCALAR", true);
  attributes["_B"] = file.add<std::int16_t>({1, -2, 3, -4, 5, -6}, "VEC2");
  attributes["_C"] = file.add<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "VEC4");
  attributes["_D"] = file.add<std::uint32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9}, "VEC3");
  attributes["_M"] = file.add<float>(std::vector<float>(12, 0.0f), "MAT2");
  attributes["COLOR_0"] = attributes["_C"];
  const Scene scene = parse(file);
  const std::vector<VertexAttribute> expected = {{"_A", 1, {0, 1, 0.2f}},
                                                 {"_B", 2, {1, -2, 3, -4, 5, -6}},
                                                 {"_C", 4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
                                                 {"_D", 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}}};
  EXPECT_EQ(scene.meshes[0].attributes, expected);
  EXPECT_TRUE(has_warning(scene, "attribute '_M' holds matrices: skipped"));
}

// ------------------------------------------------------------------------------------------------ morph
// targets

TEST(GltfReader, ReadsSparseMorphTargets) {
  GltfFile file = arm_file();
  const std::vector<std::uint8_t> index = {2};
  const std::vector<float> value = {7, 8, 9};
  const int index_view = file.add_view(std::as_bytes(std::span(index)));
  const int value_view = file.add_view(std::as_bytes(std::span(value)));
  file.json["accessors"].push_back({{"componentType", 5126},
                                    {"count", 4},
                                    {"type", "VEC3"},
                                    {"sparse",
                                     {{"count", 1},
                                      {"indices", {{"bufferView", index_view}, {"componentType", 5121}}},
                                      {"values", {{"bufferView", value_view}}}}}});
  primitive(file)["targets"] = {{{"POSITION", file.json["accessors"].size() - 1}},
                                {{"NORMAL", Arm::kNormals}}};
  file.json["meshes"][0]["weights"] = {0.5, 0.25};
  file.json["animations"] = Json::array();
  const SceneMesh mesh = parse(file).meshes[0];
  ASSERT_EQ(mesh.morph_targets.size(), 2u);
  EXPECT_EQ(mesh.morph_targets[0].displacements,
            (std::vector<Vec3f>{{0, 0, 0}, {0, 0, 0}, {7, 8, 9}, {0, 0, 0}}));
  EXPECT_EQ(mesh.morph_targets[1].displacements, std::vector<Vec3f>(4, Vec3f(0, 0, 0)));
  EXPECT_EQ(mesh.morph_targets[1].name, "");
  EXPECT_EQ(mesh.morph_weights, (std::vector<float>{0.5f, 0.25f}));
}

TEST(GltfReader, TakesMorphWeightsFromTheNodeThenTheMeshThenZero) {
  GltfFile file = arm_file();
  file.json["nodes"][2]["weights"] = {0.5};
  EXPECT_EQ(parse(file).meshes[0].morph_weights, std::vector<float>{0.5f});
  file.json["nodes"][2].erase("weights");
  EXPECT_EQ(parse(file).meshes[0].morph_weights, std::vector<float>{0.25f});
  file.json["meshes"][0].erase("weights");
  EXPECT_EQ(parse(file).meshes[0].morph_weights, std::vector<float>{0});
}

TEST(GltfReader, DemandsNothingOfExtras) {
  for (const char* extras :
       {"3", "[]", R"({"targetNames": 3})", R"({"targetNames": []})", R"({"targetNames": [3]})"}) {
    GltfFile file = arm_file();
    file.json["meshes"][0]["extras"] = Json::parse(extras);
    EXPECT_EQ(parse(file).meshes[0].morph_targets[0].name, "") << extras;
  }
}

// ------------------------------------------------------------------------------------------------ skins and
// weights

TEST(GltfReader, ReadsASkinWithoutBindMatrices) {
  GltfFile file = arm_file();
  file.json["skins"][0].erase("inverseBindMatrices");
  file.json["skins"][0]["joints"] = {3, 1};
  const Skin skin = parse(file).skins[0];
  EXPECT_EQ(skin.joints, (std::vector<int>{3, 1}));
  EXPECT_EQ(skin.joint_from_mesh, std::vector<Mat4f>(2, Mat4f::Identity()));
}

TEST(GltfReader, ReadsJointsOutsideOfTheScene) {
  GltfFile file = arm_file();
  file.json["nodes"][0]["children"] = {2};  // the joints are now a tree of their own
  const Scene scene = parse(file);
  EXPECT_EQ(scene.meshes.size(), 1u);
  EXPECT_EQ(scene.skins[0].joints, (std::vector<int>{1, 3}));
  EXPECT_TRUE(scene.skeleton.joints[3].deforms);
}

TEST(GltfReader, ReadsSeveralSetsOfAllWeightTypes) {
  GltfFile file = arm_file();
  Json& attributes = primitive(file)["attributes"];
  attributes["JOINTS_0"] = file.add<std::uint16_t>({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "VEC4");
  attributes["WEIGHTS_0"] =
      file.add<std::uint8_t>({255, 0, 0, 0, 0, 204, 0, 0, 51, 0, 0, 0, 0, 0, 0, 0}, "VEC4", true);
  attributes["JOINTS_1"] = file.add<std::uint8_t>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "VEC4");
  attributes["WEIGHTS_1"] =
      file.add<std::uint16_t>({0, 0, 0, 0, 13107, 0, 0, 0, 0, 0, 0, 52428, 65535, 0, 0, 0}, "VEC4", true);
  const Scene scene = parse(file);
  EXPECT_EQ(warnings(scene), "");
  const SkinWeights& weights = scene.meshes[0].weights;
  EXPECT_EQ(weights.starts, (Indices{0, 1, 3, 5, 6}));
  EXPECT_EQ(weights.joints, (Indices{0, 0, 1, 1, 0, 1}));
  const float expected[] = {1, 0.8f, 0.2f, 0.8f, 0.2f, 1};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(weights.values[i], expected[i], 1e-6) << i;
}

TEST(GltfReader, MendsWeightsAndSaysSo) {
  GltfFile file = arm_file();
  const auto row = [&](std::size_t vertex, std::vector<float> weights, std::vector<std::uint8_t> joints) {
    for (std::size_t i = 0; i < 4; ++i) {
      file.poke<float>(Arm::kWeights, 4 * vertex + i, weights[i]);
      file.poke<std::uint8_t>(Arm::kJoints, 4 * vertex + i, joints[i]);
    }
  };
  row(0, {0, 0, 0, 0}, {200, 200, 200, 200});  // no weights; joints that do not exist do not matter
  row(1, {-0.5f, 1, 0, 0}, {1, 0, 0, 0});      // a negative weight
  row(2, {1, 1, 0, 0}, {0, 1, 0, 0});          // sums to 2
  row(3, {0.5f, 0.5f, 0, 0}, {1, 1, 0, 0});    // one joint twice
  const Scene scene = parse(file);
  const SkinWeights& weights = scene.meshes[0].weights;
  EXPECT_EQ(weights.starts, (Indices{0, 0, 1, 3, 4}));
  EXPECT_EQ(weights.joints, (Indices{0, 0, 1, 1}));
  EXPECT_EQ(weights.values, (std::vector<float>{1, 0.5f, 0.5f, 1}));
  EXPECT_EQ(warnings(scene),
            "a.glb: mesh 'body': 1 of 4 vertices have no weights\n"
            "a.glb: mesh 'body': 1 negative weights set to 0\n"
            "a.glb: mesh 'body': the weights of 1 vertices did not sum to 1: rescaled\n"
            "a.glb: mesh 'body': 1 times a joint is listed twice on a vertex: weights added up\n");
}

TEST(GltfReader, ReadsASkinnedMeshWithoutWeights) {
  GltfFile file = arm_file();
  primitive(file)["attributes"].erase("JOINTS_0");
  primitive(file)["attributes"].erase("WEIGHTS_0");
  const Scene scene = parse(file);
  EXPECT_EQ(scene.meshes[0].weights.starts, Indices(5, 0));
  EXPECT_TRUE(has_warning(scene, "4 of 4 vertices have no weights"));
}

// ------------------------------------------------------------------------------------------------ animations

TEST(GltfReader, ReadsCubicSplines) {
  GltfFile file = arm_file();
  const int keys =
      file.add<float>({0, 0, 0, 0, 0, 0, 0, 1, 8, 8, 8, 8, 7, 7, 7, 7, 0, 0, 2, 0, 0, 0, 0, 0}, "VEC4");
  file.json["animations"][0]["samplers"][0] = {
      {"input", Arm::kTimes}, {"output", keys}, {"interpolation", "CUBICSPLINE"}};
  const Channel channel = parse(file).clips[0].channels[0];
  EXPECT_EQ(channel.interpolation, Interpolation::cubic_spline);
  ASSERT_EQ(channel.values.size(), 24u);
  // Tangents belong to the values as they are: nothing is normalised. They may be zero, the values may not.
  EXPECT_EQ(channel.values[8], 8);
  EXPECT_EQ(channel.values[18], 2);
  file.poke<float>(keys, 18, 0.0f);
  EXPECT_THROW(parse(file), Error);
}

TEST(GltfReader, ReadsNormalisedKeys) {
  GltfFile file = arm_file();
  file.json["animations"][0]["samplers"][0]["output"] =
      file.add<std::int16_t>({0, 0, 0, 32767, 0, 0, -32768, 0}, "VEC4", true);
  file.json["animations"][0]["samplers"][2]["output"] = file.add<std::uint8_t>({51, 255}, "SCALAR", true);
  Scene scene = parse(file);
  EXPECT_EQ(scene.clips[0].channels[0].values, (std::vector<float>{0, 0, 0, 1, 0, 0, -1, 0}));
  EXPECT_EQ(scene.clips[0].channels[2].values, (std::vector<float>{0.2f, 1}));
  file.json["animations"][0]["samplers"][0]["output"] =
      file.add<std::int8_t>({0, 0, 90, 90, 0, 90, 0, -90}, "VEC4", true);
  scene = parse(file);
  const std::vector<float>& values = scene.clips[0].channels[0].values;
  for (int k = 0; k < 2; ++k) EXPECT_NEAR(Eigen::Map<const Vec4f>(values.data() + 4 * k).norm(), 1, 1e-6);
}

TEST(GltfReader, ReadsMorphKeysOfSeveralTargets) {
  GltfFile file = arm_file();
  primitive(file)["targets"] = Json::parse(R"([{"POSITION": 7}, {"POSITION": 7}])");
  file.json["meshes"][0]["weights"] = {0, 0};
  file.json["animations"][0]["samplers"][2]["output"] = file.add<float>({1, 2, 3, 4}, "SCALAR");
  const Channel channel = parse(file).clips[0].channels[2];
  EXPECT_EQ(channel.width, 2);
  EXPECT_EQ(channel.values, (std::vector<float>{1, 2, 3, 4}));
}

TEST(GltfReader, SkipsChannelsItCannotPlay) {
  GltfFile file = arm_file();
  Json& channels = file.json["animations"][0]["channels"];
  channels = Json::parse(R"([
    {"sampler": 0, "target": {"path": "rotation"}},
    {"sampler": 0, "target": {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": "/x"}}}},
    {"sampler": 2, "target": {"node": 1, "path": "weights"}},
    {"sampler": 1, "target": {"node": 1, "path": "scale"}}])");
  const Scene scene = parse(file);
  ASSERT_EQ(scene.clips[0].channels.size(), 1u);
  EXPECT_EQ(scene.clips[0].channels[0].path, ChannelPath::scale);
  EXPECT_EQ(warnings(scene),
            "a.glb: animation 'bend', channel 1: animates 'pointer': skipped\n"
            "a.glb: animation 'bend', channel 2: animates the morph targets of node 1, which shows none: "
            "skipped\n");
}

TEST(GltfReader, TakesTheLastOfDuplicateChannels) {
  GltfFile file = arm_file();
  const int other = file.add<float>({4, 4, 4, 5, 5, 5}, "VEC3");
  file.json["animations"][0]["samplers"].push_back({{"input", Arm::kTimes}, {"output", other}});
  file.json["animations"][0]["channels"].push_back(
      Json::parse(R"({"sampler": 3, "target": {"node": 0, "path": "translation"}})"));
  const Scene scene = parse(file);
  ASSERT_EQ(scene.clips[0].channels.size(), 3u);
  EXPECT_EQ(scene.clips[0].channels[1].values, (std::vector<float>{4, 4, 4, 5, 5, 5}));
  EXPECT_TRUE(
      has_warning(scene, "animation 'bend', channel 3: animates what an earlier channel already does"));
}

TEST(GltfReader, KeepsClipsWithoutChannels) {
  GltfFile file = arm_file();
  file.json["animations"].insert(file.json["animations"].begin(),
                                 Json::parse(R"({"channels": [], "samplers": []})"));
  const Scene scene = parse(file);
  ASSERT_EQ(scene.clips.size(), 2u);
  EXPECT_TRUE(scene.clips[0].channels.empty());
  EXPECT_EQ(scene.clips[1].name, "bend");
}

// ------------------------------------------------------------------------------------------------ hostile
// sizes

TEST(GltfReader, RefusesToUnfoldASmallFileIntoGigabytes) {
  // 40 000 nodes show one mesh of 3000 vertices: 36 kB of positions would become 1.4 GB.
  GltfFile file = triangle_file();
  primitive(file)["attributes"]["POSITION"] = file.add<float>(std::vector<float>(9000, 1.0f), "VEC3");
  file.json.erase("scenes");
  file.json.erase("scene");
  file.json["nodes"] = Json::array();
  for (int n = 0; n < 40000; ++n) file.json["nodes"].push_back({{"mesh", 0}});
  try {
    parse(file);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unfold to far more data"), std::string::npos) << error.what();
  }
}

TEST(GltfReader, RefusesPositionsWithoutDataInBulk) {
  GltfFile file = triangle_file();
  file.json["accessors"][0].erase("bufferView");
  EXPECT_EQ(parse(file).meshes[0].surface.positions, std::vector<Vec3f>(3, Vec3f(0, 0, 0)));
  file.json["accessors"][0]["count"] = 60'000'000;
  EXPECT_THROW(parse(file), Error);
}

}  // namespace
}  // namespace sinew
