#include <sinew/implicit/bone_field.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/implicit/compact_support.h>

#include "tests/reference/implicit_fields.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A limb along y of radius 0.1, and the part of it between two heights, with its bone in the middle.
struct Limb {
  Mesh mesh;
  std::vector<Vec3d> normals;
  BonePart part;

  BoneField field(const BoneFieldOptions& options) const {
    return make_bone_field(mesh.view(), normals, part, options);
  }
};

constexpr double kRadius = 0.1;

Limb make_limb(double from = 0.3, double to = 0.7) {
  Limb limb{test::make_tube(24, 40, static_cast<float>(kRadius), 1.0f), {}, {}};
  for (const Vec3f& p : limb.mesh.positions) limb.normals.push_back(Vec3d(p.x(), 0, p.z()).normalized());
  for (std::uint32_t t = 0; t < limb.mesh.triangles.size(); ++t) {
    double middle = 0;
    for (const std::uint32_t v : limb.mesh.triangles[t])
      middle += limb.mesh.positions[v].cast<double>().y() / 3;
    if (middle > from && middle < to) limb.part.triangles.push_back(t);
  }
  BoneSegment bone;
  bone.head = {0, from, 0};
  bone.tail = {0, to, 0};
  limb.part.segments = {bone};
  return limb;
}

Limb moved(Limb limb, const Affine3d& transform) {
  for (Vec3f& p : limb.mesh.positions) p = (transform * p.cast<double>()).cast<float>();
  for (Vec3d& n : limb.normals) n = (transform.linear() * n).normalized();
  for (BoneSegment& s : limb.part.segments) s.head = transform * s.head, s.tail = transform * s.tail;
  return limb;
}

BoneFieldOptions coarse_grid() {
  BoneFieldOptions options;
  options.grid_nodes = 1000;
  return options;
}

double nearest_vertex(const Mesh& mesh, const Vec3d& x) {
  double least = std::numeric_limits<double>::infinity();
  for (const Vec3f& p : mesh.positions) least = std::min(least, (p.cast<double>() - x).norm());
  return least;
}

// Distance to all that a field is made of.
double distance_to_source(const BoneField& field, const Vec3d& x) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto* points : {&field.samples, &field.closures})
    for (const HermitePoint& p : *points) least = std::min(least, (p.position - x).norm());
  for (const BoneSegment& s : field.segments)
    for (int i = 0; i <= 100; ++i) least = std::min(least, (s.head + (s.tail - s.head) * i / 100 - x).norm());
  return least;
}

// Between 0 and 1, no NaN, and zero far away, in the exact field and in the grid.
void expect_sound(const BoneField& field, const std::string& name) {
  ASSERT_GT(field.radius, 0) << name;
  ASSERT_FALSE(field.grid.empty()) << name;
  for (const FieldGrid::Node& node : field.grid.nodes()) {
    ASSERT_TRUE(node.value >= 0 && node.value <= 1) << name;
    ASSERT_TRUE(std::isfinite(node.gx) && std::isfinite(node.gy) && std::isfinite(node.gz)) << name;
  }
  std::mt19937 random(17);
  std::uniform_real_distribution<double> number(-1, 1);
  const Vec3d center = field.samples[0].position;
  for (int i = 0; i < 200; ++i) {
    const Vec3d x =
        center + (i % 3 + 1) * field.radius * Vec3d(number(random), number(random), number(random));
    const HermiteRbf::Value f = field.evaluate(x);
    ASSERT_TRUE(f.distance >= 0 && f.distance <= 1) << name;
    ASSERT_TRUE(f.gradient.allFinite()) << name;
    ASSERT_EQ(f.distance, field.value(x));
  }
  for (const double far : {1e2, 1e6, 1e12}) {
    const Vec3d x = center + far * field.radius * Vec3d(1, 2, -1);
    EXPECT_EQ(field.value(x), 0) << name;
    EXPECT_TRUE(field.evaluate(x).gradient.isZero());
    EXPECT_EQ(field.grid.sample_rest(x).value, 0);
  }
}

