#include <sinew/contact/crossing_triangles.h>

#include <algorithm>
#include <bit>
#include <limits>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/incidence.h>

namespace sinew {

namespace {

// Pieces that the search is cut into for threads.
constexpr std::size_t kTasks = 96;

bool overlap(const PosedSurface::Box& a, const PosedSurface::Box& b) {
  return (a.low.array() <= b.high.array()).all() && (b.low.array() <= a.high.array()).all();
}

/// Whether all normals in a box lie in the half space about its middle.
bool goes_straight_on(const PosedSurface::Box& normals) {
  const Vec4f middle = normals.low + normals.high;
  return middle.cwiseProduct(normals.low).cwiseMin(middle.cwiseProduct(normals.high)).sum() > 0;
}

PosedSurface::Box both(const PosedSurface::Box& a, const PosedSurface::Box& b) {
  return {a.low.cwiseMin(b.low), a.high.cwiseMax(b.high)};
}

bool shares_corner(const Triangle& f, const Triangle& g) {
  for (const std::uint32_t v : f)
    if (v == g[0] || v == g[1] || v == g[2]) return true;
  return false;
}

/// Six times the volume of a tetrahedron.
float volume(const Vec3f& a, const Vec3f& b, const Vec3f& c, const Vec3f& d) {
  return (a - d).dot((b - d).cross(c - d));
}

bool segment_crosses(const Vec3f& p, const Vec3f& q, const std::array<Vec3f, 3>& f) {
  const bool above = volume(f[0], f[1], f[2], p) > 0;
  if (above == volume(f[0], f[1], f[2], q) > 0) return false;
  // Strictly: a line through a corner, in the plane up to rounding, crosses nothing.
  const float u = volume(p, q, f[0], f[1]), v = volume(p, q, f[1], f[2]), w = volume(p, q, f[2], f[0]);
  return (u > 0 && v > 0 && w > 0) || (u < 0 && v < 0 && w < 0);
}

bool triangles_cross(const std::array<Vec3f, 3>& f, const std::array<Vec3f, 3>& g) {
  for (int k = 0; k < 3; ++k)
    if (segment_crosses(f[to_size(k)], f[to_size((k + 1) % 3)], g) ||
        segment_crosses(g[to_size(k)], g[to_size((k + 1) % 3)], f))
      return true;
  return false;
}

/// Those of a leaf's triangles, as bits, that a triangle may cross: boxes meet, and not all corners are on
/// one side of it.
unsigned may_cross(const std::array<Vec3f, 3>& f, const PosedSurface::Leaf& leaf) {
  using Numbers = PosedSurface::Numbers;
  const Vec3f normal = (f[1] - f[0]).cross(f[2] - f[0]);
  Numbers least, most;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::array<Numbers, 3>& corner = leaf.corners[k];
    const Numbers above = (corner[0] - f[0].x()) * normal.x() + (corner[1] - f[0].y()) * normal.y() +
                          (corner[2] - f[0].z()) * normal.z();
    least = k == 0 ? above : least.min(above).eval();
    most = k == 0 ? above : most.max(above).eval();
  }
  Eigen::Array<bool, 4, 1> meets = least <= 0 && most >= 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [low, high] = std::minmax(
        {f[0][static_cast<int>(axis)], f[1][static_cast<int>(axis)], f[2][static_cast<int>(axis)]});
    const Numbers &a = leaf.corners[0][axis], &b = leaf.corners[1][axis], &c = leaf.corners[2][axis];
    meets = meets && a.min(b).min(c) <= high && a.max(b).max(c) >= low;
  }
  unsigned bits = 0;
  for (unsigned i = 0; i < leaf.count; ++i) bits |= static_cast<unsigned>(meets[i]) << i;
  return bits;
}

}  // namespace

CrossingTriangles::CrossingTriangles(const TriangleTree& tree) : tree_(&tree) {
  const auto nodes = tree.nodes();
  std::uint32_t vertices = 0;
  for (const Triangle& f : tree.triangles())
    vertices = std::max(vertices, *std::max_element(f.begin(), f.end()) + 1);
  const Incidence incidence = vertex_incidence(vertices, tree.triangles());
  find_connected(incidence);
  std::vector<std::uint32_t> leaf_of(tree.triangles().size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].is_leaf())
      for (std::uint32_t t = nodes[n].begin; t < nodes[n].end; ++t) leaf_of[t] = n;
  find_neighbours(incidence, leaf_of);
  // Cut the whole into pairs of nodes, largest first.
  if (nodes.empty()) return;
  tasks_.push_back({0, 0});
  const auto size = [&](const CrossingScratch::Task& task) {
    const auto count = [&](std::uint32_t n) { return std::size_t{nodes[n].end} - nodes[n].begin; };
    return task.a == task.b ? 2 * count(task.a) : count(task.a) + count(task.b);
  };
  while (tasks_.size() < kTasks) {
    const auto largest = std::max_element(tasks_.begin(), tasks_.end(),
                                          [&](const auto& x, const auto& y) { return size(x) < size(y); });
    const CrossingScratch::Task task = *largest;
    if (nodes[task.a].is_leaf() || nodes[task.b].is_leaf()) break;
    *largest = tasks_.back();
    tasks_.pop_back();
    const std::uint32_t a0 = task.a + 1, a1 = nodes[task.a].right, b0 = task.b + 1, b1 = nodes[task.b].right;
    if (task.a == task.b)
      tasks_.insert(tasks_.end(), {{a0, a0}, {a0, a1}, {a1, a1}});
    else
      tasks_.insert(tasks_.end(), {{a0, b0}, {a0, b1}, {a1, b0}, {a1, b1}});
  }
}

