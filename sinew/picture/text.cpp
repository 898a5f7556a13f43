#include <sinew/picture/text.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/picture/strokes.h>

namespace sinew {

namespace {

// The font. Units: letters stand on y = 0, capitals are 14 high, small letters 10, tails reach to -4. A glyph
// is a list of strokes, separated by ';'; a stroke runs through points "x,y" and arcs
// "(middle x,middle y,radius x,radius y,from,to)" in degrees, counter-clockwise when `to` is larger.
struct GlyphSource {
  char32_t code;
  float width;
  std::string_view path;
};

constexpr float kCapHeight = 14, kSmallHeight = 10;
constexpr float kGlyphGap = 3.8f;  // between glyphs
constexpr float kBlank = 5.0f;

constexpr GlyphSource kGlyphs[] = {
    {U'0', 8, "(4,7,4,7,0,360)"},
    {U'1', 8, "1.2,11 4.6,14 4.6,0"},
    {U'2', 8, "(4,10,3.8,4,165,-38) 0.2,0 8,0"},
    {U'3', 8, "(3.9,10.5,3.5,3.5,155,-90) (3.9,3.5,4.1,3.5,90,-155)"},
    {U'4', 8, "6.2,0 6.2,14 0,4 8.4,4"},
    {U'5', 8, "7.2,14 1.2,14 0.7,7.4 (3.7,4.4,4.2,4.4,135,-150)"},
    {U'6', 8, "(7,4.5,7,9.5,95,180) (4,4.3,4,4.3,180,540)"},
    {U'7', 8, "0,14 8,14 3,0"},
    {U'8', 8, "(4,10.6,3.4,3.4,0,360) ; (4,3.6,4,3.6,0,360)"},
    {U'9', 8, "(1,9.5,7,9.5,-85,0) (4,9.7,4,4.3,0,360)"},
    {U'A', 10, "0,0 5,14 10,0 ; 1.7,4.8 8.3,4.8"},
    {U'B', 8.5f, "4.5,7.4 0,7.4 0,14 4.5,14 (4.5,10.7,3.3,3.3,90,-90) (4.8,3.7,3.7,3.7,90,-90) 0,0 0,7.4"},
    {U'C', 9.8f, "(5.7,7,5.7,7,45,315)"},
    {U'D', 9.5f, "0,0 0,14 3.5,14 (3.5,7,6,7,90,-90) 0,0"},
    {U'E', 7.5f, "7.5,14 0,14 0,0 7.5,0 ; 0,7.4 6.6,7.4"},
    {U'F', 7.2f, "7.2,14 0,14 0,0 ; 0,7.2 6.3,7.2"},
    {U'G', 10.6f, "(5.7,7,5.7,7,48,322) 10.4,6.6 6.4,6.6"},
    {U'H', 9.5f, "0,0 0,14 ; 9.5,0 9.5,14 ; 0,7.3 9.5,7.3"},
    {U'I', 0, "0,0 0,14"},
    {U'J', 6, "6,14 6,4 (3,3.6,3,3.6,0,-160)"},
    {U'K', 9, "0,0 0,14 ; 8.5,14 0,5.5 ; 3,8.4 9,0"},
    {U'L', 7, "0,14 0,0 7,0"},
    {U'M', 11.5f, "0,0 0,14 5.75,4.5 11.5,14 11.5,0"},
    {U'N', 9.5f, "0,0 0,14 9.5,0 9.5,14"},
    {U'O', 11.4f, "(5.7,7,5.7,7,0,360)"},
    {U'P', 8.4f, "0,0 0,14 4.6,14 (4.6,10.3,3.7,3.7,90,-90) 0,6.6"},
    {U'Q', 11.4f, "(5.7,7,5.7,7,0,360) ; 7,3.6 11,-1"},
    {U'R', 9, "0,0 0,14 4.6,14 (4.6,10.4,3.6,3.6,90,-90) 0,6.8 ; 4.4,6.8 9,0"},
    {U'S', 8.5f, "(4.3,10.4,3.7,3.6,40,270) (4.3,3.4,4.2,3.4,90,-150)"},
    {U'T', 9.4f, "0,14 9.4,14 ; 4.7,14 4.7,0"},
    {U'U', 9.5f, "0,14 0,4.75 (4.75,4.75,4.75,4.75,180,360) 9.5,14"},
    {U'V', 10, "0,14 5,0 10,14"},
    {U'W', 14, "0,14 3.5,0 7,12 10.5,0 14,14"},
    {U'X', 9.5f, "0.2,14 9.3,0 ; 9.3,14 0.2,0"},
    {U'Y', 9.5f, "0,14 4.75,6.6 9.5,14 ; 4.75,6.6 4.75,0"},
    {U'Z', 9, "0,14 9,14 0,0 9,0"},
    {U'a', 7.5f, "(3.7,5,3.7,5,0,360) ; 7.5,10 7.5,0"},
    {U'b', 7.6f, "0,14.6 0,0 ; (3.8,5,3.8,5,0,360)"},
    {U'c', 6.8f, "(4,5,4,5,45,315)"},
    {U'd', 7.5f, "(3.7,5,3.7,5,0,360) ; 7.5,14.6 7.5,0"},
    {U'e', 7.8f, "0.1,5.2 7.8,5.2 (3.9,5,3.9,5,2,318)"},
    {U'f', 4.8f, "2,0 2,11 (5,11.2,3,3.3,180,90) ; 0,10 4.7,10"},
    {U'g', 7.5f, "(3.7,5,3.7,5,0,360) ; 7.5,10 7.5,-0.7 (3.8,-0.7,3.7,3.5,0,-145)"},
    {U'h', 7, "0,14.6 0,0 ; 0,6.5 (3.5,6.5,3.5,3.5,180,0) 7,0"},
    {U'i', 0, "0,10 0,0 ; 0,13.6 0,13.7"},
    {U'j', 2.2f, "2.2,10 2.2,-1.6 (-0.3,-1.6,2.5,2.5,0,-80) ; 2.2,13.6 2.2,13.7"},
    {U'k', 7, "0,14.6 0,0 ; 6.5,10 0,4 ; 2.4,6.2 7,0"},
    {U'l', 1.8f, "0,14.6 0,2 (2,2,2,2,180,265)"},
    {U'm', 11.6f, "0,10 0,0 ; 0,7 (2.9,7.1,2.9,2.9,180,0) 5.8,0 ; 5.8,7 (8.7,7.1,2.9,2.9,180,0) 11.6,0"},
    {U'n', 7, "0,10 0,0 ; 0,6.5 (3.5,6.5,3.5,3.5,180,0) 7,0"},
    {U'o', 7.8f, "(3.9,5,3.9,5,0,360)"},
    {U'p', 7.6f, "0,10 0,-4.2 ; (3.8,5,3.8,5,0,360)"},
    {U'q', 7.5f, "7.5,10 7.5,-4.2 ; (3.7,5,3.7,5,0,360)"},
    {U'r', 4.2f, "0,10 0,0 ; 0,6 (4,6,4,4,180,82)"},
    {U's', 6.5f, "(3.3,7.4,2.9,2.6,35,270) (3.3,2.4,3.2,2.4,90,-150)"},
    {U't', 4.7f, "2,13.2 2,2.8 (4.7,2.8,2.7,2.8,180,268) ; 0,10 4.6,10"},
    {U'u', 7, "0,10 0,3.5 (3.5,3.5,3.5,3.5,180,360) ; 7,10 7,0"},
    {U'v', 7.5f, "0,10 3.75,0 7.5,10"},
    {U'w', 11.5f, "0,10 2.9,0 5.75,9 8.6,0 11.5,10"},
    {U'x', 7, "0,10 7,0 ; 7,10 0,0"},
    {U'y', 7.6f, "0,10 3.9,0.2 ; 7.6,10 2.9,-2.8 (1.3,-2.2,1.7,2,-20,-90)"},
    {U'z', 6.8f, "0,10 6.8,10 0,0 6.8,0"},
    {U'!', 0, "0,14 0,4.5 ; 0,0.4 0,0.5"},
    {U'"', 3, "0,14 0,10 ; 3,14 3,10"},
    {U'#', 9.5f, "2,0 4,14 ; 6,0 8,14 ; 0.7,9.4 9.5,9.4 ; 0,4.6 8.8,4.6"},
    {U'$', 8.5f, "(4.3,10.4,3.7,3.6,40,270) (4.3,3.4,4.2,3.4,90,-150) ; 4.3,16 4.3,-2"},
    {U'%', 13, "(2.8,10.8,2.8,3.2,0,360) ; (10.2,3.2,2.8,3.2,0,360) ; 10.6,14 2.4,0"},
    {U'&', 9.8f, "9.8,0 2.5,9.2 (4.5,11.2,2.9,2.8,225,-40) 2,6.6 (3.9,3.5,3.9,3.5,125,330) 9.2,6.6"},
    {U'\'', 0, "0,14 0,10"},
    {U'(', 2.4f, "(7,5.5,7,11.5,133,227)"},
    {U')', 2.4f, "(-4.6,5.5,7,11.5,47,-47)"},
    {U'*', 6, "3,13.2 3,6.8 ; 0.3,11.6 5.7,8.4 ; 5.7,11.6 0.3,8.4"},
    {U'+', 8, "4,1.5 4,9.5 ; 0,5.5 8,5.5"},
    {U',', 0.8f, "0.8,0.7 0,-2.6"},
    {U'-', 5, "0,5.3 5,5.3"},
    {U'.', 0, "0,0.4 0,0.5"},
    {U'/', 6, "0,-1.8 6,15"},
    {U':', 0, "0,0.4 0,0.5 ; 0,8.4 0,8.5"},
    {U';', 0.8f, "0.8,0.7 0,-2.6 ; 0.8,8.4 0.8,8.5"},
    {U'<', 7.6f, "7.6,10 0,5.5 7.6,1"},
    {U'=', 8, "0,7.4 8,7.4 ; 0,3.6 8,3.6"},
    {U'>', 7.6f, "0,10 7.6,5.5 0,1"},
    {U'?', 7, "(3.5,10.6,3.5,3.4,160,-60) 3.4,6 3.4,4.3 ; 3.4,0.4 3.4,0.5"},
    {U'@', 12.5f,
     "(6.3,5.2,2.6,3,0,360) ; 8.9,8.2 8.9,4 (10.7,4,1.8,2,180,360) 12.5,5.5 (6.3,5.5,6.2,7,0,305)"},
    {U'[', 3, "3,15.2 0,15.2 0,-2.8 3,-2.8"},
    {U'\\', 6, "0,15 6,-1.8"},
    {U']', 3, "0,15.2 3,15.2 3,-2.8 0,-2.8"},
    {U'^', 6, "0,9.5 3,14 6,9.5"},
    {U'_', 8, "0,-2.5 8,-2.5"},
    {U'`', 2, "0,14.6 2,12"},
    {U'{', 3.6f,
     "3.6,15.2 (3.6,12.7,1.8,2.5,90,180) 1.8,8.4 0,6.2 1.8,4 1.8,-0.3 (3.6,-0.3,1.8,2.5,180,270)"},
    {U'|', 0, "0,15.6 0,-3.2"},
    {U'}', 3.6f, "0,15.2 (0,12.7,1.8,2.5,90,0) 1.8,8.4 3.6,6.2 1.8,4 1.8,-0.3 (0,-0.3,1.8,2.5,0,-90)"},
    {U'~', 8, "0,4.4 (2,4.8,2,1.8,175,20) (6,6.1,2.1,1.8,200,365)"},
    {U'°', 4.4f, "(2.2,11.8,2.2,2.2,0,360)"},
    {U'·', 0, "0,6 0,6.1"},
    {U'×', 6.4f, "0,2.3 6.4,8.7 ; 6.4,2.3 0,8.7"},
    {U'±', 8, "4,3.6 4,11.2 ; 0,7.4 8,7.4 ; 0,0.6 8,0.6"},
    {U'µ', 7, "0,10 0,-4 ; 0,3.5 (3.5,3.5,3.5,3.5,180,360) ; 7,10 7,0"},
    {U'μ', 7, "0,10 0,-4 ; 0,3.5 (3.5,3.5,3.5,3.5,180,360) ; 7,10 7,0"},
    {U'²', 4.8f, "(2.4,11.7,2.2,2.3,165,-38) 0.1,7 4.8,7"},
    {U'³', 4.6f, "(2.2,12.1,2,1.9,150,-90) (2.2,8.5,2.4,1.8,90,-150)"},
    {U'–', 8, "0,5.3 8,5.3"},
    {U'—', 13, "0,5.3 13,5.3"},
    {U'−', 8, "0,5.5 8,5.5"},
    {U'…', 9, "0,0.4 0,0.5 ; 4.5,0.4 4.5,0.5 ; 9,0.4 9,0.5"},
    {U'→', 11, "0,5.5 11,5.5 ; 7.4,9.2 11,5.5 7.4,1.8"},
    {U'≤', 7.6f, "7.6,11.5 0,7.5 7.6,3.5 ; 0,0 7.6,0"},
    {U'≥', 7.6f, "0,11.5 7.6,7.5 0,3.5 ; 0,0 7.6,0"},
    {U'’', 0.8f, "0.8,14 0,11"},
    {U'\0', 7, "0,0 7,0 7,12.5 0,12.5 0,0"},  // any other character
};

struct Glyph {
  float width = 0;
  std::vector<Stroke> strokes;
};

/// Reads numbers of a path; the table above is our own, so nothing is checked.
struct PathReader {
  std::string_view rest;

