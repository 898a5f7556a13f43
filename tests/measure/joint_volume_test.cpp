// Volume round a joint against tubes whose answer is known in closed form.
#include <sinew/measure/joint_volume.h>

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <sinew/measure/surface_ruler.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kRadius = 0.1;
constexpr int kAround = 64;

/// An open tube along x with one vertex ring at each of the given places.
Mesh tube_at(std::span<const double> places) {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  for (const double x : places)
    for (int s = 0; s < kAround; ++s) {
      const double angle = 2 * kPi * (s + 0.5) / kAround;
      positions.push_back(Vec3d(x, kRadius * std::cos(angle), kRadius * std::sin(angle)).cast<float>());
    }
  for (std::uint32_t r = 0; r + 1 < places.size(); ++r)
    for (std::uint32_t s = 0; s < kAround; ++s) {
      const std::uint32_t a = r * kAround + s, b = r * kAround + (s + 1) % kAround;
      triangles.push_back({a, b, b + kAround});
      triangles.push_back({a, b + kAround, a + kAround});
    }
  return make_mesh(std::move(positions), triangles);
}

/// A tube that ends 1.1 radii each side of the joint at the origin, with two rings at the joint itself: the
/// first one belongs to bone 0, the second one to bone 1.
struct CutTube {
  Mesh mesh;
  SkinWeights weights;
  std::vector<double> limb_radius;
  std::vector<Hinge> hinges{{"elbow", 1, 0, Vec3d::Zero()}};
  double half_length = 1.1 * kRadius;

  CutTube() {
    std::vector<double> places;
    constexpr int kRings = 8;
    for (int i = -kRings; i <= kRings; ++i) {
      places.push_back(half_length * i / kRings);
      if (i == 0) places.push_back(0);
    }
    mesh = tube_at(places);
    WeightRepairs repairs;
    for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
      Influence row[1] = {{v < (kRings + 1) * std::size_t{kAround} ? 0u : 1u, 1.0f}};
      append_row(weights, row, 0, repairs);
    }
    limb_radius.assign(mesh.positions.size(), kRadius);
  }

  JointVolumeMeter meter() const { return JointVolumeMeter(mesh.view(), weights, limb_radius, hinges); }

  std::vector<Vec3f> bent(const Affine3d& bone_1) const {
    std::vector<Vec3f> positions = mesh.positions;
    for (std::size_t v = 0; v < positions.size(); ++v)
      if (weights.row_joints(v)[0] == 1) positions[v] = (bone_1 * positions[v].cast<double>()).cast<float>();
    return positions;
  }
};

double ratio(const JointVolumeMeter& meter, std::span<const Vec3f> positions) {
  const std::vector<std::uint32_t> bending{0};
  const std::vector<JointVolume> volumes = meter.measure(positions, bending);
  EXPECT_EQ(volumes.size(), 1u);
  return volumes.empty() ? -1 : volumes[0].ratio;
}

Affine3d turn(double degrees, const Vec3d& axis) {
  return Affine3d(Eigen::AngleAxisd(degrees * kPi / 180, axis));
}

TEST(JointVolume, RestAndRigidMotionLeaveAll) {
  const CutTube tube;
  EXPECT_NEAR(ratio(tube.meter(), tube.mesh.positions), 1, 1e-9);
  Affine3d motion = turn(77, Vec3d(1, 2, 3).normalized());
  motion.pretranslate(Vec3d(5, -3, 2));
  std::vector<Vec3f> moved;
  for (const Vec3f& p : tube.mesh.positions) moved.push_back((motion * p.cast<double>()).cast<float>());
  EXPECT_NEAR(ratio(tube.meter(), moved), 1, 1e-4);
}

TEST(JointVolume, ScalesWithTheCubeOfTheSize) {
  const CutTube tube;
  for (const float scale : {0.5f, 2.0f})
    EXPECT_NEAR(ratio(tube.meter(), test::moved(tube.mesh, {1, 0, 0}, scale).positions),
                scale * scale * scale, 1e-3);
}

