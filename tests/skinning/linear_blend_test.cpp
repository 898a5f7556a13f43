#include <sinew/skinning/linear_blend.h>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "tests/reference/skinning.h"
#include "tests/support/random_skin.h"
#include "tests/support/simd_targets.h"

namespace sinew {
namespace {

using test::make_random_skin;
using test::RandomSkin;
using test::RandomTransforms;

std::vector<Vec3f> skin_with_kernel(const RandomSkin& skin) {
  const PackedWeights packed(skin.weights);
  std::vector<SkinMatrix> matrices(skin.posed_from_rest.size());
  pack_matrices(skin.posed_from_rest, matrices);
  std::vector<Vec3f> posed(skin.rest.size());
  linear_blend_skinning(skin.rest, packed, matrices, posed);
  return posed;
}

TEST(LinearBlend, AgreesWithTheFormulaOnEveryInstructionSet) {
  int targets = 0;
  test::for_each_simd_target([&](const std::string& target) {
    ++targets;
    for (const std::size_t vertices : {1u, 63u, 64u, 65u, 128u, 1000u})
      for (const int influences : {1, 2, 3, 4, 5, 8, 13}) {
        const RandomSkin skin = make_random_skin(static_cast<std::uint32_t>(vertices * 31) + influences,
                                                 vertices, 20, influences, RandomTransforms::scaled);
        const std::vector<Vec3f> posed = skin_with_kernel(skin);
        std::vector<Vec3f> expected(vertices);
        reference::linear_blend<double>(skin.rest, skin.weights, skin.posed_from_rest, expected);
        for (std::size_t v = 0; v < vertices; ++v)
          ASSERT_LT((posed[v] - expected[v]).norm(), 4e-6f)
              << target << ", vertex " << v << " of " << vertices;
      }
  });
  EXPECT_GE(targets, 1);
}

TEST(LinearBlend, NoVertices) {
  EXPECT_TRUE(skin_with_kernel(make_random_skin(1, 0, 3, 4, RandomTransforms::rigid)).empty());
}

TEST(LinearBlend, WritesNothingBeyondItsOutput) {
  const RandomSkin skin = make_random_skin(5, 64, 8, 4, RandomTransforms::rigid);
  const PackedWeights packed(skin.weights);
  std::vector<SkinMatrix> matrices(8);
  pack_matrices(skin.posed_from_rest, matrices);
  const Vec3f mark(7, 8, 9);
  std::vector<Vec3f> posed(66, mark);
  linear_blend_skinning(skin.rest, packed, matrices, std::span(posed).subspan(1, 64));
  EXPECT_EQ(posed.front(), mark);
  EXPECT_EQ(posed.back(), mark);
}

TEST(LinearBlend, SameBitsForAnyNumberOfThreads) {
  const RandomSkin skin = make_random_skin(7, 50000, 40, 6, RandomTransforms::scaled);
  std::vector<Vec3f> one, four;
  tbb::task_arena(1).execute([&] { one = skin_with_kernel(skin); });
  tbb::task_arena(4).execute([&] { four = skin_with_kernel(skin); });
  EXPECT_TRUE(one == four);
}

}  // namespace
}  // namespace sinew
