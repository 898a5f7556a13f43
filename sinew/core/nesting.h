#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sinew {

/// Deeper than any honest file; shallow enough for recursive walks over the parsed tree.
inline constexpr std::size_t kMaxJsonDepth = 128;

/// Most members one JSON object may have. An ordered JSON object looks its keys up one by one, so a hostile
/// object of a million keys would take minutes to parse.
inline constexpr std::size_t kMaxJsonMembers = 10'000;

/// Call it before a JSON library sees bytes from outside. Throws Error, prefixed with `name` (what errors
/// call the file), when arrays and objects nest deeper than `max_depth` or an object has more than
/// kMaxJsonMembers members. Brackets inside strings do not count. Text that is not JSON may pass: the parser
/// finds out.
void check_json_nesting(std::string_view json, const std::string& name,
                        std::size_t max_depth = kMaxJsonDepth);

}  // namespace sinew