TEST(BoneField, SurfaceIsAtOneHalf) {
  const Limb limb = make_limb();
  const BoneField field = limb.field(coarse_grid());
  expect_sound(field, "limb");
  EXPECT_NEAR(static_cast<double>(field.samples.size()), 60, 12);
  EXPECT_NEAR(field.radius, kRadius, 0.01 * kRadius);
  for (const HermitePoint& sample : field.samples) EXPECT_NEAR(field.value(sample.position), 0.5, 1e-9);
  double worst = 0;
  for (const std::uint32_t t : limb.part.triangles)
    for (const std::uint32_t v : limb.mesh.triangles[t]) {
      const Vec3d x = limb.mesh.positions[v].cast<double>();
      if (std::abs(x.y() - 0.5) > 0.18) continue;  // the last row next to the joint
      // How far the surface is from the vertex, in radii.
      worst = std::max(worst, std::abs(field.value(x) - 0.5) * 16 / 15);
      const Vec3d radial = Vec3d(x.x(), 0, x.z()) / kRadius;
      EXPECT_GT(field.value(x - 0.02 * radial), 0.55);
      EXPECT_LT(field.value(x + 0.02 * radial), 0.45);
      EXPECT_LT(field.evaluate(x).gradient.normalized().dot(radial), -0.98);  // inwards
    }
  EXPECT_LT(worst, 0.02);
}

TEST(BoneField, IsTheSupportOfTheTwinsDistance) {
  const BoneField field = make_limb().field([] {
    BoneFieldOptions options = coarse_grid();
    options.samples = 20;
    return options;
  }());
  std::vector<HermitePoint> points = field.samples;
  points.insert(points.end(), field.closures.begin(), field.closures.end());
  const reference::HermiteRbf twin(points);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  int count = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vec3d x(0.15 * number(random), 0.5 + 0.2 * number(random), 0.15 * number(random));
    const double d = twin.distance(x);
    // Just outside, where it does not fade yet, nothing is added to the papers' formula.
    if (d < 0 || d > 0.02 * field.radius) continue;
    ++count;
    EXPECT_NEAR(field.value(x), reference::compact_support(d, field.radius), 1e-9);
  }
  EXPECT_GT(count, 15);
}

TEST(BoneField, ClosesItsEndsAtTheDistanceOfTheSkin) {
  for (const bool head : {true, false})
    for (const bool tail : {true, false}) {
      Limb limb = make_limb();
      // Off the axis, so that the two joints have different distances.
      limb.part.segments[0].head.x() = 0.03;
      limb.part.segments[0].close_head = head;
      limb.part.segments[0].close_tail = tail;
      const BoneField field = limb.field(coarse_grid());
      const BoneSegment& bone = limb.part.segments[0];
      const Vec3d direction = (bone.tail - bone.head).normalized();
      std::vector<HermitePoint> expected;
      if (head)
        expected.push_back({bone.head - nearest_vertex(limb.mesh, bone.head) * direction, -direction});
      if (tail) expected.push_back({bone.tail + nearest_vertex(limb.mesh, bone.tail) * direction, direction});
      ASSERT_EQ(field.closures.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR((field.closures[i].position - expected[i].position).norm(), 0, 1e-9);
        EXPECT_NEAR((field.closures[i].normal - expected[i].normal).norm(), 0, 1e-9);
        EXPECT_NEAR(field.value(expected[i].position), 0.5, 1e-9);
      }
    }
}

TEST(BoneField, CapsRoundJointsAreWhole) {
  // There are no samples on them, and still nothing is missing: the distance's surface is at one half.
  for (const double half : {0.1, 0.2, 0.4})
    for (const int samples : {30, 60}) {
      BoneFieldOptions options = coarse_grid();
      options.samples = samples;
      const Limb limb = make_limb(0.5 - half, 0.5 + half);
      const BoneField field = limb.field(options);
      const Vec3d joint = limb.part.segments[0].tail;
      for (int i = 0; i < 200; ++i) {
        const double up = (i + 0.5) / 200, turn = 2.4 * i, flat = std::sqrt(1 - up * up);
        const Vec3d ray(flat * std::cos(turn), up, flat * std::sin(turn));
        double low = 0, high = 1.5 * kRadius;
        ASSERT_LT(field.rbf.distance(joint), 0);
        ASSERT_GT(field.rbf.distance(joint + high * ray), 0);
        for (int k = 0; k < 40; ++k)
          (field.rbf.distance(joint + (low + high) / 2 * ray) < 0 ? low : high) = (low + high) / 2;
        const HermiteRbf::Value f = field.evaluate(joint + high * ray);
        ASSERT_NEAR(f.distance, 0.5, 0.01) << half << ' ' << samples << ' ' << up;
        ASSERT_LT(f.gradient.normalized().dot(ray), -0.9);
      }
    }
}

