#include <sinew/projection/attachment.h>

#include <algorithm>
#include <limits>

#include <sinew/contact/posed_surface.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>

namespace sinew {

namespace {

constexpr std::size_t kOriginsPerTask = 256;

/// The nearest point of a bone, its ends left out by as much as the point is away from it, at most half.
Vec3f nearest_on_bone(const BoneSegment& bone, const Vec3f& at, float end_share, float& distance) {
  const Vec3f head = bone.head.cast<float>(), along = (bone.tail - bone.head).cast<float>();
  const float length = along.norm();
  if (!(length > 0)) {
    distance = (at - head).norm();
    return head;
  }
  float place = std::clamp((at - head).dot(along) / (length * length), 0.0f, 1.0f);
  distance = (at - head - place * along).norm();
  const float end = std::min(0.5f, end_share * distance / length);
  place = std::clamp(place, end, 1 - end);
  return head + place * along;
}

Vec3f nearest_on_bones(std::span<const BoneSegment> bones, const Vec3f& at, float end_share) {
  Vec3f best = at;
  float least = std::numeric_limits<float>::infinity();
  for (const BoneSegment& bone : bones) {
    float distance = 0;
    const Vec3f point = nearest_on_bone(bone, at, end_share, distance);
    if (distance < least) least = distance, best = point;
  }
  return best;
}

}  // namespace

std::vector<Vec3f> ray_origins(const MeshView& rest, const SkinWeights& weights, const FieldSet& fields,
                               const TriangleTree& tree, std::span<const Triangle> closed_triangles,
                               std::span<const Vec3f> closed, const ContactParams& params) {
  const std::vector<std::int32_t> field_of = fields_of_transforms(fields);
  const std::size_t count = rest.positions.size();
  std::vector<Vec3f> origins(count);
  parallel_blocks(count, kOriginsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const Vec3f& at = rest.positions[v];
      Vec3f sum = Vec3f::Zero();
      float known = 0;
      for (std::size_t k = 0; k < weights.row_size(v); ++k) {
        const std::uint32_t transform = weights.row_joints(v)[k];
        const std::int32_t field = transform < field_of.size() ? field_of[transform] : -1;
        if (field < 0 || to_size(field) >= fields.fields.size()) continue;
        const float weight = weights.row_values(v)[k];
        sum += weight * nearest_on_bones(fields.fields[to_size(field)].segments, at, params.bone_end);
        known += weight;
      }
      origins[v] = known > 0 ? Vec3f(sum / known) : at;
    }
  });

  // Bones may lie outside of the flesh, or other skin between.
  PosedSurface surface(tree);
  surface.refit(closed);
  parallel_blocks(count, kOriginsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const Vec3f ray = origins[v] - rest.positions[v];
      float clear = 1;
      surface.cross(rest.positions[v], ray, 0, 1, [&](const Crossing& crossing) {
        const Triangle& f = closed_triangles[crossing.triangle];
        if (f[0] == v || f[1] == v || f[2] == v) return;
        clear = std::min(clear, crossing.t);
      });
      if (clear < 1) origins[v] = rest.positions[v] + params.clear_share * clear * ray;
    }
  });
  return origins;
}

}  // namespace sinew
