#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/scene/frame_writer.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/refine_mesh.h>
#include <sinew/scene/gltf_document.h>
#include <sinew/scene/normal_slots.h>
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

/// Frames of a scene whose meshes wobble; normals, one per slot, turn.
struct Frames {
  std::vector<std::vector<std::vector<Vec3f>>> positions;  // frame, mesh, vertex
  std::vector<std::vector<std::vector<Vec3f>>> normals;    // frame, mesh, slot

  Frames(const Scene& scene, int count, bool with_normals = true) {
    for (int k = 0; k < count; ++k) {
      auto& meshes = positions.emplace_back();
      auto& turned = normals.emplace_back();
      for (const SceneMesh& mesh : scene.meshes) {
        meshes.push_back(mesh.surface.positions);
        for (std::size_t v = 0; v < meshes.back().size(); ++v)
          meshes.back()[v] += 0.1f * static_cast<float>(1 + k) * Vec3f(std::sin(static_cast<float>(v)), 1, 0);
        turned.emplace_back();
        if (!with_normals) continue;
        const std::size_t slots = normal_slots(mesh).slot_vertex.size();
        for (std::size_t s = 0; s < slots; ++s) {
          const float angle = 0.3f * static_cast<float>(k) + static_cast<float>(s);
          turned.back().push_back(Vec3f(std::cos(angle), std::sin(angle), 0));
        }
      }
    }
  }

  void write(FrameWriter& writer) const {
    for (std::size_t k = 0; k < positions.size(); ++k) writer.write_frame(frame(k));
    writer.finish();
  }

  std::vector<MeshFrame> frame(std::size_t k) const {
    std::vector<MeshFrame> meshes;
    for (std::size_t m = 0; m < positions[k].size(); ++m)
      meshes.push_back({positions[k][m], normals[k][m], Affine3d::Identity()});
    return meshes;
  }
};

FrameWriterOptions frames(int count) {
  FrameWriterOptions options;
  options.frame_count = count;
  options.frames_per_second = 24;
  options.clip_name = "baked";
  return options;
}

Scene cube_scene() {
  Scene scene;
  SceneMesh mesh;
  mesh.name = "cube";
  mesh.surface = test::make_cube();
  for (std::size_t p = 0; p < 6; ++p)
    for (int i = 0; i < 4; ++i) mesh.normals.corners.push_back(static_cast<std::uint32_t>(p));
  mesh.normals.values = {-Vec3f::UnitX(), Vec3f::UnitX(),  -Vec3f::UnitY(),
                         Vec3f::UnitY(),  -Vec3f::UnitZ(), Vec3f::UnitZ()};
  scene.meshes = {mesh};
  mesh.name = "ball";
  mesh.surface = test::make_icosphere(1);
  mesh.normals = {};
  scene.meshes.push_back(mesh);
  return scene;
}

/// The vectors of an accessor of the writer's own, tightly packed.
std::vector<Vec3f> read_vectors(const GltfDocument& document, const Json& accessor_number) {
  const Json& accessor = document.json["accessors"][accessor_number.get<std::size_t>()];
  const Json& view = document.json["bufferViews"][accessor["bufferView"].get<std::size_t>()];
  std::vector<Vec3f> values(accessor["count"].get<std::size_t>());
  std::memcpy(static_cast<void*>(values.data()),
              document.buffers[0].data() + view.value("byteOffset", std::size_t{0}) +
                  accessor.value("byteOffset", std::size_t{0}),
              values.size() * sizeof(Vec3f));
  return values;
}

