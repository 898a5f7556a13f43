#include <sinew/character/recipe.h>

#include <algorithm>
#include <cassert>
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
  /// `warnings` gets a line for each field that has its old name.
  FieldReader(const Json& object, std::string where, std::vector<std::string>& warnings)
      : object_(object), where_(std::move(where)), warnings_(warnings) {}

  void renamed(std::string_view old_name, std::string_view name) override {
    if (!object_.contains(std::string(old_name))) return;
    if (object_.contains(std::string(name)))
      fail(name, fmt::format("is given twice: '{}' is its old name; keep '{}' only", old_name, name));
    warnings_.push_back(fmt::format("{}{}: is an old name; write '{}'", where_, old_name, name));
    old_names_.emplace_back(name, old_name);
  }

  void retired(std::string_view name, std::string_view why) override {
    if (!object_.contains(std::string(name))) return;
    warnings_.push_back(fmt::format("{}{}: does nothing any more: {}", where_, name, why));
    retired_.emplace_back(name);
  }

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

  void text(std::string_view name, std::string& value, std::string_view) override {
    const Json* given = find(name);
    if (given == nullptr) return;
    value = as_text(name, *given);
  }

  void texts(std::string_view name, std::vector<std::string>& values, std::string_view) override {
    const Json* given = find(name);
    if (given == nullptr) return;
    if (!given->is_array()) fail(name, fmt::format("expected a list of strings, found {}", show(*given)));
    if (given->size() > kMostEntries)
      fail(name, fmt::format("{} entries are too many; allowed are {}", given->size(), kMostEntries));
    values.clear();
    for (const Json& entry : *given) values.push_back(as_text(name, entry));
  }

  void choice(std::string_view name, std::size_t& value, std::span<const std::string_view> allowed,
              std::string_view) override {
    const Json* given = find(name);
    if (given == nullptr) return;
    for (std::size_t i = 0; i < allowed.size(); ++i)
      if (given->is_string() && given->get_ref<const std::string&>() == allowed[i]) {
        value = i;
        return;
      }
    std::string names;
    for (const std::string_view choice : allowed) names.append(names.empty() ? "" : ", ").append(choice);
    fail(name, fmt::format("{} is not a choice; allowed are: {}", show(*given), names));
  }

  void list(std::string_view name, FieldList& entries, std::string_view) override {
    const Json* given = find(name);
    if (given == nullptr) return;
    if (!given->is_array()) fail(name, fmt::format("expected a list, found {}", show(*given)));
    if (given->size() > kMostEntries)
      fail(name, fmt::format("{} entries are too many; allowed are {}", given->size(), kMostEntries));
    entries.resize(0);  // what the recipe says replaces the default
    entries.resize(given->size());
    for (std::size_t i = 0; i < given->size(); ++i) {
      const Json& entry = (*given)[i];
      const std::string where = fmt::format("{}{}[{}]", where_, name, i);
      if (!entry.is_object())
        throw Error(fmt::format("{}: expected an object, found {}", where, show(entry)));
      FieldReader reader(entry, where + ".", warnings_);
      entries.visit_entry(i, reader);
      reader.refuse_unknown();
    }
  }

  /// A field that is read elsewhere.
  void allow(std::string_view name) { known_.emplace_back(name); }

  void refuse_unknown() const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end() || is_old_name(name)) continue;
      std::string allowed;
      for (const std::string& field : known_) allowed += (allowed.empty() ? "" : ", ") + field;
      throw Error(fmt::format("{}'{}' is not a field; allowed are: {}", where_, name, allowed));
    }
  }

 private:
  const Json* find(std::string_view name) {
    known_.emplace_back(name);
    const auto field = object_.find(name_in_file(name));
    return field == object_.end() ? nullptr : &*field;
  }
  const std::string& as_text(std::string_view name, const Json& given) const {
    if (!given.is_string()) fail(name, fmt::format("expected a string, found {}", show(given)));
    const auto& text = given.get_ref<const std::string&>();
    if (text.size() > kMostTextBytes)
      fail(name, fmt::format("{} bytes are too long; allowed are {}", text.size(), kMostTextBytes));
    return text;
  }
  bool is_old_name(const std::string& name) const {
    return std::any_of(old_names_.begin(), old_names_.end(),
                       [&](const auto& renaming) { return renaming.second == name; }) ||
           std::find(retired_.begin(), retired_.end(), name) != retired_.end();
  }
  /// The name that the file calls a field by: its own, or its old one.
  std::string name_in_file(std::string_view name) const {
    for (const auto& [now, old] : old_names_)
      if (now == name) return old;
    return std::string(name);
  }
  [[noreturn]] void fail(std::string_view name, const std::string& what) const {
    throw Error(fmt::format("{}{}: {}", where_, name_in_file(name), what));
  }
  template <class Bound>
  [[noreturn]] void fail_range(std::string_view name, const Json& given, Bound minimum, Bound maximum) const {
    fail(name, fmt::format("{} is out of range; allowed are {} to {}", show(given), minimum, maximum));
  }

  const Json& object_;
  std::string where_;
  std::vector<std::string>& warnings_;
  std::vector<std::string> known_;
  std::vector<std::string> retired_;                            // fields that do nothing any more
  std::vector<std::pair<std::string, std::string>> old_names_;  // new and old ones of fields with old names
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
  void text(std::string_view name, std::string& value, std::string_view) override {
    object[std::string(name)] = value;
  }
  void texts(std::string_view name, std::vector<std::string>& values, std::string_view) override {
    object[std::string(name)] = values;
  }
  void choice(std::string_view name, std::size_t& value, std::span<const std::string_view> allowed,
              std::string_view) override {
    assert(value < allowed.size());
    object[std::string(name)] = allowed[value];
  }
  void list(std::string_view name, FieldList& entries, std::string_view) override {
    Json array = Json::array();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      FieldWriter entry;
      entries.visit_entry(i, entry);
      array.push_back(std::move(entry.object));
    }
    object[std::string(name)] = std::move(array);
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
  void text(std::string_view name, std::string& value, std::string_view help) override {
    fields.push_back({{"name", name},
                      {"type", "text"},
                      {"default", value},
                      {"maximum_bytes", kMostTextBytes},
                      {"help", help}});
  }
  void texts(std::string_view name, std::vector<std::string>& values, std::string_view help) override {
    fields.push_back({{"name", name},
                      {"type", "texts"},
                      {"default", values},
                      {"maximum_bytes", kMostTextBytes},
                      {"help", help}});
  }
  void choice(std::string_view name, std::size_t& value, std::span<const std::string_view> allowed,
              std::string_view help) override {
    assert(value < allowed.size());
    Json choices = Json::array();
    for (const std::string_view choice : allowed) choices.push_back(choice);
    fields.push_back({{"name", name},
                      {"type", "choice"},
                      {"default", allowed[value]},
                      {"allowed", std::move(choices)},
                      {"help", help}});
  }
  void list(std::string_view name, FieldList& entries, std::string_view help) override {
    FieldWriter defaults;
    defaults.list(name, entries, help);
    FieldDescriber entry;
    entries.visit_default_entry(entry);
    fields.push_back({{"name", name},
                      {"type", "list"},
                      {"default", std::move(defaults.object[std::string(name)])},
                      {"maximum_entries", kMostEntries},
                      {"help", help},
                      {"fields", std::move(entry.fields)}});
  }
  Json fields = Json::array();
};

