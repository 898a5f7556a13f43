#include <sinew/models/flesh.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace sinew {
namespace {

Flesh make_limb() {
  Flesh flesh;
  flesh.add_cone({0, 0.05, {0}}, {0, 0, 0}, 0.3, {1, 0, 0}, 0.2);
  flesh.add_ellipsoid({0, 0.1, {1}}, {1, 0.2, 0}, {0.4, 0.2, 0.25},
                      Eigen::AngleAxisd(0.4, Vec3d::UnitZ()).toRotationMatrix());
  const int part = flesh.add_group(0, 0.08);
  flesh.add_sphere({part, 0.02, {2}}, {-0.2, 0.3, 0.1}, 0.25);
  flesh.carve_ellipsoid({part, 0.05, {}}, {-0.3, 0.5, 0.1}, {0.1, 0.1, 0.1});
  flesh.carve_beyond({0, 0.04, {}}, {1.2, 0, 0}, Vec3d::UnitX());
  return flesh;
}

TEST(Flesh, ShapesAloneHaveTheirOwnSurface) {
  Flesh cone;
  cone.add_cone({0, 0.01, {0}}, {0, 0, 0}, 0.3, {1, 0, 0}, 0.2);
  EXPECT_NEAR(cone.sample({-0.3, 0, 0}).value, 0, 1e-12);
  EXPECT_NEAR(cone.sample({0, 0, -0.4}).value, 0.1, 2e-3);
  EXPECT_NEAR(cone.sample({1.5, 0, 0}).value, 0.3, 1e-12);
  // On the straight part the exact distance to the tangent cone: the radius drops by 0.1 per metre.
  const double slant = std::sqrt(1 - 0.01);
  EXPECT_NEAR(cone.sample({0.5, 0.6, 0}).value, 0.6 * slant - (0.3 - 0.1 * 0.5), 1e-12);
  Flesh ellipsoid;
  ellipsoid.add_ellipsoid({0, 0.01, {0}}, {0, 0, 0}, {0.5, 0.2, 0.3});
  for (const Vec3d& p : {Vec3d(0.5, 0, 0), Vec3d(0, -0.2, 0), Vec3d(0, 0, 0.3), Vec3d(0.3, 0.16, 0)})
    EXPECT_NEAR(ellipsoid.sample(p).value, 0, 1e-12);
}

TEST(Flesh, GradientsMatchFiniteDifferences) {
  const Flesh flesh = make_limb();
  std::mt19937 random(1);
  std::uniform_real_distribution<double> place(-0.8, 1.6);
  int checked = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vec3d p(place(random), 0.5 * place(random), 0.5 * place(random));
    const SolidSample at = flesh.sample(p);
    if (std::abs(at.value) > 0.15) continue;
    Vec3d numeric;
    for (int axis = 0; axis < 3; ++axis) {
      const Vec3d step = 1e-6 * Vec3d::Unit(axis);
      numeric[axis] = (flesh.sample(p + step).value - flesh.sample(p - step).value) / 2e-6;
    }
    EXPECT_LT((numeric - at.gradient).norm(), 1e-4) << p.transpose();
    ++checked;
  }
  EXPECT_GT(checked, 300);
}

TEST(Flesh, BlendsGrowAndCutsShrink) {
  Flesh hard, soft;
  for (Flesh* flesh : {&hard, &soft}) {
    const double blend = flesh == &soft ? 0.2 : 0.0;
    flesh->add_sphere({0, blend, {0}}, {-0.4, 0, 0}, 0.5);
    flesh->add_sphere({0, blend, {1}}, {0.4, 0, 0}, 0.5);
  }
  const Vec3d crease(0, 0.35, 0);
  EXPECT_GT(hard.sample(crease).value, 0);
  EXPECT_LT(soft.sample(crease).value, 0);
  EXPECT_NEAR(hard.sample({-0.9, 0, 0}).value, soft.sample({-0.9, 0, 0}).value, 1e-12);
  EXPECT_NEAR(soft.sample({0, 0, 0}).value, hard.sample({0, 0, 0}).value - 0.05, 1e-9);  // k/4 at the middle
  hard.carve_beyond({0, 0, {}}, {0.5, 0, 0}, Vec3d::UnitX());
  EXPECT_NEAR(hard.sample({0.6, 0, 0}).value, 0.1, 1e-12);
}

TEST(Flesh, KnowsWhoseFleshItIsAndHowThick) {
  const Flesh flesh = make_limb();
  EXPECT_EQ(flesh.joints_at({0.1, -0.3, 0}), std::vector<int>{0});
  EXPECT_EQ(flesh.joints_at({1.1, 0.4, 0}), std::vector<int>{1});
  EXPECT_EQ(flesh.joints_at({-0.3, 0.4, 0.2}), std::vector<int>{2});
  EXPECT_NEAR(flesh.thickness({0.1, -0.3, 0}), 0.29, 0.01);
}

}  // namespace
}  // namespace sinew
