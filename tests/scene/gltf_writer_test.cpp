#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/gltf_document.h>
#include <sinew/version.h>
#include <tests/support/assets.h>
#include <tests/support/gltf_builder.h>
#include <tests/support/meshes.h>
#include <tests/support/temporary_directory.h>
#include <tests/support/validator.h>

namespace sinew {
namespace {

using test::expect_valid;
using test::TemporaryDirectory;
using Json = nlohmann::ordered_json;

// --- scenes made by code

Clip clip_of(const std::string& name) {
  Channel rotation{1, ChannelPath::rotation, Interpolation::linear, 4, {0, 0.5f, 1}, {}};
  for (float angle : {0.0f, 0.4f, 0.9f}) {
    const Quatf q(Eigen::AngleAxisf(angle, Vec3f::UnitX()));
    rotation.values.insert(rotation.values.end(), {q.x(), q.y(), q.z(), q.w()});
  }
  Channel translation{0, ChannelPath::translation, Interpolation::cubic_spline, 3, {0, 1}, {}};
  for (int i = 0; i < 18; ++i) translation.values.push_back(0.25f * static_cast<float>(i));
  Channel scale{2, ChannelPath::scale, Interpolation::step, 3, {0, 0.5f, 1}, {1, 1, 1, 2, 2, 2, 1, -1, 0.5f}};
  return {name, {rotation, translation, scale}};
}

/// Three joints in a row; a cube with hard edges, UVs, a morph target and an attribute, bound to two of them;
/// a stone and a pebble hanging on the last joint.
Scene character() {
  Scene scene;
  scene.skeleton.joints = {{"root", -1, {}, false}, {"arm", 0, {}, true}, {"hand.L", 1, {}, true}};
  scene.skeleton.joints[1].rest.translation = Vec3f(0, 0.1f, 0);
  scene.skeleton.joints[1].rest.rotation = Quatf(Eigen::AngleAxisf(0.3f, Vec3f(1, 2, 3).normalized()));
  scene.skeleton.joints[2].rest.scale = Vec3f(1, 2, 0.5f);
  Skin skin{"skin", {1, 2}, {Mat4f::Identity(), Mat4f::Identity()}};
  skin.joint_from_mesh[1](0, 3) = 0.1f;
  scene.skins = {skin};

  SceneMesh body;
  body.name = "body";
  body.surface = test::make_cube();
  for (std::size_t p = 0; p < body.surface.polygons.size(); ++p) {
    Vec3f sum = Vec3f::Zero();
    for (std::uint32_t v : body.surface.polygons[p]) sum += body.surface.positions[v];
    body.normals.values.push_back(sum.normalized());
    for (std::size_t i = 0; i < body.surface.polygons[p].size(); ++i) {
      body.normals.corners.push_back(static_cast<std::uint32_t>(p));
      body.texcoords.corners.push_back(static_cast<std::uint32_t>(i));
    }
  }
  body.texcoords.values = {Vec2f(0, 0), Vec2f(1, 0), Vec2f(1, 1), Vec2f(0, 1)};
  body.attributes = {{"_SIGMA", 2, std::vector<float>(16, 0.5f)}};
  body.morph_targets = {{"smile", std::vector<Vec3f>(8, Vec3f(0.1f, 0, 0))},
                        {"frown", std::vector<Vec3f>(8, Vec3f(0, -0.2f, 0))}};
  body.morph_targets[1].displacements[3] = Vec3f(1, 2, 3);
  body.morph_weights = {0.25f, 0};
  body.skin = 0;
  body.weights.starts = {0, 1, 3, 4, 6, 7, 9, 10, 12};
  for (int pair = 0; pair < 4; ++pair) {
    body.weights.joints.insert(body.weights.joints.end(), {0, 1, 0});
    body.weights.values.insert(body.weights.values.end(), {1.0f, 0.7f, 0.3f});
  }
  SceneMesh stone;
  stone.name = "stone";
  stone.surface = test::make_icosphere(1);
  stone.joint = 2;
  SceneMesh pebble = stone;
  pebble.name = "pebble";
  scene.meshes = {body, stone, pebble};

  scene.clips = {clip_of("wave")};
  scene.clips[0].channels.push_back(
      {0, ChannelPath::morph_weights, Interpolation::linear, 2, {0, 1}, {0, 1, 0.5f, 0}});
  return scene;
}

Scene written(const Scene& scene, const TemporaryDirectory& directory, bool allow_warnings = false) {
  const std::filesystem::path path = directory / "out.glb";
  write_glb(scene, path);
  expect_valid(path, allow_warnings);
  return read_gltf(path);
}

std::set<std::string> changed_members(const Json& a, const Json& b) {
  std::set<std::string> changed;
  for (const auto& [key, value] : a.items())
    if (!b.contains(key) || b[key] != value) changed.insert(key);
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) changed.insert(key);
  return changed;
}

void expect_same_rows(const SkinWeights& read, const SkinWeights& wrote, std::size_t rows) {
  for (std::size_t v = 0; v < rows; ++v) {
    const auto joints = read.row_joints(v), expected = wrote.row_joints(v);
    ASSERT_TRUE(std::equal(joints.begin(), joints.end(), expected.begin(), expected.end())) << "vertex " << v;
    for (std::size_t i = 0; i < joints.size(); ++i)
      EXPECT_NEAR(read.row_values(v)[i], wrote.row_values(v)[i], 1e-7f) << "vertex " << v;
  }
}

// --- new documents

TEST(GltfWriter, NewSceneComesBack) {
  const TemporaryDirectory directory;
  const Scene scene = character();
  const Scene read = written(scene, directory);
  EXPECT_EQ(read.document->json["asset"]["generator"], "Sinew " SINEW_VERSION);

  ASSERT_EQ(read.skeleton.size(), 5u)
      << "three joints, and nodes for the body and the second mesh of the hand";
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(read.skeleton.joints[j], scene.skeleton.joints[j]) << j;
  EXPECT_EQ(read.skins, scene.skins);
  ASSERT_EQ(read.meshes.size(), 3u);

  // Meshes are read in the order of their nodes.
  std::vector<const SceneMesh*> meshes;
  for (const SceneMesh& wrote : scene.meshes) {
    const auto found = std::find_if(read.meshes.begin(), read.meshes.end(),
                                    [&](const SceneMesh& mesh) { return mesh.name == wrote.name; });
    ASSERT_NE(found, read.meshes.end()) << wrote.name;
    meshes.push_back(&*found);
  }
  EXPECT_EQ(meshes[0]->joint, 3);
  EXPECT_EQ(read.skeleton.joints[3].parent, -1);
  EXPECT_EQ(meshes[1]->joint, 2);
  EXPECT_EQ(read.skeleton.joints[to_size(meshes[2]->joint)].parent, 2);

  for (std::size_t m = 0; m < 3; ++m) {
    const SceneMesh& wrote = scene.meshes[m];
    const SceneMesh& back = *meshes[m];
    EXPECT_EQ(back.skin, wrote.skin);
    ASSERT_EQ(back.surface.triangles.size(), wrote.surface.triangles.size());
    for (std::size_t v = 0; v < wrote.surface.positions.size(); ++v)
      EXPECT_EQ(back.surface.positions[v], wrote.surface.positions[v]);
    for (std::size_t t = 0; t < wrote.surface.triangles.size(); ++t)
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = wrote.surface.triangles[t][c], b = back.surface.triangles[t][c];
        const std::uint32_t from = wrote.surface.triangle_corners[t][c],
                            to = back.surface.triangle_corners[t][c];
        EXPECT_EQ(back.surface.positions[b], wrote.surface.positions[v]);
        if (!wrote.normals.empty()) {
          EXPECT_EQ(back.normals.values[back.normals.corners[to]],
                    wrote.normals.values[wrote.normals.corners[from]]);
        }
        if (!wrote.texcoords.empty()) {
          EXPECT_EQ(back.texcoords.values[back.texcoords.corners[to]],
                    wrote.texcoords.values[wrote.texcoords.corners[from]]);
        }
      }
  }
  const SceneMesh& body = *meshes[0];
  EXPECT_EQ(body.surface.positions.size(), 24u);
  expect_same_rows(body.weights, scene.meshes[0].weights, 8);
  ASSERT_EQ(body.morph_targets.size(), 2u);
  EXPECT_EQ(body.morph_targets[0].name, "smile");
  EXPECT_EQ(body.morph_targets[1].displacements[3], Vec3f(1, 2, 3));
  EXPECT_EQ(body.morph_weights, scene.meshes[0].morph_weights);
  ASSERT_EQ(body.attributes.size(), 1u);
  EXPECT_EQ(body.attributes[0].name, "_SIGMA");
  EXPECT_EQ(body.attributes[0].width, 2);
  EXPECT_EQ(read.clips, scene.clips);
}