  float number() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == ',' || rest.front() == '('))
      rest.remove_prefix(1);
    float value = 0;
    const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    rest.remove_prefix(to_size(result.ptr - rest.data()));
    return value;
  }
};

Glyph read_glyph(const GlyphSource& source) {
  Glyph glyph;
  glyph.width = source.width;
  PathReader reader{source.path};
  bool drawing = false;
  Vec2f pen = Vec2f::Zero();
  const auto go_to = [&](const Vec2f& point) {
    if (drawing) glyph.strokes.push_back({pen, point});
    pen = point;
    drawing = true;
  };
  while (!reader.rest.empty()) {
    const char next = reader.rest.front();
    if (next == ' ' || next == ')') {
      reader.rest.remove_prefix(1);
    } else if (next == ';') {
      reader.rest.remove_prefix(1);
      drawing = false;
    } else if (next == '(') {
      std::array<float, 6> arc{};
      for (float& value : arc) value = reader.number();
      const int steps = std::max(4, static_cast<int>(std::abs(arc[5] - arc[4]) / 12));
      for (int i = 0; i <= steps; ++i) {
        const float degrees = arc[4] + (arc[5] - arc[4]) * static_cast<float>(i) / static_cast<float>(steps);
        const float angle = degrees * std::numbers::pi_v<float> / 180;
        go_to({arc[0] + arc[2] * std::cos(angle), arc[1] + arc[3] * std::sin(angle)});
      }
    } else {
      const float x = reader.number(), y = reader.number();
      go_to({x, y});
    }
  }
  return glyph;
}

