#include <sinew/core/text.h>

#include <gtest/gtest.h>

namespace sinew {
namespace {

TEST(LowerCase, ChangesAsciiLettersAlone) {
  EXPECT_EQ(lower_case(""), "");
  EXPECT_EQ(lower_case("AZaz09[@`{ _-.GLB"), "azaz09[@`{ _-.glb");
  EXPECT_EQ(lower_case("ÄRM_L"), "Ärm_l") << "UTF-8 stays whole";
  EXPECT_EQ(lower_case('Q'), 'q');
}

}  // namespace
}  // namespace sinew