TEST(GltfWriter, WritingTwiceChangesNothing) {
  const TemporaryDirectory directory;
  write_glb(character(), directory / "first.glb");
  write_glb(read_gltf(directory / "first.glb"), directory / "second.glb");
  EXPECT_EQ(read_file(directory / "first.glb"), read_file(directory / "second.glb"));
}

TEST(GltfWriter, RootsOfASkinAreJoined) {
  const TemporaryDirectory directory;
  Scene scene = character();
  scene.skeleton.joints[2].parent = -1;
  const Scene read = written(scene, directory);
  EXPECT_EQ(read.skins[0].joint_from_mesh, scene.skins[0].joint_from_mesh);
  std::vector<Affine3d> world(read.skeleton.size()), expected(scene.skeleton.size());
  forward_kinematics(read.skeleton, rest_pose(read.skeleton).joints, world);
  forward_kinematics(scene.skeleton, rest_pose(scene.skeleton).joints, expected);
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const int found = read.skeleton.find(scene.skeleton.joints[j].name);
    ASSERT_GE(found, 0);
    if (j == 0) continue;  // the new node shares its name
    EXPECT_TRUE(world[to_size(found)].isApprox(expected[j])) << j;
  }
}

TEST(GltfWriter, EmptySceneIsValid) {
  const TemporaryDirectory directory;
  const Scene read = written(Scene{}, directory);
  EXPECT_TRUE(read.meshes.empty());
  EXPECT_EQ(read.skeleton.size(), 0u);
}

