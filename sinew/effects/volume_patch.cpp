#include <sinew/effects/volume_patch.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <Eigen/Eigenvalues>

#include <sinew/core/index.h>
#include <sinew/effects/ring_areas.h>

namespace sinew {

namespace {

// Of the mean: smaller areas count as this much.
constexpr double kLeastArea = 0.01;
// An axis with less than this share of all that the patch can do hands some of its volume to the others.
constexpr double kWeakAxis = 0.02;
// Margin for what the axes before change.
constexpr double kSurelyNotWeak = 1.25;
// In sizes of the patch: a patch that has all but vanished would have to move its vertices farther.
constexpr double kFarthest = 2;
constexpr std::size_t kBoxPoints = 64;  // that size need not be known well

struct LinkEdge {
  std::uint32_t from, to;
};

/// The edges across from a vertex, as one closed walk that ends where it began. Round a vertex of a closed
/// surface as many edges lead to each neighbour as lead away from it, so greedy walks close; a second one is
/// reached from the start of the first and left by the same path, which cancels out.
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

/// The vertices' numbers, neighbours near each other: so that what is read together lies together.
std::vector<std::uint32_t> breadth_first(std::span<const Triangle> triangles, const Incidence& incidence,
                                         std::span<const VolumePatch::Vertex> vertices) {
  std::unordered_map<std::uint32_t, std::uint32_t> left;
  for (std::uint32_t i = 0; i < vertices.size(); ++i) left.emplace(vertices[i].vertex, i);
  std::vector<std::uint32_t> order;
  const auto take = [&](std::uint32_t vertex) {
    const auto found = left.find(vertex);
    if (found == left.end()) return;
    order.push_back(found->second);
    left.erase(found);
  };
  for (std::size_t start = 0, done = 0; start < vertices.size(); ++start)
    for (take(vertices[start].vertex); done < order.size(); ++done)
      for (const std::uint32_t corner : incidence[vertices[order[done]].vertex])
        for (const std::uint32_t v : triangles[corner / 3]) take(v);
  return order;
}

/// Six times the derivative of the volume by a vertex's coordinate along the axis after which `b` and `c`
/// come: twice the area of its ring as seen along it.
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
    mean_area += rest_area[v.vertex] / static_cast<double>(vertices.size());
  }
  assert(std::is_sorted(vertices.begin(), vertices.end(),
                        [](const Vertex& a, const Vertex& b) { return a.vertex < b.vertex; }));
  // Padded rings first, all of one length: loops of one length are twice as fast.
  std::vector<std::vector<std::uint32_t>> rings(vertices.size());
  std::vector<LinkEdge> edges;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    edges.clear();
    for (const std::uint32_t corner : incidence[vertices[i].vertex]) {
      const Triangle& f = triangles[corner / 3];
      const int k = static_cast<int>(corner % 3);
      edges.push_back({f[(k + 1) % 3], f[(k + 2) % 3]});
    }
    append_ring(edges, rings[i]);
    if (rings[i].empty()) rings[i].push_back(vertices[i].vertex);
    // An edge from a vertex to itself has no area.
    if (rings[i].size() < kPaddedRing) rings[i].resize(kPaddedRing, rings[i].back());
  }
  std::vector<std::uint32_t> order = breadth_first(triangles, incidence, vertices);
  padded_ = to_size(std::stable_partition(order.begin(), order.end(),
                                          [&](std::uint32_t i) { return rings[i].size() == kPaddedRing; }) -
                    order.begin());
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;  // of points_
  ring_starts_.push_back(0);
  for (const std::uint32_t i : order) {
    const Vertex& v = vertices[i];
    const double area = std::max(rest_area[v.vertex], kLeastArea * mean_area);
    s_.push_back(area > 0 ? v.freedom * v.freedom * mean_area / area : 0);
    numbers.emplace(v.vertex, static_cast<std::uint32_t>(points_.size()));
    points_.push_back(v.vertex);
    rings_.insert(rings_.end(), rings[i].begin(), rings[i].end());
    ring_starts_.push_back(static_cast<std::uint32_t>(rings_.size()));
  }
  for (std::uint32_t& v : rings_) {
    const auto [found, is_new] = numbers.emplace(v, static_cast<std::uint32_t>(points_.size()));
    if (is_new) points_.push_back(v);
    v = found->second;
  }
}

