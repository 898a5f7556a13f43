#include <sinew/geometry/intersections.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/predicates.h>

namespace sinew {

namespace {

using Corners = std::array<Vec3f, 3>;

// A pair of axes in whose plane the triangle, which has area, still has area.
std::array<int, 2> flat_axes(const Corners& t) {
  for (int u = 0; u < 2; ++u)
    if (orient2d(t[0], t[1], t[2], u, u + 1) != 0) return {u, u + 1};
  return {2, 0};
}

// In the plane of `axes`: one of t's edges has all of `points` on its outer side or on its line.
template <std::size_t kCount>
bool edge_separates(const Corners& t, const std::array<Vec3f, kCount>& points,
                    const std::array<int, 2>& axes) {
  const int inside = orient2d(t[0], t[1], t[2], axes[0], axes[1]);
  for (int k = 0; k < 3; ++k) {
    const auto is_out = [&](const Vec3f& p) {
      return orient2d(t[k], t[(k + 1) % 3], p, axes[0], axes[1]) * inside <= 0;
    };
    if (std::all_of(points.begin(), points.end(), is_out)) return true;
  }
  return false;
}

// Two triangles with area in one plane: a convex region and another whose insides are apart are separated by
// the line of an edge.
bool overlap_in_plane(const Corners& a, const Corners& b) {
  const std::array<int, 2> axes = flat_axes(a);
  return !edge_separates(a, b, axes) && !edge_separates(b, a, axes);
}

// A closed segment against the inside of a triangle with area.
bool segment_meets_inside(const Vec3f& p, const Vec3f& q, const Corners& t) {
  const int side_p = orient3d(t[0], t[1], t[2], p), side_q = orient3d(t[0], t[1], t[2], q);
  if (side_p * side_q > 0) return false;
  if (side_p == 0 && side_q == 0) {
    const std::array<int, 2> axes = flat_axes(t);
    if (edge_separates(t, std::array<Vec3f, 2>{p, q}, axes)) return false;
    if (p == q) return true;
    // The segment's own line separates when no two corners are strictly on different sides.
    int lowest = 1, highest = -1;
    for (const Vec3f& corner : t) {
      const int side = orient2d(p, q, corner, axes[0], axes[1]);
      lowest = std::min(lowest, side);
      highest = std::max(highest, side);
    }
    return lowest < 0 && highest > 0;
  }
  // It crosses the plane in one point, which is inside when the line passes all edges on the same side.
  const int first = orient3d(p, q, t[0], t[1]);
  return first != 0 && orient3d(p, q, t[1], t[2]) == first && orient3d(p, q, t[2], t[0]) == first;
}

// The rare cases in which the corners of one triangle all lie in the plane of the other.
bool intersect_flat(const Corners& a, const Corners& b) {
  const bool a_is_line = collinear(a[0], a[1], a[2]), b_is_line = collinear(b[0], b[1], b[2]);
  if (a_is_line && b_is_line) return false;
  if (!a_is_line && !b_is_line) return overlap_in_plane(a, b);
  const Corners &line = a_is_line ? a : b, &area = a_is_line ? b : a;
  for (int k = 0; k < 3; ++k)
    if (segment_meets_inside(line[k], line[(k + 1) % 3], area)) return true;
  return false;
}

struct Sides {
  std::array<int, 3> of;