TEST(GltfWriter, SkeletonAndMeshWithoutVerticesAreValid) {
  const TemporaryDirectory directory;
  Scene scene = character();
  scene.clips.clear();
  scene.meshes.resize(1);
  scene.meshes[0] = SceneMesh{};
  scene.meshes[0].name = "nothing";
  scene.clips.push_back({"empty", {}});
  const Scene read = written(scene, directory);
  EXPECT_TRUE(read.meshes.empty());
  EXPECT_TRUE(read.clips.empty());
  EXPECT_EQ(read.skins, scene.skins);
}

TEST(GltfWriter, PointsWithoutTrianglesAreValid) {
  const TemporaryDirectory directory;
  Scene scene;
  scene.meshes.emplace_back();
  scene.meshes[0].surface.positions = {Vec3f(1, 2, 3), Vec3f(4, 5, 6)};
  const Scene read = written(scene, directory);
  EXPECT_EQ(read.document->json["meshes"][0]["primitives"][0]["mode"], 0);
}

TEST(GltfWriter, UnboundAndUncleanRowsBecomeValid) {
  const TemporaryDirectory directory;
  Scene scene = character();
  scene.clips.clear();
  scene.meshes.resize(1);
  SkinWeights& weights = scene.meshes[0].weights;
  weights = {};
  for (int v = 0; v < 8; ++v) {
    if (v == 1) {  // unsorted, a zero and a sum of 2
      weights.joints.insert(weights.joints.end(), {0, 1});
      weights.values.insert(weights.values.end(), {0.5f, 1.5f});
    } else if (v == 2) {
      weights.joints.push_back(1);
      weights.values.push_back(0.0f);
    }
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  const SkinWeights read = written(scene, directory).meshes[0].weights;
  ASSERT_EQ(read.row_size(0), 1u);
  EXPECT_EQ(read.row_joints(0)[0], 0u);
  EXPECT_EQ(read.row_values(0)[0], 1.0f);
  ASSERT_EQ(read.row_size(1), 2u);
  EXPECT_EQ(read.row_joints(1)[0], 1u);
  EXPECT_FLOAT_EQ(read.row_values(1)[0], 0.75f);
  EXPECT_EQ(read.row_joints(2)[0], 0u);
}

TEST(GltfWriter, ManyJointsManyInfluencesManyVertices) {
  const TemporaryDirectory directory;
  Scene scene;
  scene.skins.push_back({"wide", {}, std::vector<Mat4f>(300, Mat4f::Identity())});
  for (int j = 0; j < 300; ++j) {
    scene.skeleton.joints.push_back({"joint" + std::to_string(j), j - 1, {}, true});
    scene.skins[0].joints.push_back(j);
  }
  SceneMesh mesh;
  mesh.surface = test::make_grid(300, 300);  // 90601 vertices: 32-bit indices
  mesh.skin = 0;
  WeightRepairs repairs;
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
    std::vector<Influence> row;
    for (std::uint32_t i = 0; i <= v % 9; ++i)
      row.push_back({static_cast<std::uint32_t>((37 * v + i) % 300), 1.0f + static_cast<float>(i * v % 7)});
    append_row(mesh.weights, row, 0, repairs);
  }
  scene.meshes = {mesh};
  const Scene read = written(scene, directory);
  const Json& primitive = read.document->json["meshes"][0]["primitives"][0];
  EXPECT_TRUE(primitive["attributes"].contains("JOINTS_2"));
  EXPECT_FALSE(primitive["attributes"].contains("JOINTS_3"));
  const auto type = [&](const Json& accessor) {
    return read.document->json["accessors"][accessor.get<std::size_t>()]["componentType"];
  };
  EXPECT_EQ(type(primitive["indices"]), 5125);
  EXPECT_EQ(type(primitive["attributes"]["JOINTS_0"]), 5123);
  expect_same_rows(read.meshes[0].weights, mesh.weights, mesh.surface.positions.size());
}

TEST(GltfWriter, IndexLimitOfSixteenBits) {
  const TemporaryDirectory directory;
  for (const auto& [last, type] : {std::pair(65534u, 5123), std::pair(65535u, 5125)}) {
    std::vector<Vec3f> positions(last + 1, Vec3f::Zero());
    positions[1] = Vec3f::UnitX();
    positions[last] = Vec3f::UnitY();
    Scene scene;
    scene.meshes.emplace_back();
    scene.meshes[0].surface = make_mesh(positions, std::vector<Triangle>{{0, 1, last}});
    const Json json = written(scene, directory).document->json;
    const Json& indices = json["meshes"][0]["primitives"][0]["indices"];
    EXPECT_EQ(json["accessors"][indices.get<std::size_t>()]["componentType"], type) << last;
  }
}

