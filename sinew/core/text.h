#pragma once

#include <string>

namespace sinew {

/// The small letter of an ASCII capital; every other byte is itself, so that UTF-8 stays whole.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Each of its bytes in lower case.
std::string lower_case(std::string text);

}  // namespace sinew
