#include <sinew/scene/bvh.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/core/text.h>
#include <sinew/scene/text_scanner.h>

namespace sinew {

namespace {

constexpr std::size_t kDeepestNesting = 256;

struct BvhChannel {
  bool rotates = false;
  int axis = 0;
};

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

class BvhReader {
 public:
  BvhReader(std::string_view text, const std::string& name) : scan_(text, name, 0, false), name_(name) {}

  Scene read() {
    if (!scan_.find_word() || !same_word(scan_.word(), "HIERARCHY"))
      scan_.fail("a BVH file starts with HIERARCHY");
    read_hierarchy();
    read_motion();
    Scene scene;
    scene.source = name_;
    scene.skeleton.joints = std::move(joints_);
    if (!clip_.channels.empty()) scene.clips.push_back(std::move(clip_));
    scene.warnings = std::move(warnings_);
    check_scene(scene);
    return scene;
  }

 private:
  std::string_view next_word(const char* expected) {
    if (!scan_.find_word()) scan_.fail(fmt::format("the file ends where {} should stand", expected));
    return scan_.word();
  }

  void expect(std::string_view word) {
    const std::string_view found = next_word(std::string(word).c_str());
    if (!same_word(found, word)) scan_.fail(fmt::format("'{}' stands where {} should", quoted(found), word));
  }

  float next_number(const char* what) {
    if (!scan_.find_word()) scan_.fail(fmt::format("the file ends where {} should stand", what));
    return scan_.number(what);
  }

  std::uint64_t next_count(const char* what, std::uint64_t limit) {
    const std::string_view word = next_word(what);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error != std::errc() || end != word.data() + word.size() || count > limit)
      scan_.fail(fmt::format("{} is '{}', not a whole number up to {}", what, quoted(word), limit));
    return count;
  }

  Vec3f next_offset() {
    expect("OFFSET");
    const float x = next_number("an offset");
    const float y = next_number("an offset");
    const float z = next_number("an offset");
    return {x, y, z};
  }

  void read_hierarchy() {
    // Joints whose brace is open, outermost first. A list instead of recursion: depth is the file's choice.
    std::vector<int> open;
    while (true) {
      const std::string_view word = next_word("MOTION");
      if (word == "}") {
        if (open.empty()) scan_.fail("'}' without '{'");
        open.pop_back();
      } else if (open.empty() && same_word(word, "MOTION")) {
        break;
      } else if (same_word(word, open.empty() ? "ROOT" : "JOINT")) {
        open.push_back(read_joint(open.empty() ? -1 : open.back()));
        if (open.size() > kDeepestNesting)
          scan_.fail(fmt::format("joints nest more than {} deep", kDeepestNesting));
      } else if (!open.empty() && same_word(word, "End")) {
        expect("Site");
        expect("{");
        add_joint(joints_[to_size(open.back())].name + "_end", open.back(), next_offset());
        expect("}");
      } else {
        scan_.fail(fmt::format("'{}' stands where {} should", quoted(word),
                               open.empty() ? "ROOT or MOTION" : "JOINT, End Site or '}'"));
      }
    }
    if (joints_.empty()) scan_.fail("the hierarchy has no joints");
  }

  int read_joint(int parent) {
    // Names may hold blanks; the brace stands behind them or on the next line.
    std::string joint_name = scan_.rest_of_line('{');
    if (joint_name.empty()) scan_.fail("a joint has no name");
    const auto [entry, added] = first_line_.try_emplace(joint_name, scan_.line());
    if (!added) scan_.fail(fmt::format("joint '{}' stands on line {} already", joint_name, entry->second));
    expect("{");
    const int joint = add_joint(std::move(joint_name), parent, next_offset());
    read_channels(joint);
    return joint;
  }

  int add_joint(std::string joint_name, int parent, const Vec3f& offset) {
    Joint joint;
    joint.name = std::move(joint_name);
    joint.parent = parent;
    joint.rest.translation = offset;
    joints_.push_back(std::move(joint));
    channels_.emplace_back();
    return static_cast<int>(joints_.size()) - 1;
  }

  void read_channels(int joint) {
    expect("CHANNELS");
    const std::uint64_t count = next_count("the number of channels", 6);
    std::vector<BvhChannel>& channels = channels_[to_size(joint)];
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view word = next_word("a channel");
      const int axis = word.empty() ? -1 : lower_case(word[0]) - 'x';
      const std::string_view kind = word.substr(1);
      BvhChannel channel;
      channel.axis = axis;
      channel.rotates = same_word(kind, "rotation");
      if (axis < 0 || axis > 2 || (!channel.rotates && !same_word(kind, "position")))
        scan_.fail(fmt::format("channel '{}' is not one of Xposition … Zrotation", quoted(word)));
      for (const BvhChannel& other : channels)
        if (other.rotates == channel.rotates && other.axis == channel.axis)
          scan_.fail(fmt::format("channel '{}' stands twice in joint '{}'", quoted(word),
                                 joints_[to_size(joint)].name));
      channels.push_back(channel);
    }
    channel_count_ += count;
  }

