#include <sinew/scene/gltf_accessors.h>

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <tests/support/gltf_builder.h>

namespace sinew {
namespace {

using test::GltfFile;

/// Decodes the last accessor of a file.
template <class T = float>
std::vector<T> decode(GltfFile file) {
  file.json["reference"] = file.json["accessors"].size() - 1;
  const GltfDocument document = parse_gltf_document(file.glb(), "a.glb", {});
  const std::string name = "a.glb";
  const GltfValue root(document.json, name);
  const GltfAccessors accessors(document, root);
  const GltfAccessor accessor = accessors.find(root.member("reference"));
  std::vector<T> values(accessor.values());
  accessors.decode(accessor, std::span(values));
  return values;
}

std::string message(const GltfFile& file) {
  try {
    decode(file);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

using Floats = std::vector<float>;

TEST(GltfAccessors, DecodesEveryComponentType) {
  GltfFile file;
  file.add<std::int8_t>({-128, -1, 127}, "VEC3");
  EXPECT_EQ(decode(file), (Floats{-128, -1, 127}));
  file.add<std::uint8_t>({0, 1, 255}, "VEC3");
  EXPECT_EQ(decode(file), (Floats{0, 1, 255}));
  file.add<std::int16_t>({-32768, -1, 32767}, "SCALAR");
  EXPECT_EQ(decode(file), (Floats{-32768, -1, 32767}));
  file.add<std::uint16_t>({0, 1, 65535, 7}, "VEC4");
  EXPECT_EQ(decode(file), (Floats{0, 1, 65535, 7}));
  file.add<std::uint32_t>({0, 16777216}, "VEC2");
  EXPECT_EQ(decode(file), (Floats{0, 16777216}));
  file.add<float>({0.5f, -1e30f}, "VEC2");
  EXPECT_EQ(decode(file), (Floats{0.5f, -1e30f}));
}

TEST(GltfAccessors, NormalisesIntegers) {
  // glTF 2.0, 3.11: f = c / 255, c / 65535, max(c / 127, -1), max(c / 32767, -1).
  GltfFile file;
  file.add<std::uint8_t>({0, 51, 255}, "SCALAR", true);
  EXPECT_EQ(decode(file), (Floats{0, 0.2f, 1}));
  file.add<std::int8_t>({-128, -127, 0, 127}, "SCALAR", true);
  EXPECT_EQ(decode(file), (Floats{-1, -1, 0, 1}));
  file.add<std::uint16_t>({0, 13107, 65535}, "SCALAR", true);
  EXPECT_EQ(decode(file), (Floats{0, 0.2f, 1}));
  file.add<std::int16_t>({-32768, -32767, 32767}, "SCALAR", true);
  EXPECT_EQ(decode(file), (Floats{-1, -1, 1}));
}

TEST(GltfAccessors, DecodesIndicesExactly) {
  GltfFile file;
  file.add<std::uint32_t>({0, 4294967295u, 16777217}, "SCALAR");
  EXPECT_EQ(decode<std::uint32_t>(file), (std::vector<std::uint32_t>{0, 4294967295u, 16777217}));
  file.add<std::uint8_t>({3, 255}, "SCALAR");
  EXPECT_EQ(decode<std::uint32_t>(file), (std::vector<std::uint32_t>{3, 255}));
}

TEST(GltfAccessors, FollowsStrideAndOffsets) {
  // Interleaved: 12 bytes of position, 4 bytes of colour, twice; the last element has no tail.
  const Floats interleaved = {1, 2, 3, 0, 4, 5, 6};
  GltfFile file;
  file.add_view(std::as_bytes(std::span(interleaved)).first(8));  // something before it in the buffer
  file.add_accessor(file.add_view(std::as_bytes(std::span(interleaved)), 16), 2, "VEC3", 5126);
  EXPECT_EQ(decode(file), (Floats{1, 2, 3, 4, 5, 6}));
  file.add_accessor(1, 2, "SCALAR", 5126, 8);
  EXPECT_EQ(decode(file), (Floats{3, 6}));
  file.add_accessor(1, 2, "SCALAR", 5126, 12);
  EXPECT_NE(message(file).find("do not fit the bufferView"), std::string::npos);
}

GltfFile sparse_file(bool with_base) {
  GltfFile file;
  if (with_base) {
    file.add<float>({1, 1, 2, 2, 3, 3, 4, 4}, "VEC2");
  } else {
    file.json["accessors"].push_back({{"componentType", 5126}, {"count", 4}, {"type", "VEC2"}});
  }
  const std::vector<std::uint16_t> indices = {1, 3};
  const Floats values = {10, 11, 12, 13};
  const int index_view = file.add_view(std::as_bytes(std::span(indices)));
  const int value_view = file.add_view(std::as_bytes(std::span(values)));
  file.json["accessors"][0]["sparse"] = {{"count", 2},
                                         {"indices", {{"bufferView", index_view}, {"componentType", 5123}}},
                                         {"values", {{"bufferView", value_view}}}};
  return file;
}

TEST(GltfAccessors, AppliesSparseElements) {
  EXPECT_EQ(decode(sparse_file(true)), (Floats{1, 1, 10, 11, 3, 3, 12, 13}));
  EXPECT_EQ(decode(sparse_file(false)), (Floats{0, 0, 10, 11, 0, 0, 12, 13}));
}

TEST(GltfAccessors, ReadsZerosWithoutData) {
  GltfFile file = sparse_file(false);
  file.json["accessors"][0].erase("sparse");
  EXPECT_EQ(decode(file), Floats(8, 0.0f));
}

TEST(GltfAccessors, RefusesBrokenSparseElements) {
  const auto broken = [](const std::function<void(nlohmann::ordered_json&)>& change, const char* expected) {
    GltfFile file = sparse_file(true);
    change(file.json["accessors"][0]["sparse"]);
    EXPECT_NE(message(file).find(expected), std::string::npos) << message(file) << "\nexpected " << expected;
  };
  broken([](auto& s) { s["count"] = 5; }, "accessors[0].sparse.count: 5 sparse elements in an accessor of 4");
  broken([](auto& s) { s["count"] = 3; }, "accessors[0].sparse.indices: 3 elements of 2 bytes");
  broken([](auto& s) { s["values"]["byteOffset"] = 1; }, "accessors[0].sparse.values: 2 elements of 8 bytes");
  broken([](auto& s) { s["values"]["byteOffset"] = 9007199254740992; }, "accessors[0].sparse.values");
  broken([](auto& s) { s["indices"]["componentType"] = 5126; }, "unsigned integers");
  broken([](auto& s) { s["indices"]["bufferView"] = 9; }, "bufferView 9 does not exist (3 bufferViews)");
  broken([](auto& s) { s.erase("values"); }, "accessors[0].sparse: 'values' is missing");
  GltfFile far = sparse_file(true);
  far.binary[32] = std::byte{4};
  EXPECT_NE(message(far).find("accessors[0].sparse.indices: index 0 is 4, but the accessor has 4"),
            std::string::npos);
  GltfFile twice = sparse_file(true);
  twice.binary[32] = std::byte{3};
  EXPECT_NE(message(twice).find("index 1 (3) is not larger"), std::string::npos) << message(twice);
}

TEST(GltfAccessors, RefusesBrokenAccessors) {
  const auto broken = [](const char* key, const nlohmann::ordered_json& value, const char* expected) {
    GltfFile file;
    file.add<float>({1, 2, 3, 4, 5, 6}, "VEC3");
    file.json["accessors"][0][key] = value;
    EXPECT_NE(message(file).find(expected), std::string::npos) << message(file) << "\nexpected " << expected;
  };
  broken("count", 3,
         "accessors[0]: 3 elements of 12 bytes at stride 12 from byte 0 do not fit the bufferView (24");
  broken("count", 0, "accessors[0].count: expected a positive integer");
  broken("count", -1, "accessors[0].count: expected a non-negative integer");
  broken("count", 1.5, "accessors[0].count: expected a non-negative integer");
  broken("count", "2", "accessors[0].count: expected a non-negative integer");
  broken("count", 9007199254740992, "do not fit");
  broken("count", 18446744073709551615u, "expected a non-negative integer");
  broken("byteOffset", 4, "do not fit");
  broken("byteOffset", 9007199254740992, "do not fit");
  broken("type", "VEC5", "accessors[0].type: 'VEC5' is no accessor type");
  broken("type", 3, "accessors[0].type: expected a string");
  broken("componentType", 5124, "accessors[0].componentType: 5124 is no component type");
  broken("bufferView", 1, "accessors[0].bufferView: bufferView 1 does not exist (1 bufferView)");
  broken("normalized", 1, "accessors[0].normalized: expected true or false");
  GltfFile file;
  file.add<float>({1, 2, 3, 4, 5, 6}, "VEC3");
  file.json["bufferViews"][0]["byteStride"] = 8;
  EXPECT_NE(message(file).find("elements of 12 bytes, but the bufferView's byteStride is 8"),
            std::string::npos);
  file.json["bufferViews"][0]["byteStride"] = 9007199254740992;
  EXPECT_NE(message(file).find("do not fit"), std::string::npos);
  file.json["bufferViews"][0]["byteStride"] = 0;
  EXPECT_EQ(message(file), "");
  file.json["accessors"][0]["count"] = 2.0;  // a whole number all the same
  EXPECT_EQ(message(file), "");
}

TEST(GltfAccessors, LimitsWhatAFileUnfoldsTo) {
  GltfFile file;
  file.add<float>({1}, "SCALAR");
  const GltfDocument document = parse_gltf_document(file.glb(), "a.glb", {});
  const std::string name = "a.glb";
  GltfAccessors accessors(document, GltfValue(document.json, name));
  accessors.charge(30'000'000);
  EXPECT_THROW(accessors.charge(30'000'000), Error);
  GltfFile zeros;
  zeros.json["accessors"] = {{{"componentType", 5126}, {"count", 4'000'000'000u}, {"type", "VEC3"}}};
  EXPECT_NE(message(zeros).find("4000000000 elements without data"), std::string::npos);
}

}  // namespace
}  // namespace sinew