TEST(BoneField, ClosuresFollowTheOptions) {
  Limb limb = make_limb();
  limb.part.segments[0].tail_direction = {0, 3, 4};
  BoneFieldOptions options = coarse_grid();
  options.closure_head = 0.5;
  options.closure_tail = 0.8;
  const BoneField field = limb.field(options);
  ASSERT_EQ(field.closures.size(), 2u);
  const double skin = nearest_vertex(limb.mesh, {0, 0.3, 0}), other = nearest_vertex(limb.mesh, {0, 0.7, 0});
  EXPECT_NEAR((field.closures[0].position - Vec3d(0, 0.3 - 0.5 * skin, 0)).norm(), 0, 1e-9);
  EXPECT_NEAR((field.closures[1].position - Vec3d(0, 0.7, 0) - 0.8 * other * Vec3d(0, 0.6, 0.8)).norm(), 0,
              1e-9);
  options.closure_head = options.closure_tail = 0;
  EXPECT_TRUE(limb.field(options).closures.empty());
}

TEST(BoneField, DropsSamplesNextToAnotherPartOnly) {
  const auto positions = [](const BoneField& field) {
    std::vector<std::array<double, 3>> all;
    for (const HermitePoint& p : field.samples)
      all.push_back({p.position.x(), p.position.y(), p.position.z()});
    std::sort(all.begin(), all.end());
    return all;
  };
  const Limb limb = make_limb();
  BoneFieldOptions every = coarse_grid(), culled = coarse_grid();
  every.samples = culled.samples = 150;
  every.cull = 0;
  culled.cull = 0.2;
  const auto all = positions(limb.field(every)), kept = positions(limb.field(culled));
  EXPECT_TRUE(std::includes(all.begin(), all.end(), kept.begin(), kept.end()));
  std::vector<std::array<double, 3>> dropped;
  std::set_difference(all.begin(), all.end(), kept.begin(), kept.end(), std::back_inserter(dropped));
  EXPECT_GT(dropped.size(), 8u);
  EXPECT_LT(dropped.size(), all.size() / 2);
  const auto along_bone = [](const std::array<double, 3>& p) { return (p[1] - 0.3) / 0.4; };
  for (const auto& p : dropped) {
    EXPECT_TRUE(along_bone(p) < 0.2 || along_bone(p) > 0.8);
    EXPECT_TRUE(p[1] < 0.3 + 0.5 * kRadius || p[1] > 0.7 - 0.5 * kRadius);
  }
  for (const auto& p : kept) EXPECT_TRUE(along_bone(p) > 0.01 && along_bone(p) < 0.99) << p[1];

  // Ends that are not closed keep theirs.
  Limb open = limb;
  open.part.segments[0].close_tail = false;
  const auto tail_kept = positions(open.field(culled));
  for (const auto& p : all) {
    if (p[1] < 0.5) continue;
    EXPECT_TRUE(std::binary_search(tail_kept.begin(), tail_kept.end(), p));
  }

  // A part that is the whole mesh has no neighbour.
  const Limb whole = make_limb(-1, 2);
  Limb short_bone = whole;
  short_bone.part.segments[0].head = {0, 0.05, 0};
  short_bone.part.segments[0].tail = {0, 0.95, 0};
  EXPECT_EQ(positions(short_bone.field(every)), positions(short_bone.field(culled)));
}

TEST(BoneField, NeverDropsTooMany) {
  // A bone much shorter than its part: nearly all samples are beyond its ends.
  Limb limb = make_limb(0.45, 0.55);
  limb.part.segments[0].head = {0, 0.499, 0};
  limb.part.segments[0].tail = {0, 0.501, 0};
  BoneFieldOptions every = coarse_grid();
  every.cull = 0;
  EXPECT_GE(2.6 * static_cast<double>(limb.field(coarse_grid()).samples.size()),
            static_cast<double>(limb.field(every).samples.size()));
  expect_sound(limb.field(coarse_grid()), "short bone");
}

