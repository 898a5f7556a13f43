#pragma once

#include <vector>

#include "apps/cli/kernel_run.h"

namespace sinew::cli {

/// Times the skinning kernels by themselves, next to the plain loops they replace, on a coiled-up tube of
/// `vertices` vertices (a multiple of 50), 60 joints, four influences per vertex.
std::vector<KernelRun> bench_kernels(std::size_t vertices, const TimingOptions& options,
                                     const Progress& progress);

}  // namespace sinew::cli
