#include <sinew/scene/refine_mesh.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/weld.h>
#include <sinew/scene/weld_keys.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Levels = std::vector<std::uint8_t>;

constexpr int kColumns = 8, kRows = 6, kSeam = 4;
constexpr double kNear = 1e-6;

/// The file's vertices first, their values as they were; one value of everything per vertex.
void expect_file_first(const SceneMesh& refined, const SceneMesh& mesh) {
  const auto starts_with = [](const auto& values, const auto& start) {
    return values.size() >= start.size() && std::equal(start.begin(), start.end(), values.begin());
  };
  EXPECT_TRUE(starts_with(refined.surface.positions, mesh.surface.positions));
  EXPECT_TRUE(starts_with(refined.texcoords.values, mesh.texcoords.values));
  EXPECT_TRUE(starts_with(refined.normals.values, mesh.normals.values));
  EXPECT_TRUE(starts_with(refined.weights.starts, mesh.weights.starts));
  EXPECT_TRUE(starts_with(refined.weights.joints, mesh.weights.joints));
  EXPECT_TRUE(starts_with(refined.weights.values, mesh.weights.values));
  ASSERT_EQ(refined.attributes.size(), mesh.attributes.size());
  for (std::size_t a = 0; a < mesh.attributes.size(); ++a) {
    EXPECT_EQ(refined.attributes[a].name, mesh.attributes[a].name);
    EXPECT_EQ(refined.attributes[a].width, mesh.attributes[a].width);
    EXPECT_TRUE(starts_with(refined.attributes[a].values, mesh.attributes[a].values));
  }
  ASSERT_EQ(refined.morph_targets.size(), mesh.morph_targets.size());
  for (std::size_t m = 0; m < mesh.morph_targets.size(); ++m) {
    EXPECT_EQ(refined.morph_targets[m].name, mesh.morph_targets[m].name);
    EXPECT_TRUE(starts_with(refined.morph_targets[m].displacements, mesh.morph_targets[m].displacements));
  }
  EXPECT_EQ(refined.name, mesh.name);
  EXPECT_EQ(refined.morph_weights, mesh.morph_weights);
  EXPECT_EQ(refined.joint, mesh.joint);
  EXPECT_EQ(refined.skin, mesh.skin);
}

Scene scene_with(const SceneMesh& mesh, int joints = kColumns + 1) {
  Scene scene;
  Skin skin;
  for (int j = 0; j < joints; ++j) {
    scene.skeleton.joints.emplace_back();
    skin.joints.push_back(j);
    skin.joint_from_mesh.push_back(Mat4f::Identity());
  }
  scene.skins.push_back(skin);
  scene.meshes.push_back(mesh);
  return scene;
}

TopologyReport welded_topology(const SceneMesh& mesh, bool with_keys = true) {
  const Weld weld =
      weld_vertices(mesh.surface.positions, with_keys ? weld_keys(mesh) : std::vector<std::uint32_t>{});
  const std::vector<Vec3f> positions = welded_positions(weld, mesh.surface.positions);
  const WeldedTriangles welded = weld_triangles(weld, mesh.surface.triangles);
  return inspect_topology({positions, welded.triangles});
}

/// One corner value per vertex.
void set_vertex_normals(SceneMesh& mesh, std::vector<Vec3f> normals) {
  mesh.normals.values = std::move(normals);
  mesh.normals.corners = mesh.surface.polygons.corners;
}

Vec3f morph_of(const Vec3f& p) {
  return {p.x() - 2 * p.y() + 0.5f, 3 * p.z() - p.x(), 0.25f * p.x() + p.y() - p.z()};
}

bool is_left(const Vec2f& texcoord) {
  return texcoord.x() < 5;
}

Vec2f left_texcoord(const Vec3f& p) {
  return {p.x() / 16, p.y() / 8};
}

Vec2f right_texcoord(const Vec3f& p) {
  return {10 - p.y() / 8, p.x() / 4};
}

/// Of three joints, quadratic in x: the scheme keeps that, halves along edges would not.
std::map<std::uint32_t, float> expected_weights(float x) {
  const float t = x / kColumns;
  std::map<std::uint32_t, float> row = {{0, (1 - t) * (1 - t)}, {1, 2 * t * (1 - t)}, {2, t * t}};
  std::erase_if(row, [](const auto& entry) { return entry.second == 0; });
  return row;
}

std::map<std::uint32_t, float> weights_of(const SceneMesh& mesh, std::size_t v) {
  std::map<std::uint32_t, float> row;
  for (std::size_t i = 0; i < mesh.weights.row_size(v); ++i)
    row[mesh.weights.row_joints(v)[i]] = mesh.weights.row_values(v)[i];
  return row;
}

void add_weight_row(SceneMesh& mesh, std::vector<Influence> row) {
  WeightRepairs repairs;
  append_row(mesh.weights, row, 0, repairs);
}

