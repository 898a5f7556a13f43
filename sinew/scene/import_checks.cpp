#include <sinew/scene/import_checks.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/text_scanner.h>

namespace sinew {

namespace {

constexpr std::string_view kBinaryFbxMagic("Kaydara FBX Binary  \0\x1a\0", 23);
constexpr std::size_t kBinaryFbxHeader = 27;

/// Walks the records of a binary FBX file: end offset, number of properties, length of their list, name, the
/// properties, the records inside, and behind those a record of zeros.
class BinaryFbxWalk {
 public:
  BinaryFbxWalk(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  void run() {
    if (bytes_.size() < kBinaryFbxHeader) throw Error(fmt::format("{}: too short for an FBX file", name_));
    place_ = kBinaryFbxMagic.size();
    const std::uint32_t version = read<std::uint32_t>(bytes_.size());
    if (version < 5000 || version > 9999) fail(fmt::format("FBX version {} is unknown", version));
    wide_ = version >= 7500;
    const std::size_t empty_record = wide_ ? 25 : 13;

    std::vector<std::size_t> ends;  // of the records that are open, outermost first
    bool records = false;
    while (true) {
      // A record that holds others ends with an empty one.
      while (!ends.empty() && place_ + empty_record == ends.back()) {
        if (std::any_of(bytes_.begin() + static_cast<std::ptrdiff_t>(place_),
                        bytes_.begin() + static_cast<std::ptrdiff_t>(ends.back()),
                        [](std::byte b) { return b != std::byte{0}; }))
          fail("a record does not end with zeros");
        place_ = ends.back();
        ends.pop_back();
      }
      const std::size_t limit = ends.empty() ? bytes_.size() : ends.back() - empty_record;
      if (ends.empty() && place_ == limit) break;
      const std::size_t start = place_;
      const std::uint64_t end = read_word(limit);
      const std::uint64_t property_count = read_word(limit);
      const std::uint64_t property_bytes = read_word(limit);
      const std::size_t name_size = read<std::uint8_t>(limit);
      if (end == 0) {
        if (!ends.empty()) fail("a record ends early");
        break;  // what follows is the footer
      }
      records = true;
      if (end <= start || end > limit) fail(fmt::format("a record ends at byte {}, outside its parent", end));
      take(name_size, end);
      if (property_bytes > end - place_) fail("a record's properties reach beyond it");
      read_properties(property_count, place_ + property_bytes);
      if (place_ == end) continue;
      if (end - place_ < empty_record) fail("a record has no room for its end");
      ends.push_back(end);
      if (ends.size() > kMaxFbxDepth) fail(fmt::format("records nest more than {} deep", kMaxFbxDepth));
    }
    if (!records) fail("the file holds nothing");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: byte {}: {}; the file is damaged", name_, place_, what));
  }

  void take(std::uint64_t size, std::uint64_t limit) {
    if (place_ > limit || size > limit - place_) fail(fmt::format("{} bytes are missing", size));
    place_ += size;
  }

  template <class Number>
  Number read(std::uint64_t limit) {
    const std::size_t start = place_;
    take(sizeof(Number), limit);
    Number number;
    std::memcpy(&number, bytes_.data() + start, sizeof(Number));
    return number;
  }

  std::uint64_t read_word(std::uint64_t limit) {
    return wide_ ? read<std::uint64_t>(limit) : read<std::uint32_t>(limit);
  }

  void read_properties(std::uint64_t count, std::uint64_t end) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const char type = static_cast<char>(read<std::uint8_t>(end));
      switch (type) {
        case 'C':
          take(1, end);
          break;
        case 'Y':
          take(2, end);
          break;
        case 'I':
        case 'F':
          take(4, end);
          break;
        case 'D':
        case 'L':
          take(8, end);
          break;
        case 'S':
        case 'R':
          take(read<std::uint32_t>(end), end);
          break;
        case 'b':
        case 'c':
          read_array(1, end);
          break;
        case 'i':
        case 'f':
          read_array(4, end);
          break;
        case 'l':
        case 'd':
          read_array(8, end);
          break;
        default:
          fail(fmt::format("property type {} is unknown", static_cast<int>(type)));
      }
    }
    if (place_ != end) fail("a record's properties do not fill their list");
  }

