#include <filesystem>

#include <gtest/gtest.h>

#include <sinew/character/field_layer.h>
#include <sinew/character/performer.h>
#include <sinew/character/recipe.h>
#include <sinew/core/file.h>
#include <sinew/models/models.h>
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

/// How many muscles a recipe of examples/recipes gives a built-in character.
std::size_t muscles_of(const char* recipe, const char* model, std::size_t vertices) {
  const auto path = std::filesystem::path(SINEW_SOURCE_DIR) / "examples/recipes" / recipe;
  const Scene scene = make_model(model, {vertices, {}}).scene;
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

}  // namespace
}  // namespace sinew
