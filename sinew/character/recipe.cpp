#include <sinew/character/recipe.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/nesting.h>

namespace sinew {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNestingLimit = 32;
constexpr std::size_t kSizeLimit = std::size_t{1} << 20;
constexpr std::size_t kMostLayers = 64;

std::string show(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

/// Sets fields from a JSON object and refuses what no field took.
class FieldReader : public FieldVisitor {
 public:
  FieldReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  void number(std::string_view name, double& value, double minimum, double maximum,
              std::string_view) override {
    const Json* given = find(name);
    if (given == nullptr) return;
    if (!given->is_number()) fail(name, fmt::format("expected a number, found {}", show(*given)));
    const double number = given->get<double>();
    if (!(number >= minimum && number <= maximum)) fail_range(name, *given, minimum, maximum);
    value = number;
  }

  void integer(std::string_view name, int& value, int minimum, int maximum, std::string_view) override {
    const Json* given = find(name);
    if (given == nullptr) return;
    if (!given->is_number()) fail(name, fmt::format("expected a whole number, found {}", show(*given)));
    const double number = given->get<double>();
    if (number != std::floor(number))
      fail(name, fmt::format("expected a whole number, found {}", show(*given)));
    if (!(number >= minimum && number <= maximum)) fail_range(name, *given, minimum, maximum);
    value = static_cast<int>(number);
  }

  void boolean(std::string_view name, bool& value, std::string_view) override {
    const Json* given = find(name);
    if (given == nullptr) return;
    if (!given->is_boolean()) fail(name, fmt::format("expected true or false, found {}", show(*given)));
    value = given->get<bool>();
  }

  /// A field that is read elsewhere.
  void allow(std::string_view name) { known_.emplace_back(name); }

  void refuse_unknown() const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      std::string allowed;
      for (const std::string& field : known_) allowed += (allowed.empty() ? "" : ", ") + field;
      throw Error(fmt::format("{}'{}' is not a field; allowed are: {}", where_, name, allowed));
    }
  }

 private:
  const Json* find(std::string_view name) {
    known_.emplace_back(name);
    const auto field = object_.find(std::string(name));
    return field == object_.end() ? nullptr : &*field;
  }
  [[noreturn]] void fail(std::string_view name, const std::string& what) const {
    throw Error(fmt::format("{}{}: {}", where_, name, what));
  }
  template <class Bound>
  [[noreturn]] void fail_range(std::string_view name, const Json& given, Bound minimum, Bound maximum) const {
    fail(name, fmt::format("{} is out of range; allowed are {} to {}", show(given), minimum, maximum));
  }

  const Json& object_;
  std::string where_;
  std::vector<std::string> known_;
};

/// Collects the current values.
class FieldWriter : public FieldVisitor {
 public:
  void number(std::string_view name, double& value, double, double, std::string_view) override {
    object[std::string(name)] = value;
  }
  void integer(std::string_view name, int& value, int, int, std::string_view) override {
    object[std::string(name)] = value;
  }
  void boolean(std::string_view name, bool& value, std::string_view) override {
    object[std::string(name)] = value;
  }
  Json object = Json::object();
};

/// Collects type, default, range and help.
class FieldDescriber : public FieldVisitor {
 public:
  void number(std::string_view name, double& value, double minimum, double maximum,
              std::string_view help) override {
    fields.push_back({{"name", name},
                      {"type", "number"},
                      {"default", value},
                      {"minimum", minimum},
                      {"maximum", maximum},
                      {"help", help}});
  }
  void integer(std::string_view name, int& value, int minimum, int maximum, std::string_view help) override {
    fields.push_back({{"name", name},
                      {"type", "integer"},
                      {"default", value},
                      {"minimum", minimum},
                      {"maximum", maximum},
                      {"help", help}});
  }
  void boolean(std::string_view name, bool& value, std::string_view help) override {
    fields.push_back({{"name", name}, {"type", "boolean"}, {"default", value}, {"help", help}});
  }
  Json fields = Json::array();
};

const LayerMethod& require_method(std::string_view name, const std::string& where) {
  const LayerMethod* method = find_layer_method(name);
  if (method == nullptr)
    throw Error(fmt::format("{}'{}' is not a method; allowed are: {}", where, name, layer_method_names()));
  return *method;
}

LayerRecipe parse_layer(const Json& json, const std::string& where) {
  if (json.is_string()) {
    const LayerMethod& method = require_method(json.get<std::string>(), where + ": ");
    return {std::string(method.name), method.make_options()};
  }
  if (!json.is_object())
    throw Error(fmt::format("{}: expected a method's name or an object, found {}", where, show(json)));
  const auto name = json.find("method");
  if (name == json.end()) throw Error(fmt::format("{}.method: is missing", where));
  if (!name->is_string())
    throw Error(fmt::format("{}.method: expected a string, found {}", where, show(*name)));
  const LayerMethod& method = require_method(name->get<std::string>(), where + ".method: ");
  std::unique_ptr<LayerOptions> options = method.make_options();
  FieldReader reader(json, where + ".");
  reader.allow("method");
  options->visit(reader);
  reader.refuse_unknown();
  return {std::string(method.name), std::move(options)};
}

/// nlohmann keeps the last of repeated keys in silence; a recipe that says a thing twice is a mistake.
class RepeatedKeys {
 public:
  explicit RepeatedKeys(const std::string& name) : name_(name) {}
  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second) throw Error(fmt::format("{}: '{}' is given twice", name_, key));
    }
    return true;
  }

 private:
  const std::string& name_;
  std::vector<std::set<std::string>> keys_;
};

