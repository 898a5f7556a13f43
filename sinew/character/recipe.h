#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/character/layer.h>

namespace sinew {

/// One layer of a recipe: which method, with which settings.
struct LayerRecipe {
  std::string method;
  std::shared_ptr<const LayerOptions> options;
};

/// How a character is made from a scene: a small document, every field optional. See parse_recipe for its
/// JSON and recipe_help for its fields.
struct Recipe {
  double weld_tolerance = 0;
  int influences = 0;
  bool normals = true;
  std::vector<LayerRecipe> layers;
  std::vector<std::string>
      warnings;  ///< what reading it has to say, such as fields by old names; one line each

  /// Dual quaternion skinning, all else at its default.
  Recipe();
  void visit(FieldVisitor& fields);
};

/// Reads {"weld_tolerance": 0, …, "layers": ["dqs", {"method": "…", …}]}. A layer is a method's name or an
/// object with the method and its settings. Throws Error naming `name`, the field and what is allowed for:
/// JSON that does not parse, is nested deeper than 32 or longer than 1 MB, unknown or repeated fields, wrong
/// types, numbers out of range, unknown methods, a field by its new and its old name.
Recipe parse_recipe(std::string_view json, const std::string& name);
Recipe read_recipe(const std::filesystem::path& path);

/// Throws Error (prefixed with `name`) for an unknown method, more than 64 layers, or a skinning method that
/// is not the first layer: it would undo those before it.
void check_layers(const Recipe& recipe, const std::string& name);

/// The recipe that --skin NAME stands for: that one method with its defaults, on top of the default recipe's
/// layers when it is not a skin by itself. Throws Error for unknown names.
Recipe recipe_for_method(std::string_view method);

/// The whole recipe as JSON, defaults included; parse_recipe gives it back.
std::string to_json(const Recipe& recipe);

/// The same for the settings of one layer on their own, without its "method": for programs that keep them
/// apart. `options` keeps its fields where the JSON says nothing. Returns warnings, as Recipe has them.
/// Throws as parse_recipe does.
std::vector<std::string> read_options(LayerOptions& options, std::string_view json, const std::string& name);
std::string to_json(const LayerOptions& options);
/// As recipe_help, for one layer; its present values count as the defaults.
std::string options_help(LayerOptions& options);

/// Every field with type, default, range and meaning, as text for people.
std::string recipe_help();
/// The same as JSON, for programs: {"fields": [...], "layers": [{"method", "summary", "fields"}], "default":
/// {...}}.
std::string recipe_help_json();

}  // namespace sinew
