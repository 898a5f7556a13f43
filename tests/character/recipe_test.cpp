#include <sinew/character/recipe.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/core/error.h>

namespace sinew {
namespace {

std::string error_of(const std::string& json) {
  try {
    parse_recipe(json, "r.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Recipe, EmptyObjectIsTheDefault) {
  EXPECT_EQ(to_json(parse_recipe("{}", "r.json")), to_json(Recipe()));
  EXPECT_EQ(Recipe().layers.size(), 1u);
  EXPECT_EQ(Recipe().layers[0].method, "dqs");
}

TEST(Recipe, ReadsEveryField) {
  const Recipe recipe = parse_recipe(
      R"({"weld_tolerance": 0.001, "influences": 8, "normals": false, "layers": [{"method": "lbs"}]})",
      "r.json");
  EXPECT_EQ(recipe.weld_tolerance, 0.001);
  EXPECT_EQ(recipe.influences, 8);
  EXPECT_FALSE(recipe.normals);
  ASSERT_EQ(recipe.layers.size(), 1u);
  EXPECT_EQ(recipe.layers[0].method, "lbs");
  EXPECT_EQ(parse_recipe(R"({"layers": ["lbs"]})", "r.json").layers[0].method, "lbs");
  EXPECT_EQ(to_json(parse_recipe(to_json(recipe), "again")), to_json(recipe));
}

TEST(Recipe, OldNamesInListsWarnOncePerEntry) {
  const auto recipe = [](const char* name) {
    return parse_recipe(
        fmt::format(R"({{"layers": ["dqs", {{"method": "volume", "joints": [{{"joint": "a", "{0}": 0.5}},
                                                   {{"joint": "b"}}, {{"joint": "c", "{0}": 2}}]}}]}})",
                    name),
        "r.json");
  };
  const Recipe old = recipe("most"), now = recipe("max_displacement");
  EXPECT_EQ(to_json(old), to_json(now));
  EXPECT_TRUE(now.warnings.empty());
  ASSERT_EQ(old.warnings.size(), 2u);
  EXPECT_EQ(old.warnings[0], "r.json: layers[1].joints[0].most: is an old name; write 'max_displacement'");
  EXPECT_EQ(old.warnings[1], "r.json: layers[1].joints[2].most: is an old name; write 'max_displacement'");
}

