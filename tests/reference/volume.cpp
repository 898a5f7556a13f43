#include "tests/reference/volume.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace sinew::reference {

double signed_volume(std::span<const Vec3d> points, std::span<const Triangle> triangles) {
  double volume = 0;
  for (const Triangle& f : triangles) {
    const Vec3d &a = points[f[0]], &b = points[f[1]], &c = points[f[2]];
    const double determinant = (b.x() - a.x()) * (c.y() - a.y()) - (c.x() - a.x()) * (b.y() - a.y());
    volume += (a.z() + b.z() + c.z()) / 6 * determinant;
  }
  return volume;
}

std::vector<Vec3d> volume_derivative(std::span<const Vec3d> points, std::span<const Triangle> triangles) {
  std::vector<Vec3d> derivative(points.size(), Vec3d::Zero());
  for (const Triangle& f : triangles)
    for (std::size_t k = 0; k < 3; ++k)
      derivative[f[k]] += points[f[(k + 1) % 3]].cross(points[f[(k + 2) % 3]]) / 6;
  return derivative;
}

std::vector<double> vertex_areas(std::span<const Vec3d> points, std::span<const Triangle> triangles) {
  std::vector<double> areas(points.size(), 0);
  for (const Triangle& f : triangles)
    for (const std::uint32_t v : f)
      areas[v] += (points[f[1]] - points[f[0]]).cross(points[f[2]] - points[f[0]]).norm() / 6;
  return areas;
}

void restore_volume(std::span<const Triangle> triangles, std::span<const double> rest_area,
                    std::span<const VolumePatch::Vertex> vertices, double loss, const VolumeFrame& frame,
                    const VolumeShares& shares, std::span<const float> free_motion, std::span<Vec3d> points) {
  double mean_area = 0;
  for (const VolumePatch::Vertex& v : vertices) mean_area += rest_area[v.vertex];
  mean_area /= static_cast<double>(vertices.size());
  std::vector<double> s;
  for (const VolumePatch::Vertex& v : vertices) {
    const double sigma = v.freedom * (free_motion.empty() ? 1.0 : static_cast<double>(free_motion[v.vertex]));
    const double area = std::max(rest_area[v.vertex], 0.01 * mean_area);
    s.push_back(area > 0 ? sigma * sigma * mean_area / area : 0);
  }

  std::vector<Vec3d> local;
  for (const Vec3d& p : points) local.push_back(frame.axes.transpose() * (p - frame.origin));
  const auto strengths = [&] {
    const std::vector<Vec3d> derivative = volume_derivative(local, triangles);
    Vec3d sum = Vec3d::Zero();
    for (std::size_t i = 0; i < vertices.size(); ++i)
      sum += s[i] * derivative[vertices[i].vertex].cwiseAbs2();
    return sum;
  };
  const Vec3d before = strengths();
  if (!(before.sum() > 0)) return;
  const Vec3d asked(shares[0], shares[1], shares[2]);
  const Vec3d kept = asked.cwiseProduct((before / before.sum() / 0.02).cwiseMin(1));
  const Vec3d share = kept + (asked - kept).sum() * before / before.sum();
  for (int axis = 0; axis < 3; ++axis) {
    const double sum = strengths()[axis];
    if (!(share[axis] > 0 && sum > 0)) continue;
    const std::vector<Vec3d> derivative = volume_derivative(local, triangles);
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      const std::uint32_t k = vertices[i].vertex;
      local[k][axis] -= share[axis] * loss * s[i] * derivative[k][axis] / sum;
    }
  }
  for (const VolumePatch::Vertex& v : vertices)
    points[v.vertex] = frame.origin + frame.axes * local[v.vertex];
}

namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // part, anchor

/// The polyhedron between a triangle and the triangle of its anchors; its walls are two triangles each, cut
/// along one or the other diagonal.
double prism_volume(const std::array<Vec3d, 3>& outer, const std::array<Vec3d, 3>& inner, bool diagonal) {
  const std::array<Vec3d, 6> points{outer[0], outer[1], outer[2], inner[0], inner[1], inner[2]};
  std::vector<Triangle> faces{{0, 1, 2}, {5, 4, 3}};
  for (std::uint32_t k = 0; k < 3; ++k) {
    const std::uint32_t a = (k + 1) % 3, b = k, c = k + 3, d = (k + 1) % 3 + 3;
    if (diagonal) {
      faces.push_back({a, b, c});
      faces.push_back({a, c, d});
    } else {
      faces.push_back({a, b, d});
      faces.push_back({b, c, d});
    }
  }
  return signed_volume(points, faces);
}

