#include <sinew/effects/volume_cells.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "tests/reference/volume.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

struct Shape {
  std::string name;
  std::vector<Vec3d> points;
  std::vector<Triangle> triangles;
};

Shape shape_of(const std::string& name, const Mesh& mesh) {
  Shape shape{name, {}, mesh.triangles};
  for (const Vec3f& p : mesh.positions) shape.points.push_back(p.cast<double>());
  return shape;
}

/// Two tetrahedra that have one vertex in common, or one edge, which then has four triangles.
Shape joined_tetrahedra(bool along_an_edge) {
  Shape shape{along_an_edge ? "joined at an edge" : "joined at a vertex", {}, {}};
  shape.points = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};
  shape.triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  const std::vector<Triangle> second =
      along_an_edge ? std::vector<Triangle>{{0, 4, 3}, {0, 3, 5}, {0, 5, 4}, {3, 4, 5}}
                    : std::vector<Triangle>{{0, 4, 5}, {0, 6, 4}, {0, 5, 6}, {4, 6, 5}};
  shape.triangles.insert(shape.triangles.end(), second.begin(), second.end());
  return shape;
}

/// Closed and open, of one part and several, with handles, and as no surface should be.
std::vector<Shape> shapes() {
  const Mesh sphere = test::make_icosphere(2), torus = test::make_torus(12, 7), cube = test::make_cube();
  const Mesh tube = test::make_tube(8, 12, 0.3f, 2.0f, true), open_tube = test::make_tube(8, 12, 0.3f, 2.0f);
  std::vector<Shape> all{
      shape_of("sphere", sphere),
      shape_of("torus", torus),
      shape_of("cube", cube),
      shape_of("tube", tube),
      shape_of("open tube", open_tube),
      shape_of("three parts",
               test::join(test::join(torus, test::moved(sphere, {0.2f, 0, 0}, 0.5f)), open_tube)),
      shape_of("sheet", test::make_grid(3, 4)),
      joined_tetrahedra(false),
      joined_tetrahedra(true)};
  Shape torn = shape_of("torus with holes", torus);
  torn.triangles.erase(torn.triangles.begin() + 40, torn.triangles.begin() + 43);
  torn.triangles.erase(torn.triangles.begin() + 7);
  all.push_back(torn);
  Shape flipped = shape_of("cube with a face inside out", cube);
  std::swap(flipped.triangles[3][1], flipped.triangles[3][2]);
  all.push_back(flipped);
  Shape fin = shape_of("cube with a wall", cube);
  fin.triangles.push_back({0, 1, 7});
  all.push_back(fin);
  Shape loose = shape_of("sphere with loose vertices", sphere);
  loose.points.insert(loose.points.begin(), Vec3d(3, 4, 5));
  for (Triangle& f : loose.triangles)
    for (std::uint32_t& v : f) ++v;
  loose.points.emplace_back(1, 1, 1);
  all.push_back(loose);
  return all;
}

/// A shape with its vertices hung on anchors at random: some vertex by vertex, so that nearly all triangles
/// have three, others on the nearest.
struct Hung {
  Shape shape;
  std::vector<Vec3d> anchors;
  std::vector<std::uint32_t> anchor_of_vertex;

  Hung(const Shape& whole, std::uint32_t seed) : shape(whole) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    const auto anywhere = [&](double size) {
      return Vec3d(size * unit(random), size * unit(random), size * unit(random));
    };
    for (Vec3d& p : shape.points) p += anywhere(0.1);
    for (std::size_t a = 0; a < 1 + seed % 9; ++a) anchors.push_back(anywhere(0.8));
    const bool nearest = random() % 2 == 0;
    for (const Vec3d& p : shape.points) {
      std::size_t best = random() % anchors.size();
      for (std::size_t a = 0; nearest && a < anchors.size(); ++a)
        if ((anchors[a] - p).norm() < (anchors[best] - p).norm()) best = a;
      anchor_of_vertex.push_back(static_cast<std::uint32_t>(best));
    }
  }
  VolumeCells cells() const { return {shape.triangles, anchor_of_vertex}; }
};

