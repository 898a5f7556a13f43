#include <sinew/measure/burial.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <sinew/core/parallel.h>
#include <sinew/geometry/disjoint_sets.h>
#include <sinew/geometry/vertex_normals.h>

namespace sinew {

namespace {

constexpr double kOffset = 1e-4;           // of the mean edge at the vertex
constexpr double kShareOfTriangle = 1e-2;  // how far towards a triangle's middle a probe of it stands
constexpr std::size_t kMostProbes = 5;     // per group; their median counts
constexpr std::size_t kProbesPerTask = 16;
constexpr std::size_t kVerticesPerTask = 512;
constexpr double kOnPlane = 1e-12;  // height over distance: beyond rounding it is above

class Outside {
 public:
  Outside(const ClosedSurface& surface, const Incidence& incidence, std::span<const Vec3f> positions,
          const WindingTree& winding, std::span<const std::uint8_t> on_others)
      : surface_(surface), incidence_(incidence), positions_(positions), winding_(winding) {
    const std::span<const Triangle> triangles(surface.triangles.data(), surface.triangle_count);
    normals_ = angle_weighted_normals({positions, triangles});
    plain_.assign(surface.vertex_count, 1);
    for (const Triangle& f : triangles) {
      const Vec3d cross = double_area(f);
      for (const std::uint32_t v : f)
        if (!(normals_[v].dot(cross) > 0) && !cross.isZero(0)) plain_[v] = 0;
    }
    // What the normal points along may be the other surface itself.
    for (std::size_t v = 0; v < surface.vertex_count; ++v)
      if (on_others[v]) plain_[v] = 0;
  }

  /// The normal lies on the outer side of all triangles at the vertex, and the vertex on no others.
  bool is_plain(std::uint32_t v) const { return plain_[v] != 0 && !normals_[v].isZero(0); }

  double at(std::uint32_t v) const {
    if (is_plain(v)) return winding_.at(position(v) + kOffset * mean_edge(v) * normals_[v]);
    // Seldom: a sharp fold, or exactly on another triangle. Not buried when some of its triangles is bare.
    double least = 0;
    bool any = false;
    for (const std::uint32_t corner : incidence_[v]) {
      const Triangle& f = surface_.triangles[corner / 3];
      const Vec3d cross = double_area(f);
      const double length = cross.norm();
      if (!(length > 0)) continue;
      const Vec3d middle = (position(f[0]) + position(f[1]) + position(f[2])) / 3;
      const Vec3d foot = position(v) + kShareOfTriangle * (middle - position(v));
      const double height = kOffset * kShareOfTriangle * (middle - position(v)).norm();
      const double here = winding_.at(foot + height / length * cross);
      least = any ? std::min(least, here) : here;
      any = true;
    }
    return least;
  }

  /// Just outside the middle of a triangle, fans' included.
  double at_middle(const Triangle& f) const {
    const Vec3d cross = double_area(f);
    const double length = cross.norm();
    if (!(length > 0)) return 0;
    const Vec3d middle = (position(f[0]) + position(f[1]) + position(f[2])) / 3;
    return winding_.at(middle + kOffset * std::sqrt(length) / length * cross);
  }

 private:
  Vec3d position(std::uint32_t v) const { return positions_[v].cast<double>(); }
  Vec3d double_area(const Triangle& f) const {
    return (position(f[1]) - position(f[0])).cross(position(f[2]) - position(f[0]));
  }
  double mean_edge(std::uint32_t v) const {
    double sum = 0;
    for (const std::uint32_t corner : incidence_[v]) {
      const Triangle& f = surface_.triangles[corner / 3];
      sum += (position(f[(corner + 1) % 3]) - position(f[corner % 3])).norm();
    }
    return sum / static_cast<double>(std::max<std::size_t>(1, incidence_[v].size()));
  }

