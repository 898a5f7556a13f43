#include <sinew/geometry/predicates.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace sinew {
namespace {

__extension__ typedef __int128 Wide;

int sign_of(Wide x) {
  return (x > 0) - (x < 0);
}

struct Lattice {
  std::int64_t x, y, z;
};

int exact3d(const Lattice& a, const Lattice& b, const Lattice& c, const Lattice& d) {
  const Wide ax = a.x - d.x, ay = a.y - d.y, az = a.z - d.z;
  const Wide bx = b.x - d.x, by = b.y - d.y, bz = b.z - d.z;
  const Wide cx = c.x - d.x, cy = c.y - d.y, cz = c.z - d.z;
  return sign_of(ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx));
}

Vec3f to_float(const Lattice& p) {
  return {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)};
}

TEST(Orient2d, KnownTurns) {
  const Vec3f a(0, 0, 5), b(1, 0, 6), c(0, 1, 7);
  EXPECT_EQ(orient2d(a, b, c, 0, 1), 1);
  EXPECT_EQ(orient2d(a, c, b, 0, 1), -1);
  EXPECT_EQ(orient2d(a, b, b, 0, 1), 0);
  EXPECT_EQ(orient2d(a, b, c, 1, 0), -1);
}

TEST(Orient2d, ExactWhereDoubleIsNot) {
  // The points (k, k) · ulp-sized steps around a line: the determinant is 1 unit of 2^-46 beside products
  // of 1.
  const float e = std::numeric_limits<float>::epsilon();
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const Vec3f p(0.5f + i * e, 0.5f + j * e, 0), q(12, 12, 0), r(24, 24, 0);
      EXPECT_EQ(orient2d(p, q, r, 0, 1), (i < j) - (j < i)) << i << ' ' << j;
    }
  // Exponents far apart: only the smallest coordinate decides.
  EXPECT_EQ(orient2d({0, 0, 0}, {1e30f, 1e30f, 0}, {1e-30f, std::nextafter(1e-30f, 1.0f), 0}, 0, 1), 1);
  EXPECT_EQ(orient2d({1e-40f, 0, 0}, {1e38f, 1e38f, 0}, {-1e38f, -1e38f, 0}, 0, 1), 1);
  EXPECT_EQ(orient2d({0, 0, 0}, {1e-45f, 0, 0}, {0, 1e-45f, 0}, 0, 1), 1);
}

TEST(Orient3d, KnownSides) {
  const Vec3f a(0, 0, 0), b(1, 0, 0), c(0, 1, 0);
  EXPECT_EQ(orient3d(a, b, c, {0, 0, -1}), 1);  // behind the triangle
  EXPECT_EQ(orient3d(a, b, c, {0, 0, 1}), -1);
  EXPECT_EQ(orient3d(a, b, c, {7, -3, 0}), 0);
  EXPECT_EQ(orient3d(a, b, c, {0, 0, 1e-45f}), -1);
  EXPECT_EQ(orient3d(a, b, c, c), 0);
}

TEST(Orient3d, AgreesWithIntegers) {
  int zeros = 0, others = 0;
  EXPECT_TRUE(rc::check("small lattices, with many coplanar points", [&] {
    const auto coordinate = rc::gen::inRange<std::int64_t>(-3, 4);
    const auto point = [&] { return Lattice{*coordinate, *coordinate, *coordinate}; };
    const Lattice a = point(), b = point(), c = point(), d = point();
    const int expected = exact3d(a, b, c, d);
    ++(expected == 0 ? zeros : others);
    RC_ASSERT(orient3d(to_float(a), to_float(b), to_float(c), to_float(d)) == expected);
  }));
  EXPECT_GT(zeros, 5);
  EXPECT_GT(others, 5);
}

TEST(Orient3d, ExactForNearlyCoplanarPointsWithFullMantissas) {
  int undecided_by_double = 0;
  std::uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>(state >> 41) - (1 << 22);  // 23 bits and a sign
  };
  for (int round = 0; round < 20000; ++round) {
    // d = a + b - c, then moved by at most one unit: as near to the plane as integers can be.
    const Lattice a{next() / 2, next() / 2, next() / 2}, b{next() / 2, next() / 2, next() / 2},
        c{next() / 2, next() / 2, next() / 2};
    Lattice d{a.x + b.x - c.x, a.y + b.y - c.y, a.z + b.z - c.z};
    d.x += round % 3 - 1;
    d.y += round / 3 % 3 - 1;
    const int expected = exact3d(a, b, c, d);
    ASSERT_EQ(orient3d(to_float(a), to_float(b), to_float(c), to_float(d)), expected);
    // Scaled by powers of two it stays what it is.
    ASSERT_EQ(orient3d(0x1p-100f * to_float(a), 0x1p-100f * to_float(b), 0x1p-100f * to_float(c),
                       0x1p-100f * to_float(d)),
              expected);
    undecided_by_double += expected == 0;
  }
  EXPECT_GT(undecided_by_double, 1000);
}

TEST(Orient3d, ExactAcrossTheWholeRangeOfFloats) {
  // The plane x + y + z = 0 through points of very different size; the last point is off by the tiniest
  // float.
  const Vec3f a(1e30f, -1e30f, 0), b(1, 0, -1), c(0, 1e-20f, -1e-20f);
  EXPECT_EQ(orient3d(a, b, c, {0, 0, 0}), 0);
  EXPECT_EQ(orient3d(a, b, c, {1e-45f, 0, 0}), -orient3d(a, b, c, {-1e-45f, 0, 0}));
  EXPECT_NE(orient3d(a, b, c, {1e-45f, 0, 0}), 0);
  EXPECT_EQ(orient3d(a, b, c, {1e-45f, 0, 0}), orient3d(a, b, c, {1e30f, 1e30f, 1e30f}));
}

TEST(Collinear, Cases) {
  EXPECT_TRUE(collinear({0, 0, 0}, {1, 2, 3}, {2, 4, 6}));
  EXPECT_TRUE(collinear({1, 1, 1}, {1, 1, 1}, {5, 3, 2}));
  EXPECT_FALSE(collinear({0, 0, 0}, {1, 2, 3}, {2, 4, std::nextafter(6.0f, 7.0f)}));
  EXPECT_FALSE(collinear({0, 0, 0}, {1e-30f, 0, 0}, {0, 1e-30f, 0}));
}

}  // namespace
}  // namespace sinew
