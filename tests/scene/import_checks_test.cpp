#include <sinew/scene/import_checks.h>

#include <cstring>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/scene/assimp_import.h>
#include <tests/support/collada_file.h>
#include <tests/support/fbx_file.h>
#include <tests/support/rigged_tube.h>

namespace sinew {
namespace {

std::string error_of(const std::string& text, const std::string& extension) {
  try {
    parse_assimp(std::as_bytes(std::span(text)), "a." + extension, extension);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

template <class T>
std::string patched(std::string bytes, std::size_t place, T value) {
  std::memcpy(bytes.data() + place, &value, sizeof value);
  return bytes;
}

void expect_errors(const std::vector<std::pair<std::string, std::string>>& cases,
                   const std::string& extension) {
  for (const auto& [text, message] : cases) {
    const std::string error = error_of(text, extension);
    EXPECT_NE(error.find(message), std::string::npos) << "expected: " << message << "\ngot: " << error;
    EXPECT_EQ(error.find("a." + extension + ":"), 0u) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(ImportChecks, BrokenFbxText) {
  const std::string good = test::fbx_text(test::tube_fbx(test::make_rigged_tube(3, 2)));
  ASSERT_EQ(error_of(good, "fbx"), "no error");
  expect_errors(
      {{"", "not an FBX file"},
       {"hello", "not an FBX file"},
       {"; only a comment", "not an FBX file"},
       {good.substr(0, good.size() / 2), "'}' is missing"},
       {good + "}", "'}' without '{'"},
       {good + "\"", "'\"' is never closed"},
       {good + std::string(1, '\0'), "a zero byte in a text file"},
       {"A: " + repeated("{ B: ", 100) + repeated("}", 100), "line 1: braces nest more than 64 deep"},
       {"A: " + repeated("{ B: ", 200000), "braces nest more than 64 deep"},
       {replaced(good, "Vertices: *", "Vertices: *4000000"), "an array of 4000000"},
       {replaced(good, "Vertices: *", "Vertices: *99999999999999999999"), "an array of 99999999999999999999"},
       {replaced(good, "FBXVersion: 7400", "FBXVersion: 1234"), "version"}},
      "fbx");
}

TEST(ImportChecks, BrokenFbxBinary) {
  for (const std::uint32_t version : {7400u, 7500u}) {
    const std::string good = test::fbx_binary(test::tube_fbx(test::make_rigged_tube(3, 2)), version);
    ASSERT_EQ(error_of(good, "fbx"), "no error");
    const std::size_t word = version >= 7500 ? 8 : 4;
    test::FbxNode deep{"A", {}, {}};
    for (int i = 0; i < 100; ++i) deep = {"A", {}, {deep}};
    const test::FbxNode root{"", {}, {deep}};
    const test::FbxNode array{"", {}, {{"A", {std::vector<std::int32_t>{1, 2, 3}}, {}}}};
    const std::string array_file = test::fbx_binary(array, version);
    const std::size_t array_length = 27 + 3 * word + 1 + 1 + 1;  // header, record, name "A", type 'i'
    expect_errors(
        {{good.substr(0, 20), "too short for an FBX file"},
         {good.substr(0, good.size() / 2), "outside its parent"},
         {good.substr(0, 27), "the file holds nothing"},
         {patched(good, 23, std::uint32_t{123}), "FBX version 123 is unknown"},
         {patched(good, 27, std::uint32_t{0x7fffffff}),
          "a record ends at byte 2147483647, outside its parent"},
         {patched(good, 27, std::uint32_t{28}), "bytes are missing"},
         {patched(good, 27 + word, std::uint32_t{1000}), "missing"},
         {patched(good, 27 + 2 * word, std::uint32_t{1000000}), "a record's properties reach beyond it"},
         {test::fbx_binary(root, version), "records nest more than 64 deep"},
         {patched(array_file, array_length, std::uint32_t{4}), "an array of 4 items in 12 bytes"},
         {patched(array_file, array_length, std::uint32_t{0xffffffff}), "an array of 4294967295 items in 12"},
         {patched(array_file, array_length + 4, std::uint32_t{2}), "array encoding 2 is unknown"},
         {patched(patched(array_file, array_length + 4, std::uint32_t{1}), array_length, 50000000u),
          "an array of 50000000 items cannot come from 12 bytes"},
         {patched(array_file, array_length - 1, 'q'), "property type 113 is unknown"},
         {patched(array_file, array_length + 8, std::uint32_t{13}), "an array of 3 items in 13 bytes"}},
        "fbx");
  }
}

TEST(ImportChecks, BrokenCollada) {
  const std::string good = test::tube_collada(test::make_rigged_tube(3, 2));
  ASSERT_EQ(error_of(good, "dae"), "no error");
  expect_errors(
      {{"", "not a Collada file"},
       {"hello", "not a Collada file"},
       {"<html></html>", "not a Collada file"},
       {std::string("<COLLADA>\0</COLLADA>", 20), "not an XML file in UTF-8"},
       {good.substr(0, good.size() / 2), "is never closed"},
       {good.substr(0, good.size() - 5), "element 'COLL' has no '>'"},
       {replaced(good, "</COLLADA>", ""), "element 'COLLADA' is never closed"},
       {replaced(good, "</mesh>", "</mash>"), "'</mash>' closes 'mesh'"},
       {good + "<COLLADA></COLLADA>", "the file has a second root element"},
       {"<!DOCTYPE x [<!ENTITY a \"b\">]>" + good, "document type declarations are not read"},
       {"<COLLADA>" + repeated("<node>", 300) + repeated("</node>", 300) + "</COLLADA>",
        "elements nest more than 256 deep"},
       {"<COLLADA>" + repeated("<node>", 100000), "elements nest more than 256 deep"},
       {"<COLLADA><!-- </COLLADA>", "'-->' is missing"},
       {"<COLLADA>< /COLLADA>", "'<' without a name"},
       {replaced(good, "<polylist count=\"", "<polylist count=\"99999"),
        "element 'polylist' announces 99999"},
       {replaced(good, "<polylist count=\"", "<polylist count=\"-"), "element 'polylist' announces -"},
       {replaced(good, "meter=\"0.01\"", "meter=\"0\""), "a unit of '0' metres"},
       {replaced(good, "meter=\"0.01\"", "meter=\"nan\""), "a unit of 'nan' metres"},
       {replaced(good, "Y_UP", "W_UP"), "up axis 'W_UP' is not X_UP, Y_UP or Z_UP"},
       {replaced(good, "source=\"#joints\"", "source=\"#nothing\""), "nothing"},
       {replaced(good, "<p>0", "<p>77777"), ""}},
      "dae");
}

TEST(ImportChecks, ColladaSpaceIsTakenOutOfTheText) {
  std::string text =
      "<COLLADA>\n<asset>\n<unit name='x' meter = '0.5' />\n<up_axis> Z_UP </up_axis></asset><b/></COLLADA>";
  const std::size_t size = text.size();
  const ColladaSpace space = take_collada_space(text, "a.dae");
  EXPECT_EQ(space.metres_per_unit, 0.5);
  EXPECT_EQ(space.up_axis, 'z');
  EXPECT_EQ(text.size(), size);
  EXPECT_EQ(text.find("asset"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_TRUE(text.ends_with("<b/></COLLADA>"));
}

TEST(ImportChecks, CommentsAndDataMayHoldMarkup) {
  EXPECT_NO_THROW(
      check_collada("<?xml version='1.0'?><!-- <a> --><COLLADA a='>'><![CDATA[<b>]]></COLLADA>", "a.dae"));
  EXPECT_NO_THROW(check_ascii_fbx("; {{{\nA: \"}}\" { B: 1 }\n", "a.fbx"));
}

TEST(ImportChecks, LoopsInTheHierarchyDoNotHang) {
  // A node that is its own grandchild: an importer that walks it never comes back.
  test::FbxNode file = test::tube_fbx(test::make_rigged_tube(3, 2));
  file.child("Connections")
      .children.push_back({"C", {std::string("OO"), std::int64_t{201}, std::int64_t{202}}, {}});
  const std::string error = error_of(test::fbx_text(file), "fbx");
  EXPECT_EQ(error.find("a.fbx:"), 0u) << error;
}

}  // namespace
}  // namespace sinew
