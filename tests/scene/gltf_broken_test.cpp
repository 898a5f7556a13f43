// Files that are broken in one place each, and what the reader must say about them.

#include <cmath>
#include <functional>
#include <ostream>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf.h>
#include <tests/support/gltf_builder.h>

namespace sinew {
namespace {

using test::Arm;
using test::arm_file;
using test::GltfFile;
using Json = nlohmann::ordered_json;

struct Broken {
  const char* name;
  std::function<void(GltfFile&)> change;
  const char* expected;
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) {
  return out << broken.name;
}

Json& primitive(GltfFile& file) {
  return file.json["meshes"][0]["primitives"][0];
}
Json& attributes(GltfFile& file) {
  return primitive(file)["attributes"];
}
Json& animation(GltfFile& file) {
  return file.json["animations"][0];
}
Json& accessor(GltfFile& file, int number) {
  return file.json["accessors"][to_size(number)];
}

const Broken kBroken[] = {
    // Nodes.
    {"ChildOutOfRange", [](auto& f) { f.json["nodes"][1]["children"] = {4}; },
     "nodes[1].children[0]: node 4 does not exist (4 nodes)"},
    {"ChildNegative", [](auto& f) { f.json["nodes"][1]["children"] = {-1}; },
     "nodes[1].children[0]: expected a non-negative integer"},
    {"ChildIsItself", [](auto& f) { f.json["nodes"][3]["children"] = {3}; }, "node 3 is its own child"},
    {"ChildrenNotAList", [](auto& f) { f.json["nodes"][1]["children"] = 3; },
     "nodes[1].children: expected an array"},
    {"TwoParents", [](auto& f) { f.json["nodes"][2]["children"] = {3}; },
     "nodes[2].children[0]: node 3 already is a child of node 1"},
    {"ChildTwice",
     [](auto& f) {
       f.json["nodes"][1]["children"] = {3, 3};
     },
     "node 3 already is a child of node 1"},
    {"Cycle",
     [](auto& f) {
       f.json["nodes"][0]["children"] = {2};
       f.json["nodes"][3]["children"] = {1};
     },
     "is its own ancestor"},
    {"NodeNotAnObject", [](auto& f) { f.json["nodes"][3] = "lower"; }, "nodes[3]: expected an object"},
    {"NodesNotAList", [](auto& f) { f.json["nodes"] = Json::object(); }, "nodes: expected an array"},
    {"NameNotText", [](auto& f) { f.json["nodes"][3]["name"] = 7; }, "nodes[3].name: expected a string"},
    {"TranslationTooShort",
     [](auto& f) {
       f.json["nodes"][3]["translation"] = {1, 2};
     },
     "nodes[3].translation: expected an array of 3 numbers"},
    {"TranslationNotNumbers",
     [](auto& f) {
       f.json["nodes"][3]["translation"] = {1, 2, "3"};
     },
     "nodes[3].translation[2]: expected a number"},
    {"TranslationTooLarge",
     [](auto& f) {
       f.json["nodes"][3]["translation"] = {1, 1e300, 3};
     },
     "nodes[3].translation[1]: the number is too large"},
    {"RotationZero",
     [](auto& f) {
       f.json["nodes"][3]["rotation"] = {0, 0, 0, 0};
     },
     "nodes[3].rotation: the quaternion has no length"},
    {"MatrixTooShort",
     [](auto& f) {
       f.json["nodes"][3]["matrix"] = {1, 0, 0};
     },
     "nodes[3].matrix: expected an array of 16 numbers"},
    {"MatrixNotAffine",
     [](auto& f) { f.json["nodes"][3]["matrix"] = Json::parse("[1,0,0,1,0,1,0,0,0,0,1,0,0,0,0,1]"); },
     "nodes[3].matrix: the last row is not 0 0 0 1"},
    // Scenes.
    {"SceneOutOfRange", [](auto& f) { f.json["scene"] = 1; }, "scene: scene 1 does not exist (1 scene)"},
    {"SceneWithoutScenes", [](auto& f) { f.json.erase("scenes"); },
     "scene: scene 0 does not exist (0 scenes)"},
    {"SceneNodeOutOfRange", [](auto& f) { f.json["scenes"][0]["nodes"] = {9}; },
     "scenes[0].nodes[0]: node 9 does not exist (4 nodes)"},
    {"MeshOutOfRange", [](auto& f) { f.json["nodes"][2]["mesh"] = 1; },
     "nodes[2].mesh: mesh 1 does not exist (1 mesh)"},
    {"MeshOutOfRangeOutsideOfTheScene",
     [](auto& f) {
       f.json["nodes"].push_back({{"mesh", 3}});
     },
     "nodes[4].mesh: mesh 3 does not exist (1 mesh)"},
    {"SkinOutOfRange", [](auto& f) { f.json["nodes"][2]["skin"] = 1; },
     "nodes[2].skin: skin 1 does not exist (1 skin)"},
    // Skins.
    {"SkinWithoutJoints", [](auto& f) { f.json["skins"][0].erase("joints"); },
     "skins[0]: 'joints' is missing"},
    {"SkinOfNoJoints", [](auto& f) { f.json["skins"][0]["joints"] = Json::array(); },
     "skins[0].joints: expected at least one joint"},
    {"SkinJointOutOfRange", [](auto& f) { f.json["skins"][0]["joints"][1] = 4; },
     "skins[0].joints[1]: node 4 does not exist (4 nodes)"},
    {"SkinJointTwice", [](auto& f) { f.json["skins"][0]["joints"][1] = 1; },
     "skins[0].joints[1]: node 1 is listed twice"},
    {"SkinRootOutOfRange", [](auto& f) { f.json["skins"][0]["skeleton"] = 4; },
     "skins[0].skeleton: node 4 does not exist"},
    {"TooFewBinds",
     [](auto& f) {
       f.json["skins"][0]["joints"] = {0, 1, 3};
     },
     "skin 'arm': 2 inverse bind matrices for 3 joints"},
    {"BindsOfWrongType", [](auto& f) { f.json["skins"][0]["inverseBindMatrices"] = Arm::kPositions; },
     "skins[0].inverseBindMatrices: inverse bind matrices must be MAT4 of floats"},
    {"BindsOutOfRange", [](auto& f) { f.json["skins"][0]["inverseBindMatrices"] = 99; },
     "skins[0].inverseBindMatrices: accessor 99 does not exist (13 accessors)"},
    {"BindNotFinite", [](auto& f) { f.template poke<float>(Arm::kBinds, 17, NAN); },
     "skin 'arm': inverse bind matrix 1 is not finite"},
    {"BindNotAffine", [](auto& f) { f.template poke<float>(Arm::kBinds, 16 + 3, 0.5f); },
     "skin 'arm': the last row of inverse bind matrix 1 is not 0 0 0 1"},
    // Meshes.
    {"NoPrimitives", [](auto& f) { f.json["meshes"][0].erase("primitives"); },
     "meshes[0]: 'primitives' is missing"},
    {"NoAttributes", [](auto& f) { primitive(f).erase("attributes"); },
     "meshes[0].primitives[0]: 'attributes' is missing"},
    {"ModeUnknown", [](auto& f) { primitive(f)["mode"] = 7; }, "primitives[0].mode: 7 is no primitive mode"},
    {"PositionOutOfRange", [](auto& f) { attributes(f)["POSITION"] = 13; },
     "meshes[0].primitives[0].attributes.POSITION: accessor 13 does not exist (13 accessors)"},
    {"PositionNotANumber", [](auto& f) { attributes(f)["POSITION"] = "0"; },
     "attributes.POSITION: expected a non-negative integer"},
    {"PositionOfWrongType", [](auto& f) { attributes(f)["POSITION"] = Arm::kWeights; },
     "attributes.POSITION: expected an accessor of type VEC3"},
    {"PositionOfIntegers", [](auto& f) { accessor(f, Arm::kPositions)["componentType"] = 5122; },
     "attributes.POSITION: integers need KHR_mesh_quantization"},
    {"PositionOfWideIntegers", [](auto& f) { accessor(f, Arm::kPositions)["componentType"] = 5125; },
     "attributes.POSITION: 32-bit integers"},
    {"PositionNotFinite", [](auto& f) { f.template poke<float>(Arm::kPositions, 7, INFINITY); },
     "a.glb: mesh 'body', primitive 0: position 2 is not finite"},
    {"PositionCompressed",
     [](auto& f) {
       accessor(f, Arm::kPositions).erase("bufferView");
       primitive(f)["extensions"]["KHR_draco_mesh_compression"] = Json::object();
     },
     "compressed by KHR_draco_mesh_compression; export without it"},
    {"NormalCount", [](auto& f) { accessor(f, Arm::kNormals)["count"] = 3; },
     "attributes.NORMAL: accessor 1 has 3 elements for 4 vertices"},
    {"TexcoordType", [](auto& f) { attributes(f)["TEXCOORD_0"] = Arm::kNormals; },
     "attributes.TEXCOORD_0: expected an accessor of type VEC2"},
    {"CustomCount", [](auto& f) { accessor(f, Arm::kSigma)["count"] = 2; },
     "attributes._SIGMA: accessor 3 has 2 elements for 4 vertices"},
    {"CustomNotFinite", [](auto& f) { f.template poke<float>(Arm::kSigma, 2, NAN); },
     "primitive 0: attribute '_SIGMA' of vertex 2 is not finite"},
    {"CustomWidthsDiffer",
     [](auto& f) {
       Json second = primitive(f);
       second["attributes"]["_SIGMA"] = Arm::kTexcoords;
       f.json["meshes"][0]["primitives"].push_back(second);
     },
     "primitives[1].attributes._SIGMA: 2 numbers per vertex, but another primitive has 1"},
    {"IndexOutOfRange", [](auto& f) { f.template poke<std::uint16_t>(Arm::kIndices, 4, 4); },
     "mesh 'body', primitive 0: index 4 names vertex 4, but there are 4"},
    {"IndexRestart", [](auto& f) { f.template poke<std::uint16_t>(Arm::kIndices, 4, 0xFFFF); },
     "primitive 0: index 4 is the restart value 65535"},
    {"IndicesSigned", [](auto& f) { accessor(f, Arm::kIndices)["componentType"] = 5122; },
     "primitives[0].indices: indices must be SCALAR of unsigned integers"},
    {"IndicesOutOfRange", [](auto& f) { primitive(f)["indices"] = 13; },
     "primitives[0].indices: accessor 13"},
    // Morph targets.
    {"MorphCount", [](auto& f) { accessor(f, Arm::kSmile)["count"] = 3; },
     "targets[0].POSITION: accessor 7 has 3 elements for 4 vertices"},
    {"MorphNotFinite", [](auto& f) { f.template poke<float>(Arm::kSmile, 3, NAN); },
     "primitive 0, morph target 0: displacement 1 is not finite"},
    {"MorphWeightCount",
     [](auto& f) {
       f.json["meshes"][0]["weights"] = {0, 1};
     },
     "meshes[0].weights: 2 weights for 1 morph targets"},
    {"MorphWeightCountOfNode", [](auto& f) { f.json["nodes"][2]["weights"] = Json::array(); },
     "nodes[2].weights: 0 weights for 1 morph targets"},
    {"MorphTargetsDiffer",
     [](auto& f) {
       Json second = primitive(f);
       second.erase("targets");
       f.json["meshes"][0]["primitives"].push_back(second);
     },
     "mesh 'body', primitive 1: 0 morph targets, but primitive 0 has 1"},
    {"TargetsNotAList", [](auto& f) { primitive(f)["targets"] = 1; },
     "primitives[0].targets: expected an array"},
    // Weights.
    {"JointsWithoutWeights", [](auto& f) { attributes(f).erase("WEIGHTS_0"); },
     "attributes.JOINTS_0: 'WEIGHTS_0' is missing"},
    {"WeightsWithoutJoints", [](auto& f) { attributes(f).erase("JOINTS_0"); },
     "attributes.WEIGHTS_0: 'JOINTS_0' is missing"},
    {"JointsOfFloats", [](auto& f) { attributes(f)["JOINTS_0"] = Arm::kWeights; },
     "attributes.JOINTS_0: joint numbers must be VEC4 of unsigned bytes or shorts"},
    {"WeightsNotNormalized", [](auto& f) { attributes(f)["WEIGHTS_0"] = Arm::kJoints; },
     "attributes.WEIGHTS_0: weights must be VEC4 of floats or of normalized"},
    {"WeightCount", [](auto& f) { accessor(f, Arm::kWeights)["count"] = 3; },
     "attributes.WEIGHTS_0: accessor 5 has 3 elements for 4 vertices"},
    {"WeightNotFinite", [](auto& f) { f.template poke<float>(Arm::kWeights, 13, NAN); },
     "mesh 'body', primitive 0: weight of vertex 3 is not finite"},
    {"WeightTooLarge", [](auto& f) { f.template poke<float>(Arm::kWeights, 4, 3e38f); },
     "primitive 0: vertex 1 has the weight 3e+38"},
    {"JointOutOfSkin", [](auto& f) { f.template poke<std::uint8_t>(Arm::kJoints, 8, 2); },
     "mesh 'body', primitive 0: vertex 2 is bound to joint 2, but skin 0 has 2 joints"},
    // Animations.
    {"SamplerOutOfRange", [](auto& f) { animation(f)["channels"][1]["sampler"] = 9; },
     "a.glb: animation 'bend', channel 1: sampler 9 does not exist (3 samplers)"},
    {"TargetMissing", [](auto& f) { animation(f)["channels"][1].erase("target"); },
     "animations[0].channels[1]: 'target' is missing"},
    {"TargetNodeOutOfRange", [](auto& f) { animation(f)["channels"][1]["target"]["node"] = 4; },
     "animations[0].channels[1].target.node: node 4 does not exist (4 nodes)"},
    {"PathMissing", [](auto& f) { animation(f)["channels"][1]["target"].erase("path"); },
     "animations[0].channels[1].target: 'path' is missing"},
    {"InputMissing", [](auto& f) { animation(f)["samplers"][0].erase("input"); },
     "animations[0].samplers[0]: 'input' is missing"},
    {"OutputOutOfRange", [](auto& f) { animation(f)["samplers"][0]["output"] = 44; },
     "animations[0].samplers[0].output: accessor 44 does not exist"},
    {"InterpolationUnknown", [](auto& f) { animation(f)["samplers"][0]["interpolation"] = "BEZIER"; },
     "animations[0].samplers[0].interpolation: 'BEZIER' is not LINEAR, STEP or CUBICSPLINE"},
    {"TimesOfWrongType", [](auto& f) { animation(f)["samplers"][0]["input"] = Arm::kPositions; },
     "animations[0].samplers[0].input: times must be SCALAR of floats"},
    {"TimesEqual", [](auto& f) { f.template poke<float>(Arm::kTimes, 1, 0.0f); },
     "animation 'bend', channel 0: times do not increase at key 1 (0 after 0)"},
    {"TimesFalling", [](auto& f) { f.template poke<float>(Arm::kTimes, 1, -1.0f); },
     "times do not increase at key 1"},
    {"TimeNotFinite", [](auto& f) { f.template poke<float>(Arm::kTimes, 1, INFINITY); },
     "animation 'bend', channel 0: time 1 is not finite"},
    {"ValueNotFinite", [](auto& f) { f.template poke<float>(Arm::kTranslations, 4, NAN); },
     "animation 'bend', channel 1: value 1 is not finite"},
    {"ValueCount", [](auto& f) { accessor(f, Arm::kTranslations)["count"] = 1; },
     "animation 'bend', channel 1: 1 values for 2 keys, expected 2"},
    {"SplineValueCount", [](auto& f) { animation(f)["samplers"][1]["interpolation"] = "CUBICSPLINE"; },
     "channel 1: 2 values for 2 keys, expected 6"},
    {"MorphValueCount", [](auto& f) { accessor(f, Arm::kMorphs)["count"] = 1; },
     "channel 2: 1 values for 2 keys, expected 2"},
    {"RotationOfWidth3", [](auto& f) { animation(f)["samplers"][0]["output"] = Arm::kTranslations; },
     "animations[0].samplers[0].output: rotations must be VEC4"},
    {"TranslationOfWidth4", [](auto& f) { animation(f)["samplers"][1]["output"] = Arm::kRotations; },
     "translations and scales must be VEC3"},
    {"MorphsOfWidth3", [](auto& f) { animation(f)["samplers"][2]["output"] = Arm::kTranslations; },
     "morph weights must be SCALAR"},
    {"RotationZeroKey", [](auto& f) { f.template poke<float>(Arm::kRotations, 6, 0.0f); },
     "channel 0: the rotation of key 1 has no length"},
    {"TranslationOfIntegers",
     [](auto& f) {
       animation(f)["samplers"][1]["output"] = f.template add<std::uint8_t>({1, 2, 3, 4, 5, 6}, "VEC3", true);
     },
     "animations[0].samplers[1].output: expected floats"},
    {"RotationNotNormalized",
     [](auto& f) {
       animation(f)["samplers"][0]["output"] =
           f.template add<std::uint8_t>(std::vector<std::uint8_t>(8, 1), "VEC4");
     },
     "expected floats or normalized integers"},
};

class GltfBroken : public ::testing::TestWithParam<Broken> {};

TEST_P(GltfBroken, IsRefusedByName) {
  GltfFile file = arm_file();
  GetParam().change(file);
  try {
    parse_gltf(file.glb(), "a.glb");
    FAIL() << "was read, expected: " << GetParam().expected;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("a.glb: ", 0), 0u) << message;
    EXPECT_NE(message.find(GetParam().expected), std::string::npos)
        << message << "\nexpected: " << GetParam().expected;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GltfBroken, ::testing::ValuesIn(kBroken),
                         [](const auto& file) { return std::string(file.param.name); });

}  // namespace
}  // namespace sinew
