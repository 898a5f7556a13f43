#include <sinew/core/nesting.h>

#include <string>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

std::string message(const std::string& json, std::size_t limit = kMaxJsonDepth) {
  try {
    check_json_nesting(json, "deep.json", limit);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Nesting, CountsArraysAndObjects) {
  EXPECT_EQ(message(nested(4), 4), "");
  EXPECT_EQ(message(nested(5), 4), "deep.json: JSON nested 5 levels deep, at most 4 are read");
  EXPECT_EQ(message(R"({"a": [{"b": []}]})", 4), "");
  EXPECT_NE(message(R"({"a": [{"b": []}]})", 3), "");
}

TEST(Nesting, CountsDepthNotBrackets) {
  EXPECT_EQ(message("[[],[],[],[[],[]]]", 3), "");
  EXPECT_NE(message("[[],[],[],[[],[[]]]]", 3), "");
}

TEST(Nesting, IgnoresBracketsInStrings) {
  EXPECT_EQ(message(R"(["[[[[{{{{", "\"[[[[", "\\", "\\\"[["])", 1), "");
  // The string ends before the brackets: its last backslash is itself escaped.
  EXPECT_NE(message(R"(["\\", [[[]]]])", 3), "");
}

TEST(Nesting, SurvivesTextThatIsNotJson) {
  for (const char* text : {"", "\"", "\"\\", "\"abc", "]]]]", "}{", ":::", "\"\\\"", "["})
    EXPECT_EQ(message(text), "");
}

TEST(Nesting, NamesTheDepthOfHostileFiles) {
  EXPECT_NE(message(nested(1'000'000)).find("1000000 levels deep"), std::string::npos);
}

TEST(Nesting, RefusesObjectsOfTooManyMembers) {
  std::string many = "{";
  for (std::size_t i = 0; i < kMaxJsonMembers; ++i) many += "\"k\":1,";
  EXPECT_EQ(message(many), "");
  EXPECT_NE(message(many + "\"k\":1").find("more than 10000 members"), std::string::npos);
  // Two objects of that size, one after the other, are fine.
  EXPECT_EQ(message("[" + many + "}," + many + "}]"), "");
}

}  // namespace
}  // namespace sinew
