#include "tests/support/decimate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <queue>
#include <tuple>

#include <sinew/core/index.h>

namespace sinew::test {

namespace {

/// Sum of squared distances to planes, as the upper half of a symmetric 4 × 4 matrix.
struct Quadric {
  std::array<double, 10> q{};

  void add_plane(const Vec3d& n, double d, double weight) {
    const double p[4] = {n.x(), n.y(), n.z(), d};
    for (int i = 0, k = 0; i < 4; ++i)
      for (int j = i; j < 4; ++j) q[to_size(k++)] += weight * p[i] * p[j];
  }
  double at(const Vec3f& x) const {
    const double p[4] = {x.x(), x.y(), x.z(), 1};
    double sum = 0;
    for (int i = 0, k = 0; i < 4; ++i)
      for (int j = i; j < 4; ++j) sum += (i == j ? 1 : 2) * q[to_size(k++)] * p[i] * p[j];
    return sum;
  }
};

class Decimation {
 public:
  explicit Decimation(const MeshView& mesh)
      : positions_(mesh.positions),
        triangles_(mesh.triangles.begin(), mesh.triangles.end()),
        alive_(triangles_.size(), true),
        around_(positions_.size()),
        quadrics_(positions_.size()),
        version_(positions_.size(), 0),
        left_(triangles_.size()) {
    for (std::uint32_t t = 0; t < triangles_.size(); ++t) {
      const auto [a, b, c] = triangles_[t];
      const Vec3d origin = positions_[a].cast<double>();
      const Vec3d cross =
          (positions_[b].cast<double>() - origin).cross(positions_[c].cast<double>() - origin);
      const double area = cross.norm();
      for (const std::uint32_t v : triangles_[t]) {
        around_[v].push_back(t);
        if (area > 0) quadrics_[v].add_plane(cross / area, -cross.dot(origin) / area, area);
      }
    }
  }

  void run(std::size_t target, bool may_flip) {
    may_flip_ = may_flip;
    queue_ = {};
    for (std::uint32_t v = 0; v < positions_.size(); ++v) propose(v);
    while (left_ > target && !queue_.empty()) {
      const auto [cost, from, to, from_version, to_version] = queue_.top();
      queue_.pop();
      if (from_version != version_[from] || to_version != version_[to]) continue;
      if (allowed(from, to)) collapse(from, to);
    }
  }

  std::size_t triangles_left() const { return left_; }

  DecimatedMesh result() const {
    DecimatedMesh coarse;
    std::vector<int> place(positions_.size(), -1);
    for (std::size_t t = 0; t < triangles_.size(); ++t) {
      if (!alive_[t]) continue;
      Triangle triangle = triangles_[t];
      for (std::uint32_t& v : triangle) {
        if (place[v] < 0) {
          place[v] = static_cast<int>(coarse.positions.size());
          coarse.positions.push_back(positions_[v]);
          coarse.source.push_back(static_cast<int>(v));
        }
        v = static_cast<std::uint32_t>(place[v]);
      }
      coarse.triangles.push_back(triangle);
    }
    return coarse;
  }

 private:
  using Proposal = std::tuple<double, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

  std::vector<std::uint32_t> neighbours(std::uint32_t v) const {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t t : around_[v])
      for (const std::uint32_t w : triangles_[t])
        if (w != v) result.push_back(w);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  void propose(std::uint32_t from) {
    for (const std::uint32_t to : neighbours(from)) {
      const double cost = quadrics_[from].at(positions_[to]) + quadrics_[to].at(positions_[to]);
      queue_.emplace(cost, from, to, version_[from], version_[to]);
    }
  }

  Vec3f cross(const Triangle& t) const {
    return (positions_[t[1]] - positions_[t[0]]).cross(positions_[t[2]] - positions_[t[0]]);
  }

  /// The surface stays manifold when the ends share just the two vertices opposite of the edge.
  bool allowed(std::uint32_t from, std::uint32_t to) const {
    const std::vector<std::uint32_t> a = neighbours(from), b = neighbours(to);
    if (a.size() <= 3 && b.size() <= 3) return false;
    std::vector<std::uint32_t> common;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
    if (common.size() != 2) return false;
    for (const std::uint32_t v : common)
      if (around_[v].size() <= 3) return false;
    if (may_flip_) return true;
    for (const std::uint32_t t : around_[from]) {
      Triangle moved = triangles_[t];
      if (std::find(moved.begin(), moved.end(), to) != moved.end()) continue;
      std::replace(moved.begin(), moved.end(), from, to);
      const Vec3f before = cross(triangles_[t]), after = cross(moved);
      if (!(before.dot(after) > 0.2f * before.norm() * after.norm())) return false;
    }
    return true;
  }

  void collapse(std::uint32_t from, std::uint32_t to) {
    for (const std::uint32_t t : around_[from]) {
      Triangle& triangle = triangles_[t];
      if (std::find(triangle.begin(), triangle.end(), to) == triangle.end()) {
        std::replace(triangle.begin(), triangle.end(), from, to);
        around_[to].push_back(t);
      } else {
        alive_[t] = false;
        --left_;
        for (const std::uint32_t v : triangle)
          if (v != from) std::erase(around_[v], t);
      }
    }
    around_[from].clear();
    for (std::size_t k = 0; k < 10; ++k) quadrics_[to].q[k] += quadrics_[from].q[k];
    ++version_[from];
    ++version_[to];
    propose(to);
    for (const std::uint32_t v : neighbours(to)) {
      const double cost = quadrics_[v].at(positions_[to]) + quadrics_[to].at(positions_[to]);
      queue_.emplace(cost, v, to, version_[v], version_[to]);
    }
  }

  std::span<const Vec3f> positions_;
  std::vector<Triangle> triangles_;
  std::vector<bool> alive_;
  std::vector<std::vector<std::uint32_t>> around_;
  std::vector<Quadric> quadrics_;
  std::vector<std::uint32_t> version_;
  std::size_t left_;
  bool may_flip_ = false;
  std::priority_queue<Proposal, std::vector<Proposal>, std::greater<>> queue_;
};

}  // namespace

DecimatedMesh decimate(const MeshView& mesh, std::size_t triangles) {
  Decimation decimation(mesh);
  decimation.run(triangles, false);
  if (decimation.triangles_left() > triangles) decimation.run(triangles, true);
  return decimation.result();
}

}  // namespace sinew::test
