#include <sinew/geometry/fast_winding.h>

#include <cassert>
#include <cmath>
#include <numbers>

#include <sinew/core/parallel.h>

namespace sinew {

namespace {

// How many radii of a node away its moments are good enough. Barill et al. use 2 with one order more.
constexpr double kFarRadii = 4;
constexpr std::size_t kPointsPerTask = 64;

// tan(Ω/2) = y / x gives Ω/2; most triangles are seen under small angles, where the series has all digits we
// need at a fraction of the cost.
double half_angle(double y, double x) {
  if (x > 0 && std::abs(y) < 0.05 * x) {
    const double s = y / x, s2 = s * s;
    return s * (1 - s2 * (1.0 / 3 - s2 * (1.0 / 5 - s2 * (1.0 / 7))));
  }
  return y != 0 || x != 0 ? std::atan2(y, x) : 0;
}

}  // namespace

WindingTree::WindingTree(const TriangleTree& tree, const FittedTriangleTree& boxes,
                         std::span<const Vec3f> positions)
    : tree_(tree), far_(tree.nodes().size()) {
  corners_.reserve(tree.triangles().size());
  for (const Triangle& f : tree.triangles())
    corners_.push_back({positions[f[0]], positions[f[1]], positions[f[2]]});

  std::vector<double> areas(far_.size());
  for (std::size_t n = far_.size(); n-- > 0;) {
    const TriangleTree::Node& node = tree.nodes()[n];
    Far& far = far_[n];
    far.normal.setZero();
    far.moment.setZero();
    Vec3d weighted = Vec3d::Zero();
    const Vec3d middle =
        boxes.boxes()[n].min().cast<double>() / 2 + boxes.boxes()[n].max().cast<double>() / 2;
    const auto settle_centre = [&] {
      far.centre = areas[n] > 0 ? Vec3d(middle + weighted / areas[n]) : middle;
    };
    if (node.is_leaf()) {
      const auto normal_and_centre = [&](std::uint32_t t) {
        const Vec3d a = corners_[t][0].cast<double>(), b = corners_[t][1].cast<double>(),
                    c = corners_[t][2].cast<double>();
        return std::pair<Vec3d, Vec3d>((b - a).cross(c - a) / 2, (a + b + c) / 3);
      };
      for (std::uint32_t t = node.begin; t < node.end; ++t) {
        const auto triangle = normal_and_centre(t);
        const double area = triangle.first.norm();
        areas[n] += area;
        weighted += area * (triangle.second - middle);
      }
      settle_centre();
      for (std::uint32_t t = node.begin; t < node.end; ++t) {
        const auto triangle = normal_and_centre(t);
        far.normal += triangle.first;
        far.moment += triangle.first * (triangle.second - far.centre).transpose();
      }
    } else {
      for (const std::size_t child : {n + 1, std::size_t{node.right}}) {
        areas[n] += areas[child];
        weighted += areas[child] * (far_[child].centre - middle);
      }
      settle_centre();
      for (const std::size_t child : {n + 1, std::size_t{node.right}}) {
        far.normal += far_[child].normal;
        far.moment += far_[child].moment + far_[child].normal * (far_[child].centre - far.centre).transpose();
      }
    }
    const Vec3d low = far.centre - boxes.boxes()[n].min().cast<double>();
    const Vec3d high = boxes.boxes()[n].max().cast<double>() - far.centre;
    far.reach = kFarRadii * kFarRadii * low.cwiseMax(high).squaredNorm();
  }
}

double WindingTree::at(const Vec3d& point) const {
  if (far_.empty()) return 0;
  double far_angle = 0, half_near_angle = 0;
  std::array<std::uint32_t, kTreeStack> waiting;
  std::size_t count = 0;
  waiting[count++] = 0;
  while (count > 0) {
    const std::uint32_t n = waiting[--count];
    const Far& far = far_[n];
    const Vec3d r = far.centre - point;
    const double squared = r.squaredNorm();
    if (squared > far.reach) {
      // Barill et al. 2018, eq. 13-15: n·(r + d)/|r + d|³ to first order in d, summed over the triangles.
      const double inverse = 1 / squared;
      const double cubed = inverse / std::sqrt(squared);
      far_angle += cubed * (far.normal.dot(r) + far.moment.trace() - 3 * inverse * r.dot(far.moment * r));
      continue;
    }
    const TriangleTree::Node& node = tree_.nodes()[n];
    if (!node.is_leaf()) {
      waiting[count++] = node.right;
      waiting[count++] = n + 1;
      continue;
    }
    for (std::uint32_t t = node.begin; t < node.end; ++t) {
      const Vec3d a = corners_[t][0].cast<double>() - point, b = corners_[t][1].cast<double>() - point,
                  c = corners_[t][2].cast<double>() - point;
      const double la = a.norm(), lb = b.norm(), lc = c.norm();
      // Van Oosterom & Strackee 1983, eq. 8.
      half_near_angle +=
          half_angle(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
    }
  }
  return (far_angle + 2 * half_near_angle) / (4 * std::numbers::pi);
}

void WindingTree::at(std::span<const Vec3d> points, std::span<double> winding) const {
  assert(points.size() == winding.size());
  parallel_blocks(points.size(), kPointsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) winding[i] = at(points[i]);
  });
}

}  // namespace sinew
