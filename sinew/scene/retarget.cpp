#include <sinew/scene/retarget.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/skeleton/joint_names.h>

namespace sinew {

namespace {

/// Per joint, one key per tier of likeness.
std::vector<std::array<std::string, 3>> match_keys(const Skeleton& skeleton) {
  std::vector<PlainName> names;
  std::unordered_map<std::string, bool> present;
  for (const Joint& joint : skeleton.joints) {
    names.push_back(plain_name(joint.name));
    present[names.back().key()] = true;
  }
  std::vector<std::array<std::string, 3>> keys;
  for (std::size_t j = 0; j < names.size(); ++j) {
    const PlainName& plain = names[j];
    const auto has = [&](const char* part) { return present.contains(plain.side + std::string(part)); };
    std::string part = usual_part_name(plain.part);
    // "LeftHip" is the thigh, and where there is a collar, "LeftShoulder" is the upper arm.
    if (plain.side != ' ' && part == "hips") part = "thigh";
    if (plain.part == "shoulder" && (has("collar") || has("clavicle")) && !has("arm") && !has("upperarm"))
      part = "upperarm";
    if (plain.part.empty())
      keys.push_back({skeleton.joints[j].name, "", ""});
    else
      keys.push_back({skeleton.joints[j].name, plain.key(), plain.side + part});
  }
  // Where nothing else is called hips, the root is them.
  if (std::none_of(keys.begin(), keys.end(), [](const auto& key) { return key[2] == " hips"; }))
    for (auto& key : keys)
      if (key[2] == " root") key[2] = " hips";
  return keys;
}

std::vector<Affine3d> rest_matrices(const Skeleton& skeleton) {
  std::vector<Affine3d> matrices(skeleton.size());
  forward_kinematics(skeleton, rest_pose(skeleton).joints, matrices);
  return matrices;
}

/// Rotations of all joints in the world; scale has no part in them.
void world_rotations(const Skeleton& skeleton, const std::vector<Transform>& local,
                     std::vector<Quatd>& world) {
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const int parent = skeleton.joints[j].parent;
    const Quatd rotation = local[j].rotation.cast<double>();
    world[j] = (parent < 0 ? rotation : world[to_size(parent)] * rotation).normalized();
  }
}

/// Length of a leg, or 0 without one.
double leg_length(const Skeleton& skeleton, const std::vector<Affine3d>& world,
                  const std::vector<std::array<std::string, 3>>& keys, char side) {
  const auto find = [&](const char* part) -> const Affine3d* {
    for (std::size_t j = 0; j < skeleton.size(); ++j)
      if (keys[j][2] == side + std::string(part)) return &world[j];
    return nullptr;
  };
  const Affine3d *thigh = find("thigh"), *shin = find("shin"), *foot = find("foot");
  if (thigh == nullptr || shin == nullptr || foot == nullptr) return 0;
  return (thigh->translation() - shin->translation()).norm() +
         (shin->translation() - foot->translation()).norm();
}

double spread(const std::vector<Affine3d>& world, const std::vector<std::size_t>& joints) {
  Vec3d middle = Vec3d::Zero();
  for (const std::size_t j : joints) middle += world[j].translation() / static_cast<double>(joints.size());
  double sum = 0;
  for (const std::size_t j : joints) sum += (world[j].translation() - middle).squaredNorm();
  return std::sqrt(sum / static_cast<double>(joints.size()));
}

double length_ratio(const Skeleton& from, const std::vector<Affine3d>& from_world, const Skeleton& to,
                    const std::vector<Affine3d>& to_world, const std::vector<int>& partner) {
  const auto from_keys = match_keys(from), to_keys = match_keys(to);
  double from_legs = 0, to_legs = 0;
  for (const char side : {'l', 'r'}) {
    const double from_leg = leg_length(from, from_world, from_keys, side);
    const double to_leg = leg_length(to, to_world, to_keys, side);
    if (!(from_leg > 0 && to_leg > 0)) continue;
    from_legs += from_leg;
    to_legs += to_leg;
  }
  if (from_legs > 0) return to_legs / from_legs;
  std::vector<std::size_t> from_joints, to_joints;
  for (std::size_t j = 0; j < partner.size(); ++j) {
    if (partner[j] < 0) continue;
    from_joints.push_back(to_size(partner[j]));
    to_joints.push_back(j);
  }
  const double from_size = spread(from_world, from_joints), to_size = spread(to_world, to_joints);
  return from_size > 0 && to_size > 0 ? to_size / from_size : 1.0;
}

/// Where `joint` is at rest when the skeleton stands on the ground. BVH files put the root of the rest pose
/// at the origin and give its true height only in the motion; a skeleton that reaches far below the ground is
/// lifted.
Vec3d standing_position(const std::vector<Affine3d>& world, std::size_t joint) {
  double lowest = 0, highest = 0;
  for (const Affine3d& matrix : world) {
    lowest = std::min(lowest, matrix.translation().y());
    highest = std::max(highest, matrix.translation().y());
  }
  Vec3d position = world[joint].translation();
  if (-lowest > 0.25 * (highest - lowest)) position.y() -= lowest;
  return position;
}

std::vector<float> key_times(const Clip& clip) {
  std::vector<float> times;
  for (const Channel& channel : clip.channels)
    if (channel.path != ChannelPath::morph_weights)
      times.insert(times.end(), channel.times.begin(), channel.times.end());
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

/// Which properties of a joint the clip animates.
struct Animated {
  bool translation = false, rotation = false, scale = false;
};

std::vector<Animated> animated_joints(const Clip& clip, std::size_t joint_count) {
  std::vector<Animated> animated(joint_count);
  for (const Channel& channel : clip.channels) {
    if (channel.path == ChannelPath::morph_weights) continue;
    Animated& joint = animated[to_size(channel.target)];
    if (channel.path == ChannelPath::translation) joint.translation = true;
    if (channel.path == ChannelPath::rotation) joint.rotation = true;
    if (channel.path == ChannelPath::scale) joint.scale = true;
  }
  return animated;
}

/// Scale relative to rest. Axes of the two joints need not agree, so unless they do only the mean is carried
/// over.
Vec3f carried_scale(const Vec3f& now, const Vec3f& from_rest, const Vec3f& to_rest, bool same_axes) {
  Vec3d ratio;
  for (int c = 0; c < 3; ++c) ratio[c] = from_rest[c] != 0 ? double{now[c]} / from_rest[c] : 1.0;
  if (!same_axes) ratio.setConstant(std::cbrt(ratio.prod()));
  return (ratio.array() * to_rest.cast<double>().array()).matrix().cast<float>();
}

struct JointKeys {
  Channel translation, rotation, scale;
};

class Retarget {
 public:
  Retarget(const Skeleton& from, const Clip& clip, const Skeleton& to, std::vector<int> partner)
      : from_(from),
        clip_(clip),
        to_(to),
        partner_(std::move(partner)),
        from_rest_(rest_matrices(from)),
        to_rest_(rest_matrices(to)),
        scale_(length_ratio(from, from_rest_, to, to_rest_, partner_)),
        animated_(animated_joints(clip, from.size())) {}

  double scale() const { return scale_; }

  Clip run() {
    find_topmost();
    const std::vector<float> times = key_times(clip_);
    std::vector<JointKeys> keys(to_.size());
    Pose from_pose = rest_pose(from_);
    from_pose.morph_weights.assign(morph_weights(), 0.0f);
    std::vector<Affine3d> from_world(from_.size()), to_world(to_.size());
    std::vector<Quatd> from_turn(from_.size()), to_turn(to_.size());
    std::vector<Quatd> from_rest_turn(from_.size()), to_rest_turn(to_.size());
    world_rotations(from_, from_pose.joints, from_rest_turn);
    world_rotations(to_, rest_pose(to_).joints, to_rest_turn);

    for (const float time : times) {
      sample_clip(clip_, time, from_pose);
      forward_kinematics(from_, from_pose.joints, from_world);
      world_rotations(from_, from_pose.joints, from_turn);
      for (std::size_t j = 0; j < to_.size(); ++j) {
        const int to_parent = to_.joints[j].parent;
        const Quatd parent_turn = to_parent < 0 ? Quatd::Identity() : to_turn[to_size(to_parent)];
        const Affine3d parent_world = to_parent < 0 ? Affine3d::Identity() : to_world[to_size(to_parent)];
        Transform local = to_.joints[j].rest;
        if (partner_[j] >= 0) {
          const std::size_t source = to_size(partner_[j]);
          const Quatd turn = from_turn[source] * from_rest_turn[source].conjugate() * to_rest_turn[j];
          local.rotation = (parent_turn.conjugate() * turn).normalized().cast<float>();
          local.translation = topmost_[j] ? topmost_translation(j, from_world[source], parent_world)
                                          : inner_translation(j, from_pose, from_turn, parent_turn);
          if (animated_[source].scale) {
            const bool same_axes = from_rest_turn[source].angularDistance(to_rest_turn[j]) < 1e-3;
            local.scale = carried_scale(from_pose.joints[source].scale, from_.joints[source].rest.scale,
                                        to_.joints[j].rest.scale, same_axes);
          }
          add_key(keys[j], time, local);
        }
        to_turn[j] = (parent_turn * local.rotation.cast<double>()).normalized();
        to_world[j] = parent_world * local.matrix();
      }
    }
    return collect(std::move(keys));
  }

 private:
  void find_topmost() {
    std::vector<bool> below(to_.size(), false);  // has a partner above it
    topmost_.assign(to_.size(), false);
    for (std::size_t j = 0; j < to_.size(); ++j) {
      const int parent = to_.joints[j].parent;
      if (parent >= 0) below[j] = below[to_size(parent)] || partner_[to_size(parent)] >= 0;
      topmost_[j] = partner_[j] >= 0 && !below[j];
    }
  }

  std::size_t morph_weights() const {
    std::size_t count = 0;
    for (const Channel& channel : clip_.channels)
      if (channel.path == ChannelPath::morph_weights)
        count = std::max(count, to_size(channel.target + channel.width));
    return count;
  }

  Vec3f topmost_translation(std::size_t j, const Affine3d& source_world, const Affine3d& parent_world) const {
    const std::size_t source = to_size(partner_[j]);
    const Vec3d position_world =
        standing_position(to_rest_, j) +
        scale_ * (source_world.translation() - standing_position(from_rest_, source));
    if (std::abs(parent_world.linear().determinant()) < 1e-30) return to_.joints[j].rest.translation;
    return (parent_world.inverse() * position_world).cast<float>();
  }

  Vec3f inner_translation(std::size_t j, const Pose& from_pose, const std::vector<Quatd>& from_turn,
                          const Quatd& to_parent_turn) const {
    const Vec3f rest = to_.joints[j].rest.translation;
    const std::size_t source = to_size(partner_[j]);
    if (!animated_[source].translation) return rest;
    const Vec3f moved = from_pose.joints[source].translation - from_.joints[source].rest.translation;
    const int from_parent = from_.joints[source].parent;
    const Quatd from_parent_turn = from_parent < 0 ? Quatd::Identity() : from_turn[to_size(from_parent)];
    const Vec3d moved_world = from_parent_turn * moved.cast<double>();
    return rest + Vec3f((to_parent_turn.conjugate() * (scale_ * moved_world)).cast<float>());
  }

  static void add_key(JointKeys& keys, float time, const Transform& local) {
    for (Channel* channel : {&keys.translation, &keys.rotation, &keys.scale}) channel->times.push_back(time);
    keys.translation.values.insert(keys.translation.values.end(), local.translation.data(),
                                   local.translation.data() + 3);
    keys.scale.values.insert(keys.scale.values.end(), local.scale.data(), local.scale.data() + 3);
    Vec4f turn = local.rotation.coeffs();
    std::vector<float>& turns = keys.rotation.values;
    if (!turns.empty() && turn.dot(Eigen::Map<const Vec4f>(turns.data() + turns.size() - 4)) < 0)
      turn = -turn;
    turns.insert(turns.end(), turn.data(), turn.data() + 4);
  }

  /// Channels in the order of the joints. Rotation always; translation and scale where the source moves them.
  Clip collect(std::vector<JointKeys> keys) const {
    Clip result;
    result.name = clip_.name;
    for (std::size_t j = 0; j < to_.size(); ++j) {
      if (keys[j].rotation.times.empty()) continue;
      const Animated& source = animated_[to_size(partner_[j])];
      const auto add = [&](Channel channel, ChannelPath path, int width) {
        channel.target = static_cast<int>(j);
        channel.path = path;
        channel.width = width;
        result.channels.push_back(std::move(channel));
      };
      if (topmost_[j] || source.translation) add(std::move(keys[j].translation), ChannelPath::translation, 3);
      add(std::move(keys[j].rotation), ChannelPath::rotation, 4);
      if (source.scale) add(std::move(keys[j].scale), ChannelPath::scale, 3);
    }
    return result;
  }

  const Skeleton& from_;
  const Clip& clip_;
  const Skeleton& to_;
  std::vector<int> partner_;
  std::vector<Affine3d> from_rest_, to_rest_;
  double scale_;
  std::vector<Animated> animated_;
  std::vector<bool> topmost_;
};

}  // namespace

std::vector<int> match_joints(const Skeleton& from, const Skeleton& to) {
  const auto from_keys = match_keys(from), to_keys = match_keys(to);
  std::vector<int> partner(to.size(), -1);
  std::vector<bool> taken(from.size(), false);
  for (std::size_t tier = 0; tier < 3; ++tier) {
    std::unordered_map<std::string, int> free;
    for (std::size_t j = 0; j < from.size(); ++j)
      if (!taken[j] && !from_keys[j][tier].empty()) free.try_emplace(from_keys[j][tier], static_cast<int>(j));
    for (std::size_t j = 0; j < to.size(); ++j) {
      if (partner[j] >= 0) continue;
      const auto found = free.find(to_keys[j][tier]);
      if (found == free.end() || taken[to_size(found->second)]) continue;
      partner[j] = found->second;
      taken[to_size(found->second)] = true;
    }
  }
  return partner;
}

Clip retarget_clip(const Skeleton& from, const Clip& clip, const Skeleton& to, RetargetReport* report) {
  const std::vector<int> partner = match_joints(from, to);
  if (std::all_of(partner.begin(), partner.end(), [](int j) { return j < 0; }))
    throw Error(
        fmt::format("clip '{}': none of its {} joints ('{}', …) has the name of one of the {} joints "
                    "('{}', …) it should move",
                    clip.name, from.size(), from.joints.empty() ? "" : from.joints.front().name, to.size(),
                    to.joints.empty() ? "" : to.joints.front().name));
  Retarget retarget(from, clip, to, partner);
  Clip result = retarget.run();
  if (report != nullptr) {
    *report = {};
    report->scale = retarget.scale();
    std::vector<bool> used(from.size(), false);
    for (std::size_t j = 0; j < to.size(); ++j) {
      if (partner[j] < 0) {
        report->targets_without_partner.push_back(to.joints[j].name);
        continue;
      }
      used[to_size(partner[j])] = true;
      report->partners.emplace_back(from.joints[to_size(partner[j])].name, to.joints[j].name);
    }
    const std::vector<Animated> animated = animated_joints(clip, from.size());
    for (std::size_t j = 0; j < from.size(); ++j)
      if (!used[j] && (animated[j].rotation || animated[j].translation || animated[j].scale))
        report->sources_without_partner.push_back(from.joints[j].name);
  }
  return result;
}

}  // namespace sinew