const std::map<char32_t, Glyph>& font() {
  static const std::map<char32_t, Glyph> glyphs = [] {
    std::map<char32_t, Glyph> made;
    for (const GlyphSource& source : kGlyphs) made.emplace(source.code, read_glyph(source));
    return made;
  }();
  return glyphs;
}

/// The next character; bytes that are not UTF-8 count as one unknown character each.
char32_t next_character(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (length == 0 || length > text.size()) {
    text.remove_prefix(1);
    return 0xfffd;
  }
  char32_t code = length == 1 ? lead : lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) {
      text.remove_prefix(1);
      return 0xfffd;
    }
    code = (code << 6) | (byte & 0x3f);
  }
  text.remove_prefix(length);
  return code;
}

bool is_blank(char32_t code) {
  return code == U' ' || code == U'\u00a0' || code == U'\u202f' || code == U'\t';
}

/// Sizes in whole pixels, so that stems and bars fall on pixels.
struct Metrics {
  float scale_x;
  float cap, small;  // pixels

  explicit Metrics(const TextStyle& style)
      : scale_x(0.7f * style.size / kCapHeight),
        cap(std::max(3.0f, std::round(0.7f * style.size))),
        small(std::max(2.0f, std::round(0.51f * style.size))) {}

  float y(float units) const {
    if (units <= 0) return units * scale_x;
    if (units <= kSmallHeight) return units * small / kSmallHeight;
    return small + (units - kSmallHeight) * (cap - small) / (kCapHeight - kSmallHeight);
  }
  float thickness(const TextStyle& style) const {
    return std::max(1.0f, (style.bold ? 0.135f : 0.088f) * style.size);
  }
};

