#include <sinew/geometry/sampling.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

#include <Eigen/Geometry>

namespace sinew {

namespace {

// Splitmix64. The standard library's distributions differ from one implementation to the next.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

struct Candidate {
  std::uint32_t triangle;
  Vec3d barycentric;
  Vec3d position;  // at unit size
};

// Candidates per sample. More give a denser packing, that is a larger distance, at more cost.
constexpr std::size_t kCandidatesPerSample = 32;

// Spread over the surface by area: one candidate in each of `count` equal shares of the area, in random
// order.
std::vector<Candidate> make_candidates(const std::vector<Vec3d>& corners, std::span<const std::uint32_t> part,
                                       std::span<const double> area_ends, std::size_t count, Random& random) {
  std::vector<Candidate> candidates(count);
  std::size_t t = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double at =
        (static_cast<double>(i) + random.unit()) / static_cast<double>(count) * area_ends.back();
    while (t + 1 < area_ends.size() && area_ends[t] <= at) ++t;
    const double root = std::sqrt(random.unit()), share = random.unit();
    const Vec3d weights(1 - root, root * (1 - share), root * share);
    candidates[i] = {
        part[t], weights,
        weights[0] * corners[3 * t] + weights[1] * corners[3 * t + 1] + weights[2] * corners[3 * t + 2]};
  }
  for (std::size_t i = count; i > 1; --i) std::swap(candidates[i - 1], candidates[random.next() % i]);
  return candidates;
}

// Takes candidates in order, each unless a taken one is nearer than the distance.
class DartThrower {
 public:
  explicit DartThrower(const std::vector<Candidate>& candidates)
      : candidates_(candidates), heads_(std::bit_ceil(candidates.size() + 1)), next_(candidates.size()) {}

  const std::vector<std::uint32_t>& run(double distance) {
    std::fill(heads_.begin(), heads_.end(), kNone);
    taken_.clear();
    for (std::uint32_t c = 0; c < candidates_.size(); ++c) {
      const Vec3d& p = candidates_[c].position;
      const std::array<std::int64_t, 3> cell = {static_cast<std::int64_t>(std::floor(p.x() / distance)),
                                                static_cast<std::int64_t>(std::floor(p.y() / distance)),
                                                static_cast<std::int64_t>(std::floor(p.z() / distance))};
      if (near_taken(p, cell, distance)) continue;
      std::uint32_t& head = heads_[bucket(cell)];
      next_[c] = head;
      head = c;
      taken_.push_back(c);
    }
    return taken_;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Different cells may share a bucket; that costs a look at a few far points and nothing else.
  std::size_t bucket(const std::array<std::int64_t, 3>& cell) const {
    std::uint64_t h = 0;
    for (const std::int64_t x : cell) {
      h = (h ^ static_cast<std::uint64_t>(x)) * 0xbf58476d1ce4e5b9u;
      h ^= h >> 29;
    }
    return h & (heads_.size() - 1);
  }

  bool near_taken(const Vec3d& p, const std::array<std::int64_t, 3>& cell, double distance) const {
    for (int neighbour = 0; neighbour < 27; ++neighbour) {
      const std::array<std::int64_t, 3> other = {cell[0] + neighbour % 3 - 1, cell[1] + neighbour / 3 % 3 - 1,
                                                 cell[2] + neighbour / 9 - 1};
      for (std::uint32_t c = heads_[bucket(other)]; c != kNone; c = next_[c])
        if ((candidates_[c].position - p).squaredNorm() < distance * distance) return true;
    }
    return false;
  }

  const std::vector<Candidate>& candidates_;
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> taken_;
};

}  // namespace

SurfaceSamples poisson_disk_samples(const MeshView& mesh, std::span<const std::uint32_t> part,
                                    std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> triangles(part.begin(), part.end());
  std::sort(triangles.begin(), triangles.end());
  triangles.erase(std::unique(triangles.begin(), triangles.end()), triangles.end());
  assert(triangles.empty() || triangles.back() < mesh.triangles.size());

  // All work is done at unit size.
  Eigen::AlignedBox3d box;
  for (const std::uint32_t t : triangles)
    for (const std::uint32_t v : mesh.triangles[t]) box.extend(mesh.positions[v].cast<double>());
  const double size = box.isEmpty() ? 0 : box.sizes().maxCoeff();
  if (count == 0 || !(size > 0)) return {};
  std::vector<Vec3d> corners;
  std::vector<double> area_ends;
  std::size_t kept = 0;
  double area = 0;
  for (const std::uint32_t t : triangles) {
    std::array<Vec3d, 3> p;
    for (int k = 0; k < 3; ++k)
      p[k] = (mesh.positions[mesh.triangles[t][k]].cast<double>() - box.min()) / size;
    const double own = 0.5 * (p[1] - p[0]).cross(p[2] - p[0]).norm();
    if (!(own > 0)) continue;
    area += own;
    area_ends.push_back(area);
    corners.insert(corners.end(), p.begin(), p.end());
    triangles[kept++] = t;
  }
  triangles.resize(kept);
  if (triangles.empty()) return {};

  Random random(seed);
  const std::size_t candidate_count = kCandidatesPerSample * std::max<std::size_t>(count, 8);
  const std::vector<Candidate> candidates =
      make_candidates(corners, triangles, area_ends, candidate_count, random);

  // The largest distance that gives `count` points lies below that of the densest packing of disks on the
  // whole area (hexagonal: area = count · distance² · √3 / 2) or, for needles, along the whole length.
  // Bisection finds it; the number of points falls with the distance, but for small ripples.
  DartThrower thrower(candidates);
  double low = 0;
  double high = std::max(std::sqrt(2 * area / (std::numbers::sqrt3 * static_cast<double>(count))),
                         2 / static_cast<double>(count)) *
                1.5;
  SurfaceSamples best;
  std::vector<std::uint32_t> best_taken;
  const auto error = [&](std::size_t n) { return n > count ? n - count : count - n; };
  for (int step = 0; step < 20; ++step) {
    const double distance = 0.5 * (low + high);
    const std::vector<std::uint32_t>& taken = thrower.run(distance);
    if (best_taken.empty() || error(taken.size()) < error(best_taken.size()) ||
        (error(taken.size()) == error(best_taken.size()) && distance * size > best.distance)) {
      best_taken = taken;
      best.distance = distance * size;
    }
    (taken.size() >= count ? low : high) = distance;
    if (taken.size() == count && step >= 12) break;
  }
  for (const std::uint32_t c : best_taken) {
    const Candidate& candidate = candidates[c];
    const auto place =
        std::lower_bound(triangles.begin(), triangles.end(), candidate.triangle) - triangles.begin();
    const Vec3d* p = corners.data() + 3 * place;
    SurfaceSample sample;
    sample.triangle = candidate.triangle;
    sample.barycentric = candidate.barycentric.cast<float>();
    sample.position = (box.min() + size * candidate.position).cast<float>();
    const Vec3d normal = (p[1] - p[0]).cross(p[2] - p[0]);
    sample.normal = (normal / normal.norm()).cast<float>();
    best.samples.push_back(sample);
  }
  return best;
}

}  // namespace sinew