std::vector<Vec3d> with_fans(const VolumeCells& cells, const std::vector<Vec3d>& vertices) {
  std::vector<Vec3d> points = vertices;
  points.resize(cells.point_count(), Vec3d::Constant(std::nan("")));
  cells.place_fans(points);
  return points;
}

std::vector<double> measure(const VolumeCells& cells, const std::vector<Vec3d>& vertices,
                            const std::vector<Vec3d>& anchors) {
  std::vector<double> volumes(cells.cells().size(), std::nan(""));
  cells.measure(with_fans(cells, vertices), anchors, volumes);
  return volumes;
}

/// Of one part, its fans included.
double part_volume(const VolumeCells& cells, const std::vector<Vec3d>& points, std::uint32_t part) {
  std::vector<Triangle> triangles;
  for (std::size_t t = 0; t < cells.surface().triangles.size(); ++t)
    if (cells.surface().part[t] == part) triangles.push_back(cells.surface().triangles[t]);
  return reference::signed_volume(points, triangles);
}

double size_of(const std::vector<double>& volumes) {
  double sum = 0;
  for (const double v : volumes) sum += std::abs(v);
  return sum;
}

const std::uint32_t kSeeds = test::kSanitized ? 9 : 27;

TEST(VolumeCells, AddUpToTheVolumeOfTheirPart) {
  for (const Shape& shape : shapes())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      const Hung hung(shape, seed);
      const VolumeCells cells = hung.cells();
      const std::vector<double> volumes = measure(cells, hung.shape.points, hung.anchors);
      const std::vector<Vec3d> points = with_fans(cells, hung.shape.points);
      std::vector<double> sums(cells.part_count(), 0);
      for (std::size_t c = 0; c < volumes.size(); ++c) sums[cells.cells()[c].part] += volumes[c];
      for (std::uint32_t part = 0; part < cells.part_count(); ++part) {
        const double expected = part_volume(cells, points, part);
        EXPECT_NEAR(sums[part], expected, 1e-12 * std::max(size_of(volumes), std::abs(expected)))
            << shape.name << ", seed " << seed << ", part " << part;
      }
    }
}

TEST(VolumeCells, AreThePolyhedraBetweenSurfaceAndAnchors) {
  std::size_t with_bridges = 0;
  for (const Shape& shape : shapes())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      const Hung hung(shape, seed);
      const VolumeCells cells = hung.cells();
      const std::vector<double> volumes = measure(cells, hung.shape.points, hung.anchors);
      const std::vector<reference::CellVolume> expected =
          reference::cell_volumes(cells.surface(), hung.anchor_of_vertex, hung.shape.points, hung.anchors);
      ASSERT_EQ(volumes.size(), expected.size()) << shape.name << ", seed " << seed;
      std::vector<double> contributed(volumes.size(), 0);
      cells.for_each_contribution(with_fans(cells, hung.shape.points), hung.anchors,
                                  [&](std::uint32_t cell, std::uint32_t triangle, double volume) {
                                    ASSERT_LT(triangle, cells.surface().triangles.size());
                                    EXPECT_EQ(cells.surface().part[triangle], cells.cells()[cell].part);
                                    contributed[cell] += volume;
                                  });
      const double size = size_of(volumes);
      double bridges = 0;
      for (std::size_t c = 0; c < volumes.size(); ++c) {
        EXPECT_EQ(cells.cells()[c].part, expected[c].part);
        EXPECT_EQ(cells.cells()[c].anchor, expected[c].anchor);
        EXPECT_NEAR(volumes[c], expected[c].prisms + expected[c].bridges, 1e-12 * size)
            << shape.name << ", seed " << seed << ", cell " << c;
        EXPECT_NEAR(contributed[c], expected[c].prisms, 1e-12 * size)
            << shape.name << ", seed " << seed << ", cell " << c;
        bridges += std::abs(expected[c].bridges);
      }
      with_bridges += bridges > 1e-3 * size;
    }
  EXPECT_GT(with_bridges, 40u) << "hardly any of the cases had a bridge";
}

