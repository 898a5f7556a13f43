#include <sinew/scene/gltf_uri.h>

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/scene/gltf_json.h>

namespace sinew {

namespace fs = std::filesystem;

namespace {

constexpr std::uint8_t kNotBase64 = 255;

constexpr std::array<std::uint8_t, 256> make_base64_values() {
  std::array<std::uint8_t, 256> values{};
  for (auto& value : values) value = kNotBase64;
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < digits.size(); ++i)
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr std::array<std::uint8_t, 256> kBase64Values = make_base64_values();

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decode(std::string_view uri, const std::string& where) {
  std::string text;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] != '%') {
      text += uri[i];
      continue;
    }
    const int high = i + 2 < uri.size() ? hex_value(uri[i + 1]) : -1;
    const int low = i + 2 < uri.size() ? hex_value(uri[i + 2]) : -1;
    // A lone percent sign is a file name that its exporter forgot to encode.
    if (high < 0 || low < 0) {
      text += '%';
      continue;
    }
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (text.find('\0') != std::string::npos)
    throw Error(fmt::format("{}: '{}' is not a file name", where, printable(uri)));
  return text;
}

/// "http:", "file:", but also "C:": letters before a colon, with no slash between.
bool has_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  return colon != std::string_view::npos && colon > 0 && uri.find('/') > colon;
}

}  // namespace

bool is_data_uri(std::string_view uri) {
  return uri.substr(0, 5) == "data:";
}

std::vector<std::byte> decode_data_uri(std::string_view uri, const std::string& where) {
  const std::size_t comma = uri.find(',');
  constexpr std::string_view marker = ";base64";
  if (comma == std::string_view::npos || comma < marker.size() ||
      uri.substr(comma - marker.size(), marker.size()) != marker)
    throw Error(fmt::format("{}: a data URI must be base64", where));
  std::string_view digits = uri.substr(comma + 1);
  for (int padding = 0; padding < 2 && !digits.empty() && digits.back() == '='; ++padding)
    digits.remove_suffix(1);
  if (digits.size() % 4 == 1) throw Error(fmt::format("{}: base64 data is cut short", where));
  std::vector<std::byte> bytes;
  bytes.reserve(digits.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::uint8_t value = kBase64Values[static_cast<unsigned char>(digits[i])];
    if (value == kNotBase64)
      throw Error(fmt::format("{}: '{}' is not a base64 character (at {})", where,
                              printable(digits.substr(i, 1)), i));
    bits = bits << 6 | value;
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      bytes.push_back(static_cast<std::byte>(bits >> bit_count & 0xFF));
    }
  }
  return bytes;
}

fs::path resolve_uri(std::string_view uri, const fs::path& directory, const std::string& where) {
  const std::string shown = printable(uri);
  if (has_scheme(uri))
    throw Error(fmt::format("{}: '{}': only relative file names and data: are read", where, shown));
  if (directory.empty())
    throw Error(fmt::format("{}: '{}' is another file, and there is no directory to look in; embed it", where,
                            shown));
  const std::string decoded = percent_decode(uri, where);
  if (decoded.empty()) throw Error(fmt::format("{}: empty file name", where));
  const fs::path relative(decoded);
  if (relative.is_absolute() || has_scheme(decoded) || decoded[0] == '\\')
    throw Error(fmt::format("{}: '{}' is an absolute path; use one relative to the file", where, shown));
  const fs::path normal = relative.lexically_normal();
  if (*normal.begin() == "..")
    throw Error(
        fmt::format("{}: '{}' lies outside of the file's directory; put it beside the file", where, shown));
  return directory / normal;
}

}  // namespace sinew
