#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/bench_timing.h"

/// The skinning kernels by themselves, next to the plain loops they replace.
namespace sinew::cli {

inline constexpr int kKernelJoints = 60;

struct KernelRun {
  std::string method;
  std::string output;  ///< positions, plain loop; positions; positions and normals
  std::size_t vertices = 0;
  int threads = 1;
  Timing timing;
  double times_plain = 0;  ///< how many times as fast as the plain loop's positions
  std::uint64_t hash = 0;  ///< of the positions, or of the normals where there are some
};

/// A coiled-up tube of `vertices` vertices (a multiple of 50), 60 joints, four influences per vertex.
std::vector<KernelRun> bench_kernels(std::size_t vertices, const TimingOptions& options,
                                     const Progress& progress);

}  // namespace sinew::cli
