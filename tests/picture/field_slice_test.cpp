#include <sinew/picture/field_slice.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr Rgb kWhite{255, 255, 255};
constexpr int kSize = 240;

/// ½ on the unit ball, 0 from radius 2 on.
double ball(const Vec3d& p) {
  return std::clamp(1 - p.norm() / 2, 0.0, 1.0);
}

/// Looks at the plane z = 0 from the front; sees radius 2.4 to all sides.
Camera front() {
  Camera camera;
  camera.position = {0, 0, 12};
  camera.tan_half_width = camera.tan_half_height = 0.2;
  return camera;
}

const CutPlane kPlane{Vec3f::UnitZ(), 0};

FieldSliceOptions without_key() {
  FieldSliceOptions options;
  options.key = false;
  return options;
}

Image slice_of(const FieldFunction& field, const FieldSliceOptions& options = without_key(),
               const CutPlane& plane = kPlane) {
  Image image(kSize, kSize, kWhite);
  draw_field_slice(image, field, plane, front(), options);
  return image;
}

/// Pixel of the middle row or column so many metres from the middle, to the right.
int pixel_at(double x) {
  return static_cast<int>(std::floor((x / 2.4 + 1) / 2 * kSize));
}

double brightness(const Rgb& color) {
  return (color.r + color.g + color.b) / 3.0;
}
bool is_warm(const Rgb& color) {
  return color.r > color.b + 25;
}
bool is_cool(const Rgb& color) {
  return color.b > color.r + 25;
}

TEST(FieldSlice, WarmInsideCoolOutsideNothingBeyond) {
  const Image image = slice_of(ball);
  const int middle = kSize / 2;
  for (const double side : {-1.0, 1.0}) {
    EXPECT_TRUE(is_warm(image.at(pixel_at(side * 0.5), middle)));
    EXPECT_TRUE(is_warm(image.at(middle, pixel_at(side * 0.5))));
    EXPECT_TRUE(is_cool(image.at(pixel_at(side * 1.5), middle)));
    EXPECT_TRUE(is_cool(image.at(middle, pixel_at(side * 1.5))));
    EXPECT_EQ(image.at(pixel_at(side * 2.1), middle), kWhite);
  }
  EXPECT_EQ(image.at(0, 0), kWhite);
}

TEST(FieldSlice, LinesStandAtTheirLevels) {
  const Image image = slice_of(ball);
  // Half a pixel below the middle does not matter here. From level 0.9 at 0.2 m to 0.1 at 1.8 m.
  const auto dark_at = [&](const Image& picture, double x) {
    const int at = pixel_at(x);
    double line = 255;
    for (int i = -1; i <= 1; ++i) line = std::min(line, brightness(picture.at(at + i, kSize / 2)));
    return std::min(brightness(picture.at(at - 4, kSize / 2)), brightness(picture.at(at + 4, kSize / 2))) -
           line;
  };
  for (int i = 1; i <= 9; ++i) EXPECT_GT(dark_at(image, 0.2 * i), 11) << i;
  for (int i = 1; i <= 8; ++i) EXPECT_LT(dark_at(image, 0.2 * i + 0.1), 6) << i;
  // The bold one is by far the darkest of the row, and wider.
  int darkest = 0;
  for (int x = kSize / 2; x < kSize; ++x)
    if (brightness(image.at(x, kSize / 2)) < brightness(image.at(darkest, kSize / 2)) || darkest == 0)
      darkest = x;
  EXPECT_NEAR(darkest, pixel_at(1), 1);
  EXPECT_LT(brightness(image.at(darkest, kSize / 2)), 60);
  FieldSliceOptions bold_only = without_key();
  bold_only.line_spacing = 0;
  const Image bold = slice_of(ball, bold_only);
  for (int i = 1; i <= 9; ++i) EXPECT_EQ(dark_at(bold, 0.2 * i) > 11, i == 5) << i;
}

