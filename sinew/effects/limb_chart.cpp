#include <sinew/effects/limb_chart.h>

#include <algorithm>
#include <cassert>
#include <map>

#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr double kLeastReach = 1.5;  // radii of the limb

/// A bone that is reached from a joint.
struct Visit {
  std::uint32_t bone;
  bool from_head;   // entered at its head
  double distance;  // of that end from the joint
};

}  // namespace

LimbChart::LimbChart(std::size_t anchors, std::vector<LimbBone> bones, std::vector<LimbPlace> places)
    : bones_(std::move(bones)),
      places_(std::move(places)),
      vertices_of_bone_(bones_.size()),
      bones_behind_(anchors),
      bones_before_(anchors) {
  for (std::uint32_t b = 0; b < bones_.size(); ++b) {
    bones_behind_[bones_[b].head_anchor].push_back(b);
    if (bones_[b].tail_anchor >= 0) bones_before_[to_size(bones_[b].tail_anchor)].push_back(b);
  }
  for (std::uint32_t v = 0; v < places_.size(); ++v)
    if (places_[v].bone != LimbPlace::kNoBone) vertices_of_bone_[places_[v].bone].push_back(v);
}

std::uint32_t LimbChart::nearer_anchor(std::size_t vertex, std::uint32_t otherwise) const {
  const LimbPlace& place = places_[vertex];
  if (place.bone == LimbPlace::kNoBone) return otherwise;
  const LimbBone& bone = bones_[place.bone];
  return place.along < 0.5 || bone.tail_anchor < 0 ? bone.head_anchor
                                                   : static_cast<std::uint32_t>(bone.tail_anchor);
}

double LimbChart::radius(std::uint32_t anchor) const {
  std::vector<double> distances;
  for (const std::uint32_t b : bones_behind_[anchor])
    for (const std::uint32_t v : vertices_of_bone_[b])
      if (places_[v].along <= 0.5) distances.push_back(places_[v].outwards.norm());
  for (const std::uint32_t b : bones_before_[anchor])
    for (const std::uint32_t v : vertices_of_bone_[b])
      if (places_[v].along >= 0.5) distances.push_back(places_[v].outwards.norm());
  if (distances.empty()) return 0;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

std::vector<JointPlace> LimbChart::around(std::uint32_t anchor) const {
  const double least = kLeastReach * radius(anchor);
  std::map<std::uint32_t, double> found;  // by vertex
  std::vector<std::uint8_t> seen(bones_.size(), 0);
  const auto walk = [&](std::uint32_t first, bool from_head, double sign) {
    const double reach = std::max(length(bones_[first]), least);
    if (!(reach > 0)) return;
    std::vector<Visit> open{{first, from_head, 0}};
    while (!open.empty()) {
      const Visit at = open.back();
      open.pop_back();
      if (seen[at.bone] || at.distance >= reach) continue;
      seen[at.bone] = 1;
      const LimbBone& bone = bones_[at.bone];
      for (const std::uint32_t v : vertices_of_bone_[at.bone]) {
        const double share = at.from_head ? places_[v].along : 1 - places_[v].along;
        found.emplace(v, sign * (at.distance + share * length(bone)) / reach);
      }
      // On through the far end, to all bones that meet there.
      const int end = at.from_head ? bone.tail_anchor : static_cast<int>(bone.head_anchor);
      if (end < 0) continue;
      const double far = at.distance + length(bone);
      for (const std::uint32_t next : bones_behind_[to_size(end)]) open.push_back({next, true, far});
      for (const std::uint32_t next : bones_before_[to_size(end)]) open.push_back({next, false, far});
    }
  };
  for (const std::uint32_t b : bones_behind_[anchor]) seen[b] = 1;
  for (const std::uint32_t b : bones_before_[anchor]) {
    seen[b] = 0;
    walk(b, false, -1);
  }
  for (const std::uint32_t b : bones_behind_[anchor]) {
    seen[b] = 0;
    walk(b, true, 1);
  }
  std::vector<JointPlace> places;
  for (const auto& [vertex, along] : found)
    if (along > -1 && along < 1) places.push_back({vertex, along});
  return places;
}

}  // namespace sinew
