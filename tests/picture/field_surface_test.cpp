#include <sinew/picture/field_surface.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr double kPi = std::numbers::pi;

FieldFunction ball(const Vec3d& middle, double radius) {
  return [=](const Vec3d& p) { return std::clamp(0.5 + (radius - (p - middle).norm()), 0.0, 1.0); };
}

Eigen::AlignedBox3d cube(double half) {
  return {Vec3d::Constant(-half), Vec3d::Constant(half)};
}

FieldSurfaceOptions coarse() {
  FieldSurfaceOptions options;
  options.cells = 24;
  return options;
}

double volume(const Mesh& mesh) {
  double sum = 0;
  for (const Triangle& f : mesh.triangles)
    sum += mesh.positions[f[0]].cast<double>().dot(
               mesh.positions[f[1]].cast<double>().cross(mesh.positions[f[2]].cast<double>())) /
           6;
  return sum;
}

bool is_closed(const Mesh& mesh) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> ways;
  for (const Triangle& f : mesh.triangles)
    for (std::size_t k = 0; k < 3; ++k) ++ways[{f[k], f[(k + 1) % 3]}];
  return std::all_of(ways.begin(), ways.end(), [&](const auto& way) {
    const auto back = ways.find({way.first.second, way.first.first});
    return way.second == 1 && back != ways.end();
  });
}

TEST(FieldSurface, BallIsABall) {
  const Mesh mesh = field_surface(ball(Vec3d::Zero(), 1), cube(1.3), coarse());
  ASSERT_GT(mesh.positions.size(), 500u);
  EXPECT_TRUE(is_closed(mesh));
  for (const Vec3f& p : mesh.positions) EXPECT_NEAR(p.norm(), 1, 2e-3);
  EXPECT_NEAR(volume(mesh), 4 * kPi / 3, 0.05);
  FieldSurfaceOptions inner = coarse();
  inner.level = 0.75;
  for (const Vec3f& p : field_surface(ball(Vec3d::Zero(), 1), cube(1.3), inner).positions)
    EXPECT_NEAR(p.norm(), 0.75, 2e-3);
}

TEST(FieldSurface, TrianglesAreEven) {
  const Mesh mesh = field_surface(ball(Vec3d::Zero(), 1), cube(1.3), coarse());
  int slivers = 0;
  for (const Triangle& f : mesh.triangles) {
    double longest = 0;
    for (std::size_t k = 0; k < 3; ++k)
      longest = std::max<double>(longest, (mesh.positions[f[k]] - mesh.positions[f[(k + 1) % 3]]).norm());
    const double area = (mesh.positions[f[1]] - mesh.positions[f[0]])
                            .cross(mesh.positions[f[2]] - mesh.positions[f[0]])
                            .norm() /
                        2;
    slivers += area < 0.1 * longest * longest;  // 0.43 for an equilateral one
  }
  EXPECT_LT(slivers, static_cast<int>(mesh.triangles.size()) / 20);
}

TEST(FieldSurface, AllPiecesAndHolesAreFound) {
  const Vec3d left(-0.6, 0.1, 0), right(0.6, 0, 0.2);
  const Mesh two = field_surface(
      [&](const Vec3d& p) { return std::max(ball(left, 0.3)(p), ball(right, 0.4)(p)); }, cube(1.1), coarse());
  EXPECT_TRUE(is_closed(two));
  EXPECT_NEAR(volume(two), 4 * kPi / 3 * (0.027 + 0.064), 0.02);
  // A hollow ball: min of a ball and of what is left outside of a smaller one.
  const Mesh hollow = field_surface(
      [&](const Vec3d& p) { return std::min(ball(Vec3d::Zero(), 1)(p), 1 - ball(Vec3d(0.1, 0, 0), 0.5)(p)); },
      cube(1.1), coarse());
  EXPECT_TRUE(is_closed(hollow));
  EXPECT_NEAR(volume(hollow), 4 * kPi / 3 * (1 - 0.125), 0.08);
}

TEST(FieldSurface, IsClosedWhereItLeavesTheBox) {
  const Mesh half =
      field_surface([](const Vec3d& p) { return std::clamp(0.5 - p.y(), 0.0, 1.0); }, cube(1), coarse());
  EXPECT_TRUE(is_closed(half));
  EXPECT_NEAR(volume(half), 4, 0.8);  // half of the cube, and up to a cell more on each side
  const Mesh full = field_surface([](const Vec3d&) { return 1.0; }, cube(1), coarse());
  EXPECT_TRUE(is_closed(full));
  EXPECT_GE(volume(full), 8);
  const Eigen::AlignedBox3d flat(Vec3d(-1, -1, -0.01), Vec3d(1, 1, 0.01));
  EXPECT_TRUE(is_closed(field_surface(ball(Vec3d::Zero(), 0.5), flat, coarse())));
}

TEST(FieldSurface, WhatIsNoNumberIsOutside) {
  const FieldFunction whole = ball(Vec3d::Zero(), 1);
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const Mesh half =
        field_surface([&](const Vec3d& p) { return p.x() > 0.01 ? bad : whole(p); }, cube(1.3), coarse());
    EXPECT_TRUE(is_closed(half));
    for (const Vec3f& p : half.positions) {
      ASSERT_TRUE(p.allFinite());
      EXPECT_LT(p.x(), 0.12);  // a cell
    }
    EXPECT_NEAR(volume(half), 2 * kPi / 3, 0.3);
  }
  EXPECT_TRUE(field_surface([](const Vec3d&) { return std::nan(""); }, cube(1), coarse()).triangles.empty());
  EXPECT_TRUE(field_surface([](const Vec3d&) { return 0.2; }, cube(1), coarse()).triangles.empty());
}

