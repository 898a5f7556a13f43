#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sinew {

/// Deeper than any honest file; shallow enough for the recursive walks of the importer.
inline constexpr std::size_t kMaxFbxDepth = 64;
inline constexpr std::size_t kMaxXmlDepth = 256;

/// Looks a file over before the import library, which trusts what it reads, gets to see it. Each throws
/// Error, prefixed with `name`, unless the outer structure holds: everything that opens closes, nesting stays
/// within the limits, and no announced length passes what the file could hold.
void check_binary_fbx(std::span<const std::byte> bytes, const std::string& name);
void check_ascii_fbx(std::string_view text, const std::string& name);
void check_collada(std::string_view text, const std::string& name);

/// Picks the check by the first bytes.
void check_fbx(std::span<const std::byte> bytes, const std::string& name);

/// What a Collada file's <asset> says about its space.
struct ColladaSpace {
  double metres_per_unit = 1;
  char up_axis = 'y';
};

/// Reads the <asset> element of a file that passed check_collada and blanks it in `text`: the import library
/// would put unit and axis into the root's transform, where they cannot be told from the file's own.
ColladaSpace take_collada_space(std::string& text, const std::string& name);

}  // namespace sinew
