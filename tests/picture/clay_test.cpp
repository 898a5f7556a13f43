#include <sinew/picture/clay.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr Rgb kTop{236, 238, 241}, kWhite{255, 255, 255};

ClayOptions small_picture(int size = 64) {
  ClayOptions options;
  options.width = options.height = size;
  options.quality = ClayQuality::draft;
  options.backdrop = {kWhite, kWhite};
  return options;
}

Camera camera_for(const Mesh& mesh, const char* view = "0,0") {
  CameraFit fit(parse_view(view), 1);
  fit.add(mesh.positions);
  return fit.camera();
}

Image picture_of(const Mesh& mesh, const Camera& camera, const ClayOptions& options) {
  return render_clay(DrawnSurface(mesh.view()), {mesh.positions, {}, false}, camera, options);
}

double brightness(const Rgb& color) {
  return (color.r + color.g + color.b) / 3.0;
}

bool is_violet(const Rgb& color) {  // the back faces' colour, in any light
  return color.b > color.g + 8 && color.r + 8 > color.g;
}

TEST(Clay, SphereIsLitAndBackdropIsBackdrop) {
  const Mesh sphere = test::make_icosphere(3);
  ClayOptions options = small_picture();
  options.backdrop = {};
  const Image image = picture_of(sphere, camera_for(sphere), options);
  EXPECT_EQ(image.at(0, 0), kTop);
  EXPECT_EQ(image.at(63, 0), kTop);
  const double middle = brightness(image.at(32, 32));
  EXPECT_GT(middle, 90);
  EXPECT_LT(middle, 245);
  // The key light stands up to the left.
  EXPECT_GT(brightness(image.at(22, 22)), brightness(image.at(42, 42)) + 20);
}

TEST(Clay, SilhouetteIsTheProjectedDisc) {
  const Mesh sphere = test::make_icosphere(4);
  ClayOptions options = small_picture(128);
  options.clay = {0, 0, 0};
  const Camera camera = camera_for(sphere);
  const Image image = picture_of(sphere, camera, options);
  // A unit ball at distance d is seen under the angle asin(1 / d).
  const double distance = camera.position.norm();
  const double radius = std::tan(std::asin(1 / distance)) / camera.tan_half_height * 64;
  int inside = 0;
  for (const Rgb& pixel : image.pixels) inside += linear_from_srgb(pixel).x() < 0.5f;  // half covered
  EXPECT_NEAR(inside / (M_PI * radius * radius), 1, 0.01);
}

TEST(Clay, SameBitsForAnyNumberOfThreads) {
  const Mesh torus = test::make_torus(24, 12);
  ClayOptions options = small_picture(48);
  options.floor = -0.3f;
  options.wireframe = true;
  options.cut = CutPlane{Vec3f::UnitX(), 0.4f};
  const std::vector<DrawnBone> bones{{{0, -1, 0}, {0, 1, 0}, {200, 100, 0}}};
  options.bones = bones;
  const Camera camera = camera_for(torus, "30,30");
  Image one, many;
  tbb::task_arena(1).execute([&] { one = picture_of(torus, camera, options); });
  tbb::task_arena(2).execute([&] { many = picture_of(torus, camera, options); });
  EXPECT_EQ(one, many);
}

TEST(Clay, WiresLieOnEdges) {
  const Mesh grid = test::make_grid(1, 1);  // two triangles; the diagonal rises to the right
  ClayOptions options = small_picture(100);
  const Camera camera = camera_for(grid);
  const Image plain = picture_of(grid, camera, options);
  options.wireframe = true;
  const Image wired = picture_of(grid, camera, options);
  int dark = 0;
  for (int y = 0; y < 100; ++y)
    for (int x = 0; x < 100; ++x) {
      if (brightness(wired.at(x, y)) > brightness(plain.at(x, y)) - 10) continue;
      ++dark;
      double nearest = 1e9;
      const Vec3f corners[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
      const int edges[5][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}};
      for (const auto& edge : edges) {
        const Vec3d a = camera.project(corners[edge[0]].cast<double>()) * 100,
                    b = camera.project(corners[edge[1]].cast<double>()) * 100;
        const Eigen::Vector2d side = (b - a).head<2>(),
                              offset = Eigen::Vector2d(x + 0.5, y + 0.5) - a.head<2>();
        const double share = std::clamp(offset.dot(side) / side.squaredNorm(), 0.0, 1.0);
        nearest = std::min(nearest, (offset - share * side).norm());
      }
      EXPECT_LT(nearest, 2.2) << x << " " << y;
    }
  EXPECT_GT(dark, 300);  // five edges of some 80 pixels
}