TEST(VolumeCells, AreNumberedByPartAndAnchor) {
  for (const Shape& shape : shapes()) {
    const Hung hung(shape, 5);
    const VolumeCells cells = hung.cells();
    std::set<std::uint32_t> used;
    for (const Triangle& f : shape.triangles) used.insert(f.begin(), f.end());
    ASSERT_EQ(cells.cell_of_vertex().size(), cells.point_count());
    EXPECT_EQ(cells.point_count(), shape.points.size() + cells.surface().borders.size());
    for (std::uint32_t v = 0; v < shape.points.size(); ++v) {
      const std::uint32_t cell = cells.cell_of_vertex()[v];
      ASSERT_EQ(cell != VolumeCells::kNone, used.contains(v)) << shape.name << ", vertex " << v;
      if (cell != VolumeCells::kNone) {
        EXPECT_EQ(cells.cells()[cell].anchor, hung.anchor_of_vertex[v]) << shape.name;
      }
    }
    for (std::size_t c = 0; c + 1 < cells.cells().size(); ++c) {
      const VolumeCells::Cell &a = cells.cells()[c], &b = cells.cells()[c + 1];
      EXPECT_LT(std::pair(a.part, a.anchor), std::pair(b.part, b.anchor)) << shape.name;
    }
  }
}

TEST(VolumeCells, MoveWithTheWorld) {
  const Eigen::Isometry3d motion = Eigen::Translation3d(0.4, -2, 1) *
                                   Eigen::AngleAxisd(2.1, Vec3d(1, -2, 0.5).normalized()) *
                                   Eigen::Isometry3d::Identity();
  for (const Shape& shape : shapes())
    for (std::uint32_t seed = 0; seed < 9; ++seed) {
      Hung hung(shape, seed);
      const VolumeCells cells = hung.cells();
      const std::vector<double> before = measure(cells, hung.shape.points, hung.anchors);
      for (Vec3d& p : hung.shape.points) p = motion * p;
      for (Vec3d& a : hung.anchors) a = motion * a;
      const std::vector<double> after = measure(cells, hung.shape.points, hung.anchors);
      for (std::size_t c = 0; c < before.size(); ++c)
        EXPECT_NEAR(after[c], before[c], 1e-12 * size_of(before)) << shape.name << ", seed " << seed;
    }
}

/// A tube whose slices hang on anchors along its axis.
struct SlicedTube {
  Mesh mesh = test::make_tube(10, 40, 0.2f, 2.0f, true);
  std::vector<Vec3d> points, anchors;
  std::vector<std::uint32_t> anchor_of_vertex;

  SlicedTube() {
    for (int a = 0; a < 5; ++a) anchors.emplace_back(0, 0.2 + 0.4 * a, 0);
    for (const Vec3f& p : mesh.positions) {
      points.push_back(p.cast<double>());
      anchor_of_vertex.push_back(std::min(4u, static_cast<std::uint32_t>(p.y() / 0.4f)));
    }
  }
};

TEST(VolumeCells, KeepTheirVolumeWhereNothingNearThemDeforms) {
  const SlicedTube tube;
  const VolumeCells cells(tube.mesh.triangles, tube.anchor_of_vertex);
  ASSERT_EQ(cells.cells().size(), 5u);
  const std::vector<double> before = measure(cells, tube.points, tube.anchors);
  // The last two anchors and all beyond y = 1.3, which is between the seams of the middle cell, move as one;
  // the first anchors stay; in the middle cell the skin is crushed.
  std::mt19937 random(4);
  std::uniform_real_distribution<double> unit(-0.05, 0.05);
  const Eigen::Isometry3d motion = Eigen::Translation3d(0.3, 0.2, 0) *
                                   Eigen::AngleAxisd(1.2, Vec3d(1, 1, 3).normalized()) *
                                   Eigen::Isometry3d::Identity();
  std::vector<Vec3d> points = tube.points, anchors = tube.anchors;
  for (Vec3d& p : points) {
    if (p.y() > 0.91 && p.y() < 1.09) p += Vec3d(unit(random), unit(random), unit(random));
    if (p.y() > 1.09) p = motion * p;
  }
  for (Vec3d& a : anchors)
    if (a.y() > 1.3) a = motion * a;
  const std::vector<double> after = measure(cells, points, anchors);
  EXPECT_NEAR(after[0], before[0], 1e-14);
  EXPECT_NEAR(after[4], before[4], 1e-14);
  EXPECT_GT(std::abs(after[2] - before[2]), 1e-3 * before[2]);
  // Cells beside it stay when the seam's other side and its anchor stay, too.
  EXPECT_NEAR(after[1], before[1], 1e-14);
  EXPECT_GT(std::abs(after[3] - before[3]), 1e-6) << "the seam towards the middle anchor opened";
}