TEST(FieldSlice, SeesThePlaneInPerspectiveFromAnySide) {
  // From the side of the plane the disc is an ellipse; its border is where the projection says.
  Camera camera = front();
  camera.back = Vec3d(0.6, 0, 0.8);
  camera.right = Vec3d(0.8, 0, -0.6);
  camera.position = 12 * camera.back;
  for (const float side : {1.0f, -1.0f}) {
    Image image(kSize, kSize, kWhite);
    draw_field_slice(image, ball, {side * Vec3f::UnitZ(), 0}, camera, without_key());
    for (const Vec3d& edge : {Vec3d(1, 0, 0), Vec3d(-1, 0, 0), Vec3d(0, 1, 0), Vec3d(0.6, -0.8, 0)}) {
      const Vec3d seen = camera.project(edge) * kSize;
      EXPECT_LT(brightness(image.at(static_cast<int>(seen.x()), static_cast<int>(seen.y()))), 90) << edge;
      const Vec3d inner = camera.project(0.88 * edge) * kSize, outer = camera.project(1.12 * edge) * kSize;
      EXPECT_TRUE(is_warm(image.at(static_cast<int>(inner.x()), static_cast<int>(inner.y()))));
      EXPECT_TRUE(is_cool(image.at(static_cast<int>(outer.x()), static_cast<int>(outer.y()))));
    }
  }
}

TEST(FieldSlice, WhatIsNoNumberIsNotDrawn) {
  const Image whole = slice_of(ball);
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const Image half = slice_of([bad](const Vec3d& p) { return p.x() > 0 ? bad : ball(p); });
    int white = 0;
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize / 2 - 3; ++x) ASSERT_EQ(half.at(x, y), whole.at(x, y));
      for (int x = kSize / 2 + 2; x < kSize; ++x) white += half.at(x, y) == kWhite;
    }
    EXPECT_EQ(white, kSize * (kSize / 2 - 2));
  }
  EXPECT_EQ(slice_of([](const Vec3d&) { return std::nan(""); }), Image(kSize, kSize, kWhite));
  EXPECT_EQ(slice_of([](const Vec3d&) { return 0.0; }), Image(kSize, kSize, kWhite));
}

TEST(FieldSlice, ValuesOutOfRangeTakeTheEndsColors) {
  const Image high = slice_of([](const Vec3d&) { return 50.0; });
  EXPECT_EQ(high, slice_of([](const Vec3d&) { return 1.0; }));
  EXPECT_EQ(slice_of([](const Vec3d&) { return -50.0; }), Image(kSize, kSize, kWhite));
}

TEST(FieldSlice, StepsHaveOneLineNotTen) {
  const Image image = slice_of([](const Vec3d& p) { return p.x() > 0.01 ? 1.0 : 0.0; });
  int dark = 0;
  for (int x = 0; x < kSize; ++x) dark += brightness(image.at(x, 60)) < 90;
  EXPECT_GE(dark, 1);
  EXPECT_LE(dark, 3);
}

TEST(FieldSlice, CrowdedLinesAreLeftOut) {
  // Ten levels within twelve pixels: lines would make one dark patch of it.
  const auto steep = [](const Vec3d& p) { return std::clamp(0.5 + p.x() * 50 / 12, 0.0, 1.0); };
  FieldSliceOptions bold_only = without_key();
  bold_only.line_spacing = 0;
  EXPECT_EQ(slice_of(steep), slice_of(steep, bold_only));
}

TEST(FieldSlice, OpacitiesAreOfTheirSides) {
  FieldSliceOptions options = without_key();
  options.line_spacing = 0;
  options.outside_opacity = 0;
  const Image inside = slice_of(ball, options);
  EXPECT_TRUE(is_warm(inside.at(pixel_at(0.5), kSize / 2)));
  EXPECT_EQ(inside.at(pixel_at(1.5), kSize / 2), kWhite);
  options.outside_opacity = 1;
  options.inside_opacity = 0;
  const Image outside = slice_of(ball, options);
  EXPECT_EQ(outside.at(pixel_at(0.5), kSize / 2), kWhite);
  EXPECT_TRUE(is_cool(outside.at(pixel_at(1.5), kSize / 2)));
}

TEST(FieldSlice, SaddlesJoinWhatTheMiddleJoins) {
  // ½ on two branches of a hyperbola, within one square of the coarsest grid: its middle is at pixel 120.5.
  FieldSliceOptions options = without_key();
  options.step = 16;
  for (const double side : {1.0, -1.0}) {
    const Image image = slice_of(
        [side](const Vec3d& p) {
          const double x = 50 * p.x() - 0.5, y = -50 * p.y() - 0.5;
          return 0.5 + 0.001 * (x * y + side * 16);
        },
        options);
    // One diagonal crosses no line, the other one both branches.
    double clear = 255, crossed = 255;
    for (int i = -7; i <= 7; ++i) {
      clear = std::min(clear, brightness(image.at(120 + i, 120 + (side > 0 ? i : -i))));
      crossed = std::min(crossed, brightness(image.at(120 + i, 120 + (side > 0 ? -i : i))));
    }
    EXPECT_GT(clear, 150) << side;
    EXPECT_LT(crossed, 90) << side;
  }
}

