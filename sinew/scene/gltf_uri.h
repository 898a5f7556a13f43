#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sinew {

/// Does the URI hold its data itself ("data:application/octet-stream;base64,...")?
bool is_data_uri(std::string_view uri);

/// The bytes of a base64 data URI. Throws Error, prefixed with `where`.
std::vector<std::byte> decode_data_uri(std::string_view uri, const std::string& where);

/// The file a relative URI names: percent-decoded and put under `directory`. Throws Error, prefixed with
/// `where`, for absolute paths, for schemes (http:, file:) and for paths that climb out of `directory`: a
/// file from outside must not choose which of the user's files end up in an output. Also when `directory` is
/// empty.
std::filesystem::path resolve_uri(std::string_view uri, const std::filesystem::path& directory,
                                  const std::string& where);

}  // namespace sinew