TEST(JointVolume, TwoHalvesThatBendRigidlyOverlapInAWedge) {
  // Seen along the axis of bending, at height z the tube is a band 2 ρ wide, ρ² = R² - z². Bent by θ, its
  // halves overlap on the inner side in a kite of ρ² tan(θ/2), and the strip between both rings adds a
  // triangle of ½ ρ² sin θ outside and takes the same away inside, where it lies in the kite. So the signed
  // volume stays, and what is counted twice is the kite less the triangle: ∫ ρ² dz = 4/3 R³ times
  // tan(θ/2) - ½ sin θ. The kite must not be longer than the tube.
  const CutTube tube;
  const JointVolumeMeter meter = tube.meter();
  const double whole = 2 * kPi * kRadius * kRadius * tube.half_length;
  for (const double degrees : {20.0, 45.0, 60.0, 90.0}) {
    const double angle = degrees * kPi / 180;
    const double twice = 4.0 / 3 * std::pow(kRadius, 3) * (std::tan(angle / 2) - std::sin(angle) / 2);
    EXPECT_NEAR(ratio(meter, tube.bent(turn(degrees, Vec3d::UnitZ()))), 1 - twice / whole, 0.003) << degrees;
  }
  EXPECT_LT(ratio(meter, tube.bent(turn(90, Vec3d::UnitZ()))), 0.92);
}

TEST(JointVolume, StretchedHalfCounts) {
  // Bone 1 moves off along x: the strip between both rings becomes a tube as well.
  const CutTube tube;
  const Affine3d away(Eigen::Translation3d(0.05, 0, 0));
  EXPECT_NEAR(ratio(tube.meter(), tube.bent(away)), 1 + 0.05 / (2 * tube.half_length), 1e-4);
}

TEST(JointVolume, SurfacesThatFaceInwardsAreMeasuredAlike) {
  CutTube tube;
  const double expected = ratio(tube.meter(), tube.bent(turn(80, Vec3d::UnitZ())));
  std::vector<Triangle> triangles = tube.mesh.triangles;
  for (Triangle& f : triangles) std::swap(f[1], f[2]);
  tube.mesh = make_mesh(tube.mesh.positions, triangles);
  EXPECT_NEAR(ratio(tube.meter(), tube.bent(turn(80, Vec3d::UnitZ()))), expected, 1e-3);
}

TEST(JointVolume, OnlyWhatIsWithinOneAndAHalfRadiiCounts) {
  // Rings 0.4 radii apart: those within √(1.5² - 1) = 1.118 radii count, so two each side.
  std::vector<double> places;
  for (int i = -8; i <= 8; ++i) places.push_back(0.4 * kRadius * i);
  const Mesh mesh = tube_at(places);
  const std::vector<double> limb_radius(mesh.positions.size(), kRadius);
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& p : mesh.positions) {
    Influence row[1] = {{p.x() <= 0 ? 0u : 1u, 1.0f}};
    append_row(weights, row, 0, repairs);
  }
  const std::vector<Hinge> hinges{{"elbow", 1, 0, Vec3d::Zero()}};
  const JointVolumeMeter meter(mesh.view(), weights, limb_radius, hinges);
  EXPECT_NEAR(meter.radius(0), kRadius, 1e-9);
  std::vector<Vec3f> positions = mesh.positions;
  for (Vec3f& p : positions)
    if (std::abs(p.x()) > kRadius) p += Vec3f(3, 1, 2);
  EXPECT_NEAR(ratio(meter, positions), 1, 1e-9);
  positions = mesh.positions;
  for (Vec3f& p : positions)
    if (p.x() > 0.7f * static_cast<float>(kRadius)) p.x() += static_cast<float>(kRadius);
  EXPECT_NEAR(ratio(meter, positions), 1 + 1 / 1.6, 1e-4);
}

/// The cut tube in another one bound to `bone`, of which more lies near the hinge.
struct TwoTubes {
  CutTube tube;
  std::size_t first_count;

  explicit TwoTubes(std::uint32_t bone, const std::vector<Hinge>& more_hinges) {
    first_count = tube.mesh.positions.size();
    Mesh other = tube.mesh;
    for (Vec3f& p : other.positions) p = p.cwiseProduct(Vec3f(0.97f, 1.05f, 1.05f));
    tube.mesh = test::join(tube.mesh, other);
    WeightRepairs repairs;
    for (std::size_t v = first_count; v < tube.mesh.positions.size(); ++v) {
      Influence row[1] = {{bone, 1.0f}};
      append_row(tube.weights, row, 0, repairs);
    }
    tube.limb_radius.assign(tube.mesh.positions.size(), kRadius);
    tube.hinges.insert(tube.hinges.end(), more_hinges.begin(), more_hinges.end());
  }

