#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/index.h>
#include <sinew/geometry/topology.h>
#include <sinew/models/models.h>
#include <sinew/skeleton/flesh_bones.h>
#include <sinew/skinning/bind.h>

#include "tests/support/binding_checks.h"
#include "tests/support/damage.h"
#include "tests/support/decimate.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

// Built-in characters, each broken in every way, must be bound, and bound as the whole ones are.
namespace sinew {
namespace {

/// A built-in character at its least resolution, without its weights.
struct Subject {
  Skeleton skeleton;
  std::vector<Affine3d> world;
  Mesh mesh;
  SkinWeights own;  ///< the model's; joints are the skeleton's
};

Subject make_subject(std::string_view name) {
  const auto model =
      std::find_if(models().begin(), models().end(), [&](const Model& m) { return m.name == name; });
  BuiltModel built = test::shared_model(name, {model->least_vertices, {}});
  Subject subject{built.scene.skeleton, std::vector<Affine3d>(built.scene.skeleton.size()),
                  built.scene.meshes[0].surface, built.scene.meshes[0].weights};
  for (std::uint32_t& joint : subject.own.joints)
    joint = static_cast<std::uint32_t>(built.scene.skins[0].joints[joint]);
  forward_kinematics(subject.skeleton, rest_pose(subject.skeleton).joints, subject.world);
  return subject;
}

std::vector<Bone> bones_in(const Subject& subject, const MeshView& surface,
                           const Affine3d& placement = Affine3d::Identity()) {
  std::vector<Affine3d> world = subject.world;
  for (Affine3d& m : world) m = placement * m;
  return bones_in_flesh(subject.skeleton, world, OrientedSurface(surface));
}

/// How far weights may be from those of the whole mesh: mean total variation.
struct Tolerance {
  double kept;       ///< over vertices of the whole mesh
  double added = 1;  ///< over those added to it, against the vertex they sit on
};

const std::map<std::string_view, Tolerance>& tolerances() {
  static const std::map<std::string_view, Tolerance> kTolerances{
      {"untouched", {0}},
      {"cut open", {0.14}},
      {"end cut off", {0.12}},
      {"slit lengthwise", {0.031}},
      {"slit across", {0.1}},
      {"listed twice", {7e-05}},
      {"glued double", {7e-05}},
      {"flipped faces", {1e-05}},
      {"inside out", {1e-05}},
      {"T-junctions", {0.007, 0.12}},
      {"internal faces", {0.26}},
      {"1000 islands", {0.0009, 0.14}},
      {"zero area faces", {8e-05, 0.026}},
      {"duplicate vertices", {0.018}},
      {"renumbered", {1e-05}},
      {"turned", {0.001}},
      {"scaled by 1e-3", {1e-05}},
      {"scaled by 1e3", {1e-05}},
      {"far away", {0.001}},
      {"decimated", {0.3}},
      {"slightly noisy", {0.025}},
      {"noisy", {0.28}},
      {"clothed", {0.02, 0.44}},
      {"soup", {0.17}},
      {"soup, welded", {1e-05}},
      {"everything", {0.025, 0.19}},
  };
  return kTolerances;
}

class BindCorpus : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    if (test::kSanitized && name != "tube") GTEST_SKIP() << "takes minutes here; the tube runs the same code";
  }
};

