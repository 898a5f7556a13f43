#include <sinew/layers/wrinkle_layer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/authoring/suggest_wrinkles.h>
#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/geometry/intersections.h>
#include <sinew/geometry/topology.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

constexpr double kLength = 0.1;  // of the sheet's tool

/// A flat sheet in the plane z = 0, 20 cm square, that follows a joint at its left and one at its right: the
/// middle 12 cm blend evenly, so that it is squeezed evenly when the right one comes nearer.
Scene make_sheet(int cells = 20, bool quads = false) {
  Scene scene;
  scene.source = "sheet";
  for (const char* name : {"left", "right"}) {
    Joint joint;
    joint.name = name;
    scene.skeleton.joints.push_back(joint);
  }
  scene.skins.push_back({"skin", {0, 1}, {Mat4f::Identity(), Mat4f::Identity()}});
  SceneMesh mesh;
  mesh.name = "sheet";
  mesh.skin = 0;
  std::vector<Vec3f> positions;
  WeightRepairs repairs;
  for (int j = 0; j <= cells; ++j)
    for (int i = 0; i <= cells; ++i) {
      const double x = 0.2 * i / cells - 0.1, y = 0.2 * j / cells - 0.1;
      positions.push_back(Vec3d(x, y, 0).cast<float>());
      const auto right = static_cast<float>(std::clamp((x + 0.06) / 0.12, 0.0, 1.0));
      std::vector<Influence> row{{0, 1 - right}, {1, right}};
      append_row(mesh.weights, row, 0, repairs);
    }
  Polygons polygons;
  for (int j = 0; j < cells; ++j)
    for (int i = 0; i < cells; ++i) {
      const auto a = static_cast<std::uint32_t>(j * (cells + 1) + i), b = a + 1,
                 c = a + static_cast<std::uint32_t>(cells) + 2, d = c - 1;
      if (quads) {
        polygons.add(std::array{a, b, c, d});
      } else {
        polygons.add(std::array{a, b, c});
        polygons.add(std::array{a, c, d});
      }
    }
  mesh.surface = make_mesh(std::move(positions), std::move(polygons));
  scene.meshes.push_back(std::move(mesh));
  return scene;
}

std::string tool(const std::string& more = "") {
  return fmt::format(R"({{"points": [{{"x": {}, "y": 0, "z": 0}}, {{"x": {}, "y": 0, "z": 0}}]{}}})",
                     -kLength / 2, kLength / 2, more);
}

std::shared_ptr<const Character> make_character(const Scene& scene, const std::string& tools,
                                                const std::string& more = "") {
  return Character::make(
      scene,
      parse_recipe(
          fmt::format(R"({{"normals": false, "layers": ["lbs", {{"method": "wrinkles", "tools": [{}]{}}}]}})",
                      tools, more),
          "test"));
}

const WrinkleLayer& layer_of(const Character& character) {
  return dynamic_cast<const WrinkleLayer&>(*character.layers()[1]);
}

/// The right joint nearer by so much of the blended part.
Pose squeezed(const Character& character, double share) {
  Pose pose = character.rest_pose();
  pose.joints[1].translation.x() -= static_cast<float>(0.12 * share);
  return pose;
}

std::vector<Vec3f> performed(const std::shared_ptr<const Character>& character, const Pose& pose) {
  Performer performer(character);
  performer.perform(pose);
  return {performer.welded_positions().begin(), performer.welded_positions().end()};
}

double highest(const std::vector<Vec3f>& positions) {
  double most = 0;
  for (const Vec3f& p : positions) most = std::max(most, static_cast<double>(p.z()));
  return most;
}

/// Length of the surface along the tool's path.
double path_length(const Character& character, const std::vector<Vec3f>& positions) {
  // The row of vertices at y = 0, in their order at rest.
  std::vector<std::uint32_t> row;
  for (std::uint32_t v = 0; v < character.rest().size(); ++v)
    if (std::abs(character.rest()[v].y()) < 1e-6f && std::abs(character.rest()[v].x()) <= 0.0501f)
      row.push_back(v);
  std::sort(row.begin(), row.end(),
            [&](auto a, auto b) { return character.rest()[a].x() < character.rest()[b].x(); });
  double length = 0;
  for (std::size_t i = 1; i < row.size(); ++i)
    length += static_cast<double>((positions[row[i]] - positions[row[i - 1]]).norm());
  return length;
}