/// The triangles of a part's anchors, each as often as it is left when those that face each other have gone.
std::vector<Triangle> anchor_triangles(const ClosedSurface& surface, std::uint32_t part,
                                       std::span<const std::uint32_t> anchor_of_point) {
  std::multiset<Triangle> left;
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    if (surface.part[t] != part) continue;
    Triangle f{};
    for (std::size_t k = 0; k < 3; ++k) f[k] = anchor_of_point[surface.triangles[t][k]];
    if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) continue;
    std::rotate(f.begin(), std::min_element(f.begin(), f.end()), f.end());
    const auto opposite = left.find(Triangle{f[0], f[2], f[1]});
    if (opposite != left.end())
      left.erase(opposite);
    else
      left.insert(f);
  }
  return {left.begin(), left.end()};
}

/// All anchors that can be reached from this one along triangles.
std::set<std::uint32_t> hanging_together(std::uint32_t anchor, std::span<const Triangle> triangles) {
  std::set<std::uint32_t> reached{anchor};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Triangle& f : triangles)
      if (reached.contains(f[0]) || reached.contains(f[1]) || reached.contains(f[2]))
        reached.insert(f.begin(), f.end());
  }
  return reached;
}

}  // namespace

std::vector<CellVolume> cell_volumes(const ClosedSurface& surface,
                                     std::span<const std::uint32_t> anchor_of_vertex,
                                     std::span<const Vec3d> points, std::span<const Vec3d> anchors) {
  std::vector<Vec3d> all(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(surface.vertex_count));
  std::vector<std::uint32_t> anchor_of_point(anchor_of_vertex.begin(), anchor_of_vertex.end());
  for (const std::vector<std::uint32_t>& border : surface.borders) {
    Vec3d sum = Vec3d::Zero();
    std::vector<std::size_t> votes(anchors.size(), 0);
    for (const std::uint32_t v : border) {
      sum += points[v];
      ++votes[anchor_of_vertex[v]];
    }
    all.push_back(sum / static_cast<double>(border.size()));
    anchor_of_point.push_back(
        static_cast<std::uint32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin()));
  }

  std::map<Key, CellVolume> cells;
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    std::array<Vec3d, 3> outer, inner;
    for (std::size_t k = 0; k < 3; ++k) {
      outer[k] = all[surface.triangles[t][k]];
      inner[k] = anchors[anchor_of_point[surface.triangles[t][k]]];
    }
    const double volume = (prism_volume(outer, inner, true) + prism_volume(outer, inner, false)) / 2;
    for (const std::uint32_t v : surface.triangles[t])
      cells[{surface.part[t], anchor_of_point[v]}].prisms += volume / 3;
  }
  for (std::uint32_t part = 0; part < surface.part_count; ++part) {
    const std::vector<Triangle> triangles = anchor_triangles(surface, part, anchor_of_point);
    for (const Triangle& f : triangles) {
      const std::set<std::uint32_t> together = hanging_together(f[0], triangles);
      Vec3d middle = Vec3d::Zero();
      for (const std::uint32_t a : together) middle += anchors[a] / static_cast<double>(together.size());
      const std::array<Vec3d, 4> corners{anchors[f[0]], anchors[f[1]], anchors[f[2]], middle};
      const std::array<Triangle, 4> faces{{{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}}};
      for (const std::uint32_t a : f) cells[{part, a}].bridges += signed_volume(corners, faces) / 3;
    }
  }
  std::vector<CellVolume> result;
  for (const auto& [key, cell] : cells) result.push_back({key.first, key.second, cell.prisms, cell.bridges});
  return result;
}

void settle_losses(std::span<const Triangle> triangles, std::span<const std::uint32_t> cell_of_vertex,
                   std::span<double> losses) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> neighbours;
  for (const Triangle& f : triangles)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        if (cell_of_vertex[f[i]] != cell_of_vertex[f[j]])
          neighbours.insert({cell_of_vertex[f[i]], cell_of_vertex[f[j]]});
  for (int time = 0; time < 4; ++time) {
    const std::vector<double> before(losses.begin(), losses.end());
    const auto offer = [&](std::uint32_t from, std::uint32_t to) {
      double others = 0;
      for (const auto& [a, b] : neighbours)
        if (a == from && before[a] * before[b] < 0) others += std::abs(before[b]);
      return std::abs(before[from] * before[to]) / others;
    };
    for (const auto& [a, b] : neighbours)
      if (before[a] > 0 && before[b] < 0) {
        const double settled = std::min(offer(a, b), offer(b, a));
        losses[a] -= settled;
        losses[b] += settled;
      }
  }
}

}  // namespace sinew::reference
