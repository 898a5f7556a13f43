#include <sinew/effects/volume_keeper.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "tests/reference/volume.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

std::vector<Vec3d> positions_of(const Mesh& mesh) {
  std::vector<Vec3d> positions;
  for (const Vec3f& p : mesh.positions) positions.push_back(p.cast<double>());
  return positions;
}

double volume_of(const VolumeKeeper& keeper, const std::vector<Vec3d>& positions, std::uint32_t part) {
  std::vector<Vec3d> points = positions;
  points.resize(keeper.cells().point_count(), Vec3d::Zero());
  keeper.cells().place_fans(points);
  std::vector<Triangle> triangles;
  const ClosedSurface& surface = keeper.cells().surface();
  for (std::size_t t = 0; t < surface.triangles.size(); ++t)
    if (surface.part[t] == part) triangles.push_back(surface.triangles[t]);
  return reference::signed_volume(points, triangles);
}

/// What a keeper is asked for, with memory of its own.
struct Demand {
  std::vector<Vec3d> anchors;
  std::vector<VolumeFrame> frames;
  std::vector<VolumeShares> shares;
  std::vector<double> strengths, target_volumes, limits, scales;
  std::vector<float> free_motion;
  double tolerance = 0;

  Demand(const VolumeKeeper& keeper, const std::vector<Vec3d>& at)
      : anchors(at),
        frames(at.size()),
        shares(at.size(), VolumeShares{0.2, 0.3, 0.5}),
        strengths(at.size(), 1.0),
        target_volumes(keeper.rest_volumes().begin(), keeper.rest_volumes().end()) {
    for (std::size_t a = 0; a < at.size(); ++a) frames[a].origin = at[a];
  }
  VolumeDemand view() const {
    VolumeDemand demand;
    demand.anchors = anchors;
    demand.frames = frames;
    demand.shares = shares;
    demand.strengths = strengths;
    demand.target_volumes = target_volumes;
    demand.free_motion = free_motion;
    demand.limits = limits;
    demand.scales = scales;
    demand.tolerance = tolerance;
    return demand;
  }
};

template <class Vec>
std::vector<Vec> kept(const VolumeKeeper& keeper, const Demand& demand, std::vector<Vec> positions) {
  VolumeScratch scratch = keeper.make_scratch();
  keeper.keep(demand.view(), scratch, positions);
  return positions;
}

Affine3d turn_about(const Vec3d& point, double angle, const Vec3d& axis) {
  return Eigen::Translation3d(point) * Eigen::AngleAxisd(angle, axis) * Eigen::Translation3d(-point);
}

/// A tube along y with five joints, which hold the skin from halfway to the one before to halfway to the one
/// behind; each may move what is within 0.3 of it. It bends by linear blending.
struct Limb {
  static constexpr int kJoints = 5;
  Mesh mesh;
  std::vector<Vec3d> rest, anchors;
  std::vector<std::uint32_t> anchor_of_vertex;
  std::vector<std::vector<VolumePatch::Vertex>> freedoms{kJoints};
  std::vector<int> parents{-1, 0, 1, 2, 3};

  explicit Limb(bool closed = true) : mesh(test::make_tube(10, 50, 0.15f, 2.5f, closed)) {
    for (int j = 0; j < kJoints; ++j) anchors.emplace_back(0, 0.25 + 0.5 * j, 0);
    rest = positions_of(mesh);
    for (std::uint32_t v = 0; v < rest.size(); ++v) {
      anchor_of_vertex.push_back(std::min(4u, static_cast<std::uint32_t>(rest[v].y() / 0.5)));
      for (std::size_t j = 0; j < kJoints; ++j) {
        const double away = std::abs(rest[v].y() - anchors[j].y()) / 0.3;
        if (away < 1) freedoms[j].push_back({v, 0.01 + (1 - away) * (1 - away) * (1 + 2 * away)});
      }
    }
  }
  VolumeKeeper keeper() const { return {mesh.view(), anchor_of_vertex, anchors, freedoms, parents}; }

  /// The tube bent by an angle at each of its joints.
  std::vector<Vec3d> bent(const std::vector<double>& angles) const {
    std::vector<Vec3d> posed = rest;
    for (std::size_t j = kJoints; j-- > 0;) {
      const Affine3d turn = turn_about(anchors[j], angles[j], axis(j));
      for (std::size_t v = 0; v < posed.size(); ++v) {
        const double weight = std::clamp(0.5 + (rest[v].y() - anchors[j].y()) / 0.4, 0.0, 1.0);
        posed[v] = (1 - weight) * posed[v] + weight * (turn * posed[v]);
      }
    }
    return posed;
  }
  std::vector<Vec3d> bent_anchors(const std::vector<double>& angles) const {
    std::vector<Vec3d> posed = anchors;
    for (std::size_t j = kJoints; j-- > 0;)
      for (std::size_t k = j + 1; k < kJoints; ++k)
        posed[k] = turn_about(anchors[j], angles[j], axis(j)) * posed[k];
    return posed;
  }
  Demand demand(const VolumeKeeper& keeper, const std::vector<double>& angles) const {
    Demand result(keeper, bent_anchors(angles));
    Mat3d turn = Mat3d::Identity();
    for (std::size_t j = 0; j < kJoints; ++j) {
      turn = turn * Eigen::AngleAxisd(angles[j], axis(j)).toRotationMatrix();
      result.frames[j].axes = turn;
    }
    return result;
  }
  static Vec3d axis(std::size_t j) { return j % 2 == 0 ? Vec3d(0, 0, 1) : Vec3d(1, 0, 0); }
};

const std::vector<double> kBent{0.4, 1.2, -0.9, 1.5, 0.8};