  void read_array(std::uint64_t item_bytes, std::uint64_t end) {
    const std::uint64_t length = read<std::uint32_t>(end);
    const std::uint32_t encoding = read<std::uint32_t>(end);
    const std::uint64_t stored = read<std::uint32_t>(end);
    if (encoding > 1) fail(fmt::format("array encoding {} is unknown", encoding));
    if (encoding == 0 && length * item_bytes != stored)
      fail(fmt::format("an array of {} items in {} bytes", length, stored));
    // Deflate packs 1032 bytes into one at best.
    if (encoding == 1 && length * item_bytes > stored * 1032)
      fail(fmt::format("an array of {} items cannot come from {} bytes", length, stored));
    take(stored, end);
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::size_t place_ = 0;
  bool wide_ = false;
};

std::size_t line_of(std::string_view text, std::size_t place) {
  return 1 + to_size(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
}

bool is_xml_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// The value of an attribute inside a tag, or an empty view.
std::string_view attribute(std::string_view tag, std::string_view wanted) {
  for (std::size_t at = tag.find(wanted); at != std::string_view::npos; at = tag.find(wanted, at + 1)) {
    if (at == 0 || !is_xml_space(tag[at - 1])) continue;
    std::size_t place = at + wanted.size();
    while (place < tag.size() && is_xml_space(tag[place])) ++place;
    if (place == tag.size() || tag[place] != '=') continue;
    ++place;
    while (place < tag.size() && is_xml_space(tag[place])) ++place;
    if (place == tag.size() || (tag[place] != '"' && tag[place] != '\'')) continue;
    const std::size_t end = tag.find(tag[place], place + 1);
    if (end == std::string_view::npos) continue;
    return tag.substr(place + 1, end - place - 1);
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_xml_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_xml_space(text.back())) text.remove_suffix(1);
  return text;
}

/// One piece of markup, from its '<' to its '>'.
struct XmlTag {
  enum class Kind { open, close, empty, other } kind = Kind::other;
  std::string_view name;
  std::size_t begin = 0, end = 0;  ///< of the whole piece
};

/// Cuts a text into markup, without judging its content.
class XmlTags {
 public:
  XmlTags(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool next(XmlTag& tag) {
    const std::size_t begin = text_.find('<', place_);
    if (begin == std::string_view::npos) return false;
    tag.begin = begin;
    tag.kind = XmlTag::Kind::other;
    tag.name = {};
    const std::string_view rest = text_.substr(begin);
    if (rest.starts_with("<!--")) {
      tag.end = behind("-->", begin + 4);
    } else if (rest.starts_with("<![CDATA[")) {
      tag.end = behind("]]>", begin);
    } else if (rest.starts_with("<?")) {
      tag.end = behind("?>", begin);
    } else if (rest.starts_with("<!")) {
      fail(begin, "document type declarations are not read");
    } else {
      read_element(tag);
    }
    place_ = tag.end;
    return true;
  }

  [[noreturn]] void fail(std::size_t place, const std::string& what) const {
    throw Error(fmt::format("{}: line {}: {}", name_, line_of(text_, place), what));
  }

 private:
  std::size_t behind(std::string_view closing, std::size_t from) const {
    const std::size_t place = text_.find(closing, from);
    if (place == std::string_view::npos) fail(from, fmt::format("'{}' is missing", closing));
    return place + closing.size();
  }

  void read_element(XmlTag& tag) const {
    const bool closes = text_.substr(tag.begin).starts_with("</");
    std::size_t place = tag.begin + (closes ? 2 : 1);
    const std::size_t name_begin = place;
    while (place < text_.size() && !is_xml_space(text_[place]) && text_[place] != '>' && text_[place] != '/')
      ++place;
    tag.name = text_.substr(name_begin, place - name_begin);
    if (tag.name.empty()) fail(tag.begin, "'<' without a name");
    char quote = 0;
    for (; place < text_.size() && (quote != 0 || text_[place] != '>'); ++place) {
      const char c = text_[place];
      if (quote != 0 ? c == quote : c == '"' || c == '\'') quote = quote != 0 ? 0 : c;
      if (c == '<') fail(tag.begin, fmt::format("element '{}' has no '>'", quoted(tag.name)));
    }
    if (place == text_.size()) fail(tag.begin, fmt::format("element '{}' has no '>'", quoted(tag.name)));
    tag.end = place + 1;
    tag.kind = closes                    ? XmlTag::Kind::close
               : text_[place - 1] == '/' ? XmlTag::Kind::empty
                                         : XmlTag::Kind::open;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t place_ = 0;
};

}  // namespace

void check_binary_fbx(std::span<const std::byte> bytes, const std::string& name) {
  BinaryFbxWalk(bytes, name).run();
}

void check_ascii_fbx(std::string_view text, const std::string& name) {
  const auto fail = [&](std::size_t place, const std::string& what) {
    throw Error(fmt::format("{}: line {}: {}", name, line_of(text, place), what));
  };
  std::size_t depth = 0;
  bool braces = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == 0) fail(i, "a zero byte in a text file");
    if (c == ';') {
      i = std::min(text.find('\n', i), text.size() - 1);
    } else if (c == '"') {
      const std::size_t end = text.find('"', i + 1);
      if (end == std::string_view::npos) fail(i, "'\"' is never closed");
      i = end;
    } else if (c == '{') {
      braces = true;
      if (++depth > kMaxFbxDepth) fail(i, fmt::format("braces nest more than {} deep", kMaxFbxDepth));
    } else if (c == '}') {
      if (depth-- == 0) fail(i, "'}' without '{'");
    } else if (c == '*') {
      std::uint64_t length = 0;
      const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + text.size(), length);
      const std::size_t left = text.size() - i;
      if (error == std::errc::result_out_of_range || (error == std::errc() && length > left))
        fail(i, fmt::format("an array of {} items in {} bytes", std::string_view(text.data() + i + 1, end),
                            left));
    }
  }
  if (depth > 0) fail(text.size(), "'}' is missing");
  if (!braces) throw Error(fmt::format("{}: not an FBX file", name));
}

void check_fbx(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text = as_text(bytes);
  if (text.starts_with(kBinaryFbxMagic.substr(0, 18))) {
    check_binary_fbx(bytes, name);
  } else {
    check_ascii_fbx(text, name);
  }
}

void check_collada(std::string_view text, const std::string& name) {
  if (text.find('\0') != std::string_view::npos)
    throw Error(fmt::format("{}: not an XML file in UTF-8", name));
  XmlTags tags(text, name);
  std::vector<std::string_view> open;
  bool seen_root = false;
  for (XmlTag tag; tags.next(tag);) {
    if (tag.kind == XmlTag::Kind::other) continue;
    if (tag.kind == XmlTag::Kind::close) {
      if (open.empty() || open.back() != tag.name)
        tags.fail(tag.begin, fmt::format("'</{}>' closes '{}'", quoted(tag.name),
                                         open.empty() ? std::string("nothing") : quoted(open.back())));
      open.pop_back();
      continue;
    }
    if (open.empty()) {
      if (seen_root) tags.fail(tag.begin, "the file has a second root element");
      if (tag.name != "COLLADA") throw Error(fmt::format("{}: not a Collada file", name));
      seen_root = true;
    }
    const std::string_view count = attribute(text.substr(tag.begin, tag.end - tag.begin), "count");
    std::uint64_t number = 0;
    if (!count.empty()) {
      const std::string_view digits = trimmed(count);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error != std::errc() || end != digits.data() + digits.size() || number > text.size())
        tags.fail(tag.begin, fmt::format("element '{}' announces {} items, the file has {} bytes",
                                         quoted(tag.name), quoted(count), text.size()));
    }
    if (tag.kind == XmlTag::Kind::open) open.push_back(tag.name);
    if (open.size() > kMaxXmlDepth)
      tags.fail(tag.begin, fmt::format("elements nest more than {} deep", kMaxXmlDepth));
  }
  if (!open.empty()) throw Error(fmt::format("{}: element '{}' is never closed", name, quoted(open.back())));
  if (!seen_root) throw Error(fmt::format("{}: not a Collada file", name));
}

