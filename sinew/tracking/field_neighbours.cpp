#include <sinew/tracking/field_neighbours.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <sinew/core/parallel.h>
#include <sinew/tracking/fold_plane.h>

namespace sinew {

namespace {

// Weight and value at rest from which on a field is wholly a neighbour.
constexpr float kFullWeight = 0.2f;
constexpr float kLeastValue = 0.05f;
constexpr float kFullValue = 0.35f;
constexpr float kDampedValue = 0.3f;
constexpr float kLeastSide = 0.2f;  // more than any gap

float distance_to_nearest(const Vec3f& at, std::span<const Vec3f> points) {
  float least = std::numeric_limits<float>::infinity();
  for (const Vec3f& p : points) least = std::min(least, (p - at).squaredNorm());
  return std::sqrt(least);
}

float weight_on(const SkinWeights& weights, std::size_t v, std::uint32_t joint) {
  const auto joints = weights.row_joints(v);
  for (std::size_t k = 0; k < joints.size(); ++k)
    if (joints[k] == joint) return weights.row_values(v)[k];
  return 0;
}

}  // namespace

Vec3f middle_of(const BoneField& field) {
  Vec3d sum = Vec3d::Zero();
  for (const HermitePoint& sample : field.samples) sum += sample.position;
  return (sum / static_cast<double>(std::max<std::size_t>(field.samples.size(), 1))).cast<float>();
}

FieldNeighbours find_field_neighbours(const FieldSet& set, std::span<const PosedField> posed,
                                      std::span<const Vec3f> rest, std::span<const std::int32_t> own,
                                      const SkinWeights& weights) {
  FieldNeighbours result;
  std::vector<float> bias;  // parent's field less the child's, at the joint
  std::vector<FoldPlane> planes;
  for (const FieldJoint& joint : set.joints) {
    const Vec3f at = joint.place.cast<float>();
    const bool usable = posed[joint.parent].usable && posed[joint.child].usable && at.allFinite();
    bias.push_back(usable ? posed[joint.parent].sample(at).value - posed[joint.child].sample(at).value
                          : 0.0f);
    result.joint_radius.push_back(
        std::clamp(distance_to_nearest(at, rest), 1e-9f, std::numeric_limits<float>::max()));
    planes.push_back(turned_to_contact(
        fold_plane(at, middle_of(set.fields[joint.parent]), middle_of(set.fields[joint.child])), at,
        result.joint_radius.back(), posed[joint.parent], posed[joint.child]));
  }

  std::vector<std::vector<FieldNeighbour>> of_vertex(rest.size());
  parallel_blocks(rest.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      if (own[v] < 0 || !posed[static_cast<std::size_t>(own[v])].usable) continue;
      const FieldSample mine = posed[static_cast<std::size_t>(own[v])].sample(rest[v]);
      for (std::size_t f = 0; f < posed.size(); ++f) {
        if (static_cast<std::int32_t>(f) == own[v] || !posed[f].usable) continue;
        const FieldSample other = posed[f].sample(rest[v]);
        const float weight = weight_on(weights, v, set.transform[f]);
        // Also where both are so weak that they would be in contact.
        const bool close = other.value > 0 && other.value > mine.value - kLeastSide;
        if (!(other.value > kLeastValue) && !(weight > 0) && !close) continue;
        FieldNeighbour n;
        n.field = static_cast<std::uint16_t>(f);
        const float by_weight = smooth_step(0, kFullWeight, weight);
        n.nearness = std::max(by_weight, smooth_step(kLeastValue, kFullValue, other.value));
        n.damping = std::max(by_weight, 1 - smooth_step(kLeastValue, kDampedValue, other.value));
        n.rest_side = mine.value - other.value;
        n.rest_opposition = opposition(mine.gradient, other.gradient);
        for (std::size_t j = 0; j < set.joints.size(); ++j) {
          const FieldJoint& joint = set.joints[j];
          const auto me = static_cast<std::uint32_t>(own[v]);
          if ((joint.parent != f || joint.child != me) && (joint.child != f || joint.parent != me)) continue;
          if (!joint.place.cast<float>().allFinite()) continue;
          n.joint = static_cast<std::int32_t>(j);
          n.joint_bias = joint.child == f ? bias[j] : -bias[j];
          const Vec3f from_joint = rest[v] - joint.place.cast<float>();
          n.rest_side -= n.joint_bias * joint_bias_share(from_joint.norm(), result.joint_radius[j]);
          n.plane_sign = joint.child == me ? 1.0f : -1.0f;
          n.rest_plane_side = n.plane_sign * planes[j].side(from_joint, result.joint_radius[j]);
        }
        of_vertex[v].push_back(n);
      }
    }
  });
  for (const std::vector<FieldNeighbour>& neighbours : of_vertex) {
    result.entries.insert(result.entries.end(), neighbours.begin(), neighbours.end());
    result.starts.push_back(static_cast<std::uint32_t>(result.entries.size()));
  }
  return result;
}

}  // namespace sinew
