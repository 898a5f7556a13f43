#include <sinew/measure/contact_gap.h>

#include <numeric>

#include <gtest/gtest.h>

namespace sinew {
namespace {

/// A square of four by four quads across z, facing up or down.
void add_plate(float z, float size, bool faces_up, std::vector<Vec3f>& positions,
               std::vector<Triangle>& triangles) {
  const auto first = static_cast<std::uint32_t>(positions.size());
  constexpr std::uint32_t kSide = 5;
  for (std::uint32_t y = 0; y < kSide; ++y)
    for (std::uint32_t x = 0; x < kSide; ++x)
      positions.emplace_back(size * (static_cast<float>(x) / 4 - 0.5f),
                             size * (static_cast<float>(y) / 4 - 0.5f), z);
  for (std::uint32_t y = 0; y + 1 < kSide; ++y)
    for (std::uint32_t x = 0; x + 1 < kSide; ++x) {
      const std::uint32_t a = first + y * kSide + x, b = a + 1, c = a + kSide, d = c + 1;
      for (Triangle t : {Triangle{a, b, d}, Triangle{a, d, c}}) {
        if (!faces_up) std::swap(t[1], t[2]);
        triangles.push_back(t);
      }
    }
}

struct Plates {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;

  ContactGaps gaps(std::uint32_t first, std::uint32_t last) const {
    const MeshView surface{positions, triangles};
    const TriangleTree tree(surface);
    std::vector<std::uint32_t> vertices(last - first);
    std::iota(vertices.begin(), vertices.end(), first);
    return contact_gaps(surface, FittedTriangleTree(tree, positions), vertices);
  }
};

TEST(ContactGaps, OfTwoPlatesIsTheirDistance) {
  Plates plates;
  add_plate(0, 1, true, plates.positions, plates.triangles);
  add_plate(0.003f, 1.9f, false, plates.positions, plates.triangles);
  ContactGaps below = plates.gaps(0, 25);
  ASSERT_EQ(below.gaps.size(), 25u);
  EXPECT_EQ(below.misses, 0u);
  EXPECT_NEAR(quantile(below.gaps, 0.5), 0.003, 1e-7);
  EXPECT_NEAR(quantile(below.gaps, 0.9), 0.003, 1e-7);
  // The upper one is nearly twice as large: of its vertices only the middle nine have the other one before
  // them.
  const ContactGaps above = plates.gaps(25, 50);
  EXPECT_EQ(above.gaps.size(), 9u);
  EXPECT_EQ(above.misses, 16u);
}

TEST(ContactGaps, PassesOverWhatFacesAway) {
  Plates plates;
  add_plate(0, 1, true, plates.positions, plates.triangles);
  add_plate(0.01f, 2, true, plates.positions, plates.triangles);  // faces away: the back of a third sheet
  add_plate(0.02f, 2, false, plates.positions, plates.triangles);
  ContactGaps gaps = plates.gaps(0, 25);
  EXPECT_NEAR(quantile(gaps.gaps, 0), 0.02, 1e-7);
  EXPECT_NEAR(quantile(gaps.gaps, 1), 0.02, 1e-7);
}

TEST(ContactGaps, QuantilesInterpolate) {
  std::vector<double> values{3, 1, 2, 5};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace sinew