TEST(FieldSlice, SaddlesAreNotTorn) {
  // Two balls that just touch: the line at ½ crosses itself, and no row may lack it.
  const Image image = slice_of([](const Vec3d& p) { return 0.5 + 0.2 * p.x() * p.y() + 1e-4; });
  for (int i = 20; i < kSize; i += 10) {
    double darkest = 255;
    for (int j = kSize / 2 - 4; j <= kSize / 2 + 4; ++j)
      darkest = std::min(darkest, brightness(image.at(i, j)));
    EXPECT_LT(darkest, 90) << i;
  }
}

TEST(FieldSlice, CoarserStepsAskLessAndLookTheSame) {
  std::atomic<int> asked{0};
  const FieldFunction counted = [&](const Vec3d& p) {
    asked.fetch_add(1, std::memory_order_relaxed);
    return ball(p);
  };
  const Image fine = slice_of(counted);
  EXPECT_EQ(asked.exchange(0), kSize * kSize);
  FieldSliceOptions options = without_key();
  for (const int step : {2, 3}) {
    options.step = step;
    const Image coarse = slice_of(counted, options);
    EXPECT_LE(asked.exchange(0), (kSize / step + 1) * (kSize / step + 1));
    double difference = 0;
    for (std::size_t i = 0; i < fine.pixels.size(); ++i)
      difference += std::abs(brightness(fine.pixels[i]) - brightness(coarse.pixels[i]));
    EXPECT_LT(difference / static_cast<double>(fine.pixels.size()), 1) << step;
  }
}

TEST(FieldSlice, KeyStandsInTheCorner) {
  FieldSliceOptions options;
  const Image with = slice_of(ball, options), without = slice_of(ball);
  int changed = 0;
  for (int y = 0; y < kSize; ++y)
    for (int x = 0; x < kSize; ++x) {
      if (with.at(x, y) == without.at(x, y)) continue;
      ++changed;
      EXPECT_GT(y, kSize / 2);
    }
  EXPECT_GT(changed, 1000);
  Image tiny(8, 8);  // no room for it
  draw_field_slice(tiny, ball, kPlane, front());
}

TEST(FieldSlice, BadPlanesAndOptionsAreErrors) {
  EXPECT_THROW(plane_through({0, 0, 0}, {0, 0, 0}), Error);
  EXPECT_THROW(plane_through({0, 0, 0}, {0, std::nan(""), 1}), Error);
  EXPECT_THROW(plane_through({HUGE_VAL, 0, 0}, {0, 0, 1}), Error);
  const CutPlane plane = plane_through({1, 2, 3}, {0, 0, 5});
  EXPECT_EQ(plane.normal, Vec3f::UnitZ());
  EXPECT_EQ(plane.offset, 3);
  for (const CutPlane& bad :
       {CutPlane{Vec3f::Zero(), 0}, CutPlane{2 * Vec3f::UnitZ(), 0}, CutPlane{Vec3f(NAN, 0, 1), 0},
        CutPlane{Vec3f::UnitZ(), NAN}, CutPlane{Vec3f::UnitZ(), INFINITY}, CutPlane{Vec3f::UnitX(), 0},
        CutPlane{Vec3f::UnitZ(), 12}})
    EXPECT_THROW(slice_of(ball, without_key(), bad), Error) << bad.normal << " " << bad.offset;
  EXPECT_THROW(slice_of(FieldFunction()), Error);
  for (const int step : {0, -1, 17}) {
    FieldSliceOptions options;
    options.step = step;
    EXPECT_THROW(slice_of(ball, options), Error);
  }
  for (const double spacing : {-0.1, 1e-9, 2.0, std::nan("")}) {
    FieldSliceOptions options;
    options.line_spacing = spacing;
    EXPECT_THROW(slice_of(ball, options), Error);
  }
  for (const float opacity : {-0.1f, 1.1f, NAN}) {
    FieldSliceOptions options;
    options.inside_opacity = opacity;
    EXPECT_THROW(slice_of(ball, options), Error);
    options = {};
    options.outside_opacity = opacity;
    EXPECT_THROW(slice_of(ball, options), Error);
  }
}

