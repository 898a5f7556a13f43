#include <sinew/measure/performance_ruler.h>

#include <algorithm>
#include <cassert>
#include <chrono>

#include <sinew/character/performer.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/layers/field_layer.h>

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
  std::vector<Affine3d> posed_from_rest;
  std::vector<Affine3d> carried;  // as posed_from_rest, where a layer takes bones elsewhere; empty: none does
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
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
  PerformanceMeasurements result;
  result.rest = ruler.rest();

  Performer performer(character);
  Pose pose = character->rest_pose();
  std::size_t field_layer_number = 0;
  const FieldLayer* field_layer = find_field_layer(*character, &field_layer_number);
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
      if (field_layer != nullptr) {
        const auto carried = field_layer->carried_fields(*performer.layer_state(field_layer_number));
        kept.carried.assign(carried.begin(), carried.end());
      }
      frames.emplace_back();
      frames.back().frame = frame;
      frames.back().seconds = elapsed.count();
      all_seconds.push_back(elapsed.count());
    }
    parallel_blocks(frames.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        frames[i].surface =
            ruler.measure(performed[i].positions, performed[i].posed_from_rest, performed[i].carried);
    });
    for (std::size_t i = 0; i < frames.size(); ++i) {
      frames[i].flicker = flicker.add(performed[i].positions, performed[i].posed_from_rest);
      result.frames.push_back(std::move(frames[i]));
    }
    report_progress(progress, static_cast<double>(last - start + 1) / frame_count);
  }
  for (const double seconds : all_seconds)
    result.mean_seconds += seconds / static_cast<double>(all_seconds.size());
  result.median_seconds = median(all_seconds);
  return result;
}

}  // namespace sinew
