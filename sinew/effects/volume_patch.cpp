#include <sinew/effects/volume_patch.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sinew {

namespace {

// Of the mean: smaller areas count as this much.
constexpr double kLeastArea = 0.01;
// An axis with less than this share of all that the patch can do hands some of its volume to the others.
constexpr double kWeakAxis = 0.02;
// In sizes of the patch: a patch that has all but vanished would have to move its vertices farther.
constexpr double kFarthest = 2;

struct LinkEdge {
  std::uint32_t from, to;
};

/// The edges across from a vertex, as one closed walk that ends where it began. Round a vertex of a closed
/// surface as many edges lead to each neighbour as lead away from it, so greedy walks close; a second one is
/// reached from the start of the first and left the same way, which cancels out.
void append_ring(std::vector<LinkEdge>& edges, std::vector<std::uint32_t>& ring) {
  const std::size_t begin = ring.size();
  while (!edges.empty()) {
    const std::uint32_t start = edges.back().from;
    std::uint32_t at = start;
    ring.push_back(start);
    while (true) {
      const auto next =
          std::find_if(edges.rbegin(), edges.rend(), [&](const LinkEdge& edge) { return edge.from == at; });
      if (next == edges.rend()) break;
      at = next->to;
      ring.push_back(at);
      edges.erase(std::next(next).base());
    }
    assert(at == start && "the surface is not closed round the vertex");
    if (ring[begin] != start) ring.push_back(ring[begin]);
  }
}

/// Six times the derivative of the volume by a vertex's coordinate along the axis after which `b` and `c`
/// come: the area of its ring as seen along it.
double ring_area(std::span<const std::uint32_t> ring, const double* b, const double* c) {
  double sum = 0;
  double b0 = b[ring[0]], c0 = c[ring[0]];
  for (std::size_t i = 1; i < ring.size(); ++i) {
    const double b1 = b[ring[i]], c1 = c[ring[i]];
    sum += b0 * c1 - c0 * b1;
    b0 = b1, c0 = c1;
  }
  return sum;
}

}  // namespace

VolumePatch::VolumePatch(std::span<const Triangle> triangles, const Incidence& incidence,
                         std::span<const double> rest_area, std::span<const Vertex> vertices)
    : moving_(vertices.size()) {
  double mean_area = 0;
  for (const Vertex& v : vertices) {
    assert(v.freedom > 0 && std::isfinite(v.freedom));
    points_.push_back(v.vertex);
    mean_area += rest_area[v.vertex] / static_cast<double>(vertices.size());
  }
  assert(std::is_sorted(points_.begin(), points_.end()));
  std::vector<std::uint32_t> ring, around;
  std::vector<LinkEdge> edges;
  ring_starts_.push_back(0);
  for (const Vertex& v : vertices) {
    const double area = std::max(rest_area[v.vertex], kLeastArea * mean_area);
    s_.push_back(area > 0 ? v.freedom * v.freedom * mean_area / area : 0);
    edges.clear();
    for (const std::uint32_t corner : incidence[v.vertex]) {
      const Triangle& f = triangles[corner / 3];
      const int k = static_cast<int>(corner % 3);
      edges.push_back({f[(k + 1) % 3], f[(k + 2) % 3]});
    }
    append_ring(edges, ring);
    ring_starts_.push_back(static_cast<std::uint32_t>(ring.size()));
  }
  around = ring;
  std::sort(around.begin(), around.end());
  around.erase(std::unique(around.begin(), around.end()), around.end());
  points_.reserve(points_.size() + around.size());  // set_difference reads what it appends to
  std::set_difference(around.begin(), around.end(), points_.begin(),
                      points_.begin() + static_cast<std::ptrdiff_t>(moving_), std::back_inserter(points_));
  const auto number_of = [&](std::uint32_t v) {
    const auto middle = points_.begin() + static_cast<std::ptrdiff_t>(moving_);
    const auto found = std::lower_bound(points_.begin(), middle, v);
    if (found != middle && *found == v) return static_cast<std::uint32_t>(found - points_.begin());
    return static_cast<std::uint32_t>(std::lower_bound(middle, points_.end(), v) - points_.begin());
  };
  rings_.reserve(ring.size());
  for (const std::uint32_t v : ring) rings_.push_back(number_of(v));
}

