#include <sinew/layers/implicit_options.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/character/character.h>
#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/layers/elastic_layer.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

const char* const kEverything = R"({"layers": ["dqs", {"method": "implicit",
  "operator": "contact", "response": "shoulder",
  "profile": [{"f1": 0, "f2": 0.5}, {"f1": 0.5, "f2": 0.5}],
  "curve": [{"angle": 10, "value": 0.1}, {"angle": 90, "value": 0.6}, {"angle": 170, "value": 0.9}],
  "first_slope": 2.5, "second_slope": 0.75,
  "joints": [{"joint": "up*", "operator": "bulge", "response": "finger", "first_slope": 3},
             {"between": ["thigh*", "spine?"], "operator": "blend"}],
  "samples": 44, "cull": 0.07, "closure_head": 1.25, "closure_tail": 0.5, "support": 1.5,
  "muscles": [{"name": "m", "joint": "lower"}],
  "fields": [{"joint": "l?wer", "samples": 33, "cull": 0.02, "closure_head": 0.25, "closure_tail": 2,
              "support": 0.75, "add": [{"x": 1, "y": 2, "z": 3}],
              "remove": [{"x": -1, "y": -2, "z": -3, "radius": 0.125}]}],
  "softness": [{"joint": "upper", "softness": 0.5}, {"joint": "l*", "softness": -1}],
  "meshes": "tu*", "volume_correction": 0.625}]})";

const char* const kElastic = R"({"layers": ["dqs", {"method": "elastic", "operator": "contact",
  "reach": 0.75, "settle": 0.125, "rigid": [{"joint": "he*", "rigidity": 0.25}], "rigid_attribute": "_STIFF",
  "volume_correction": 0.625}]})";

const ImplicitOptions& implicit(const Recipe& recipe) {
  return dynamic_cast<const ImplicitOptions&>(*recipe.layers.at(1).options);
}

