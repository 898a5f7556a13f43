#include <sinew/fitting/extremities.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

#include <sinew/core/index.h>
#include <sinew/geometry/disjoint_sets.h>
#include <sinew/geometry/intrinsic_laplacian.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/geometry/sparse_cholesky.h>

namespace sinew {

namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();
/// Least strength of a source, as a share of the strongest. By hand.
constexpr double kMinSource = 1e-3;

}  // namespace

std::vector<double> edge_distances(const MeshView& mesh, std::span<const std::uint32_t> sources) {
  const OneRings rings = one_rings(mesh.positions.size(), mesh.triangles);
  std::vector<double> distances(mesh.positions.size(), kUnreached);
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const std::uint32_t source : sources) {
    distances[source] = 0;
    queue.push({0, source});
  }
  while (!queue.empty()) {
    const auto [distance, v] = queue.top();
    queue.pop();
    if (distance > distances[v]) continue;
    for (const std::uint32_t w : rings[v]) {
      const double further = distance + (mesh.positions[v] - mesh.positions[w]).cast<double>().norm();
      if (further >= distances[w]) continue;
      distances[w] = further;
      queue.push({further, w});
    }
  }
  return distances;
}

std::vector<Extremity> find_extremities(const MeshView& mesh, std::span<const double> values,
                                        double prominence) {
  const std::size_t count = mesh.positions.size();
  const OneRings rings = one_rings(count, mesh.triangles);
  std::vector<std::uint32_t> order;
  for (std::uint32_t v = 0; v < count; ++v)
    if (std::isfinite(values[v]) && !rings[v].empty()) order.push_back(v);
  const auto above = [&](std::uint32_t a, std::uint32_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  };
  std::sort(order.begin(), order.end(), above);
  std::vector<std::uint32_t> rank(count, std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t r = 0; r < order.size(); ++r) rank[order[r]] = r;

  DisjointSets components(order.size());  // of ranks: the smallest member is the component's maximum
  std::vector<double> saddle(order.size(), -kUnreached);  // at which a maximum's component merges
  std::vector<double> shares(order.size(), 0);
  std::vector<std::vector<std::uint32_t>> members(
      order.size());  // extremities of a component, by its maximum
  const auto height = [&](std::uint32_t r) { return values[order[r]]; };
  /// Divides a component's length among its extremities.
  const auto divide = [&](std::uint32_t component, double length) {
    if (members[component].empty()) members[component].push_back(component);
    double sum = 0;
    for (const std::uint32_t r : members[component]) sum += shares[r];
    for (const std::uint32_t r : members[component]) shares[r] = sum > 0 ? shares[r] * length / sum : length;
  };
  for (std::uint32_t r = 0; r < order.size(); ++r)
    for (const std::uint32_t w : rings[order[r]]) {
      const std::uint32_t neighbour = rank[w];
      if (neighbour >= r) continue;
      const std::uint32_t a = components.find(r), b = components.find(neighbour);
      if (a == b) continue;
      const std::uint32_t higher = std::min(a, b), lower = std::max(a, b);
      saddle[lower] = height(r);
      if (height(lower) - height(r) >= prominence && height(lower) > height(r)) {
        divide(lower, height(lower) - height(r));
        divide(higher, height(higher) - height(r));
        members[higher].insert(members[higher].end(), members[lower].begin(), members[lower].end());
      }
      components.join(a, b);
    }
  std::vector<Extremity> extremities;
  for (std::uint32_t r = 0; r < order.size(); ++r) {
    // The highest of all has no saddle: its prominence is its height.
    const bool highest = saddle[r] == -kUnreached;
    const double stands_out = highest ? height(r) : height(r) - saddle[r];
    if (highest) divide(r, std::max(height(r), 1e-300));
    if (stands_out >= prominence && (stands_out > 0 || r == 0))
      extremities.push_back({order[r], height(r), stands_out, 0});
  }
  double largest = 0;
  for (const double share : shares) largest = std::max(largest, share);
  for (Extremity& end : extremities) end.share = largest > 0 ? shares[rank[end.vertex]] / largest : 1;
  return extremities;
}

std::vector<double> harmonic_function(const MeshView& mesh, std::uint32_t head,
                                      std::span<const Extremity> extremities) {
  const std::size_t count = mesh.positions.size();
  constexpr std::size_t kLanes = SparseCholesky::kLanes;
  std::vector<double> values(count, 0);
  if (count < 2) return values;
  const auto row = [&](std::size_t v) { return v < head ? v : v - 1; };  // the head has none
  std::vector<double> right((count - 1) * kLanes, 0);
  for (const Extremity& end : extremities)
    if (end.vertex != head) right[row(end.vertex) * kLanes] += std::max(end.share, kMinSource);
  const Eigen::SparseMatrix<double> laplacian = intrinsic_laplacian(mesh).laplacian;
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(to_size(laplacian.nonZeros()) + count);
  for (int column = 0; column < laplacian.outerSize(); ++column)
    for (Eigen::SparseMatrix<double>::InnerIterator entry(laplacian, column); entry; ++entry) {
      const auto i = to_size(entry.row()), j = to_size(column);
      if (i != head && j != head)
        entries.emplace_back(static_cast<int>(row(i)), static_cast<int>(row(j)), entry.value());
    }
  // A little on the diagonal, for vertices without edges.
  const auto free = static_cast<int>(count - 1);
  for (int i = 0; i < free; ++i) entries.emplace_back(i, i, 1e-12);
  Eigen::SparseMatrix<double> matrix(free, free);
  matrix.setFromTriplets(entries.begin(), entries.end());
  std::vector<double> scratch(right.size());
  SparseCholesky(matrix).solve(right, scratch);
  for (std::size_t v = 0; v < count; ++v)
    if (v != head) values[v] = right[row(v) * kLanes];
  return values;
}

}  // namespace sinew