TEST(BoneField, GradientIsTheDerivative) {
  Limb third = make_limb();  // of the circumference
  std::erase_if(third.part.triangles, [&](std::uint32_t t) {
    return third.mesh.positions[third.mesh.triangles[t][0]].x() < 0.05f;
  });
  BoneFieldOptions flat = coarse_grid();
  flat.deepen = false;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const Limb& limb : {make_limb(), third})
    for (const BoneFieldOptions& options : {coarse_grid(), flat}) {
      const BoneField field = limb.field(options);
      EXPECT_EQ(field.deepening > 0, options.deepen);
      int inside = 0, fading = 0, off = 0, off_fading = 0;
      for (int i = 0; i < 3000; ++i) {
        const Vec3d x(0.25 * number(random), 0.5 + 0.4 * number(random), 0.25 * number(random));
        const HermiteRbf::Value f = field.evaluate(x);
        if (!(f.distance > 1e-3)) continue;
        const double h = 1e-6;
        Vec3d difference;
        for (int axis = 0; axis < 3; ++axis)
          difference[axis] =
              (field.value(x + h * Vec3d::Unit(axis)) - field.value(x - h * Vec3d::Unit(axis))) / (2 * h);
        const double d = field.rbf.distance(x);
        const bool fades = d > 0 && f.distance < compact_support(d, field.radius) * 0.999;
        const bool wrong = (f.gradient - difference).norm() > 1e-4;
        (fades ? fading : inside)++;
        (fades ? off_fading : off) += wrong ? 1 : 0;
      }
      EXPECT_GT(inside, 300);
      EXPECT_GT(fading, 15);
      EXPECT_EQ(off, 0);
      EXPECT_LT(off_fading, 0.01 * fading + 1);  // where another sample becomes the nearest it has a crease
    }
}

TEST(BoneField, EndsWhereItsPartDoes) {
  // A third of a circumference: the distance alone would close it several radii away.
  Limb limb = make_limb();
  std::erase_if(limb.part.triangles,
                [&](std::uint32_t t) { return limb.mesh.positions[limb.mesh.triangles[t][0]].x() < 0.05f; });
  const BoneField field = limb.field({});
  expect_sound(field, "third");
  std::mt19937 random(6);
  std::uniform_real_distribution<double> number(-1, 1);
  int beyond = 0, would_be = 0;
  for (int i = 0; i < 3000; ++i) {
    const Vec3d x = Vec3d(0, 0.5, 0) + 0.5 * Vec3d(number(random), number(random), number(random));
    if (distance_to_source(field, x) < 1.6 * field.radius) continue;
    ++beyond;
    would_be += field.rbf.distance(x) < field.radius ? 1 : 0;
    EXPECT_EQ(field.value(x), 0);
    EXPECT_TRUE(field.evaluate(x).gradient.isZero());
    // Cells reach a little farther.
    if (distance_to_source(field, x) > 1.9 * field.radius) {
      EXPECT_EQ(field.grid.sample_rest(x).value, 0);
    }
  }
  EXPECT_GT(beyond, 500);
  EXPECT_GT(would_be, 10);
}

TEST(BoneField, DeepeningMakesTheBoneNearlyOne) {
  const double least = compact_support(-0.5, 1.0), most = compact_support(-0.75, 1.0);
  BoneFieldOptions flat = coarse_grid();
  flat.deepen = false;
  for (const double half : {0.15, 0.2, 0.4}) {
    const Limb limb = make_limb(0.5 - half, 0.5 + half);
    const BoneField deep = limb.field(coarse_grid()), plain = limb.field(flat);
    EXPECT_GT(deep.deepening, 0);
    EXPECT_EQ(plain.deepening, 0);
    const Vec3d middle(0, 0.5, 0);
    EXPECT_GT(deep.value(middle), least);
    EXPECT_LT(deep.value(middle), most);
    EXPECT_GE(deep.value(middle), plain.value(middle));
    // Outside and on the surface nothing changes; inside it grows all the way to the bone.
    double before = 0;
    for (int i = 0; i <= 40; ++i) {
      const Vec3d x(0.18 * (40 - i) / 40, 0.5, 0);
      if (deep.rbf.distance(x) >= 0) {
        EXPECT_EQ(deep.value(x), plain.value(x));
      }
      EXPECT_GE(deep.value(x), before - 1e-3);
      before = deep.value(x);
    }
  }
}