TEST(GltfWriter, ClipsBecomeValid) {
  const TemporaryDirectory directory;
  Scene scene = character();
  Clip& clip = scene.clips[0];
  clip.channels[0].values[0] = 3;             // not a unit quaternion
  clip.channels.push_back(clip.channels[1]);  // the same target again, this one wins
  clip.channels.back().interpolation = Interpolation::step;
  clip.channels.back().values = {1, 2, 3, 4, 5, 6};
  clip.channels.push_back({2,
                           ChannelPath::translation,
                           Interpolation::cubic_spline,
                           3,
                           {0.5f},
                           {9, 9, 9, 1, 2, 3, 9, 9, 9}});  // glTF wants two keys
  const Scene read = written(scene, directory);
  ASSERT_EQ(read.clips.size(), 1u);
  ASSERT_EQ(read.clips[0].channels.size(), 5u);
  EXPECT_NEAR(Eigen::Map<const Vec4f>(read.clips[0].channels[0].values.data()).norm(), 1, 1e-6);
  Pose pose = rest_pose(read.skeleton);
  pose.morph_weights.resize(2);
  sample_clip(read.clips[0], 0.75, pose);
  EXPECT_EQ(pose.joints[0].translation, Vec3f(1, 2, 3));
  EXPECT_EQ(pose.joints[2].translation, Vec3f(1, 2, 3));
}

TEST(GltfWriter, RefusesMorphChannelsOfHalfAMesh) {
  const TemporaryDirectory directory;
  Scene scene = character();
  scene.clips[0].channels = {{1, ChannelPath::morph_weights, Interpolation::linear, 1, {0}, {1}}};
  EXPECT_THROW(write_glb(scene, directory / "out.glb"), Error);
  EXPECT_TRUE(directory.files().empty());
}

TEST(GltfWriter, NamesThatAreNotUtf8AreWritten) {
  const TemporaryDirectory directory;
  Scene scene = character();
  scene.skeleton.joints[0].name = "caf\xe9";
  EXPECT_EQ(written(scene, directory).skeleton.joints[0].name, "caf\xef\xbf\xbd");
}

TEST(GltfWriter, FailureLeavesTheOldFile) {
  const TemporaryDirectory directory;
  write_file(directory / "out.glb", "old");
  Scene scene = character();
  scene.meshes[0].weights.joints[0] = 7;
  EXPECT_THROW(write_glb(scene, directory / "out.glb"), Error);
  EXPECT_THROW(write_glb(character(), directory / "missing" / "out.glb"), Error);
  EXPECT_EQ(as_text(read_file(directory / "out.glb")), "old");
  EXPECT_EQ(directory.files().size(), 1u);
}

TEST(GltfWriter, RandomWeightsComeBack) {
  const TemporaryDirectory directory;
  std::size_t rows = 0;
  EXPECT_TRUE(rc::check("rows survive writing and reading", [&] {
    Scene scene = character();
    scene.meshes.resize(1);
    scene.clips.clear();
    SceneMesh& mesh = scene.meshes[0];
    mesh.weights = {};
    WeightRepairs repairs;
    for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
      std::vector<Influence> row = {{0, static_cast<float>(*rc::gen::inRange(1, 1000))},
                                    {1, static_cast<float>(*rc::gen::inRange(0, 1000))}};
      append_row(mesh.weights, row, 0, repairs);
    }
    write_glb(scene, directory / "out.glb");
    const Scene read = read_gltf(directory / "out.glb");
    rows += mesh.weights.rows();
    for (std::size_t v = 0; v < mesh.weights.rows(); ++v) {
      RC_ASSERT(read.meshes[0].weights.row_size(v) == mesh.weights.row_size(v));
      for (std::size_t i = 0; i < mesh.weights.row_size(v); ++i) {
        RC_ASSERT(read.meshes[0].weights.row_joints(v)[i] == mesh.weights.row_joints(v)[i]);
        RC_ASSERT(std::abs(read.meshes[0].weights.row_values(v)[i] - mesh.weights.row_values(v)[i]) < 1e-7f);
      }
    }
  }));
  EXPECT_GT(rows, 100u);
}

// --- documents that are passed on

/// arm_file with bounds, a material, an embedded image, extensions that Sinew does not know, extras and
/// nulls.
test::GltfFile rich_file() {
  test::GltfFile file = test::arm_file();
  file.json["accessors"][0]["min"] = {0, 0, 0};
  file.json["accessors"][0]["max"] = {1, 1, 0};
  file.json["accessors"][7]["min"] = {0, 0, 1};
  file.json["accessors"][7]["max"] = {0, 0, 4};
  file.json["accessors"][9]["min"] = {0};
  file.json["accessors"][9]["max"] = {1};
  // A 1 x 1 PNG.
  static constexpr std::uint8_t kPng[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,    0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0,
      0,    1,    0,    0,    0,    1,    8,    6,    0,    0,    0,    0x1f, 0x15, 0xc4, 0x89, 0,    0, 0,
      0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x64, 0x60, 0xf8, 0x5f, 0x0f, 0,    2,    0x87, 1, 0x80,
      0xeb, 0x47, 0xba, 0x92, 0,    0,    0,    0,    0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  const int view = file.add_view(std::as_bytes(std::span(kPng)));
  file.json["images"] = Json::array({Json{{"bufferView", view}, {"mimeType", "image/png"}}});
  file.json["textures"] = Json::array({Json{{"source", 0}}});
  file.json["materials"] = Json::parse(R"([{"name": "skin", "doubleSided": true,
    "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "roughnessFactor": 0.12345678901234},
    "extensions": {"KHR_materials_unlit": {}}}])");
  file.json["meshes"][0]["primitives"][0]["material"] = 0;
  file.json["extensionsUsed"] = {"KHR_materials_unlit", "VENDOR_secret"};
  file.json["extensions"] =
      Json::parse(R"({"VENDOR_secret": {"deep": [1, {"null": null}, 1e300, "\u0001"]}})");
  file.json["nodes"][1]["extensions"] = Json::parse(R"({"VENDOR_secret": {"b": 2, "a": 1}})");
  file.json["nodes"][3]["extras"] = Json::parse(R"({"z": null, "a": [true, "ü"]})");
  file.json["animations"][0]["extras"] = "loop";
  file.json["unknown_member"] = nullptr;
  return file;
}

