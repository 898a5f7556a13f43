#include "apps/cli/bench_methods.h"
#include "apps/cli/operator_tables.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <malloc.h>
#include <tbb/task_arena.h>

#include <sinew/authoring/suggest_wrinkles.h>
#include <sinew/character/performer.h>
#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/layers/flesh_layer.h>
#include <sinew/skeleton/clip.h>

namespace sinew::cli {

namespace {

// The sizes are those of the papers' figures, so that the times stand beside theirs.
const MethodCase kCases[] = {
    {"tube 2050", "tube", 2050, "bend", 1},
    {"hand 31750", "hand", 31750, "fist", 1},
    {"mannequin 6866", "mannequin", 6866, "crouch", 1},
    {"mannequin 32056", "mannequin", 32056, "crouch", 1},
    {"mannequin 172974", "mannequin", 172974, "crouch", 1},
    {"mannequin 6866 x 32", "mannequin", 6866, "crouch", 32},
    {"cat 20000", "cat", 20000, "run", 1},
};

constexpr int kThreadCounts[] = {1, 2};
constexpr int kMostSetups = 5;
constexpr double kSetupSeconds = 3;  // for all methods of a case together, after each had its first

/// Bytes of memory that the process really has, of whatever allocator. Free memory is given back first, so
/// that the growth between two calls is what was allocated between them and is still held, give or take a
/// few pages.
std::size_t resident_bytes() {
  malloc_trim(0);
  std::ifstream rollup("/proc/self/smaps_rollup");  // statm is off by some hundred pages
  for (std::string word; rollup >> word;)
    if (word == "Rss:") {
      std::size_t kilobytes = 0;
      rollup >> kilobytes;
      return kilobytes * 1024;
    }
  return 0;
}

std::size_t growth(std::size_t before, std::size_t after) {
  return after > before ? after - before : 0;
}

/// A clip's poses, sampled beforehand: only the deformation is timed.
class Poses {
 public:
  Poses(const Scene& scene, std::string_view clip_name) {
    const auto clip = std::find_if(scene.clips.begin(), scene.clips.end(),
                                   [&](const Clip& candidate) { return candidate.name == clip_name; });
    if (clip == scene.clips.end()) throw Error("bench: no clip '" + std::string(clip_name) + "'");
    const double fps = guess_frame_rate(*clip);
    seconds_per_frame_ = 1 / fps;
    for (int frame = 0; frame < frame_count(*clip, fps); ++frame) {
      poses_.push_back(rest_pose(scene));
      sample_clip(*clip, frame * seconds_per_frame_, poses_.back());
    }
  }

  int count() const { return static_cast<int>(poses_.size()); }
  double seconds_per_frame() const { return seconds_per_frame_; }
  /// Forwards and backwards without end, so that the motion never jumps.
  const Pose& at(int frame) const {
    const int last = count() - 1, place = last > 0 ? frame % (2 * last) : 0;
    return poses_[to_size(place <= last ? place : 2 * last - place)];
  }

 private:
  std::vector<Pose> poses_;
  double seconds_per_frame_ = 0;
};

/// A character and all that perform it.
class Stage {
 public:
  Stage(const Scene& scene, const Recipe& recipe) : character_(make_character(scene, recipe)) {}

  void add_performers(int count) {
    for (int i = 0; i < count; ++i) performers_.push_back(std::make_unique<Performer>(character_));
  }

  void reset() {
    for (const auto& performer : performers_) performer->reset();
  }

  /// Each performer is in another part of the clip.
  void perform(const Poses& poses, int frame) {
    parallel_blocks(performers_.size(), 1, [&](std::size_t p, std::size_t) {
      const int lag = static_cast<int>(p) * poses.count() / static_cast<int>(performers_.size());
      performers_[p]->perform(poses.at(frame + lag), poses.seconds_per_frame());
    });
  }