TEST_P(BindCorpus, BindsWhateverHappenedToTheMesh) {
  const Subject subject = make_subject(GetParam());
  const test::TracedMesh whole = test::traced(subject.mesh.view());
  const SkinWeights expected = bind_surface(whole.view(), bones_in(subject, whole.view()));
  for (const test::Damage& damage : test::damages()) {
    SCOPED_TRACE(damage.name);
    const test::TracedMesh mesh = damage.apply(whole);
    const std::vector<Bone> bones = bones_in(subject, mesh.view(), mesh.placement);
    BindReport report;
    const SkinWeights weights = bind_surface(mesh.view(), bones, {}, &report);
    ASSERT_EQ(test::weights_fault(weights, mesh.positions.size(), bones, {}), "");
    EXPECT_EQ(test::report_fault(report, mesh.view(), weights, bones, {}), "");

    if (!test::kSanitized && subject.mesh.positions.size() < 5000) {
      // One thread and many give the same bits.
      tbb::task_arena arena(1);
      arena.execute([&] { EXPECT_EQ(bind_surface(mesh.view(), bones), weights); });
    }

    double kept = 0, added = 0;
    std::size_t kept_count = 0, added_count = 0;
    for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
      if (mesh.anchor[v] < 0) continue;
      const double difference = test::total_variation(weights, v, expected, to_size(mesh.anchor[v]));
      (mesh.source[v] < 0 ? added : kept) += difference;
      ++(mesh.source[v] < 0 ? added_count : kept_count);
    }
    ASSERT_GT(kept_count, 0u);
    const Tolerance& tolerance = tolerances().at(damage.name);
    EXPECT_LE(kept / static_cast<double>(kept_count), tolerance.kept);
    if (added_count > 0) {
      EXPECT_LE(added / static_cast<double>(added_count), tolerance.added);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BindCorpus, testing::Values("tube", "arm", "hand", "mannequin", "cat"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(BindCorpus, DamagesDoWhatTheySay) {
  const test::TracedMesh whole = test::traced(test::make_icosphere(3).view());
  const TopologyReport sound = inspect_topology(whole.view());
  ASSERT_TRUE(sound.watertight());
  std::map<std::string_view, test::TracedMesh> broken;
  std::map<std::string_view, TopologyReport> found;
  for (const test::Damage& damage : test::damages()) {
    const test::TracedMesh& mesh = broken[damage.name] = damage.apply(whole);
    found[damage.name] = inspect_topology(mesh.view());
    ASSERT_EQ(mesh.source.size(), mesh.positions.size());
    ASSERT_EQ(mesh.anchor.size(), mesh.positions.size());
    EXPECT_TRUE(tolerances().contains(damage.name)) << damage.name;
    const bool moves = damage.name == "noisy" || damage.name == "slightly noisy";
    for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
      if (mesh.source[v] < 0 || moves) continue;
      EXPECT_EQ(mesh.anchor[v], mesh.source[v]);
      const Vec3d before = whole.positions[to_size(mesh.source[v])].cast<double>();
      const Vec3d expected = mesh.placement * before;
      EXPECT_LT((mesh.positions[v].cast<double>() - expected).norm(), 1e-6 * expected.norm() + 1e-12);
    }
  }
  EXPECT_EQ(tolerances().size(), test::damages().size());

  EXPECT_GT(found["cut open"].boundary_edges, 20u);
  EXPECT_NEAR(static_cast<double>(found["cut open"].triangles), 0.5 * 1280, 80);
  EXPECT_EQ(found["cut open"].isolated_vertices, 0u);
  EXPECT_GT(found["slit across"].boundary_edges, 40u);
  EXPECT_EQ(found["slit across"].components, 2u);
  EXPECT_EQ(found["slit across"].triangles, 1280u);
  EXPECT_EQ(found["listed twice"].duplicate_triangles, 1280u);
  EXPECT_EQ(found["glued double"].components, 2u);
  EXPECT_EQ(test::welded(broken["glued double"]).positions.size(), 642u);
  EXPECT_GT(found["flipped faces"].flipped_edges, 500u);
  EXPECT_EQ(found["inside out"].flipped_edges, 0u);
  EXPECT_NEAR(static_cast<double>(found["T-junctions"].boundary_edges), 3 * 0.1 * 1920, 120);
  EXPECT_GT(found["internal faces"].non_manifold_edges, 150u);
  EXPECT_EQ(found["internal faces"].boundary_edges, 0u);
  EXPECT_GT(found["1000 islands"].components, 600u);
  EXPECT_GT(found["1000 islands"].isolated_vertices, 150u);
  EXPECT_GT(found["zero area faces"].zero_area_triangles, 80u);
  EXPECT_GT(found["duplicate vertices"].boundary_edges, 150u);
  EXPECT_TRUE(found["renumbered"].watertight());
  EXPECT_EQ(found["clothed"].components, 2u);
  EXPECT_GT(found["clothed"].boundary_edges, 20u);
  EXPECT_EQ(found["soup"].components, 1280u);
  EXPECT_TRUE(found["soup, welded"].watertight());
  EXPECT_EQ(found["soup, welded"].vertices, 642u);
  EXPECT_GT(found["everything"].boundary_edges, 200u);
  EXPECT_GT(found["everything"].flipped_edges, 100u);
}

TEST(BindCorpus, DecimationKeepsTheSurfaceWhole) {
  for (const char* name : {"tube", "hand"}) {
    if (test::kSanitized && std::string(name) != "tube") continue;  // makes it for seconds
    const Subject subject = make_subject(name);
    const test::DecimatedMesh coarse = test::decimate(subject.mesh.view(), 200);
    EXPECT_EQ(coarse.triangles.size(), 200u) << name;
    const MeshView view{coarse.positions, coarse.triangles};
    EXPECT_TRUE(inspect_topology(view).watertight()) << name;
    EXPECT_EQ(inspect_topology(view).non_manifold_vertices, 0u) << name;
    // Nothing is lost: all of the old surface is near the new one.
    const SurfaceQuery query(view);
    for (const Vec3f& p : subject.mesh.positions) EXPECT_TRUE(query.nearest(p, 0.03f)) << name;
  }
}

// --- Limbs ---

/// Joints that belong to one limb, by name.
using Limb = std::vector<std::string>;

std::vector<int> strongest_joints(const SkinWeights& weights) {
  std::vector<int> strongest;
  for (std::size_t v = 0; v < weights.rows(); ++v)
    strongest.push_back(static_cast<int>(weights.row_joints(v)[0]));
  return strongest;
}

using Neighbours = std::vector<std::vector<std::uint32_t>>;

/// Each neighbour once per triangle.
Neighbours neighbours_in(const MeshView& mesh) {
  Neighbours neighbours(mesh.positions.size());
  for (const Triangle& t : mesh.triangles)
    for (std::size_t k = 0; k < 3; ++k) {
      neighbours[t[k]].push_back(t[(k + 1) % 3]);
      neighbours[t[k]].push_back(t[(k + 2) % 3]);
    }
  return neighbours;
}

/// Lengths of the shortest ways along edges from the nearest of the vertices `from`.
std::vector<double> distances_along_edges(const MeshView& mesh, const Neighbours& neighbours,
                                          const std::vector<bool>& from) {
  std::vector<double> distances(mesh.positions.size(), std::numeric_limits<double>::infinity());
  using Reached = std::pair<double, std::uint32_t>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  for (std::uint32_t v = 0; v < from.size(); ++v)
    if (from[v]) queue.emplace(distances[v] = 0, v);
  while (!queue.empty()) {
    const auto [distance, v] = queue.top();
    queue.pop();
    if (distance > distances[v]) continue;
    for (const std::uint32_t w : neighbours[v]) {
      const double through = distance + static_cast<double>((mesh.positions[v] - mesh.positions[w]).norm());
      if (through < distances[w]) queue.emplace(distances[w] = through, w);
    }
  }
  return distances;
}

struct LimbCheck {
  std::size_t checked = 0;  ///< pairs of a vertex and a limb that it must not follow
  std::vector<std::string> faults;
};

/// Vertices of one limb, by the model's own weights, must not follow another limb's joints, unless they are
/// within `reach` radii of that limb on the surface.
LimbCheck check_limbs(const Subject& subject, const SkinWeights& weights, const std::vector<Limb>& limbs,
                      double reach) {
  const std::vector<int> strongest = strongest_joints(subject.own);
  const std::size_t vertices = strongest.size();
  const Neighbours neighbours = neighbours_in(subject.mesh.view());
  std::vector<std::set<int>> joints;
  std::vector<std::vector<bool>> members;
  std::vector<std::vector<double>> distances;
  std::vector<double> radii;
  const std::vector<Bone> bones = bones_in(subject, subject.mesh.view());
  for (const Limb& limb : limbs) {
    std::set<int>& own = joints.emplace_back();
    for (const std::string& name : limb) own.insert(subject.skeleton.find(name));
    std::vector<bool>& inside = members.emplace_back(vertices);
    double sum = 0, count = 0;
    for (std::size_t v = 0; v < vertices; ++v) {
      inside[v] = own.contains(strongest[v]);
      if (!inside[v]) continue;
      double nearest = std::numeric_limits<double>::infinity();
      const Vec3d p = subject.mesh.positions[v].cast<double>();
      for (const Bone& bone : bones) {
        if (!own.contains(bone.joint)) continue;
        const Vec3d along = bone.tail - bone.head;
        const double t = std::clamp(along.dot(p - bone.head) / along.squaredNorm(), 0.0, 1.0);
        nearest = std::min(nearest, (p - bone.head - t * along).norm());
      }
      sum += nearest;
      ++count;
    }
    radii.push_back(sum / count);
    distances.push_back(distances_along_edges(subject.mesh.view(), neighbours, inside));
  }
  LimbCheck result;
  for (std::size_t a = 0; a < limbs.size(); ++a)
    for (std::size_t b = 0; b < limbs.size(); ++b) {
      const bool overlap = std::any_of(joints[a].begin(), joints[a].end(),
                                       [&](int joint) { return joints[b].contains(joint); });
      if (overlap) continue;
      for (std::size_t v = 0; v < vertices; ++v) {
        if (!members[a][v] || distances[b][v] <= reach * std::max(radii[a], radii[b])) continue;
        ++result.checked;
        for (const int joint : joints[b])
          if (const float weight = test::weight_of(weights, v, joint); weight > 0)
            result.faults.push_back(fmt::format("vertex {} of {} has {} of {}, {} radii away", v, limbs[a][0],
                                                weight, subject.skeleton.joints[to_size(joint)].name,
                                                distances[b][v] / std::max(radii[a], radii[b])));
      }
    }
  return result;
}

/// Joints 1 to 3 of each finger; 0 lies in the palm.
void add_fingers(std::vector<Limb>& limbs, const std::string& side) {
  for (const char* finger : {"thumb", "index", "middle", "ring", "little"}) {
    Limb& limb = limbs.emplace_back();
    for (int k = 1; k < 4; ++k) limb.push_back(fmt::format("{}_{}{}", finger, k, side));
  }
}

std::vector<Limb> limbs_of(std::string_view model) {
  std::vector<Limb> limbs;
  if (model == "hand") add_fingers(limbs, "");
  if (model == "mannequin") {
    limbs = {{"head", "jaw"}, {"hips", "spine", "waist"}};
    for (const std::string side : {".L", ".R"}) {
      limbs.push_back({"shin" + side, "thigh" + side, "foot" + side, "toes" + side});
      Limb arm{"lower_arm" + side, "wrist" + side};
      std::vector<Limb> fingers;
      add_fingers(fingers, side);
      for (const Limb& finger : fingers) {
        arm.insert(arm.end(), finger.begin(), finger.end());
        limbs.push_back(finger);
      }
      limbs.push_back(arm);
    }
  }
  if (model == "cat") {
    limbs = {{"head", "jaw", "ear.L", "ear.R"}, {"spine_1", "spine_2", "spine_3"}, {}};
    for (int k = 2; k <= 8; ++k) limbs.back().push_back(fmt::format("tail_{}", k));
    for (const std::string side : {".L", ".R"}) {
      limbs.push_back({"lower_arm" + side, "paw" + side, "toes" + side});
      limbs.push_back({"shin" + side, "metatarsus" + side, "foot" + side});
    }
  }
  return limbs;
}

void expect_limbs_apart(const char* model, double reach, double most_difference) {
  const Subject subject = make_subject(model);
  const std::vector<Bone> bones = bones_in(subject, subject.mesh.view());
  BindReport report;
  const SkinWeights weights = bind_surface(subject.mesh.view(), bones, {}, &report);
  EXPECT_EQ(report.unused_joints, std::vector<int>{}) << model;
  const LimbCheck check = check_limbs(subject, weights, limbs_of(model), reach);
  EXPECT_GT(check.checked, subject.mesh.positions.size()) << model;
  EXPECT_TRUE(check.faults.empty()) << model << ": " << check.faults.size() << " of " << check.checked
                                    << ", the first: " << check.faults[0];
  // And each vertex is bound about as the model's maker did it.
  double sum = 0;
  for (std::size_t v = 0; v < weights.rows(); ++v) sum += test::total_variation(weights, v, subject.own, v);
  EXPECT_LT(sum / static_cast<double>(weights.rows()), most_difference) << model;
}

TEST(BindLimbs, FingersOfTheHandStayApart) {
  expect_limbs_apart("hand", 3, 0.1);
}

TEST(BindLimbs, LimbsOfTheMannequinStayApart) {
  if (test::kSanitized) GTEST_SKIP() << "takes minutes here; the hand runs the same code";
  expect_limbs_apart("mannequin", 4, 0.17);
}

TEST(BindLimbs, LegsOfTheCatStayApart) {
  if (test::kSanitized) GTEST_SKIP() << "takes minutes here; the hand runs the same code";
  expect_limbs_apart("cat", 3, 0.17);
}

TEST(BindLimbs, TheCheckFindsBleeding) {
  if (test::kSanitized) return;  // makes the hand for seconds
  const Subject subject = make_subject("hand");
  SkinWeights weights = subject.own;
  const LimbCheck clean = check_limbs(subject, weights, limbs_of("hand"), 3);
  const int from = subject.skeleton.find("index_3"), to = subject.skeleton.find("middle_3");
  const std::vector<int> strongest = strongest_joints(weights);
  const auto v = to_size(std::find(strongest.begin(), strongest.end(), from) - strongest.begin());
  weights.joints[weights.starts[v]] = static_cast<std::uint32_t>(to);
  EXPECT_EQ(check_limbs(subject, weights, limbs_of("hand"), 3).faults.size(), clean.faults.size() + 1);
}

/// Two upright tubes of radius 0.1 and height 1. Their bones stand off the axes by `shift`, both to the same
/// side; those of the first end at height `top`.
void expect_tubes_apart(float gap, double shift, double top) {
  const float radius = 0.1f;
  const Mesh tube = test::make_tube(16, 20, radius, 1, true);
  const Mesh tubes = test::join(tube, test::moved(tube, {2 * radius + gap, 0, 0}));
  const double other = 2 * radius + gap + shift;
  const std::vector<Bone> bones{{0, 1, {shift, 0.05, 0}, {shift, 0.5 * top, 0}},
                                {1, -1, {shift, 0.5 * top, 0}, {shift, top, 0}},
                                {2, 3, {other, 0.05, 0}, {other, 0.5, 0}},
                                {3, -1, {other, 0.5, 0}, {other, 0.95, 0}}};
  const SkinWeights weights = bind_surface(tubes.view(), bones);
  ASSERT_EQ(test::weights_fault(weights, tubes.positions.size(), bones, {}), "");
  for (std::size_t v = 0; v < weights.rows(); ++v)
    for (const std::uint32_t joint : weights.row_joints(v))
      EXPECT_EQ(joint / 2, v < weights.rows() / 2 ? 0u : 1u)
          << "vertex " << v << ", gap " << gap << ", shift " << shift << ", top " << top;
}

TEST(BindLimbs, TubesThatAlmostTouchStayApart) {
  expect_tubes_apart(1e-4f, 0, 0.95);
  // Now one tube's bone is nearer to the other tube than that one's own, but behind both walls.
  expect_tubes_apart(1e-4f, 0.06, 0.95);
  expect_tubes_apart(1e-4f, -0.06, 0.95);
  // And now to all of the other tube's upper half, but only through the air.
  expect_tubes_apart(0.25f, 0, 0.45);
}

}  // namespace
}  // namespace sinew