TEST(VolumeKeeper, KeepsTheVolumeWhileManyJointsBend) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const double rest = reference::signed_volume(limb.rest, limb.mesh.triangles);
  for (const double times : {-1.0, 0.1, 0.5, 1.0, 1.3}) {
    std::vector<double> angles = kBent;
    for (double& angle : angles) angle *= times;
    const std::vector<Vec3d> posed = limb.bent(angles);
    const Demand demand = limb.demand(keeper, angles);
    EXPECT_GT(std::abs(volume_of(keeper, posed, 0) - rest), 1e-4 * times * times * rest);
    EXPECT_NEAR(volume_of(keeper, kept(keeper, demand, posed), 0), rest, 1e-12 * rest);
    std::vector<Vec3f> floats;
    for (const Vec3d& p : posed) floats.push_back(p.cast<float>());
    std::vector<Vec3d> back;
    for (const Vec3f& p : kept(keeper, demand, floats)) back.push_back(p.cast<double>());
    EXPECT_NEAR(volume_of(keeper, back, 0), rest, 1e-6 * rest);
  }
}

/// Any surface with any anchors, any freedoms and any deformation.
struct Wild {
  Mesh mesh;
  std::vector<Vec3d> anchors, posed;
  std::vector<std::uint32_t> anchor_of_vertex;
  std::vector<std::vector<VolumePatch::Vertex>> freedoms;
  std::vector<int> parents;

  explicit Wild(std::uint32_t seed) {
    const Mesh sphere = test::make_icosphere(2), torus = test::make_torus(12, 7, 1, 0.4f);
    const Mesh tube = test::make_tube(8, 10, 0.4f, 2);
    const std::vector<Mesh> meshes{sphere, torus, tube, test::join(torus, tube),
                                   test::join(sphere, test::join(torus, sphere))};
    mesh = meshes[seed % meshes.size()];
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    const auto anywhere = [&](double size) {
      return Vec3d(size * unit(random), size * unit(random), size * unit(random));
    };
    const std::size_t count = 1 + random() % 7;
    freedoms.resize(count);
    for (std::size_t a = 0; a < count; ++a) {
      anchors.push_back(anywhere(1));
      parents.push_back(static_cast<int>(random() % (a + 1)) - 1);
    }
    for (std::uint32_t v = 0; v < mesh.positions.size(); ++v) {
      const Vec3d p = mesh.positions[v].cast<double>();
      std::uint32_t best = 0;
      for (std::uint32_t a = 0; a < count; ++a) {
        if ((anchors[a] - p).norm() < (anchors[best] - p).norm()) best = a;
        if ((anchors[a] - p).norm() < 1.2 && random() % 8 != 0)
          freedoms[a].push_back({v, 0.1 + std::abs(unit(random))});
      }
      anchor_of_vertex.push_back(random() % 20 == 0 ? static_cast<std::uint32_t>(random() % count) : best);
      posed.push_back(p + anywhere(0.04));
    }
  }
  VolumeKeeper keeper() const { return {mesh.view(), anchor_of_vertex, anchors, freedoms, parents}; }
  Demand demand(const VolumeKeeper& keeper, std::uint32_t seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    std::vector<Vec3d> moved = anchors;
    for (Vec3d& a : moved) a += 0.05 * Vec3d(unit(random), unit(random), unit(random));
    Demand result(keeper, moved);
    for (VolumeFrame& frame : result.frames)
      frame.axes =
          Quatd(unit(random), unit(random), unit(random), unit(random)).normalized().toRotationMatrix();
    return result;
  }
  double rest_volume(const VolumeKeeper& keeper, std::uint32_t part) const {
    return volume_of(keeper, positions_of(mesh), part);
  }
};

/// Whether anything of a part can move.
bool is_free(const VolumeKeeper& keeper, std::uint32_t part) {
  for (std::size_t c = 0; c < keeper.cells().cells().size(); ++c)
    if (keeper.cells().cells()[c].part == part && !keeper.patch(c).vertices().empty()) return true;
  return false;
}

const std::uint32_t kSeeds = test::kSanitized ? 15 : 60;

TEST(VolumeKeeper, KeepsTheVolumeOfEveryPartOfAnySurface) {
  int kept_parts = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper keeper = wild.keeper();
    const std::vector<Vec3d> positions = kept(keeper, wild.demand(keeper, seed), wild.posed);
    for (std::uint32_t part = 0; part < keeper.cells().part_count(); ++part) {
      if (!is_free(keeper, part)) continue;
      ++kept_parts;
      const double rest = wild.rest_volume(keeper, part);
      EXPECT_NEAR(volume_of(keeper, positions, part), rest, 1e-12 * std::abs(rest))
          << "seed " << seed << ", part " << part;
    }
  }
  EXPECT_GE(kept_parts, static_cast<int>(kSeeds));
}

