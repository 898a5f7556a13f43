#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include <sinew/character/recipe.h>
#include <sinew/character/volume_layer.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/picture/plot.h>

#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

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
  const Recipe recipe = read_recipe(options.profiles);
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

}  // namespace

int run_recipe(const RecipeOptions& options) {
  if (options.profiles.empty())
    fmt::print("{}", options.json ? recipe_help_json() : recipe_help());
  else
    draw_profiles(options);
  return 0;
}

}  // namespace sinew::cli
