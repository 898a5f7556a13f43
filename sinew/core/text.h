#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sinew {

// Names and files are bytes of any encoding: the classes of <cctype> depend on the locale, these do not.

constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The small letter of an ASCII capital; every other byte is itself, so that UTF-8 stays whole.
constexpr char lower_case(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr char upper_case(char c) {
  return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Each of its bytes in lower case.
std::string lower_case(std::string text);

/// How many bytes to add, leave out or change, or neighbours to swap, to get from one text to the other
/// (optimal string alignment). Stops early where it is more than `most`, and returns most + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

}  // namespace sinew
