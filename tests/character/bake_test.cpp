#include <sinew/character/bake.h>

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/character/performer.h>
#include <sinew/character/seek.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/models/models.h>

#include "tests/support/allocations.h"
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

/// Moves the surface by what earlier frames and their seconds add up to or, without history, by this
/// frame's seconds.
class SumLayer : public Layer {
 public:
  explicit SumLayer(bool history) : history_(history) {}

  bool has_history() const override { return history_; }
  std::unique_ptr<LayerState> make_state() const override { return std::make_unique<State>(); }
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override {
    float& sum = static_cast<State&>(*state).sum;
    sum = 0.9f * sum + positions.back().y() + static_cast<float>(frame.seconds);
    for (Vec3f& p : positions)
      p += history_ ? Vec3f(sum, 0, 0) : Vec3f(0, static_cast<float>(frame.seconds), 0);
  }

 private:
  struct State : LayerState {
    float sum = 0;
  };
  bool history_;
};

std::vector<std::vector<Vec3f>> bake_tube(int first, int last, int threads,
                                          const std::vector<LayerMaker>& layers = {}) {
  const Scene scene = test::make_grid_tube();
  const auto character = Character::make(scene, Recipe(), layers);
  BakeOptions options;
  options.first_frame = first;
  options.last_frame = last;
  options.set_pose = [&](int frame, Pose& pose) { sample_clip(scene.clips[0], frame / 30.0, pose); };
  Recorder recorder;
  BakeReport report;
  tbb::task_arena(threads).execute([&] { report = bake(character, options, recorder); });
  EXPECT_TRUE(recorder.finished);
  EXPECT_EQ(report.frames, last - first + 1);
  EXPECT_EQ(recorder.frames.size(), to_size(last - first + 1));
  return recorder.frames;
}

TEST(Bake, PerformersKnowTheirMemory) {
  if (!test::counts_allocations()) GTEST_SKIP() << "sanitizers have their own allocator";
  test::GridTubeOptions fine;
  fine.rings = 300;
  fine.segments = 100;
  const Scene tube = test::make_grid_tube(fine);
  ModelOptions vertices;
  vertices.vertices = 8000;
  const Scene body = make_model("mannequin", vertices).scene;
  const auto check = [](const Scene& scene, const std::string& layers) {
    const auto character = Character::make(scene, parse_recipe(R"({"layers": )" + layers + "}", "test"));
    Performer warm_up(character);  // whatever is made once for the process
    const std::size_t before = test::allocated_bytes();
    const auto performer = std::make_unique<Performer>(character);
    const auto taken = static_cast<double>(test::allocated_bytes() - before);
    EXPECT_GT(static_cast<double>(performer->bytes()), 0.85 * taken) << layers;
    EXPECT_LT(static_cast<double>(performer->bytes()), 1.2 * taken) << layers;
  };
  for (const char* skin : {"lbs", "dqs", "bulge_free", "stretch_twist"}) {
    check(tube, fmt::format(R"(["{}"])", skin));
    check(body, fmt::format(R"(["{}"])", skin));
  }
  check(body, R"(["dqs", "volume"])");
  check(body, R"(["dqs", "implicit"])");
  check(body, R"(["dqs", "implicit", "volume"])");
  check(body, R"(["dqs", {"method": "wrinkles", "tools": [{"points": [{"x": 0, "y": 1, "z": 0.1},
                                                                     {"x": 0.1, "y": 1, "z": 0.1}]}]}])");
  check(make_model("cat").scene, R"(["dqs", "curves"])");
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

TEST(Bake, PartEqualsTheWholeForLayersThatDependOnTime) {
  for (const bool history : {false, true}) {
    const std::vector<LayerMaker> layers = {
        [history](const Character&) { return std::make_unique<SumLayer>(history); }};
    const auto whole = bake_tube(0, 12, 2, layers);
    EXPECT_TRUE(whole == bake_tube(0, 12, 1, layers)) << history;
    for (const int first : {1, 7, 12}) {
      const auto part = bake_tube(first, 12, 1, layers);
      for (std::size_t i = 0; i < part.size(); ++i)
        EXPECT_TRUE(part[i] == whole[to_size(first) + i]) << history << ' ' << first;
    }
  }
}

TEST(Bake, WithHistoryGivesTheFramesOfSeek) {
  const Scene scene = test::make_grid_tube();
  const std::vector<LayerMaker> layers = {[](const Character&) { return std::make_unique<SumLayer>(true); }};
  Performer performer(Character::make(scene, Recipe(), layers));
  const auto baked = bake_tube(4, 6, 2, layers);
  for (int frame = 4; frame <= 6; ++frame) {
    seek(performer, scene.clips[0], frame, 30);
    EXPECT_TRUE(std::ranges::equal(performer.positions(0), baked[to_size(frame - 4)]));
  }
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
