#include <sinew/measure/performance_ruler.h>

#include <algorithm>
#include <cassert>
#include <chrono>

#include <sinew/character/performer.h>
#include <sinew/character/rest_joints.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/layers/character_hinges.h>
#include <sinew/skinning/dual_quaternion.h>

namespace sinew {

namespace {

constexpr std::size_t kBatchMemory = std::size_t{64} << 20;
constexpr std::size_t kMostBatchFrames = 32;

std::vector<Vec3f> rest_surface(const Character& character) {
  std::vector<Vec3f> rest(character.rest().begin(), character.rest().end());
  for (const CharacterMesh& mesh : character.meshes())
    for (std::size_t target = 0; target < mesh.morph_displacements.size(); ++target) {
      const float weight = character.rest_pose().morph_weights[mesh.first_morph_weight + target];
      const std::vector<Vec3f>& displacements = mesh.morph_displacements[target];
      for (std::size_t v = 0; v < displacements.size(); ++v)
        rest[mesh.first_vertex + v] += weight * displacements[v];
    }
  return rest;
}

struct PerformedFrame {
  std::vector<Vec3f> positions;
  std::vector<Vec3f> base;  // what dual quaternions alone make of it
  std::vector<Vec3f> rest;  // with the frame's morph targets
  std::vector<std::uint8_t> in_contact;
  std::vector<Affine3d> posed_from_rest;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Per binding, how long its joint's longest bone is.
std::vector<double> limb_lengths(const Character& character) {
  std::vector<double> lengths;
  for (const Binding& binding : character.bindings()) {
    lengths.push_back(0);
    if (binding.joint < 0) continue;
    for (const Bone& bone : character.rest_joints().bones_of(binding.joint))
      if (const double length = (bone.tail - bone.head).norm(); std::isfinite(length))
        lengths.back() = std::max(lengths.back(), length);
  }
  return lengths;
}

/// What the base skin tells of a frame: who ought to touch, and where the bones' skin should be.
void compare_with_base(const Character& character, const SurfaceRuler& ruler,
                       const PoseDeviationMeter& deviation, std::span<const double> limb_length,
                       PerformedFrame& performed, FrameMeasurements& frame) {
  const std::vector<std::uint32_t> buried = ruler.newly_buried(performed.base);
  performed.in_contact.assign(performed.base.size(), 0);
  for (const std::uint32_t v : buried) performed.in_contact[v] = 1;
  frame.gaps = ruler.gaps(performed.positions, buried);
  std::sort(frame.gaps.gaps.begin(), frame.gaps.gaps.end());
  for (const BindingDeviation& d :
       deviation.measure(performed.rest, performed.positions, performed.posed_from_rest))
    if (const int joint = character.bindings()[d.binding].joint; joint >= 0)
      frame.deviations.push_back({joint, d.rms, d.largest, limb_length[d.binding]});
}

}  // namespace

PerformanceMeasurements measure_performance(const std::shared_ptr<const Character>& character,
                                            const MeasureOptions& options, const Progress& progress) {
  assert(options.first_frame >= 0 && options.last_frame >= options.first_frame &&
         options.frames_per_second > 0);
  report_progress(progress, 0);
  const std::vector<Vec3f> rest = rest_surface(*character);
  SurfaceRulerOptions ruler_options;
  ruler_options.hinges = find_hinges(*character);
  const SurfaceRuler ruler({rest, character->triangles()}, character->shared_skin_weights(), ruler_options);
  FlickerMeter flicker(character->skin_weights(), ruler.used_vertices());
  PopMeter pops(ruler.used_vertices());
  const PoseDeviationMeter deviation(rest, character->skin_weights(), ruler.used_vertices());
  const std::vector<double> limb_length = limb_lengths(*character);
  DualQuaternionScratch base_scratch =
      make_dual_quaternion_scratch(character->bindings().size(), character->rest().size());
  PerformanceMeasurements result;
  result.rest = ruler.rest();

  Performer performer(character);
  Pose pose = character->rest_pose();
  const int start = character->has_history() ? 0 : options.first_frame;
  const int frame_count = options.last_frame - start + 1;
  const std::size_t frame_bytes = std::max<std::size_t>(1, sizeof(Vec3f) * rest.size());
  const auto batch =
      static_cast<int>(std::clamp<std::size_t>(kBatchMemory / frame_bytes, 1, kMostBatchFrames));
  std::vector<PerformedFrame> performed(to_size(batch));
  std::vector<double> all_seconds;

  for (int first = start; first <= options.last_frame; first += batch) {
    const int last = std::min(first + batch - 1, options.last_frame);
    std::vector<FrameMeasurements> frames;
    for (int frame = first; frame <= last; ++frame) {
      if (options.set_pose) options.set_pose(frame, pose);
      const auto begin = std::chrono::steady_clock::now();
      performer.perform(pose, frame == start ? 0 : 1 / options.frames_per_second);
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      result.rejected_joints += performer.rejected_joints();
      if (frame < options.first_frame) continue;
      PerformedFrame& kept = performed[frames.size()];
      kept.positions.assign(performer.welded_positions().begin(), performer.welded_positions().end());
      kept.posed_from_rest.assign(performer.posed_from_rest().begin(), performer.posed_from_rest().end());
      kept.rest.assign(performer.welded_rest().begin(), performer.welded_rest().end());
      kept.base.resize(kept.rest.size());
      dual_quaternion_skinning(kept.rest, *character->weights(), kept.posed_from_rest, base_scratch,
                               kept.base);
      frames.emplace_back();
      frames.back().frame = frame;
      frames.back().seconds = elapsed.count();
      all_seconds.push_back(elapsed.count());
    }
    parallel_blocks(frames.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        frames[i].surface = ruler.measure(performed[i].positions, performed[i].posed_from_rest);
        compare_with_base(*character, ruler, deviation, limb_length, performed[i], frames[i]);
      }
    });
    for (std::size_t i = 0; i < frames.size(); ++i) {
      frames[i].flicker = flicker.add(performed[i].positions, performed[i].posed_from_rest);
      pops.add(performed[i].positions, performed[i].base, performed[i].in_contact);
      frames[i].pops = pops.pops();
      frames[i].steps = pops.steps();
      result.gaps.insert(result.gaps.end(), frames[i].gaps.gaps.begin(), frames[i].gaps.gaps.end());
      result.gap_misses += frames[i].gaps.misses;
      result.frames.push_back(std::move(frames[i]));
    }
    report_progress(progress, static_cast<double>(last - start + 1) / frame_count);
  }
  std::sort(result.gaps.begin(), result.gaps.end());
  for (const double seconds : all_seconds)
    result.mean_seconds += seconds / static_cast<double>(all_seconds.size());
  result.median_seconds = median(all_seconds);
  return result;
}

}  // namespace sinew