TEST(GltfWriter, UnchangedDocumentComesThrough) {
  const TemporaryDirectory directory;
  const test::GltfFile file = rich_file();
  const Scene scene = parse_gltf(file.glb(), "rich.glb");
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(changed_members(scene.document->json, read.document->json), std::set<std::string>{});
  EXPECT_EQ(read.document->json.dump(), scene.document->json.dump()) << "also in order";
  EXPECT_EQ(read.document->buffers, scene.document->buffers);
}

TEST(GltfWriter, SeveralBuffersBecomeOne) {
  const TemporaryDirectory directory;
  // Each buffer view becomes a buffer of its own.
  const test::GltfFile file = rich_file();
  Json json = file.json;
  json["buffers"] = Json::array();
  for (Json& view : json["bufferViews"]) {
    const std::size_t offset = view.value("byteOffset", std::size_t{0});
    const std::size_t size = view["byteLength"].get<std::size_t>();
    view["buffer"] = json["buffers"].size();
    view.erase("byteOffset");
    json["buffers"].push_back(Json{{"byteLength", size},
                                   {"uri", "data:application/octet-stream;base64," +
                                               test::base64(std::span(file.binary).subspan(offset, size))}});
  }
  const Scene scene = parse_gltf(test::to_bytes(json.dump()), "rich.gltf");
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(changed_members(scene.document->json, read.document->json),
            (std::set<std::string>{"buffers", "bufferViews"}));
  EXPECT_EQ(read.document->json["buffers"].size(), 1u);
  EXPECT_EQ(read.meshes, scene.meshes);
  EXPECT_EQ(read.skins, scene.skins);
  EXPECT_EQ(read.clips, scene.clips);
  EXPECT_EQ(read.meshes, parse_gltf(file.glb(), "rich.glb").meshes);
  const Json& image = read.document->json["bufferViews"].back();
  EXPECT_EQ(std::to_integer<int>(read.document->buffers[0][image["byteOffset"].get<std::size_t>()]), 0x89);
}

TEST(GltfWriter, ImagesBesideTheFileAreEmbedded) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "models");
  std::filesystem::create_directory(directory / "models" / "maps");
  const std::string png = "\x89PNG\r\n\x1a\n and so on";
  write_file(directory / "models" / "maps" / "skin map.png", png);
  write_file(directory / "models" / "notes.txt", "not an image");
  write_file(directory / "outside.png", png);
  test::GltfFile file = rich_file();
  file.json["images"] = Json::parse(R"([{"uri": "maps/skin%20map.png", "name": "skin"}, {"uri": "notes.txt"},
    {"uri": "../outside.png"}, {"uri": "missing.png"}, {"uri": "http://example.com/a.png"},
    {"uri": "data:image/png;base64,iVBORw0KGgo="}])");
  write_file(directory / "models" / "rich.gltf", file.gltf());
  const Scene scene = read_gltf(directory / "models" / "rich.gltf");
  write_glb(scene, directory / "out.glb");
  const GltfDocument read = read_gltf_document(directory / "out.glb");
  const Json& images = read.json["images"];
  for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(images[i], file.json["images"][i]) << i;
  EXPECT_EQ(images[0]["mimeType"], "image/png");
  EXPECT_EQ(images[0]["name"], "skin");
  EXPECT_FALSE(images[0].contains("uri"));
  const Json& view = read.json["bufferViews"][images[0]["bufferView"].get<std::size_t>()];
  const auto bytes = std::span(read.buffers[0]).subspan(view["byteOffset"].get<std::size_t>(), png.size());
  EXPECT_EQ(as_text(bytes), png);
}

TEST(GltfWriter, ChangedWeightsChangeNothingElse) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(rich_file().glb(), "rich.glb");
  scene.meshes[0].weights = {{0, 1, 2, 4, 5}, {1, 1, 0, 1, 0}, {1, 1, 0.5f, 0.5f, 1}};
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes[0], scene.meshes[0]);
  EXPECT_EQ(read.clips, scene.clips);
  EXPECT_EQ(read.skeleton, scene.skeleton);
  EXPECT_EQ(changed_members(scene.document->json, read.document->json),
            (std::set<std::string>{"accessors", "bufferViews", "buffers", "meshes"}));
  Json mesh = read.document->json["meshes"][0];
  for (const char* name : {"JOINTS_0", "WEIGHTS_0"})
    mesh["primitives"][0]["attributes"][name] =
        scene.document->json["meshes"][0]["primitives"][0]["attributes"][name];
  EXPECT_EQ(nlohmann::json(mesh), nlohmann::json(scene.document->json["meshes"][0]));
}