/// 8 × 6 unit quads with a UV seam down the middle, at x = 4, where vertices are doubled. All that a mesh can
/// have, linear in the position but for the weights; z is `height` of x and y.
template <class Height>
SceneMesh seamed_grid(const Height& height) {
  SceneMesh mesh;
  mesh.name = "skin";
  const Mesh left = test::make_grid(kSeam, kRows, kSeam, kRows);
  const Mesh right =
      test::moved(test::make_grid(kColumns - kSeam, kRows, kColumns - kSeam, kRows), {kSeam, 0, 0});
  Mesh flat = test::join(left, right);
  for (Vec3f& p : flat.positions) p.z() = static_cast<float>(height(double{p.x()}, double{p.y()}));
  mesh.surface = make_mesh(flat.positions, flat.polygons);
  mesh.skin = 0;
  VertexAttribute one{"_ONE", 1, {}}, three{"_THREE", 3, {}};
  MorphTarget morph{"linear", {}};
  std::vector<Vec3f> normals;
  for (std::size_t v = 0; v < flat.positions.size(); ++v) {
    const Vec3f& p = flat.positions[v];
    mesh.texcoords.values.push_back(v < left.positions.size() ? left_texcoord(p) : right_texcoord(p));
    normals.push_back(Vec3f(0.1f * (p.x() - 4), 0.1f * (p.y() - 3), 1).normalized());
    one.values.push_back(p.x() - 3 * p.y());
    three.values.insert(three.values.end(), {p.x(), p.y(), 1 - p.x()});
    morph.displacements.push_back(morph_of(p));
    std::vector<Influence> row;
    for (const auto& [joint, weight] : expected_weights(p.x())) row.push_back({joint, weight});
    add_weight_row(mesh, row);
  }
  mesh.texcoords.corners = mesh.surface.polygons.corners;
  set_vertex_normals(mesh, normals);
  mesh.attributes = {one, three};
  mesh.morph_targets = {morph};
  mesh.morph_weights = {0.25f};
  return mesh;
}

SceneMesh flat_seamed_grid() {
  return seamed_grid([](double, double) { return 0.0; });
}

SceneMesh bumpy_seamed_grid() {
  return seamed_grid([](double x, double y) { return 0.1 * std::sin(x) * std::cos(0.7 * y); });
}

/// Level 2 on the four quads in the middle, which makes a ring of level 1. The border is not touched, so that
/// positions of a flat grid stay linear.
Levels middle_levels(const SceneMesh& mesh) {
  Levels levels;
  for (const Triangle& triangle : mesh.surface.triangles) {
    Vec3f middle = Vec3f::Zero();
    for (const std::uint32_t v : triangle) middle += mesh.surface.positions[v] / 3;
    levels.push_back(std::abs(middle.x() - 4) < 1 && std::abs(middle.y() - 3) < 1 ? 2 : 0);
  }
  return levels;
}

TEST(RefineMesh, NoLevelsChangeNothing) {
  SceneMesh mesh = bumpy_seamed_grid();
  mesh.obj_directives = {{3, "usemtl skin"}};
  EXPECT_EQ(refine_mesh(mesh, Levels(mesh.surface.triangles.size(), 0)), mesh);
  EXPECT_EQ(refine_mesh(SceneMesh{}, Levels{}), SceneMesh{});
}

TEST(RefineMesh, WrongLevels) {
  const SceneMesh mesh = flat_seamed_grid();
  const std::size_t count = mesh.surface.triangles.size();
  EXPECT_THROW(refine_mesh(mesh, Levels{}), Error);
  EXPECT_THROW(refine_mesh(mesh, Levels(count - 1, 0)), Error);
  EXPECT_THROW(refine_mesh(mesh, Levels(count + 1, 1)), Error);
  Levels levels(count, 0);
  levels[7] = kMostRefinement + 1;
  EXPECT_THROW(refine_mesh(mesh, levels), Error);
  levels[7] = kMostRefinement;
  EXPECT_GT(refine_mesh(mesh, levels).surface.triangles.size(), count + 255);
}

TEST(RefineMesh, FileComesFirstUnchanged) {
  for (const SceneMesh& mesh : {flat_seamed_grid(), bumpy_seamed_grid()}) {
    const SceneMesh refined = refine_mesh(mesh, middle_levels(mesh));
    EXPECT_GT(refined.surface.positions.size(), mesh.surface.positions.size() + 60);
    expect_file_first(refined, mesh);
    EXPECT_NO_THROW(check_scene(scene_with(refined)));
  }
}