void CrossingTriangles::find_neighbours(const Incidence& incidence, std::span<const std::uint32_t> leaf_of) {
  const auto nodes = tree_->nodes();
  node_ends_.assign(nodes.size(), 0);
  std::vector<std::vector<std::uint32_t>> near(nodes.size());
  for (std::uint32_t n = static_cast<std::uint32_t>(nodes.size()); n-- > 0;) {
    if (nodes[n].is_leaf()) {
      node_ends_[n] = n + 1;
      for (std::uint32_t t = nodes[n].begin; t < nodes[n].end; ++t)
        for (const std::uint32_t v : tree_->triangles()[t])
          for (const std::uint32_t corner : incidence[v]) near[n].push_back(leaf_of[corner / 3]);
    } else {
      node_ends_[n] = node_ends_[nodes[n].right];
      for (const std::uint32_t child : {n + 1, nodes[n].right})
        near[n].insert(near[n].end(), near[child].begin(), near[child].end());
    }
    std::sort(near[n].begin(), near[n].end());
    near[n].erase(std::unique(near[n].begin(), near[n].end()), near[n].end());
    std::erase_if(near[n], [&](std::uint32_t leaf) { return leaf >= n && leaf < node_ends_[n]; });
  }
  neighbour_starts_.push_back(0);
  for (const auto& leaves : near) {
    neighbours_.insert(neighbours_.end(), leaves.begin(), leaves.end());
    neighbour_starts_.push_back(static_cast<std::uint32_t>(neighbours_.size()));
  }
}

void CrossingTriangles::find_connected(const Incidence& incidence) {
  const auto nodes = tree_->nodes();
  const auto triangles = tree_->triangles();
  connected_.assign(nodes.size(), 0);
  std::vector<std::uint32_t> waiting;
  std::vector<std::uint8_t> seen(triangles.size(), 0);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::uint32_t begin = nodes[n].begin, end = nodes[n].end;
    waiting.assign(1, begin);
    seen[begin] = 1;
    std::uint32_t reached = 0;
    while (!waiting.empty()) {
      const std::uint32_t t = waiting.back();
      waiting.pop_back();
      ++reached;
      for (const std::uint32_t v : triangles[t])
        for (const std::uint32_t corner : incidence[v]) {
          const std::uint32_t next = corner / 3;
          if (next < begin || next >= end || seen[next] != 0) continue;
          seen[next] = 1;
          waiting.push_back(next);
        }
    }
    connected_[n] = reached == end - begin;
    std::fill(seen.begin() + begin, seen.begin() + end, std::uint8_t{0});
  }
}

CrossingScratch CrossingTriangles::make_scratch() const {
  CrossingScratch scratch;
  scratch.areas.assign(tree_->nodes().size(), Vec3f::Zero());
  scratch.normals.resize(tree_->nodes().size());
  scratch.waiting.resize(tasks_.size());
  scratch.found.resize(tasks_.size());
  for (auto& waiting : scratch.waiting) waiting.reserve(4 * kTreeStack);
  for (auto& found : scratch.found) found.reserve(tree_->triangles().size() / 8 + 256);
  return scratch;
}

bool CrossingTriangles::are_neighbours(std::uint32_t node, std::uint32_t other) const {
  const auto end = neighbours_.begin() + neighbour_starts_[node + 1];
  const auto first = std::lower_bound(neighbours_.begin() + neighbour_starts_[node], end, other);
  return first != end && *first < node_ends_[other];
}