TEST(VolumeKeeper, IsThePatchesOneAfterTheOther) {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < kSeeds / 3; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper keeper = wild.keeper();
    const Demand demand = wild.demand(keeper, seed);
    const ClosedSurface& surface = keeper.cells().surface();
    const std::span<const VolumeCells::Cell> cells = keeper.cells().cells();
    const auto losses_of = [&] {
      const std::vector<reference::CellVolume> now =
          reference::cell_volumes(surface, wild.anchor_of_vertex, wild.posed, demand.anchors);
      std::vector<double> losses;
      for (std::size_t c = 0; c < now.size(); ++c)
        losses.push_back(now[c].prisms + now[c].bridges - keeper.rest_volumes()[c]);
      return losses;
    };
    std::vector<double> losses = losses_of();
    reference::settle_losses(surface.triangles, keeper.cells().cell_of_vertex(), losses);
    // This surface's cells that cannot pay are the other test's matter.
    bool all_pay = true;
    for (std::size_t c = 0; c < cells.size(); ++c) all_pay &= !keeper.patch(c).vertices().empty();
    if (!all_pay) continue;
    ++compared;
    std::vector<Vec3d> rest = positions_of(wild.mesh), expected = wild.posed;
    rest.resize(keeper.cells().point_count());
    expected.resize(keeper.cells().point_count());
    keeper.cells().place_fans(rest);
    keeper.cells().place_fans(expected);
    const std::vector<double> areas = reference::vertex_areas(rest, surface.triangles);
    for (const std::vector<std::uint32_t>& round : keeper.rounds())
      for (const std::uint32_t c : round) {
        std::vector<VolumePatch::Vertex> vertices;
        for (const VolumePatch::Vertex& v : wild.freedoms[cells[c].anchor])
          if (std::ranges::count(keeper.patch(c).vertices(), v.vertex) > 0) vertices.push_back(v);
        reference::restore_volume(surface.triangles, areas, vertices, losses[c],
                                  demand.frames[cells[c].anchor], demand.shares[cells[c].anchor], {},
                                  expected);
      }
    const std::vector<Vec3d> positions = kept(keeper, demand, wild.posed);
    for (std::size_t v = 0; v < positions.size(); ++v)
      ASSERT_LT((positions[v] - expected[v]).norm(), 1e-10) << "seed " << seed << ", vertex " << v;
  }
  EXPECT_GE(compared, 4);
}

TEST(VolumeKeeper, PatchesHaveTheFreeVerticesOfTheirPart) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper keeper = wild.keeper();
    std::set<std::uint32_t> border;
    for (const std::vector<std::uint32_t>& vertices : keeper.cells().surface().borders)
      border.insert(vertices.begin(), vertices.end());
    for (std::size_t c = 0; c < keeper.cells().cells().size(); ++c) {
      const VolumeCells::Cell cell = keeper.cells().cells()[c];
      std::vector<std::uint32_t> expected;
      for (const VolumePatch::Vertex& v : wild.freedoms[cell.anchor])
        if (!border.contains(v.vertex) &&
            keeper.cells().cells()[keeper.cells().cell_of_vertex()[v.vertex]].part == cell.part)
          expected.push_back(v.vertex);
      EXPECT_TRUE(std::ranges::is_permutation(keeper.patch(c).vertices(), expected)) << "seed " << seed;
    }
  }
}

TEST(VolumeKeeper, PatchesOfARoundShareNoTriangle) {
  std::size_t together = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper keeper = wild.keeper();
    std::multiset<std::uint32_t> seen;
    for (const std::vector<std::uint32_t>& round : keeper.rounds()) {
      EXPECT_FALSE(round.empty());
      together += round.size() > 1;
      seen.insert(round.begin(), round.end());
      std::vector<std::set<std::uint32_t>> moving;
      for (const std::uint32_t c : round)
        moving.emplace_back(keeper.patch(c).vertices().begin(), keeper.patch(c).vertices().end());
      for (const Triangle& f : keeper.cells().surface().triangles) {
        int patches = 0;
        for (const std::set<std::uint32_t>& vertices : moving)
          patches += vertices.contains(f[0]) || vertices.contains(f[1]) || vertices.contains(f[2]);
        ASSERT_LE(patches, 1) << "seed " << seed;
      }
    }
    std::multiset<std::uint32_t> expected;
    for (std::uint32_t c = 0; c < keeper.cells().cells().size(); ++c)
      if (!keeper.patch(c).vertices().empty()) expected.insert(c);
    EXPECT_EQ(seen, expected) << "seed " << seed;
  }
  EXPECT_GT(together, 5u) << "hardly any patches act together";
  // Along a limb every other one may act at the same time.
  EXPECT_EQ(Limb().keeper().rounds().size(), 2u);
  // Patches of all vertices have nothing round them, and share everything.
  Limb all;
  for (std::vector<VolumePatch::Vertex>& free : all.freedoms) {
    free.clear();
    for (std::uint32_t v = 0; v < all.rest.size(); ++v) free.push_back({v, 1.0});
  }
  EXPECT_EQ(all.keeper().rounds().size(), 5u);
}

TEST(VolumeKeeper, EachJointPaysForItself) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  // Only the last joint bends, or only the skin near the middle one is crushed.
  const std::vector<double> angles{0, 0, 0, 0, 1.4};
  std::vector<Vec3d> posed = limb.bent(angles);
  Demand demand = limb.demand(keeper, angles);
  demand.tolerance = 1e-9;
  std::vector<Vec3d> positions = kept(keeper, demand, posed);
  EXPECT_NEAR(volume_of(keeper, positions, 0), volume_of(keeper, limb.rest, 0), 1e-14);
  for (std::size_t v = 0; v < posed.size(); ++v)
    if (limb.rest[v].y() < 1.94) {
      EXPECT_EQ(positions[v], posed[v]) << v;
    }

  posed = limb.rest;
  for (Vec3d& p : posed)
    if (std::abs(p.y() - 1.25) < 0.12) p.x() *= 0.5;
  demand = limb.demand(keeper, {0, 0, 0, 0, 0});
  demand.tolerance = 1e-9;
  positions = kept(keeper, demand, posed);
  std::size_t moved = 0;
  for (std::size_t v = 0; v < posed.size(); ++v) {
    if (std::abs(limb.rest[v].y() - 1.25) >= 0.3) {
      EXPECT_EQ(positions[v], posed[v]) << v;
    }
    moved += positions[v] != posed[v];
  }
  EXPECT_GT(moved, 50u);
}

