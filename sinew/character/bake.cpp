#include <sinew/character/bake.h>

#include <algorithm>
#include <cassert>

#include <tbb/task_arena.h>

#include <sinew/character/performer.h>
#include <sinew/character/seek.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>

namespace sinew {

namespace {

// Performers work side by side only while their memory stays modest; large meshes keep all threads busy with
// one.
constexpr std::size_t kPerformerMemory = std::size_t{128} << 20;

std::size_t performer_count(const Performer& one, int frames) {
  const std::size_t affordable = std::max<std::size_t>(1, kPerformerMemory / one.bytes());
  const auto threads = to_size(std::max(1, tbb::this_task_arena::max_concurrency()));
  return std::min({affordable, threads, to_size(frames)});
}

void write_frame(const Performer& performer, std::vector<MeshFrame>& frame, FrameWriter& writer) {
  for (std::size_t m = 0; m < frame.size(); ++m)
    frame[m] = {performer.positions(m), performer.normals(m), performer.scene_from_mesh(m)};
  writer.write_frame(frame);
}

}  // namespace

BakeReport bake(const std::shared_ptr<const Character>& character, const BakeOptions& options,
                FrameWriter& writer, const Progress& progress) {
  assert(options.first_frame >= 0 && options.last_frame >= options.first_frame &&
         options.frames_per_second > 0);
  const bool history = character->has_history();
  const int start = history ? 0 : options.first_frame;
  const int frames = options.last_frame - start + 1;

  std::vector<Performer> performers;
  performers.emplace_back(character);
  const std::size_t batch = history ? 1 : performer_count(performers[0], frames);
  while (performers.size() < batch) performers.emplace_back(character);
  std::vector<Pose> poses(batch, character->rest_pose());
  std::vector<MeshFrame> mesh_frames(character->meshes().size());

  BakeReport report;
  report_progress(progress, 0);
  Pose pose = character->rest_pose();
  const bool goes_round = history && options.loop_frames > 0;
  for (int loop = 0; goes_round && loop < options.loops_before; ++loop)
    for (int frame = 0; frame < options.loop_frames; ++frame) {
      if (options.set_pose) options.set_pose(frame, pose);
      performers[0].perform(pose, loop + frame > 0 ? 1 / options.frames_per_second : 0);
    }
  for (int done = 0; done < frames;) {
    const std::size_t count = std::min(batch, to_size(frames - done));
    for (std::size_t i = 0; i < count; ++i) {
      if (options.set_pose) options.set_pose(start + done + static_cast<int>(i), pose);
      poses[i] = pose;
    }
    const auto perform = [&](std::size_t i) {
      const int frame = start + done + static_cast<int>(i);
      const double seconds = seconds_before_frame(frame, options.frames_per_second);
      performers[i].perform(poses[i], goes_round && frame == 0 ? 1 / options.frames_per_second : seconds);
    };
    if (count == 1) {
      perform(0);
    } else {
      parallel_blocks(count, 1, [&](std::size_t i, std::size_t) { perform(i); });
    }
    for (std::size_t i = 0; i < count; ++i) {
      report.rejected_joints += performers[i].rejected_joints();
      if (start + done + static_cast<int>(i) < options.first_frame) continue;
      write_frame(performers[i], mesh_frames, writer);
      ++report.frames;
    }
    done += static_cast<int>(count);
    report_progress(progress, static_cast<double>(done) / frames);
  }
  writer.finish();
  return report;
}

}  // namespace sinew