std::vector<double> VolumePatch::areas(std::span<const Vec3d> positions) const {
  std::vector<double> areas;
  for (std::size_t i = 0; i < moving_; ++i) {
    const Vec3d& origin = positions[points_[i]];
    Vec3d area = Vec3d::Zero();
    for (std::uint32_t r = ring_starts_[i]; r + 1 < ring_starts_[i + 1]; ++r)
      area += (positions[points_[rings_[r]]] - origin).cross(positions[points_[rings_[r + 1]]] - origin);
    areas.push_back(area.norm() / 6);
  }
  return areas;
}

VolumePatch::Ability VolumePatch::ability(std::span<const Vec3d> positions,
                                          std::span<const float> free_motion) const {
  return ability(areas(positions), free_motion);
}

VolumePatch::Ability VolumePatch::ability(std::span<const double> areas,
                                          std::span<const float> free_motion) const {
  assert(areas.size() == moving_);
  Ability ability;
  for (std::size_t i = 0; i < moving_; ++i) {
    const double left = free_motion.empty() ? 1 : free_motion[points_[i]], moved = s_[i] * left * areas[i];
    ability.strength += moved * left * areas[i];
    ability.farthest = std::max(ability.farthest, moved);
  }
  return ability;
}

bool VolumePatch::restore(double loss, const VolumeFrame& frame, const VolumeShares& shares,
                          std::span<const float> free_motion, std::span<double> scratch,
                          std::span<Vec3d> positions, double rest_strength) const {
  assert(scratch.size() >= scratch_size());
  if (!std::isfinite(loss) || !std::isfinite(shares[0] + shares[1] + shares[2])) return false;
  // Seen in a mirrored frame areas have the other sign.
  if (frame.axes.determinant() < 0) loss = -loss;
  // Where no axis is weak none would hand anything over, and there was no need to look at them all first: it
  // is seen on the path.
  const bool sure = free_motion.empty() && rest_strength > 0;
  const double* free = freedoms(free_motion, scratch);
  double size = load(frame, positions, scratch);
  if (!std::isfinite(size)) return false;
  std::array<double, 3> strengths{rest_strength, rest_strength, rest_strength};
  const auto none_is_weak = [&] {
    return *std::min_element(strengths.begin(), strengths.end()) >
           kSurelyNotWeak * kWeakAxis * (strengths[0] + strengths[1] + strengths[2]);
  };
  if (!sure || !move(loss, shares, free, size, scratch, strengths) || !none_is_weak()) {
    if (sure) size = load(frame, positions, scratch);
    const std::array<double, 3> able = axis_strengths(free, scratch);
    const double all = able[0] + able[1] + able[2];
    if (!(all > 0) || !std::isfinite(all)) return false;
    VolumeShares handed = shares;
    double handed_over = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      handed[a] *= std::min(1.0, able[a] / (kWeakAxis * all));
      handed_over += shares[a] - handed[a];
    }
    for (std::size_t a = 0; a < 3; ++a) handed[a] += handed_over * able[a] / all;
    if (!move(loss, handed, free, size, scratch, strengths)) return false;
  }
  const std::array<double*, 3> x = coordinates(scratch);
  for (std::size_t i = 0; i < moving_; ++i)
    positions[points_[i]] = frame.origin + frame.axes * Vec3d(x[0][i], x[1][i], x[2][i]);
  return true;
}

std::array<double*, 3> VolumePatch::coordinates(std::span<double> scratch) const {
  const std::size_t count = points_.size();
  return {scratch.data(), scratch.data() + count, scratch.data() + 2 * count};
}