TEST(VolumeKeeper, MovesWithTheWorld) {
  const Mat3d turn = Eigen::AngleAxisd(2.2, Vec3d(1, 3, -2).normalized()).toRotationMatrix();
  const Vec3d shift(-2, 5, 1);
  const auto compare = [&](const VolumeKeeper& keeper, const Demand& demand,
                           const std::vector<Vec3d>& posed) {
    const std::vector<Vec3d> here = kept(keeper, demand, posed);
    Demand there_demand = demand;
    for (Vec3d& a : there_demand.anchors) a = turn * a + shift;
    for (VolumeFrame& frame : there_demand.frames) frame = {turn * frame.origin + shift, turn * frame.axes};
    std::vector<Vec3d> there = posed;
    for (Vec3d& p : there) p = turn * p + shift;
    there = kept(keeper, there_demand, there);
    for (std::size_t v = 0; v < here.size(); ++v)
      ASSERT_LT((there[v] - (turn * here[v] + shift)).norm(), 1e-11) << v;
  };
  const Limb limb;
  const VolumeKeeper of_limb = limb.keeper();
  compare(of_limb, limb.demand(of_limb, kBent), limb.bent(kBent));
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper keeper = wild.keeper();
    compare(keeper, wild.demand(keeper, seed), wild.posed);
  }
}

TEST(VolumeKeeper, LeavesSkinAloneThatKeptItsVolume) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper keeper = wild.keeper();
    Demand demand(keeper, wild.anchors);
    const std::vector<Vec3d> rest = positions_of(wild.mesh);
    const std::vector<Vec3d> positions = kept(keeper, demand, rest);
    for (std::size_t v = 0; v < rest.size(); ++v) EXPECT_LT((positions[v] - rest[v]).norm(), 1e-12);
    // Carried elsewhere, as floats.
    demand.tolerance = 1e-6;
    const Affine3d motion = turn_about({1, 2, 3}, 0.7, Vec3d(1, 1, 2).normalized());
    for (Vec3d& a : demand.anchors) a = motion * a;
    std::vector<Vec3f> floats;
    for (const Vec3d& p : rest) floats.push_back((motion * p).cast<float>());
    EXPECT_EQ(kept(keeper, demand, floats), floats);
    demand = Demand(keeper, wild.anchors);
    demand.tolerance = 1e-9;
    EXPECT_EQ(kept(keeper, demand, wild.mesh.positions), wild.mesh.positions);
  }
}

TEST(VolumeKeeper, LetsLossesBelowTheToleranceBe) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const double volume = volume_of(keeper, limb.rest, 0);
  std::vector<Vec3d> posed = limb.rest;
  for (Vec3d& p : posed)
    if (std::abs(p.y() - 1.25) < 0.12) p.x() *= 0.9;
  const double lost = (volume - volume_of(keeper, posed, 0)) / volume;
  ASSERT_GT(lost, 1e-3);
  Demand demand(keeper, limb.anchors);
  demand.tolerance = 1.01 * lost;
  EXPECT_EQ(kept(keeper, demand, posed), posed);
  demand.tolerance = 0.99 * lost;
  EXPECT_NEAR(volume_of(keeper, kept(keeper, demand, posed), 0), volume, 1e-12 * volume);
}

TEST(VolumeKeeper, FollowsTheDeformationWithoutJumps) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  std::vector<Vec3d> before_posed, before;
  for (double angle = -0.5; angle <= 1.5; angle += test::kSanitized ? 0.05 : 0.01) {
    const std::vector<double> angles{0, angle, -angle, 0, 0.5 * angle};
    const std::vector<Vec3d> posed = limb.bent(angles);
    const std::vector<Vec3d> positions = kept(keeper, limb.demand(keeper, angles), posed);
    double step_in = 0, step_out = 0;
    for (std::size_t v = 0; v < before.size(); ++v) {
      step_in = std::max(step_in, (posed[v] - before_posed[v]).norm());
      step_out = std::max(step_out, ((positions[v] - posed[v]) - (before[v] - before_posed[v])).norm());
    }
    EXPECT_LE(step_out, 0.5 * step_in) << angle;
    before_posed = posed, before = positions;
  }
}

TEST(VolumeKeeper, RestoresAsMuchAsIsAsked) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const std::vector<Vec3d> posed = limb.bent(kBent);
  const double rest = volume_of(keeper, limb.rest, 0), lost = volume_of(keeper, posed, 0) - rest;
  Demand demand = limb.demand(keeper, kBent);
  for (const double strength : {0.0, 0.5, 1.5}) {
    demand.strengths.assign(Limb::kJoints, strength);
    EXPECT_NEAR(volume_of(keeper, kept(keeper, demand, posed), 0), rest + (1 - strength) * lost,
                1e-12 * rest);
  }
  // One joint alone.
  std::vector<double> volumes(5);
  keeper.cells().measure(posed, demand.anchors, volumes);
  demand.strengths = {0, 0.5, 0, 1, 0};
  const double restored =
      0.5 * (volumes[1] - demand.target_volumes[1]) + (volumes[3] - demand.target_volumes[3]);
  EXPECT_NEAR(volume_of(keeper, kept(keeper, demand, posed), 0), rest + lost - restored, 1e-12 * rest);
}

TEST(VolumeKeeper, KeepsWhateverVolumeIsWanted) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  std::vector<Vec3f> fat;
  std::vector<Vec3d> fat_doubles;
  for (const Vec3f& p : limb.mesh.positions) {
    fat.emplace_back(1.2f * p.x(), p.y(), 1.1f * p.z());
    fat_doubles.push_back(fat.back().cast<double>());
  }
  Demand demand = limb.demand(keeper, kBent);
  VolumeScratch scratch = keeper.make_scratch();
  keeper.measure(fat, limb.anchors, scratch, demand.target_volumes);
  const std::vector<Vec3d> posed = limb.bent(kBent);
  const double expected = volume_of(keeper, fat_doubles, 0);
  EXPECT_NEAR(volume_of(keeper, kept(keeper, demand, posed), 0), expected, 1e-12 * expected);
  keeper.measure(limb.mesh.positions, limb.anchors, scratch, demand.target_volumes);
  EXPECT_TRUE(std::ranges::equal(demand.target_volumes, keeper.rest_volumes()));
}

