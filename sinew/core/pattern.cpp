#include <sinew/core/pattern.h>

#include <algorithm>

namespace sinew {

namespace {

/// Where the character that starts at `at` ends: behind its continuation bytes.
std::size_t next_character(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  return at;
}

}  // namespace

bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0;
  // On a mismatch the last * takes one character more. Earlier ones need not: what stands between two of them
  // has been found as early as possible.
  std::size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      t = next_character(text, t);
      ++p;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++t;
      ++p;
    } else if (star != std::string_view::npos) {
      star_text = next_character(text, star_text);
      t = star_text;
      p = star + 1;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_any(std::string_view text, std::span<const std::string> patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(text, pattern); });
}

}  // namespace sinew