TEST(Recipe, MistakesAreNamedByField) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "r.json: not valid JSON"},
      {"{", "r.json: not valid JSON"},
      {"[]", "a recipe is a JSON object"},
      {R"({"weld_tolerence": 1})",
       "'weld_tolerence' is not a field; allowed are: weld_tolerance, influences"},
      {R"({"weld_tolerance": "far"})", "weld_tolerance: expected a number, found \"far\""},
      {R"({"weld_tolerance": -1})", "weld_tolerance: -1 is out of range; allowed are 0 to 1"},
      {R"({"weld_tolerance": 1e999})", "r.json: "},
      {R"({"influences": 2.5})", "influences: expected a whole number, found 2.5"},
      {R"({"influences": 256})", "influences: 256 is out of range; allowed are 0 to 255"},
      {R"({"influences": 99999999999999999999})", "influences: "},
      {R"({"normals": 1})", "normals: expected true or false, found 1"},
      {R"({"layers": "dqs"})", "layers: expected a list"},
      {R"({"layers": []})", "layers: is empty; allowed are: lbs, dqs"},
      {R"({"layers": ["lbs", "dqz"]})", "layers[1]: 'dqz' is not a method; allowed are: lbs, dqs"},
      {R"({"layers": ["lbs", "dqs"]})", "layers[1]: 'dqs' is a skinning method and would undo"},
      {R"({"layers": [7]})", "layers[0]: expected a method's name or an object, found 7"},
      {R"({"layers": [{}]})", "layers[0].method: is missing"},
      {R"({"layers": [{"method": 1}]})", "layers[0].method: expected a string"},
      {R"({"layers": [{"method": "xyz"}]})", "layers[0].method: 'xyz' is not a method"},
      {R"({"layers": [{"method": "lbs", "speed": 3}]})",
       "layers[0].'speed' is not a field; allowed are: method"},
      {R"({"normals": true, "normals": false})", "'normals' is given twice"},
      {"{\"a\xff\": 1}", "r.json: "},
  };
  for (const auto& [json, expected] : cases) {
    const std::string error = error_of(json);
    EXPECT_NE(error.find(expected), std::string::npos) << json << "\n  gave: " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(Recipe, DeepNestingIsRefusedBeforeParsing) {
  EXPECT_NE(error_of("{\"layers\": " + std::string(100000, '[')).find("nest"), std::string::npos);
}

TEST(Recipe, TooManyLayers) {
  std::string json = "{\"layers\": [\"lbs\"";
  for (int i = 0; i < 100; ++i) json += ", \"lbs\"";
  EXPECT_NE(error_of(json + "]}").find("101 of them; allowed are 64"), std::string::npos);
}

TEST(Recipe, MethodByName) {
  EXPECT_EQ(recipe_for_method("lbs").layers[0].method, "lbs");
  EXPECT_THROW(recipe_for_method("xyz"), Error);
}

TEST(Recipe, HelpNamesEveryFieldAndMethod) {
  const std::string text = recipe_help();
  const auto json = nlohmann::json::parse(recipe_help_json());
  EXPECT_EQ(json["fields"].size(), 3u);
  for (const auto& field : json["fields"])
    EXPECT_NE(text.find(field["name"].get<std::string>()), std::string::npos);
  ASSERT_EQ(json["layers"].size(), layer_methods().size());
  for (const LayerMethod& method : layer_methods()) EXPECT_NE(text.find(method.name), std::string::npos);
  EXPECT_NO_THROW(parse_recipe(json["default"].dump(), "default"));
}

/// Every kind of field that a layer's settings can have.
class EveryOption : public LayerOptions {
 public:
  struct Inner {
    int count = 3;
    void visit(FieldVisitor& fields) { fields.integer("count", count, 0, 10, "how many"); }
  };
  struct Entry {
    std::string name = "any";
    std::vector<Inner> inner;
    void visit(FieldVisitor& fields) {
      fields.text("name", name, "what it is called");
      fields.list("inner", inner, "what is in it");
    }
  };
  double number = 0.5;
  bool flag = false;
  std::size_t form = 1;
  std::vector<Entry> entries{Entry()};

  void visit(FieldVisitor& fields) override {
    static constexpr std::string_view kForms[] = {"round", "square"};
    fields.number("number", number, 0, 1, "a share");
    fields.boolean("flag", flag, "yes or no");
    fields.choice("form", form, kForms, "its form");
    fields.list("entries", entries, "a list");
  }
};

std::string option_error(const std::string& json) {
  EveryOption options;
  try {
    read_options(options, json, "r.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RecipeFields, EveryKindIsReadAndWritten) {
  EveryOption options;
  read_options(options,
               R"({"form": "round", "entries": [{"name": "ä\n"}, {"inner": [{"count": 7}, {}]}, {}]})", "r");
  EXPECT_EQ(options.number, 0.5);
  EXPECT_EQ(options.form, 0u);
  ASSERT_EQ(options.entries.size(), 3u);
  EXPECT_EQ(options.entries[0].name, "ä\n");
  EXPECT_EQ(options.entries[1].name, "any");
  ASSERT_EQ(options.entries[1].inner.size(), 2u);
  EXPECT_EQ(options.entries[1].inner[0].count, 7);
  EXPECT_EQ(options.entries[1].inner[1].count, 3);
  EveryOption again;
  read_options(again, to_json(options), "again");
  EXPECT_EQ(to_json(again), to_json(options));
  EXPECT_EQ(nlohmann::json::parse(to_json(options))["entries"][1]["inner"][0]["count"], 7);
  // A list that is given replaces the default; one that is not leaves it.
  read_options(options, R"({"entries": []})", "r");
  EXPECT_TRUE(options.entries.empty());
  EveryOption untouched;
  read_options(untouched, "{}", "r");
  EXPECT_EQ(untouched.entries.size(), 1u);
}

TEST(RecipeFields, MistakesAreNamedByPath) {
  const std::pair<std::string, const char*> cases[] = {
      {R"({"form": "oval"})", "r.json: form: \"oval\" is not a choice; allowed are: round, square"},
      {R"({"form": 1})", "form: 1 is not a choice; allowed are: round, square"},
      {R"({"entries": {}})", "entries: expected a list, found {}"},
      {R"({"entries": [{}, 3]})", "entries[1]: expected an object, found 3"},
      {R"({"entries": [{"name": 3}]})", "entries[0].name: expected a string, found 3"},
      {R"({"entries": [{"nam": "x"}]})", "entries[0].'nam' is not a field; allowed are: name, inner"},
      {R"({"entries": [{}, {"inner": [{"count": 11}]}]})",
       "entries[1].inner[0].count: 11 is out of range; allowed are 0 to 10"},
      {R"({"entries": [{"inner": [{"cout": 1}]}]})", "entries[0].inner[0].'cout' is not a field"},
      {R"({"entries": [{"name": "a", "name": "b"}]})", "'name' is given twice"},
      {R"({"entries": [{"name": ")" + std::string(257, 'x') + "\"}]}",
       "entries[0].name: 257 bytes are too long; allowed are 256"},
      {"[]", "a recipe is a JSON object"},
  };
  for (const auto& [json, expected] : cases) {
    const std::string error = option_error(json);
    EXPECT_NE(error.find(expected), std::string::npos) << json << "\n  gave: " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  EXPECT_EQ(option_error(R"({"entries": [{"name": ")" + std::string(256, 'x') + "\"}]}"), "no error");
}

TEST(RecipeFields, ListsHaveALimit) {
  const auto with_entries = [](int count) {
    std::string json = "{\"entries\": [{}";
    for (int i = 1; i < count; ++i) json += ", {}";
    return json + "]}";
  };
  EXPECT_EQ(option_error(with_entries(1024)), "no error");
  EXPECT_EQ(option_error(with_entries(1025)), "r.json: entries: 1025 entries are too many; allowed are 1024");
}

TEST(RecipeFields, HelpNamesEveryField) {
  EveryOption options;
  const std::string help = options_help(options);
  for (const char* part :
       {"number", "flag", "form", "choice, default \"square\", one of: round square", "entries",
        "list, default", "at most 1024 objects", "name", "text, default \"any\", at most 256 bytes", "inner",
        "count", "integer, default 3, 0 to 10"})
    EXPECT_NE(help.find(part), std::string::npos) << part << " is missing in\n" << help;
}

TEST(RecipeFields, TextThatIsNoUtf8IsWrittenAllTheSame) {
  EveryOption options;
  options.entries[0].name = "\xff";
  EXPECT_TRUE(nlohmann::json::accept(to_json(options)));
}

}  // namespace
}  // namespace sinew