double VolumePatch::load(const VolumeFrame& frame, std::span<const Vec3d> positions,
                         std::span<double> scratch) const {
  const std::array<double*, 3> x = coordinates(scratch);
  const Mat3d local_from_world = frame.axes.transpose();
  Eigen::AlignedBox3d box;
  const std::size_t stride = std::max<std::size_t>(1, points_.size() / kBoxPoints);
  double sum = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Vec3d local = local_from_world * (positions[points_[i]] - frame.origin);
    if (i % stride == 0) box.extend(local);
    sum += local.sum();
    for (std::size_t a = 0; a < 3; ++a) x[a][i] = local[static_cast<int>(a)];
  }
  return std::isfinite(sum) ? box.diagonal().norm() : std::numeric_limits<double>::quiet_NaN();
}

const double* VolumePatch::freedoms(std::span<const float> free_motion, std::span<double> scratch) const {
  if (free_motion.empty()) return s_.data();
  double* const left = scratch.data() + 3 * points_.size() + moving_;
  for (std::size_t i = 0; i < moving_; ++i)
    left[i] = s_[i] * free_motion[points_[i]] * free_motion[points_[i]];
  return left;
}

std::array<double, 3> VolumePatch::axis_strengths(const double* free, std::span<double> scratch) const {
  const std::array<double*, 3> x = coordinates(scratch);
  std::array<double, 3> able = ring_strengths(rings_.data(), padded_, x[0], x[1], x[2], free);
  for (std::size_t i = padded_; i < moving_; ++i)
    for (std::size_t a = 0; a < 3; ++a) {
      const double area = ring_area(ring(i), x[(a + 1) % 3], x[(a + 2) % 3]);
      able[a] += free[i] * area * area;
    }
  for (double& strength : able) strength /= 36;  // areas are six times ∂V/∂x
  return able;
}

double VolumePatch::weakest_direction(std::span<const Vec3d> positions) const {
  Mat3d sum = Mat3d::Zero();
  for (std::size_t i = 0; i < moving_; ++i) {
    const Vec3d& origin = positions[points_[i]];
    Vec3d area = Vec3d::Zero();
    for (std::uint32_t r = ring_starts_[i]; r + 1 < ring_starts_[i + 1]; ++r)
      area += (positions[points_[rings_[r]]] - origin).cross(positions[points_[rings_[r + 1]]] - origin);
    sum += s_[i] * area * area.transpose();
  }
  const double all = sum.trace();
  if (!(all > 0)) return 0;
  return Eigen::SelfAdjointEigenSolver<Mat3d>(sum, Eigen::EigenvaluesOnly).eigenvalues()[0] / all;
}

bool VolumePatch::move(double loss, const VolumeShares& shares, const double* free, double size,
                       std::span<double> scratch, std::array<double, 3>& strengths) const {
  const std::array<double*, 3> x = coordinates(scratch);
  double* const displacement = scratch.data() + 3 * points_.size();
  for (std::size_t a = 0; a < 3; ++a) {
    if (!(shares[a] > 0)) continue;
    const double *b = x[(a + 1) % 3], *c = x[(a + 2) % 3];
    // Areas are six times ∂V/∂x.
    AxisSums sums = ring_areas(rings_.data(), padded_, b, c, free, displacement);
    for (std::size_t i = padded_; i < moving_; ++i) {
      const double area = ring_area(ring(i), b, c);
      displacement[i] = free[i] * area;
      sums.strength += displacement[i] * area;
      sums.farthest = std::max(sums.farthest, std::abs(displacement[i]));
    }
    strengths[a] = sums.strength / 36;
    const double step = -6 * loss * shares[a] / sums.strength;
    // Written so that NaN, from an axis that has nothing left to move, counts, too.
    if (!(std::abs(step) * sums.farthest <= kFarthest * size)) return false;
    for (std::size_t i = 0; i < moving_; ++i) x[a][i] += step * displacement[i];
  }
  return true;
}

}  // namespace sinew
