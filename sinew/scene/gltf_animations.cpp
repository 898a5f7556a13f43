#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf_reading.h>

namespace sinew {

namespace {

constexpr double kRotationRounding = 1e-4;

/// Where a channel of the file leads in the scene; `width` 0: nowhere.
struct Target {
  int index = 0;
  ChannelPath path = ChannelPath::translation;
  int width = 0;
};

class AnimationReader {
 public:
  AnimationReader(GltfReading& reading, const GltfValue& animation, std::size_t number)
      : reading_(reading), animation_(animation), samplers_(animation.elements("samplers")) {
    clip_.name = animation.name();
    label_ = gltf_label("animation", number, clip_.name);
  }

  Clip read() {
    const std::vector<GltfValue> channels = animation_.elements("channels");
    std::map<std::pair<int, ChannelPath>, std::size_t> known;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      channel_label_ = fmt::format("{}, channel {}", label_, c);
      const Target target = read_target(channels[c]);
      if (target.width == 0) continue;
      Channel channel = read_channel(channels[c], target);
      const auto [entry, added] = known.try_emplace({target.index, target.path}, clip_.channels.size());
      if (added) {
        clip_.channels.push_back(std::move(channel));
      } else {
        reading_.warn(fmt::format("{}: animates what an earlier channel already does; the later one is used",
                                  channel_label_));
        clip_.channels[entry->second] = std::move(channel);
      }
    }
    return std::move(clip_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: {}: {}", reading_.root.file(), channel_label_, what));
  }

  Target read_target(const GltfValue& channel) {
    const GltfValue target = channel.member("target");
    const std::string& path = target.member("path").text();
    const auto node_value = target.find("node");
    // Without a node, an extension that Sinew does not know says what is animated; the standard: ignore it.
    const bool known_path =
        path == "translation" || path == "rotation" || path == "scale" || path == "weights";
    if (!known_path)
      reading_.warn(fmt::format("{}: animates '{}': skipped", channel_label_, printable(path)));
    if (!known_path || !node_value) return {};
    const std::size_t node = node_value->index(reading_.node_joint.size(), "node");
    const int joint = reading_.node_joint[node];
    if (path == "translation") return {joint, ChannelPath::translation, 3};
    if (path == "scale") return {joint, ChannelPath::scale, 3};
    if (path == "rotation") return {joint, ChannelPath::rotation, 4};
    return morph_target(node);
  }

  Target morph_target(std::size_t node) {
    const int mesh = reading_.node_mesh[node];
    const std::size_t width = mesh < 0 ? 0 : reading_.scene.meshes[to_size(mesh)].morph_weights.size();
    const std::size_t first = mesh < 0 ? 0 : reading_.mesh_morphs[to_size(mesh)];
    if (width == 0) {
      reading_.warn(fmt::format("{}: animates the morph targets of node {}, which shows none: skipped",
                                channel_label_, node));
      return {};
    }
    if (first + width > to_size(std::numeric_limits<int>::max())) fail("too many morph targets");
    return {static_cast<int>(first), ChannelPath::morph_weights, static_cast<int>(width)};
  }

  Channel read_channel(const GltfValue& json, const Target& target) {
    const std::uint64_t number = json.member("sampler").natural();
    if (number >= samplers_.size())
      fail(fmt::format("sampler {} does not exist ({} samplers)", number, samplers_.size()));
    const GltfValue& sampler = samplers_[number];
    Channel channel;
    channel.target = target.index;
    channel.path = target.path;
    channel.width = target.width;
    channel.interpolation = read_interpolation(sampler);
    read_times(sampler.member("input"), channel);
    read_values(sampler.member("output"), channel);
    if (channel.path == ChannelPath::rotation) normalise_rotations(channel);
    return channel;
  }