/// Which joints' surroundings move, when only the skin round one joint is crushed.
std::set<int> movers(const Limb& limb, const VolumeKeeper& keeper, double crushed) {
  std::vector<Vec3d> posed = limb.rest;
  for (Vec3d& p : posed)
    if (std::abs(p.y() - crushed) < 0.12) p.x() *= 0.6;
  Demand demand(keeper, limb.anchors);
  demand.tolerance = 1e-9;
  const std::vector<Vec3d> positions = kept(keeper, demand, posed);
  const double rest = volume_of(keeper, limb.rest, 0);
  EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest);
  std::set<int> joints;
  for (std::size_t v = 0; v < posed.size(); ++v)
    for (std::size_t j = 0; j < Limb::kJoints; ++j)
      if (positions[v] != posed[v] && std::abs(limb.rest[v].y() - limb.anchors[j].y()) < 0.19)
        joints.insert(static_cast<int>(j));
  return joints;
}

TEST(VolumeKeeper, ParentsPayForJointsWithoutFreedom) {
  Limb limb;
  EXPECT_EQ(movers(limb, limb.keeper(), 1.75), std::set<int>{3});
  limb.freedoms[3].clear();
  EXPECT_EQ(movers(limb, limb.keeper(), 1.75), std::set<int>{2});
  limb.freedoms[2].clear();
  EXPECT_EQ(movers(limb, limb.keeper(), 1.75), std::set<int>{1});
  // Parents need not be next to it.
  limb.parents = {-1, 0, 4, 2, -1};
  EXPECT_EQ(movers(limb, limb.keeper(), 1.75), std::set<int>{4});
}

TEST(VolumeKeeper, WithoutParentsTheFreestPays) {
  Limb limb;
  limb.freedoms[3].clear();
  limb.parents = {-1, -1, -1, -1, -1};
  for (VolumePatch::Vertex& v : limb.freedoms[1]) v.freedom *= 2;
  EXPECT_EQ(movers(limb, limb.keeper(), 1.75), std::set<int>{1});
  for (VolumePatch::Vertex& v : limb.freedoms[4]) v.freedom *= 3;
  EXPECT_EQ(movers(limb, limb.keeper(), 1.75), std::set<int>{4});
  // Parents in a ring end somewhere, too.
  limb.parents = {-1, -1, 3, 2, -1};
  limb.freedoms[2].clear();
  EXPECT_EQ(movers(limb, limb.keeper(), 1.75), std::set<int>{4});
}

TEST(VolumeKeeper, FreedomThatCanDoNothingIsNone) {
  // A joint's skin shrinks to a point, and with it what it may move.
  Limb limb;
  limb.freedoms[3].clear();
  for (std::uint32_t v = 0; v < limb.rest.size(); ++v) {
    const double away = std::abs(limb.rest[v].y() - 1.75);
    if (away < 0.16) limb.rest[v] = limb.anchors[3];
    if (away < 0.08) limb.freedoms[3].push_back({v, 1.0});
    limb.mesh.positions[v] = limb.rest[v].cast<float>();
  }
  const VolumeKeeper keeper = limb.keeper();
  ASSERT_EQ(keeper.patch(3).vertices().size(), 30u);
  EXPECT_EQ(keeper.patch(3).ability(limb.rest, {}).strength, 0);
  std::vector<Vec3d> posed = limb.rest;
  for (Vec3d& p : posed)
    if (std::abs(p.y() - 1.55) < 0.02) p.x() *= 0.5;
  const std::vector<Vec3d> positions = kept(keeper, Demand(keeper, limb.anchors), posed);
  const double rest = volume_of(keeper, limb.rest, 0);
  EXPECT_GT(rest - volume_of(keeper, posed, 0), 1e-3 * rest);
  EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest);
  for (const VolumePatch::Vertex& v : limb.freedoms[3]) EXPECT_EQ(positions[v.vertex], posed[v.vertex]);
}

TEST(VolumeKeeper, LeavesPartsWithoutFreedomAlone) {
  const Mesh first = test::make_icosphere(2), second = test::moved(first, {3, 0, 0});
  const Mesh mesh = test::join(first, second);
  const auto half = static_cast<std::uint32_t>(first.positions.size());
  const std::vector<std::uint32_t> anchor_of_vertex(2 * half, 0);
  const std::vector<Vec3d> anchors{{0, 0, 0}};
  const std::vector<int> parents{-1};
  std::vector<std::vector<VolumePatch::Vertex>> freedoms(1);
  for (std::uint32_t v = half; v < 2 * half; ++v) freedoms[0].push_back({v, 1.0});
  const VolumeKeeper keeper(mesh.view(), anchor_of_vertex, anchors, freedoms, parents);
  EXPECT_TRUE(keeper.can_act());
  std::vector<Vec3d> posed = positions_of(mesh);
  for (Vec3d& p : posed) p.y() *= 0.9;
  const std::vector<Vec3d> positions = kept(keeper, Demand(keeper, anchors), posed);
  for (std::size_t v = 0; v < half; ++v) EXPECT_EQ(positions[v], posed[v]);
  const double rest = volume_of(keeper, positions_of(mesh), 1);
  EXPECT_NEAR(volume_of(keeper, positions, 1), rest, 1e-12 * rest);

  freedoms[0].clear();
  const VolumeKeeper idle(mesh.view(), anchor_of_vertex, anchors, freedoms, parents);
  EXPECT_FALSE(idle.can_act());
  EXPECT_TRUE(idle.rounds().empty());
  EXPECT_EQ(kept(idle, Demand(idle, anchors), posed), posed);
}

