#include <sinew/character/recipe.h>

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

}  // namespace
}  // namespace sinew