  Sides(const Corners& plane, const Corners& t) {
    for (int k = 0; k < 3; ++k) of[k] = orient3d(plane[0], plane[1], plane[2], t[k]);
  }
  bool all_on_one_side() const { return of[0] != 0 && of[0] == of[1] && of[1] == of[2]; }
  bool all_in_plane() const { return of[0] == 0 && of[1] == 0 && of[2] == 0; }
  // The plane runs through the triangle's inside: corners strictly on both sides.
  bool cuts_inside() const {
    return *std::min_element(of.begin(), of.end()) < 0 && *std::max_element(of.begin(), of.end()) > 0;
  }
  // A corner whose side is beyond those of both others, so that the edges from it both cross or reach the
  // plane and in the same direction.
  int apex() const {
    for (int k = 0; k < 3; ++k) {
      const int other = of[(k + 1) % 3], last = of[(k + 2) % 3];
      if ((of[k] > other && of[k] > last) || (of[k] < other && of[k] < last)) return k;
    }
    assert(false);
    return 0;
  }
};

}  // namespace

// The planes meet in a line. Triangle a covers an interval of it, b another. A point inside an interval lies
// inside its triangle, unless the interval is one of the triangle's edges or a corner; interval ends lie on
// the border. So the triangles intersect when the intervals overlap by more than an end and at least one of
// them runs through its triangle's inside.
//
// The interval's ends are where the two edges from the apex meet the plane. With apex a0 and b0, the volume
// of (a0, ai, b0, bj) has the sign of (end j of b - end i of a) along the line, times a sign that is the same
// for all four pairs (Guigue & Devillers, "Fast and robust triangle-triangle overlap test", 2003, §3, the
// same idea). The intervals overlap by more than an end when two of these differences have strictly opposite
// signs.
bool triangles_intersect(const Corners& a, const Corners& b) {
  const Sides a_sides(b, a);
  if (a_sides.all_on_one_side()) return false;
  const Sides b_sides(a, b);
  if (b_sides.all_on_one_side()) return false;
  // A triangle without area has no plane: every corner counts as lying in it.
  if (a_sides.all_in_plane() || b_sides.all_in_plane()) return intersect_flat(a, b);
  if (!a_sides.cuts_inside() && !b_sides.cuts_inside()) return false;
  const int a0 = a_sides.apex(), b0 = b_sides.apex();
  bool before = false, behind = false;
  for (int i = 1; i <= 2; ++i)
    for (int j = 1; j <= 2; ++j) {
      const int difference = orient3d(a[a0], a[(a0 + i) % 3], b[b0], b[(b0 + j) % 3]);
      before = before || difference < 0;
      behind = behind || difference > 0;
    }
  return before && behind;
}

namespace {

constexpr std::uint32_t kTrianglesPerLeaf = 4;
constexpr std::size_t kTasks = 512;

struct Box {
  Vec3f low = Vec3f::Constant(std::numeric_limits<float>::infinity());
  Vec3f high = Vec3f::Constant(-std::numeric_limits<float>::infinity());

  void extend(const Vec3f& p) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  void extend(const Box& other) {
    low = low.cwiseMin(other.low);
    high = high.cwiseMax(other.high);
  }
  bool meets(const Box& other) const {
    return low.x() <= other.high.x() && other.low.x() <= high.x() && low.y() <= other.high.y() &&
           other.low.y() <= high.y() && low.z() <= other.high.z() && other.low.z() <= high.z();
  }
};

// A node of the tree is a range of the tree's triangle order, halved at its middle down to kTrianglesPerLeaf.
// Nodes are numbered as in a heap, so no links need to be kept.
struct Node {
  std::uint32_t begin, end;
  std::size_t index;

  std::uint32_t size() const { return end - begin; }
  bool is_leaf() const { return size() <= kTrianglesPerLeaf; }
  Node left() const { return {begin, begin + size() / 2, 2 * index + 1}; }
  Node right() const { return {begin + size() / 2, end, 2 * index + 2}; }
  // No index of this node's subtree reaches this number, when it is the root: halving n down to a leaf takes
  // as many steps as halving the next power of two.
  std::size_t index_bound() const { return 2 * std::bit_ceil(std::size_t{size()}); }
};

// Sorts the triangles so that halving at the middle is a median cut across the longest side.
void sort_tree(std::span<std::uint32_t> order, const std::vector<Vec3f>& centres) {
  if (order.size() <= kTrianglesPerLeaf) return;
  Box box;
  for (const std::uint32_t t : order) box.extend(centres[t]);
  int axis = 0;
  (box.high - box.low).maxCoeff(&axis);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), middle, order.end(), [&](std::uint32_t s, std::uint32_t t) {
    return centres[s][axis] != centres[t][axis] ? centres[s][axis] < centres[t][axis] : s < t;
  });
  sort_tree(order.first(order.size() / 2), centres);
  sort_tree(order.subspan(order.size() / 2), centres);
}

struct NodePair {
  Node a, b;  // the same node: all pairs within it
};

class Search {
 public:
  Search(std::span<const Triangle> triangles, std::span<const std::uint32_t> order,
         std::span<const Vec3f> positions, std::size_t pair_limit)
      : triangles_(triangles), order_(order), positions_(positions), pair_limit_(pair_limit) {}

