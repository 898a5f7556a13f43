#include <sinew/effects/volume_cells.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/disjoint_sets.h>

namespace sinew {

namespace {

constexpr std::size_t kCellsPerTask = 4;

double det(const Vec3d& a, const Vec3d& b, const Vec3d& c) {
  return a.dot(b.cross(c));
}

/// Six times the volume of the cone from the origin to the bilinear patch a, b, c, d: the mean of its two
/// ways to be two triangles.
double patch(const Vec3d& a, const Vec3d& b, const Vec3d& c, const Vec3d& d) {
  return (det(a, b, c) + det(a, c, d) + det(a, b, d) + det(b, c, d)) / 2;
}

}  // namespace

VolumeCells::VolumeCells(std::span<const Triangle> triangles, std::span<const std::uint32_t> anchor_of_vertex)
    : surface_(close_surface(anchor_of_vertex.size(), triangles)) {
  find_cells(anchor_of_vertex);
  std::vector<std::vector<std::uint32_t>> inner(cells_.size());
  for (std::uint32_t t = 0; t < surface_.triangles.size(); ++t) {
    const Triangle& f = surface_.triangles[t];
    const std::uint32_t cell = cell_of_vertex_[f[0]];
    if (cell == cell_of_vertex_[f[1]] && cell == cell_of_vertex_[f[2]])
      inner[cell].push_back(t);
    else
      shared_.push_back(t);
  }
  inner_.starts.push_back(0);
  for (const std::vector<std::uint32_t>& list : inner) {
    inner_.triangles.insert(inner_.triangles.end(), list.begin(), list.end());
    inner_.starts.push_back(static_cast<std::uint32_t>(inner_.triangles.size()));
  }
  for (const std::uint32_t t : inner_.triangles) inner_.corners.push_back(surface_.triangles[t]);
  find_bridges();
}

void VolumeCells::find_cells(std::span<const std::uint32_t> anchor_of_vertex) {
  const std::size_t points = surface_.vertex_count + surface_.borders.size();
  std::vector<std::uint32_t> part_of_vertex(points, kNone);
  for (std::size_t t = 0; t < surface_.triangles.size(); ++t)
    for (const std::uint32_t v : surface_.triangles[t]) part_of_vertex[v] = surface_.part[t];

  // A fan's middle hangs on the anchor that most of its border does.
  std::vector<std::uint32_t> anchor(anchor_of_vertex.begin(), anchor_of_vertex.end());
  for (const std::vector<std::uint32_t>& border : surface_.borders) {
    std::map<std::uint32_t, std::size_t> votes;
    for (const std::uint32_t v : border) ++votes[anchor[v]];
    anchor.push_back(std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first);
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // by part and anchor
  for (std::size_t v = 0; v < points; ++v)
    if (part_of_vertex[v] != kNone) numbers.emplace(std::pair(part_of_vertex[v], anchor[v]), 0);
  for (auto& [key, number] : numbers) {
    number = static_cast<std::uint32_t>(cells_.size());
    cells_.push_back({key.first, key.second});
  }
  cell_of_vertex_.assign(points, kNone);
  for (std::size_t v = 0; v < points; ++v)
    if (part_of_vertex[v] != kNone) cell_of_vertex_[v] = numbers.at({part_of_vertex[v], anchor[v]});
}

void VolumeCells::find_bridges() {
  std::map<std::array<std::uint32_t, 3>, int> times;
  for (const std::uint32_t t : shared_) {
    std::array<std::uint32_t, 3> cells{};
    for (std::size_t k = 0; k < 3; ++k)
      cells[k] = cell_of_vertex_[surface_.triangles[t][static_cast<int>(k)]];
    if (cells[0] == cells[1] || cells[1] == cells[2] || cells[2] == cells[0]) continue;
    std::array<std::uint32_t, 3> sorted = cells;
    std::sort(sorted.begin(), sorted.end());
    const auto first = to_size(std::find(cells.begin(), cells.end(), sorted[0]) - cells.begin());
    times[sorted] += cells[(first + 1) % 3] == sorted[1] ? 1 : -1;
  }
  DisjointSets sets(cells_.size());
  for (const auto& [cells, count] : times)
    if (count != 0) sets.join(cells[0], cells[1]), sets.join(cells[1], cells[2]);
  std::map<std::uint32_t, std::size_t> bridge_of_set;
  for (const auto& [cells, count] : times) {
    if (count == 0) continue;
    const auto found = bridge_of_set.try_emplace(sets.find(cells[0]), bridges_.size());
    if (found.second) bridges_.emplace_back();
    Bridge& bridge = bridges_[found.first->second];
    bridge.faces.push_back({cells, static_cast<double>(count)});
    for (const std::uint32_t cell : cells) bridge.anchors.push_back(cells_[cell].anchor);
  }
  for (Bridge& bridge : bridges_) {
    std::sort(bridge.anchors.begin(), bridge.anchors.end());
    bridge.anchors.erase(std::unique(bridge.anchors.begin(), bridge.anchors.end()), bridge.anchors.end());
  }
}

void VolumeCells::place_fans(std::span<Vec3d> points) const {
  assert(points.size() == point_count());
  for (std::size_t fan = 0; fan < surface_.borders.size(); ++fan) {
    Vec3d sum = Vec3d::Zero();
    for (const std::uint32_t v : surface_.borders[fan]) sum += points[v];
    points[surface_.vertex_count + fan] = sum / static_cast<double>(surface_.borders[fan].size());
  }
}

double VolumeCells::prism(const Triangle& corners, std::span<const Vec3d> points,
                          std::span<const Vec3d> anchors) const {
  std::array<Vec3d, 3> outer, inner;
  const Vec3d origin = anchors[cells_[cell_of_vertex_[corners[0]]].anchor];
  for (std::size_t k = 0; k < 3; ++k) {
    const std::uint32_t v = corners[static_cast<int>(k)];
    outer[k] = points[v] - origin;
    inner[k] = anchors[cells_[cell_of_vertex_[v]].anchor] - origin;
  }
  double sum = det(outer[0], outer[1], outer[2]) - det(inner[0], inner[1], inner[2]);
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t next = (k + 1) % 3;
    sum += patch(outer[next], outer[k], inner[k], inner[next]);
  }
  return sum / 6;
}

void VolumeCells::measure_shared(std::span<const Vec3d> points, std::span<const Vec3d> anchors,
                                 std::span<double> volumes) const {
  for (const std::uint32_t t : shared_) {
    const double third = prism(surface_.triangles[t], points, anchors) / 3;
    for (const std::uint32_t v : surface_.triangles[t]) volumes[cell_of_vertex_[v]] += third;
  }
  for (const Bridge& bridge : bridges_) {
    Vec3d middle = Vec3d::Zero();
    for (const std::uint32_t anchor : bridge.anchors) middle += anchors[anchor];
    middle /= static_cast<double>(bridge.anchors.size());
    for (const Bridge::Face& face : bridge.faces) {
      const auto corner = [&](std::size_t k) -> Vec3d {
        return anchors[cells_[face.cells[k]].anchor] - middle;
      };
      const double third = face.times * det(corner(0), corner(1), corner(2)) / 18;
      for (const std::uint32_t cell : face.cells) volumes[cell] += third;
    }
  }
}

void VolumeCells::measure(std::span<const Vec3d> points, std::span<const Vec3d> anchors,
                          std::span<double> volumes) const {
  assert(points.size() == point_count() && volumes.size() == cells_.size());
  parallel_blocks(cells_.size(), kCellsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) {
      const Vec3d anchor = anchors[cells_[cell].anchor];
      double sum = 0;
      for (std::uint32_t i = inner_.starts[cell]; i < inner_.starts[cell + 1]; ++i)
        sum += tetrahedron(inner_.corners[i], points, anchor);
      volumes[cell] = sum;
    }
  });
  measure_shared(points, anchors, volumes);
}

}  // namespace sinew