TEST(GltfWriter, SkinCanBeTakenAway) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(rich_file().glb(), "rich.glb");
  scene.meshes[0].skin = -1;
  scene.meshes[0].weights = {};
  scene.skins.clear();
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes, scene.meshes);
  EXPECT_TRUE(read.skins.empty());
  EXPECT_FALSE(read.document->json.contains("skins"));
}

TEST(GltfWriter, BindingAnUnskinnedDocument) {
  const TemporaryDirectory directory;
  test::GltfFile file = rich_file();
  file.json["nodes"][2].erase("skin");
  file.json.erase("skins");
  Json& attributes = file.json["meshes"][0]["primitives"][0]["attributes"];
  attributes.erase("JOINTS_0");
  attributes.erase("WEIGHTS_0");
  Scene scene = parse_gltf(file.glb(), "rich.glb");
  scene.skins = {{"new", {1, 3}, {Mat4f::Identity(), Mat4f::Identity()}}};
  scene.skins[0].joint_from_mesh[1](1, 3) = -1;
  scene.skeleton.joints[1].deforms = scene.skeleton.joints[3].deforms = true;
  scene.meshes[0].skin = 0;
  scene.meshes[0].weights = {{0, 1, 2, 4, 5}, {1, 1, 0, 1, 0}, {1, 1, 0.5f, 0.5f, 1}};
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.skins, scene.skins);
  EXPECT_EQ(read.meshes, scene.meshes);
  EXPECT_EQ(read.skeleton, scene.skeleton);
}

TEST(GltfWriter, RestPoseSkinAndNewJoints) {
  const TemporaryDirectory directory;
  test::GltfFile file = rich_file();
  file.json["nodes"][0]["matrix"] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1};
  file.json["animations"][0]["channels"].erase(1);  // translation of node 0
  Scene scene = parse_gltf(file.glb(), "rich.glb");
  ASSERT_EQ(scene.skeleton.joints[0].rest.translation, Vec3f(5, 6, 7));
  scene.skeleton.joints[0].rest.translation.x() = 1;
  scene.skeleton.joints[3].rest.rotation = Quatf(0.6f, 0.8f, 0, 0);
  scene.skeleton.joints[3].name = "forearm";
  Joint added{"hand", 3, {}, true};
  added.rest.translation = Vec3f(0, 0.5f, 0);
  scene.skeleton.joints.push_back(added);
  scene.skeleton.joints.push_back({"prop", -1, {}, false});
  scene.joint_nodes.push_back(-1);  // the second one is left out: the same
  scene.skins[0].joints.push_back(4);
  scene.skins[0].joint_from_mesh.push_back(2 * Mat4f::Identity());
  scene.skins[0].joint_from_mesh[2](3, 3) = 1.00001f;
  const Scene read = written(scene, directory, true);
  scene.skins[0].joint_from_mesh[2](3, 3) = 1;
  EXPECT_EQ(read.skeleton, scene.skeleton);
  EXPECT_EQ(read.skins, scene.skins);
  EXPECT_EQ(read.meshes, scene.meshes);
  const Json& nodes = read.document->json["nodes"];
  EXPECT_FALSE(nodes[0].contains("matrix"));
  EXPECT_EQ(nodes[1], scene.document->json["nodes"][1]);
  EXPECT_EQ(nodes[3]["children"], Json::array({4}));
  EXPECT_EQ(nodes[3]["extras"], scene.document->json["nodes"][3]["extras"]);
  EXPECT_EQ(read.document->json["scenes"][0]["nodes"], Json::array({0, 5}));
  EXPECT_EQ(read.document->json["animations"], scene.document->json["animations"]);
}

TEST(GltfWriter, JointGetsAnotherParent) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(rich_file().glb(), "rich.glb");
  scene.skeleton.joints[3].parent = 0;
  scene.skeleton.joints[2].parent = -1;
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.skeleton, scene.skeleton);
  EXPECT_FALSE(read.document->json["nodes"][1].contains("children"));
  EXPECT_EQ(read.document->json["scenes"][0]["nodes"], Json::array({0, 2}));
}

TEST(GltfWriter, ClipsAreKeptChangedAddedAndRemoved) {
  const TemporaryDirectory directory;
  test::GltfFile file = rich_file();
  for (const char* name : {"second", "third"}) {
    Json copy = file.json["animations"][0];
    copy["name"] = name;
    copy["extras"] = name;
    file.json["animations"].push_back(copy);
  }
  Scene scene = parse_gltf(file.glb(), "rich.glb");
  const std::vector<Clip> old = scene.clips;
  ASSERT_EQ(old.size(), 3u);
  Clip changed = old[1];
  changed.channels[1].values[4] = 17;
  // "bend" is removed, "third" comes first, "second" changes, "wave" is new.
  scene.clips = {old[2], changed, clip_of("wave")};
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.clips, scene.clips);
  const Json& animations = read.document->json["animations"];
  ASSERT_EQ(animations.size(), 3u);
  EXPECT_EQ(animations[0], scene.document->json["animations"][2]) << "untouched";
  EXPECT_EQ(animations[1]["extras"], "second");
  EXPECT_NE(animations[1]["samplers"], scene.document->json["animations"][1]["samplers"]);
  EXPECT_EQ(animations[2]["name"], "wave");

  scene.clips.clear();
  EXPECT_FALSE(written(scene, directory, true).document->json.contains("animations"));
}

