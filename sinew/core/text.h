#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sinew {

/// The small letter of an ASCII capital; every other byte is itself, so that UTF-8 stays whole.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Each of its bytes in lower case.
std::string lower_case(std::string text);

/// How many bytes to add, leave out or change, or neighbours to swap, to get from one text to the other
/// (optimal string alignment). Stops early where it is more than `most`, and returns most + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

}  // namespace sinew