TEST(WrinkleLayer, FoldsAsMuchAsIsLostAndNothingElse) {
  const Scene scene = make_sheet();
  const auto character = make_character(scene, tool(R"(, "width": 0.1, "folds": 2, "fade": 0.01)"),
                                        R"(, "detail": 8, "refine": 4)");
  ASSERT_EQ(layer_of(*character).tools().size(), 1u);
  EXPECT_NEAR(layer_of(*character).tools()[0].rest_length, kLength, 1e-6);
  for (const double share : {0.05, 0.15, 0.3, 0.45}) {
    const Pose pose = squeezed(*character, share);
    const auto folded = performed(character, pose);
    // Chords of the finely sampled curve are a little shorter than the curve.
    EXPECT_NEAR(path_length(*character, folded), kLength, 0.005 * kLength) << share;
    EXPECT_GT(highest(folded), 0.002) << share;
    for (std::size_t v = 0; v < folded.size(); ++v) {
      const Vec3f& rest = character->rest()[v];
      EXPECT_GE(folded[v].z(), 0);
      if (std::abs(rest.x()) >= 0.05f || std::abs(rest.y()) >= 0.05f) {
        EXPECT_EQ(folded[v].z(), 0) << rest.transpose();
      }
    }
  }
}

TEST(WrinkleLayer, StretchedAndRestingSkinStaysAsItIs) {
  const Scene scene = make_sheet();
  const auto character = make_character(scene, tool());
  for (const double share : {0.0, -0.2, -1.0})
    EXPECT_EQ(highest(performed(character, squeezed(*character, share))), 0) << share;
  EXPECT_TRUE(std::ranges::equal(performed(character, character->rest_pose()), character->rest()));
  // With a greater extension it folds at rest.
  const auto slack = make_character(scene, tool(R"(, "extension": 1.2)"));
  EXPECT_GT(highest(performed(slack, slack->rest_pose())), 0.002);
}

TEST(WrinkleLayer, ToolsAddUp) {
  const Scene scene = make_sheet();
  const auto one = make_character(scene, tool());
  const auto two = make_character(scene, tool() + "," + tool());
  const auto double_strength = make_character(scene, tool(R"(, "strength": 2)"));
  const Pose pose = squeezed(*one, 0.2);
  const auto a = performed(one, pose), b = performed(two, pose), c = performed(double_strength, pose);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t v = 0; v < a.size(); ++v) {
    EXPECT_NEAR(b[v].z(), 2 * a[v].z(), 1e-6);
    EXPECT_NEAR(c[v].z(), 2 * a[v].z(), 1e-6);
  }
}

TEST(WrinkleLayer, CrossingToolsFoldTheirOwnWay) {
  const Scene scene = make_sheet();
  const auto across =
      make_character(scene, R"({"points": [{"x": 0, "y": -0.05, "z": 0}, {"x": 0, "y": 0.05, "z": 0}]})");
  // Squeezed along x only: a tool along y is not compressed.
  EXPECT_EQ(highest(performed(across, squeezed(*across, 0.3))), 0);
}

