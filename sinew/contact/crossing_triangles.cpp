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

/// Those of four boxes, as bits, that overlap another one.
unsigned overlaps(const PosedSurface::Four& four, const PosedSurface::Box& box) {
  using Numbers = PosedSurface::Numbers;
  Numbers apart = Numbers::Constant(-std::numeric_limits<float>::infinity());
  for (std::size_t k = 0; k < 3; ++k) {
    const auto axis = static_cast<int>(k);
    apart = apart.max(four.low[k] - box.high[axis]).max(box.low[axis] - four.high[k]);
  }
  unsigned bits = 0;
  for (unsigned i = 0; i < 4; ++i) bits |= static_cast<unsigned>(apart[i] <= 0) << i;
  return bits & ((1u << four.count) - 1);
}

/// The nodes of PosedSurface::four(), from the tree alone.
std::vector<std::uint32_t> four_below(std::span<const TriangleTree::Node> nodes, std::uint32_t node) {
  std::vector<std::uint32_t> below;
  for (const std::uint32_t child : {node + 1, nodes[node].right})
    if (nodes[child].is_leaf())
      below.push_back(child);
    else
      below.insert(below.end(), {child + 1, nodes[child].right});
  return below;
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
  std::array<Numbers, 3> above;
  for (std::size_t k = 0; k < 3; ++k)
    above[k] = (leaf.corners[k][0] - f[0].x()) * normal.x() + (leaf.corners[k][1] - f[0].y()) * normal.y() +
               (leaf.corners[k][2] - f[0].z()) * normal.z();
  // Positive: they miss each other.
  Numbers apart = above[0].min(above[1]).min(above[2]).max(-above[0].max(above[1]).max(above[2]));
  for (std::size_t k = 0; k < 3; ++k) {
    const auto axis = static_cast<int>(k);
    const float low = std::min({f[0][axis], f[1][axis], f[2][axis]});
    const float high = std::max({f[0][axis], f[1][axis], f[2][axis]});
    const Numbers &a = leaf.corners[0][k], &b = leaf.corners[1][k], &c = leaf.corners[2][k];
    apart = apart.max(a.min(b).min(c) - high).max(low - a.max(b).max(c));
  }
  unsigned bits = 0;
  for (unsigned i = 0; i < 4; ++i) bits |= static_cast<unsigned>(apart[i] <= 0) << i;
  return bits & ((1u << leaf.count) - 1);
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
    const std::vector<std::uint32_t> of_a = four_below(nodes, task.a), of_b = four_below(nodes, task.b);
    for (std::size_t i = 0; i < of_a.size(); ++i)
      for (std::size_t j = task.a == task.b ? i : 0; j < of_b.size(); ++j)
        tasks_.push_back({of_a[i], of_b[j]});
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
  scratch.waiting.resize(tasks_.size());
  scratch.found.resize(tasks_.size());
  for (auto& waiting : scratch.waiting) waiting.reserve(10 * kTreeStack);
  for (auto& found : scratch.found) found.reserve(tree_->triangles().size() / 8 + 256);
  return scratch;
}

bool CrossingTriangles::are_neighbours(std::uint32_t node, std::uint32_t other) const {
  const auto end = neighbours_.begin() + neighbour_starts_[node + 1];
  const auto first = std::lower_bound(neighbours_.begin() + neighbour_starts_[node], end, other);
  return first != end && *first < node_ends_[other];
}

void CrossingTriangles::meet(const PosedSurface& surface, std::uint32_t leaf, std::uint32_t other,
                             std::vector<std::uint32_t>& found) const {
  const std::span<const Vec3f> positions = surface.positions();
  const TriangleTree::Node &a = tree_->nodes()[leaf], &b = tree_->nodes()[other];
  const std::span<const Triangle> triangles = tree_->triangles();
  const auto corners = [&](const Triangle& f) {
    return std::array<Vec3f, 3>{positions[f[0]], positions[f[1]], positions[f[2]]};
  };
  if (leaf != other && are_neighbours(leaf, other)) {
    constexpr float kFlat = 0.3f;  // cosine
    const Vec3f &normal = surface.areas()[leaf], &others = surface.areas()[other];
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
  const std::span<const PosedSurface::Box> boxes = surface.boxes(), normals = surface.normals();
  std::vector<CrossingScratch::Task>& waiting = scratch.waiting[task];
  std::vector<std::uint32_t>& found = scratch.found[task];
  waiting.clear();
  found.clear();
  const auto goes_on = [&](std::uint32_t a, std::uint32_t b) {
    return connected_[a] != 0 && connected_[b] != 0 && goes_straight_on(both(normals[a], normals[b])) &&
           (a == b || are_neighbours(a, b));
  };
  waiting.push_back(tasks_[task]);
  while (!waiting.empty()) {
    const auto [a, b] = waiting.back();
    waiting.pop_back();
    const bool a_ends = nodes[a].is_leaf(), b_ends = nodes[b].is_leaf();
    if (goes_on(a, b)) continue;
    if (a_ends && b_ends) {
      meet(surface, a, b, found);
      continue;
    }
    // Pairs are of boxes that overlap, but for a task's first one.
    const bool split_a =
        b_ends || (!a_ends && nodes[a].end - nodes[a].begin >= nodes[b].end - nodes[b].begin);
    const PosedSurface::Four& four = surface.four(split_a ? a : b);
    if (a == b) {
      for (std::uint32_t i = 0; i < four.count; ++i) {
        waiting.push_back({four.node[i], four.node[i]});
        for (unsigned met = overlaps(four, boxes[four.node[i]]) & (~0u << (i + 1)); met != 0; met &= met - 1)
          waiting.push_back({four.node[i], four.node[static_cast<std::size_t>(std::countr_zero(met))]});
      }
    } else {
      const std::uint32_t other = split_a ? b : a;
      for (unsigned met = overlaps(four, boxes[other]); met != 0; met &= met - 1)
        waiting.push_back({four.node[static_cast<std::size_t>(std::countr_zero(met))], other});
    }
  }
}

void CrossingTriangles::find(const PosedSurface& surface, CrossingScratch& scratch) const {
  parallel_blocks(tasks_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) search(surface, i, scratch);
  });
}

}  // namespace sinew