ColladaSpace take_collada_space(std::string& text, const std::string& name) {
  ColladaSpace space;
  std::size_t depth = 0, asset_begin = 0, asset_end = 0;
  XmlTags tags(text, name);
  for (XmlTag tag; tags.next(tag);) {
    if (tag.kind == XmlTag::Kind::other) continue;
    const bool closes = tag.kind == XmlTag::Kind::close;
    if (closes) --depth;
    const bool in_asset = asset_begin > 0 && asset_end == 0;
    if (depth == 1 && tag.name == "asset" && asset_end == 0) {
      if (tag.kind == XmlTag::Kind::open) asset_begin = tag.begin;
      if (closes && in_asset) asset_end = tag.end;
    } else if (in_asset && depth == 2 && !closes && tag.name == "unit") {
      const std::string_view metres =
          trimmed(attribute(std::string_view(text).substr(tag.begin, tag.end - tag.begin), "meter"));
      if (!metres.empty()) {
        double number = 0;
        const auto [end, error] = std::from_chars(metres.data(), metres.data() + metres.size(), number);
        if (error != std::errc() || end != metres.data() + metres.size() ||
            !(number > 1e-12 && number < 1e12))
          tags.fail(tag.begin, fmt::format("a unit of '{}' metres", quoted(metres)));
        space.metres_per_unit = number;
      }
    } else if (in_asset && depth == 2 && tag.kind == XmlTag::Kind::open && tag.name == "up_axis") {
      const std::string_view axis =
          trimmed(std::string_view(text).substr(tag.end, text.find('<', tag.end) - tag.end));
      if (axis != "X_UP" && axis != "Y_UP" && axis != "Z_UP")
        tags.fail(tag.begin, fmt::format("up axis '{}' is not X_UP, Y_UP or Z_UP", quoted(axis)));
      space.up_axis = static_cast<char>(axis[0] - 'X' + 'x');
    }
    if (tag.kind == XmlTag::Kind::open) ++depth;
  }
  // Line ends stay, so that line numbers in later messages are right.
  for (std::size_t i = asset_begin; i < asset_end; ++i)
    if (text[i] != '\n') text[i] = ' ';
  return space;
}

}  // namespace sinew
