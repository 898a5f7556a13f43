#include <sinew/projection/elastic_skin.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include <sinew/character/character.h>
#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/layers/character_fields.h>

#include "tests/support/allocations.h"
#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

constexpr float kRadius = 0.2f;
constexpr int kSegments = 16;

/// A tube that slides, frame by frame.
class SlidingTube {
 public:
  explicit SlidingTube(const ElasticParams& params = {}, float freedom = 1)
      : character_(Character::make(test::make_grid_tube({.rings = 40, .segments = kSegments}),
                                   parse_recipe(R"({"normals": false, "layers": ["dqs"]})", "test"))),
        contact_(rest(), character_->shared_skin_weights(),
                 make_character_fields(*character_, ImplicitOptions()).set, ContactParams()),
        skin_(rest(), contact_, std::vector<float>(character_->rest().size(), freedom), params),
        frame_(contact_.make_frame()),
        state_(skin_.make_state()),
        performer_(character_) {}

  MeshView rest() const { return {character_->rest(), character_->triangles()}; }
  const ContactProjection& contact() const { return contact_; }
  const ElasticSkin& skin() const { return skin_; }
  ElasticState& state() { return state_; }
  ContactFrame& frame() { return frame_; }
  std::size_t size() const { return character_->rest().size(); }

  std::vector<Vec3f> base(double degrees) {
    Pose pose = character_->rest_pose();
    const auto radians = static_cast<float>(degrees * std::numbers::pi / 180);
    pose.joints[1].rotation = Quatf(Eigen::AngleAxisf(radians, Vec3f::UnitZ()));
    performer_.perform(pose);
    posed_.assign(performer_.posed_from_rest().begin(), performer_.posed_from_rest().end());
    return {performer_.welded_positions().begin(), performer_.welded_positions().end()};
  }
  /// Where the skin is in this frame.
  std::vector<Vec3f> carried(std::vector<Vec3f> positions) {
    skin_.carry(state_, positions);
    contact_.project(posed_, frame_, positions);
    return positions;
  }
  std::vector<Vec3f> play(double degrees, double seconds = 1.0 / 30) {
    std::vector<Vec3f> positions = carried(base(degrees));
    skin_.slide(frame_, character_->rest(), positions, seconds, state_);
    return positions;
  }
  /// Slides as if contact had moved these vertices this far.
  void slide_from(std::span<const std::uint32_t> vertices, const Vec3f& away, double seconds) {
    std::vector<Vec3f> positions = carried(base(0));
    for (const std::uint32_t v : vertices) positions[v] += away;
    skin_.slide(frame_, character_->rest(), positions, seconds, state_);
  }
  /// How far vertices have slid on the base skin at rest.
  std::vector<Vec3f> slides() {
    std::vector<Vec3f> positions = base(0);
    const std::vector<Vec3f> before = positions;
    skin_.carry(state_, positions);
    for (std::size_t v = 0; v < positions.size(); ++v) positions[v] -= before[v];
    return positions;
  }
  /// The ring of vertices that is nearest to x.
  std::vector<std::uint32_t> ring(float x) const {
    float nearest = std::numeric_limits<float>::max();
    for (const Vec3f& p : character_->rest())
      if (std::abs(p.x() - x) < std::abs(nearest - x)) nearest = p.x();
    std::vector<std::uint32_t> result;
    for (std::uint32_t v = 0; v < size(); ++v) {
      const Vec3f& p = character_->rest()[v];
      if (std::abs(p.x() - nearest) < 1e-4f && Vec3f(0, p.y(), p.z()).norm() > 0.9f * kRadius)
        result.push_back(v);
    }
    return result;
  }

 private:
  std::shared_ptr<const Character> character_;
  ContactProjection contact_;
  ElasticSkin skin_;
  ContactFrame frame_;
  ElasticState state_;
  Performer performer_;
  std::vector<Affine3d> posed_;
};

float largest(std::span<const Vec3f> vectors) {
  float result = 0;
  for (const Vec3f& v : vectors)
    if (!(v.norm() <= result)) result = v.norm();
  return result;
}

float farthest(std::span<const Vec3f> a, std::span<const Vec3f> b) {
  float result = 0;
  for (std::size_t v = 0; v < a.size(); ++v)
    if (!((a[v] - b[v]).norm() <= result)) result = (a[v] - b[v]).norm();
  return result;
}

TEST(ElasticSkin, RestIsKeptBitForBit) {
  SlidingTube tube;
  const std::vector<Vec3f> rest = tube.base(0);
  for (int frame = 0; frame < 3; ++frame) {
    EXPECT_EQ(tube.play(0), rest);
    EXPECT_TRUE(tube.state().active.empty());
  }
}

TEST(ElasticSkin, SlidesOverTheBaseSkinAndBack) {
  SlidingTube tube;
  std::vector<Vec3f> bent;
  for (int frame = 0; frame <= 30; ++frame) bent = tube.play(3 * frame);
  const float slid = farthest(bent, tube.base(90));
  EXPECT_GT(slid, 0.03f * kRadius);
  EXPECT_LT(slid, 0.6f * kRadius);
  for (int frame = 0; frame < 60; ++frame) tube.play(0);
  // The whole skin as one slides most slowly.
  EXPECT_LT(largest(tube.slides()), 1e-3f * kRadius);
}