TEST(Clay, CutShowsTheInsideAndItsOutline) {
  const Mesh sphere = test::make_icosphere(3);
  ClayOptions options = small_picture();
  const Camera camera = camera_for(sphere);
  EXPECT_FALSE(is_violet(picture_of(sphere, camera, options).at(32, 32)));
  options.cut = CutPlane{Vec3f::UnitZ(), 0.0f};  // the near half goes
  const Image cut = picture_of(sphere, camera, options);
  EXPECT_TRUE(is_violet(cut.at(32, 32)));
  // The outline is a dark circle near the silhouette.
  double darkest = 255;
  for (int x = 0; x < 16; ++x) darkest = std::min(darkest, brightness(cut.at(x, 32)));
  EXPECT_LT(darkest, 110);
  options.cut = CutPlane{-Vec3f::UnitZ(), 0.0f};  // the far half goes: nothing changes in front
  EXPECT_FALSE(is_violet(picture_of(sphere, camera, options).at(32, 32)));
}

TEST(Clay, GhostIsGlassRoundTheSurface) {
  const Mesh sphere = test::make_icosphere(3, 0.5f), shell = test::make_icosphere(3);
  const Camera camera = camera_for(shell);
  ClayOptions options = small_picture(96);
  const Image bare = picture_of(sphere, camera, options);
  const DrawnSurface glass(shell.view());
  std::vector<Vec3f> positions = shell.positions;
  options.ghost.surface = &glass;
  options.ghost.positions = positions;
  const Image dressed = picture_of(sphere, camera, options);
  // Nearly clear in the middle, darker and darker towards the rim, nothing beyond.
  EXPECT_LT(std::abs(brightness(dressed.at(48, 48)) - brightness(bare.at(48, 48))), 30);
  EXPECT_LT(brightness(dressed.at(86, 48)) + 20, brightness(dressed.at(76, 48)));
  EXPECT_EQ(dressed.at(1, 1), kWhite);
  Image one;
  tbb::task_arena(1).execute([&] { one = picture_of(sphere, camera, options); });
  EXPECT_EQ(one, dressed);
  options.cut = CutPlane{Vec3f::UnitX(), 0.0f};
  const Image halved = picture_of(sphere, camera, options);
  EXPECT_EQ(halved.at(86, 48), kWhite);
  EXPECT_NE(halved.at(10, 48), kWhite);
  options.cut.reset();
  for (Vec3f& p : positions)
    if (p.x() > -0.75f) p.x() = NAN;
  const Image rest = picture_of(sphere, camera, options);
  EXPECT_EQ(rest.at(86, 48), kWhite);
  EXPECT_EQ(rest.at(24, 48), kWhite);  // no triangle leads from the rest to where a broken vertex would be
  EXPECT_NE(rest.at(9, 48), kWhite);
  options.ghost.positions = std::span(positions).first(3);
  EXPECT_THROW(picture_of(sphere, camera, options), Error);
}

TEST(Clay, BackFacesHaveTheirOwnColor) {
  // A sphere of which a piece of the front is missing: through the hole one sees the inside.
  const Mesh sphere = test::make_icosphere(3);
  std::vector<Triangle> kept;
  for (const Triangle& f : sphere.triangles)
    if (sphere.positions[f[0]].z() < 0.8f) kept.push_back(f);
  const Mesh holed = make_mesh(sphere.positions, kept);
  const Image image = picture_of(holed, camera_for(sphere), small_picture());
  EXPECT_TRUE(is_violet(image.at(32, 32)));
  EXPECT_FALSE(is_violet(image.at(32, 56)));
}

TEST(Clay, CreasesAreDarker) {
  // Two walls that meet in a corner of 60°.
  const std::vector<Vec3f> positions{{-1, -1, 0},   {-1, 1, 0}, {0, -1, -1.7f},
                                     {0, 1, -1.7f}, {1, -1, 0}, {1, 1, 0}};
  const std::vector<Triangle> triangles{{0, 2, 1}, {1, 2, 3}, {2, 4, 3}, {3, 4, 5}};
  const Mesh walls = make_mesh(positions, triangles);
  const Image image = picture_of(walls, camera_for(walls), small_picture());
  EXPECT_LT(brightness(image.at(33, 32)) + 25, brightness(image.at(52, 32)));
}

TEST(Clay, FloorTakesAShadow) {
  const Mesh sphere = test::make_icosphere(3);
  ClayOptions options = small_picture();
  const Camera camera = camera_for(sphere, "0,30");
  const Image without = picture_of(sphere, camera, options);
  options.floor = -1.0f;
  const Image with = picture_of(sphere, camera, options);
  int darker = 0;
  for (std::size_t i = 0; i < with.pixels.size(); ++i) {
    EXPECT_LE(brightness(with.pixels[i]), brightness(without.pixels[i]) + 1);
    darker += brightness(with.pixels[i]) < brightness(without.pixels[i]) - 20;
  }
  EXPECT_GT(darker, 50);
  options.floor = 100.0f;  // above the camera: not there
  EXPECT_EQ(picture_of(sphere, camera, options), without);
}

