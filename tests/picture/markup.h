#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sinew::test {

/// Expects every element to be closed in order (those that HTML leaves open excepted), attributes to be
/// quoted, and every & to start an entity.
inline void expect_well_formed(std::string_view markup) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < markup.size(); ++at) {
    if (markup[at] == '&') {
      const std::size_t end = markup.find(';', at);
      ASSERT_TRUE(end != std::string_view::npos && end - at <= 8) << markup.substr(at, 40);
    }
    if (markup[at] == '>') FAIL() << "a > that closes nothing: " << markup.substr(at, 40);
    if (markup[at] != '<') continue;
    std::size_t end = at;
    bool quoted = false;
    for (; end < markup.size() && (quoted || markup[end] != '>'); ++end) {
      quoted ^= markup[end] == '"';
      ASSERT_FALSE(end > at && markup[end] == '<') << markup.substr(at, 60);
    }
    ASSERT_LT(end, markup.size()) << "a tag without an end: " << markup.substr(at, 60);
    const std::string_view tag = markup.substr(at + 1, end - at - 1);
    const std::string name(tag.substr(0, tag.find_first_of(" /", 1)));
    at = end;
    if (tag.starts_with("!")) continue;
    if (tag.starts_with("/")) {
      ASSERT_FALSE(open.empty()) << tag;
      ASSERT_EQ("/" + open.back(), name);
      open.pop_back();
    } else if (!tag.ends_with("/") && name != "meta" && name != "img") {
      open.push_back(name);
      if (name == "style") at = markup.find("</style>", at) - 1;
    }
  }
  EXPECT_TRUE(open.empty()) << (open.empty() ? "" : open.back());
}

}  // namespace sinew::test
