#include <sinew/core/text.h>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace sinew {
namespace {

TEST(LowerCase, ChangesAsciiLettersAlone) {
  EXPECT_EQ(lower_case(""), "");
  EXPECT_EQ(lower_case("AZaz09[@`{ _-.GLB"), "azaz09[@`{ _-.glb");
  EXPECT_EQ(lower_case("ÄRM_L"), "Ärm_l") << "UTF-8 stays whole";
  EXPECT_EQ(lower_case('Q'), 'q');
}

TEST(EditDistance, CountsTheLeastEdits) {
  EXPECT_EQ(edit_distance("", "", 9), 0u);
  EXPECT_EQ(edit_distance("human", "human", 9), 0u);
  EXPECT_EQ(edit_distance("humn", "human", 9), 1u);
  EXPECT_EQ(edit_distance("huuman", "human", 9), 1u);
  EXPECT_EQ(edit_distance("hunan", "human", 9), 1u);
  EXPECT_EQ(edit_distance("huamn", "human", 9), 1u) << "neighbours swapped";
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3u);
  EXPECT_EQ(edit_distance("", "abc", 9), 3u);
  EXPECT_EQ(edit_distance("abc", "", 9), 3u);
}

TEST(EditDistance, IsSymmetricAndStopsAtTheMost) {
  const std::vector<std::string> words{"",     "a",    "ab",   "ba",    "abc",    "acb",   "cab",
                                       "hand", "hnad", "nahd", "human", "huamns", "hmuan", "nothing"};
  for (const std::string& a : words)
    for (const std::string& b : words) {
      const std::size_t whole = edit_distance(a, b, 100);
      EXPECT_EQ(whole, edit_distance(b, a, 100)) << a << " " << b;
      for (std::size_t most = 0; most < 8; ++most)
        EXPECT_EQ(edit_distance(a, b, most), std::min(whole, most + 1)) << a << " " << b << " " << most;
    }
}

}  // namespace
}  // namespace sinew
