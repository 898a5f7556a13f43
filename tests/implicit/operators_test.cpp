#include <sinew/implicit/operators.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/implicit/operator_cache.h>

namespace sinew {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

OperatorLibrary& small_library() {
  static OperatorLibrary library(17, 9);
  return library;
}

Operator elbow(OperatorKind kind) {
  return small_library().make(kind, kind == OperatorKind::blend ? angle_response(ResponsePreset::elbow)
                                                                : depth_response(ResponsePreset::elbow));
}

Vec3f at_angle(double alpha, float length) {
  return length * Vec3d(std::cos(alpha), std::sin(alpha), 0).cast<float>();
}

TEST(Operators, UnionIsTheLarger) {
  const Operator join;
  EXPECT_EQ(join.kind(), OperatorKind::union_);
  const FieldSample a{0.3f, {1, 2, 3}}, b{0.6f, {4, 5, 6}}, c{0.3f, {7, 8, 9}};
  EXPECT_EQ(combine(join, a, b).gradient, b.gradient);
  EXPECT_EQ(combine(join, b, a).value, 0.6f);
  EXPECT_EQ(combine(join, a, c).gradient, a.gradient);
  EXPECT_EQ(combine(join, c, a).gradient, c.gradient);
}

TEST(Operators, AFieldAloneIsItself) {
  const FieldSample some{0.37f, {1, -2, 3}};
  for (const OperatorKind kind :
       {OperatorKind::union_, OperatorKind::blend, OperatorKind::contact, OperatorKind::bulge})
    for (const float nothing : {0.0f, -0.0f, -1.0f, kNan})
      for (const bool first : {true, false}) {
        const FieldSample none{nothing, Vec3f::Constant(kNan)};
        const FieldSample joined =
            first ? combine(elbow(kind), some, none) : combine(elbow(kind), none, some);
        EXPECT_EQ(joined.value, some.value);
        EXPECT_EQ(joined.gradient, some.gradient);
        EXPECT_EQ(combine(elbow(kind), none, none).value, 0);
      }
}

TEST(Operators, DepthFollowsTheCurve) {
  for (const OperatorKind kind : {OperatorKind::blend, OperatorKind::contact})
    for (const ResponsePreset preset :
         {ResponsePreset::elbow, ResponsePreset::finger, ResponsePreset::shoulder, ResponsePreset::none}) {
      const bool blends = kind == OperatorKind::blend;
      const ResponseCurve curve = blends ? angle_response(preset) : depth_response(preset);
      const Operator operation = small_library().make(kind, curve);
      for (int i = 0; i <= 2000; ++i) {
        const double alpha = i * std::numbers::pi / 2000;
        const double expected = curve.evaluate(alpha) / (blends ? std::numbers::pi / 4 : 1);
        // Gradients of any length have an angle, in centimetres and in kilometres.
        for (const float length : {1.0f, 1e-4f, 1e5f})
          ASSERT_NEAR(operation.depth(Vec3f(3, 0, 0), at_angle(alpha, length)), expected, 0.002)
              << name_of(preset) << ' ' << alpha;
      }
    }
}

TEST(Operators, GradientsWithoutAnAngleAreAUnions) {
  const Vec3f some(1, 2, 3);
  const Operator contact = small_library().make(OperatorKind::contact, {{0, 1, 2}, {1, 1, 1}, {1, 1}});
  const Operator blend = small_library().make(OperatorKind::blend, {{0, 1, 2}, {0, 0, 0}, {1, 1}});
  EXPECT_EQ(contact.depth(some, some), 1);
  EXPECT_EQ(blend.depth(some, some), 0);
  for (const Vec3f& none :
       {Vec3f(0, 0, 0), Vec3f(1e-30f, 0, 0), Vec3f(kNan, 0, 0), Vec3f(1e30f, 0, 0), Vec3f(kInfinity, 0, 0)}) {
    EXPECT_EQ(contact.depth(some, none), 0);
    EXPECT_EQ(contact.depth(none, some), 0);
    EXPECT_EQ(blend.depth(some, none), 1);
  }
  const FieldSample joined = combine(contact, {0.5f, some}, {0.6f, Vec3f::Zero()});
  EXPECT_EQ(joined.value, contact.table()->evaluate(0.5f, 0.6f, 0).value);
}

TEST(Operators, JoinsByTableAndChainRule) {
  std::mt19937 random(12);
  std::uniform_real_distribution<float> number(0, 1);
  std::uniform_real_distribution<double> angle(0, std::numbers::pi);
  for (const OperatorKind kind : {OperatorKind::blend, OperatorKind::contact, OperatorKind::bulge}) {
    const Operator operation = elbow(kind);
    EXPECT_EQ(operation.kind(), kind);
    for (int i = 0; i < 1000; ++i) {
      const FieldSample a{number(random), at_angle(angle(random), 2)};
      const FieldSample b{number(random), at_angle(angle(random), 3)};
      const FieldSample joined = combine(operation, a, b), exchanged = combine(operation, b, a);
      const OperatorValue g =
          operation.table()->evaluate(a.value, b.value, operation.depth(a.gradient, b.gradient));
      EXPECT_EQ(joined.value, g.value);
      EXPECT_LT((joined.gradient - (g.d1 * a.gradient + g.d2 * b.gradient)).norm(), 1e-5f);
      EXPECT_EQ(joined.value, exchanged.value);
      EXPECT_LT((joined.gradient - exchanged.gradient).norm(), 1e-5f);
    }
  }
}

TEST(Operators, ContactPartsWhatFacesEachOther) {
  // Two surfaces that touch: a union would be inside, contact is the surface.
  const Operator contact = elbow(OperatorKind::contact);
  const FieldSample a{0.6f, {1, 0, 0}}, facing{0.6f, {-1, 0, 0}}, along{0.6f, {1, 0, 0}};
  EXPECT_NEAR(combine(contact, a, facing).value, 0.5, 1e-6);
  EXPECT_GE(combine(contact, a, along).value, 0.6f);
  // Bulges lift the surface where both are just outside.
  const FieldSample c{0.46f, {1, 0, 0}}, d{0.3f, {-1, 0, 0}};
  EXPECT_GT(combine(elbow(OperatorKind::bulge), c, d).value, combine(contact, c, d).value + 0.02f);
  EXPECT_GT(combine(elbow(OperatorKind::bulge), c, d).value, 0.5f);
}

TEST(Operators, RejectsMissingTablesAndBadCurves) {
  EXPECT_THROW(Operator(nullptr, depth_response(ResponsePreset::elbow)), Error);
  ResponseCurve bad = depth_response(ResponsePreset::elbow);
  bad.slopes[0] = -1;
  EXPECT_THROW(small_library().make(OperatorKind::contact, bad), Error);
  // A depth of 1 is no angle of a blend.
  EXPECT_THROW(small_library().make(OperatorKind::blend, depth_response(ResponsePreset::elbow)), Error);
  EXPECT_NO_THROW(small_library().make(OperatorKind::union_, bad));
}

TEST(OperatorLibrary, BuildsEachTableOnce) {
  OperatorLibrary library(9, 3);
  std::vector<std::shared_ptr<const OperatorTable>> tables(64);
  const OperatorProfile drawn{{{0, 0.5}, {0.2, 0.4}, {0.5, 0.5}}, true};
  // Many threads at once, from within parallel work.
  parallel_blocks(tables.size(), 1, [&](std::size_t i, std::size_t) {
    tables[i] = i % 3 == 0   ? library.table(OperatorKind::contact)
                : i % 3 == 1 ? library.table(OperatorKind::bulge)
                             : library.table(drawn);
  });
  for (std::size_t i = 3; i < tables.size(); ++i) {
    EXPECT_EQ(tables[i], tables[i % 3]);
  }
  EXPECT_NE(tables[0], tables[1]);
  EXPECT_EQ(tables[0]->spec().nodes, 9);
  EXPECT_EQ(tables[0]->spec().slices, 3);
  EXPECT_EQ(tables[2]->spec().profile, drawn);
  EXPECT_EQ(tables[2]->spec().kind, OperatorKind::profile);
  EXPECT_EQ(library.make(drawn, depth_response(ResponsePreset::finger)).table(), tables[2]);
}

TEST(OperatorLibrary, AdoptsSavedTables) {
  OperatorTableSpec spec = table_spec(OperatorKind::bulge);
  spec.nodes = 9;
  spec.slices = 3;
  std::vector<OperatorTable::Node> marked = OperatorTable(spec).nodes();
  marked[0].lanes[0] = 0.125f;
  const std::vector<std::byte> bytes = to_bytes(OperatorTable(spec, marked));

  OperatorLibrary library(9, 3);
  EXPECT_EQ(library.key(OperatorKind::bulge), content_key(spec));
  EXPECT_TRUE(library.adopt(bytes));
  EXPECT_FALSE(library.adopt(bytes));
  EXPECT_EQ(library.table(OperatorKind::bulge)->nodes()[0].lanes[0], 0.125f);
  EXPECT_EQ(library.table(OperatorKind::contact)->nodes()[0].lanes[0], 0);
  OperatorLibrary other(11, 3);
  EXPECT_FALSE(other.adopt(bytes));
  OperatorLibrary more_slices(9, 5);
  EXPECT_FALSE(more_slices.adopt(bytes));
  EXPECT_THROW(library.adopt({}), Error);
}

TEST(OperatorLibrary, RejectsWhatHasNoTable) {
  EXPECT_THROW(OperatorLibrary(10, 3), Error);
  EXPECT_THROW(OperatorLibrary(9, 1), Error);
  EXPECT_THROW(small_library().table(OperatorKind::union_), Error);
  EXPECT_THROW(small_library().table(OperatorKind::profile), Error);
  EXPECT_THROW(small_library().table(OperatorProfile{}), Error);
}

}  // namespace
}  // namespace sinew