TEST(BoneField, SizeAndPlaceDoNotMatter) {
  const Limb limb = make_limb();
  const BoneField plain = limb.field(coarse_grid());
  for (const double scale : {1e-3, 1e3}) {
    const Affine3d transform(Eigen::Scaling(scale));
    const BoneField field = moved(limb, transform).field(coarse_grid());
    ASSERT_EQ(field.samples.size(), plain.samples.size());
    EXPECT_NEAR(field.radius / scale, plain.radius, 1e-6);
    EXPECT_NEAR(field.deepening, plain.deepening, 1e-3 * plain.deepening);
    EXPECT_EQ(field.grid.size(), plain.grid.size());
    std::mt19937 random(7);
    std::uniform_real_distribution<double> number(-1, 1);
    for (int i = 0; i < 300; ++i) {
      const Vec3d x(0.2 * number(random), 0.5 + 0.4 * number(random), 0.2 * number(random));
      EXPECT_NEAR(field.value(scale * x), plain.value(x), 1e-4);
      EXPECT_NEAR((scale * field.evaluate(scale * x).gradient - plain.evaluate(x).gradient).norm(), 0, 0.02);
      EXPECT_NEAR(field.grid.sample_rest(scale * x).value, plain.grid.sample_rest(x).value, 1e-3);
    }
  }
  // Turned and moved it draws other samples, since floats are rounded otherwise, of the same surface.
  const Affine3d turn(Eigen::Translation3d(3, 1, -2) * Eigen::AngleAxisd(1.2, Vec3d(1, 2, 3).normalized()));
  const BoneField turned = moved(limb, turn).field(coarse_grid());
  for (int i = 0; i < 50; ++i) {
    const Vec3d x = Vec3d(0.08 * std::cos(i), 0.4 + 0.004 * i, 0.08 * std::sin(i));
    EXPECT_NEAR(turned.value(turn * x), plain.value(x), 0.05);
  }
}

TEST(BoneField, SameEveryTime) {
  const Limb limb = make_limb();
  const BoneField a = limb.field(coarse_grid()), b = limb.field(coarse_grid());
  ASSERT_EQ(a.grid.nodes().size(), b.grid.nodes().size());
  for (std::size_t i = 0; i < a.grid.nodes().size(); ++i) {
    ASSERT_EQ(a.grid.nodes()[i].value, b.grid.nodes()[i].value);
    ASSERT_EQ(a.grid.nodes()[i].gx, b.grid.nodes()[i].gx);
  }
}

TEST(BoneField, GridIsNearTheExactField) {
  const Limb limb = make_limb();
  BoneFieldOptions options;
  options.grid_nodes = 40000;
  const BoneField field = limb.field(options);
  std::mt19937 random(8);
  std::uniform_real_distribution<double> number(-1, 1);
  double value = 0, gradient = 0, mean = 0, mean_gradient = 0;
  int count = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vec3d x(0.22 * number(random), 0.5 + 0.45 * number(random), 0.22 * number(random));
    const HermiteRbf::Value exact = field.evaluate(x);
    const FieldSample s = field.grid.sample_rest(x);
    const double error = std::abs(static_cast<double>(s.value) - exact.distance);
    const double gradient_error = (s.gradient.cast<double>() - exact.gradient).norm() * field.radius;
    value = std::max(value, error);
    gradient = std::max(gradient, gradient_error);
    mean += error, mean_gradient += gradient_error, ++count;
  }
  EXPECT_LT(value, 0.05);
  EXPECT_LT(mean / count, 0.004);
  EXPECT_LT(gradient, 0.8);
  EXPECT_LT(mean_gradient / count, 0.03);

  // At its nodes it is exact, but for floats.
  const Affine3d rest_from_grid = field.grid.grid_from_rest().inverse();
  const auto& size = field.grid.size();
  EXPECT_NEAR(static_cast<double>(field.grid.nodes().size()), 40000, 12000);
  int off = 0;
  for (int i = 0; i < 500; ++i) {
    std::array<int, 3> n{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      n[axis] = static_cast<int>(random() % static_cast<unsigned>(size[axis]));
    const FieldGrid::Node& node = field.grid.nodes()[field.grid.index(n[0], n[1], n[2])];
    const HermiteRbf::Value exact = field.evaluate(rest_from_grid * Vec3d(n[0], n[1], n[2]));
    EXPECT_NEAR(node.value, exact.distance, 1e-4);
    const Vec3d by_rest =
        field.grid.grid_from_rest().linear().transpose() * Vec3f(node.gx, node.gy, node.gz).cast<double>();
    off += (by_rest - exact.gradient).norm() * field.radius > 1e-3 ? 1 : 0;
    const bool border = n[0] == 0 || n[1] == 0 || n[2] == 0 || n[0] == size[0] - 1 || n[1] == size[1] - 1 ||
                        n[2] == size[2] - 1;
    if (border) {
      EXPECT_LT(node.value, 1e-6f);
    }
  }
  EXPECT_LE(off, 5);  // where two samples are as near, the fade has a crease
}