VolumePatch::Ability VolumePatch::ability(std::span<const Vec3d> positions,
                                          std::span<const float> room) const {
  Ability ability;
  for (std::size_t i = 0; i < moving_; ++i) {
    const Vec3d& origin = positions[points_[i]];
    Vec3d area = Vec3d::Zero();
    for (std::uint32_t r = ring_starts_[i]; r + 1 < ring_starts_[i + 1]; ++r)
      area += (positions[points_[rings_[r]]] - origin).cross(positions[points_[rings_[r + 1]]] - origin);
    const double length = area.norm() / 6;
    ability.strength += freedom(i, room) * length * length;
    ability.farthest = std::max(ability.farthest, freedom(i, room) * length);
  }
  return ability;
}

bool VolumePatch::restore(double loss, const VolumeFrame& frame, const VolumeShares& shares,
                          std::span<const float> room, std::span<double> scratch,
                          std::span<Vec3d> positions) const {
  assert(scratch.size() >= scratch_size());
  const std::size_t count = points_.size();
  const std::array<double*, 3> x{scratch.data(), scratch.data() + count, scratch.data() + 2 * count};
  double* const area = scratch.data() + 3 * count;
  if (!std::isfinite(loss) || !std::isfinite(shares[0] + shares[1] + shares[2])) return false;
  Eigen::AlignedBox3d box;
  for (std::size_t i = 0; i < count; ++i) {
    if (!positions[points_[i]].allFinite()) return false;
    box.extend(positions[points_[i]]);
    const Vec3d local = frame.axes.transpose() * (positions[points_[i]] - frame.origin);
    for (std::size_t a = 0; a < 3; ++a) x[a][i] = local[static_cast<int>(a)];
  }
  const auto ring = [&](std::size_t i) {
    return std::span(rings_).subspan(ring_starts_[i], ring_starts_[i + 1] - ring_starts_[i]);
  };

  std::array<double, 3> strength{};
  for (std::size_t i = 0; i < moving_; ++i) {
    if (ring_starts_[i] == ring_starts_[i + 1]) continue;
    for (std::size_t a = 0; a < 3; ++a) {
      const double r = ring_area(ring(i), x[(a + 1) % 3], x[(a + 2) % 3]);
      strength[a] += freedom(i, room) * r * r;
    }
  }
  const double all = strength[0] + strength[1] + strength[2];
  if (!(all > 0) || !std::isfinite(all)) return false;
  std::array<double, 3> share{};
  double handed_over = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    share[a] = shares[a] * std::min(1.0, strength[a] / (kWeakAxis * all));
    handed_over += shares[a] - share[a];
  }
  for (std::size_t a = 0; a < 3; ++a) share[a] += handed_over * strength[a] / all;

  for (std::size_t a = 0; a < 3; ++a) {
    if (!(share[a] > 0)) continue;
    double now = 0, farthest = 0;
    for (std::size_t i = 0; i < moving_; ++i) {
      area[i] =
          ring_starts_[i] == ring_starts_[i + 1] ? 0 : ring_area(ring(i), x[(a + 1) % 3], x[(a + 2) % 3]);
      const double s = freedom(i, room);
      now += s * area[i] * area[i];
      area[i] *= s;
      farthest = std::max(farthest, std::abs(area[i]));
    }
    // ∂V/∂x is a sixth of the ring's area; a mirrored frame turns its sign round.
    const double step = -6 * loss * share[a] / now * (frame.axes.determinant() < 0 ? -1 : 1);
    // Written so that NaN, from an axis that has nothing left to move, counts, too.
    if (!(std::abs(step) * farthest <= kFarthest * box.diagonal().norm())) return false;
    for (std::size_t i = 0; i < moving_; ++i) x[a][i] += step * area[i];
  }
  for (std::size_t i = 0; i < moving_; ++i)
    positions[points_[i]] = frame.origin + frame.axes * Vec3d(x[0][i], x[1][i], x[2][i]);
  return true;
}

}  // namespace sinew
