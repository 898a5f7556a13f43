#include <sinew/character/seek.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

constexpr double kRate = 24;
constexpr int kFrames = 75;

/// What the test layers saw: how many frames, and the seconds of the last.
struct Log {
  int frames = 0;
  double seconds = -1;
};

/// Drags the surface behind, from the origin on: a frame depends on all before it, on their order and on
/// their seconds.
class DragLayer : public Layer {
 public:
  DragLayer(const Character& character, Log& log) : size_(character.rest().size()), log_(log) {}

  bool has_history() const override { return true; }
  std::unique_ptr<LayerState> make_state() const override {
    auto state = std::make_unique<State>();
    state->last.assign(size_, Vec3f::Zero());
    return state;
  }
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override {
    auto& mine = static_cast<State&>(*state);
    const auto share = static_cast<float>(0.3 + frame.seconds);
    for (std::size_t v = 0; v < positions.size(); ++v) {
      positions[v] = share * positions[v] + (1 - share) * mine.last[v];
      mine.last[v] = positions[v];
    }
    ++log_.frames;
    log_.seconds = frame.seconds;
  }

 private:
  struct State : LayerState {
    std::unique_ptr<LayerState> clone() const override { return std::make_unique<State>(*this); }
    std::vector<Vec3f> last;
  };
  std::size_t size_;
  Log& log_;
};

/// Counts its frames, and has either no history or one that cannot be copied.
class CountLayer : public Layer {
 public:
  CountLayer(Log& log, bool history) : log_(log), history_(history) {}

  bool has_history() const override { return history_; }
  std::unique_ptr<LayerState> make_state() const override { return std::make_unique<LayerState>(); }
  void deform(const LayerFrame& frame, LayerState*, std::span<Vec3f>) const override {
    ++log_.frames;
    log_.seconds = frame.seconds;
  }

 private:
  Log& log_;
  bool history_;
};

using Surface = std::vector<Vec3f>;

class SeekTest : public testing::Test {
 protected:
  SeekTest() {
    test::GridTubeOptions options;
    options.rings = 12;
    options.segments = 8;
    scene_ = test::make_grid_tube(options);
    character_ = dragged();
  }

  std::shared_ptr<const Character> dragged() {
    return Character::make(
        scene_, Recipe(),
        {[this](const Character& character) { return std::make_unique<DragLayer>(character, log_); },
         [this](const Character&) { return std::make_unique<CountLayer>(other_log_, false); }});
  }

  std::shared_ptr<const Character> counted(bool history) {
    return Character::make(scene_, Recipe(), {[this, history](const Character&) {
                             return std::make_unique<CountLayer>(log_, history);
                           }});
  }

  const Clip& clip() const { return scene_.clips[0]; }

  /// All frames, performed one after the other on a performer of their own.
  const std::vector<Surface>& straight() {
    if (!straight_.empty()) return straight_;
    Performer performer(character_);
    Pose pose = character_->rest_pose();
    for (int frame = 0; frame < kFrames; ++frame) {
      sample_clip(clip(), frame / kRate, pose);
      performer.perform(pose, frame == 0 ? 0 : 1 / kRate);
      straight_.push_back(surface(performer));
    }
    return straight_;
  }

  static Surface surface(const Performer& performer) {
    return {performer.positions(0).begin(), performer.positions(0).end()};
  }

  bool stands_at(const Performer& performer, int frame) {
    return surface(performer) == straight()[to_size(frame)];
  }

  /// How many frames are performed until `performer` stands at `frame`.
  int cost(Seeker& seeker, Performer& performer, int frame) {
    straight();
    log_.frames = 0;
    seeker.seek(performer, frame);
    EXPECT_TRUE(stands_at(performer, frame)) << frame;
    return log_.frames;
  }

  /// Someone else's frame.
  void disturb(Performer& performer) {
    Pose pose = character_->rest_pose();
    sample_clip(scene_.clips[1], 2.5, pose);
    performer.perform(pose, 0.1);
  }

  std::vector<int> shuffled_frames(unsigned seed) {
    std::vector<int> frames(kFrames);
    std::iota(frames.begin(), frames.end(), 0);
    std::shuffle(frames.begin(), frames.end(), std::mt19937(seed));
    return frames;
  }