TEST(GlbFrameWriter, FramesComeBackAsMorphTargets) {
  const TemporaryDirectory directory;
  const Scene scene = cube_scene();
  const Frames expected(scene, 5);
  const auto writer = make_frame_writer(scene, directory / "out.glb", frames(5));
  expected.write(*writer);
  expect_valid(directory / "out.glb");
  EXPECT_EQ(directory.files(), std::vector<std::string>{"out.glb"});

  const Scene read = read_gltf(directory / "out.glb");
  ASSERT_EQ(read.meshes.size(), 2u);
  EXPECT_EQ(read.meshes[0].name, "cube");
  ASSERT_EQ(read.meshes[0].surface.positions.size(), 24u);
  ASSERT_EQ(read.clips.size(), 1u);
  EXPECT_EQ(read.clips[0].name, "baked");
  ASSERT_EQ(read.clips[0].channels.size(), 2u);
  for (const Channel& channel : read.clips[0].channels)
    for (std::size_t k = 0; k < 5; ++k) EXPECT_FLOAT_EQ(channel.times[k], static_cast<float>(k) / 24);

  for (std::size_t k = 0; k < 5; ++k) {
    Pose pose = rest_pose(read);
    sample_clip(read.clips[0], static_cast<double>(k) / 24, pose);
    for (std::size_t m = 0; m < 2; ++m) {
      const SceneMesh& mesh = read.meshes[m];
      ASSERT_EQ(mesh.morph_targets.size(), 5u);
      for (std::size_t v = 0; v < expected.positions[k][m].size(); ++v) {
        Vec3f p = mesh.surface.positions[v];
        for (std::size_t t = 0; t < 5; ++t)
          p += pose.morph_weights[read.first_morph_weight(m) + t] * mesh.morph_targets[t].displacements[v];
        EXPECT_LT((p - expected.positions[k][m][v]).norm(), 1e-6f) << "frame " << k << " vertex " << v;
        EXPECT_TRUE(mesh.morph_targets[0].displacements[v].isZero(0));
      }
    }
  }
  // Normals: hard edges are doubled vertices, each with the normal of its slot.
  const GltfDocument& document = *read.document;
  const NormalSlots slots = normal_slots(scene.meshes[0]);
  const Json& primitive = document.json["meshes"][0]["primitives"][0];
  const std::vector<Vec3f> base = read_vectors(document, primitive["attributes"]["NORMAL"]);
  const std::vector<Vec3f> last = read_vectors(document, primitive["targets"][4]["NORMAL"]);
  for (std::size_t t = 0; t < scene.meshes[0].surface.triangles.size(); ++t)
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t v = read.meshes[0].surface.triangles[t][c];
      const std::uint32_t slot = slots.corner_slot[scene.meshes[0].surface.triangle_corners[t][c]];
      EXPECT_EQ(base[v], expected.normals[0][0][slot]);
      EXPECT_LT((base[v] + last[v] - expected.normals[4][0][slot]).norm(), 1e-6f);
    }
}

TEST(GlbFrameWriter, OneFrameIsAPlainFile) {
  const TemporaryDirectory directory;
  const Scene scene = cube_scene();
  const Frames expected(scene, 1);
  expected.write(*make_frame_writer(scene, directory / "out.glb", frames(1)));
  expect_valid(directory / "out.glb");
  const Scene read = read_gltf(directory / "out.glb");
  EXPECT_TRUE(read.clips.empty());
  EXPECT_TRUE(read.meshes[1].morph_targets.empty());
  EXPECT_EQ(read.meshes[1].surface.positions, expected.positions[0][1]);
}

TEST(GlbFrameWriter, FramesWithoutNormals) {
  const TemporaryDirectory directory;
  const Scene scene = cube_scene();
  const Frames expected(scene, 3, false);
  expected.write(*make_frame_writer(scene, directory / "out.glb", frames(3)));
  expect_valid(directory / "out.glb");
  const Scene read = read_gltf(directory / "out.glb");
  EXPECT_TRUE(read.meshes[0].normals.empty());
  EXPECT_LT((read.meshes[1].surface.positions[7] + read.meshes[1].morph_targets[2].displacements[7] -
             expected.positions[2][1][7])
                .norm(),
            1e-6f);
}