  std::vector<Vec3f> torn_apart(bool first) const {
    std::vector<Vec3f> positions = tube.mesh.positions;
    for (std::size_t v = first ? 0 : first_count; v < (first ? first_count : positions.size()); ++v)
      positions[v].x() *= 3;
    return positions;
  }
};

TEST(JointVolume, TheOtherLimbDoesNotCount) {
  // Bone 2 hangs on bone 0 beside bone 1: the other thigh.
  const TwoTubes thighs(2, {{"other", 2, 0, Vec3d(0, 1, 0)}});
  const JointVolumeMeter meter = thighs.tube.meter();
  EXPECT_NEAR(ratio(meter, thighs.torn_apart(false)), 1, 1e-9);
  EXPECT_NEAR(ratio(meter, thighs.torn_apart(true)), 3, 1e-3);
  // Were it further down the same limb, it would.
  const TwoTubes shin(2, {{"shin", 2, 1, Vec3d(0, 1, 0)}});
  const JointVolumeMeter line = shin.tube.meter();
  EXPECT_NEAR(ratio(line, shin.torn_apart(false)), 3, 1e-3);
  EXPECT_NEAR(ratio(line, shin.torn_apart(true)), 1, 1e-9);  // of two pieces the larger one
}

TEST(JointVolume, JointsThatAreNotInALimbHaveNone) {
  CutTube tube;
  tube.hinges[0].position = Vec3d(0, 1.4 * kRadius, 0);  // under one side of it
  EXPECT_FALSE(tube.meter().has_patch(0));
  tube.hinges[0].position = Vec3d(0, 5, 0);
  EXPECT_FALSE(tube.meter().has_patch(0));
  EXPECT_TRUE(tube.meter().measure(tube.mesh.positions, std::vector<std::uint32_t>{0}).empty());
  tube.hinges[0].binding = 7;  // moves nothing
  tube.hinges[0].parent = 8;
  EXPECT_EQ(tube.meter().radius(0), 0);
  EXPECT_FALSE(tube.meter().has_patch(0));
  // In a circle: no answer that makes sense, but one.
  tube.hinges = {{"a", 0, 1, Vec3d::Zero()}, {"b", 1, 0, Vec3d::Zero()}, {"c", 2, 0, Vec3d::Zero()}};
  EXPECT_TRUE(tube.meter().has_patch(0));
  EXPECT_FALSE(JointVolumeMeter(tube.mesh.view(), tube.weights, tube.limb_radius, {}).measure({}, {}).size());
}

TEST(JointVolume, TheRulerAsksHingesThatBend) {
  const CutTube tube;
  SurfaceRulerOptions options;
  options.hinges = tube.hinges;
  const SurfaceRuler ruler(tube.mesh.view(), tube.weights, options);
  EXPECT_EQ(ruler.rest().hinges, std::vector<std::string>{"elbow"});
  const auto measured = [&](double degrees) {
    const std::vector<Affine3d> bones{Affine3d::Identity(), turn(degrees, Vec3d::UnitZ())};
    return ruler.measure(tube.bent(bones[1]), bones);
  };
  EXPECT_TRUE(measured(9).joint_volumes.empty());
  ASSERT_EQ(measured(11).joint_volumes.size(), 1u);
  EXPECT_NEAR(measured(11).joint_volumes[0].ratio, 1, 1e-3);
  EXPECT_LT(measured(90).joint_volumes[0].ratio, 0.95);
  EXPECT_TRUE(ruler.measure(tube.bent(turn(90, Vec3d::UnitZ()))).joint_volumes.empty());
  // All of this tube is within two radii of the elbow, bent or not: no vertex is left to compare.
  EXPECT_FALSE(measured(90).curvature_change.has_value());
  EXPECT_FALSE(measured(0).curvature_change.has_value());
  EXPECT_TRUE(SurfaceRuler(tube.mesh.view(), tube.weights)
                  .measure(tube.bent(turn(90, Vec3d::UnitZ())))
                  .curvature_change.has_value());
}

}  // namespace
}  // namespace sinew