  std::vector<TrianglePair> run() {
    const Node root{0, static_cast<std::uint32_t>(triangles_.size()), 0};
    if (root.size() < 2) return {};
    boxes_.resize(root.index_bound());
    triangle_boxes_.resize(triangles_.size());
    parallel_blocks(triangles_.size(), 4096, [&](std::size_t begin, std::size_t end) {
      for (std::size_t t = begin; t < end; ++t)
        for (const std::uint32_t v : triangles_[t]) triangle_boxes_[t].extend(positions_[v]);
    });
    fit(root);

    // The search opens out into a fixed number of tasks before it goes parallel.
    std::vector<NodePair> tasks = {{root, root}}, opened;
    while (tasks.size() < kTasks) {
      opened.clear();
      bool any = false;
      for (const NodePair& pair : tasks) any = expand(pair, opened) || any;
      tasks.swap(opened);
      if (!any) break;
    }
    std::vector<std::vector<TrianglePair>> found(tasks.size());
    parallel_blocks(tasks.size(), 1,
                    [&](std::size_t begin, std::size_t) { descend(tasks[begin], found[begin]); });
    if (count_ > pair_limit_)
      throw Error(
          fmt::format("more than {} pairs of triangles intersect each other; the mesh has {} triangles",
                      pair_limit_, triangles_.size()));
    std::vector<TrianglePair> pairs;
    pairs.reserve(count_);
    for (const std::vector<TrianglePair>& some : found) pairs.insert(pairs.end(), some.begin(), some.end());
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

 private:
  void fit(const Node& node) {
    Box& box = boxes_[node.index];
    if (node.is_leaf()) {
      for (std::uint32_t t = node.begin; t < node.end; ++t) box.extend(triangle_boxes_[t]);
      return;
    }
    fit(node.left());
    fit(node.right());
    box.extend(boxes_[node.left().index]);
    box.extend(boxes_[node.right().index]);
  }

  // Appends the pairs that `pair` splits into; the pair itself, answering false, when it is two leaves.
  bool expand(const NodePair& pair, std::vector<NodePair>& out) const {
    const auto add = [&](const Node& a, const Node& b) {
      if (boxes_[a.index].meets(boxes_[b.index])) out.push_back({a, b});
    };
    if (pair.a.index == pair.b.index) {
      if (pair.a.is_leaf()) {
        out.push_back(pair);
        return false;
      }
      const Node left = pair.a.left(), right = pair.a.right();
      out.push_back({left, left});
      out.push_back({right, right});
      add(left, right);
      return true;
    }
    if (pair.a.is_leaf() && pair.b.is_leaf()) {
      out.push_back(pair);
      return false;
    }
    if (pair.a.size() >= pair.b.size()) {
      add(pair.a.left(), pair.b);
      add(pair.a.right(), pair.b);
    } else {
      add(pair.a, pair.b.left());
      add(pair.a, pair.b.right());
    }
    return true;
  }

  void descend(const NodePair& task, std::vector<TrianglePair>& found) {
    std::vector<NodePair> stack = {task};
    while (!stack.empty()) {
      const NodePair pair = stack.back();
      stack.pop_back();
      if (pair.a.is_leaf() && pair.b.is_leaf()) {
        if (!test_leaves(pair, found)) return;
      } else {
        expand(pair, stack);
      }
    }
  }

  // False when there are too many pairs to go on.
  bool test_leaves(const NodePair& pair, std::vector<TrianglePair>& found) {
    for (std::uint32_t s = pair.a.begin; s < pair.a.end; ++s)
      for (std::uint32_t t = pair.a.index == pair.b.index ? s + 1 : pair.b.begin; t < pair.b.end; ++t) {
        if (!triangle_boxes_[s].meets(triangle_boxes_[t])) continue;
        // Both ways round gives the same answer; one order, so that even a doubt would be settled once.
        if (!triangles_intersect(corners(s), corners(t))) continue;
        if (count_.fetch_add(1, std::memory_order_relaxed) >= pair_limit_) return false;
        found.push_back({std::min(order_[s], order_[t]), std::max(order_[s], order_[t])});
      }
    return true;
  }

  Corners corners(std::uint32_t t) const {
    const Triangle& f = triangles_[t];
    return {positions_[f[0]], positions_[f[1]], positions_[f[2]]};
  }

  std::span<const Triangle> triangles_;
  std::span<const std::uint32_t> order_;
  std::span<const Vec3f> positions_;
  std::size_t pair_limit_;
  std::vector<Box> boxes_;
  std::vector<Box> triangle_boxes_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace

SelfIntersections::SelfIntersections(const MeshView& mesh) : order_(mesh.triangles.size()) {
  std::vector<Vec3f> centres;
  centres.reserve(mesh.triangles.size());
  for (const Triangle& f : mesh.triangles) {
    // Halved first: corners near the largest float must not overflow.
    Box box;
    for (const std::uint32_t v : f) box.extend(mesh.positions[v]);
    centres.push_back(0.5f * box.low + 0.5f * box.high);
  }
  std::iota(order_.begin(), order_.end(), 0u);
  sort_tree(order_, centres);
  triangles_.reserve(order_.size());
  for (const std::uint32_t t : order_) triangles_.push_back(mesh.triangles[t]);
}

std::vector<TrianglePair> SelfIntersections::find(std::span<const Vec3f> positions,
                                                  std::size_t pair_limit) const {
  return Search(triangles_, order_, positions, pair_limit).run();
}

std::vector<TrianglePair> self_intersections(const MeshView& mesh) {
  return SelfIntersections(mesh).find(mesh.positions);
}

}  // namespace sinew
