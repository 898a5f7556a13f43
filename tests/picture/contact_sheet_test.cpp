#include <sinew/picture/contact_sheet.h>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {
namespace {

constexpr Rgb kColors[4] = {{200, 0, 0}, {0, 200, 0}, {0, 0, 200}, {200, 200, 0}};

std::vector<CaptionedImage> tiles(int count) {
  std::vector<CaptionedImage> made;
  for (int i = 0; i < count; ++i)
    made.push_back({Image(40, 30, kColors[i % 4]), "frame " + std::to_string(i)});
  return made;
}

int count_of(const Image& image, const Rgb& color) {
  return static_cast<int>(std::count(image.pixels.begin(), image.pixels.end(), color));
}

TEST(ContactSheet, PlacesPicturesInAGridWithEvenMargins) {
  SheetOptions options;
  options.columns = 2;
  options.margin = 10;
  const Image sheet = contact_sheet(tiles(3), options);
  EXPECT_EQ(sheet.width, 10 + 40 + 10 + 40 + 10);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(count_of(sheet, kColors[i]), 40 * 30);
  EXPECT_EQ(sheet.at(10, 10), kColors[0]);
  EXPECT_EQ(sheet.at(60, 10), kColors[1]);
  EXPECT_EQ(sheet.at(9, 10), (Rgb{255, 255, 255}));
  EXPECT_EQ(sheet.at(50, 20), (Rgb{255, 255, 255}));
}

TEST(ContactSheet, CaptionsAndTitleLeaveInkAndNothingLeavesTheSheet) {
  SheetOptions options;
  options.columns = 1;
  const Image plain = contact_sheet(tiles(1), options);
  options.title = "A title far too long for this narrow sheet";
  const Image titled = contact_sheet(tiles(1), options);
  EXPECT_GT(titled.height, plain.height);
  int ink = 0;
  for (int y = 16 + 30; y < plain.height; ++y)
    for (int x = 0; x < plain.width; ++x) ink += plain.at(x, y).r < 128;
  EXPECT_GT(ink, 10);
  for (int y = 0; y < titled.height; ++y) EXPECT_EQ(titled.at(titled.width - 1, y), (Rgb{255, 255, 255}));
}

TEST(ContactSheet, ChoosesColumnsToBeAboutSquare) {
  const Image sheet = contact_sheet(tiles(12));
  EXPECT_LT(sheet.width, 2 * sheet.height);
  EXPECT_LT(sheet.height, 2 * sheet.width);
}

TEST(ContactSheet, SideBySide) {
  const Image pair = side_by_side(tiles(2));
  EXPECT_EQ(pair.width, 82);
  EXPECT_GT(pair.height, 30);
  EXPECT_EQ(pair.at(0, pair.height - 1), kColors[0]);
  EXPECT_EQ(pair.at(81, pair.height - 1), kColors[1]);
  const Image captioned = with_caption(Image(40, 30, kColors[0]), "text");
  EXPECT_EQ(captioned.width, 40);
  EXPECT_GT(captioned.height, 30);
  EXPECT_EQ(captioned.at(39, 29), kColors[0]);
}

TEST(ContactSheet, SizesAreKnownBeforehand) {
  const PixelSize tile{40, 30};
  for (const int columns : {0, 1, 3, 20})
    for (const char* title : {"", "title"})
      for (const int count : {1, 5, 12}) {
        SheetOptions options;
        options.columns = columns;
        options.title = title;
        const Image sheet = contact_sheet(tiles(count), options);
        const PixelSize size = contact_sheet_size(tile, to_size(count), options);
        EXPECT_EQ(size.width, sheet.width) << columns << title << count;
        EXPECT_EQ(size.height, sheet.height) << columns << title << count;
      }
  const Image three = side_by_side(tiles(3), 20);
  EXPECT_EQ(side_by_side_size(tile, 3, 20).width, three.width);
  EXPECT_EQ(side_by_side_size(tile, 3, 20).height, three.height);
  EXPECT_EQ(with_caption_size(tile, 20).height, with_caption(Image(40, 30), "text", 20).height);
  EXPECT_GT(contact_sheet_size({16384, 16384}, 400).height, 300000);
}

TEST(ContactSheet, NoPicturesIsAnError) {
  EXPECT_THROW(contact_sheet({}), Error);
  EXPECT_THROW(side_by_side({}), Error);
}

}  // namespace
}  // namespace sinew
