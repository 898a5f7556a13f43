#include <sinew/core/index.h>
#include <sinew/measure/fold_contact.h>

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include <sinew/measure/surface_ruler.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr int kColumns = 40, kRows = 4, kCrease = kColumns / 2;
constexpr float kEdge = 0.1f;

/// A strip along x, and how it is folded over its middle column.
class Strip {
 public:
  explicit Strip(double limb_radius = 0)
      : mesh_(test::make_grid(kColumns, kRows, kColumns * kEdge, kRows * kEdge)),
        rings_(one_rings(mesh_.positions.size(), mesh_.triangles)),
        limb_radius_(mesh_.positions.size(), limb_radius) {}

  const Mesh& mesh() const { return mesh_; }

  /// The right half turned over the left one, `gap` above; below: negative.
  std::vector<Vec3f> folded(float gap) const {
    std::vector<Vec3f> positions = mesh_.positions;
    for (Vec3f& p : positions) {
      const float beyond = p.x() - kCrease * kEdge;
      if (beyond > 1e-6f) p = Vec3f(kCrease * kEdge - beyond, p.y(), gap);
    }
    return positions;
  }

  /// Columns whose vertices are in contact: all of them, or the test fails.
  std::vector<int> columns_in_contact(const std::vector<Vec3f>& positions,
                                      std::span<const std::uint32_t> flipped = {}) const {
    const TriangleTree tree(mesh_.view());
    const FittedTriangleTree boxes(tree, positions);
    std::vector<std::uint32_t> vertices(positions.size());
    std::iota(vertices.begin(), vertices.end(), 0u);
    const auto found =
        FoldContact(mesh_.view(), rings_, limb_radius_).find(positions, boxes, flipped, vertices);
    std::vector<int> columns;
    for (int i = 0; i <= kColumns; ++i) {
      int count = 0;
      for (int j = 0; j <= kRows; ++j) count += found[to_size(j * (kColumns + 1) + i)];
      EXPECT_TRUE(count == 0 || count == kRows + 1) << "column " << i << ": " << count;
      if (count > 0) columns.push_back(i);
    }
    return columns;
  }

 private:
  Mesh mesh_;
  OneRings rings_;
  std::vector<double> limb_radius_;
};

/// All but so many columns each side of the crease, and it.
std::vector<int> all_but(int each_side) {
  std::vector<int> columns;
  for (int i = 0; i <= kColumns; ++i)
    if (std::abs(i - kCrease) > each_side) columns.push_back(i);
  return columns;
}

TEST(FoldContact, SheetsOnEachOtherTouchBeyondTheThirdRing) {
  const Strip strip;
  EXPECT_EQ(strip.columns_in_contact(strip.mesh().positions), std::vector<int>());
  // A vertex two columns from the crease is four from its counterpart.
  EXPECT_EQ(strip.columns_in_contact(strip.folded(0.05f)), all_but(1));
  EXPECT_EQ(strip.columns_in_contact(strip.folded(0.001f)), all_but(1));
}

TEST(FoldContact, WantsThriceTheDistanceAtRest) {
  // 0.09 apart: less than the mean edge. Three columns from the crease the counterpart was 0.6 away, two
  // columns from it 0.4; of a limb as thick as this 0.18 still touch, with 0.54 at rest.
  EXPECT_EQ(Strip().columns_in_contact(Strip().folded(0.09f)), all_but(1));
  EXPECT_EQ(Strip(4).columns_in_contact(Strip().folded(0.18f)), all_but(2));
}

TEST(FoldContact, ReachesAMeanEdgeOrATwentiethOfTheLimb) {
  // Mean edge inside of the strip: (4 + 2 √2) / 6 of a column.
  EXPECT_EQ(Strip().columns_in_contact(Strip().folded(0.16f)), std::vector<int>());
  EXPECT_EQ(Strip(2.8).columns_in_contact(Strip().folded(0.16f)), std::vector<int>());
  EXPECT_EQ(Strip(3.3).columns_in_contact(Strip().folded(0.16f)), all_but(2));
}

