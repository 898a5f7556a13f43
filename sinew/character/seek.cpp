#include <sinew/character/seek.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

void check_rate(double frames_per_second) {
  // At the slowest rates there are, a frame lasts longer than a double can say.
  if (!(frames_per_second > 0) || !std::isfinite(frames_per_second) || !std::isfinite(1 / frames_per_second))
    throw Error(fmt::format("cannot seek at {} frames per second; the rate must be positive and finite",
                            frames_per_second));
}

void check_frame(int frame) {
  if (frame < 0) throw Error(fmt::format("cannot seek to frame {}; the first is 0", frame));
}

void check_fit(const Clip& clip, const Character& character) {
  check_clip(clip, character.skeleton().size(), character.morph_weight_count(),
             fmt::format("clip '{}'", clip.name));
}

std::function<void(int, Pose&)> poses_of(Clip clip, const Character& character, double frames_per_second) {
  check_fit(clip, character);
  return [clip = std::move(clip), frames_per_second](int frame, Pose& pose) {
    sample_clip(clip, frame / frames_per_second, pose);
  };
}

}  // namespace

double seconds_before_frame(int frame, double frames_per_second) {
  return frame == 0 ? 0 : 1 / frames_per_second;
}

void seek(Performer& performer, const Clip& clip, int frame, double frames_per_second) {
  check_rate(frames_per_second);
  check_frame(frame);
  const Character& character = performer.character();
  check_fit(clip, character);
  const bool history = character.has_history();
  if (history) performer.reset();
  Pose pose = character.rest_pose();
  for (int next = history ? 0 : frame;; ++next) {
    sample_clip(clip, next / frames_per_second, pose);
    performer.perform(pose, seconds_before_frame(next, frames_per_second));
    if (next == frame) return;
  }
}

Seeker::Seeker(std::shared_ptr<const Character> character,
               std::function<void(int frame, Pose& pose)> set_pose, double frames_per_second,
               const SeekOptions& options)
    : character_(std::move(character)),
      set_pose_(std::make_shared<const std::function<void(int, Pose&)>>(std::move(set_pose))),
      frames_per_second_(frames_per_second),
      most_checkpoints_(to_size(std::max(0, options.most_checkpoints))) {
  check_rate(frames_per_second);
  if (options.most_checkpoints < 0)
    throw Error(fmt::format("{} checkpoints; 0 is the least", options.most_checkpoints));
}

Seeker::Seeker(std::shared_ptr<const Character> character, Clip clip, double frames_per_second,
               const SeekOptions& options)
    : Seeker(character, poses_of(std::move(clip), *character, frames_per_second), frames_per_second,
             options) {}

/// Brings the performer to the latest frame before `frame` that costs nothing, and says which frame is to be
/// performed next.
std::int64_t Seeker::prepare(Performer& performer, int frame) const {
  const int left_at = performer.noted_frame(set_pose_);
  if (left_at == frame) return std::int64_t{frame} + 1;
  if (!character_->has_history()) return frame;
  // As many checkpoints are before `frame` or at it.
  const std::size_t usable = std::min(to_size(frame / spacing_), checkpoints_.size());
  const std::int64_t resumed = static_cast<std::int64_t>(usable) * spacing_;
  if (left_at >= 0 && left_at < frame && left_at + 1 >= resumed) return left_at + 1;
  if (usable == 0)
    performer.reset();
  else
    performer.restore(checkpoints_[usable - 1]);
  return resumed;
}

/// Before each frame that is performed. As frames come without gaps, the next checkpoint is always ahead.
void Seeker::keep_checkpoint(const Performer& performer, int frame) {
  const auto is_next = [&] { return frame == static_cast<std::int64_t>(checkpoints_.size() + 1) * spacing_; };
  if (!is_next()) return;
  if (checkpoints_.size() == most_checkpoints_) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < checkpoints_.size(); i += 2)
      checkpoints_[kept++] = std::move(checkpoints_[i]);
    checkpoints_.erase(checkpoints_.begin() + static_cast<std::ptrdiff_t>(kept), checkpoints_.end());
    spacing_ *= 2;
    if (!is_next()) return;
  }
  checkpoints_.push_back(performer.checkpoint());
}

void Seeker::seek(Performer& performer, int frame) {
  check_frame(frame);
  if (&performer.character() != character_.get())
    throw Error("cannot seek with a performer of another character");
  const bool history = character_->has_history();
  for (std::int64_t next = prepare(performer, frame); next <= frame; ++next) {
    const int number = static_cast<int>(next);
    if (history) keep_checkpoint(performer, number);
    pose_ = character_->rest_pose();
    if (*set_pose_) (*set_pose_)(number, pose_);
    performer.perform(pose_, seconds_before_frame(number, frames_per_second_));
  }
  performer.note_frame(set_pose_, frame);
}

}  // namespace sinew