TEST(RefineMesh, SeamStaysClosed) {
  const SceneMesh mesh = bumpy_seamed_grid();
  const SceneMesh refined = refine_mesh(mesh, middle_levels(mesh));
  const TopologyReport topology = welded_topology(refined);
  EXPECT_EQ(topology.boundary_edges, 2u * (kColumns + kRows));  // those round the grid
  EXPECT_EQ(topology.boundary_loops, 1u);
  EXPECT_EQ(topology.non_manifold_edges, 0u);
  EXPECT_EQ(topology.flipped_edges, 0u);
  EXPECT_EQ(topology.zero_area_triangles, 0u);
  EXPECT_EQ(topology.components, 1u);
  // Unwelded, both halves have a border of their own.
  EXPECT_EQ(inspect_topology(refined.surface.view()).components, 2u);

  // Each new vertex on the seam is there twice, the same to the last bit.
  std::map<std::uint32_t, std::set<std::uint32_t>> copies;
  const Weld weld = weld_vertices(refined.surface.positions);
  for (std::uint32_t v = 0; v < refined.surface.positions.size(); ++v)
    copies[weld.welded_of_vertex[v]].insert(v);
  int doubled = 0;
  for (const auto& [welded, vertices] : copies) {
    const std::uint32_t first = *vertices.begin();
    EXPECT_LE(vertices.size(), 2u);
    EXPECT_EQ(vertices.size() == 2, std::abs(refined.surface.positions[first].x() - 4) < 0.02f);
    if (vertices.size() != 2 || first < mesh.surface.positions.size()) continue;
    ++doubled;
    const std::uint32_t second = *vertices.rbegin();
    EXPECT_EQ(weights_of(refined, first), weights_of(refined, second));
    EXPECT_EQ(refined.morph_targets[0].displacements[first], refined.morph_targets[0].displacements[second]);
  }
  EXPECT_EQ(doubled, 2 * 3 + 2 * 1);  // edges of level 2 and of level 1
}

TEST(RefineMesh, ValuesContinueOnEachSide) {
  const SceneMesh mesh = flat_seamed_grid();
  const SceneMesh refined = refine_mesh(mesh, middle_levels(mesh));
  const std::vector<Vec3f>& positions = refined.surface.positions;
  ASSERT_EQ(refined.texcoords.corners.size(), refined.surface.polygons.corners.size());
  std::vector<char> side(positions.size(), 0);
  for (std::size_t p = 0; p < refined.surface.polygons.size(); ++p) {
    const std::uint32_t start = refined.surface.polygons.starts[p];
    const bool left = is_left(refined.texcoords.values[refined.texcoords.corners[start]]);
    for (std::uint32_t c = start; c < refined.surface.polygons.starts[p + 1]; ++c) {
      const std::uint32_t v = refined.surface.polygons.corners[c];
      const Vec2f expected = left ? left_texcoord(positions[v]) : right_texcoord(positions[v]);
      EXPECT_NEAR((refined.texcoords.values[refined.texcoords.corners[c]] - expected).norm(), 0, kNear);
      EXPECT_TRUE(left ? positions[v].x() <= 4 : positions[v].x() >= 4);
      side[v] |= left ? 1 : 2;
    }
  }
  for (std::size_t v = 0; v < positions.size(); ++v) {
    EXPECT_TRUE(side[v] == 1 || side[v] == 2) << v;  // no vertex in both charts, none without
    const Vec3f& p = positions[v];
    EXPECT_EQ(p.z(), 0);
    EXPECT_NEAR(refined.attributes[0].values[v], p.x() - 3 * p.y(), 1e-5);
    EXPECT_NEAR(refined.attributes[1].values[3 * v], p.x(), kNear);
    EXPECT_NEAR(refined.attributes[1].values[3 * v + 1], p.y(), kNear);
    EXPECT_NEAR(refined.attributes[1].values[3 * v + 2], 1 - p.x(), kNear);
    const auto row = weights_of(refined, v), expected = expected_weights(p.x());
    ASSERT_EQ(row.size(), expected.size()) << v;
    for (const auto& [joint, weight] : expected) EXPECT_NEAR(row.at(joint), weight, kNear) << v;
  }
  // The grid's values are used once each, not once per corner.
  EXPECT_EQ(refined.texcoords.values.size(), positions.size());
  EXPECT_EQ(refined.normals.values.size(), positions.size());
}

TEST(RefineMesh, NormalsAreThoseHalfwayAndOfUnitLength) {
  const SceneMesh mesh = flat_seamed_grid();
  const SceneMesh refined = refine_mesh(mesh, middle_levels(mesh));
  ASSERT_EQ(refined.normals.corners.size(), refined.surface.polygons.corners.size());
  for (std::size_t c = 0; c < refined.normals.corners.size(); ++c) {
    const Vec3f normal = refined.normals.values[refined.normals.corners[c]];
    const Vec3f p = refined.surface.positions[refined.surface.polygons.corners[c]];
    EXPECT_NEAR(normal.norm(), 1, 1e-5);
    const Vec3f expected = Vec3f(0.1f * (p.x() - 4), 0.1f * (p.y() - 3), 1).normalized();
    EXPECT_NEAR((normal - expected).norm(), 0, 0.01);
  }
}

