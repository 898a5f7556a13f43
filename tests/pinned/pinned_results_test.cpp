// The hash of every method's result on small built-in characters, of binding and of fitting, per instruction
// set, against those in results.txt. `./run pin` runs this with SINEW_PIN=rewrite: then it writes the file
// anew and says by how many millimetres what changed.
#include "tests/support/pinned_results.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include <sinew/authoring/bind_scene.h>
#include <sinew/authoring/suggest_wrinkles.h>
#include <sinew/character/layer.h>
#include <sinew/character/performer.h>
#include <sinew/character/recipe.h>
#include <sinew/fitting/fit_rig.h>
#include <sinew/fitting/template_rigs.h>
#include <sinew/layers/wrinkle_layer.h>
#include <sinew/models/models.h>
#include <sinew/models/open_models.h>
#include <sinew/skeleton/clip.h>

#include "tests/support/sanitized.h"
#include "tests/support/simd_targets.h"
#include "tests/support/temporary_directory.h"

namespace sinew::test {
namespace {

constexpr int kFrames = 12;  // of a clip, from its start to its end
// Each kind of kernel once; a processor without AVX-512 checks the other two.
const std::set<std::string> kPinnedTargets{"SSE4", "AVX2", "AVX3"};

struct Played {
  const char* model;
  const char* clip;
};
constexpr Played kPlayed[] = {{"tube", "bend"},   {"arm", "bend"},         {"hand", "fist"},
                              {"cat", "run"},     {"mannequin", "crouch"}, {"forehead", "raise"},
                              {"trousers", "sit"}};

const std::filesystem::path kPins = std::filesystem::path(SINEW_SOURCE_DIR) / "tests/pinned/results.txt";

std::size_t least_vertices(std::string_view name) {
  for (const Model& model : models())
    if (model.name == name) return model.least_vertices;
  return 0;  // an open model, of one size
}

void sample_evenly(const Scene& scene, const Clip& clip, int frame, Pose& pose) {
  pose = rest_pose(scene);
  sample_clip(clip, clip.duration() * frame / (kFrames - 1), pose);
}

/// The method with its defaults; wrinkles get the tools that are found for the clip.
Recipe recipe_of(const LayerMethod& method, const Scene& scene, const Clip& clip) {
  Recipe recipe = recipe_for_method(method.name);
  if (method.name != "wrinkles") return recipe;
  WrinkleFrames frames;
  frames.count = kFrames;
  frames.set_pose = [&](int frame, Pose& pose) { sample_evenly(scene, clip, frame, pose); };
  auto options = std::make_shared<WrinkleLayerOptions>();
  options->tools = suggest_wrinkles(Character::make(scene, Recipe()), frames);
  recipe.layers.back().options = std::move(options);
  return recipe;
}

void pin_performance(const Scene& scene, const Recipe& recipe, const Clip& clip, ResultPinner& pinner) {
  const auto character = Character::make(scene, recipe);
  Performer performer(character);
  for (int frame = 0; frame < kFrames; ++frame) {
    Pose pose = character->rest_pose();
    sample_evenly(scene, clip, frame, pose);
    performer.perform(pose, frame > 0 ? clip.duration() / (kFrames - 1) : 0);
    for (std::size_t mesh = 0; mesh < character->meshes().size(); ++mesh) {
      const auto positions = performer.positions(mesh);
      pinner.add(positions.data(), positions.size());
      const auto normals = performer.normals(mesh);
      pinner.add_bytes(normals.data(), normals.size_bytes());
    }
  }
}

using Case = std::function<PinnedResult()>;

class PinnedCases {
 public:
  PinnedCases() {
    for (const Played& played : kPlayed) add_performances(played);
    for (const Model& model : models()) add_binding(model.name);
    add_fitting("biped", "mannequin");
    add_fitting("quadruped", "cat");
    add_fitting("insect", "insect");
    add_fitting("hand", "hand");
  }

  const std::map<std::string, Case>& cases() const { return cases_; }

 private:
  std::shared_ptr<const Scene> scene(const std::string& name) {
    auto& kept = scenes_[name];
    if (!kept) {
      ModelOptions options;
      options.vertices = least_vertices(name);
      kept = std::make_shared<const Scene>(make_built_in_scene(name, options));
    }
    return kept;
  }

  void add_performances(const Played& played) {
    for (const LayerMethod& method : layer_methods()) {
      const auto name = std::string(played.model) + '/' + played.clip + '/' + std::string(method.name);
      cases_[name] = [this, played, &method] {
        const auto shown = scene(played.model);
        const Clip* clip = &shown->clips.at(0);
        for (const Clip& candidate : shown->clips)
          if (candidate.name == played.clip) clip = &candidate;
        ResultPinner pinner;
        pin_performance(*shown, recipe_of(method, *shown, *clip), *clip, pinner);
        return pinner.finish();
      };
    }
  }

  /// The weights, and how the rest pose's neighbours move by them in the model's first clip.
  void add_binding(std::string_view model) {
    cases_[std::string(model) + "/bind"] = [this, name = std::string(model)] {
      const auto bare = scene(name);
      const Scene bound = bind_scene(*bare, *bare);
      ResultPinner pinner;
      for (const SceneMesh& mesh : bound.meshes) {
        pinner.add_bytes(mesh.weights.joints.data(), mesh.weights.joints.size() * sizeof(std::uint32_t));
        pinner.add_bytes(mesh.weights.values.data(), mesh.weights.values.size() * sizeof(float));
      }
      pin_performance(bound, recipe_for_method("lbs"), bound.clips.at(0), pinner);
      return pinner.finish();
    };
  }