TEST(FoldContact, ReachIsADistanceNotABox) {
  // Lying askew, the boxes of the tree's triangles touch those of the other sheet.
  std::vector<Vec3f> positions = Strip().folded(0.16f);
  const Quatf askew(Eigen::AngleAxisf(0.8f, Vec3f(1, 1, 0).normalized()));
  for (Vec3f& p : positions) p = askew * p;
  EXPECT_EQ(Strip().columns_in_contact(positions), std::vector<int>());
}

TEST(FoldContact, TheThirdRingIsStillTheSameSheet) {
  // Pressed together along x as well, the third column beyond the crease is near, in front, and three times
  // as far at rest.
  std::vector<Vec3f> positions = Strip().folded(0.04f);
  for (Vec3f& p : positions) p.x() *= 0.5f;
  EXPECT_EQ(Strip().columns_in_contact(positions), all_but(1));
}

TEST(FoldContact, BackToBackIsNone) {
  const Strip strip;
  EXPECT_EQ(strip.columns_in_contact(strip.folded(-0.05f)), std::vector<int>());
  // Unless the triangles show their backs.
  std::vector<std::uint32_t> all(strip.mesh().triangles.size());
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(strip.columns_in_contact(strip.folded(-0.05f), all), all_but(1));
  EXPECT_EQ(strip.columns_in_contact(strip.folded(0.05f), all), std::vector<int>());
}

TEST(FoldContact, CompressionAloneIsNone) {
  const Strip strip;
  std::vector<Vec3f> positions = strip.mesh().positions;
  for (Vec3f& p : positions) p.x() *= 0.05f;
  EXPECT_EQ(strip.columns_in_contact(positions), std::vector<int>());
}

TEST(FlippedOutsideContact, InAFoldOnlyTheCreaseCounts) {
  const Strip strip;
  const SurfaceRuler ruler(strip.mesh().view());
  const auto flipped = [&](float gap) {
    const SurfaceMeasurements frame = ruler.measure(strip.folded(gap));
    EXPECT_EQ(frame.flipped_triangles, 2u * kRows * kCrease) << gap;  // without bones, all that turned
    return frame.flipped_outside_contact;
  };
  // The triangles between the crease and the next column.
  EXPECT_EQ(flipped(0.05f), 2u * kRows);
  EXPECT_EQ(flipped(0.5f), 2u * kRows * kCrease);
  // Seen from the other half, all of that one turned.
  std::vector<Vec3f> turned = strip.folded(0.05f);
  for (Vec3f& p : turned) p = Vec3f(-p.x(), p.y(), -p.z());
  EXPECT_EQ(ruler.measure(turned).flipped_outside_contact, 2u * kRows);
}

TEST(FlippedOutsideContact, AVertexPulledOverItsNeighboursIsSeen) {
  const Mesh sheet = test::make_grid(10, 10);
  const SurfaceRuler ruler(sheet.view());
  std::vector<Vec3f> positions = sheet.positions;
  positions[5 * 11 + 5] += Vec3f(0.15f, 0.02f, 0.001f);
  const SurfaceMeasurements frame = ruler.measure(positions);
  EXPECT_GT(frame.flipped_triangles, 0u);
  EXPECT_EQ(frame.flipped_outside_contact, frame.flipped_triangles);
}

TEST(FlippedOutsideContact, BuriedOnesAreNotSeen) {
  // A small sphere with a dent, at rest beside a big one and then inside of it.
  const Mesh big = test::make_icosphere(3);
  const Mesh two = test::join(big, test::moved(test::make_icosphere(2), {3, 0, 0}, 0.3f));
  const SurfaceRuler ruler(two.view());
  std::vector<Vec3f> positions = two.positions;
  // Inside out, but without burying itself: through its own middle.
  const std::size_t first = big.positions.size();
  positions[first] += 1.5f * (Vec3f(3, 0, 0) - positions[first]);
  const SurfaceMeasurements outside = ruler.measure(positions);
  EXPECT_EQ(outside.flipped_triangles, outside.flipped_outside_contact);
  const std::size_t flips = outside.flipped_triangles;
  for (std::size_t v = first; v < positions.size(); ++v) positions[v] -= Vec3f(3, 0, 0);
  const SurfaceMeasurements inside = ruler.measure(positions);
  EXPECT_GT(flips, 0u);
  EXPECT_EQ(inside.flipped_triangles, flips);
  EXPECT_EQ(inside.flipped_outside_contact, 0u);
}

}  // namespace
}  // namespace sinew