TEST(RefineMesh, WeightsOfCurvedMeshesSumToOne) {
  const SceneMesh mesh = bumpy_seamed_grid();
  Levels levels(mesh.surface.triangles.size(), 0);
  levels[20] = 4;
  const SceneMesh refined = refine_mesh(mesh, levels);
  ASSERT_EQ(refined.weights.rows(), refined.surface.positions.size());
  for (std::size_t v = 0; v < refined.weights.rows(); ++v) {
    double sum = 0;
    for (const float value : refined.weights.row_values(v)) {
      EXPECT_GT(value, 0);
      sum += value;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    const auto joints = refined.weights.row_joints(v);
    EXPECT_EQ(std::set<std::uint32_t>(joints.begin(), joints.end()).size(), joints.size());
  }
}

// Each vertex on the joint of its column: kinks, at which the scheme overshoots.
TEST(RefineMesh, RigidWeightsStayWithinTheirNeighbourhood) {
  SceneMesh mesh = flat_seamed_grid();
  mesh.weights = {};
  for (const Vec3f& p : mesh.surface.positions)
    add_weight_row(mesh, {{static_cast<std::uint32_t>(p.x()), 1}});
  const SceneMesh refined = refine_mesh(mesh, middle_levels(mesh));
  for (std::size_t v = 0; v < refined.weights.rows(); ++v) {
    double sum = 0, place = 0;
    const float x = refined.surface.positions[v].x();
    for (const auto& [joint, weight] : weights_of(refined, v)) {
      EXPECT_GT(weight, 0);
      EXPECT_LT(std::abs(x - static_cast<float>(joint)), 2.01f);
      sum += weight;
      place += double{weight} * joint;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_NEAR(place, x, 0.2);
  }
}

TEST(RefineMesh, UnskinnedMeshGetsNoWeights) {
  SceneMesh mesh = bumpy_seamed_grid();
  mesh.skin = -1;
  mesh.weights = {};
  const SceneMesh refined = refine_mesh(mesh, middle_levels(mesh));
  EXPECT_EQ(refined.weights, SkinWeights{});
  EXPECT_NO_THROW(check_scene(scene_with(refined)));
}

TEST(RefineMesh, LinearMorphTargetsStayLinear) {
  const SceneMesh mesh = bumpy_seamed_grid();
  const SceneMesh refined = refine_mesh(mesh, middle_levels(mesh));
  for (std::size_t v = 0; v < refined.surface.positions.size(); ++v)
    EXPECT_NEAR((refined.morph_targets[0].displacements[v] - morph_of(refined.surface.positions[v])).norm(),
                0, 1e-5);
}

TEST(RefineMesh, BareMesh) {
  SceneMesh mesh;
  mesh.surface = test::make_icosphere(1);
  Levels levels(mesh.surface.triangles.size(), 0);
  levels[3] = 2;
  const SceneMesh refined = refine_mesh(mesh, levels);
  EXPECT_TRUE(refined.texcoords.empty());
  EXPECT_TRUE(refined.normals.empty());
  EXPECT_TRUE(refined.polygon_groups.empty());
  EXPECT_TRUE(inspect_topology(refined.surface.view()).watertight());
  EXPECT_NO_THROW(check_scene(scene_with(refined)));
}

TEST(RefineMesh, PolygonsThatDoNotChangeStayAsTheyAre) {
  constexpr int kSide = 4;
  SceneMesh mesh;
  mesh.surface = test::make_grid(kSide, kSide, kSide, kSide);
  for (std::uint32_t p = 0; p < kSide * kSide; ++p) mesh.polygon_groups.push_back(p % 3);
  mesh.obj_directives = {{0, "o grid"},  {5, "usemtl a"}, {5, "s 1"},
                         {6, "g later"}, {9, "s off"},    {kSide * kSide, "# end"}};
  Levels levels(mesh.surface.triangles.size(), 0);
  levels[10] = levels[11] = 1;  // quad (1, 1), number 5
  const SceneMesh refined = refine_mesh(mesh, levels);
  const Polygons& polygons = refined.surface.polygons;
  ASSERT_EQ(refined.polygon_groups.size(), polygons.size());
  std::vector<std::uint32_t> old_of_new, quads(kSide * kSide, 0);
  for (std::size_t p = 0; p < polygons.size(); ++p) {
    Vec3f middle = Vec3f::Zero();
    for (const std::uint32_t v : polygons[p])
      middle += refined.surface.positions[v] / static_cast<float>(polygons[p].size());
    const auto old = static_cast<std::uint32_t>(middle.y()) * kSide + static_cast<std::uint32_t>(middle.x());
    old_of_new.push_back(old);
    EXPECT_EQ(refined.polygon_groups[p], old % 3);
    if (polygons[p].size() == 3) continue;
    ++quads[old];
    EXPECT_TRUE(std::equal(polygons[p].begin(), polygons[p].end(), mesh.surface.polygons[old].begin(),
                           mesh.surface.polygons[old].end()));
  }
  EXPECT_TRUE(std::is_sorted(old_of_new.begin(), old_of_new.end()));
  // The quad itself and its four neighbours became triangles.
  const std::set<std::uint32_t> changed = {1, 4, 5, 6, 9};
  std::map<std::uint32_t, std::size_t> parts;
  for (const std::uint32_t old : old_of_new) ++parts[old];
  for (std::uint32_t p = 0; p < kSide * kSide; ++p) {
    EXPECT_EQ(quads[p], changed.contains(p) ? 0u : 1u) << p;
    EXPECT_EQ(parts[p], p == 5 ? 8u : changed.contains(p) ? 3u : 1u) << p;
  }
  ASSERT_EQ(refined.obj_directives.size(), mesh.obj_directives.size());
  for (std::size_t d = 0; d < mesh.obj_directives.size(); ++d) {
    const auto& [polygon, line] = mesh.obj_directives[d];
    const auto first = std::lower_bound(old_of_new.begin(), old_of_new.end(), polygon) - old_of_new.begin();
    EXPECT_EQ(refined.obj_directives[d].first, static_cast<std::uint32_t>(first)) << line;
    EXPECT_EQ(refined.obj_directives[d].second, line);
  }
  EXPECT_EQ(refined.surface, make_mesh(refined.surface.positions, polygons));
}

/// Every polygon with its own vertices and one normal: as files have hard edges.
SceneMesh faceted(const Mesh& surface) {
  SceneMesh mesh;
  mesh.surface = test::split_all(surface);
  const std::vector<Vec3f>& positions = mesh.surface.positions;
  for (std::size_t p = 0; p < mesh.surface.polygons.size(); ++p) {
    const auto corners = mesh.surface.polygons[p];
    const Vec3f normal = (positions[corners[1]] - positions[corners[0]])
                             .cross(positions[corners[2]] - positions[corners[0]])
                             .normalized();
    mesh.normals.values.push_back(normal);
    mesh.normals.corners.insert(mesh.normals.corners.end(), corners.size(), static_cast<std::uint32_t>(p));
  }
  return mesh;
}

double farthest_from_cube(const SceneMesh& mesh) {
  double farthest = 0;
  for (const Vec3f& p : mesh.surface.positions)
    farthest = std::max(farthest, std::abs(double{p.cwiseAbs().maxCoeff()} - 1));
  return farthest;
}

TEST(RefineMesh, CubeWithHardEdgesStaysACube) {
  const SceneMesh cube = faceted(test::make_cube());
  const Levels levels(12, 3);
  const SceneMesh refined = refine_mesh(cube, levels);
  EXPECT_EQ(refined.surface.triangles.size(), 12u * 64);
  EXPECT_LT(farthest_from_cube(refined), kNear);
  EXPECT_TRUE(welded_topology(refined).watertight());
  // A new corner has the normal of its face.
  for (const Triangle& corners : refined.surface.triangle_corners)
    for (const std::uint32_t c : corners) {
      const Vec3f normal = refined.normals.values[refined.normals.corners[c]];
      EXPECT_NEAR(refined.surface.positions[refined.surface.polygons.corners[c]].dot(normal), 1, kNear);
    }
  // Corner normals on shared vertices say the same.
  SceneMesh shared = cube;
  shared.surface = test::make_cube();
  EXPECT_LT(farthest_from_cube(refine_mesh(shared, levels)), kNear);
  // Only they do: without normals it becomes round.
  SceneMesh smooth;
  smooth.surface = test::make_cube();
  EXPECT_GT(farthest_from_cube(refine_mesh(smooth, levels)), 0.05);
}

TEST(RefineMesh, CubeRefinedInPartStaysACube) {
  const SceneMesh cube = faceted(test::make_cube());
  for (std::size_t t = 0; t < 12; ++t) {
    Levels levels(12, 0);
    levels[t] = 4;
    const SceneMesh refined = refine_mesh(cube, levels);
    EXPECT_LT(farthest_from_cube(refined), kNear);
    EXPECT_TRUE(welded_topology(refined).watertight());
  }
}

/// Per edge of the surface, how far from the unit sphere its middle is and how far the point that replaces
/// it.
std::vector<std::pair<double, double>> distances_to_sphere(const Mesh& coarse, const Mesh& fine) {
  std::vector<std::pair<double, double>> distances;
  for (const Triangle& triangle : coarse.triangles)
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3f middle = 0.5f * (coarse.positions[triangle[c]] + coarse.positions[triangle[(c + 1) % 3]]);
      const auto nearest =
          std::min_element(fine.positions.begin(), fine.positions.end(), [&](const Vec3f& a, const Vec3f& b) {
            return (a - middle).squaredNorm() < (b - middle).squaredNorm();
          });
      distances.emplace_back(std::abs(1 - middle.norm()), std::abs(1 - nearest->norm()));
    }
  return distances;
}

TEST(RefineMesh, SphereBecomesRounder) {
  for (const int level : {1, 2}) {
    SceneMesh sphere;
    sphere.surface = test::make_icosphere(level);
    set_vertex_normals(sphere, sphere.surface.positions);
    const Levels levels(sphere.surface.triangles.size(), 1);
    const SceneMesh smooth = refine_mesh(sphere, levels);
    for (const auto& [middle, refined] : distances_to_sphere(sphere.surface, smooth.surface))
      EXPECT_LT(refined, 0.45 * middle);
    // Facets that meet at less than 30° count as smooth, with the same result.
    const SceneMesh facets = refine_mesh(faceted(sphere.surface), levels);
    for (const auto& [middle, refined] : distances_to_sphere(sphere.surface, facets.surface))
      EXPECT_LT(refined, 0.45 * middle);
  }
}

TEST(RefineMesh, SharpIcosahedronStaysOne) {
  const Mesh icosahedron = test::make_icosphere(0);  // its faces meet at 42°
  const SceneMesh refined = refine_mesh(faceted(icosahedron), Levels(20, 1));
  for (const auto& [middle, replaced] : distances_to_sphere(icosahedron, refined.surface))
    EXPECT_NEAR(replaced, middle, kNear);
}

/// Pressed into a needle: the scheme would swing out far.
TEST(RefineMesh, NewPointsStayNearTheirEdges) {
  SceneMesh mesh;
  mesh.surface = make_mesh(
      std::vector<Vec3f>{
          {0, 0, 0}, {0.01f, 0, 0}, {100, 0, 100}, {-100, 0, 100}, {0, 1, -100}, {90, 1, -100}},
      std::vector<Triangle>{{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 5}, {0, 5, 1}});
  const SceneMesh refined = refine_mesh(mesh, Levels(5, 1));
  ASSERT_EQ(refined.surface.positions.size(), 6u + 10);
  bool found = false;
  for (std::size_t v = 6; v < refined.surface.positions.size(); ++v)
    found |= (refined.surface.positions[v] - Vec3f(0.005f, 0, 0)).norm() < 0.004f;
  EXPECT_TRUE(found);
}

/// A tube round y whose quads are 10° and 50° wide in turn. The scheme alone leaves its circle by more than a
/// quarter of the short edges.
TEST(RefineMesh, NoRipplesWhereShortEdgesMeetLongOnes) {
  constexpr int kAround = 12, kAlong = 5;
  SceneMesh mesh;
  mesh.surface = test::make_tube(kAround, kAlong, 1.0f, 3.0f);
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
    const auto i = static_cast<int>(v) % kAround;
    const double angle = (i / 2 * 60 + i % 2 * 10) * 3.14159265358979 / 180;
    mesh.surface.positions[v].x() = static_cast<float>(std::cos(angle));
    mesh.surface.positions[v].z() = static_cast<float>(std::sin(angle));
  }
  const SceneMesh refined = refine_mesh(mesh, Levels(mesh.surface.triangles.size(), 1));
  constexpr double kShortEdge = 0.1743;
  int between = 0;
  for (std::size_t v = mesh.surface.positions.size(); v < refined.surface.positions.size(); ++v) {
    const Vec3f& p = refined.surface.positions[v];
    const double degrees = std::fmod(std::atan2(p.z(), p.x()) * 180 / 3.14159265358979 + 360, 60);
    const double ring = p.y() / 0.6;
    if (degrees < 3 || degrees > 7 || std::abs(ring - std::round(ring)) > 0.1) continue;  // other edges
    if (ring < 0.5 || ring > kAlong - 0.5) continue;                                      // borders
    ++between;
    EXPECT_NEAR(std::hypot(p.x(), p.z()), 1, 0.13 * kShortEdge) << p.transpose();
  }
  EXPECT_EQ(between, 6 * (kAlong - 1));
}