TEST(GltfWriter, AnimatedNodesLoseTheirMatrix) {
  const TemporaryDirectory directory;
  test::GltfFile file = rich_file();
  file.json["nodes"][1]["matrix"] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1};
  Scene scene = parse_gltf(file.glb(), "rich.glb");
  scene.clips.push_back(clip_of("wave"));
  const Scene read = written(scene, directory, true);
  EXPECT_FALSE(read.document->json["nodes"][1].contains("matrix"));
  EXPECT_EQ(read.skeleton, scene.skeleton);
  EXPECT_EQ(read.clips, scene.clips);
}

TEST(GltfWriter, ChangedShapes) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(rich_file().glb(), "rich.glb");
  SceneMesh& mesh = scene.meshes[0];
  mesh.surface.positions[2] = Vec3f(0, 2, 0.1f);
  mesh.normals.values[1] = Vec3f(0.6f, 0, 0.8f);
  mesh.texcoords.values[3] = Vec2f(0.5f, 0.25f);
  mesh.attributes[0].values[2] = 7;
  mesh.attributes.push_back({"_EXTRA", 4, std::vector<float>(16, 3.0f)});
  mesh.morph_targets[0].displacements[1] = Vec3f(5, 0, 0);
  mesh.morph_targets[0].name = "grin";
  mesh.morph_weights[0] = 0.5f;
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes, scene.meshes);
  EXPECT_EQ(read.document->json["meshes"][0]["primitives"][0]["material"], 0);
  EXPECT_EQ(read.clips, scene.clips);
}

TEST(GltfWriter, MorphTargetsAreAddedAndRemoved) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(rich_file().glb(), "rich.glb");
  scene.clips.clear();
  SceneMesh& mesh = scene.meshes[0];
  mesh.morph_targets.push_back({"wink", std::vector<Vec3f>(4, Vec3f(0, 0, 1))});
  mesh.morph_weights.push_back(0.75f);
  EXPECT_EQ(written(scene, directory, true).meshes, scene.meshes);
  mesh.morph_targets.clear();
  mesh.morph_weights.clear();
  EXPECT_EQ(written(scene, directory, true).meshes, scene.meshes);
}

TEST(GltfWriter, AnotherTopologyKeepsTheMaterial) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(rich_file().glb(), "rich.glb");
  scene.clips.clear();
  SceneMesh mesh;
  mesh.name = "finer";
  mesh.surface = test::make_grid(3, 3);
  for (const Vec3f& p : mesh.surface.positions) mesh.texcoords.values.push_back(p.head<2>());
  mesh.texcoords.corners = mesh.surface.polygons.corners;
  mesh.joint = scene.meshes[0].joint;
  scene.meshes[0] = mesh;
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes[0].surface.positions, mesh.surface.positions);
  EXPECT_EQ(read.meshes[0].name, "finer");
  EXPECT_EQ(read.mesh_nodes, scene.mesh_nodes);
  const Json& json = read.document->json;
  EXPECT_EQ(json["meshes"][json["nodes"][2]["mesh"].get<std::size_t>()]["primitives"][0]["material"], 0);

  scene.meshes[0].texcoords = {};  // the material's texture would have no UVs
  const Json bare = written(scene, directory, true).document->json;
  EXPECT_FALSE(
      bare["meshes"][bare["nodes"][2]["mesh"].get<std::size_t>()]["primitives"][0].contains("material"));
}

TEST(GltfWriter, MeshesAreAddedRemovedAndMoved) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(rich_file().glb(), "rich.glb");
  scene.clips.clear();
  SceneMesh hat;
  hat.name = "hat";
  hat.surface = test::make_cube();
  hat.joint = 3;
  scene.meshes.push_back(hat);
  Scene read = written(scene, directory, true);
  ASSERT_EQ(read.meshes.size(), 2u);
  EXPECT_EQ(read.meshes[0], scene.meshes[0]);
  EXPECT_EQ(read.meshes[1].joint, 3);
  EXPECT_EQ(read.skeleton, scene.skeleton) << "the hand's node was free";

  read.meshes[1].joint = 1;
  const Scene moved = written(read, directory, true);
  EXPECT_EQ(moved.meshes[0].name, "hat") << "now on node 1, which comes first";
  EXPECT_EQ(moved.meshes[0].joint, 1);

  read.meshes.pop_back();
  read.mesh_nodes.pop_back();
  EXPECT_EQ(written(read, directory, true).meshes, scene_from_document(scene.document, "rich.glb").meshes);
}

/// rich_file with a second node, 4 "twin", that shows the same mesh.
test::GltfFile twin_file() {
  test::GltfFile file = rich_file();
  file.json["nodes"].push_back(Json{{"name", "twin"}, {"mesh", 0}, {"skin", 0}});
  file.json["scenes"][0]["nodes"].push_back(4);
  return file;
}

