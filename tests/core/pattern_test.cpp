#include <sinew/core/pattern.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace sinew {
namespace {

/// What the patterns mean, said without cleverness. ASCII only.
bool plain_match(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return plain_match(text, pattern.substr(1)) || (!text.empty() && plain_match(text.substr(1), pattern));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         plain_match(text.substr(1), pattern.substr(1));
}

TEST(Pattern, Examples) {
  EXPECT_TRUE(matches_pattern("hand.L", "hand.L"));
  EXPECT_FALSE(matches_pattern("hand.L", "hand.l"));
  EXPECT_FALSE(matches_pattern("hand.L", "hand"));
  EXPECT_FALSE(matches_pattern("hand.L", "and.L"));
  EXPECT_TRUE(matches_pattern("hand.L", "*"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("", ""));
  EXPECT_FALSE(matches_pattern("", "?"));
  EXPECT_FALSE(matches_pattern("a", ""));
  EXPECT_TRUE(matches_pattern("finger.03.L", "finger.??.*"));
  EXPECT_TRUE(matches_pattern("mixamorig:LeftHandThumb1", "*Hand*1"));
  EXPECT_FALSE(matches_pattern("mixamorig:LeftHandThumb2", "*Hand*1"));
  EXPECT_TRUE(matches_pattern("a[1]", "a[1]"));
  EXPECT_FALSE(matches_pattern("a1", "a[1]"));
}

TEST(Pattern, OneCharacterMayHaveSeveralBytes) {
  EXPECT_TRUE(matches_pattern("bräs", "br?s"));
  EXPECT_FALSE(matches_pattern("bräs", "br??s"));
  EXPECT_TRUE(matches_pattern("手.L", "?.L"));
  EXPECT_TRUE(matches_pattern("手", "*?"));
}

TEST(Pattern, AgreesWithItsDefinition) {
  EXPECT_TRUE(rc::check("as the plain definition says", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab")));
    const auto pattern =
        *rc::gen::resize(8, rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab*?"))));
    RC_ASSERT(matches_pattern(text.substr(0, 12), pattern) == plain_match(text.substr(0, 12), pattern));
  }));
}

TEST(Pattern, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(matches_pattern(std::string(5000, 'a'), pattern + "b"));
}

TEST(Pattern, AnyOfSeveral) {
  const std::vector<std::string> patterns{"DEF-*", "root"};
  EXPECT_TRUE(matches_any("DEF-spine", patterns));
  EXPECT_TRUE(matches_any("root", patterns));
  EXPECT_FALSE(matches_any("spine", patterns));
  EXPECT_FALSE(matches_any("spine", {}));
}

}  // namespace
}  // namespace sinew