  const ClosedSurface& surface_;
  const Incidence& incidence_;
  std::span<const Vec3f> positions_;
  const WindingTree& winding_;
  std::vector<Vec3d> normals_;
  std::vector<char> plain_;
};

/// How many rings of triangles lie between each vertex and the nearest triangle that meets another: 0, 1 or 2
/// and more.
std::vector<std::uint8_t> rings_from_contact(const ClosedSurface& surface, std::size_t vertex_count,
                                             std::span<const Meeting> meetings) {
  std::vector<std::uint8_t> rings(vertex_count, 2);
  for (std::size_t t = 0; t < surface.triangles.size(); ++t)
    if (meetings[t] != Meeting::none)
      for (const std::uint32_t v : surface.triangles[t]) rings[v] = 0;
  for (const Triangle& f : surface.triangles)
    if (rings[f[0]] == 0 || rings[f[1]] == 0 || rings[f[2]] == 0)
      for (const std::uint32_t v : f) rings[v] = std::min<std::uint8_t>(rings[v], 1);
  return rings;
}

/// Triangles that meet no others and hang together by edges. Not by vertices: where a fold begins, the line
/// along which the surface cuts itself ends in a vertex, and what lies on both sides of the line meets there.
class ContactFreePatches {
 public:
  ContactFreePatches(const ClosedSurface& surface, std::span<const Meeting> meetings)
      : sets_(surface.triangles.size()) {
    for (const auto& pair : surface.neighbours)
      if (meetings[pair[0]] == Meeting::none && meetings[pair[1]] == Meeting::none)
        sets_.join(pair[0], pair[1]);
  }

  std::uint32_t of_triangle(std::uint32_t t) { return sets_.find(t); }

 private:
  DisjointSets sets_;
};

/// Whether a point lies on the straight line between two others, exactly.
bool lies_between(const Vec3d& point, const Vec3d& a, const Vec3d& b) {
  const Vec3d along = b - a, to = point - a;
  const double share = to.dot(along);
  return share >= 0 && share <= along.squaredNorm() && to.cross(along).isZero(0);
}

/// Inside it or on its border.
bool lies_on_triangle(const Vec3d& point, const std::array<Vec3d, 3>& corners) {
  const Vec3d normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
  const double height = std::abs(normal.dot(point - corners[0]));
  bool inside = height <= kOnPlane * normal.norm() * (point - corners[0]).norm();
  if (!inside) return false;
  for (std::size_t k = 0; k < 3; ++k) {
    const Vec3d &a = corners[k], &b = corners[(k + 1) % 3];
    if (lies_between(point, a, b)) return true;
    inside = inside && (b - a).cross(point - a).dot(normal) > 0;
  }
  return inside;
}

/// Vertices that share one winding number.
struct Group {
  std::vector<std::uint32_t> best;  // those that speak for it most surely
  int surety = -1;
  double winding = 0;
};

}  // namespace

Contacts find_contacts(const ClosedSurface& surface, std::span<const Vec3f> positions,
                       const FittedTriangleTree& boxes, std::span<const TrianglePair> pairs) {
  Contacts contacts;
  contacts.triangles.assign(surface.triangles.size(), Meeting::none);
  contacts.vertices.assign(positions.size(), 0);
  const auto for_each_touched = [&](std::size_t v, const auto& visit) {
    const Vec3f& point = positions[v];
    const auto holds = [&](const Eigen::AlignedBox3f& box) { return box.contains(point); };
    boxes.for_each(holds, [&](std::uint32_t t) {
      const Triangle& f = surface.triangles[t];
      if (f[0] == v || f[1] == v || f[2] == v) return;
      if (lies_on_triangle(point.cast<double>(),
                           {positions[f[0]].cast<double>(), positions[f[1]].cast<double>(),
                            positions[f[2]].cast<double>()}))
        visit(t);
    });
  };
  parallel_blocks(positions.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      for_each_touched(v, [&](std::uint32_t) { contacts.vertices[v] = 1; });
  });
  for (std::uint32_t v = 0; v < positions.size(); ++v)
    if (contacts.vertices[v])
      for_each_touched(v, [&](std::uint32_t t) {
        contacts.touches.push_back({v, t});
        contacts.triangles[t] = Meeting::touching;
      });
  for (std::size_t t = 0; t < surface.triangles.size(); ++t)
    for (const std::uint32_t v : surface.triangles[t])
      if (contacts.vertices[v]) contacts.triangles[t] = Meeting::touching;
  for (const TrianglePair& pair : pairs)
    contacts.triangles[pair[0]] = contacts.triangles[pair[1]] = Meeting::intersecting;
  return contacts;
}

