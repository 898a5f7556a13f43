#include "apps/cli/bench_binding.h"

#include <sinew/skeleton/flesh_bones.h>
#include <sinew/skinning/bind.h>

namespace sinew::cli {

std::vector<BindingRun> bench_binding(const Scene& scene, const TimingOptions& options,
                                      const Progress& progress) {
  const MeshView surface = scene.meshes.at(0).surface.view();
  std::vector<Affine3d> world(scene.skeleton.size());
  forward_kinematics(scene.skeleton, rest_pose(scene).joints, world);
  SkinWeights weights;
  const auto bind = [&](int, int) {
    const OrientedSurface oriented(surface);
    weights = bind_surface(surface, bones_in_flesh(scene.skeleton, world, oriented), {}, nullptr, &oriented);
  };
  std::vector<Contestant> contestants;
  for (const int threads : {1, 2}) contestants.push_back({threads, bind});
  const std::vector<Timing> timings = time_in_turns(contestants, options, progress);
  std::vector<BindingRun> runs;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    // Once more, for a hash of what this number of threads gives.
    time_in_turns(std::span(contestants).subspan(i, 1), {.repeats = 1}, {});
    const std::uint64_t hash =
        hash_of(std::as_bytes(std::span(weights.values)), hash_of(std::as_bytes(std::span(weights.joints))));
    runs.push_back(
        {surface.positions.size(), scene.skeleton.size(), contestants[i].threads, timings[i], hash});
  }
  return runs;
}

}  // namespace sinew::cli