TEST(GlbFrameWriter, SlotWithoutDirectionIsStillValid) {
  const TemporaryDirectory directory;
  const Scene scene = cube_scene();
  Frames broken(scene, 2);
  broken.normals[0][0][3] = Vec3f::Zero();
  broken.normals[1][0][3] = 5 * Vec3f::UnitX();
  broken.write(*make_frame_writer(scene, directory / "out.glb", frames(2)));
  expect_valid(directory / "out.glb");
}

/// arm_file with bounds, a material, a second primitive of lines, and colours.
test::GltfFile painted_arm() {
  test::GltfFile file = test::arm_file();
  file.json["accessors"][0]["min"] = {0, 0, 0};
  file.json["accessors"][0]["max"] = {1, 1, 0};
  file.json["accessors"][7]["min"] = {0, 0, 1};
  file.json["accessors"][7]["max"] = {0, 0, 4};
  file.json["accessors"][9]["min"] = {0};
  file.json["accessors"][9]["max"] = {1};
  file.json["materials"] = Json::parse(R"([{"name": "lines"}, {"name": "paint"}])");
  Json& primitives = file.json["meshes"][0]["primitives"];
  primitives[0]["material"] = 1;
  primitives[0]["attributes"]["COLOR_0"] = file.add<float>(std::vector<float>(16, 0.5f), "VEC4");
  primitives[0]["attributes"]["TANGENT"] =
      file.add<float>({1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1}, "VEC4");
  Json lines = primitives[0];
  lines["mode"] = 1;
  lines["material"] = 0;
  lines.erase("indices");
  primitives.insert(primitives.begin(), lines);
  file.json["nodes"][2]["translation"] = {9, 9, 9};
  return file;
}

TEST(GlbFrameWriter, RefinedMeshesKeepTheirMaterials) {
  const TemporaryDirectory directory;
  test::GltfFile file = painted_arm();
  Json& primitives = file.json["meshes"][0]["primitives"];
  primitives[0] = primitives[1];  // triangles instead of lines
  primitives[0]["material"] = 0;
  Scene scene = parse_gltf(file.glb(), "arm.glb");
  SceneMesh& mesh = scene.meshes[0];
  ASSERT_EQ(mesh.polygon_groups.size(), mesh.surface.polygons.size());
  const std::size_t triangles = mesh.surface.triangles.size();
  mesh = refine_mesh(mesh, std::vector<std::uint8_t>(triangles, 1));
  ASSERT_EQ(mesh.surface.triangles.size(), 4 * triangles);
  Frames(scene, 3).write(*make_frame_writer(scene, directory / "out.glb", frames(3)));
  expect_valid(directory / "out.glb");
  const Scene read = read_gltf(directory / "out.glb");
  const Json& written = read.document->json["meshes"][0]["primitives"];
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0]["material"], 0);
  EXPECT_EQ(written[1]["material"], 1);
  EXPECT_EQ(read.meshes[0].surface.triangles.size(), 4 * triangles);
}

TEST(GlbFrameWriter, DocumentKeepsItsLooks) {
  const TemporaryDirectory directory;
  const Scene scene = parse_gltf(painted_arm().glb(), "arm.glb");
  const Frames expected(scene, 3);
  expected.write(*make_frame_writer(scene, directory / "out.glb", frames(3)));
  expect_valid(directory / "out.glb");
  const Scene read = read_gltf(directory / "out.glb");
  const Json& json = read.document->json;
  EXPECT_FALSE(json.contains("skins"));
  EXPECT_EQ(json["materials"], scene.document->json["materials"]);
  ASSERT_EQ(json["meshes"].size(), 1u);
  ASSERT_EQ(json["meshes"][0]["primitives"].size(), 1u) << "lines do not move with the frames";
  const Json& primitive = json["meshes"][0]["primitives"][0];
  EXPECT_EQ(primitive["material"], 1);
  for (const char* name : {"POSITION", "NORMAL", "TEXCOORD_0", "COLOR_0", "_SIGMA"})
    EXPECT_TRUE(primitive["attributes"].contains(name)) << name;
  for (const char* name : {"JOINTS_0", "WEIGHTS_0", "TANGENT"})
    EXPECT_FALSE(primitive["attributes"].contains(name)) << name;
  EXPECT_EQ(read.meshes[0].texcoords, scene.meshes[0].texcoords);
  EXPECT_EQ(read.meshes[0].attributes, scene.meshes[0].attributes);
  EXPECT_EQ(read.meshes[0].surface.positions, expected.positions[0][0]);
  EXPECT_EQ(read.meshes[0].surface.polygons, scene.meshes[0].surface.polygons);

  // The body's node moved to the root and lost its transform; the others are as they were.
  EXPECT_EQ(json["nodes"][2]["name"], "body");
  EXPECT_FALSE(json["nodes"][2].contains("translation"));
  EXPECT_EQ(json["nodes"][0]["children"], Json::array({1}));
  EXPECT_EQ(json["scenes"][0]["nodes"], Json::array({0, 2}));
  ASSERT_EQ(read.clips.size(), 1u);
  EXPECT_EQ(read.clips[0].name, "baked");

  // Data of what was dropped (weights, keys, old positions) is gone.
  EXPECT_EQ(json["accessors"].size(), 4u /* UV, colour, _SIGMA, indices */ + 2 * (1 + 3) + 2);
}

