#include <sinew/projection/contact_projection.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include <gtest/gtest.h>

#include <sinew/character/character.h>
#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/layers/character_fields.h>

#include "tests/support/allocations.h"
#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

/// A tube with its contact, and what dual quaternions make of it when it is bent.
class BentTube {
 public:
  explicit BentTube(std::optional<SharedWeights> weights = {})
      : character_(Character::make(test::make_grid_tube({.rings = 40, .segments = 24}),
                                   parse_recipe(R"({"normals": false, "layers": ["dqs"]})", "test"))),
        fields_(make_character_fields(*character_, ImplicitOptions())),
        weights_(weights ? *weights : character_->shared_skin_weights()),
        contact_(rest(), weights_, fields_.set, ContactParams()),
        frame_(contact_.make_frame()) {}

  MeshView rest() const { return {character_->rest(), character_->triangles()}; }
  const Character& character() const { return *character_; }
  const CharacterFields& fields() const { return fields_; }
  const ContactProjection& contact() const { return contact_; }
  ContactFrame& frame() { return frame_; }

  /// The skin before contact and the pose's matrices.
  std::vector<Vec3f> skin(double degrees, const Vec3f& scale = Vec3f::Ones()) {
    Performer performer(character_);
    Pose pose = character_->rest_pose();
    const auto radians = static_cast<float>(degrees * std::numbers::pi / 180);
    pose.joints[1].rotation = Quatf(Eigen::AngleAxisf(radians, Vec3f::UnitZ()));
    pose.joints[1].scale = scale;
    performer.perform(pose);
    posed_.assign(performer.posed_from_rest().begin(), performer.posed_from_rest().end());
    return {performer.welded_positions().begin(), performer.welded_positions().end()};
  }
  std::vector<Vec3f> touching(double degrees, const Vec3f& scale = Vec3f::Ones()) {
    std::vector<Vec3f> positions = skin(degrees, scale);
    contact_.project(posed_, frame_, positions);
    return positions;
  }
  std::span<const Affine3d> posed() const { return posed_; }

 private:
  std::shared_ptr<const Character> character_;
  CharacterFields fields_;
  SharedWeights weights_;
  ContactProjection contact_;
  ContactFrame frame_;
  std::vector<Affine3d> posed_;
};

TEST(ContactProjection, MovesWhatOverlapsAndNothingElse) {
  BentTube tube;
  const std::vector<Vec3f> before = tube.skin(140), after = tube.touching(140);
  std::size_t moved = 0;
  for (std::size_t v = 0; v < before.size(); ++v) {
    if (before[v] == after[v]) continue;
    ++moved;
    EXPECT_LT(std::abs(tube.character().rest()[v].x()), 0.8f);
  }
  EXPECT_GT(moved, 50u);
  EXPECT_LT(moved, before.size() / 2);
  EXPECT_EQ(tube.skin(60), tube.touching(60));
}

TEST(ContactProjection, VerticesWithoutWeightsStayFinite) {
  const BentTube whole;
  SkinWeights holes;
  WeightRepairs repairs;
  for (std::size_t v = 0; v < whole.character().rest().size(); ++v) {
    std::vector<Influence> row;
    if (v % 7 != 0)
      for (std::size_t k = 0; k < whole.character().skin_weights().row_size(v); ++k)
        row.push_back({whole.character().skin_weights().row_joints(v)[k],
                       whole.character().skin_weights().row_values(v)[k]});
    if (row.empty()) {
      holes.starts.push_back(holes.starts.back());
    } else {
      append_row(holes, row, 0, repairs);
    }
  }
  BentTube tube(SharedWeights(std::move(holes)));
  for (const Vec3f& p : tube.touching(140)) ASSERT_TRUE(p.allFinite());
}

TEST(ContactProjection, AFrameThatIsRefusedLeavesNothingBehind) {
  BentTube tube, fresh;
  tube.touching(140);
  std::vector<Vec3f> bad = tube.skin(140);
  bad[3].x() = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Vec3f> before = bad;
  tube.contact().project(tube.posed(), tube.frame(), bad);
  for (std::size_t v = 0; v < bad.size(); ++v)
    if (v != 3) ASSERT_EQ(bad[v], before[v]);
  std::vector<float> free_motion(bad.size(), 1);
  tube.contact().limit_free_motion(tube.frame(), free_motion);
  const std::vector<std::uint32_t> asked{0, 1, 2};
  const std::vector<float> far(3, 1.0f);
  tube.contact().keep_distance(asked, far, tube.frame(), free_motion);
  for (const float free : free_motion) EXPECT_EQ(free, 1);
  EXPECT_EQ(tube.touching(120), fresh.touching(120));
}

TEST(ContactProjection, ALargerPoseIsTheSameLarger) {
  BentTube tube;
  const std::vector<Vec3f> once = tube.touching(140);
  std::vector<Vec3f> skin = tube.skin(140);
  std::vector<Affine3d> posed(tube.posed().begin(), tube.posed().end());
  for (Vec3f& p : skin) p *= 8;
  for (Affine3d& matrix : posed) matrix = Affine3d(Eigen::Scaling(8.0)) * matrix;
  tube.contact().project(posed, tube.frame(), skin);
  for (std::size_t v = 0; v < once.size(); ++v) ASSERT_LT((skin[v] / 8 - once[v]).norm(), 2e-3f) << v;
}

TEST(ContactProjection, MirroredBonesFoldNothing) {
  BentTube tube;
  const std::vector<Vec3f> before = tube.skin(0, {1, 1, -1}), after = tube.touching(0, {1, 1, -1});
  for (std::size_t v = 0; v < before.size(); ++v)
    if (tube.character().rest()[v].x() > 0.5f) ASSERT_LT((before[v] - after[v]).norm(), 1e-3f) << v;
}

TEST(ContactProjection, DoesNotAllocate) {
  BentTube tube;
  std::vector<Vec3f> positions = tube.skin(150);
  tube.touching(150);
  if (!test::counts_allocations()) GTEST_SKIP() << "sanitizers have their own allocator";
  const std::size_t before = test::allocations();
  tube.contact().project(tube.posed(), tube.frame(), positions);
  EXPECT_EQ(test::allocations(), before);
}

TEST(ContactProjection, WhatDoesNotFitIsRefused) {
  const BentTube tube;
  const SharedWeights weights = tube.character().shared_skin_weights();
  const MeshView rest = tube.rest();
  ContactParams params;
  params.samples = 17;
  EXPECT_THROW(ContactProjection(rest, weights, tube.fields().set, params), Error);
  params.samples = 0;
  EXPECT_THROW(ContactProjection(rest, weights, tube.fields().set, params), Error);
  const std::span<const Vec3f> fewer = rest.positions.subspan(1);
  EXPECT_THROW(ContactProjection({fewer, {}}, weights, tube.fields().set, ContactParams()), Error);
  auto broken = std::make_shared<FieldSet>(*tube.fields().set);
  broken->joints.push_back({0, 99, Vec3d::Zero()});
  EXPECT_THROW(ContactProjection(rest, weights, broken, ContactParams()), Error);
  broken = std::make_shared<FieldSet>(*tube.fields().set);
  broken->field_of_transform = {7};
  EXPECT_THROW(ContactProjection(rest, weights, broken, ContactParams()), Error);
}

}  // namespace
}  // namespace sinew
