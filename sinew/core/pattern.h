#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sinew {

/// Whether the whole of `text` fits `pattern`: * stands for any characters, also none, ? for exactly one (of
/// UTF-8, whatever its length in bytes), everything else for itself. Case matters. Takes time of the order of
/// text times pattern at worst.
bool matches_pattern(std::string_view text, std::string_view pattern);

/// Whether `text` fits any of the patterns.
bool matches_any(std::string_view text, std::span<const std::string> patterns);

}  // namespace sinew
