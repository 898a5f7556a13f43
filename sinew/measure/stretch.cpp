#include <sinew/measure/stretch.h>

#include <algorithm>
#include <cmath>

#include <Eigen/Geometry>

#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr double kSliver = 1e-6;           // smallest height over longest side
constexpr double kDegenerateShare = 0.01;  // of the smallest height at rest

struct Size {
  double area = 0;
  double longest = 0;
  double height() const { return longest > 0 ? 2 * area / longest : 0; }
};

Size size_of(const Triangle& f, std::span<const Vec3f> positions) {
  const Vec3d a = positions[f[0]].cast<double>(), b = positions[f[1]].cast<double>(),
              c = positions[f[2]].cast<double>();
  return {(b - a).cross(c - a).norm() / 2, std::max({(b - a).norm(), (c - b).norm(), (a - c).norm()})};
}

class RatioSum {
 public:
  void add(double now, double rest) {
    const double change = now / rest - 1;
    stretch_.largest = std::max(stretch_.largest, change);
    stretch_.smallest = std::min(stretch_.smallest, change);
    squares_ += rest * change * change;
    weight_ += rest;
  }
  Stretch result() const {
    Stretch stretch = stretch_;
    stretch.rms = weight_ > 0 ? std::sqrt(squares_ / weight_) : 0;
    return stretch;
  }

 private:
  Stretch stretch_;
  double squares_ = 0, weight_ = 0;
};

}  // namespace

StretchMeter::StretchMeter(const MeshView& rest) {
  std::vector<std::array<std::uint32_t, 2>> edges;
  for (const Triangle& f : rest.triangles) {
    const Size size = size_of(f, rest.positions);
    if (size.area > 0 && size.height() >= kSliver * size.longest) {
      triangles_.push_back({f, size.area, size.height()});
    } else {
      ++slivers_;
    }
    for (int k = 0; k < 3; ++k)
      edges.push_back({std::min(f[k], f[(k + 1) % 3]), std::max(f[k], f[(k + 1) % 3])});
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  double sum = 0;
  for (const auto& ends : edges) {
    const double length =
        (rest.positions[ends[1]].cast<double>() - rest.positions[ends[0]].cast<double>()).norm();
    if (!(length > 0)) continue;
    edges_.push_back({ends, length});
    sum += length;
  }
  mean_edge_ = edges_.empty() ? 0 : sum / static_cast<double>(edges_.size());
}

Stretch StretchMeter::area_stretch(std::span<const Vec3f> positions) const {
  RatioSum sum;
  for (const RestTriangle& triangle : triangles_)
    sum.add(size_of(triangle.corners, positions).area, triangle.area);
  return sum.result();
}

Stretch StretchMeter::edge_stretch(std::span<const Vec3f> positions) const {
  RatioSum sum;
  for (const RestEdge& edge : edges_)
    sum.add((positions[edge.ends[1]].cast<double>() - positions[edge.ends[0]].cast<double>()).norm(),
            edge.length);
  return sum.result();
}

std::size_t StretchMeter::degenerate_triangles(std::span<const Vec3f> positions) const {
  return to_size(std::count_if(triangles_.begin(), triangles_.end(), [&](const RestTriangle& t) {
    return size_of(t.corners, positions).height() < kDegenerateShare * t.height;
  }));
}

}  // namespace sinew