/// Calls visit(glyph, pixels from the start) and returns the width. A glyph's first stem stands in the middle
/// of a pixel.
template <class Visit>
int lay_out(std::string_view text, const TextStyle& style, const Visit& visit) {
  const Metrics metrics(style);
  const float thickness = metrics.thickness(style);
  float x = 0;
  int end = 0;
  while (!text.empty()) {
    const char32_t code = next_character(text);
    if (is_blank(code)) {
      x += std::round((kBlank + 0.4f) * metrics.scale_x);
      end = static_cast<int>(std::ceil(x));
      continue;
    }
    if (code < 0x20 || code == 0x7f) continue;
    auto found = font().find(code);
    if (found == font().end()) found = font().find(U'\0');
    const float width = found->second.width * metrics.scale_x;
    visit(found->second, x);
    end = static_cast<int>(std::ceil(x + width + thickness));
    x += std::round(width + (kGlyphGap + (style.bold ? 0.7f : 0.0f)) * metrics.scale_x);
  }
  return end;
}

}  // namespace

int text_width(std::string_view text, const TextStyle& style) {
  return lay_out(text, style, [](const Glyph&, float) {});
}

int text_cap_height(const TextStyle& style) {
  return static_cast<int>(Metrics(style).cap);
}

int text_line_height(const TextStyle& style) {
  return static_cast<int>(std::lround(1.4f * style.size));
}