TEST(GlbFrameWriter, NodeWithChildrenGetsANewNodeBesideIt) {
  const TemporaryDirectory directory;
  test::GltfFile file = painted_arm();
  file.json["nodes"][0]["children"] = {2};
  file.json["nodes"][2]["children"] = {1};
  const Scene scene = parse_gltf(file.glb(), "arm.glb");
  Frames(scene, 2).write(*make_frame_writer(scene, directory / "out.glb", frames(2)));
  expect_valid(directory / "out.glb");
  const Json json = read_gltf_document(directory / "out.glb").json;
  EXPECT_EQ(json["nodes"][2]["children"], Json::array({1}));
  EXPECT_TRUE(json["nodes"][2].contains("translation"));
  EXPECT_FALSE(json["nodes"][2].contains("mesh"));
  EXPECT_EQ(json["nodes"][4], (Json{{"name", "body"}, {"mesh", 0}}));
}

TEST(GlbFrameWriter, InstancesGetFramesOfTheirOwn) {
  const TemporaryDirectory directory;
  test::GltfFile file = painted_arm();
  file.json["nodes"].push_back(Json{{"name", "twin"}, {"mesh", 0}, {"skin", 0}});
  file.json["scenes"][0]["nodes"].push_back(4);
  const Scene scene = parse_gltf(file.glb(), "arm.glb");
  Frames expected(scene, 2);
  for (Vec3f& p : expected.positions[1][1]) p.x() += 100;
  expected.write(*make_frame_writer(scene, directory / "out.glb", frames(2)));
  expect_valid(directory / "out.glb");
  const Scene read = read_gltf(directory / "out.glb");
  ASSERT_EQ(read.meshes.size(), 2u);
  EXPECT_GT(read.meshes[1].morph_targets[1].displacements[0].x(), 99);
  EXPECT_LT(read.meshes[0].morph_targets[1].displacements[0].x(), 1);
}

TEST(GlbFrameWriter, UnknownExtensionsKeepAllData) {
  const TemporaryDirectory directory;
  test::GltfFile file = painted_arm();
  file.json["extensionsUsed"] = {"VENDOR_accessors"};
  file.json["nodes"][1]["extensions"] = Json::parse(R"({"VENDOR_accessors": {"accessor": 12}})");
  const Scene scene = parse_gltf(file.glb(), "arm.glb");
  Frames(scene, 2).write(*make_frame_writer(scene, directory / "out.glb", frames(2)));
  expect_valid(directory / "out.glb", true);
  const Json json = read_gltf_document(directory / "out.glb").json;
  ASSERT_GT(json["accessors"].size(), 12u);
  EXPECT_EQ(json["accessors"][12], scene.document->json["accessors"][12]);
  EXPECT_EQ(json["nodes"][1]["extensions"], scene.document->json["nodes"][1]["extensions"]);
}

