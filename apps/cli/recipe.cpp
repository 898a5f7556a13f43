#include <cstdio>

#include <fmt/format.h>

#include <sinew/character/recipe.h>

#include "apps/cli/verbs.h"

namespace sinew::cli {

int run_recipe(const RecipeOptions& options) {
  fmt::print("{}", options.json ? recipe_help_json() : recipe_help());
  return 0;
}

}  // namespace sinew::cli