std::string error_of(const std::string& settings) {
  try {
    test::GridTubeOptions tube;
    tube.rings = 12;
    tube.segments = 8;
    Character::make(
        test::make_grid_tube(tube),
        parse_recipe(R"({"layers": ["dqs", {"method": "implicit", )" + settings + "}]}", "r.json"));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImplicitOptions, RecipesSetEverything) {
  const Recipe recipe = parse_recipe(kEverything, "test");
  const ImplicitOptions& o = implicit(recipe);
  EXPECT_EQ(static_cast<OperatorKind>(o.operation.kind), OperatorKind::contact);
  EXPECT_EQ(static_cast<ResponsePreset>(o.operation.response), ResponsePreset::shoulder);
  ASSERT_EQ(o.operation.profile.size(), 2u);
  EXPECT_EQ(o.operation.profile[1].f1, 0.5);
  ASSERT_EQ(o.operation.curve.size(), 3u);
  EXPECT_EQ(o.operation.curve[1].angle, 90);
  EXPECT_EQ(o.operation.curve[2].value, 0.9);
  EXPECT_EQ(o.operation.first_slope, 2.5);
  EXPECT_EQ(o.operation.second_slope, 0.75);
  ASSERT_EQ(o.joints.size(), 2u);
  EXPECT_EQ(o.joints[0].joint, "up*");
  EXPECT_EQ(static_cast<OperatorKind>(o.joints[0].operation.kind), OperatorKind::bulge);
  EXPECT_EQ(static_cast<ResponsePreset>(o.joints[0].operation.response), ResponsePreset::finger);
  EXPECT_TRUE(o.joints[0].between.empty());
  EXPECT_EQ(o.joints[1].between, (std::vector<std::string>{"thigh*", "spine?"}));
  EXPECT_EQ(o.field.samples, 44);
  EXPECT_EQ(o.field.cull, 0.07);
  EXPECT_EQ(o.field.closure_head, 1.25);
  EXPECT_EQ(o.field.closure_tail, 0.5);
  EXPECT_EQ(o.field.support, 1.5);
  ASSERT_EQ(o.fields.size(), 1u);
  EXPECT_EQ(o.fields[0].joint, "l?wer");
  const BoneFieldOptions edited = o.fields[0].edited();
  EXPECT_EQ(edited.samples, 33);
  EXPECT_EQ(edited.closure_tail, 2);
  ASSERT_EQ(edited.added.size(), 1u);
  EXPECT_TRUE(edited.added[0] == Vec3d(1, 2, 3));
  ASSERT_EQ(edited.removed.size(), 1u);
  EXPECT_TRUE(edited.removed[0].center == Vec3d(-1, -2, -3));
  EXPECT_EQ(edited.removed[0].radius, 0.125);
  ASSERT_EQ(o.softness.size(), 2u);
  EXPECT_EQ(o.softness[1].joint, "l*");
  EXPECT_EQ(o.softness[0].softness, 0.5);
  EXPECT_EQ(o.meshes, "tu*");
  EXPECT_EQ(o.volume_correction, 0.625);
}

TEST(ImplicitOptions, ElasticRecipesSetWhatSlides) {
  const Recipe recipe = parse_recipe(kElastic, "test");
  const auto& o = dynamic_cast<const ElasticLayerOptions&>(*recipe.layers.at(1).options);
  EXPECT_EQ(static_cast<OperatorKind>(o.operation.kind), OperatorKind::contact);
  EXPECT_EQ(o.reach, 0.75);
  EXPECT_EQ(o.settle, 0.125);
  ASSERT_EQ(o.rigid.size(), 1u);
  EXPECT_EQ(o.rigid[0].joint, "he*");
  EXPECT_EQ(o.rigid[0].rigidity, 0.25);
  EXPECT_EQ(o.rigid_attribute, "_STIFF");
  EXPECT_EQ(o.volume_correction, 0.625);
  EXPECT_EQ(to_json(parse_recipe(to_json(recipe), "again")), to_json(recipe));
}

TEST(ImplicitOptions, RecipesComeBackAsTheyWere) {
  const Recipe recipe = parse_recipe(kEverything, "test");
  const std::string json = to_json(recipe);
  EXPECT_EQ(to_json(parse_recipe(json, "again")), json);
  // Nothing is lost: all that was said is in it.
  const auto said = nlohmann::json::parse(kEverything)["layers"][1],
             kept = nlohmann::json::parse(json)["layers"][1];
  for (const auto& [name, value] : said.items()) {
    ASSERT_TRUE(kept.contains(name)) << name;
    if (!value.is_array()) {
      EXPECT_EQ(kept[name], value) << name;
    } else {
      EXPECT_EQ(kept[name].size(), value.size()) << name;
    }
  }
  // And every field has been said: none can be forgotten above.
  for (const auto& [name, value] : kept.items()) EXPECT_TRUE(said.contains(name)) << name;
  const Recipe plain = recipe_for_method("implicit");
  EXPECT_EQ(to_json(parse_recipe(to_json(plain), "again")), to_json(plain));
  EXPECT_EQ(plain.layers[0].method, "dqs");
}

TEST(ImplicitOptions, OldNamesOfFieldsAreReadWithAWarning) {
  for (const char* const now : {kEverything, kElastic}) {
    std::string old = now;
    old.replace(old.find("\"volume_correction\""), std::string("\"volume_correction\"").size(),
                "\"filling\"");
    const Recipe recipe = parse_recipe(old, "r.json");
    EXPECT_EQ(to_json(recipe), to_json(parse_recipe(now, "test")));
    ASSERT_EQ(recipe.warnings.size(), 1u);
    EXPECT_EQ(recipe.warnings[0], "r.json: layers[1].filling: is an old name; write 'volume_correction'");
    EXPECT_TRUE(parse_recipe(now, "test").warnings.empty());
  }
  EXPECT_EQ(recipe_help_json().find("\"filling\""), std::string::npos);
}

TEST(ImplicitOptions, FieldsThatAreNoMoreAreReadWithAWarning) {
  for (const char* const method : {"implicit", "elastic"})
    for (const char* const name :
         {"step",      "rounds",         "steps",          "tolerance",    "dead_zone",
          "ease",      "gradient_angle", "turn",           "gap",          "relaxation",
          "coherence", "strain_limit",   "strain",         "bulge_share",  "swelling",
          "smoothing", "diffusion",      "flip_repair",    "untangling",   "depenetration",
          "rising",    "elastic_rounds", "elastic_sweeps", "elastic_steps"}) {
      const Recipe recipe = parse_recipe(
          fmt::format(R"({{"layers": ["dqs", {{"method": "{}", "{}": 1, "samples": 44}}]}})", method, name),
          "r.json");
      EXPECT_EQ(dynamic_cast<const FieldLayerOptions&>(*recipe.layers.at(1).options).field.samples, 44);
      ASSERT_EQ(recipe.warnings.size(), 1u) << method << " " << name;
      EXPECT_EQ(recipe.warnings[0].find(fmt::format("r.json: layers[1].{}: does nothing any more", name)), 0u)
          << recipe.warnings[0];
      EXPECT_EQ(to_json(recipe).find(fmt::format("\"{}\"", name)), std::string::npos);
    }
}

TEST(ImplicitOptions, DefaultsHaveNoOperator) {
  const ImplicitOptions options;
  EXPECT_EQ(options.operation.kind, OperatorChoice::kNone);
  EXPECT_TRUE(options.meshes.empty() && options.joints.empty() && options.fields.empty());
  EXPECT_EQ(ElasticLayerOptions().operation.kind, OperatorChoice::kNone);
}

TEST(ImplicitOptions, MistakesAreNamedByField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("operator": "onion")", "operator"},
      {R"("response": "knee")", "response"},
      {R"("samples": 3)", "samples"},
      {R"("cull": 0.5)", "cull"},
      {R"("volume_correction": 1.5)", "volume_correction"},
      {R"("joints": [{"between": "a"}])", "joints[0].between: expected a list of strings"},
      {R"("joints": [{"between": ["a", 1]}])", "joints[0].between: expected a string"},
      {R"("joints": [{"joint": "a"}, {"operator": "x"}])", "joints[1].operator"},
      {R"("fields": [{"add": [{"x": 1e9}]}])", "fields[0].add[0].x"},
      {R"("fields": [{"remove": [{"radius": -1}]}])", "fields[0].remove[0].radius"},
      {R"("speed": 3)", "'speed' is not a field"},
      {R"("filling": 2)", "layers[1].filling: 2 is out of range"},
      {R"("filling": 1, "volume_correction": 1)", "is given twice: 'filling' is its old name"},
      {R"("volume_correction": 1, "filling": 0)", "is given twice: 'filling' is its old name"},
  };
  for (const auto& [settings, expected] : cases) {
    const std::string error = error_of(settings);
    EXPECT_NE(error.find(expected), std::string::npos) << settings << "\n  gave: " << error;
    EXPECT_NE(error.find("layers[1]"), std::string::npos) << error;
  }
}