TEST(GlbFrameWriter, LeavesNothingBehindUnlessFinished) {
  const TemporaryDirectory directory;
  const Scene scene = cube_scene();
  const Frames some(scene, 2);
  {
    const auto writer = make_frame_writer(scene, directory / "out.glb", frames(3));
    writer->write_frame(some.frame(0));
    writer->write_frame(some.frame(1));
    EXPECT_THROW(writer->finish(), Error) << "a frame is missing";
    EXPECT_FALSE(std::filesystem::exists(directory / "out.glb"));
  }
  EXPECT_TRUE(directory.files().empty());
}

TEST(GlbFrameWriter, RefusesFilesOverFourGigabytesAtOnce) {
  const TemporaryDirectory directory;
  for (int count : {40'000, 2'000'000'000}) try {
      make_frame_writer(cube_scene(), directory / "out.glb", frames(count));
      ADD_FAILURE() << count;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("use .pc2 or fewer frames"), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find("GiB"), std::string::npos);
    }
  EXPECT_TRUE(directory.files().empty());
}

TEST(GlbFrameWriter, RefusesFramesThatDoNotFit) {
  const TemporaryDirectory directory;
  const Scene scene = cube_scene();
  const auto writer = make_frame_writer(scene, directory / "out.glb", frames(2));
  Frames wrong(scene, 3);
  EXPECT_THROW(writer->write_frame({}), Error);
  wrong.positions[0][0].pop_back();
  EXPECT_THROW(writer->write_frame(wrong.frame(0)), Error);
  wrong.normals[1][0].pop_back();
  EXPECT_THROW(writer->write_frame(wrong.frame(1)), Error);
  wrong.positions[2][0][5].x() = std::nanf("");
  EXPECT_THROW(writer->write_frame(wrong.frame(2)), Error);
}

TEST(GlbFrameWriter, NormalsMustComeAlwaysOrNever) {
  const TemporaryDirectory directory;
  const Scene scene = cube_scene();
  const auto writer = make_frame_writer(scene, directory / "out.glb", frames(2));
  writer->write_frame(Frames(scene, 1).frame(0));
  const Frames bare(scene, 1, false);
  EXPECT_THROW(writer->write_frame(bare.frame(0)), Error);
}

class GlbFrameWriterAssets : public testing::TestWithParam<const char*> {};

TEST_P(GlbFrameWriterAssets, BakeToValidFiles) {
  const auto path = test::asset(GetParam());
  if (!path) GTEST_SKIP() << test::missing_asset(GetParam());
  const TemporaryDirectory directory;
  const Scene scene = read_gltf(*path);
  const Frames expected(scene, 4);
  expected.write(*make_frame_writer(scene, directory / "out.glb", frames(4)));
  expect_valid(directory / "out.glb");
  const Scene read = read_gltf(directory / "out.glb");
  ASSERT_EQ(read.meshes.size(), scene.meshes.size());
  EXPECT_EQ(read.meshes[0].surface.polygons, scene.meshes[0].surface.polygons);
  EXPECT_EQ(read.meshes[0].surface.positions, expected.positions[0][0]);
  EXPECT_EQ(read.meshes[0].texcoords, scene.meshes[0].texcoords);
  const Json& json = read.document->json;
  for (const char* key : {"materials", "textures", "samplers"})
    EXPECT_EQ(json.value(key, Json()), scene.document->json.value(key, Json())) << key;
  const double added = 5.0 * 24 * static_cast<double>(scene.meshes[0].surface.positions.size());
  EXPECT_LT(static_cast<double>(read.document->buffers[0].size()) - added,
            static_cast<double>(scene.document->buffers[0].size()) / (json.contains("images") ? 1 : 2))
      << "clips and weights are not dragged along";
}

INSTANTIATE_TEST_SUITE_P(Files, GlbFrameWriterAssets,
                         testing::Values("human.glb", "fox.glb", "rigged_figure.glb"));

}  // namespace
}  // namespace sinew
