#include "apps/cli/bench_fitting.h"

#include <sinew/fitting/fit_rig.h>
#include <sinew/fitting/template_rigs.h>

namespace sinew::cli {

std::vector<FittingRun> bench_fitting(const Scene& scene, const TimingOptions& options,
                                      const Progress& progress) {
  const MeshView surface = scene.meshes.at(0).surface.view();
  const ControlRig rig = make_template_rig("biped");
  FittedRig fitted;
  FitReport report;
  const auto fit = [&](int, int) {
    report = {};
    fitted = fit_rig(surface, rig, {}, &report);
  };
  std::vector<Contestant> contestants;
  for (const int threads : {1, 2}) contestants.push_back({threads, fit});
  const std::vector<Timing> timings = time_in_turns(contestants, options, progress);
  std::vector<FittingRun> runs;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    // Once more, for a hash of what this number of threads gives.
    time_in_turns(std::span(contestants).subspan(i, 1), {.repeats = 1}, {});
    std::vector<Vec3d> places;
    for (const RigBone& bone : fitted.rig.bones) {
      places.push_back(bone.head);
      places.push_back(bone.tail);
    }
    const double all = report.graph_seconds + report.matching_seconds + report.placement_seconds +
                       report.controllers_seconds;
    FittingRun run{
        surface.positions.size(), rig.bones.size(), contestants[i].threads, timings[i], 0, 0, 0, 0};
    if (all > 0) {
      run.graph_share = report.graph_seconds / all;
      run.matching_share = report.matching_seconds / all;
      run.placement_share = report.placement_seconds / all;
    }
    run.hash = hash_of(std::as_bytes(std::span(places)));
    runs.push_back(run);
  }
  return runs;
}

}  // namespace sinew::cli