TEST(WrinkleLayer, RefinesOnceWithTheFilesVerticesFirst) {
  for (const bool quads : {false, true}) {
    const Scene scene = make_sheet(10, quads);
    const auto character = make_character(scene, tool(R"(, "folds": 3)"));
    ASSERT_NE(character->refined_scene(), nullptr);
    const SceneMesh& refined = character->refined_scene()->meshes[0];
    const SceneMesh& file = scene.meshes[0];
    ASSERT_GT(refined.surface.positions.size(), file.surface.positions.size());
    EXPECT_TRUE(std::equal(file.surface.positions.begin(), file.surface.positions.end(),
                           refined.surface.positions.begin()));
    EXPECT_NO_THROW(check_scene(*character->refined_scene()));
    const TopologyReport before = inspect_topology(file.surface.view()),
                         after = inspect_topology({character->rest(), character->triangles()});
    EXPECT_EQ(after.boundary_edges, before.boundary_edges) << "cracks";
    EXPECT_EQ(after.components, 1u);
    Performer performer(character);
    performer.perform(squeezed(*character, 0.2));
    ASSERT_EQ(performer.positions(0).size(), refined.surface.positions.size());
    const auto unrefined = make_character(scene, tool(), R"(, "refine": 0)");
    EXPECT_EQ(unrefined->refined_scene(), nullptr);
    Performer plain(unrefined);
    plain.perform(squeezed(*unrefined, 0.2));
    // What no tool moves is where it was, under the same numbers.
    for (std::size_t v = 0; v < file.surface.positions.size(); ++v)
      if (std::abs(file.surface.positions[v].x()) > 0.051f) {
        EXPECT_EQ(performer.positions(0)[v], plain.positions(0)[v]);
      }
  }
}

TEST(WrinkleLayer, FinerFoldsGetFinerTriangles) {
  const Scene scene = make_sheet(10);
  std::size_t last = 0;
  for (const int folds : {1, 3, 8}) {
    const auto character = make_character(scene, tool(fmt::format(R"(, "folds": {})", folds)));
    EXPECT_GT(character->rest().size(), last);
    last = character->rest().size();
  }
}

TEST(WrinkleLayer, VerticesNameItsEndsAsWellAsPoints) {
  const Scene scene = make_sheet(20);
  // Row 10 of 21 vertices; 5 and 15 are 5 cm left and right of the middle.
  const auto by_number = make_character(scene, R"({"from_vertex": 215, "to_vertex": 225})");
  const auto by_point = make_character(scene, tool());
  EXPECT_EQ(performed(by_number, squeezed(*by_number, 0.3)), performed(by_point, squeezed(*by_point, 0.3)));
}