const LayerMethod& require_method(std::string_view name, const std::string& where) {
  const LayerMethod* method = find_layer_method(name);
  if (method == nullptr)
    throw Error(fmt::format("{}'{}' is not a method; allowed are: {}", where, name, layer_method_names()));
  return *method;
}

LayerRecipe parse_layer(const Json& json, const std::string& where, std::vector<std::string>& warnings) {
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
  FieldReader reader(json, where + ".", warnings);
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

/// Refuses what is not a JSON object or too much of it.
Json parse_object(std::string_view text, const std::string& name) {
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
  return json;
}

void append_fields(std::string& text, const Json& fields, std::size_t indent = 2) {
  for (const Json& field : fields) {
    std::string range;
    if (field.contains("minimum"))
      range = fmt::format(", {} to {}", field["minimum"].dump(), field["maximum"].dump());
    if (field.contains("maximum_bytes"))
      range = fmt::format(", at most {} bytes{}", field["maximum_bytes"].dump(),
                          field["type"] == "texts" ? " each" : "");
    if (field.contains("allowed")) {
      range = ", one of:";
      for (const Json& choice : field["allowed"]) range.append(" ").append(choice.get<std::string>());
    }
    if (field.contains("maximum_entries"))
      range = fmt::format(", at most {} objects, each with", field["maximum_entries"].dump());
    const std::string margin(indent, ' ');
    text += fmt::format("{}{:<16} {}, default {}{}\n{}                 {}\n", margin,
                        field["name"].get<std::string>(), field["type"].get<std::string>(),
                        field["default"].dump(), range, margin, field["help"].get<std::string>());
    if (field.contains("fields")) append_fields(text, field["fields"], indent + 4);
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
  const Json json = parse_object(text, name);
  Recipe recipe;
  FieldReader reader(json, name + ": ", recipe.warnings);
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
      recipe.layers.push_back(
          parse_layer((*layers)[i], fmt::format("{}: layers[{}]", name, i), recipe.warnings));
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

void write_options(const LayerOptions& options, FieldWriter& fields) {
  // visit() serves readers too and so is not const; a writer changes nothing.
  const_cast<LayerOptions&>(options).visit(fields);
}

std::string dump(const Json& json) {
  // Texts that a program set may be no UTF-8; those that were read are.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json recipe_json(Recipe recipe) {
  FieldWriter writer;
  recipe.visit(writer);
  Json& json = writer.object;
  json["layers"] = Json::array();
  for (const LayerRecipe& layer : recipe.layers) {
    FieldWriter fields;
    fields.object["method"] = layer.method;
    if (layer.options) write_options(*layer.options, fields);
    json["layers"].push_back(std::move(fields.object));
  }
  return json;
}

}  // namespace

std::string to_json(const Recipe& recipe) {
  return dump(recipe_json(recipe));
}

std::vector<std::string> read_options(LayerOptions& options, std::string_view text, const std::string& name) {
  const Json json = parse_object(text, name);
  std::vector<std::string> warnings;
  FieldReader reader(json, name + ": ", warnings);
  options.visit(reader);
  reader.refuse_unknown();
  return warnings;
}

std::string to_json(const LayerOptions& options) {
  FieldWriter fields;
  write_options(options, fields);
  return dump(fields.object);
}

std::string options_help(LayerOptions& options) {
  FieldDescriber described;
  options.visit(described);
  std::string text;
  append_fields(text, described.fields);
  return text;
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
  return dump(help);
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
    append_fields(text, layer["fields"], 4);
  }
  text += "\nthe default recipe:\n" + help["default"].dump(2) + "\n";
  return text;
}

}  // namespace sinew