/// A ball of radius 1.4, so that its contour lies where the field is outside.
class CutBall : public ::testing::Test {
 protected:
  CutBall() : mesh_(test::make_icosphere(3, 1.4f)), surface_(mesh_.view()) {
    clay_.width = clay_.height = kSize;
    clay_.quality = ClayQuality::draft;
    clay_.backdrop = {kWhite, kWhite};
  }
  Image render(const FieldFunction& field, const CutPlane& plane = kPlane) const {
    return render_field_slice(surface_, {mesh_.positions, {}, false}, field, plane, front(), clay_,
                              without_key());
  }

  Mesh mesh_;
  DrawnSurface surface_;
  ClayOptions clay_;
};

TEST_F(CutBall, ContourLiesOverTheField) {
  const Image image = render(ball);
  const int middle = kSize / 2;
  for (const double side : {-1.4, 1.4}) {
    double darkest = 255, palest = 0;
    for (int i = -3; i <= 3; ++i) {
      darkest = std::min(darkest, brightness(image.at(pixel_at(side) + i, middle)));
      palest = std::max(palest, brightness(image.at(pixel_at(side) + i, middle)));
    }
    EXPECT_LT(darkest, 85);
    EXPECT_GT(palest, 225);
  }
  EXPECT_TRUE(is_warm(image.at(pixel_at(0.5), middle)));
  EXPECT_TRUE(is_cool(image.at(pixel_at(1.7), middle)));
  // Whichever side the plane faces, the far half of the ball stays.
  EXPECT_EQ(image, render(ball, {-Vec3f::UnitZ(), 0}));
}

TEST_F(CutBall, WithoutFieldTheCutBallIsSeen) {
  const Image image = render([](const Vec3d&) { return 0.0; });
  clay_.cut = kPlane;
  const Image clay = render_clay(surface_, {mesh_.positions, {}, false}, front(), clay_);
  for (int y = 80; y < 160; ++y)
    for (int x = 80; x < 160; ++x) ASSERT_EQ(image.at(x, y), clay.at(x, y));
  // The plane in front of the ball leaves all of it, without a contour.
  clay_.cut.reset();
  EXPECT_EQ(render([](const Vec3d&) { return 0.0; }, {Vec3f::UnitZ(), 3}),
            render_clay(surface_, {mesh_.positions, {}, false}, front(), clay_));
}

TEST_F(CutBall, BonesAreDrawnOnTop) {
  const std::vector<DrawnBone> bones{{{-0.5f, 0, -0.1f}, {0.5f, 0, -0.1f}, {20, 220, 20}},
                                     {{NAN, 0, 0}, {0, 0, 0}, {0, 0, 0}},
                                     {{0, 0, 20}, {0, 0, 13}, {0, 0, 0}}};  // behind the camera
  clay_.bones = bones;
  const Image image = render(ball);
  const Rgb& bone = image.at(pixel_at(0.2), kSize / 2);
  EXPECT_GT(bone.g, bone.r + 100);
  EXPECT_GT(bone.g, bone.b + 100);
}

TEST_F(CutBall, BonesAreThinLinesAndOnlyInFrontOfTheCamera) {
  const auto nothing = [](const Vec3d&) { return 0.0; };
  const Image bare = render(nothing);
  const std::vector<DrawnBone> behind{{{1, 1, 20}, {1.2f, 1, 13}, {0, 0, 0}}};
  clay_.bones = behind;
  EXPECT_EQ(render(nothing), bare);
  const std::vector<DrawnBone> above{{{-1.5f, 2, 0}, {1.5f, 2, 0}, {20, 220, 20}}};
  clay_.bones = above;
  const Image image = render(nothing);
  int covered = 0;
  for (int y = 0; y < kSize; ++y) covered += image.at(pixel_at(-0.9), y) != bare.at(pixel_at(-0.9), y);
  EXPECT_GT(covered, 1);
  EXPECT_LT(covered, 7);
}

TEST_F(CutBall, HasAKey) {
  EXPECT_FALSE(render(ball) ==
               render_field_slice(surface_, {mesh_.positions, {}, false}, ball, kPlane, front(), clay_));
}

TEST_F(CutBall, SameBitsForAnyNumberOfThreads) {
  Image one, many;
  tbb::task_arena(1).execute([&] { one = render(ball); });
  tbb::task_arena(2).execute([&] { many = render(ball); });
  EXPECT_EQ(one, many);
}

