#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <sinew/picture/image.h>
#include <sinew/picture/text.h>

namespace sinew {

struct CaptionedImage {
  Image image;
  std::string caption;  ///< cut off with … where it is wider than the image
};

struct SheetOptions {
  int columns = 0;  ///< 0: as many as make the sheet about as wide as high
  std::string title;
  int margin = 16;  ///< pixels round and between the pictures
  float text_size = 14;
  Rgb paper{255, 255, 255};
};

struct PixelSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// What contact_sheet() and side_by_side() make of so many captioned pictures of one size, however large, and
/// with_caption() of one: to say before drawing them that they are too many.
PixelSize contact_sheet_size(const PixelSize& picture, std::size_t count, const SheetOptions& options = {});
PixelSize side_by_side_size(const PixelSize& picture, std::size_t count, float text_size = 14);
PixelSize with_caption_size(const PixelSize& picture, float text_size = 14);

/// Pictures in a grid, row after row, each over its caption, under a title. Columns and rows are as wide and
/// high as their largest picture. Throws Error when there is no picture or the sheet would be too large.
Image contact_sheet(std::span<const CaptionedImage> pictures, const SheetOptions& options = {});

/// Pictures of one height beside each other, each under a band with its caption: methods compared, as one
/// frame of an animation. Throws Error when there is none.
Image side_by_side(std::span<const CaptionedImage> pictures, float text_size = 14);

/// The picture over a band with a caption, of the same width.
Image with_caption(const Image& image, const std::string& caption, float text_size = 14);

}  // namespace sinew
