#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/layers/volume_layer.h>
#include <sinew/picture/plot.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/performance.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct RecipeOptions {
  bool json = false;
  std::string profiles;  ///< a recipe whose curves are to be drawn
  std::string output;
};

constexpr int kCurvePoints = 200;

PlotSeries curve_of(const std::string& name, const VolumeChoice& choice) {
  const FreedomRule rule = choice.rule(name);
  PlotSeries series{name, {}, {}};
  for (int i = 0; i <= kCurvePoints; ++i) {
    series.x.push_back(2.0 * i / kCurvePoints - 1);
    series.y.push_back(freedom_along(rule, series.x.back()));
  }
  return series;
}

/// How freely skin swells along the bones at each joint that the recipe names, and at all others.
void draw_profiles(const RecipeOptions& options) {
  LinePlot plot;
  plot.title = "Where skin restores volume";
  plot.x_label = "along the bones (-1: bone before, 0: joint, 1: bone behind)";
  plot.y_label = "freedom";
  const Recipe recipe = open_recipe(options.profiles);
  for (const LayerRecipe& layer : recipe.layers)
    if (const auto* volume = dynamic_cast<const VolumeLayerOptions*>(layer.options.get())) {
      for (const JointVolumeChoice& joint : volume->joints)
        plot.series.push_back(curve_of(joint.joint, joint.choice));
      plot.series.push_back(curve_of(volume->joints.empty() ? "all joints" : "other joints", volume->choice));
    }
  if (plot.series.empty())
    throw Error(fmt::format("{}: has no volume layer, so no curves along bones", options.profiles));
  write_file(options.output, line_plot_svg(plot));
  fmt::print("{} curves: {}\n", plot.series.size(), options.output);
}

int run_recipe(const RecipeOptions& options) {
  if (options.profiles.empty())
    fmt::print("{}", options.json ? recipe_help_json() : recipe_help());
  else
    draw_profiles(options);
  return 0;
}

std::function<int()> declare_recipe(CLI::App& app) {
  const auto options = std::make_shared<RecipeOptions>();
  app.add_flag("--json", options->json, "print it as JSON");
  CLI::Option* profiles =
      app.add_option("--profiles", options->profiles,
                     "RECIPE.json: draw the curves along bones of this recipe's volume layer instead, to -o")
          ->type_name(kFile);
  app.add_option("-o,--output", options->output, "OUT.svg")->type_name(kFile)->needs(profiles);
  profiles->needs("--output")->excludes("--json");
  return [options] { return run_recipe(*options); };
}

}  // namespace

const Verb kRecipeVerb{"recipe", "List every field a recipe may have, with default and range",
                       declare_recipe};

}  // namespace sinew::cli
