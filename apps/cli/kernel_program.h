#pragma once

#include <filesystem>
#include <vector>

#include "apps/cli/kernel_run.h"

/// The bench of the kernels is a program of its own, so that the command line is built without the plain
/// loops of tests/reference.
namespace sinew::cli {

/// Where sinew_bench_kernels is: beside the running program. Empty where it was not built.
std::filesystem::path find_kernel_program();

/// Runs it for so many vertices and waits. Throws Error when it fails.
std::vector<KernelRun> run_kernel_program(const std::filesystem::path& program, std::size_t vertices,
                                          int repeats);

}  // namespace sinew::cli
