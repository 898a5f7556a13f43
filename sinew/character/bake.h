#pragma once

#include <functional>
#include <memory>

#include <sinew/character/character.h>
#include <sinew/core/progress.h>
#include <sinew/scene/frame_writer.h>

namespace sinew {

struct BakeOptions {
  int first_frame = 0;
  int last_frame = 0;  ///< inclusive, not before first_frame
  double frames_per_second = 30;
  /// For a clip that is a loop of so many frames, the last of which is followed by the first: characters with
  /// history go round it `loops_before` times first, so that the end of what is written fits its beginning.
  /// 0: it is none.
  int loop_frames = 0;
  int loops_before = 3;
  /// Writes the pose of a frame (counted from 0 at clip time 0) into `pose`, which is the rest pose before
  /// the first call and whatever was left in it after that. Called from one thread, frames in order.
  std::function<void(int frame, Pose& pose)> set_pose;
};

struct BakeReport {
  int frames = 0;
  std::size_t rejected_joints = 0;  ///< summed over frames, see Performer::rejected_joints
};

/// Performs the frames and hands them to `writer` in order, then finishes it. Frames of characters without
/// history are performed side by side on the caller's oneTBB arena; with history, frames before first_frame
/// are performed too, so that a part of a bake equals the same frames of the whole. The result does not
/// depend on the number of threads, nor does memory depend on the number of frames.
BakeReport bake(const std::shared_ptr<const Character>& character, const BakeOptions& options,
                FrameWriter& writer, const Progress& progress = {});

}  // namespace sinew
