#include <sinew/tracking/longest_mean.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sinew {
namespace {

TEST(LongestMean, OfNothingIsNothing) {
  LongestMean mean;
  EXPECT_EQ(mean.mean(), Vec3f::Zero());
  mean.add(Vec3f::Zero());
  EXPECT_EQ(mean.weights, 0);
  EXPECT_EQ(mean.mean(), Vec3f::Zero());
}

TEST(LongestMean, OfEqualOnesIsTheOne) {
  LongestMean mean;
  const Vec3f way(0.3f, -0.2f, 0.1f);
  for (int k = 0; k < 5; ++k) mean.add(way);
  EXPECT_LT((mean.mean() - way).norm(), 1e-6f);
}

TEST(LongestMean, CountsByTheFourthPowerOfLengths) {
  // Along y (2⁴ · 2 + 1⁴ · 1) / (2⁴ + 1⁴) if the shorter one points there too, and less if it does not.
  LongestMean same, aside, opposite;
  for (LongestMean* mean : {&same, &aside, &opposite}) mean->add(Vec3f(0, 2, 0));
  same.add(Vec3f(0, 1, 0));
  aside.add(Vec3f(1, 0, 0));
  opposite.add(Vec3f(0, -1, 0));
  EXPECT_LT((same.mean() - Vec3f(0, 33.0f / 17, 0)).norm(), 1e-6f);
  EXPECT_LT((aside.mean() - Vec3f(1.0f / 17, 32.0f / 17, 0)).norm(), 1e-6f);
  EXPECT_LT((opposite.mean() - Vec3f(0, 31.0f / 17, 0)).norm(), 1e-6f);
}

TEST(LongestMean, ScalesWithItsWays) {
  LongestMean small, large;
  for (const Vec3f& way : {Vec3f(1, 2, 3), Vec3f(-2, 1, 0), Vec3f(0, 0, 1)}) {
    small.add(1e-3f * way);
    large.add(1e3f * way);
  }
  EXPECT_LT((large.mean() - 1e6f * small.mean()).norm(), 1e-3f * large.mean().norm());
}

TEST(LongestMean, WhatIsNotFiniteDoesNotCount) {
  LongestMean mean;
  mean.add(Vec3f(1, 0, 0));
  mean.add(Vec3f(std::nanf(""), 0, 0));
  mean.add(Vec3f(0, std::numeric_limits<float>::infinity(), 0));
  mean.add(Vec3f(0, 0, 1e12f));  // the fourth power of this is not
  EXPECT_EQ(mean.mean(), Vec3f(1, 0, 0));
}

}  // namespace
}  // namespace sinew