/// Vertices on the cut through x = 0 are doubled.
SceneMesh sphere_with_seam(int level) {
  SceneMesh mesh;
  const Mesh sphere = test::make_icosphere(level);
  std::vector<Vec3f> positions = sphere.positions;
  std::vector<Triangle> triangles = sphere.triangles;
  const auto is_front = [&](const Triangle& triangle) {
    float sum = 0;
    for (const std::uint32_t v : triangle) sum += sphere.positions[v].x();
    return sum > 0.1f;
  };
  std::vector<char> front(positions.size(), 0);
  for (const Triangle& triangle : triangles)
    if (is_front(triangle))
      for (const std::uint32_t v : triangle) front[v] = 1;
  std::map<std::uint32_t, std::uint32_t> copies;
  for (Triangle& triangle : triangles) {
    if (is_front(triangle)) continue;
    for (std::uint32_t& v : triangle) {
      if (!front[v]) continue;
      const auto [copy, added] = copies.try_emplace(v, static_cast<std::uint32_t>(positions.size()));
      if (added) positions.push_back(Vec3f(positions[v]));
      v = copy->second;
    }
  }
  EXPECT_GT(copies.size(), 8u);
  mesh.surface = make_mesh(positions, triangles);
  set_vertex_normals(mesh, positions);
  mesh.skin = 0;
  MorphTarget morph{"swell", {}};
  for (const Vec3f& p : positions) {
    const float a = std::exp(p.y()), b = std::exp(p.z()), c = std::exp(-p.y());
    add_weight_row(mesh, {{0, a / (a + b + c)}, {1, b / (a + b + c)}, {2, c / (a + b + c)}});
    morph.displacements.push_back(p * p.x());
    mesh.texcoords.values.emplace_back(p.y(), p.z());
  }
  mesh.texcoords.corners = mesh.surface.polygons.corners;
  mesh.morph_targets = {morph};
  mesh.morph_weights = {0};
  return mesh;
}