void append_fields(std::string& text, const Json& fields) {
  for (const Json& field : fields) {
    std::string range;
    if (field.contains("minimum"))
      range = fmt::format(", {} to {}", field["minimum"].dump(), field["maximum"].dump());
    text += fmt::format("  {:<16} {}, default {}{}\n                   {}\n",
                        field["name"].get<std::string>(), field["type"].get<std::string>(),
                        field["default"].dump(), range, field["help"].get<std::string>());
  }
}

}  // namespace

Recipe::Recipe() : layers{{"dqs", require_method("dqs", "").make_options()}} {}

void Recipe::visit(FieldVisitor& fields) {
  fields.number("weld_tolerance", weld_tolerance, 0, 1,
                "metres; vertices this close with the same weights deform as one (0: only exact seams)");
  fields.integer("influences", influences, 0, 255,
                 "joints kept per vertex, the heaviest, rescaled to sum 1 (0: all that the file has)");
  fields.boolean("normals", normals, "recompute normals after the last layer");
}

Recipe parse_recipe(std::string_view text, const std::string& name) {
  if (text.size() > kSizeLimit)
    throw Error(
        fmt::format("{}: {} bytes are too long for a recipe ({} allowed)", name, text.size(), kSizeLimit));
  check_json_nesting(text, name, kNestingLimit);
  Json json;
  try {
    json = Json::parse(text, RepeatedKeys(name));
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: not valid JSON: {}", name, error.what()));
  }
  if (!json.is_object())
    throw Error(fmt::format("{}: a recipe is a JSON object, found {}", name, show(json)));
  Recipe recipe;
  FieldReader reader(json, name + ": ");
  recipe.visit(reader);
  reader.allow("layers");
  reader.refuse_unknown();
  if (const auto layers = json.find("layers"); layers != json.end()) {
    if (!layers->is_array())
      throw Error(fmt::format("{}: layers: expected a list, found {}", name, show(*layers)));
    if (layers->empty())
      throw Error(fmt::format("{}: layers: is empty; allowed are: {}", name, layer_method_names()));
    if (layers->size() > kMostLayers)
      throw Error(fmt::format("{}: layers: {} of them; allowed are {}", name, layers->size(), kMostLayers));
    recipe.layers.clear();
    for (std::size_t i = 0; i < layers->size(); ++i)
      recipe.layers.push_back(parse_layer((*layers)[i], fmt::format("{}: layers[{}]", name, i)));
  }
  check_layers(recipe, name);
  return recipe;
}

void check_layers(const Recipe& recipe, const std::string& name) {
  if (recipe.layers.size() > kMostLayers)
    throw Error(
        fmt::format("{}: layers: {} of them; allowed are {}", name, recipe.layers.size(), kMostLayers));
  for (std::size_t i = 0; i < recipe.layers.size(); ++i) {
    const std::string where = fmt::format("{}: layers[{}]: ", name, i);
    const LayerMethod& method = require_method(recipe.layers[i].method, where);
    if (method.is_skin && i > 0)
      throw Error(
          fmt::format("{}'{}' is a skinning method and would undo the layers before it; put it first, and "
                      "only one",
                      where, method.name));
  }
}

Recipe read_recipe(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path, kSizeLimit);
  return parse_recipe(as_text(bytes), path.string());
}

Recipe recipe_for_method(std::string_view name) {
  const LayerMethod& method = require_method(name, "skin: ");
  Recipe recipe;
  if (method.is_skin) recipe.layers.clear();
  recipe.layers.push_back({std::string(method.name), method.make_options()});
  return recipe;
}

namespace {

Json recipe_json(Recipe recipe) {
  FieldWriter writer;
  recipe.visit(writer);
  Json& json = writer.object;
  json["layers"] = Json::array();
  for (const LayerRecipe& layer : recipe.layers) {
    FieldWriter fields;
    fields.object["method"] = layer.method;
    // visit() serves readers too and so is not const; a writer changes nothing.
    if (layer.options) const_cast<LayerOptions&>(*layer.options).visit(fields);
    json["layers"].push_back(std::move(fields.object));
  }
  return json;
}

}  // namespace

std::string to_json(const Recipe& recipe) {
  return recipe_json(recipe).dump(2) + "\n";
}

std::string recipe_help_json() {
  FieldDescriber top;
  Recipe recipe;
  recipe.visit(top);
  Json help;
  help["fields"] = std::move(top.fields);
  help["layers"] = Json::array();
  for (const LayerMethod& method : layer_methods()) {
    FieldDescriber described;
    method.make_options()->visit(described);
    help["layers"].push_back(
        {{"method", method.name}, {"summary", method.summary}, {"fields", std::move(described.fields)}});
  }
  help["default"] = recipe_json(recipe);
  return help.dump(2) + "\n";
}

std::string recipe_help() {
  const Json help = Json::parse(recipe_help_json());
  std::string text = "A recipe is a JSON object; every field is optional.\n\n";
  append_fields(text, help["fields"]);
  text += fmt::format(
      "  {:<16} list, default [\"dqs\"]\n                   methods in the order they run; each a name or an "
      "object "
      "with \"method\" and its settings\n\nmethods:\n",
      "layers");
  for (const Json& layer : help["layers"]) {
    text +=
        fmt::format("  {:<16} {}\n", layer["method"].get<std::string>(), layer["summary"].get<std::string>());
    append_fields(text, layer["fields"]);
  }
  text += "\nthe default recipe:\n" + help["default"].dump(2) + "\n";
  return text;
}

}  // namespace sinew