TEST(ElasticSkin, ComesAsFarAsTimeAllows) {
  // The first slide of a frame of so many `settle`, beside that of a long one.
  const auto slide = [](double settles) {
    SlidingTube tube;
    tube.slide_from(tube.ring(0.5f), {0.02f, 0, 0},
                    settles * static_cast<double>(tube.skin().params().settle));
    return largest(tube.slides());
  };
  const double all = slide(1);
  EXPECT_EQ(slide(1000), all);
  EXPECT_GT(all, 1e-3);
  EXPECT_NEAR(slide(0.5) / all, 0.5, 0.02);
  EXPECT_NEAR(slide(0.1) / all, 0.1, 0.01);
  EXPECT_EQ(slide(0), 0);
}

TEST(ElasticSkin, SlidesFadeOverReach) {
  // A ring of skin is held out of its place; how far the skin beside it comes along.
  const auto share_at = [](float reach, float distance) {
    ElasticParams params;
    params.reach = reach;
    SlidingTube tube(params);
    const std::vector<std::uint32_t> held = tube.ring(0.3f);
    for (int frame = 0; frame < 60; ++frame) {
      // Held: what it has slid itself is taken off.
      const std::vector<Vec3f> slid = tube.slides();
      std::vector<Vec3f> positions = tube.carried(tube.base(0));
      for (const std::uint32_t v : held) positions[v] += Vec3f(0.01f, 0, 0) - slid[v];
      tube.skin().slide(tube.frame(), tube.rest().positions, positions, 1.0 / 30, tube.state());
    }
    float sum = 0;
    const std::vector<Vec3f> slid = tube.slides();
    const std::vector<std::uint32_t> ring = tube.ring(0.3f + distance);
    for (const std::uint32_t v : ring) sum += slid[v].x() / 0.01f;
    return sum / static_cast<float>(ring.size());
  };
  const float near = share_at(0.5f, 0.1f), far = share_at(0.5f, 0.3f);
  EXPECT_GT(near, 0.25f);
  EXPECT_LT(near, 0.9f);
  EXPECT_LT(far, 0.7f * near);
  EXPECT_LT(share_at(0.15f, 0.3f), 0.3f * far);
}

TEST(ElasticSkin, WhatHasNoReachOrNoFreedomDoesNotSlide) {
  ElasticParams params;
  params.reach = 0;
  SlidingTube without(params), rigid({}, 0);
  for (SlidingTube* tube : {&without, &rigid})
    for (int frame = 0; frame < 5; ++frame) EXPECT_EQ(tube->play(20 * frame), tube->base(20 * frame));
}

TEST(ElasticSkin, SlidesDifferFromTheirRingsByTheStrainAtMost) {
  const auto strain_of = [](float limit) {
    ElasticParams params;
    params.strain = limit;
    SlidingTube tube(params);
    // Every eighth vertex of a ring is pulled far away.
    std::vector<std::uint32_t> pulled = tube.ring(0.5f);
    for (std::size_t i = 0; i < pulled.size() / 8; ++i) pulled[i] = pulled[8 * i];
    pulled.resize(pulled.size() / 8);
    for (int frame = 0; frame < 10; ++frame) tube.slide_from(pulled, {0.3f, 0, 0}, 0.1);
    const std::vector<Vec3f> slid = tube.slides();
    float most = 0;
    for (std::uint32_t v = 0; v < slid.size(); ++v) {
      const auto& ring = tube.contact().skin().rings[v];
      Vec3f mean = Vec3f::Zero();
      for (const std::uint32_t n : ring) mean += slid[n] / static_cast<float>(ring.size());
      most = std::max(most, (slid[v] - mean).norm() / tube.contact().skin().edge[v]);
    }
    return most;
  };
  EXPECT_GT(strain_of(100), 0.6f);
  EXPECT_LT(strain_of(0.5f), 0.51f);
  EXPECT_LT(strain_of(0.2f), 0.21f);
}

TEST(ElasticSkin, FramesThatAreRefusedChangeNothing) {
  SlidingTube tube, fresh;
  for (SlidingTube* both : {&tube, &fresh})
    for (int frame = 0; frame < 5; ++frame) both->play(20 * frame);
  std::vector<Vec3f> bad = tube.base(100);
  bad[7].x() = std::numeric_limits<float>::quiet_NaN();
  bad = tube.carried(bad);
  tube.skin().slide(tube.frame(), tube.rest().positions, bad, 1.0 / 30, tube.state());
  EXPECT_EQ(tube.play(90), fresh.play(90));
}

TEST(ElasticSkin, PullsThatAreNoNumbersMoveNothing) {
  SlidingTube tube;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}) {
    for (int frame = 0; frame < 3; ++frame) tube.slide_from(tube.ring(0.5f), {bad, 0, 0}, 0.1);
    for (const Vec3f& p : tube.play(40)) ASSERT_TRUE(p.allFinite());
  }
}

TEST(ElasticSkin, DoesNotAllocate) {
  if (!test::counts_allocations()) GTEST_SKIP() << "sanitizers have their own allocator";
  SlidingTube tube;
  tube.play(100), tube.play(140);
  std::vector<Vec3f> positions = tube.base(140);
  const std::size_t before = test::allocations();
  tube.skin().carry(tube.state(), positions);
  tube.skin().slide(tube.frame(), tube.rest().positions, positions, 0.1, tube.state());
  EXPECT_EQ(test::allocations(), before);
}

TEST(ElasticSkin, WhatDoesNotFitIsRefused) {
  const SlidingTube tube;
  const std::vector<float> few(tube.size() - 1, 1.0f);
  EXPECT_THROW(ElasticSkin(tube.rest(), tube.contact(), few, {}), Error);
}

}  // namespace
}  // namespace sinew