  Scene scene_;
  Log log_, other_log_;
  std::shared_ptr<const Character> character_;
  std::vector<Surface> straight_;
};

TEST_F(SeekTest, TestLayerDependsOnAllFramesBefore) {
  Performer performer(character_);
  Pose pose = character_->rest_pose();
  sample_clip(clip(), 40 / kRate, pose);
  performer.perform(pose, 1 / kRate);
  EXPECT_FALSE(stands_at(performer, 40));
  seek(performer, clip(), 40, kRate * 2);
  EXPECT_FALSE(stands_at(performer, 40));
}

TEST_F(SeekTest, WithoutSeekerReplaysFromTheStart) {
  Performer performer(character_);
  for (const int frame : {40, 0, 41, 41, 3}) {
    disturb(performer);
    log_.frames = 0;
    seek(performer, clip(), frame, kRate);
    EXPECT_EQ(log_.frames, frame + 1);
    EXPECT_TRUE(stands_at(performer, frame)) << frame;
  }
}

TEST_F(SeekTest, AnyOrderGivesTheBitsOfStraightPlay) {
  for (const int most : {0, 1, 2, 3, 7, 8, 32, 1000}) {
    Seeker seeker(character_, clip(), kRate, {most});
    Performer performer(character_);
    for (const int frame : shuffled_frames(static_cast<unsigned>(most))) {
      seeker.seek(performer, frame);
      ASSERT_TRUE(stands_at(performer, frame)) << frame << " with " << most << " checkpoints";
      ASSERT_LE(seeker.checkpoint_count(), to_size(most));
    }
  }
}

TEST_F(SeekTest, FramesAfterASeekGoOnAsStraightPlay) {
  Seeker seeker(character_, clip(), kRate);
  Performer performer(character_);
  seeker.seek(performer, 60);
  seeker.seek(performer, 20);
  Pose pose = character_->rest_pose();
  for (int frame = 21; frame < 30; ++frame) {
    sample_clip(clip(), frame / kRate, pose);
    performer.perform(pose, 1 / kRate);
    EXPECT_TRUE(stands_at(performer, frame)) << frame;
  }
}

TEST_F(SeekTest, GoesOnFromWhereItLeftThePerformer) {
  Seeker seeker(character_, clip(), kRate, {0});
  Performer performer(character_);
  EXPECT_EQ(cost(seeker, performer, 30), 31);
  EXPECT_EQ(cost(seeker, performer, 31), 1);
  EXPECT_EQ(cost(seeker, performer, 31), 0);
  EXPECT_EQ(cost(seeker, performer, 40), 9);
  EXPECT_EQ(cost(seeker, performer, 39), 40);
  // The note moves with the performer.
  Performer moved = std::move(performer);
  EXPECT_EQ(cost(seeker, moved, 42), 3);
}

TEST_F(SeekTest, CheckpointsKeepStepsBackShort) {
  Seeker seeker(character_, clip(), kRate, {8});
  Performer performer(character_);
  EXPECT_EQ(cost(seeker, performer, 8), 9);
  EXPECT_EQ(seeker.checkpoint_count(), 8u);
  for (int frame = 7; frame > 0; --frame) EXPECT_EQ(cost(seeker, performer, frame), 1) << frame;
  // From 8 on, since that was the last checkpoint; then there are 8, 16, ..., 64.
  EXPECT_EQ(cost(seeker, performer, 70), 63);
  EXPECT_EQ(seeker.checkpoint_count(), 8u);
  EXPECT_EQ(cost(seeker, performer, 63), 8);
  EXPECT_EQ(cost(seeker, performer, 64), 1);
  EXPECT_EQ(cost(seeker, performer, 7), 8);
  // A checkpoint that is nearer than where it left off.
  EXPECT_EQ(cost(seeker, performer, 50), 3);
  EXPECT_EQ(cost(seeker, performer, 57), 2);
  EXPECT_EQ(cost(seeker, performer, 62), 5);
  // A single one, before 64, and three, before 16, 32 and 48: 64 would be the next.
  Seeker one(character_, clip(), kRate, {1}), three(character_, clip(), kRate, {3});
  cost(one, performer, 70);
  EXPECT_EQ(cost(one, performer, 69), 6);
  EXPECT_EQ(cost(one, performer, 60), 61);
  cost(three, performer, 63);
  EXPECT_EQ(cost(three, performer, 47), 16);
  EXPECT_EQ(cost(three, performer, 50), 3);
}

