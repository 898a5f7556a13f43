#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/bench_timing.h"

/// What `sinew bench` and `sinew_bench_kernels`, which it starts, tell each other.
namespace sinew::cli {

inline constexpr int kKernelJoints = 60;

/// One skinning kernel, or the plain loop that it replaces, on one number of threads.
struct KernelRun {
  std::string method;
  std::string output;  ///< positions, plain loop; positions; positions and normals
  std::size_t vertices = 0;
  int threads = 1;
  Timing timing;
  double times_plain = 0;  ///< how many times as fast as the plain loop's positions
  std::uint64_t hash = 0;  ///< of the positions, or of the normals where there are some
};

/// The name of the case with so many vertices.
std::string kernel_case(std::size_t vertices);

/// One line of JSON, without a line break. Times keep all their digits.
std::string kernel_run_line(const KernelRun& run);
/// The same for a failure.
std::string kernel_error_line(const std::string& message);
/// Reads one of these lines. Throws Error with the message of a failure, and for what is neither.
KernelRun parse_kernel_line(const std::string& line);

}  // namespace sinew::cli