TEST(RefineMesh, NoCracksAtRandomLevels) {
  const SceneMesh sphere = sphere_with_seam(2);
  ASSERT_TRUE(welded_topology(sphere).watertight());
  ASSERT_FALSE(inspect_topology(sphere.surface.view()).watertight());
  std::mt19937 generator(3);
  for (int run = 0; run < 12; ++run) {
    Levels levels(sphere.surface.triangles.size(), 0);
    std::uniform_int_distribution<std::size_t> any_triangle(0, levels.size() - 1);
    std::uniform_int_distribution<int> any_level(1, 3);
    for (int i = 0; i < 1 + run; ++i)
      levels[any_triangle(generator)] = static_cast<std::uint8_t>(any_level(generator));
    const SceneMesh refined = refine_mesh(sphere, levels);
    expect_file_first(refined, sphere);
    const TopologyReport topology = welded_topology(refined);
    EXPECT_TRUE(topology.watertight()) << run;
    EXPECT_EQ(topology.components, 1u);
    EXPECT_EQ(topology.non_manifold_vertices, 0u);
    EXPECT_EQ(topology.zero_area_triangles, 0u);
    EXPECT_EQ(topology.vertices + topology.triangles - topology.edges, 2u) << run;
    for (const Triangle& triangle : refined.surface.triangles) {
      const Vec3f &a = refined.surface.positions[triangle[0]], &b = refined.surface.positions[triangle[1]],
                  &c = refined.surface.positions[triangle[2]];
      EXPECT_GT((b - a).cross(c - a).dot(a + b + c), 0);
    }
    EXPECT_NO_THROW(check_scene(scene_with(refined)));
  }
}