Burial find_burial(const ClosedSurface& surface, const Incidence& incidence, std::span<const Vec3f> positions,
                   const WindingTree& winding, const Contacts& contacts) {
  const std::span<const Meeting> meetings = contacts.triangles;
  const Outside outside(surface, incidence, positions, winding, contacts.vertices);
  ContactFreePatches patches(surface, meetings);
  const std::vector<std::uint8_t> rings = rings_from_contact(surface, positions.size(), meetings);
  constexpr std::uint32_t kNone = 0xffffffffu;
  std::vector<std::uint32_t> group_of_patch(surface.triangles.size(), kNone);
  std::vector<std::uint32_t> group_of_vertex(surface.vertex_count, kNone);
  std::vector<Group> groups;
  for (std::uint32_t v = 0; v < surface.vertex_count; ++v) {
    if (incidence[v].empty()) continue;
    std::uint32_t patch = kNone;
    bool several = false;
    for (const std::uint32_t corner : incidence[v]) {
      if (meetings[corner / 3] != Meeting::none) continue;
      const std::uint32_t here = patches.of_triangle(corner / 3);
      several = several || (patch != kNone && patch != here);
      patch = here;
    }
    // Between patches, or among triangles that meet others, a vertex speaks for itself.
    std::uint32_t alone = kNone;
    std::uint32_t& number = several || patch == kNone ? alone : group_of_patch[patch];
    if (number == kNone) {
      number = static_cast<std::uint32_t>(groups.size());
      groups.emplace_back();
    }
    group_of_vertex[v] = number;
    // Just off a sharp fold, or next to a contact, may be beyond the other sheet.
    Group& group = groups[number];
    const int surety = (outside.is_plain(v) ? 3 : 0) + rings[v];
    if (surety > group.surety) group.best.clear();
    if (surety >= group.surety) {
      group.surety = surety;
      group.best.push_back(v);
    }
  }

  parallel_blocks(groups.size(), kProbesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      std::array<double, kMostProbes> found;
      found.fill(std::numeric_limits<double>::infinity());
      const std::size_t all = groups[p].best.size(), count = std::min(all, kMostProbes);
      for (std::size_t i = 0; i < count; ++i) found[i] = outside.at(groups[p].best[i * all / count]);
      std::sort(found.begin(), found.end());
      groups[p].winding = found[(count - 1) / 2];
    }
  });
  Burial burial;
  burial.outside.assign(surface.vertex_count, 0);
  for (std::uint32_t v = 0; v < surface.vertex_count; ++v)
    if (group_of_vertex[v] != kNone) burial.outside[v] = groups[group_of_vertex[v]].winding;

  // Patches without a vertex of their own: every corner lies on a line of contact.
  std::vector<std::uint32_t> bare_patches;
  for (std::uint32_t t = 0; t < surface.triangles.size(); ++t)
    if (meetings[t] != Meeting::intersecting && patches.of_triangle(t) == t && group_of_patch[t] == kNone)
      bare_patches.push_back(t);
  burial.triangles.assign(surface.triangles.size(), 0);
  parallel_blocks(bare_patches.size(), kProbesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t t = bare_patches[i];
      burial.triangles[t] = outside.at_middle(surface.triangles[t]) > 0.5;
    }
  });
  for (std::uint32_t t = 0; t < surface.triangles.size(); ++t) {
    if (meetings[t] == Meeting::intersecting) continue;
    const std::uint32_t patch = patches.of_triangle(t);
    burial.triangles[t] = group_of_patch[patch] == kNone ? burial.triangles[patch]
                                                         : groups[group_of_patch[patch]].winding > 0.5;
  }
  return burial;
}

}  // namespace sinew