TEST_F(CutBall, BadInputIsAnError) {
  EXPECT_THROW(render(FieldFunction()), Error);
  EXPECT_THROW(render(ball, {Vec3f::Zero(), 0}), Error);
  EXPECT_THROW(render_field_slice(surface_, {}, ball, kPlane, front(), clay_), Error);
  clay_.height = 0;
  EXPECT_THROW(render(ball), Error);
  clay_.height = kSize;
  const auto stop = [](double share) { return share < 0.5; };
  EXPECT_THROW(
      render_field_slice(surface_, {mesh_.positions, {}, false}, ball, kPlane, front(), clay_, {}, stop),
      Cancelled);
}

double larger(double x, double y) {
  return std::max(x, y);
}

TEST(FunctionPlot, ShowsTheFunction) {
  FunctionPlot plot;
  plot.size = kSize;
  const Image image = plot_function(larger, plot);
  ASSERT_EQ(image.width, kSize);
  ASSERT_EQ(image.height, kSize);
  // The square's border is dark; within it f1 rises to the right and f2 upwards.
  int warm = 0, cool = 0, left = kSize, right = 0, top = kSize, bottom = 0;
  for (int y = 0; y < kSize; ++y)
    for (int x = 0; x < kSize; ++x) {
      const bool colored = is_warm(image.at(x, y)) || is_cool(image.at(x, y));
      warm += is_warm(image.at(x, y));
      cool += is_cool(image.at(x, y));
      if (!colored) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  EXPECT_NEAR(right - left, bottom - top, 3);
  EXPECT_GT(right - left, 2 * kSize / 3);
  EXPECT_NEAR(static_cast<double>(warm) / cool, 3, 0.8);
  const auto at = [&](double x, double y) {
    return image.at(static_cast<int>(left + x * (right - left)),
                    static_cast<int>(bottom - y * (bottom - top)));
  };
  EXPECT_TRUE(is_cool(at(0.15, 0.25)));
  EXPECT_TRUE(is_warm(at(0.15, 0.75)));
  EXPECT_TRUE(is_warm(at(0.75, 0.15)));
  double darkest = 255;
  for (int i = -2; i <= 2; ++i) darkest = std::min(darkest, brightness(at(0.5 + i / 200.0, 0.24)));
  EXPECT_LT(darkest, 90);
  // Lines carry their level where they cross the diagonal: dark on pale.
  const auto pale_near = [&](double x, double y) {
    int pale = 0;
    for (int j = -3; j <= 3; ++j)
      for (int i = -3; i <= 3; ++i) pale += brightness(at(x + i / 200.0, y + j / 200.0)) > 215;
    return pale;
  };
  EXPECT_GT(pale_near(0.8, 0.8), 8);
  EXPECT_EQ(pale_near(0.8, 0.6), 0);
}

TEST(FunctionPlot, PaperWhereThereIsNoNumber) {
  FunctionPlot plot;
  plot.size = kSize;
  plot.levels.clear();
  const Image image = plot_function([](double, double) { return std::nan(""); }, plot);
  EXPECT_EQ(image.at(kSize / 3, kSize / 3), kWhite);
  const Image zero = plot_function([](double, double) { return 0.0; }, plot);
  EXPECT_EQ(image, zero);
}

TEST(FunctionPlot, SameBitsForAnyNumberOfThreads) {
  Image one, many;
  tbb::task_arena(1).execute([&] { one = plot_function(larger); });
  tbb::task_arena(2).execute([&] { many = plot_function(larger); });
  EXPECT_EQ(one, many);
}

TEST(FunctionPlot, BadPlotsAreErrors) {
  EXPECT_THROW(plot_function(nullptr), Error);
  FunctionPlot plot;
  plot.size = 10;
  EXPECT_THROW(plot_function(larger, plot), Error);
  plot.size = 100;
  plot.y_label = "a label that leaves no room for the square";
  EXPECT_THROW(plot_function(larger, plot), Error);
  plot = {};
  plot.low = 1;
  EXPECT_THROW(plot_function(larger, plot), Error);
  plot.low = std::nan("");
  EXPECT_THROW(plot_function(larger, plot), Error);
  plot = {};
  plot.levels.push_back(HUGE_VAL);
  EXPECT_THROW(plot_function(larger, plot), Error);
  plot = {};
  plot.bold_level = std::nan("");
  EXPECT_THROW(plot_function(larger, plot), Error);
}

}  // namespace
}  // namespace sinew