TEST(BoneField, SeveralSegments) {
  // A palm: one head, three tails.
  Limb limb = make_limb();
  limb.part.segments.clear();
  for (const double x : {-0.06, 0.0, 0.06}) {
    BoneSegment segment;
    segment.head = {0, 0.3, 0};
    segment.tail = {x, 0.7, 0};
    segment.close_head = false;
    limb.part.segments.push_back(segment);
  }
  const BoneField field = limb.field(coarse_grid());
  expect_sound(field, "palm");
  EXPECT_EQ(field.closures.size(), 3u);
  EXPECT_EQ(field.segments.size(), 3u);
  EXPECT_LE(field.radius, kRadius * 1.01);
  EXPECT_GT(field.value({0, 0.5, 0}), 0.6);
}

TEST(BoneField, PartsOfOneTriangle) {
  const Mesh mesh =
      make_mesh({Vec3f(0, 0, 0), Vec3f(0.1f, 0, 0), Vec3f(0, 0.1f, 0)}, std::vector<Triangle>{{0, 1, 2}});
  const std::vector<Vec3d> normals(3, Vec3d::UnitZ());
  BonePart part;
  part.triangles = {0};
  for (const Vec3d& tail : {Vec3d(0.05, 0.05, -0.05), Vec3d(0, 0, -0.05), Vec3d(0, 0.2, -0.05)}) {
    BoneSegment bone;
    bone.head = {0, 0, -0.05};
    bone.tail = tail;
    part.segments = {bone};
    for (const int samples : {-5, 0, 4, 60}) {
      BoneFieldOptions options = coarse_grid();
      options.samples = samples;
      const BoneField field = make_bone_field(mesh.view(), normals, part, options);
      expect_sound(field, "triangle");
      EXPECT_NEAR(field.value({0.03, 0.03, 0}), 0.5, 0.05);
      EXPECT_GT(field.value({0.03, 0.03, -0.01}), 0.5);
      EXPECT_LT(field.value({0.03, 0.03, 0.01}), 0.5);
    }
  }
}

TEST(BoneField, BonesWithoutLengthAndOutside) {
  Limb limb = make_limb();
  limb.part.segments[0].tail = limb.part.segments[0].head = {0, 0.5, 0};
  expect_sound(limb.field(coarse_grid()), "no length");
  EXPECT_TRUE(limb.field(coarse_grid()).closures.empty());
  EXPECT_GT(limb.field(coarse_grid()).value({0, 0.5, 0}), 0.5);

  limb = make_limb();
  for (Vec3d* end : {&limb.part.segments[0].head, &limb.part.segments[0].tail}) end->x() += 0.5;
  const BoneField outside = limb.field(coarse_grid());
  expect_sound(outside, "outside");
  for (const HermitePoint& sample : outside.samples) EXPECT_NEAR(outside.value(sample.position), 0.5, 1e-9);

  // A joint right on a vertex has no room to close in.
  limb = make_limb();
  limb.part.segments[0].head = limb.mesh.positions[300].cast<double>();
  expect_sound(limb.field(coarse_grid()), "joint in the skin");
}

TEST(BoneField, NothingToMakeAFieldOf) {
  const Limb limb = make_limb();
  const auto expect_empty = [](const BoneField& field) {
    EXPECT_EQ(field.radius, 0);
    EXPECT_TRUE(field.grid.empty());
    EXPECT_EQ(field.value({0, 0.5, 0}), 0);
    EXPECT_TRUE(field.evaluate({0, 0.5, 0}).gradient.isZero());
  };
  Limb none = limb;
  none.part.triangles.clear();
  expect_empty(none.field(coarse_grid()));
  none = limb;
  none.part.segments.clear();
  expect_empty(none.field(coarse_grid()));
  none = limb;  // no area
  for (Vec3f& p : none.mesh.positions) p.setZero();
  expect_empty(none.field(coarse_grid()));
  none = limb;
  none.part.segments[0].tail.y() = kNan;
  expect_empty(none.field(coarse_grid()));
  expect_empty(BoneField());
}