TEST(Clay, ColorsAreShown) {
  const Mesh sphere = test::make_icosphere(3);
  std::vector<Rgb> colors;
  for (const Vec3f& p : sphere.positions) colors.push_back(p.x() < 0 ? Rgb{220, 40, 40} : Rgb{40, 60, 220});
  const DrawnSurface surface(sphere.view());
  for (const bool sharp : {false, true}) {
    const Image image =
        render_clay(surface, {sphere.positions, colors, sharp}, camera_for(sphere), small_picture());
    EXPECT_GT(image.at(20, 32).r, image.at(20, 32).b + 40);
    EXPECT_GT(image.at(44, 32).b, image.at(44, 32).r + 40);
  }
}

TEST(Clay, BonesAreDrawnOverTheSurface) {
  const Mesh sphere = test::make_icosphere(3);
  ClayOptions options = small_picture();
  const std::vector<DrawnBone> bones{{{0, -0.8f, 0}, {0, 0.8f, 0}, {20, 200, 20}},
                                     {{NAN, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
  options.bones = bones;
  const Image image = picture_of(sphere, camera_for(sphere), options);
  EXPECT_GT(image.at(32, 42).g, image.at(32, 42).r + 20);
  EXPECT_LT(image.at(52, 32).g, image.at(52, 32).r + 20);
}

TEST(Clay, AnySizeAndPlaceOfTheModelGivesThePicture) {
  const Mesh sphere = test::make_icosphere(2);
  const Image image = picture_of(sphere, camera_for(sphere), small_picture());
  for (const float scale : {1e-6f, 1e6f}) {
    const Mesh other = test::moved(sphere, Vec3f(3, -2, 1) * scale, scale);
    const Image same = picture_of(other, camera_for(other), small_picture());
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      ASSERT_NEAR(brightness(image.pixels[i]), brightness(same.pixels[i]), 40) << scale;
    EXPECT_NEAR(brightness(image.at(32, 32)), brightness(same.at(32, 32)), 3);
  }
}

TEST(Clay, BrokenNumbersAreLeftOut) {
  const Mesh closed = test::make_icosphere(3);
  const Camera camera = camera_for(closed);
  // Open at the back from the first, so that the hole in front does not change what counts as inside.
  std::vector<Triangle> open;
  for (const Triangle& f : closed.triangles)
    if (closed.positions[f[0]].cast<double>().dot(camera.back) > -0.9) open.push_back(f);
  const Mesh sphere = make_mesh(closed.positions, open);
  // The two vertices nearest to the camera.
  std::vector<std::uint32_t> order(sphere.positions.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return sphere.positions[a].cast<double>().dot(camera.back) >
           sphere.positions[b].cast<double>().dot(camera.back);
  });
  std::vector<Vec3f> broken = sphere.positions;
  broken[order[0]] = Vec3f(NAN, 0, 0);
  broken[order[1]] = Vec3f(0, INFINITY, 0);
  std::vector<Triangle> left;
  for (const Triangle& f : sphere.triangles)
    if (std::none_of(f.begin(), f.end(), [&](std::uint32_t v) { return v == order[0] || v == order[1]; }))
      left.push_back(f);
  ASSERT_LT(left.size() + 7, sphere.triangles.size());
  const Image image = render_clay(DrawnSurface(sphere.view()), {broken, {}, false}, camera, small_picture());
  const Image whole = picture_of(sphere, camera, small_picture());
  const Image without = picture_of(make_mesh(sphere.positions, left), camera, small_picture());
  // Through the hole one sees the backdrop, and nowhere else. (Normals at its rim differ.)
  int holes = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      EXPECT_EQ(image.at(x, y) == kWhite, without.at(x, y) == kWhite) << x << ", " << y;
      holes += image.at(x, y) == kWhite && whole.at(x, y) != kWhite;
    }
  EXPECT_GT(holes, 50);
}

TEST(Clay, NothingToDrawIsAnError) {
  const Camera camera;
  EXPECT_THROW(render_clay(DrawnSurface(MeshView{}), {}, camera, small_picture()), Error);
  const Mesh sphere = test::make_icosphere(0);
  const DrawnSurface surface(sphere.view());
  const std::vector<Vec3f> broken(sphere.positions.size(), Vec3f(NAN, NAN, NAN));
  EXPECT_THROW(render_clay(surface, {broken, {}, false}, camera, small_picture()), Error);
  EXPECT_THROW(
      render_clay(surface, {std::span(sphere.positions).first(3), {}, false}, camera, small_picture()),
      Error);
  const std::vector<Rgb> colors(2);
  EXPECT_THROW(render_clay(surface, {sphere.positions, colors, false}, camera, small_picture()), Error);
  ClayOptions options = small_picture();
  options.width = 0;
  EXPECT_THROW(render_clay(surface, {sphere.positions, {}, false}, camera, options), Error);
}

TEST(Clay, ProgressCanStopIt) {
  const Mesh sphere = test::make_icosphere(1);
  EXPECT_THROW(render_clay(DrawnSurface(sphere.view()), {sphere.positions, {}, false}, camera_for(sphere),
                           small_picture(), [](double share) { return share < 0.5; }),
               Cancelled);
}

}  // namespace
}  // namespace sinew
