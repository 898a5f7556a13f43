#include <sinew/picture/contact_sheet.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr Rgb kBand{246, 247, 249};

int checked_size(std::int64_t size) {
  if (size > static_cast<std::int64_t>(kMostPixels))
    throw Error(fmt::format("a picture cannot be {} pixels wide or high", size));
  return static_cast<int>(size);
}

constexpr int kTileGap = 2;  // between pictures side by side

/// How a sheet is laid out, whatever its pictures show.
struct SheetLayout {
  SheetLayout(const PixelSize& first, std::size_t count, bool captions, const SheetOptions& options) {
    columns = to_size(std::max(0, options.columns));
    if (columns == 0) {
      const double wanted = std::sqrt(static_cast<double>(count) * static_cast<double>(first.height) /
                                      static_cast<double>(std::max<std::int64_t>(1, first.width)));
      columns = std::max<std::size_t>(1, to_size(std::ceil(wanted - 1e-9)));
    }
    columns = std::min(columns, count);
    rows = (count + columns - 1) / columns;
    text.size = options.text_size;
    title = text;
    title.size = 1.5f * options.text_size;
    title.bold = true;
    caption_height = captions ? text_line_height(text) + 4 : 0;
    title_height = options.title.empty() ? 0 : text_line_height(title) + options.margin / 2;
  }

  std::size_t columns, rows;
  TextStyle text, title;
  int caption_height, title_height;
};

int band_height(float text_size, bool bold) {
  TextStyle text;
  text.size = text_size;
  text.bold = bold;
  return text_line_height(text) + 8;
}

}  // namespace

PixelSize contact_sheet_size(const PixelSize& picture, std::size_t count, const SheetOptions& options) {
  if (count == 0) return {};
  const SheetLayout layout(picture, count, true, options);
  const auto columns = static_cast<std::int64_t>(layout.columns),
             rows = static_cast<std::int64_t>(layout.rows);
  return {options.margin + columns * (picture.width + options.margin),
          options.margin + layout.title_height +
              rows * (picture.height + layout.caption_height + options.margin)};
}

PixelSize side_by_side_size(const PixelSize& picture, std::size_t count, float text_size) {
  const auto pictures = static_cast<std::int64_t>(count);
  return {pictures * (picture.width + kTileGap) - kTileGap, picture.height + band_height(text_size, true)};
}

PixelSize with_caption_size(const PixelSize& picture, float text_size) {
  return {picture.width, picture.height + band_height(text_size, false)};
}

Image contact_sheet(std::span<const CaptionedImage> pictures, const SheetOptions& options) {
  if (pictures.empty()) throw Error("a contact sheet needs at least one picture");
  const bool captions = std::any_of(pictures.begin(), pictures.end(),
                                    [](const CaptionedImage& picture) { return !picture.caption.empty(); });
  const SheetLayout layout({pictures[0].image.width, pictures[0].image.height}, pictures.size(), captions,
                           options);
  const std::size_t columns = layout.columns, rows = layout.rows;
  const TextStyle &text = layout.text, &title = layout.title;
  const int caption_height = layout.caption_height, title_height = layout.title_height;

  std::vector<std::int64_t> widths(columns, 0), heights(rows, 0);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    widths[i % columns] = std::max<std::int64_t>(widths[i % columns], pictures[i].image.width);
    heights[i / columns] = std::max<std::int64_t>(heights[i / columns], pictures[i].image.height);
  }
  std::int64_t width = options.margin, height = options.margin + title_height;
  for (const std::int64_t w : widths) width += w + options.margin;
  for (const std::int64_t h : heights) height += h + caption_height + options.margin;
  Image sheet(checked_size(width), checked_size(height), options.paper);
  if (!options.title.empty())
    draw_text(sheet, options.margin, options.margin + text_cap_height(title),
              fit_text(options.title, sheet.width - 2 * options.margin, title), title);
  int y = options.margin + title_height;
  for (std::size_t row = 0; row < rows; ++row) {
    int x = options.margin;
    for (std::size_t column = 0; column < columns && row * columns + column < pictures.size(); ++column) {
      const CaptionedImage& picture = pictures[row * columns + column];
      blit(picture.image, sheet, x, y);
      draw_text(sheet, x, y + static_cast<int>(heights[row]) + 6 + text_cap_height(text),
                fit_text(picture.caption, picture.image.width, text), text);
      x += static_cast<int>(widths[column]) + options.margin;
    }
    y += static_cast<int>(heights[row]) + caption_height + options.margin;
  }
  return sheet;
}

Image side_by_side(std::span<const CaptionedImage> pictures, float text_size) {
  if (pictures.empty()) throw Error("there is no picture to lay beside another");
  TextStyle text;
  text.size = text_size;
  text.bold = true;
  const int band = text_line_height(text) + 8;
  std::int64_t width = -kTileGap, height = 0;
  for (const CaptionedImage& picture : pictures) {
    width += picture.image.width + kTileGap;
    height = std::max<std::int64_t>(height, picture.image.height);
  }
  Image whole(checked_size(width), checked_size(height + band), {255, 255, 255});
  int x = 0;
  for (const CaptionedImage& picture : pictures) {
    fill_rectangle(whole, x, 0, picture.image.width, band, kBand);
    draw_centered_text(whole, x + picture.image.width / 2, (band + text_cap_height(text)) / 2,
                       fit_text(picture.caption, picture.image.width - 8, text), text);
    blit(picture.image, whole, x, band);
    x += picture.image.width + kTileGap;
  }
  return whole;
}

Image with_caption(const Image& image, const std::string& caption, float text_size) {
  TextStyle text;
  text.size = text_size;
  const int band = text_line_height(text) + 8;
  Image whole(image.width, checked_size(std::int64_t{image.height} + band), kBand);
  blit(image, whole, 0, 0);
  draw_text(whole, 10, image.height + (band + text_cap_height(text)) / 2,
            fit_text(caption, image.width - 20, text), text);
  return whole;
}

}  // namespace sinew
