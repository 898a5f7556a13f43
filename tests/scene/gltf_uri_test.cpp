#include <sinew/scene/gltf_uri.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sinew/core/error.h>
#include <tests/support/gltf_builder.h>

namespace sinew {
namespace {

std::string refusal(std::string_view uri, const std::filesystem::path& directory = "/models") {
  try {
    resolve_uri(uri, directory, "a.gltf: buffers[0].uri");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(GltfUri, DecodesBase64) {
  // RFC 4648, section 10.
  const std::pair<const char*, const char*> known[] = {
      {"", ""},          {"Zg==", "f"},        {"Zm8=", "fo"},
      {"Zm9v", "foo"},   {"Zm9vYg==", "foob"}, {"Zm9vYmE=", "fooba"},
      {"Zm9vYg", "foob"}};
  for (const auto& [coded, plain] : known)
    EXPECT_EQ(text(decode_data_uri(std::string("data:a/b;base64,") + coded, "x")), plain);
}

TEST(GltfUri, DecodesAllBytes) {
  EXPECT_TRUE(rc::check("base64 round trip", [](const std::vector<std::uint8_t>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const auto back = decode_data_uri("data:;base64," + test::base64(bytes), "x");
    RC_ASSERT(std::equal(back.begin(), back.end(), bytes.begin(), bytes.end()));
  }));
}

TEST(GltfUri, RefusesBrokenDataUris) {
  EXPECT_THROW(decode_data_uri("data:a/b;base64", "x"), Error);
  EXPECT_THROW(decode_data_uri("data:a/b,plain", "x"), Error);
  EXPECT_THROW(decode_data_uri("data:,", "x"), Error);
  EXPECT_THROW(decode_data_uri("data:;base64,Zm9v\nYg==", "x"), Error);
  EXPECT_THROW(decode_data_uri("data:;base64,Zm9vY", "x"), Error);
  EXPECT_THROW(decode_data_uri("data:;base64,Z===", "x"), Error);
}

TEST(GltfUri, ResolvesRelativePaths) {
  EXPECT_EQ(resolve_uri("a.bin", "/models", "x"), "/models/a.bin");
  EXPECT_EQ(resolve_uri("./parts/a%20b.bin", "/models", "x"), "/models/parts/a b.bin");
  EXPECT_EQ(resolve_uri("%C3%A9t%c3%a9.bin", "/models", "x"), "/models/\xC3\xA9t\xC3\xA9.bin");
  EXPECT_EQ(resolve_uri("parts/../a.bin", "/models", "x"), "/models/a.bin");
  EXPECT_EQ(resolve_uri("100%.bin", "/models", "x"), "/models/100%.bin");
  EXPECT_EQ(resolve_uri("..a.bin", "/models", "x"), "/models/..a.bin");
}

TEST(GltfUri, RefusesWhatIsNotBelowTheDirectory) {
  EXPECT_NE(refusal("/etc/passwd").find("absolute"), std::string::npos);
  EXPECT_NE(refusal("%2Fetc/passwd").find("absolute"), std::string::npos);
  EXPECT_NE(refusal("../secret.bin").find("outside"), std::string::npos);
  EXPECT_NE(refusal("a/../../secret.bin").find("outside"), std::string::npos);
  EXPECT_NE(refusal("%2e%2e/secret.bin").find("outside"), std::string::npos);
  EXPECT_NE(refusal("http://example.org/a.bin").find("only relative"), std::string::npos);
  EXPECT_NE(refusal("file:///etc/passwd").find("only relative"), std::string::npos);
  EXPECT_NE(refusal("C:/a.bin").find("only relative"), std::string::npos);
  EXPECT_NE(refusal("C%3A/a.bin").find("absolute"), std::string::npos);
  EXPECT_NE(refusal("a%00.bin").find("not a file name"), std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("a.bin", "").find("embed"), std::string::npos);
}

}  // namespace
}  // namespace sinew