TEST(RefineMesh, SameWhicheverCornerTrianglesStartWith) {
  const SceneMesh sphere = sphere_with_seam(1);
  SceneMesh turned = sphere;
  std::vector<Triangle> triangles = sphere.surface.triangles;
  for (std::size_t t = 0; t < triangles.size(); ++t)
    std::rotate(triangles[t].begin(), triangles[t].begin() + t % 3, triangles[t].end());
  turned.surface = make_mesh(sphere.surface.positions, triangles);
  turned.normals.corners = turned.texcoords.corners = turned.surface.polygons.corners;
  Levels levels(triangles.size(), 0);
  levels[5] = 3;
  levels[40] = 1;
  const auto sorted_positions = [&](const SceneMesh& mesh) {
    std::vector<std::array<float, 3>> positions;
    for (const Vec3f& p : refine_mesh(mesh, levels).surface.positions)
      positions.push_back({p.x(), p.y(), p.z()});
    std::sort(positions.begin(), positions.end());
    return positions;
  };
  EXPECT_EQ(sorted_positions(turned), sorted_positions(sphere));
}

TEST(RefineMesh, SeamThatIsOpenByLessThanTheTolerance) {
  SceneMesh mesh = bumpy_seamed_grid();
  const Levels levels = middle_levels(mesh);
  const std::size_t left = to_size((kSeam + 1) * (kRows + 1));
  for (std::size_t v = left; v < mesh.surface.positions.size(); ++v) mesh.surface.positions[v].x() += 1e-4f;
  const auto doubled = [&](float tolerance) {
    const SceneMesh refined = refine_mesh(mesh, levels, tolerance);
    expect_file_first(refined, mesh);
    return refined.surface.positions.size() - weld_vertices(refined.surface.positions).size();
  };
  EXPECT_EQ(doubled(1e-3f), 2u * 3 + 2 * 1);
  EXPECT_EQ(doubled(0), 0u);
  EXPECT_THROW(refine_mesh(mesh, levels, -1), Error);
}

TEST(RefineMesh, DegenerateTrianglesSurvive) {
  // A grid with what files contain: a corner named twice, a triangle on a line, one between two vertices at
  // one place, one that is there twice, a polygon of two corners and one of none.
  const Mesh grid = test::make_grid(4, 4, 4, 4);
  std::vector<Vec3f> positions = grid.positions;
  positions.push_back(positions[12]);
  Polygons polygons = grid.polygons;
  const auto add = [&](std::vector<std::uint32_t> polygon) { polygons.add(polygon); };
  add({12, 12, 13});
  add({11, 12, 13});
  add({12, 25, 13});
  add({12, 13, 18});
  add({6, 7});
  add({});
  add({12, 12, 12});
  add({6, 7, 7, 12});
  SceneMesh mesh;
  mesh.surface = make_mesh(positions, polygons);
  for (std::uint32_t p = 0; p < polygons.size(); ++p) mesh.polygon_groups.push_back(p);
  set_vertex_normals(mesh, std::vector<Vec3f>(positions.size(), Vec3f::UnitZ()));
  mesh.skin = 0;
  for (std::size_t v = 0; v < positions.size(); ++v) add_weight_row(mesh, {{0, 1}});
  ASSERT_NO_THROW(check_scene(scene_with(mesh)));
  for (std::uint8_t level = 1; level <= 3; ++level) {
    const SceneMesh refined = refine_mesh(mesh, Levels(mesh.surface.triangles.size(), level));
    EXPECT_NO_THROW(check_scene(scene_with(refined)));
    expect_file_first(refined, mesh);
    std::set<std::uint32_t> groups(refined.polygon_groups.begin(), refined.polygon_groups.end());
    EXPECT_EQ(groups.size(), polygons.size());  // nothing was lost
    for (const Vec3f& p : refined.surface.positions) EXPECT_TRUE(p.allFinite());
  }
}