  void read_motion() {
    expect_label("Frames");
    const std::uint64_t frames = next_count("the number of frames", 1'000'000'000);
    expect("Frame");
    expect_label("Time");
    if (!scan_.find_word()) scan_.fail("the file ends where the frame time should stand");
    const double frame_time = scan_.double_number("the frame time");
    if (frames == 0 || channel_count_ == 0) {
      if (scan_.find_word()) scan_.fail("there are numbers, but no frames or no channels for them");
      warnings_.push_back(fmt::format("{}: holds no motion", name_));
      return;
    }
    if (!(frame_time > 0)) scan_.fail(fmt::format("the frame time is {}; it must be above 0", frame_time));
    // A number takes two bytes at least; a count that lies must not take memory.
    if (frames > (scan_.bytes_left() + 1) / 2 / channel_count_)
      scan_.fail(fmt::format("{} frames of {} channels are announced, but only {} bytes follow", frames,
                             channel_count_, scan_.bytes_left()));

    make_channels(frames, frame_time);
    for (std::uint64_t frame = 0; frame < frames; ++frame) read_frame(frame, frames);
    if (scan_.find_word())
      scan_.fail(fmt::format("more numbers than {} frames of {} channels; correct 'Frames:'", frames,
                             channel_count_));
  }

  /// "Frames:" or "Frames :".
  void expect_label(std::string_view label) {
    const std::string_view word = next_word(std::string(label).c_str());
    if (same_word(word, std::string(label) + ":")) return;
    if (!same_word(word, label))
      scan_.fail(fmt::format("'{}' stands where '{}:' should", quoted(word), label));
    expect(":");
  }

  void make_channels(std::uint64_t frames, double frame_time) {
    std::vector<float> times(frames);
    for (std::uint64_t frame = 0; frame < frames; ++frame)
      times[frame] = static_cast<float>(static_cast<double>(frame) * frame_time);
    for (std::uint64_t frame = 1; frame < frames; ++frame)
      if (!(times[frame] > times[frame - 1]) || !std::isfinite(times[frame]))
        scan_.fail(fmt::format("{} frames of {} seconds cannot be told apart in time", frames, frame_time));

    clip_.name = std::filesystem::path(name_).stem().string();
    for (std::size_t j = 0; j < joints_.size(); ++j)
      for (const bool rotates : {false, true}) {
        if (std::none_of(channels_[j].begin(), channels_[j].end(),
                         [&](const BvhChannel& channel) { return channel.rotates == rotates; }))
          continue;
        Channel channel;
        channel.target = static_cast<int>(j);
        channel.path = rotates ? ChannelPath::rotation : ChannelPath::translation;
        channel.width = rotates ? 4 : 3;
        channel.times = times;
        channel.values.reserve(frames * to_size(channel.width));
        clip_.channels.push_back(std::move(channel));
      }
  }

  void read_frame(std::uint64_t frame, std::uint64_t frames) {
    std::size_t next = 0;  // into clip_.channels, which stand in the order of the joints
    for (std::size_t j = 0; j < joints_.size(); ++j) {
      if (channels_[j].empty()) continue;
      Vec3f position = joints_[j].rest.translation;
      Quatd rotation = Quatd::Identity();
      bool moves = false, rotates = false;
      for (const BvhChannel& channel : channels_[j]) {
        if (!scan_.find_word()) scan_.fail(fmt::format("the file ends in frame {} of {}", frame + 1, frames));
        const float value = scan_.number("a channel");
        if (channel.rotates) {
          const double angle = static_cast<double>(value) * std::numbers::pi / 180;
          rotation = rotation * Quatd(Eigen::AngleAxisd(angle, Vec3d::Unit(channel.axis)));
          rotates = true;
        } else {
          position[channel.axis] = value;
          moves = true;
        }
      }
      if (moves) {
        std::vector<float>& values = clip_.channels[next++].values;
        values.insert(values.end(), position.data(), position.data() + 3);
      }
      if (rotates) {
        std::vector<float>& values = clip_.channels[next++].values;
        Vec4f unit = rotation.normalized().coeffs().cast<float>();
        // q and -q are the same rotation; the nearer one keeps interpolation on the short way.
        if (!values.empty() && unit.dot(Eigen::Map<const Vec4f>(values.data() + values.size() - 4)) < 0)
          unit = -unit;
        values.insert(values.end(), unit.data(), unit.data() + 4);
      }
    }
  }

  TextScanner scan_;
  std::string name_;
  std::vector<Joint> joints_;
  std::vector<std::vector<BvhChannel>> channels_;  // per joint, in the order declared
  std::uint64_t channel_count_ = 0;
  std::unordered_map<std::string, std::size_t> first_line_;
  Clip clip_;
  std::vector<std::string> warnings_;
};

}  // namespace

Scene read_bvh(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return parse_bvh(as_text(bytes), path.string());
}

Scene parse_bvh(std::string_view text, const std::string& name) {
  return BvhReader(text, name).read();
}

}  // namespace sinew