TEST(WrinkleLayer, SaysWhatItRejects) {
  const Scene scene = make_sheet(10);
  const auto message = [&](const std::string& choice) -> std::string {
    try {
      make_character(scene, choice);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("{}").find("two are needed"), std::string::npos);
  EXPECT_NE(message(R"({"points": [{"x": 0, "y": 0, "z": 0}]})").find("two are needed"), std::string::npos);
  EXPECT_NE(
      message(R"({"points": [{"x": 0, "y": 0, "z": 0}, {"x": 0.001, "y": 0, "z": 0}]})").find("same vertex"),
      std::string::npos);
  EXPECT_NE(message(R"({"from_vertex": 1, "to_vertex": 100000})").find("vertices 0 to 120"),
            std::string::npos);
  EXPECT_NE(message(R"({"from_vertex": 1})").find("to_vertex: is missing"), std::string::npos);
  EXPECT_NE(message(tool(R"(, "from_vertex": 1, "to_vertex": 9)")).find("give one of them"),
            std::string::npos);
  EXPECT_NE(message(tool(R"(, "mesh": "trousers")")).find("no mesh fits"), std::string::npos);
  EXPECT_NE(message(tool(R"(, "levels": [{"share": 0}])")).find("tools: 0"), std::string::npos);
  EXPECT_FALSE(layer_of(*make_character(scene, "")).idle_because().empty());
  const auto far =
      make_character(scene, R"({"points": [{"x": -0.05, "y": 0, "z": 9}, {"x": 0.05, "y": 0, "z": 9}]})");
  ASSERT_EQ(far->warnings().size(), 1u);
  EXPECT_NE(far->warnings()[0].find("away from the skin"), std::string::npos);
}

TEST(WrinkleLayer, ComesUpWithoutAPop) {
  const Scene scene = make_sheet();
  for (const char* growth : {"all", "from_start", "from_both_ends"}) {
    const auto character = make_character(
        scene,
        tool(fmt::format(R"(, "growth": "{}", "levels": [{{"share": 0.7}}, {{"share": 0.3}}])", growth)));
    Performer performer(character);
    std::vector<Vec3f> last(character->rest().begin(), character->rest().end());
    constexpr int kFrames = 400;
    double fastest = 0, top = 0;
    for (int frame = 0; frame <= kFrames; ++frame) {
      performer.perform(squeezed(*character, 0.4 * frame / kFrames));
      for (std::size_t v = 0; v < last.size(); ++v) {
        fastest = std::max(fastest,
                           std::abs(static_cast<double>(performer.welded_positions()[v].z() - last[v].z())));
        top = std::max(top, static_cast<double>(last[v].z()));
      }
      last.assign(performer.welded_positions().begin(), performer.welded_positions().end());
    }
    EXPECT_GT(top, 0.003) << growth;
    EXPECT_LT(fastest, 0.05 * top) << growth << ": it jumps";
  }
}

TEST(WrinkleLayer, FoldsOnTheSideThatShowsWhateverTheWinding) {
  Scene scene = make_sheet(20);
  Scene turned = scene;
  Polygons polygons;
  for (std::size_t p = 0; p < scene.meshes[0].surface.polygons.size(); ++p) {
    const auto polygon = scene.meshes[0].surface.polygons[p];
    polygons.add(std::vector<std::uint32_t>(polygon.rbegin(), polygon.rend()));
  }
  SceneMesh& mesh = turned.meshes[0];
  mesh.surface = make_mesh(mesh.surface.positions, std::move(polygons));
  // Without normals the triangles say what is outside: the other side.
  const auto inside_out = make_character(turned, tool());
  double lowest = 0;
  for (const Vec3f& p : performed(inside_out, squeezed(*inside_out, 0.3)))
    lowest = std::min(lowest, static_cast<double>(p.z()));
  EXPECT_LT(lowest, -0.002);
  // Normals of the file count more.
  mesh.normals.values = {Vec3f::UnitZ()};
  mesh.normals.corners.assign(mesh.surface.polygons.corners.size(), 0);
  const auto mended = make_character(turned, tool());
  EXPECT_GT(highest(performed(mended, squeezed(*mended, 0.3))), 0.002);
  // A pose that mirrors everything mirrors the folds, too.
  const auto character = make_character(scene, tool());
  Pose pose = squeezed(*character, 0.3), mirrored = pose;
  for (Transform& joint : mirrored.joints) joint.scale.y() *= -1;
  const auto a = performed(character, pose), b = performed(character, mirrored);
  for (std::size_t v = 0; v < a.size(); ++v) EXPECT_NEAR(b[v].z(), a[v].z(), 1e-6);
}

/// A valley along y whose right flank turns up as the right joint does.
double highest_in_valley(bool inside_out) {
  Scene scene = make_sheet(20);
  SceneMesh& mesh = scene.meshes[0];
  mesh.normals.values = {Vec3f::UnitZ()};
  mesh.normals.corners.assign(mesh.surface.polygons.corners.size(), 0);
  if (inside_out) {
    Polygons polygons;
    for (std::size_t p = 0; p < mesh.surface.polygons.size(); ++p) {
      const auto polygon = mesh.surface.polygons[p];
      polygons.add(std::vector<std::uint32_t>(polygon.rbegin(), polygon.rend()));
    }
    mesh.surface = make_mesh(mesh.surface.positions, std::move(polygons));
  }
  const auto character = make_character(scene, tool());
  const auto flat = make_character(scene, tool(R"(, "strength": 0)"));
  Pose pose = squeezed(*character, 0.5);
  pose.joints[1].rotation = Quatf(Eigen::AngleAxisf(-2.2f, Vec3f::UnitY()));
  const auto folded = performed(character, pose), plain = performed(flat, pose);
  double most = 0;
  for (std::size_t v = 0; v < folded.size(); ++v)
    most = std::max(most, static_cast<double>((folded[v] - plain[v]).norm()));
  return most;
}

TEST(WrinkleLayer, FoldsOfAHollowAreAsLowWhateverTheWinding) {
  const double outwards = highest_in_valley(false), inwards = highest_in_valley(true);
  EXPECT_GT(outwards, 0);
  EXPECT_NEAR(inwards, outwards, 0.02 * outwards);
}

TEST(WrinkleLayer, WeldToleranceIsForTheFileOnly) {
  const Scene scene = make_sheet(10);
  const auto recipe = [](double tolerance) {
    return parse_recipe(
        fmt::format(R"({{"weld_tolerance": {}, "layers": ["lbs", {{"method": "wrinkles", "tools": [{}]}}]}})",
                    tolerance, tool(R"(, "folds": 8)")),
        "test");
  };
  EXPECT_EQ(Character::make(scene, recipe(0.01))->rest().size(),
            Character::make(scene, recipe(0))->rest().size());
}

/// The tube bends and stands; frames of the file's vertices.
std::vector<std::vector<Vec3f>> bent_frames(const Scene& scene, const std::string& layers) {
  const auto character =
      Character::make(scene, parse_recipe(R"({"normals": false, "layers": [)" + layers + "]}", "test"));
  Performer performer(character);
  std::vector<std::vector<Vec3f>> frames;
  for (int frame = 0; frame < 12; ++frame) {
    Pose pose = character->rest_pose();
    sample_clip(scene.clips[0], std::min(frame, 8) * 0.3, pose);
    performer.perform(pose, 0.1);
    const auto positions = performer.positions(0).first(scene.meshes[0].surface.positions.size());
    frames.emplace_back(positions.begin(), positions.end());
  }
  return frames;
}

TEST(WrinkleLayer, WhatLayersBelowDoIsDoneToTheFilesOwnSurface) {
  test::GridTubeOptions options;
  options.rings = 24;
  options.segments = 16;
  const Scene scene = test::make_grid_tube(options);
  const std::string flat =
      R"({"method": "wrinkles", "tools": [{"points": [{"x": -0.2, "y": 0.2, "z": 0}, {"x": 0.2, "y": 0.2, "z": 0}], "strength": 0}]})";
  for (const std::string below :
       {R"("lbs")", R"("dqs", "implicit")", R"("dqs", "volume")", R"("dqs", "flesh")"})
    EXPECT_EQ(bent_frames(scene, below + "," + flat), bent_frames(scene, below)) << below;
}

TEST(WrinkleLayer, HistoryBelowIsPartOfCheckpoints) {
  const Scene scene = make_sheet(10);
  const auto character = Character::make(
      scene, parse_recipe(R"({"layers": ["lbs", {"method": "flesh", "elements": [{"joint": "left"}]}, )" +
                              std::string(R"({"method": "wrinkles", "tools": [)") + tool() + "]}]}",
                          "test"));
  ASSERT_TRUE(character->has_history());
  const auto thrown = [&](int frame) {
    Pose pose = squeezed(*character, 0.02 * frame);
    for (Transform& joint : pose.joints)
      joint.translation.y() += 0.1f * std::sin(0.7f * static_cast<float>(frame));
    return pose;
  };
  Performer performer(character);
  for (int frame = 0; frame < 5; ++frame) performer.perform(thrown(frame), 1.0 / 30);
  const PerformerCheckpoint checkpoint = performer.checkpoint();
  std::vector<std::vector<Vec3f>> first, again;
  for (auto* frames : {&first, &again}) {
    performer.restore(checkpoint);
    for (int frame = 5; frame < 9; ++frame) {
      performer.perform(thrown(frame), 1.0 / 30);
      frames->emplace_back(performer.welded_positions().begin(), performer.welded_positions().end());
    }
  }
  EXPECT_EQ(first, again);
}

TEST(WrinkleLayer, ThreadsDoNotMatter) {
  const auto character = make_character(
      make_sheet(40), tool(R"(, "folds": 8)") + "," + tool(R"(, "width": 0.05)"), R"(, "detail": 4)");
  ASSERT_GT(layer_of(*character).tools()[0].places.size(), 4096u) << "several blocks";
  const Pose pose = squeezed(*character, 0.3);
  const auto many = performed(character, pose);
  tbb::task_arena arena(1);
  arena.execute([&] { EXPECT_EQ(performed(character, pose), many); });
}

TEST(WrinkleLayer, UnusablePosesGiveFinitePositions) {
  const auto character = make_character(make_sheet(10), tool());
  Performer performer(character);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Vec3f& scale :
       {Vec3f(0, 0, 0), Vec3f(1e-20f, 1, 1), Vec3f(1e6f, 1e6f, 1e6f), Vec3f(nan, 1, 1)}) {
    Pose pose = character->rest_pose();
    for (Transform& joint : pose.joints) joint.scale = scale;
    performer.perform(pose);
    for (const Vec3f& p : performer.welded_positions()) ASSERT_TRUE(p.allFinite()) << scale.transpose();
  }
}