TEST(VolumeCells, OfOneAnchorHaveAllTheVolumeWhereverItIs) {
  const Mesh cube = test::make_cube(2);
  const VolumeCells cells(cube.triangles, std::vector<std::uint32_t>(8, 3));
  ASSERT_EQ(cells.cells().size(), 1u);
  EXPECT_EQ(cells.cells()[0].anchor, 3u);
  std::vector<Vec3d> anchors(4, Vec3d::Zero());
  for (const Vec3d& anchor : {Vec3d(0, 0, 0), Vec3d(0.5, -0.3, 0.9), Vec3d(4, 5, -6)}) {
    anchors[3] = anchor;
    EXPECT_NEAR(measure(cells, shape_of("", cube).points, anchors)[0], 8, 1e-12);
  }
}

TEST(VolumeCells, OfASymmetricTetrahedronAreEqual) {
  // Each corner on an anchor of its own: what their tetrahedron holds is a bridge, a quarter of it each.
  std::vector<Vec3d> points{{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
  std::vector<Triangle> triangles{{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {1, 3, 2}};
  const double volume = 8.0 / 3;
  ASSERT_NEAR(reference::signed_volume(points, triangles), volume, 1e-12);
  const VolumeCells cells(triangles, std::vector<std::uint32_t>{0, 1, 2, 3});
  for (const double size : {0.0, 0.25, 0.5, 1.0, -1.0}) {
    std::vector<Vec3d> anchors = points;
    for (Vec3d& a : anchors) a = size * a + Vec3d(0.5, 0.25, 0.125) * (size == 0 ? 1 : 0);
    double contributed = 0;
    cells.for_each_contribution(points, anchors,
                                [&](std::uint32_t, std::uint32_t, double v) { contributed += v; });
    EXPECT_NEAR(contributed, volume * (1 - size * size * size), 1e-12) << size;
    for (const double v : measure(cells, points, anchors)) {
      if (size == 0)
        EXPECT_TRUE(v > 0 && v < volume / 2) << "the anchors are off the middle";
      else
        EXPECT_NEAR(v, volume / 4, 1e-12) << size;
    }
  }
}

TEST(VolumeCells, BridgesThatTouchInOneAnchorAreOne) {
  // Every vertex on an anchor of its own, in either order; the tetrahedra of the anchors touch in one.
  const Shape shape = joined_tetrahedra(false);
  std::vector<Vec3d> anchors;
  for (const Vec3d& p : shape.points) anchors.push_back(0.3 * p + Vec3d(0.1, 0.2, -0.1));
  for (const bool reversed : {false, true}) {
    std::vector<std::uint32_t> anchor_of_vertex;
    for (std::uint32_t v = 0; v < 7; ++v) anchor_of_vertex.push_back(reversed ? 6 - v : v);
    const VolumeCells cells(shape.triangles, anchor_of_vertex);
    const std::vector<double> volumes = measure(cells, shape.points, anchors);
    const std::vector<reference::CellVolume> expected =
        reference::cell_volumes(cells.surface(), anchor_of_vertex, shape.points, anchors);
    ASSERT_EQ(volumes.size(), expected.size());
    for (std::size_t c = 0; c < volumes.size(); ++c)
      EXPECT_NEAR(volumes[c], expected[c].prisms + expected[c].bridges, 1e-13) << c;
  }
}

TEST(VolumeCells, OfPartsThatShareAnchorsAreApart) {
  const Mesh torus = test::make_torus(10, 6), sphere = test::make_icosphere(1, 0.8f);
  const Hung both(shape_of("both", test::join(torus, sphere)), 8);
  const VolumeCells cells = both.cells();
  ASSERT_EQ(cells.part_count(), 2u);
  const std::vector<double> before = measure(cells, both.shape.points, both.anchors);
  std::vector<Vec3d> points = both.shape.points;
  for (std::size_t v = 0; v < torus.positions.size(); ++v) points[v] *= 1.5;
  const std::vector<double> after = measure(cells, points, both.anchors);
  for (std::size_t c = 0; c < before.size(); ++c)
    if (cells.cells()[c].part == 1) {
      EXPECT_EQ(after[c], before[c]);
    } else {
      EXPECT_NE(after[c], before[c]);
    }

  // Each is what it would be alone.
  const auto middle = static_cast<std::ptrdiff_t>(torus.positions.size());
  const std::vector<std::uint32_t> first(both.anchor_of_vertex.begin(),
                                         both.anchor_of_vertex.begin() + middle);
  const std::vector<std::uint32_t> second(both.anchor_of_vertex.begin() + middle,
                                          both.anchor_of_vertex.end());
  std::vector<double> alone =
      measure({torus.triangles, first}, {both.shape.points.begin(), both.shape.points.begin() + middle},
              both.anchors);
  const std::vector<double> other =
      measure({sphere.triangles, second}, {both.shape.points.begin() + middle, both.shape.points.end()},
              both.anchors);
  alone.insert(alone.end(), other.begin(), other.end());
  ASSERT_EQ(alone.size(), before.size());
  for (std::size_t c = 0; c < before.size(); ++c) EXPECT_NEAR(before[c], alone[c], 1e-13);
}

TEST(VolumeCells, OfOpenTubesEndInFans) {
  const Mesh open = test::make_tube(9, 10, 0.2f, 1.0f), closed = test::make_tube(9, 10, 0.2f, 1.0f, true);
  std::mt19937 random(2);
  std::uniform_real_distribution<double> unit(-0.05, 0.05);
  std::vector<Vec3d> points;
  std::vector<std::uint32_t> anchor_of_vertex;
  for (const Vec3f& p : open.positions) {
    points.push_back(p.cast<double>() + Vec3d(unit(random), unit(random), unit(random)));
    anchor_of_vertex.push_back(p.y() < 0.45f ? 0 : 1);
  }
  const std::vector<Vec3d> anchors{{0, 0.1, 0}, {0, 0.8, 0.1}};
  const std::vector<double> of_open = measure({open.triangles, anchor_of_vertex}, points, anchors);
  // The closed tube's two further vertices, where fans have their middles.
  Vec3d bottom = Vec3d::Zero(), top = Vec3d::Zero();
  for (std::size_t i = 0; i < 9; ++i) bottom += points[i] / 9, top += points[90 + i] / 9;
  points.push_back(bottom), points.push_back(top);
  anchor_of_vertex.push_back(0), anchor_of_vertex.push_back(1);
  const std::vector<double> of_closed = measure({closed.triangles, anchor_of_vertex}, points, anchors);
  ASSERT_EQ(of_open.size(), 2u);
  ASSERT_EQ(of_closed.size(), 2u);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_NEAR(of_open[c], of_closed[c], 1e-14);
}

TEST(VolumeCells, OfNothingAreNone) {
  const VolumeCells cells({}, std::vector<std::uint32_t>(3, 0));
  EXPECT_TRUE(cells.cells().empty());
  EXPECT_EQ(cells.part_count(), 0u);
  EXPECT_EQ(cells.point_count(), 3u);
  EXPECT_EQ(cells.cell_of_vertex()[1], VolumeCells::kNone);
  EXPECT_TRUE(measure(cells, std::vector<Vec3d>(3, Vec3d::Zero()), {Vec3d::Zero()}).empty());
}

TEST(VolumeCells, HaveTheSameBitsOnAnyNumberOfThreads) {
  const Hung hung(shape_of("sphere", test::make_icosphere(3)), 8);
  const VolumeCells cells = hung.cells();
  ASSERT_EQ(cells.cells().size(), 9u);
  std::vector<double> one, four;
  tbb::task_arena(1).execute([&] { one = measure(cells, hung.shape.points, hung.anchors); });
  tbb::task_arena(4).execute([&] { four = measure(cells, hung.shape.points, hung.anchors); });
  EXPECT_EQ(one, four);
}

}  // namespace
}  // namespace sinew
