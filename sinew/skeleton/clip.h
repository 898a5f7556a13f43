#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sinew/skeleton/skeleton.h>

namespace sinew {

enum class Interpolation { step, linear, cubic_spline };
enum class ChannelPath { translation, rotation, scale, morph_weights };

/// One animated property. Values are packed floats, `width` per key: 3 for translation and scale, 4 (x y z w)
/// for rotation, the number of morph targets for morph_weights. Cubic splines hold three such values per key,
/// as glTF lays them out: in-tangent, value, out-tangent.
struct Channel {
  int target = 0;  ///< joint index; for morph_weights the index of the first weight in Pose::morph_weights
  ChannelPath path = ChannelPath::translation;
  Interpolation interpolation = Interpolation::linear;
  int width = 3;
  std::vector<float> times;   ///< seconds, strictly increasing, not empty
  std::vector<float> values;  ///< times.size() * width, three times that for cubic splines

  bool operator==(const Channel&) const = default;
};

struct Clip {
  std::string name;
  std::vector<Channel> channels;

  /// Time of the last key, in seconds; 0 without keys.
  double duration() const;
  bool operator==(const Clip&) const = default;
};

/// Throws Error (prefixed with `where`) unless every channel fits the skeleton and the number of morph
/// weights, times increase strictly, sizes agree and all numbers are finite.
void check_clip(const Clip& clip, std::size_t joint_count, std::size_t morph_weight_count,
                const std::string& where);

/// Writes the clip's state at `time` (seconds; clamped to each channel's first and last key) into `pose`.
/// What the clip does not animate stays as it is. The clip must have passed check_clip. Allocates nothing.
void sample_clip(const Clip& clip, double time, Pose& pose);

/// Number of frames that cover the clip at `frames_per_second`: frame 0 at time 0, the last one at or just
/// before the clip's end (a thousandth of a frame is forgiven, since key times are rounded floats).
int frame_count(const Clip& clip, double frames_per_second);

/// The rate the clip's keys were made at, when they are evenly spaced at an integer rate; else 30.
double guess_frame_rate(const Clip& clip);

}  // namespace sinew
