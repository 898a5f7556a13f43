#include <sinew/effects/flesh.h>

#include <algorithm>
#include <cmath>

#include <sinew/geometry/segment.h>

namespace sinew {

double flesh_attenuation(FleshAttenuation kind, double y) {
  const double y2 = y * y;
  if (!(y2 < 1)) return 0;
  switch (kind) {
    case FleshAttenuation::bell:
      return 1 + (-4 * y2 * y2 * y2 + 17 * y2 * y2 - 22 * y2) / 9;
    case FleshAttenuation::parabola:
      return 1 - y2;
    case FleshAttenuation::none:
      break;
  }
  return 1;
}

FleshWeights find_flesh(std::span<const Vec3f> rest, std::span<const FleshVertex> candidates,
                        const FleshBone& bone) {
  FleshWeights flesh;
  const Vec3d along = bone.tail - bone.head;
  const double length2 = along.squaredNorm();
  double most = 0;
  for (const FleshVertex& candidate : candidates) {
    const Vec3d at = rest[candidate.vertex].cast<double>();
    const double y = length2 > 0 ? 2 * (at - bone.head).dot(along) / length2 - 1 : 0;
    const double shape =
        std::max(0.0, (at - nearest_on_segment(bone.head, bone.tail, at)).norm() - bone.thickness);
    const double weight =
        shape * flesh_attenuation(bone.attenuation, y) * std::clamp(candidate.share, 0.0, 1.0);
    if (!(weight > 0)) continue;
    flesh.vertices.push_back({candidate.vertex, weight});
    most = std::max(most, weight);
  }
  for (FleshVertex& v : flesh.vertices) v.share /= most;
  flesh.thickness = most;
  return flesh;
}

void move_flesh(std::span<const FleshVertex> vertices, const Vec3d& stretch, const Vec3d& turn,
                const Vec3d& centre, std::span<Vec3f> positions) {
  const Vec3f u = stretch.cast<float>();
  if (turn.squaredNorm() == 0) {
    for (const FleshVertex& v : vertices) positions[v.vertex] += static_cast<float>(v.share) * u;
    return;
  }
  // To the second order of the turn.
  for (const FleshVertex& v : vertices) {
    const Vec3d arm = positions[v.vertex].cast<double>() - centre, own = v.share * turn;
    const Vec3d swept = own.cross(arm);
    positions[v.vertex] += (v.share * stretch + swept + own.cross(swept) / 2).cast<float>();
  }
}

}  // namespace sinew
