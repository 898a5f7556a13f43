#include <sinew/core/nesting.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

void check_json_nesting(std::string_view json, const std::string& name, std::size_t max_depth) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  std::vector<std::size_t> members(max_depth + 1, 0);  // per open level; colons stand for members
  const char* at = json.data();
  const char* const end = at + json.size();
  for (; at != end; ++at) {
    switch (*at) {
      case '"':
        // To the closing quote; a backslash hides the character behind it.
        for (++at; at != end && *at != '"'; ++at) {
          if (*at == '\\' && ++at == end) break;
        }
        if (at == end) --at;  // an unfinished string: the loop's own step ends it
        break;
      case '[':
      case '{':
        ++depth;
        deepest = std::max(deepest, depth);
        if (depth <= max_depth) members[depth] = 0;
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      case ':':
        if (depth <= max_depth && ++members[depth] > kMaxJsonMembers)
          throw Error(fmt::format("{}: byte {}: a JSON object with more than {} members", name,
                                  at - json.data(), kMaxJsonMembers));
        break;
      default:
        break;
    }
  }
  if (deepest > max_depth)
    throw Error(fmt::format("{}: JSON nested {} levels deep, at most {} are read", name, deepest, max_depth));
}

}  // namespace sinew