Scene make_tube() {
  test::GridTubeOptions options;
  options.rings = 48;
  options.segments = 24;
  return test::make_grid_tube(options);
}

Pose bent(const Character& character, double degrees) {
  Pose pose = character.rest_pose();
  pose.joints[1].rotation =
      Quatd(Eigen::AngleAxisd(degrees * std::numbers::pi / 180, Vec3d::UnitZ())).cast<float>() *
      pose.joints[1].rotation;
  return pose;
}

WrinkleFrames bending(const Character& character, double degrees) {
  WrinkleFrames frames;
  frames.count = 7;
  frames.set_pose = [&character, degrees](int frame, Pose& pose) {
    pose = bent(character, degrees * frame / 6);
  };
  return frames;
}

TEST(SuggestWrinkles, FindsTheHollowOfABendAndItsDirection) {
  const Scene scene = make_tube();
  const auto character = Character::make(scene, Recipe());
  const auto tools = suggest_wrinkles(character, bending(*character, 80));
  ASSERT_FALSE(tools.empty());
  const Vec3d from = tools[0].points[0].position(), to = tools[0].points[1].position();
  const Vec3d way = (to - from).normalized(), middle = (from + to) / 2;
  EXPECT_GT(std::abs(way.x()), 0.95) << "along the tube";
  // About z a positive turn closes towards +y.
  EXPECT_GT(middle.y(), 0) << "on the inner side";
  EXPECT_LT(std::abs(middle.x()), 0.1) << "at the joint in its middle";
  EXPECT_TRUE(suggest_wrinkles(character, bending(*character, 2)).empty());
}