  void add_fitting(const char* rig, const char* model) {
    cases_[std::string(model) + "/fit"] = [this, rig, model] {
      const auto body = scene(model);
      const SceneMesh& mesh = body->meshes.at(0);
      const FittedRig fitted = fit_rig(mesh.surface.view(), make_template_rig(rig));
      std::vector<Vec3f> ends;
      std::vector<double> rolls;
      for (const RigBone& bone : fitted.rig.bones) {
        ends.push_back(bone.head.cast<float>());
        ends.push_back(bone.tail.cast<float>());
        rolls.push_back(bone.roll);
      }
      ResultPinner pinner;
      for (std::size_t i = 0; i + 8 <= ends.size(); i += 8) pinner.add(ends.data() + i, 8);
      pinner.add(ends.data() + ends.size() / 8 * 8, ends.size() % 8);
      pinner.add_bytes(rolls.data(), rolls.size() * sizeof(double));
      return pinner.finish();
    };
  }

  std::map<std::string, std::shared_ptr<const Scene>> scenes_;
  std::map<std::string, Case> cases_;
};

/// All cases on every pinned instruction set of this processor.
PinnedResults run_all(PinnedCases& cases) {
  PinnedResults results;
  for_each_simd_target([&](const std::string& target) {
    if (!kPinnedTargets.contains(target)) return;
    for (const auto& [name, run] : cases.cases()) results[{name, target}] = run();
  });
  return results;
}

/// Writes the pins anew and tells what changed. Pins of instruction sets that this processor lacks stay where
/// nothing else of their case changed.
void rewrite(const PinnedResults& now, const PinnedResults& before) {
  PinnedResults kept = now;
  std::set<std::string> changed;
  for (const auto& [key, result] : now) {
    const auto old = before.find(key);
    if (old == before.end()) {
      std::printf("pin: %s on %s is new\n", key.first.c_str(), key.second.c_str());
      changed.insert(key.first);
    } else if (old->second.hash != result.hash) {
      changed.insert(key.first);
      std::printf("pin: %s on %s changed", key.first.c_str(), key.second.c_str());
      if (!old->second.samples.empty()) std::printf(": %s", difference_text(old->second, result).c_str());
      std::printf("\n");
    }
  }
  for (const auto& [key, result] : before) {
    if (now.contains(key)) continue;
    const bool elsewhere = std::any_of(now.begin(), now.end(), [&, &name = key.first](const auto& entry) {
      return entry.first.first == name;
    });
    if (elsewhere && !changed.contains(key.first)) {
      kept[key] = result;
    } else {
      std::printf("pin: %s on %s is dropped%s\n", key.first.c_str(), key.second.c_str(),
                  elsewhere ? ": it changed, and this processor cannot tell to what" : "");
    }
  }
  write_pins(kPins, kept);
  std::printf("pin: %zu results, %zu cases changed: %s\n", kept.size(), changed.size(), kPins.c_str());
}

TEST(PinnedResults, AreWhatTheyWere) {
  if (kSanitized) GTEST_SKIP() << "release pins every method; here the hand and the cat take minutes";
#ifndef __clang__
  GTEST_SKIP() << "pins are of the presets' compiler, Clang";
#endif
  PinnedCases cases;
  const PinnedResults now = run_all(cases), before = read_pins(kPins);
  ASSERT_FALSE(now.empty());
  if (const char* wish = std::getenv("SINEW_PIN"); wish != nullptr && std::string_view(wish) == "rewrite") {
    rewrite(now, before);
    return;
  }
  for (const auto& [key, result] : now) {
    const auto pin = before.find(key);
    if (pin == before.end()) {
      // A processor without AVX-512 may have rewritten the pins.
      EXPECT_EQ(key.second, "AVX3") << key.first << ": no pin; `./run pin` makes one";
      continue;
    }
    EXPECT_EQ(pin->second.hash, result.hash)
        << key.first << " on " << key.second << " changed: "
        << (pin->second.samples.empty() ? "see the other instruction sets"
                                        : difference_text(pin->second, result))
        << ". If that was meant, `./run pin`.";
  }
}

TEST(PinnedResults, TellHowFarPointsMoved) {
  const std::vector<Vec3f> before{{0, 0, 0}, {1, 0, 0}}, now{{0, 0, 0}, {1, 0.002f, 0}};
  ResultPinner a, b;
  a.add(before.data(), before.size());
  b.add(now.data(), now.size());
  EXPECT_NE(a.finish().hash, b.finish().hash);
  EXPECT_EQ(difference_text(a.finish(), b.finish()), "largest 2 mm, RMS 1.41 mm, of 2 samples");
  EXPECT_EQ(difference_text(PinnedResult{}, b.finish()), "other points: they cannot be compared");
}

TEST(PinnedResults, ComeBackFromTheirFile) {
  const TemporaryDirectory directory;
  const std::vector<Vec3f> points{{0.25f, -1, 3e-7f}, {1, 2, 3}};
  ResultPinner pinner;
  pinner.add(points.data(), points.size());
  PinnedResults written;
  written[{"tube/lbs", "AVX2"}] = written[{"tube/lbs", "SSE4"}] = pinner.finish();
  write_pins(directory.path() / "pins.txt", written);
  const PinnedResults read = read_pins(directory.path() / "pins.txt");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read.at({"tube/lbs", "AVX2"}).samples, points);
  EXPECT_TRUE(read.at({"tube/lbs", "SSE4"}).samples.empty());  // one set's are enough
  for (const auto& [key, result] : read) EXPECT_EQ(result.hash, written.at(key).hash);
}

}  // namespace
}  // namespace sinew::test