void CrossingTriangles::find_normals(const PosedSurface& surface, CrossingScratch& scratch) const {
  const std::span<const Vec3f> positions = surface.positions();
  const auto nodes = tree_->nodes();
  surface.blocks().bottom_up([&](std::uint32_t n) {
    PosedSurface::Box& box = scratch.normals[n];
    if (!nodes[n].is_leaf()) {
      const PosedSurface::Box &left = scratch.normals[n + 1], &right = scratch.normals[nodes[n].right];
      box.low = left.low.cwiseMin(right.low);
      box.high = left.high.cwiseMax(right.high);
      return;
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    box.low.setConstant(kInfinity), box.high.setConstant(-kInfinity);
    scratch.areas[n].setZero();
    for (std::uint32_t t = nodes[n].begin; t < nodes[n].end; ++t) {
      const Triangle& f = tree_->triangles()[t];
      const Vec3f area = (positions[f[1]] - positions[f[0]]).cross(positions[f[2]] - positions[f[0]]);
      const float length = area.norm();
      if (!(length > 0)) continue;
      scratch.areas[n] += area;
      const Vec4f normal = Vec4f(area.x(), area.y(), area.z(), 0) / length;
      box.low = box.low.cwiseMin(normal);
      box.high = box.high.cwiseMax(normal);
    }
  });
}

void CrossingTriangles::meet(const PosedSurface& surface, std::uint32_t leaf, std::uint32_t other,
                             std::span<const Vec3f> areas, std::vector<std::uint32_t>& found) const {
  const std::span<const Vec3f> positions = surface.positions();
  const TriangleTree::Node &a = tree_->nodes()[leaf], &b = tree_->nodes()[other];
  const std::span<const Triangle> triangles = tree_->triangles();
  const auto corners = [&](const Triangle& f) {
    return std::array<Vec3f, 3>{positions[f[0]], positions[f[1]], positions[f[2]]};
  };
  if (leaf != other && are_neighbours(leaf, other)) {
    constexpr float kFlat = 0.3f;  // cosine
    const Vec3f &normal = areas[leaf], &others = areas[other];
    const float cosine = normal.dot(others);
    if (cosine > 0 && cosine * cosine > kFlat * kFlat * normal.squaredNorm() * others.squaredNorm()) return;
  }
  unsigned crossing_a = 0, crossing_b = 0;  // bits of the leaves' triangles
  for (std::uint32_t t = a.begin; t < a.end; ++t) {
    const std::array<Vec3f, 3> f = corners(triangles[t]);
    unsigned candidates = may_cross(f, surface.leaf(other));
    if (leaf == other) candidates &= ~0u << (t - a.begin + 1);
    for (; candidates != 0; candidates &= candidates - 1) {
      const auto place = static_cast<std::uint32_t>(std::countr_zero(candidates));
      const Triangle& g = triangles[b.begin + place];
      if (shares_corner(triangles[t], g) || !triangles_cross(f, corners(g))) continue;
      crossing_a |= 1u << (t - a.begin);
      crossing_b |= 1u << place;
    }
  }
  const auto list = [&](const TriangleTree::Node& node, unsigned crossing) {
    for (; crossing != 0; crossing &= crossing - 1) {
      // A crumpled mesh may have any number of them: those that do not fit are found from those that do.
      if (found.size() == found.capacity()) return;
      found.push_back(tree_->order()[node.begin + static_cast<std::uint32_t>(std::countr_zero(crossing))]);
    }
  };
  list(a, crossing_a);
  list(b, crossing_b);
}

void CrossingTriangles::search(const PosedSurface& surface, std::size_t task,
                               CrossingScratch& scratch) const {
  const std::span<const TriangleTree::Node> nodes = tree_->nodes();
  const std::span<const PosedSurface::Box> boxes = surface.boxes();
  std::vector<CrossingScratch::Task>& waiting = scratch.waiting[task];
  std::vector<std::uint32_t>& found = scratch.found[task];
  waiting.clear();
  found.clear();
  waiting.push_back(tasks_[task]);
  while (!waiting.empty()) {
    const auto [a, b] = waiting.back();
    waiting.pop_back();
    if (a == b) {
      if (connected_[a] != 0 && goes_straight_on(scratch.normals[a])) continue;
    } else {
      if (!overlap(boxes[a], boxes[b])) continue;
      if (connected_[a] != 0 && connected_[b] != 0 &&
          goes_straight_on(both(scratch.normals[a], scratch.normals[b])) && are_neighbours(a, b))
        continue;
    }
    const bool a_ends = nodes[a].is_leaf(), b_ends = nodes[b].is_leaf();
    if (a_ends && b_ends) {
      meet(surface, a, b, scratch.areas, found);
    } else if (a == b) {
      waiting.push_back({a + 1, a + 1});
      waiting.push_back({a + 1, nodes[a].right});
      waiting.push_back({nodes[a].right, nodes[a].right});
    } else if (b_ends || (!a_ends && nodes[a].end - nodes[a].begin >= nodes[b].end - nodes[b].begin)) {
      waiting.push_back({a + 1, b});
      waiting.push_back({nodes[a].right, b});
    } else {
      waiting.push_back({a, b + 1});
      waiting.push_back({a, nodes[b].right});
    }
  }
}

void CrossingTriangles::find(const PosedSurface& surface, CrossingScratch& scratch) const {
  find_normals(surface, scratch);
  parallel_blocks(tasks_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) search(surface, i, scratch);
  });
}

}  // namespace sinew