  /// A few frames from a fresh start, the same ones always, and their hashes.
  void hash_fixed_frames(const Poses& poses, MethodRun& run) {
    reset();
    const int last = poses.count() / 2;
    for (int frame = std::max(0, last - 3); frame <= last; ++frame) perform(poses, frame);
    run.hash = hash_of(std::span<const Vec3f>{});
    run.normals_hash = run.normals ? hash_of(std::span<const Vec3f>{}) : 0;
    for (const auto& performer : performers_)
      for (std::size_t m = 0; m < character_->meshes().size(); ++m) {
        run.hash = hash_of(performer->positions(m), run.hash);
        if (run.normals) run.normals_hash = hash_of(performer->normals(m), run.normals_hash);
      }
  }

 private:
  std::shared_ptr<const Character> character_;
  std::vector<std::unique_ptr<Performer>> performers_;
};

constexpr std::size_t kPieces = 10;  // of flesh, and wrinkle tools

/// Flesh on the joints that carry the most skin: what is found by itself differs from character to character.
std::shared_ptr<const LayerOptions> many_elements(const Character& character) {
  std::vector<std::size_t> skin(character.skeleton().size(), 0);
  for (std::size_t v = 0; v < character.rest().size(); ++v) {
    const int joint = character.bindings()[character.skin_weights().row_joints(v)[0]].joint;
    if (joint >= 0) ++skin[to_size(joint)];
  }
  std::vector<std::size_t> order(skin.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return skin[a] > skin[b]; });
  auto options = std::make_shared<FleshLayerOptions>();
  for (std::size_t i = 0; i < std::min(kPieces, order.size()) && skin[order[i]] > 0; ++i) {
    FleshChoice element;
    element.joint = character.skeleton().joints[order[i]].name;
    options->elements.push_back(element);
  }
  return options;
}

/// Tools where the clip presses the skin together the most.
std::shared_ptr<const LayerOptions> many_tools(const std::shared_ptr<const Character>& character,
                                               const Poses& poses) {
  constexpr int kMeasuredFrames = 12;
  WrinkleFrames frames;
  frames.count = std::min(kMeasuredFrames, poses.count());
  frames.set_pose = [&](int frame, Pose& pose) {
    pose = poses.at(frame * (poses.count() - 1) / std::max(1, frames.count - 1));
  };
  auto options = std::make_shared<WrinkleLayerOptions>();
  options->tools = suggest_wrinkles(character, frames, kPieces);
  return options;
}

/// The method's recipe with its defaults; layers that need to be told where they work are told ten places.
Recipe bench_recipe(const LayerMethod& method, const Scene& scene, const Poses& poses) {
  Recipe recipe = recipe_for_method(method.name);
  if (method.name != "flesh" && method.name != "wrinkles") return recipe;
  const auto character = Character::make(scene, Recipe());
  recipe.layers.back().options =
      method.name == "flesh" ? many_elements(*character) : many_tools(character, poses);
  return recipe;
}

/// Runs that differ in their number of threads alone stand together and share a stage.
std::size_t stage_of(std::size_t run) {
  return run / std::size(kThreadCounts);
}

/// Makes every run's stage several times, in turns, and keeps the last. The first time shows the memory too.
std::vector<std::unique_ptr<Stage>> set_up(const MethodCase& what, const Scene& scene,
                                           const TimingOptions& options, std::vector<MethodRun>& runs,
                                           const std::map<std::string, Recipe>& recipes,
                                           const Progress& progress) {
  std::vector<std::unique_ptr<Stage>> stages(runs.size() / std::size(kThreadCounts));
  std::vector<std::vector<double>> seconds(runs.size());
  const int rounds = options.repeats > 0 ? std::min(options.repeats, kMostSetups) : kMostSetups;
  double begin = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == 1) begin = now_seconds();
    if (round > 1 && options.repeats == 0 && now_seconds() - begin > kSetupSeconds) break;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      report_progress(
          progress, static_cast<double>(round * runs.size() + r) / static_cast<double>(rounds * runs.size()));
      MethodRun& run = runs[r];
      Recipe recipe = recipes.at(run.method);
      recipe.normals = run.normals;
      std::unique_ptr<Stage>& stage = stages[stage_of(r)];
      stage.reset();
      const bool measure_memory = round == 0;
      std::size_t before = 0, between = 0;
      if (measure_memory) before = resident_bytes();
      tbb::task_arena arena(run.threads);
      arena.execute([&] {
        const double start = now_seconds();
        stage = std::make_unique<Stage>(scene, recipe);
        const double made = now_seconds();
        if (measure_memory) between = resident_bytes();
        const double resumed = now_seconds();
        stage->add_performers(what.performers);
        seconds[r].push_back(made - start + now_seconds() - resumed);
      });
      if (measure_memory) {
        run.character_bytes = growth(before, between);
        run.performer_bytes = growth(between, resident_bytes());
      }
    }
  }
  for (std::size_t r = 0; r < runs.size(); ++r) runs[r].setup_seconds = median(seconds[r]);
  return stages;
}

}  // namespace