TEST_F(SeekTest, NoticesWhenSomeoneElsePerformed) {
  Seeker seeker(character_, clip(), kRate, {4}), other(character_, scene_.clips[1], kRate);
  Performer performer(character_);
  cost(seeker, performer, 20);
  disturb(performer);
  EXPECT_GT(cost(seeker, performer, 20), 0);
  disturb(performer);
  cost(seeker, performer, 21);
  performer.reset();
  cost(seeker, performer, 22);
  seek(performer, scene_.clips[1], 22, kRate);
  cost(seeker, performer, 23);
  other.seek(performer, 23);
  cost(seeker, performer, 24);
  const PerformerCheckpoint checkpoint = performer.checkpoint();
  cost(seeker, performer, 25);
  performer.restore(checkpoint);
  cost(seeker, performer, 26);
  // A new performer is not the old one, even where that was.
  for (int i = 0; i < 3; ++i) {
    auto fresh = std::make_unique<Performer>(character_);
    EXPECT_GT(cost(seeker, *fresh, 27), 0);
  }
}

TEST_F(SeekTest, SeekersThatAreGoneAreNotMistakenForOthers) {
  Performer performer(character_);
  for (int i = 0; i < 4; ++i) {
    { Seeker(character_, scene_.clips[1], kRate).seek(performer, 10); }
    Seeker seeker(character_, clip(), kRate);
    EXPECT_EQ(cost(seeker, performer, 10 + i), 11 + i);
  }
}

TEST_F(SeekTest, TwoPerformersTakeTurns) {
  Seeker seeker(character_, clip(), kRate, {4});
  Performer one(character_), two(character_);
  const std::vector<int> frames = shuffled_frames(1), others = shuffled_frames(2);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    seeker.seek(one, frames[i]);
    seeker.seek(two, others[i]);
    ASSERT_TRUE(stands_at(one, frames[i]));
    ASSERT_TRUE(stands_at(two, others[i]));
  }
  // Each goes on from where it was left.
  seeker.seek(one, 70);
  seeker.seek(two, 68);
  EXPECT_EQ(cost(seeker, one, 71), 1);
  EXPECT_EQ(cost(seeker, two, 69), 1);
}

TEST_F(SeekTest, WithoutHistoryPerformsOneFrame) {
  character_ = counted(false);
  Seeker seeker(character_, clip(), kRate);
  Performer performer(character_);
  for (const int frame : {50, 1, 2, 74}) {
    EXPECT_EQ(cost(seeker, performer, frame), 1);
    log_.frames = 0;
    seek(performer, clip(), frame, kRate);
    EXPECT_EQ(log_.frames, 1);
    EXPECT_EQ(log_.seconds, 1 / kRate);
    EXPECT_TRUE(stands_at(performer, frame));
  }
  EXPECT_EQ(seeker.checkpoint_count(), 0u);
  const int last = std::numeric_limits<int>::max();
  log_.frames = 0;
  seeker.seek(performer, last);
  seeker.seek(performer, last);
  EXPECT_EQ(log_.frames, 1);
  seek(performer, clip(), last, kRate);
  EXPECT_EQ(log_.frames, 2);
  seek(performer, clip(), last, 1e-305);  // where time itself is infinite, the clip's last key holds
  for (const Vec3f& p : surface(performer)) EXPECT_TRUE(p.allFinite());
  EXPECT_EQ(performer.rejected_joints(), 0u);
}

TEST_F(SeekTest, PosesStartFromRestInEveryFrame) {
  // Writes nothing in odd frames: what the frame before left must not show.
  const auto set_pose = [this](int frame, Pose& pose) {
    if (frame % 2 == 0) sample_clip(clip(), frame / kRate, pose);
  };
  Seeker seeker(character_, set_pose, kRate), again(character_, set_pose, kRate, {0});
  Performer performer(character_), fresh(character_);
  seeker.seek(performer, 9);
  again.seek(fresh, 8);
  fresh.perform(character_->rest_pose(), 1 / kRate);
  EXPECT_TRUE(surface(performer) == surface(fresh));
  Seeker at_rest(character_, std::function<void(int, Pose&)>(), kRate);
  at_rest.seek(performer, 5);
  fresh.reset();
  for (int frame = 0; frame <= 5; ++frame) fresh.perform(character_->rest_pose(), frame == 0 ? 0 : 1 / kRate);
  EXPECT_TRUE(surface(performer) == surface(fresh));
}