void draw_text(Image& image, int x, int baseline, std::string_view text, const TextStyle& style) {
  const Metrics metrics(style);
  const float thickness = metrics.thickness(style);
  // A stem one pixel and a bit wide looks sharpest when it covers one pixel fully.
  const float stem = std::floor(0.5f * thickness) + 0.5f;
  std::vector<Stroke> strokes;
  lay_out(text, style, [&](const Glyph& glyph, float offset) {
    const auto place = [&](const Vec2f& units) {
      return Vec2f(static_cast<float>(x) + offset + stem + units.x() * metrics.scale_x,
                   static_cast<float>(baseline) + 0.5f - metrics.y(units.y()));
    };
    strokes.clear();
    for (const Stroke& stroke : glyph.strokes) strokes.push_back({place(stroke.from), place(stroke.to)});
    draw_strokes(image, strokes, thickness, style.color);
  });
}

void draw_centered_text(Image& image, int x, int baseline, std::string_view text, const TextStyle& style) {
  draw_text(image, x - text_width(text, style) / 2, baseline, text, style);
}

std::string fit_text(std::string_view text, int width, const TextStyle& style) {
  if (text_width(text, style) <= width) return std::string(text);
  std::string_view kept = text;
  while (!kept.empty()) {
    // Drop one character: its last byte and the bytes before it that continue it.
    do kept.remove_suffix(1);
    while (!kept.empty() && (static_cast<unsigned char>(text[kept.size()]) & 0xc0) == 0x80);
    std::string shortened = std::string(kept) + "…";
    if (text_width(shortened, style) <= width) return shortened;
  }
  return "";
}

}  // namespace sinew