std::span<const MethodCase> method_cases() {
  return kCases;
}

std::vector<MethodCase> cases_of(const Scene& scene, const std::string& file, const std::string& clip) {
  std::size_t vertices = 0;
  for (const SceneMesh& mesh : scene.meshes) vertices += mesh.surface.positions.size();
  std::vector<MethodCase> cases;
  std::string names;
  for (const Clip& candidate : scene.clips) {
    names += (names.empty() ? "" : ", ") + candidate.name;
    if (clip.empty() || clip == candidate.name)
      cases.push_back({std::filesystem::path(file).stem().string() + " " + candidate.name, file, vertices,
                       candidate.name, 1});
  }
  if (cases.empty())
    throw Error(scene.clips.empty() ? fmt::format("{}: has no clip to time methods on", file)
                                    : fmt::format("{}: no clip '{}'; there are {}", file, clip, names));
  return cases;
}

CaseResult bench_methods(const MethodCase& what, const Scene& scene, std::span<const LayerMethod> methods,
                         const TimingOptions& options, const Progress& progress) {
  const Poses poses(scene, what.clip);
  CaseResult result{what, 0, poses.count(), {}};
  for (const Skin& skin : scene.skins) result.joints += skin.joints.size();
  std::map<std::string, Recipe> recipes;
  for (const LayerMethod& method : methods) {
    const Recipe& recipe =
        recipes.emplace(std::string(method.name), bench_recipe(method, scene, poses)).first->second;
    const auto character = make_character(scene, recipe);
    if (!character->layers().back()->idle_because().empty()) continue;
    for (const bool normals : {false, true})
      for (const int threads : kThreadCounts) {
        MethodRun run;
        run.method = method.name;
        run.normals = normals;
        run.threads = threads;
        result.runs.push_back(run);
      }
  }

  const auto part = [&](double from, double to) -> Progress {
    if (!progress) return {};
    return [=, &progress](double share_done) { return progress(from + (to - from) * share_done); };
  };
  const auto stages = set_up(what, scene, options, result.runs, recipes, part(0, 0.3));

  std::vector<Contestant> contestants;
  for (std::size_t r = 0; r < result.runs.size(); ++r)
    contestants.push_back({result.runs[r].threads, [&stages, &poses, r](int round, int step) {
                             // Steps of the golden ratio spread the rounds over the clip, however many.
                             const double place = std::fmod(round * 0.6180339887498949, 1.0);
                             // A leap through the clip is no motion: what remembers begins anew there.
                             if (step == 0) stages[stage_of(r)]->reset();
                             stages[stage_of(r)]->perform(poses,
                                                          static_cast<int>(place * poses.count()) + step);
                           }});
  const std::vector<Timing> timings = time_in_turns(contestants, options, part(0.3, 0.99));

  const double vertices = static_cast<double>(what.vertices) * what.performers;
  for (std::size_t r = 0; r < result.runs.size(); ++r) {
    MethodRun& run = result.runs[r];
    run.frame = timings[r];
    run.nanoseconds_per_vertex = run.frame.median / vertices * 1e9;
    tbb::task_arena arena(run.threads);
    arena.execute([&] { stages[stage_of(r)]->hash_fixed_frames(poses, run); });
  }
  for (MethodRun& run : result.runs)
    for (const MethodRun& other : result.runs)
      if (other.method == "lbs" && other.normals == run.normals && other.threads == run.threads)
        run.ratio_to_lbs = run.frame.median / other.frame.median;
  report_progress(progress, 1);
  return result;
}

}  // namespace sinew::cli