TEST_F(SeekTest, RecoversFromPosesThatThrow) {
  bool broken = true;
  const auto set_pose = [&](int frame, Pose& pose) {
    if (broken && frame == 12) throw Error("no pose");
    sample_clip(clip(), frame / kRate, pose);
  };
  Seeker seeker(character_, set_pose, kRate, {4});
  Performer performer(character_);
  cost(seeker, performer, 11);
  EXPECT_THROW(seeker.seek(performer, 20), Error);
  cost(seeker, performer, 10);
  broken = false;
  cost(seeker, performer, 20);
  cost(seeker, performer, 12);
}

TEST_F(SeekTest, RestoredPerformersGoOnAlike) {
  Performer performer(character_), other(character_);
  seek(performer, clip(), 20, kRate);
  PerformerCheckpoint checkpoint = performer.checkpoint();
  const PerformerCheckpoint moved = std::move(checkpoint);
  Pose pose = character_->rest_pose();
  sample_clip(clip(), 21 / kRate, pose);
  for (Performer* each : {&performer, &other, &performer}) {
    disturb(*each);
    const Surface last = surface(*each);
    each->restore(moved);
    EXPECT_TRUE(surface(*each) == last);
    each->perform(pose, 1 / kRate);
    EXPECT_TRUE(stands_at(*each, 21));
  }
  // A checkpoint is of its own: it outlives what the performer does and the performer itself.
  auto gone = std::make_unique<Performer>(character_);
  seek(*gone, clip(), 20, kRate);
  const PerformerCheckpoint kept = gone->checkpoint();
  gone.reset();
  other.restore(kept);
  other.perform(pose, 1 / kRate);
  EXPECT_TRUE(stands_at(other, 21));
}

TEST_F(SeekTest, RejectsWhatItCannotServe) {
  Performer performer(character_);
  Seeker seeker(character_, clip(), kRate);
  EXPECT_THROW(seeker.seek(performer, -1), Error);
  EXPECT_THROW(seek(performer, clip(), -1, kRate), Error);
  const auto infinity = std::numeric_limits<double>::infinity();
  for (const double rate : {0.0, -24.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::denorm_min()}) {
    EXPECT_THROW(seek(performer, clip(), 1, rate), Error) << rate;
    EXPECT_THROW(Seeker(character_, clip(), rate), Error) << rate;
    EXPECT_THROW(Seeker(
                     character_, [](int, Pose&) {}, rate),
                 Error)
        << rate;
  }
  EXPECT_THROW(Seeker(character_, clip(), kRate, {-1}), Error);
  Clip unfit = clip();
  unfit.channels[0].target = 99;
  EXPECT_THROW(seek(performer, unfit, 1, kRate), Error);
  EXPECT_THROW(Seeker(character_, unfit, kRate), Error);
  // The same scene and recipe, but another character.
  Performer stranger(dragged());
  EXPECT_THROW(seeker.seek(stranger, 1), Error);
  EXPECT_THROW(stranger.restore(performer.checkpoint()), Error);
  EXPECT_EQ(cost(seeker, performer, 5), 6);
  PerformerCheckpoint checkpoint = performer.checkpoint();
  const PerformerCheckpoint moved = std::move(checkpoint);
  EXPECT_THROW(performer.restore(checkpoint), Error);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(cost(seeker, performer, 5), 0);            // nothing changed
}

TEST_F(SeekTest, HistoryThatCannotBeCopiedIsReplayed) {
  character_ = counted(true);
  Performer performer(character_);
  EXPECT_THROW(performer.checkpoint(), Error);
  Seeker with(character_, clip(), kRate), without(character_, clip(), kRate, {0});
  EXPECT_THROW(with.seek(performer, 5), Error);
  EXPECT_EQ(cost(without, performer, 5), 6);
  EXPECT_EQ(cost(without, performer, 4), 5);
  log_.frames = 0;
  seek(performer, clip(), 5, kRate);
  EXPECT_EQ(log_.frames, 6);
}

}  // namespace
}  // namespace sinew
