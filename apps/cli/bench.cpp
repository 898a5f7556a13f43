// Times the kernels, one case after the other, and prints the median of many runs. Ratios within one run mean
// something; absolute times are this machine's, today.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <numbers>

#include <fmt/format.h>
#include <tbb/task_arena.h>
#include <nlohmann/json.hpp>

#include <sinew/core/simd.h>
#include <sinew/geometry/normals.h>
#include <sinew/skinning/dual_quaternion.h>
#include <sinew/skinning/linear_blend.h>
#include <sinew/version.h>

#include "apps/cli/verbs.h"
#include "tests/reference/skinning.h"

namespace sinew::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kJoints = 60;

/// A tube of `vertex_count` vertices along a chain of joints that coils up; four influences per vertex.
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
      const double place = along * (kJoints - 4);
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
  for (int j = 0; j < kJoints; ++j) {
    const Vec3d head(2.0 * j / kJoints, 0, 0);
    chain = chain * Eigen::Translation3d(head) * Eigen::AngleAxisd(0.2, axis) * Eigen::Translation3d(-head);
    work.posed_from_rest.push_back(chain);
  }
  return work;
}

/// FNV-1a over the bytes: the same positions, the same number.
std::uint64_t hash_of(const std::vector<Vec3f>& values) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(Vec3f); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

double median_seconds(int repeats, const std::function<void()>& work) {
  work();  // warm up
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repeats / 2)];
}

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace

int run_bench(const BenchOptions& options) {
  Json report;
  report["version"] = SINEW_VERSION;
  report["processor"] = processor_name();
  report["simd"] = simd_target();
  report["cases"] = Json::array();
  if (!options.json) {
    fmt::print("sinew {} on {}, {}, median of {} runs, 4 influences, {} joints\n", SINEW_VERSION,
               processor_name(), simd_target(), options.repeats, kJoints);
    fmt::print("{:<8} {:<22} {:>9} {:>8} {:>10} {:>10}   {}\n", "method", "output", "vertices", "threads",
               "ms", "ns/vertex", "hash");
  }
  const auto add_case = [&](const std::string& method, const std::string& output, const Workload& work,
                            int threads, double seconds, std::uint64_t hash) {
    const double per_vertex = seconds / static_cast<double>(work.rest.size()) * 1e9;
    report["cases"].push_back({{"method", method},
                               {"output", output},
                               {"vertices", work.rest.size()},
                               {"threads", threads},
                               {"milliseconds", seconds * 1e3},
                               {"nanoseconds_per_vertex", per_vertex},
                               {"hash", fmt::format("{:016x}", hash)}});
    if (!options.json)
      fmt::print("{:<8} {:<22} {:>9} {:>8} {:>10.4f} {:>10.2f}   {:016x}\n", method, output, work.rest.size(),
                 threads, seconds * 1e3, per_vertex, hash);
  };

  for (const std::size_t vertices : {std::size_t{30000}, std::size_t{500000}}) {
    const Workload work = make_workload(vertices);
    const PackedWeights packed(work.weights);
    const NormalSolver solver(work.triangles, work.triangles, work.rest.size());
    std::vector<Vec3f> posed(work.rest.size()), normals(work.rest.size());
    std::vector<Vec4f> normal_scratch(solver.scratch_size());
    std::vector<SkinMatrix> matrices(work.posed_from_rest.size());
    DualQuaternionScratch scratch = make_dual_quaternion_scratch(kJoints, work.rest.size());
    const auto skin = [&](bool dual_quaternions) {
      if (dual_quaternions) {
        dual_quaternion_skinning(work.rest, packed, work.posed_from_rest, scratch, posed);
      } else {
        pack_matrices(work.posed_from_rest, matrices);
        linear_blend_skinning(work.rest, packed, matrices, posed);
      }
    };
    for (const bool dual_quaternions : {false, true}) {
      const std::string method = dual_quaternions ? "dqs" : "lbs";
      const double plain = median_seconds(std::max(1, options.repeats / 6), [&] {
        if (dual_quaternions)
          reference::dual_quaternion<float>(work.rest, work.weights, work.posed_from_rest, posed);
        else
          reference::linear_blend<float>(work.rest, work.weights, work.posed_from_rest, posed);
      });
      add_case(method, "positions, plain loop", work, 1, plain, hash_of(posed));
      for (const int threads : {1, 2}) {
        tbb::task_arena arena(threads);
        arena.execute([&] {
          const double positions = median_seconds(options.repeats, [&] { skin(dual_quaternions); });
          add_case(method, "positions", work, threads, positions, hash_of(posed));
          const double both = median_seconds(options.repeats, [&] {
            skin(dual_quaternions);
            solver.compute(posed, normal_scratch, normals);
          });
          add_case(method, "positions and normals", work, threads, both, hash_of(normals));
        });
      }
    }
  }
  if (options.json) fmt::print("{}\n", report.dump(2));
  return 0;
}

}  // namespace sinew::cli