TEST(VolumeKeeper, NeverMovesBorders) {
  Limb limb(false);
  for (std::size_t j = 0; j < Limb::kJoints; ++j) {
    limb.freedoms[j].clear();
    for (std::uint32_t v = 0; v < limb.rest.size(); ++v) limb.freedoms[j].push_back({v, 1.0});
  }
  const VolumeKeeper keeper = limb.keeper();
  ASSERT_EQ(keeper.cells().surface().borders.size(), 2u);
  const std::vector<Vec3d> posed = limb.bent(kBent);
  const std::vector<Vec3d> positions = kept(keeper, limb.demand(keeper, kBent), posed);
  for (const std::vector<std::uint32_t>& border : keeper.cells().surface().borders)
    for (const std::uint32_t v : border) EXPECT_EQ(positions[v], posed[v]);
  EXPECT_NE(positions[200], posed[200]);
  const double rest = volume_of(keeper, limb.rest, 0);
  EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest);
}

TEST(VolumeKeeper, PassesOverVerticesWithoutTriangles) {
  Limb limb;
  const auto loose = static_cast<std::uint32_t>(limb.rest.size());
  limb.mesh.positions.emplace_back(1, 1, 1);
  limb.rest.emplace_back(1, 1, 1);
  limb.anchor_of_vertex.push_back(2);
  limb.freedoms[2].push_back({loose, 1.0});
  const VolumeKeeper keeper = limb.keeper();
  const std::vector<Vec3d> posed = limb.bent(kBent);
  const std::vector<Vec3d> positions = kept(keeper, limb.demand(keeper, kBent), posed);
  EXPECT_EQ(positions[loose], posed[loose]);
  const double rest = volume_of(keeper, limb.rest, 0);
  EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest);
}

TEST(VolumeKeeper, LeavesVerticesWithoutRoomWhereTheyAre) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const std::vector<Vec3d> posed = limb.bent(kBent);
  Demand demand = limb.demand(keeper, kBent);
  for (const Vec3d& p : limb.rest) demand.free_motion.push_back(p.x() > 0 ? 0.0f : 1.0f);
  demand.free_motion.resize(keeper.cells().point_count(), 1.0f);
  const std::vector<Vec3d> positions = kept(keeper, demand, posed);
  for (std::size_t v = 0; v < posed.size(); ++v)
    if (limb.rest[v].x() > 0) {
      EXPECT_LT((positions[v] - posed[v]).norm(), 1e-14);
    }
  const double rest = volume_of(keeper, limb.rest, 0);
  EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest);
}

TEST(VolumeKeeper, APositionThatIsNoNumberStopsOnlyThePatchesThatSeeIt) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const Demand demand = limb.demand(keeper, kBent);
  const std::vector<Vec3d> posed = limb.bent(kBent);
  const std::vector<Vec3d> whole = kept(keeper, demand, posed);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    for (const std::uint32_t broken : {60u, 250u, 301u, 511u}) {
      std::vector<Vec3d> damaged = posed;
      damaged[broken].x() = bad;
      const std::vector<Vec3d> positions = kept(keeper, demand, damaged);
      // Cells that have the vertex cannot tell their loss, and patches that have it or are next to it cannot
      // tell their area: their skin stays.
      const std::set<std::uint32_t> blind = [&] {
        std::set<std::uint32_t> cells;
        for (const Triangle& f : limb.mesh.triangles) {
          if (std::ranges::find(f, broken) == f.end()) continue;
          for (const std::uint32_t v : f) cells.insert(keeper.cells().cell_of_vertex()[v]);
        }
        for (std::uint32_t c = 0; c < keeper.cells().cells().size(); ++c)
          if (std::ranges::count(keeper.patch(c).vertices(), broken) > 0 ||
              std::ranges::count(keeper.patch(c).halo(), broken) > 0)
            cells.insert(c);
        return cells;
      }();
      EXPECT_LE(blind.size(), 2u);
      std::set<std::uint32_t> of_blind, of_others;
      for (std::uint32_t c = 0; c < keeper.cells().cells().size(); ++c)
        (blind.contains(c) ? of_blind : of_others)
            .insert(keeper.patch(c).vertices().begin(), keeper.patch(c).vertices().end());
      for (std::uint32_t v = 0; v < positions.size(); ++v) {
        if (v == broken) continue;
        ASSERT_TRUE(positions[v].allFinite()) << v << ", broken " << broken;
        if (!of_others.contains(v)) {
          EXPECT_EQ(positions[v], posed[v]) << v << ", broken " << broken;
        } else if (!of_blind.contains(v) && *blind.begin() > 0) {
          EXPECT_NE(positions[v], posed[v]) << v << ", broken " << broken;
        }
      }
    }
  // Nor does it pass on by what neighbours hand over.
  Demand limited = demand;
  limited.limits.assign(Limb::kJoints, 1e-4);
  std::vector<Vec3d> damaged = posed;
  damaged[250].y() = std::nan("");
  const std::vector<Vec3d> far_apart = kept(keeper, limited, damaged);
  for (std::size_t v = 0; v < damaged.size(); ++v)
    if (v != 250) {
      EXPECT_TRUE(far_apart[v].allFinite()) << v;
    }
  // Losses without end are let be.
  Demand endless = demand;
  endless.strengths[2] = std::numeric_limits<double>::infinity();
  for (const Vec3d& p : kept(keeper, endless, posed)) EXPECT_TRUE(p.allFinite());
  // An anchor that is nowhere: its cells and those that share triangles with it stay.
  Demand nowhere = demand;
  nowhere.anchors[4].y() = std::nan("");
  const std::vector<Vec3d> positions = kept(keeper, nowhere, posed);
  for (std::size_t v = 0; v < positions.size(); ++v) {
    ASSERT_TRUE(positions[v].allFinite());
    if (limb.anchor_of_vertex[v] == 4) {
      EXPECT_EQ(positions[v], posed[v]);
    }
    if (limb.anchor_of_vertex[v] < 2) {
      EXPECT_LT((positions[v] - whole[v]).norm(), 1e-15);
    }
  }
}

