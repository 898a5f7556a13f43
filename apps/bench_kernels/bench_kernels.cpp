#include "apps/bench_kernels/bench_kernels.h"

#include <cmath>
#include <numbers>

#include <tbb/task_arena.h>

#include <sinew/geometry/normals.h>
#include <sinew/skinning/dual_quaternion.h>
#include <sinew/skinning/linear_blend.h>

#include "tests/reference/skinning.h"

namespace sinew::cli {

namespace {

/// A tube along a chain of joints that coils up.
struct Workload {
  std::vector<Vec3f> rest;
  std::vector<Triangle> triangles;
  SkinWeights weights;
  std::vector<Affine3d> posed_from_rest;
};

Workload make_workload(std::size_t vertex_count) {
  constexpr std::uint32_t kRound = 50;
  Workload work;
  const auto rings = static_cast<std::uint32_t>(vertex_count / kRound);
  WeightRepairs repairs;
  for (std::uint32_t r = 0; r < rings; ++r)
    for (std::uint32_t s = 0; s < kRound; ++s) {
      const double along = static_cast<double>(r) / rings, angle = 2 * std::numbers::pi * s / kRound;
      work.rest.emplace_back(static_cast<float>(2 * along), static_cast<float>(0.1 * std::cos(angle)),
                             static_cast<float>(0.1 * std::sin(angle)));
      const double place = along * (kKernelJoints - 4);
      Influence row[4];
      for (int k = 0; k < 4; ++k) {
        const int joint = static_cast<int>(place) + k;
        row[k] = {static_cast<std::uint32_t>(joint),
                  static_cast<float>(std::exp(-std::abs(place + 1.5 - joint)))};
      }
      append_row(work.weights, row, 4, repairs);
    }
  for (std::uint32_t r = 0; r + 1 < rings; ++r)
    for (std::uint32_t s = 0; s < kRound; ++s) {
      const std::uint32_t a = r * kRound + s, b = r * kRound + (s + 1) % kRound;
      work.triangles.push_back({a, b, a + kRound});
      work.triangles.push_back({b, b + kRound, a + kRound});
    }
  Affine3d chain = Affine3d::Identity();
  const Vec3d axis = Vec3d(1, 2, 3).normalized();
  for (int j = 0; j < kKernelJoints; ++j) {
    const Vec3d head(2.0 * j / kKernelJoints, 0, 0);
    chain = chain * Eigen::Translation3d(head) * Eigen::AngleAxisd(0.2, axis) * Eigen::Translation3d(-head);
    work.posed_from_rest.push_back(chain);
  }
  return work;
}

}  // namespace

std::vector<KernelRun> bench_kernels(std::size_t vertices, const TimingOptions& options,
                                     const Progress& progress) {
  const Workload work = make_workload(vertices);
  const PackedWeights packed(work.weights);
  const NormalSolver solver(work.triangles, work.triangles, work.rest.size());
  std::vector<Vec3f> posed(work.rest.size()), normals(work.rest.size());
  std::vector<Vec4f> normal_scratch(solver.scratch_size());
  std::vector<SkinMatrix> matrices(work.posed_from_rest.size());
  DualQuaternionScratch scratch = make_dual_quaternion_scratch(kKernelJoints, work.rest.size());

  const auto linear = [&] {
    pack_matrices(work.posed_from_rest, matrices);
    linear_blend_skinning(work.rest, packed, matrices, posed);
  };
  const auto dual = [&] {
    dual_quaternion_skinning(work.rest, packed, work.posed_from_rest, scratch, posed);
  };
  const auto plain_linear = [&] {
    reference::linear_blend<float>(work.rest, work.weights, work.posed_from_rest, posed);
  };
  const auto plain_dual = [&] {
    reference::dual_quaternion<float>(work.rest, work.weights, work.posed_from_rest, posed);
  };

  std::vector<KernelRun> runs;
  std::vector<Contestant> contestants;
  const auto add = [&](const std::string& method, const std::string& output, int threads,
                       const std::function<void()>& once) {
    runs.push_back({method, output, work.rest.size(), threads, {}, 0, 0});
    contestants.push_back({threads, [once](int, int) { once(); }});
  };
  const auto add_method = [&](const std::string& method, const std::function<void()>& plain,
                              const std::function<void()>& kernel) {
    add(method, "positions, plain loop", 1, plain);
    for (const int threads : {1, 2}) {
      add(method, "positions", threads, kernel);
      add(method, "positions and normals", threads, [&, kernel] {
        kernel();
        solver.compute(posed, normal_scratch, normals);
      });
    }
  };
  add_method("lbs", plain_linear, linear);
  add_method("dqs", plain_dual, dual);

  const std::vector<Timing> timings = time_in_turns(contestants, options, progress);
  double plain_seconds = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].timing = timings[i];
    if (runs[i].output == "positions, plain loop") plain_seconds = timings[i].median;
    runs[i].times_plain = plain_seconds / timings[i].median;
    tbb::task_arena arena(runs[i].threads);
    arena.execute([&] { contestants[i].work(0, 0); });
    runs[i].hash = hash_of(runs[i].output == "positions and normals" ? normals : posed);
  }
  return runs;
}

}  // namespace sinew::cli