TEST(FieldSurface, SameBitsForAnyNumberOfThreads) {
  Mesh one, many;
  tbb::task_arena(1).execute([&] { one = field_surface(ball(Vec3d::Zero(), 1), cube(1.3), coarse()); });
  tbb::task_arena(2).execute([&] { many = field_surface(ball(Vec3d::Zero(), 1), cube(1.3), coarse()); });
  EXPECT_EQ(one, many);
}

TEST(FieldSurface, BadBoxesAndOptionsAreErrors) {
  const FieldFunction field = ball(Vec3d::Zero(), 1);
  EXPECT_THROW(field_surface({}, cube(1)), Error);
  EXPECT_THROW(field_surface(field, Eigen::AlignedBox3d()), Error);
  EXPECT_THROW(field_surface(field, {Vec3d(0, 0, 0), Vec3d(1, 0, 1)}), Error);
  EXPECT_THROW(field_surface(field, {Vec3d(0, 0, 0), Vec3d(1, NAN, 1)}), Error);
  EXPECT_THROW(field_surface(field, {Vec3d(0, 0, 0), Vec3d(1, HUGE_VAL, 1)}), Error);
  for (const int cells : {3, 513}) EXPECT_THROW(field_surface(field, cube(1), {cells, 0.5}), Error);
  EXPECT_THROW(field_surface(field, cube(1), {24, std::nan("")}), Error);
}

class TwoBalls : public ::testing::Test {
 protected:
  TwoBalls() {
    options_.width = options_.height = 64;
    options_.quality = ClayQuality::draft;
    camera_.position = {0, 0, 12};
    camera_.tan_half_width = camera_.tan_half_height = 0.2;
  }
  static DrawnField drawn(const Vec3d& middle, double radius, const Rgb& color) {
    return {ball(middle, radius), {middle - Vec3d::Constant(1.3), middle + Vec3d::Constant(1.3)}, color};
  }
  static bool is_red(const Rgb& color) { return color.r > color.b + 40; }
  static bool is_blue(const Rgb& color) { return color.b > color.r + 40; }

  static constexpr Rgb kRed{210, 40, 40}, kBlue{40, 60, 210};
  ClayOptions options_;
  Camera camera_;
};

TEST_F(TwoBalls, EachHasItsColorAndMoves) {
  const std::vector<DrawnField> fields{drawn({-1.2, 0, 0}, 1, kRed), drawn({1.2, 0, 0}, 1, kBlue)};
  const FieldPicture picture(fields, coarse());
  const Image rest = picture.render(camera_, options_);
  EXPECT_TRUE(is_red(rest.at(16, 32)));
  EXPECT_TRUE(is_blue(rest.at(48, 32)));
  const std::vector<Affine3d> swapped{Affine3d(Eigen::Translation3d(2.4, 0, 0)),
                                      Affine3d(Eigen::Translation3d(-2.4, 0, 0))};
  const Image moved = picture.render(camera_, options_, swapped);
  EXPECT_TRUE(is_blue(moved.at(16, 32)));
  EXPECT_TRUE(is_red(moved.at(48, 32)));
  EXPECT_THROW(picture.render(camera_, options_, std::span(swapped).first(1)), Error);
}

TEST_F(TwoBalls, SharedSurfacesAreNotSpeckled) {
  // Both boxes differ, so that the same ball is polygonised in two ways.
  std::vector<DrawnField> fields{drawn({0, 0, 0}, 1, kRed), drawn({0, 0, 0}, 1, kBlue)};
  fields[1].box = {Vec3d(-1.4, -1.25, -1.3), Vec3d(1.3, 1.45, 1.25)};
  const Image image = FieldPicture(fields, coarse()).render(camera_, options_);
  int red = 0, blue = 0;
  for (const Rgb& pixel : image.pixels) {
    red += is_red(pixel);
    blue += is_blue(pixel);
  }
  EXPECT_GT(red, 300);
  EXPECT_EQ(blue, 0);
}

TEST_F(TwoBalls, GhostIsDrawnRound) {
  const std::vector<DrawnField> fields{drawn({0, 0, 0}, 0.5, kRed)};
  const FieldPicture picture(fields, coarse());
  const Mesh skin = test::make_icosphere(3, 1.5f);
  const DrawnSurface surface(skin.view());
  const Image bare = picture.render(camera_, options_);
  options_.ghost.surface = &surface;
  options_.ghost.positions = skin.positions;
  const Image dressed = picture.render(camera_, options_);
  EXPECT_TRUE(is_red(dressed.at(32, 32)));
  EXPECT_NE(dressed.at(48, 32), bare.at(48, 32));
  EXPECT_EQ(dressed.at(2, 32), bare.at(2, 32));
}

TEST_F(TwoBalls, NothingToDrawIsAnError) {
  EXPECT_THROW(FieldPicture({}).render(camera_, options_), Error);
  const std::vector<DrawnField> empty{{[](const Vec3d&) { return 0.0; }, cube(1), kRed}};
  EXPECT_THROW(FieldPicture(empty, coarse()).render(camera_, options_), Error);
  const std::vector<DrawnField> none{{{}, cube(1), kRed}};
  EXPECT_THROW(FieldPicture(none, coarse()), Error);
}

}  // namespace
}  // namespace sinew
