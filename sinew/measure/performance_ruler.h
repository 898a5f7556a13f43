#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/core/progress.h>
#include <sinew/measure/flicker.h>
#include <sinew/measure/pops.h>
#include <sinew/measure/pose_deviation.h>
#include <sinew/measure/surface_ruler.h>

namespace sinew {

struct MeasureOptions {
  int first_frame = 0;
  int last_frame = 0;  ///< inclusive, not before first_frame
  double frames_per_second = 30;
  /// As BakeOptions::set_pose. Empty: the rest pose.
  std::function<void(int frame, Pose& pose)> set_pose;
};

/// A binding whose own skin is not where the pose carries it.
struct JointDeviation {
  int joint = -1;               ///< of the skeleton
  double rms = 0, largest = 0;  ///< metres, see BindingDeviation
  double limb_length = 0;       ///< metres: of the joint's longest bone at rest
};

struct FrameMeasurements {
  int frame = 0;
  SurfaceMeasurements surface;
  std::optional<Flicker> flicker;  ///< none for the first two frames
  // Against the base skin: dual quaternions, with the character's weights and the frame's morph targets.
  std::optional<Pops> pops;                ///< none for the first two frames
  std::optional<DisplacementSteps> steps;  ///< none for the first frame
  ContactGaps gaps;                        ///< before the vertices that the base skin newly buries; sorted
  std::vector<JointDeviation> deviations;  ///< from the pose, of every joint with skin
  double seconds = 0;                      ///< that Performer::perform took
};

struct PerformanceMeasurements {
  RestSurface rest;
  std::vector<FrameMeasurements> frames;  ///< in order, never empty
  double median_seconds = 0;              ///< of FrameMeasurements::seconds
  double mean_seconds = 0;
  std::vector<double> gaps;         ///< of all frames, sorted, metres
  std::size_t gap_misses = 0;       ///< vertex-frames that found no skin to touch
  std::size_t rejected_joints = 0;  ///< summed over frames, see Performer::rejected_joints
};

/// Performs the frames and measures the welded surface of all meshes together against the character's rest
/// surface (with the morph weights of the rest pose). Frames are performed in batches, one after another, and
/// timed with nothing of the measuring in between; the measuring then runs on the caller's oneTBB arena.
/// Characters with history perform the frames before first_frame too. The figures, times apart, do not depend
/// on the number of threads. Throws Error when a frame's positions are not finite.
PerformanceMeasurements measure_performance(const std::shared_ptr<const Character>& character,
                                            const MeasureOptions& options, const Progress& progress = {});

}  // namespace sinew
