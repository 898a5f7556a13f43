#include <sinew/character/bake.h>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

/// Keeps what it is given.
class Recorder : public FrameWriter {
 public:
  void write_frame(std::span<const MeshFrame> meshes) override {
    frames.emplace_back(meshes[0].positions.begin(), meshes[0].positions.end());
  }
  void finish() override { finished = true; }
  std::vector<std::filesystem::path> outputs() const override { return {}; }

  std::vector<std::vector<Vec3f>> frames;
  bool finished = false;
};

std::vector<std::vector<Vec3f>> bake_tube(int first, int last, int threads) {
  const Scene scene = test::make_grid_tube();
  const auto character = Character::make(scene, Recipe());
  BakeOptions options;
  options.first_frame = first;
  options.last_frame = last;
  options.set_pose = [&](int frame, Pose& pose) { sample_clip(scene.clips[0], frame / 30.0, pose); };
  Recorder recorder;
  BakeReport report;
  tbb::task_arena(threads).execute([&] { report = bake(character, options, recorder); });
  EXPECT_TRUE(recorder.finished);
  EXPECT_EQ(report.frames, last - first + 1);
  EXPECT_EQ(recorder.frames.size(), static_cast<std::size_t>(last - first + 1));
  return recorder.frames;
}

TEST(Bake, SameBitsForAnyNumberOfThreads) {
  EXPECT_TRUE(bake_tube(0, 20, 1) == bake_tube(0, 20, 4));
}

TEST(Bake, PartEqualsTheSameFramesOfTheWhole) {
  const auto whole = bake_tube(0, 20, 2);
  const auto part = bake_tube(7, 11, 2);
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_TRUE(part[i] == whole[7 + i]);
  EXPECT_FALSE(whole[7] == whole[8]);
}

TEST(Bake, ProgressRunsToOneAndCanCancel) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  BakeOptions options;
  options.last_frame = 9;
  Recorder recorder;
  double last = -1;
  bake(character, options, recorder, [&](double share) {
    EXPECT_GE(share, last);
    last = share;
    return true;
  });
  EXPECT_EQ(last, 1);
  Recorder cancelled;
  EXPECT_THROW(bake(character, options, cancelled, [](double share) { return share < 0.5; }), Cancelled);
  EXPECT_FALSE(cancelled.finished);
}

}  // namespace
}  // namespace sinew