TEST(RefineMesh, VerticesWithoutWeights) {
  SceneMesh mesh;
  mesh.surface = test::make_grid(2, 2);
  mesh.skin = 0;
  for (std::size_t v = 0; v < 9; ++v)
    add_weight_row(mesh, v < 6 ? std::vector<Influence>{} : std::vector<Influence>{{1, 1}});
  const SceneMesh refined = refine_mesh(mesh, Levels(8, 1));
  EXPECT_NO_THROW(check_scene(scene_with(refined)));
  for (std::size_t v = 9; v < refined.weights.rows(); ++v) {
    const auto row = weights_of(refined, v);
    EXPECT_TRUE(row.empty() || row == (std::map<std::uint32_t, float>{{1, 1.0f}}));
  }
}

/// Two lips that touch at y = 0, refined: the upper one follows joint 0, the lower one joint 1, or a morph
/// target opens the mouth, or both.
struct RefinedLips {
  RefinedLips(bool has_weights, bool has_morph) {
    const Mesh upper = test::make_grid(4, 2, 4, 2);
    SceneMesh mesh;
    mesh.surface = test::join(upper, test::moved(upper, {0, -2, 0}));
    MorphTarget open{"open", {}};
    for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
      const bool above = v < upper.positions.size();
      if (has_weights) add_weight_row(mesh, {{above ? 0u : 1u, 1}});
      open.displacements.push_back(above ? Vec3f(0, 0, 0) : Vec3f(0, -1, 0));
    }
    if (has_weights) mesh.skin = 0;
    if (has_morph) {
      mesh.morph_targets = {open};
      mesh.morph_weights = {0};
    }
    refined = refine_mesh(mesh, Levels(mesh.surface.triangles.size(), 2));
    is_upper.assign(refined.surface.positions.size(), 0);
    for (const Triangle& triangle : refined.surface.triangles) {
      float sum = 0;
      for (const std::uint32_t v : triangle) sum += refined.surface.positions[v].y();
      for (const std::uint32_t v : triangle) is_upper[v] = sum > 0;
    }
  }

  SceneMesh refined;
  std::vector<char> is_upper;  // per vertex
};

TEST(RefineMesh, ClosedLipsStayApart) {
  for (const auto& [has_weights, has_morph] : {std::pair(true, false), {false, true}, {true, true}}) {
    const RefinedLips lips(has_weights, has_morph);
    EXPECT_EQ(welded_topology(lips.refined, true).components, 2u);
    EXPECT_EQ(welded_topology(lips.refined, false).components, 1u);
    EXPECT_NO_THROW(check_scene(scene_with(lips.refined)));
    // 16 edges on each lip, with all of their 17 vertices at the same places.
    std::set<float> places[2];
    for (std::size_t v = 0; v < lips.is_upper.size(); ++v)
      if (const Vec3f& p = lips.refined.surface.positions[v]; p.y() == 0)
        places[lips.is_upper[v] ? 1 : 0].insert(p.x());
    EXPECT_EQ(places[0].size(), 17u);
    EXPECT_EQ(places[0], places[1]);
  }
}

TEST(RefineMesh, ClosedLipsKeepTheirWeights) {
  for (const bool has_morph : {false, true}) {
    const RefinedLips lips(true, has_morph);
    for (std::size_t v = 0; v < lips.is_upper.size(); ++v)
      EXPECT_EQ(weights_of(lips.refined, v),
                (std::map<std::uint32_t, float>{{lips.is_upper[v] ? 0u : 1u, 1.0f}}));
  }
}

TEST(RefineMesh, MorphTargetsOpenClosedLipsCleanly) {
  for (const bool has_weights : {false, true}) {
    const RefinedLips lips(has_weights, true);
    float largest_error = 0;
    for (std::size_t v = 0; v < lips.is_upper.size(); ++v) {
      const Vec3f expected(0, lips.is_upper[v] ? 0.0f : -1.0f, 0);
      const Vec3f displacement = lips.refined.morph_targets[0].displacements[v];
      largest_error = std::max(largest_error, (displacement - expected).norm());
    }
    EXPECT_LT(largest_error, 1e-6f) << has_weights;
  }
}

}  // namespace
}  // namespace sinew