TEST(BoneField, VerticesWithoutNormalTakeTheTriangles) {
  Limb limb = make_limb();
  const BoneField with = limb.field(coarse_grid());
  std::fill(limb.normals.begin(), limb.normals.end(), Vec3d::Zero());
  const BoneField without = limb.field(coarse_grid());
  expect_sound(without, "no normals");
  for (int i = 0; i < 20; ++i) {
    const Vec3d x(0.12 * std::cos(i), 0.5, 0.12 * std::sin(i));
    EXPECT_NEAR(with.value(x), without.value(x), 0.05);
  }
}

TEST(BoneField, SamplesAreAddedAndRemoved) {
  const Limb limb = make_limb();
  const std::size_t plain = limb.field(coarse_grid()).samples.size();
  BoneFieldOptions options = coarse_grid();
  options.added = {Vec3d(0.3, 0.5, 0), Vec3d(0, 5, 5)};
  const BoneField more = limb.field(options);
  ASSERT_EQ(more.samples.size(), plain + 2);
  EXPECT_NEAR((more.samples[plain].position - Vec3d(0.1, 0.5, 0)).norm(), 0, 1e-6);
  for (std::size_t i = plain; i < plain + 2; ++i) {  // at vertices of the part
    EXPECT_LT(nearest_vertex(limb.mesh, more.samples[i].position), 1e-6);
    EXPECT_LT(more.samples[i].position.y(), 0.726);
    EXPECT_NEAR(more.value(more.samples[i].position), 0.5, 1e-9);
  }
  expect_sound(more, "added");
  options = coarse_grid();
  options.removed = {{{0.1, 0.5, 0}, 0.08}};
  const BoneField fewer = limb.field(options);
  EXPECT_LT(fewer.samples.size(), plain);
  for (const HermitePoint& sample : fewer.samples)
    EXPECT_GT((sample.position - Vec3d(0.1, 0.5, 0)).norm(), 0.08);
  options.removed = {{{0, 0.5, 0}, 10}};
  EXPECT_EQ(limb.field(options).radius, 0);
}

TEST(BoneField, OptionsOutOfReasonStillGiveFields) {
  const Limb limb = make_limb();
  for (const int nodes : {-1, 0, 1, 300}) {
    BoneFieldOptions options;
    options.grid_nodes = nodes;
    expect_sound(limb.field(options), "nodes " + std::to_string(nodes));
  }
  for (const double cull : {-1.0, 0.5, 2.0}) {
    BoneFieldOptions options = coarse_grid();
    options.cull = cull;
    expect_sound(limb.field(options), "cull " + std::to_string(cull));
  }
  for (const double support : {0.1, 5.0}) {
    BoneFieldOptions options = coarse_grid();
    options.support = support;
    expect_sound(limb.field(options), "support " + std::to_string(support));
  }
}

TEST(BoneField, SheetsAndSpikes) {
  // Two sheets back to back, a hair apart, and a long thin triangle: parts of clothes and hair.
  const Mesh front = test::make_grid(6, 6, 0.2f, 0.2f);
  Mesh mesh = test::join(front, test::moved(front, Vec3f(0, 0, -1e-4f)));
  std::vector<Vec3d> normals(mesh.positions.size(), Vec3d::UnitZ());
  std::fill(normals.begin() + static_cast<std::ptrdiff_t>(front.positions.size()), normals.end(),
            -Vec3d::UnitZ());
  BonePart part;
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) part.triangles.push_back(t);
  BoneSegment bone;
  bone.head = {0.1, 0, 0};
  bone.tail = {0.1, 0.2, 0};
  part.segments = {bone};
  expect_sound(make_bone_field(mesh.view(), normals, part, coarse_grid()), "sheets");
  for (Vec3f& p : mesh.positions) p.x() *= 1e-3f;
  expect_sound(make_bone_field(mesh.view(), normals, part, coarse_grid()), "spike");
}

}  // namespace
}  // namespace sinew