double farthest_way(const std::vector<Vec3d>& from, const std::vector<Vec3d>& to) {
  double most = 0;
  for (std::size_t v = 0; v < from.size(); ++v) most = std::max(most, (to[v] - from[v]).norm());
  return most;
}

TEST(VolumeKeeper, NeighboursPayForWhatIsTooFar) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  std::vector<Vec3d> posed = limb.rest;
  for (Vec3d& p : posed)
    if (std::abs(p.y() - 1.25) < 0.2) p.x() *= 0.7, p.z() *= 0.7;
  Demand demand(keeper, limb.anchors);
  demand.shares.assign(Limb::kJoints, VolumeShares{0.5, 0, 0.5});
  demand.tolerance = 1e-9;
  const std::vector<Vec3d> alone = kept(keeper, demand, posed);
  const double rest = volume_of(keeper, limb.rest, 0), way = farthest_way(posed, alone);
  ASSERT_NEAR(volume_of(keeper, alone, 0), rest, 1e-12 * rest);
  // Limits that are never reached change nothing.
  demand.limits.assign(Limb::kJoints, 10 * way);
  EXPECT_EQ(kept(keeper, demand, posed), alone);
  double before = way;
  for (const double share : {0.7, 0.5, 0.35}) {
    demand.limits.assign(Limb::kJoints, share * way);
    const std::vector<Vec3d> positions = kept(keeper, demand, posed);
    EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest) << share;
    const double now = farthest_way(posed, positions);
    EXPECT_LT(now, before) << share;
    before = now;
    // The neighbours beside it swell alike, and none shrinks.
    for (std::size_t v = 0; v < posed.size(); ++v) {
      const Vec3d out(limb.rest[v].x(), 0, limb.rest[v].z());
      EXPECT_GE((positions[v] - posed[v]).dot(out), -1e-12);
    }
    EXPECT_GT((positions[150] - posed[150]).norm(), 1e-4) << "y = 0.75";
    EXPECT_NEAR((positions[150] - posed[150]).norm(), (positions[350] - posed[350]).norm(), 1e-3 * way);
  }
  // Nowhere to go: all is restored nonetheless.
  demand.limits.assign(Limb::kJoints, 0.0);
  EXPECT_NEAR(volume_of(keeper, kept(keeper, demand, posed), 0), rest, 1e-12 * rest);
}

TEST(VolumeKeeper, AllBearWhatIsTooMuchByWhatTheyCan) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  std::vector<Vec3d> posed = limb.rest;
  for (Vec3d& p : posed)
    if (std::abs(p.y() - 1.25) < 0.2) p.x() *= 0.7, p.z() *= 0.7;
  Demand demand(keeper, limb.anchors);
  demand.shares.assign(Limb::kJoints, VolumeShares{0.5, 0, 0.5});
  const double little = 1e-4;
  demand.limits = {little, little, 0.01, little, little};
  const std::vector<Vec3d> positions = kept(keeper, demand, posed);
  const double rest = volume_of(keeper, limb.rest, 0);
  EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest);
  double most = 0;
  for (std::size_t v = 0; v < posed.size(); ++v)
    if (std::abs(limb.rest[v].y() - 1.25) > 0.31) most = std::max(most, (positions[v] - posed[v]).norm());
  EXPECT_GT(most, 0.5 * little);
  EXPECT_LT(most, 0.1 * farthest_way(posed, positions));
}

TEST(VolumeKeeper, LossesGoPastNeighboursThatHaveNoRoom) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  std::vector<Vec3d> posed = limb.rest;
  for (Vec3d& p : posed)
    if (std::abs(p.y() - 1.25) < 0.2) p.x() *= 0.8, p.z() *= 0.8;
  Demand demand(keeper, limb.anchors);
  demand.limits.assign(Limb::kJoints, 0.01);
  const double rest = volume_of(keeper, limb.rest, 0);
  // The three joints in the middle lie in contact altogether.
  for (const Vec3d& p : limb.rest) demand.free_motion.push_back(p.y() > 0.45 && p.y() < 2.05 ? 0.0f : 1.0f);
  const std::vector<Vec3d> positions = kept(keeper, demand, posed);
  EXPECT_NEAR(volume_of(keeper, positions, 0), rest, 1e-12 * rest);
  for (std::size_t v = 0; v < posed.size(); ++v)
    if (demand.free_motion[v] == 0) {
      EXPECT_LT((positions[v] - posed[v]).norm(), 1e-12) << v;
    }
}

TEST(VolumeKeeper, RoomThatIsNotNeededChangesNothing) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const std::vector<double> angles{0, 0.5, 1.2, 0.4, 0};
  Demand demand = limb.demand(keeper, angles);
  demand.limits.assign(Limb::kJoints, 0.004);
  const std::vector<Vec3d> posed = limb.bent(angles), without = kept(keeper, demand, posed);
  // One vertex begins to touch something.
  demand.free_motion.assign(posed.size(), 1.0f);
  demand.free_motion[7] = 0.999f;
  const std::vector<Vec3d> with = kept(keeper, demand, posed);
  EXPECT_LT(farthest_way(with, without), 1e-3 * farthest_way(posed, without));
}

