#pragma once

#include <cstdint>
#include <vector>

#include <sinew/scene/scene.h>

#include "apps/cli/bench_timing.h"

/// How long it takes to compute weights.
namespace sinew::cli {

struct BindingRun {
  std::size_t vertices = 0;
  std::size_t joints = 0;
  int threads = 1;
  Timing timing;           ///< bones and weights
  std::uint64_t hash = 0;  ///< of the weights
};

/// Binds the scene's first mesh, which is skinned and closed, to its own skeleton by heat.
std::vector<BindingRun> bench_binding(const Scene& scene, const TimingOptions& options,
                                      const Progress& progress);

}  // namespace sinew::cli