  static Interpolation read_interpolation(const GltfValue& sampler) {
    const auto value = sampler.find("interpolation");
    if (!value || value->text() == "LINEAR") return Interpolation::linear;
    if (value->text() == "STEP") return Interpolation::step;
    if (value->text() == "CUBICSPLINE") return Interpolation::cubic_spline;
    value->fail(fmt::format("'{}' is not LINEAR, STEP or CUBICSPLINE", printable(value->text())));
  }

  void read_times(const GltfValue& input, Channel& channel) {
    const GltfAccessor accessor = reading_.accessors.find(input);
    if (accessor.width != 1 || accessor.component != GltfComponent::f32)
      input.fail("times must be SCALAR of floats");
    reading_.accessors.charge(accessor.values());
    channel.times.resize(accessor.count);
    decode_finite(reading_, accessor, channel.times,
                  fmt::format("{}: {}", reading_.root.file(), channel_label_), "time");
    for (std::size_t k = 1; k < channel.times.size(); ++k)
      if (!(channel.times[k] > channel.times[k - 1]))
        fail(fmt::format("times do not increase at key {} ({} after {})", k, channel.times[k],
                         channel.times[k - 1]));
  }

  void read_values(const GltfValue& output, Channel& channel) {
    const GltfAccessor accessor = reading_.accessors.find(output);
    const bool morphs = channel.path == ChannelPath::morph_weights;
    const int expected_width = morphs ? 1 : channel.width;
    if (accessor.width != expected_width || accessor.is_matrix)
      output.fail(morphs ? "morph weights must be SCALAR"
                         : fmt::format("{} must be VEC{}",
                                       channel.width == 4 ? "rotations" : "translations and scales",
                                       channel.width));
    const bool is_vector = channel.path == ChannelPath::translation || channel.path == ChannelPath::scale;
    const bool allowed = accessor.component == GltfComponent::f32 ||
                         (!is_vector && accessor.normalized && accessor.component != GltfComponent::u32);
    if (!allowed) output.fail(is_vector ? "expected floats" : "expected floats or normalized integers");

    const std::uint64_t per_key = channel.interpolation == Interpolation::cubic_spline ? 3 : 1;
    const std::uint64_t elements =
        channel.times.size() * per_key * static_cast<std::uint64_t>(morphs ? channel.width : 1);
    if (accessor.count != elements)
      fail(fmt::format("{} values for {} keys, expected {}", accessor.count, channel.times.size(), elements));
    reading_.accessors.charge(accessor.values());
    channel.values.resize(accessor.values());
    decode_finite(reading_, accessor, channel.values,
                  fmt::format("{}: {}", reading_.root.file(), channel_label_), "value");
  }

  /// Rounded integers are not quite unit. The tangents of splines belong to the values as they are, so those
  /// stay; sampling normalises.
  void normalise_rotations(Channel& channel) const {
    const bool spline = channel.interpolation == Interpolation::cubic_spline;
    for (std::size_t k = 0; k < channel.times.size(); ++k) {
      float* xyzw = channel.values.data() + (spline ? 12 * k + 4 : 4 * k);
      const Eigen::Map<Vec4f> value(xyzw);
      const double length = value.cast<double>().norm();
      if (length < kRotationRounding) fail(fmt::format("the rotation of key {} has no length", k));
      if (spline || std::abs(length - 1) <= kRotationRounding) continue;
      for (int c = 0; c < 4; ++c) xyzw[c] = static_cast<float>(xyzw[c] / length);
    }
  }

  GltfReading& reading_;
  const GltfValue& animation_;
  std::vector<GltfValue> samplers_;
  Clip clip_;
  std::string label_;
  std::string channel_label_;
};

}  // namespace

void read_gltf_animations(GltfReading& reading) {
  const std::vector<GltfValue> animations = reading.root.elements("animations");
  for (std::size_t a = 0; a < animations.size(); ++a)
    reading.scene.clips.push_back(AnimationReader(reading, animations[a], a).read());
}

}  // namespace sinew