TEST(VolumeKeeper, LimitsGrowWithTheSkin) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const std::vector<double> angles{0, 0.5, 1.2, 0.4, 0};
  Demand demand = limb.demand(keeper, angles);
  demand.limits.assign(Limb::kJoints, 0.004);
  const std::vector<Vec3d> posed = limb.bent(angles), plain = kept(keeper, demand, posed);
  std::vector<Vec3d> large = posed;
  for (Vec3d& p : large) p *= 20;
  for (Vec3d& p : demand.anchors) p *= 20;
  for (VolumeFrame& frame : demand.frames) frame.origin *= 20;
  for (double& volume : demand.target_volumes) volume *= 8000;
  demand.scales.assign(Limb::kJoints, 20.0);
  std::vector<Vec3d> positions = kept(keeper, demand, large);
  for (Vec3d& p : positions) p /= 20;
  EXPECT_LT(farthest_way(positions, plain), 1e-9);
}

TEST(VolumeKeeper, SheetsAreLeftAlone) {
  // A bent card: what is between it and a cap over its border is no volume of its own.
  Mesh card = test::make_tube(20, 6, 0.3f, 1, false);
  std::erase_if(card.triangles, [&](const Triangle& f) {
    return card.positions[f[0]].x() < 0.02f || card.positions[f[1]].x() < 0.02f ||
           card.positions[f[2]].x() < 0.02f;
  });
  ASSERT_GT(card.triangles.size(), 20u);
  const std::vector<std::uint32_t> anchor_of_vertex(card.positions.size(), 0);
  std::vector<VolumePatch::Vertex> free;
  for (std::uint32_t v = 0; v < card.positions.size(); ++v) free.push_back({v, 1});
  const std::vector<Vec3d> anchors{Vec3d::Zero()};
  const std::vector<std::vector<VolumePatch::Vertex>> freedoms{free};
  const std::vector<int> parents{-1};
  const VolumeKeeper keeper(card.view(), anchor_of_vertex, anchors, freedoms, parents);
  EXPECT_EQ(keeper.sheets().size(), 1u);
  EXPECT_FALSE(keeper.can_act());
  EXPECT_TRUE(Limb().keeper().sheets().empty());
  EXPECT_TRUE(Limb(false).keeper().sheets().empty()) << "an open sleeve is none";
}

TEST(VolumeKeeper, WhatOneCellLosesToTheNextIsSettled) {
  // The border between two cells moves along the limb: nothing is lost, and no skin moves.
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  std::vector<Vec3d> posed = limb.rest;
  for (Vec3d& p : posed) p.y() += 0.05 * std::exp(-40 * (p.y() - 1) * (p.y() - 1));
  Demand demand(keeper, limb.anchors);
  std::vector<double> volumes(keeper.cells().cells().size());
  std::vector<Vec3d> points = posed;
  points.resize(keeper.cells().point_count());
  keeper.cells().place_fans(points);
  keeper.cells().measure(points, demand.anchors, volumes);
  double shifted = 0;
  for (std::size_t c = 0; c < volumes.size(); ++c)
    shifted = std::max(shifted, std::abs(volumes[c] / keeper.rest_volumes()[c] - 1));
  ASSERT_GT(shifted, 0.01);
  EXPECT_LT(farthest_way(posed, kept(keeper, demand, posed)), 0.001);
}

TEST(VolumeKeeper, KeepsTheVolumeOfEveryPartWithinLimits) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper keeper = wild.keeper();
    Demand demand = wild.demand(keeper, seed);
    demand.limits.assign(wild.anchors.size(), 0.01 * (1 + seed % 4));
    const std::vector<Vec3d> positions = kept(keeper, demand, wild.posed);
    for (std::uint32_t part = 0; part < keeper.cells().part_count(); ++part) {
      const double rest = wild.rest_volume(keeper, part);
      if (is_free(keeper, part)) {
        EXPECT_NEAR(volume_of(keeper, positions, part), rest, 1e-12 * std::abs(rest)) << "seed " << seed;
      }
    }
  }
}

TEST(VolumeKeeper, OfNothingDoesNothing) {
  const VolumeKeeper keeper(MeshView{}, {}, {}, {}, {});
  EXPECT_FALSE(keeper.can_act());
  VolumeScratch scratch = keeper.make_scratch();
  keeper.keep(VolumeDemand{}, scratch, std::span<Vec3d>());
  keeper.keep(VolumeDemand{}, scratch, std::span<Vec3f>());
  EXPECT_TRUE(keeper.rest_volumes().empty());
}

TEST(VolumeKeeper, HasTheSameBitsOnAnyNumberOfThreads) {
  const Limb limb;
  const VolumeKeeper keeper = limb.keeper();
  const Demand demand = limb.demand(keeper, kBent);
  std::vector<Vec3f> posed;
  for (const Vec3d& p : limb.bent(kBent)) posed.push_back(p.cast<float>());
  std::vector<Vec3f> one, four;
  tbb::task_arena(1).execute([&] { one = kept(keeper, demand, posed); });
  tbb::task_arena(4).execute([&] { four = kept(keeper, demand, posed); });
  EXPECT_EQ(one, four);
  EXPECT_NE(one, posed);
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Wild wild(seed);
    const VolumeKeeper other = wild.keeper();
    const Demand request = wild.demand(other, seed);
    std::vector<Vec3d> alone, together;
    tbb::task_arena(1).execute([&] { alone = kept(other, request, wild.posed); });
    tbb::task_arena(4).execute([&] { together = kept(other, request, wild.posed); });
    EXPECT_EQ(alone, together);
  }
}

}  // namespace
}  // namespace sinew
