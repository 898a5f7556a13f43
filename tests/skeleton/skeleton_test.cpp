#include <sinew/skeleton/skeleton.h>

#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

TEST(Transform, MatrixScalesThenTurnsThenMoves) {
  Transform transform;
  transform.translation = {1, 2, 3};
  transform.rotation = Quatf(Eigen::AngleAxisf(static_cast<float>(M_PI / 2), Vec3f::UnitZ()));
  transform.scale = {2, 1, 1};
  EXPECT_LT((transform.matrix() * Vec3d(1, 0, 0) - Vec3d(1, 4, 3)).norm(), 1e-6);
}

TEST(Transform, DecomposeGivesAnyTransformBack) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> unit(-1, 1);
  int mirrored = 0;
  for (int i = 0; i < 300; ++i) {
    Transform transform;
    transform.translation = {unit(random), unit(random), unit(random)};
    transform.rotation = Quatf(unit(random), unit(random), unit(random), unit(random) + 1e-3f).normalized();
    transform.scale = {3 * unit(random), 3 * unit(random), 3 * unit(random)};
    mirrored += transform.scale.prod() < 0;
    double shear = 1;
    const Transform back = decompose(transform.matrix(), &shear);
    EXPECT_LT((back.matrix().matrix() - transform.matrix().matrix()).cwiseAbs().maxCoeff(), 1e-5);
    EXPECT_LT(shear, 1e-5);
    EXPECT_NEAR(back.rotation.norm(), 1, 1e-5);
  }
  EXPECT_GT(mirrored, 90);
}

TEST(Transform, DecomposeReportsShear) {
  Affine3d sheared = Affine3d::Identity();
  sheared.linear()(0, 1) = 0.5;
  double shear = 0;
  EXPECT_NEAR(decompose(sheared, &shear).rotation.norm(), 1, 1e-6);
  EXPECT_GT(shear, 0.1);
}

TEST(Transform, DecomposeOfCollapsedMatrices) {
  Affine3d flat = Affine3d::Identity();
  flat.linear() = Vec3d(2, 0, 1).asDiagonal();
  double shear = 1;
  const Transform back = decompose(flat, &shear);
  EXPECT_LT(shear, 1e-6);
  EXPECT_EQ(back.scale.y(), 0);
  flat.linear().setZero();
  EXPECT_TRUE(decompose(flat).rotation.coeffs().allFinite());
}

Skeleton chain() {
  Skeleton skeleton;
  skeleton.joints = {{"a", -1, {}, true}, {"b", 0, {}, true}, {"c", 1, {}, true}};
  skeleton.joints[1].rest.translation = {0, 1, 0};
  skeleton.joints[2].rest.translation = {0, 1, 0};
  return skeleton;
}

TEST(Skeleton, ForwardKinematicsChainsTransforms) {
  const Skeleton skeleton = chain();
  Pose pose = rest_pose(skeleton);
  pose.joints[0].rotation = Quatf(Eigen::AngleAxisf(static_cast<float>(M_PI / 2), Vec3f::UnitZ()));
  pose.joints[1].scale = {1, -2, 1};
  std::vector<Affine3d> world(3);
  forward_kinematics(skeleton, pose.joints, world);
  EXPECT_LT((world[1].translation() - Vec3d(-1, 0, 0)).norm(), 1e-6);
  EXPECT_LT((world[2].translation() - Vec3d(1, 0, 0)).norm(), 1e-6);
}

TEST(Skeleton, FindsByExactName) {
  EXPECT_EQ(chain().find("b"), 1);
  EXPECT_EQ(chain().find("B"), -1);
}

TEST(Skeleton, ChecksOrderAndNumbers) {
  Skeleton skeleton = chain();
  EXPECT_NO_THROW(check_skeleton(skeleton, "x"));
  skeleton.joints[1].parent = 1;
  EXPECT_THROW(check_skeleton(skeleton, "x"), Error);
  skeleton = chain();
  skeleton.joints[2].rest.scale.x() = std::nanf("");
  EXPECT_THROW(check_skeleton(skeleton, "x"), Error);
  skeleton = chain();
  skeleton.joints[2].rest.rotation.coeffs().setZero();
  EXPECT_THROW(check_skeleton(skeleton, "x"), Error);
}

}  // namespace
}  // namespace sinew
