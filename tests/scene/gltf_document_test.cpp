#include <sinew/scene/gltf_document.h>

#include <filesystem>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <tests/support/gltf_builder.h>
#include <tests/support/temporary_directory.h>

namespace sinew {
namespace {

namespace fs = std::filesystem;
using test::arm_file;
using test::GltfFile;
using test::make_glb;
using test::to_bytes;
using test::triangle_file;

constexpr const char* kEmpty = R"({"asset": {"version": "2.0"}})";

std::string message(std::span<const std::byte> bytes) {
  try {
    parse_gltf_document(bytes, "a.glb", {});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string message(std::string_view text) {
  return message(to_bytes(text));
}

class GltfDocumentFiles : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, std::string_view content) {
    write_file(directory_ / name, content);
    return directory_ / name;
  }

  std::string message_of(const fs::path& path) {
    try {
      read_gltf_document(path);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::TemporaryDirectory directory_;
};

TEST(GltfDocument, ReadsBothContainersAlike) {
  const GltfFile file = arm_file();
  const GltfDocument glb = parse_gltf_document(file.glb(), "a.glb", {});
  const GltfDocument gltf = parse_gltf_document(to_bytes(file.gltf()), "a.gltf", {});
  ASSERT_EQ(glb.buffers.size(), 1u);
  EXPECT_EQ(glb.buffers, gltf.buffers);
  EXPECT_EQ(glb.buffers[0], file.binary);
  EXPECT_EQ(glb.json["nodes"], gltf.json["nodes"]);
}

TEST(GltfDocument, KeepsTheOrderAndNullsOfTheJson) {
  const std::string text = R"({"z":null,"asset":{"version":"2.0"},"extras":{"b":1,"a":[null]}})";
  EXPECT_EQ(parse_gltf_document(to_bytes(text), "a.gltf", {}).json.dump(), text);
}

TEST(GltfDocument, AcceptsWhatExportersDo) {
  EXPECT_EQ(message(std::string("\xEF\xBB\xBF") + kEmpty), "");
  EXPECT_EQ(message(std::string(" \r\n\t") + kEmpty), "");
  EXPECT_EQ(message(std::string(kEmpty) + "\n"), "");
  // JSON padded with zeros instead of spaces.
  auto zeros = make_glb(std::string(kEmpty) + "   ", {});
  zeros.back() = std::byte{0};
  EXPECT_EQ(message(zeros), "");
  // Bytes behind the length that the header states, and a chunk that nobody knows.
  auto longer = triangle_file().glb();
  longer.resize(longer.size() + 7);
  EXPECT_EQ(message(longer), "");
  auto unknown = triangle_file().glb();
  for (int byte : std::initializer_list<int>{4, 0, 0, 0, 'X', 'T', 'R', 'A', 1, 2, 3, 4})
    unknown.push_back(static_cast<std::byte>(byte));
  unknown[8] = static_cast<std::byte>(unknown.size() & 0xFF);
  unknown[9] = static_cast<std::byte>(unknown.size() >> 8);
  EXPECT_EQ(message(unknown), "");
}

TEST(GltfDocument, RefusesOtherFiles) {
  EXPECT_EQ(message(""), "a.glb: the file is empty");
  EXPECT_EQ(message("\x89PNG\r\n"),
            "a.glb: not a glTF file: it starts with '\\x89PNG', neither 'glTF' nor JSON");
  EXPECT_NE(message("   ").find("not a glTF file"), std::string::npos);
  EXPECT_NE(message("[1]").find("not a glTF file"), std::string::npos);
  EXPECT_NE(message("{}").find("no 'asset'"), std::string::npos);
  EXPECT_NE(message("glTF").find("cut short"), std::string::npos);
}

TEST(GltfDocument, RefusesOtherVersions) {
  auto glb = triangle_file().glb();
  glb[4] = std::byte{1};
  EXPECT_EQ(message(glb), "a.glb: glTF 1.0 is not supported; convert the file to glTF 2.0");
  glb[4] = std::byte{3};
  EXPECT_NE(message(glb).find("GLB version 3"), std::string::npos);
  EXPECT_NE(message(R"({"asset": {"version": "1.0"}})").find("glTF 1.0 is not supported; convert"),
            std::string::npos);
  EXPECT_NE(message(R"({"asset": {"version": "3.0"}})").find("glTF 3.0"), std::string::npos);
  EXPECT_NE(message(R"({"asset": {"version": 2}})").find("asset.version: expected a string"),
            std::string::npos);
  EXPECT_NE(message(R"({"asset": {"version": "two"}})").find("not a version"), std::string::npos);
  EXPECT_NE(message(R"({"asset": {}})").find("'version' is missing"), std::string::npos);
  EXPECT_NE(message(R"({"asset": {"version": "2.0", "minVersion": "2.1"}})").find("needs glTF 2.1"),
            std::string::npos);
  EXPECT_EQ(message(R"({"asset": {"version": "2.1", "minVersion": "2.0"}})"), "");
}

TEST(GltfDocument, RefusesEveryTruncation) {
  const auto whole = arm_file().glb();
  EXPECT_EQ(message(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(message(std::span(whole).first(size)), "") << "cut to " << size;
}

TEST(GltfDocument, RefusesLyingChunks) {
  const auto whole = triangle_file().glb();
  // A chunk longer than the file; a header length that ends within the binary chunk or a chunk's header.
  auto glb = whole;
  glb[14] = std::byte{0x7F};
  EXPECT_NE(message(glb).find("chunk 0"), std::string::npos);
  glb = whole;
  const std::size_t json_size =
      std::to_integer<std::size_t>(glb[12]) + 256 * std::to_integer<std::size_t>(glb[13]);
  glb[20 + json_size + 3] = std::byte{0xFF};
  EXPECT_NE(message(glb).find("chunk 1"), std::string::npos);
  glb = whole;
  const std::size_t short_length = 20 + json_size + 4;
  glb[8] = static_cast<std::byte>(short_length & 0xFF);
  glb[9] = static_cast<std::byte>(short_length >> 8);
  EXPECT_NE(message(glb).find("within the chunk's header"), std::string::npos);
  glb = whole;
  glb[16] = std::byte{'B'};
  EXPECT_NE(message(glb).find("chunk 0 is not JSON"), std::string::npos);
  glb = whole;
  glb[8] = std::byte{12};
  glb[9] = std::byte{0};
  EXPECT_NE(message(glb).find("no JSON chunk"), std::string::npos);
}

TEST(GltfDocument, RefusesBrokenJson) {
  EXPECT_NE(message(R"({"asset": {"version": "2.0"})").find("not valid JSON: parse error at line 1, column"),
            std::string::npos);
  EXPECT_NE(message("{\"asset\": {\"version\": \"2.0\", \"generator\": \"\xFF\"}}").find("not valid JSON"),
            std::string::npos);
  EXPECT_NE(message(kEmpty + std::string("\0{", 2)).find("not valid JSON: a zero at byte 29"),
            std::string::npos);
  EXPECT_NE(message(R"({"asset": 1e999})").find("not valid JSON"), std::string::npos);
  EXPECT_NE(message("{\"a\":" + std::string(20000, '[')).find("nested 20001 levels deep"), std::string::npos);
}

TEST(GltfDocument, KnowsWhichExtensionsItCanRequire) {
  const auto requiring = [](const std::string& extension) {
    return message(R"({"asset": {"version": "2.0"}, "extensionsRequired": [")" + extension + "\"]}");
  };
  for (const char* harmless :
       {"KHR_mesh_quantization", "KHR_texture_transform", "KHR_materials_unlit", "KHR_materials_clearcoat",
        "KHR_lights_punctual", "KHR_texture_basisu", "EXT_texture_webp", "KHR_xmp_json_ld"})
    EXPECT_EQ(requiring(harmless), "") << harmless;
  for (const char* harmful :
       {"KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_animation_pointer",
        "EXT_mesh_gpu_instancing", "KHR_mesh_quantization2", "khr_materials_unlit"})
    EXPECT_EQ(requiring(harmful), std::string("a.glb: the file requires the extension ") + harmful +
                                      ", which is not supported; export without it");
  EXPECT_EQ(message(R"({"asset": {"version": "2.0"}, "extensionsUsed": ["KHR_draco_mesh_compression"]})"),
            "");
}

TEST(GltfDocument, ChecksBuffers) {
  GltfFile file = triangle_file();
  file.json["buffers"] = {{{"byteLength", file.binary.size() + 4}}};
  EXPECT_NE(message(file.glb()).find("buffers[0]: byteLength is 46, but the data has 44 bytes"),
            std::string::npos);
  file.json["buffers"] = {{{"byteLength", -1}}};
  EXPECT_NE(message(file.glb()).find("buffers[0].byteLength: expected a non-negative integer"),
            std::string::npos);
  file.json["buffers"] = {{{"byteLength", 4}}, {{"byteLength", 4}}};
  EXPECT_NE(message(file.glb()).find("buffers[1]: no uri"), std::string::npos);
  file.json["buffers"] = {{{"byteLength", 4}, {"uri", "data:;base64,AAA"}}};
  EXPECT_NE(message(file.glb()).find("buffers[0]: byteLength is 4, but the data has 2 bytes"),
            std::string::npos);
  EXPECT_NE(message(triangle_file().gltf_with_buffer("a.bin")).find("embed"), std::string::npos);
  EXPECT_NE(message(R"({"asset": {"version": "2.0"}, "images": [{"uri": "a.png"}]})").find("images[0].uri"),
            std::string::npos);
}

TEST(GltfDocument, ChecksUnusedBufferViews) {
  const auto with_view = [](const char* view) {
    GltfFile file = triangle_file();
    file.json["bufferViews"].push_back(nlohmann::ordered_json::parse(view));
    return message(file.glb());
  };
  EXPECT_EQ(with_view(R"({"buffer": 0, "byteLength": 42})"), "");
  EXPECT_EQ(with_view(R"({"buffer": 0, "byteLength": 0, "byteOffset": 42})").find("lie outside"),
            std::string::npos);
  EXPECT_NE(with_view(R"({"buffer": 0, "byteLength": 1, "byteOffset": 42})").find("lie outside"),
            std::string::npos);
  EXPECT_NE(
      with_view(R"({"buffer": 0, "byteLength": 9007199254740992, "byteOffset": 2})").find("lie outside"),
      std::string::npos);
  EXPECT_NE(with_view(R"({"buffer": 1, "byteLength": 1})").find("buffer 1 does not exist (1 buffer)"),
            std::string::npos);
  EXPECT_NE(with_view(R"({"byteLength": 1})").find("'buffer' is missing"), std::string::npos);
  EXPECT_NE(with_view("3").find("expected an object"), std::string::npos);
}

TEST_F(GltfDocumentFiles, ReadsExternalBuffers) {
  const GltfFile file = triangle_file();
  const std::string binary(reinterpret_cast<const char*>(file.binary.data()), file.binary.size());
  write("\xC3\xA9t\xC3\xA9 1.bin", binary + "padding");
  const GltfDocument document =
      read_gltf_document(write("caf\xC3\xA9.gltf", file.gltf_with_buffer("%C3%A9t%C3%A9%201.bin")));
  EXPECT_EQ(document.buffers[0], file.binary);
  EXPECT_EQ(document.directory, directory_.path());
}

TEST_F(GltfDocumentFiles, ReadsGlb) {
  const GltfFile file = arm_file();
  const auto bytes = file.glb();
  const fs::path path = write("arm.glb", as_text(bytes));
  EXPECT_EQ(read_gltf_document(path).buffers[0], file.binary);
}

TEST_F(GltfDocumentFiles, NamesMissingAndForbiddenFiles) {
  EXPECT_NE(message_of(directory_ / "none.glb").find("none.glb: no such file"), std::string::npos);
  const GltfFile file = triangle_file();
  EXPECT_NE(message_of(write("a.gltf", file.gltf_with_buffer("none.bin"))).find("none.bin: no such file"),
            std::string::npos);
  EXPECT_NE(message_of(write("a.gltf", file.gltf_with_buffer("/etc/passwd"))).find("absolute"),
            std::string::npos);
  EXPECT_NE(message_of(write("a.gltf", file.gltf_with_buffer("../a.gltf"))).find("outside"),
            std::string::npos);
  EXPECT_NE(message_of(write("a.gltf", file.gltf_with_buffer("."))).find("directory"), std::string::npos);
  write("short.bin", "abc");
  EXPECT_NE(message_of(write("a.gltf", file.gltf_with_buffer("short.bin"))).find("the data has 3 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace sinew
