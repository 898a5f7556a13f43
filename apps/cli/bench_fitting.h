#pragma once

#include <cstdint>
#include <vector>

#include <sinew/scene/scene.h>

#include "apps/cli/bench_timing.h"

/// How long it takes to fit a rig to a mesh.
namespace sinew::cli {

struct FittingRun {
  std::size_t vertices = 0;
  std::size_t bones = 0;  ///< controllers included
  int threads = 1;
  Timing timing;
  double graph_share = 0, matching_share = 0,
         placement_share = 0;  ///< of the last run; the rest is controllers'
  std::uint64_t hash = 0;      ///< of all heads and tails
};

/// Fits the template `biped` to the scene's first mesh.
std::vector<FittingRun> bench_fitting(const Scene& scene, const TimingOptions& options,
                                      const Progress& progress);

}  // namespace sinew::cli
