#include <sinew/core/error.h>

#include <gtest/gtest.h>

namespace sinew {
namespace {

TEST(Error, IsOneLine) {
  EXPECT_STREQ(Error("a\nb\r\tc \xc3\xa9").what(), "a b  c \xc3\xa9");
}

}  // namespace
}  // namespace sinew
