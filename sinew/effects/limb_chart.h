#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>

namespace sinew {

/// A bone at rest, from one anchor (a joint) to another.
struct LimbBone {
  std::uint32_t head_anchor = 0;
  int tail_anchor = -1;  ///< -1 at the end of a limb
  Vec3d head = Vec3d::Zero(), tail = Vec3d::Zero();
};

/// Where a vertex lies along its bone.
struct LimbPlace {
  static constexpr std::uint32_t kNoBone = 0xffffffff;

  std::uint32_t bone = kNoBone;
  double along = 0;                ///< 0 at the head, 1 at the tail
  Vec3d outwards = Vec3d::Zero();  ///< from the bone to the vertex
};

/// Where a vertex lies as seen from a joint.
struct JointPlace {
  std::uint32_t vertex = 0;
  /// Along the skeleton: 0 at the joint, -1 at the other end of the bone before it, 1 at the ends of those
  /// behind it. Where bones are shorter than 1.5 radii of the limb, that length takes their place.
  double along = 0;
};

/// A character's bones and where its skin lies along them.
class LimbChart {
 public:
  /// `anchors` is the number of anchors, which the bones name; `places` has one entry per vertex.
  LimbChart(std::size_t anchors, std::vector<LimbBone> bones, std::vector<LimbPlace> places);

  std::span<const LimbBone> bones() const { return bones_; }
  std::span<const LimbPlace> places() const { return places_; }
  /// The anchor at the nearer end of the vertex's bone; `otherwise` for vertices without a bone.
  std::uint32_t nearer_anchor(std::size_t vertex, std::uint32_t otherwise) const;
  /// The vertices along the skeleton round a joint, up to one bone away, ascending.
  std::vector<JointPlace> around(std::uint32_t anchor) const;
  /// The median distance between bone and skin near the joint; 0 where there is none.
  double radius(std::uint32_t anchor) const;

 private:
  double length(const LimbBone& bone) const { return (bone.tail - bone.head).norm(); }

  std::vector<LimbBone> bones_;
  std::vector<LimbPlace> places_;
  std::vector<std::vector<std::uint32_t>> vertices_of_bone_;
  std::vector<std::vector<std::uint32_t>> bones_behind_;  // per anchor: it is their head
  std::vector<std::vector<std::uint32_t>> bones_before_;  // it is their tail
};

}  // namespace sinew