TEST(SuggestWrinkles, WhatItFindsFoldsWithoutCrossingItself) {
  const Scene scene = make_tube();
  const auto plain = Character::make(scene, Recipe());
  WrinkleLayerOptions options;
  options.tools = suggest_wrinkles(plain, bending(*plain, 90));
  ASSERT_FALSE(options.tools.empty());
  Recipe recipe;
  recipe.layers.push_back({"wrinkles", std::make_shared<WrinkleLayerOptions>(options)});
  const auto character = Character::make(scene, recipe);
  Recipe flat = recipe;
  for (WrinkleChoice& choice : options.tools) choice.strength = 0;
  flat.layers.back().options = std::make_shared<WrinkleLayerOptions>(options);
  const auto unfolded = Character::make(scene, flat);
  ASSERT_EQ(character->rest().size(), unfolded->rest().size());
  for (const double degrees : {30.0, 60.0, 80.0, 90.0}) {
    const auto with = performed(character, bent(*character, degrees));
    const auto without = performed(unfolded, bent(*unfolded, degrees));
    EXPECT_NE(with, without) << degrees;
    const auto pairs = [&](const std::vector<Vec3f>& positions) {
      return self_intersections({positions, character->triangles()}).size();
    };
    EXPECT_LE(pairs(with), pairs(without)) << degrees;
  }
}

}  // namespace
}  // namespace sinew