TEST(ImplicitOptions, DrawnProfilesAndCurvesThatDoNotHoldAreNamed) {
  const std::string bad_profile =
      R"("operator": "profile", "profile": [{"f1": 0.1, "f2": 0.5}, {"f1": 0.5, "f2": 0.5}])";
  const std::string no_profile = R"("operator": "profile")";
  const std::string two_points =
      R"("operator": "contact", "response": "drawn", "curve": [{"angle": 0, "value": 0}, {"angle": 90, "value": 1}])";
  const std::string backwards =
      R"("operator": "contact", "response": "drawn", "curve": [{"angle": 90, "value": 0}, {"angle": 45, "value": 0}, {"angle": 180, "value": 1}])";
  const std::pair<std::string, const char*> cases[] = {{bad_profile, "profile"},
                                                       {no_profile, "profile"},
                                                       {two_points, "a drawn response has 3 points, not 2"},
                                                       {backwards, "response curve"}};
  for (const auto& [settings, expected] : cases) {
    const std::string error = error_of(settings);
    EXPECT_EQ(error.find("implicit: "), 0u) << error;
    EXPECT_NE(error.find(expected), std::string::npos) << error;
    const std::string at_joint =
        error_of(R"("joints": [{"joint": "none"}, {"joint": "upper", )" + settings + "}]");
    EXPECT_EQ(at_joint.find("implicit: joints: 1: "), 0u) << at_joint;
    EXPECT_NE(at_joint.find(expected), std::string::npos) << at_joint;
  }
  const std::string three = error_of(R"("joints": [{"between": ["a", "b", "c"], "operator": "bulge"}])");
  EXPECT_EQ(three, "implicit: joints: 0: between: names 3 parts; it takes two");
  // A union needs neither.
  EXPECT_EQ(error_of(R"("operator": "union", "response": "drawn")"), "no error");
}

TEST(ImplicitOptions, ADrawnResponseActsAsDrawn) {
  OperatorLibrary library(17, 5);
  OperatorChoice choice;
  choice.response = 4;  // drawn
  choice.curve = {{0, 0}, {60, 0.5}, {120, 1}};
  const Vec3f x = Vec3f::UnitX(), y = Vec3f::UnitY();
  choice.kind = to_size(OperatorKind::contact);
  const Operator contact = choice.make(library, "test");
  EXPECT_EQ(contact.kind(), OperatorKind::contact);
  EXPECT_NEAR(contact.depth(x, x), 0, 1e-3);
  EXPECT_NEAR(contact.depth(x, 0.5f * x + std::sqrt(0.75f) * y), 0.5, 0.01);
  EXPECT_NEAR(contact.depth(x, -x), 1, 1e-3);
  // A blend is drawn by the same strength, though its angle runs the other way.
  choice.kind = to_size(OperatorKind::blend);
  choice.curve = {{0, 1}, {60, 0.5}, {120, 0}};
  const Operator blend = choice.make(library, "test"), none = [&] {
    choice.curve = {{0, 0}, {60, 0}, {120, 0}};
    return choice.make(library, "test");
  }();
  EXPECT_NE(blend.depth(x, x), blend.depth(x, -x));
  EXPECT_NEAR(none.depth(x, x), blend.depth(x, -x), 1e-3);
  const FieldSample a{0.4f, x}, b{0.4f, x};
  EXPECT_GT(combine(blend, a, b).value, 0.45f);
  EXPECT_NEAR(combine(none, a, b).value, 0.4f, 0.02f);
  choice.kind = to_size(OperatorKind::union_);
  EXPECT_EQ(choice.make(library, "test").kind(), OperatorKind::union_);
}

}  // namespace
}  // namespace sinew