TEST(GltfWriter, InstanceThatDiffersGetsItsOwnMesh) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(twin_file().glb(), "twin.glb");
  ASSERT_EQ(scene.meshes.size(), 2u);
  scene.meshes[1].weights = {{0, 1, 2, 4, 5}, {1, 1, 0, 1, 0}, {1, 1, 0.5f, 0.5f, 1}};
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes, scene.meshes);
  const Json& json = read.document->json;
  EXPECT_EQ(json["meshes"].size(), 2u);
  EXPECT_EQ(json["nodes"][2]["mesh"], 0);
  EXPECT_EQ(json["nodes"][4]["mesh"], 1);
  EXPECT_EQ(json["meshes"][0], scene.document->json["meshes"][0]);
}

TEST(GltfWriter, InstancesThatChangeAlikeStayInstances) {
  const TemporaryDirectory directory;
  Scene scene = parse_gltf(twin_file().glb(), "twin.glb");
  for (SceneMesh& mesh : scene.meshes)
    mesh.weights = {{0, 1, 2, 4, 5}, {1, 1, 0, 1, 0}, {1, 1, 0.5f, 0.5f, 1}};
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes, scene.meshes);
  EXPECT_EQ(read.document->json["meshes"].size(), 1u);
}

TEST(GltfWriter, PrimitivesThatShareVerticesStayTogether) {
  const TemporaryDirectory directory;
  test::GltfFile file = rich_file();
  Json& primitives = file.json["meshes"][0]["primitives"];
  Json other = primitives[0];
  other.erase("material");
  primitives.push_back(other);  // the same accessors: the same vertices
  other["attributes"]["POSITION"] = file.add<float>({0, 0, 5, 1, 0, 5, 0, 1, 5, 1, 1, 5}, "VEC3");
  file.json["accessors"].back()["min"] = {0, 0, 5};
  file.json["accessors"].back()["max"] = {1, 1, 5};
  primitives.push_back(other);
  Scene scene = parse_gltf(file.glb(), "parts.glb");
  ASSERT_EQ(scene.meshes[0].surface.positions.size(), 8u);
  SkinWeights& weights = scene.meshes[0].weights;
  weights = {};
  for (std::uint32_t v = 0; v < 8; ++v) {
    weights.joints.push_back(v < 6 ? 1 : 0);
    weights.values.push_back(1);
    weights.starts.push_back(v + 1);
  }
  scene.meshes[0].surface.positions[7].z() = 6;
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes, scene.meshes);
  const Json& back = read.document->json["meshes"][0]["primitives"];
  EXPECT_EQ(back[0]["attributes"], back[1]["attributes"]);
  EXPECT_EQ(back[0]["attributes"]["POSITION"], 0) << "this block's positions did not change";
  EXPECT_NE(back[2]["attributes"]["POSITION"], other["attributes"]["POSITION"]);
  EXPECT_FALSE(back[1].contains("material"));
}

// --- real characters

class GltfWriterAssets : public testing::TestWithParam<const char*> {};

TEST_P(GltfWriterAssets, ComeThrough) {
  const auto path = test::asset(GetParam());
  if (!path) GTEST_SKIP() << test::missing_asset(GetParam());
  const TemporaryDirectory directory;
  const Scene scene = read_gltf(*path);
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.document->json.dump(), scene.document->json.dump());
  EXPECT_EQ(read.document->buffers, scene.document->buffers);
}

TEST_P(GltfWriterAssets, CutWeightsAndNewClip) {
  const auto path = test::asset(GetParam());
  if (!path) GTEST_SKIP() << test::missing_asset(GetParam());
  const TemporaryDirectory directory;
  Scene scene = read_gltf(*path);
  scene.meshes[0].weights = limit_influences(scene.meshes[0].weights, 1);
  scene.clips.push_back(clip_of("wave"));
  const Scene read = written(scene, directory, true);
  EXPECT_EQ(read.meshes, scene.meshes);
  EXPECT_EQ(read.skeleton, scene.skeleton);
  EXPECT_EQ(read.skins, scene.skins);
  EXPECT_EQ(read.clips, scene.clips);
}

TEST_P(GltfWriterAssets, WithoutTheirDocument) {
  const auto path = test::asset(GetParam());
  if (!path) GTEST_SKIP() << test::missing_asset(GetParam());
  const TemporaryDirectory directory;
  Scene scene = read_gltf(*path);
  scene.document = nullptr;
  const Scene read = written(scene, directory);
  for (std::size_t j = 0; j < scene.skeleton.size(); ++j)
    EXPECT_EQ(read.skeleton.joints[j], scene.skeleton.joints[j]) << j;
  EXPECT_EQ(read.skins, scene.skins);
  EXPECT_EQ(read.clips, scene.clips);
  EXPECT_EQ(read.meshes[0].surface, scene.meshes[0].surface);
  EXPECT_EQ(read.meshes[0].weights.joints, scene.meshes[0].weights.joints);
}

INSTANTIATE_TEST_SUITE_P(Files, GltfWriterAssets,
                         testing::Values("human.glb", "fox.glb", "rigged_figure.glb"));

}  // namespace
}  // namespace sinew
