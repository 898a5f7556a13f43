#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <sinew/character/performer.h>
#include <sinew/skeleton/clip.h>

namespace sinew {

/// The seconds that Performer::perform gets for a frame of a sequence: none before frame 0. Whoever performs
/// a sequence must ask for the same, since the bits of layers with history depend on it.
double seconds_before_frame(int frame, double frames_per_second);

/// Leaves the performer as it is after frames 0 to `frame` of the clip (frame k at time k/frames_per_second)
/// were performed in order on a fresh one: the same bits, whatever was performed before. With history this
/// performs all those frames, so use a Seeker for more than one; without, just that frame. Throws Error for
/// a negative frame, a rate that is not positive and finite and a clip that does not fit the character.
void seek(Performer& performer, const Clip& clip, int frame, double frames_per_second = 30);

struct SeekOptions {
  /// Each is a copy of the states (LayerState::clone) of all layers with history: memory per vertex.
  /// 0: every step back starts from frame 0.
  int most_checkpoints = 32;
};

/// Goes to and fro in one sequence of poses of one character. Layers with history need all frames before the
/// wanted one; a seeker goes on from where it left the performer or from the nearest checkpoint it took on
/// its way. Checkpoints are evenly spaced: once there are too many, every other one is dropped. A step back
/// within n frames seen thus performs at most about 2 n / most_checkpoints frames. Not for several threads
/// at once.
class Seeker {
 public:
  /// `set_pose` writes the pose of a frame (counted from 0) into `pose`, which is the rest pose before every
  /// call. It must give the same pose for the same frame, in whatever order frames come. Empty: the rest
  /// pose. Throws Error for a rate that is not positive and finite and for a negative number of checkpoints.
  Seeker(std::shared_ptr<const Character> character, std::function<void(int frame, Pose& pose)> set_pose,
         double frames_per_second = 30, const SeekOptions& options = {});
  /// Keeps the clip. Throws Error for one that does not fit the character, too.
  Seeker(std::shared_ptr<const Character> character, Clip clip, double frames_per_second = 30,
         const SeekOptions& options = {});

  /// Leaves the performer as it is after frames 0 to `frame` were performed in order on a fresh one: the same
  /// bits, whatever was performed before. Performers may take turns. Throws Error for a negative frame, a
  /// performer of another character, a layer whose history cannot be copied (unless no checkpoints are
  /// wanted), and what `set_pose` throws; the performer may then stand at any frame, and the next seek is
  /// as good as ever.
  void seek(Performer& performer, int frame);

  std::size_t checkpoint_count() const { return checkpoints_.size(); }

 private:
  std::int64_t prepare(Performer& performer, int frame) const;
  void keep_checkpoint(const Performer& performer, int frame);

  std::shared_ptr<const Character> character_;
  /// Also what the seeker's notes on performers are known by.
  std::shared_ptr<const std::function<void(int frame, Pose& pose)>> set_pose_;
  double frames_per_second_;
  std::size_t most_checkpoints_;
  Pose pose_;
  std::int64_t spacing_ = 1;
  std::vector<PerformerCheckpoint> checkpoints_;  // number i: before frame (i + 1) · spacing_
};

}  // namespace sinew
