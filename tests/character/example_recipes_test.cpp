#include <filesystem>

#include <gtest/gtest.h>

#include <sinew/character/performer.h>
#include <sinew/character/recipe.h>
#include <sinew/core/file.h>
#include <sinew/geometry/volume.h>
#include <sinew/layers/field_layer.h>
#include <sinew/layers/flesh_layer.h>
#include <sinew/layers/wrinkle_layer.h>
#include <sinew/models/models.h>
#include <sinew/models/open_models.h>

#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

/// How many muscles a recipe of examples/recipes gives a built-in character.
std::size_t muscles_of(const char* recipe, const char* model, std::size_t vertices) {
  const auto path = std::filesystem::path(SINEW_SOURCE_DIR) / "examples/recipes" / recipe;
  const Scene scene = test::shared_model(model, {vertices, {}}).scene;
  const auto character = Character::make(scene, read_recipe(path));
  const FieldLayer* layer = find_field_layer(*character);
  if (layer == nullptr) return 0;
  Performer performer(character);
  performer.perform(character->rest_pose());
  return layer->fields().muscles.size();
}

TEST(ExampleRecipes, FitTheCharactersTheyAreFor) {
  if (test::kSanitized) GTEST_SKIP() << "making the mannequin takes minutes here";
  EXPECT_EQ(muscles_of("biceps.json", "arm", 2500), 1u);
  EXPECT_EQ(muscles_of("mannequin_muscles.json", "mannequin", 6866), 4u);
}

TEST(ExampleRecipes, KeepVolumes) {
  if (test::kSanitized) GTEST_SKIP() << "making the mannequin takes minutes here";
  const std::pair<const char*, const char*> recipes[] = {{"volume_biceps.json", "arm"},
                                                         {"volume_rolls.json", "mannequin"},
                                                         {"volume_rubber.json", "tube"},
                                                         {"volume_pulp.json", "hand"}};
  for (const auto& [recipe, model] : recipes) {
    const auto path = std::filesystem::path(SINEW_SOURCE_DIR) / "examples/recipes" / recipe;
    const Scene scene = test::shared_model(model, {6866, {}}).scene;
    const auto character = Character::make(scene, read_recipe(path));
    Performer performer(character);
    const double rest = enclosed_volume({character->rest(), character->triangles()});
    for (int frame = 0; frame <= 20; ++frame) {
      Pose pose = character->rest_pose();
      sample_clip(scene.clips[0], 0.03 * frame * scene.clips[0].duration(), pose);
      performer.perform(pose);
    }
    const double now = enclosed_volume({performer.welded_positions(), character->triangles()});
    // Two of them exaggerate.
    if (std::string(recipe) == "volume_rubber.json" || std::string(recipe) == "volume_pulp.json")
      EXPECT_NEAR(now / rest, 1, 1e-6) << recipe;
    else
      EXPECT_NEAR(now / rest, 1, 0.05) << recipe;
  }
}

TEST(ExampleRecipes, Fold) {
  const std::pair<const char*, const char*> recipes[] = {{"wrinkles_forehead.json", "forehead"},
                                                         {"wrinkles_trousers.json", "trousers"}};
  for (const auto& [recipe, model] : recipes) {
    const auto path = std::filesystem::path(SINEW_SOURCE_DIR) / "examples/recipes" / recipe;
    const Scene scene = make_open_model(model);
    const auto character = Character::make(scene, read_recipe(path));
    EXPECT_TRUE(character->warnings().empty()) << recipe << ": " << character->warnings()[0];
    Performer performer(character);
    Pose pose = character->rest_pose();
    sample_clip(scene.clips[0], 0.3 * scene.clips[0].duration(), pose);
    performer.perform(pose);
    const auto& layer = dynamic_cast<const WrinkleLayer&>(*character->layers().back());
    std::size_t folded = 0;
    for (const WrinkleLayer::Tool& tool : layer.tools())
      folded += WrinkleLayer::loss(tool, performer.welded_positions()) > 0.02 * tool.rest_length;
    EXPECT_GE(folded, 1u) << recipe;
  }
}

TEST(ExampleRecipes, Jiggle) {
  if (test::kSanitized) GTEST_SKIP() << "making the mannequin takes minutes here";
  const std::pair<const char*, const char*> recipes[] = {{"flesh_jump.json", "mannequin"},
                                                         {"flesh_cat.json", "cat"}};
  for (const auto& [recipe, model] : recipes) {
    const auto path = std::filesystem::path(SINEW_SOURCE_DIR) / "examples/recipes" / recipe;
    const auto character = Character::make(test::shared_model(model, {6866, {}}).scene, read_recipe(path));
    EXPECT_GE(dynamic_cast<const FleshLayer&>(*character->layers().back()).elements().size(), 2u) << recipe;
  }
}

}  // namespace
}  // namespace sinew
