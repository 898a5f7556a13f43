#include <sinew/skeleton/clip.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr double kStepTolerance = 1e-4;  // seconds

int path_width(ChannelPath path) {
  return path == ChannelPath::rotation ? 4 : 3;
}

/// Where a time falls between two keys.
struct KeySpan {
  std::size_t before = 0;
  std::size_t after = 0;
  double share = 0;    // 0 at `before`, 1 at `after`
  double seconds = 0;  // from `before` to `after`
};

KeySpan find_keys(const std::vector<float>& times, double time) {
  if (!(time > times.front())) return {};
  const std::size_t last = times.size() - 1;
  if (time >= times.back()) return {last, last, 0, 0};
  const auto after = std::upper_bound(times.begin(), times.end(), time,
                                      [](double t, float key) { return t < static_cast<double>(key); });
  const std::size_t index = to_size(after - times.begin());
  const double start = times[index - 1];
  const double seconds = times[index] - start;
  return {index - 1, index, (time - start) / seconds, seconds};
}

/// Component c of the channel at the given place; rotations are handled apart when linear.
double interpolate(const Channel& channel, const KeySpan& keys, int c) {
  const std::size_t width = to_size(channel.width);
  const float* values = channel.values.data();
  if (channel.interpolation == Interpolation::cubic_spline) {
    // glTF 2.0, appendix C.5: Hermite spline, tangents scaled by the length of the key interval.
    const float* before = values + keys.before * 3 * width;
    const float* after = values + keys.after * 3 * width;
    const double t = keys.share, t2 = t * t, t3 = t2 * t;
    return (2 * t3 - 3 * t2 + 1) * before[width + c] +
           keys.seconds * (t3 - 2 * t2 + t) * before[2 * width + c] + (-2 * t3 + 3 * t2) * after[width + c] +
           keys.seconds * (t3 - t2) * after[c];
  }
  const double before = values[keys.before * width + c];
  if (channel.interpolation == Interpolation::step) {
    // Key times are rounded to float: frame k of a 30 fps clip must show key k though float(k / 30) may lie a
    // hair behind k / 30.
    const bool reached = (1 - keys.share) * keys.seconds < kStepTolerance;
    return reached ? values[keys.after * width + c] : before;
  }
  return before + keys.share * (values[keys.after * width + c] - before);
}

Quatf interpolate_rotation(const Channel& channel, const KeySpan& keys) {
  Quatd rotation;
  if (channel.interpolation == Interpolation::linear) {
    const auto key = [&](std::size_t k) {
      return Quatd(Eigen::Map<const Eigen::Vector4f>(channel.values.data() + 4 * k).cast<double>());
    };
    rotation = key(keys.before).normalized().slerp(keys.share, key(keys.after).normalized());
  } else {
    for (int c = 0; c < 4; ++c) rotation.coeffs()[c] = interpolate(channel, keys, c);
  }
  const double length = rotation.norm();
  // A spline through opposite quaternions may pass through zero.
  return length > 1e-12 ? Quatd(rotation.coeffs() / length).cast<float>() : Quatf::Identity();
}

}  // namespace

double Clip::duration() const {
  double end = 0;
  for (const Channel& channel : channels)
    if (!channel.times.empty()) end = std::max(end, static_cast<double>(channel.times.back()));
  return end;
}

void check_clip(const Clip& clip, std::size_t joint_count, std::size_t morph_weight_count,
                const std::string& where) {
  for (std::size_t i = 0; i < clip.channels.size(); ++i) {
    const Channel& channel = clip.channels[i];
    const auto fail = [&](const std::string& what) {
      throw Error(fmt::format("{}: clip '{}', channel {}: {}", where, clip.name, i, what));
    };
    const bool morphs = channel.path == ChannelPath::morph_weights;
    if (channel.width < 1 || (!morphs && channel.width != path_width(channel.path)))
      fail(fmt::format("{} values per key", channel.width));
    const std::size_t targets = morphs ? morph_weight_count : joint_count;
    const std::size_t used = morphs ? to_size(channel.width) : 1;
    if (channel.target < 0 || used > targets || to_size(channel.target) > targets - used)
      fail(fmt::format("{} {} does not exist ({} of them)", morphs ? "morph weight" : "joint", channel.target,
                       targets));
    if (channel.times.empty()) fail("has no keys");
    for (std::size_t k = 0; k < channel.times.size(); ++k) {
      if (!std::isfinite(channel.times[k])) fail(fmt::format("time of key {} is not finite", k));
      if (k > 0 && !(channel.times[k] > channel.times[k - 1]))
        fail(fmt::format("times do not increase at key {} ({} after {})", k, channel.times[k],
                         channel.times[k - 1]));
    }
    const std::size_t per_key =
        to_size(channel.width) * (channel.interpolation == Interpolation::cubic_spline ? 3 : 1);
    if (channel.values.size() != channel.times.size() * per_key)
      fail(fmt::format("{} values for {} keys of {}", channel.values.size(), channel.times.size(), per_key));
    for (std::size_t k = 0; k < channel.values.size(); ++k)
      if (!std::isfinite(channel.values[k])) fail(fmt::format("value {} is not finite", k));
  }
}

void sample_clip(const Clip& clip, double time, Pose& pose) {
  for (const Channel& channel : clip.channels) {
    const KeySpan keys = find_keys(channel.times, time);
    const std::size_t target = to_size(channel.target);
    switch (channel.path) {
      case ChannelPath::translation:
        for (int c = 0; c < 3; ++c)
          pose.joints[target].translation[c] = static_cast<float>(interpolate(channel, keys, c));
        break;
      case ChannelPath::scale:
        for (int c = 0; c < 3; ++c)
          pose.joints[target].scale[c] = static_cast<float>(interpolate(channel, keys, c));
        break;
      case ChannelPath::rotation:
        pose.joints[target].rotation = interpolate_rotation(channel, keys);
        break;
      case ChannelPath::morph_weights:
        for (int c = 0; c < channel.width; ++c)
          pose.morph_weights[target + c] = static_cast<float>(interpolate(channel, keys, c));
        break;
    }
  }
}

int frame_count(const Clip& clip, double frames_per_second) {
  const double frames = clip.duration() * frames_per_second;
  // No cache format counts further.
  if (!(frames < 2e9)) return 2'000'000'000;
  return static_cast<int>(std::floor(frames + 1e-3)) + 1;
}

double guess_frame_rate(const Clip& clip) {
  const Channel* longest = nullptr;
  for (const Channel& channel : clip.channels)
    if (longest == nullptr || channel.times.size() > longest->times.size()) longest = &channel;
  if (longest == nullptr || longest->times.size() < 2) return 30;
  const std::vector<float>& times = longest->times;
  const double rate = std::round((times.size() - 1) / (static_cast<double>(times.back()) - times.front()));
  if (rate < 1 || rate > 240) return 30;
  for (float time : times) {
    const double frame = static_cast<double>(time) * rate;
    if (std::abs(frame - std::round(frame)) > 0.02) return 30;
  }
  return rate;
}

}  // namespace sinew
