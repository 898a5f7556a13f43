#include <sinew/implicit/operator_table.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>
#include <Eigen/SparseCholesky>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/implicit/gradient_blend.h>

namespace sinew {

namespace {

constexpr double kFree = std::numeric_limits<double>::quiet_NaN();

// What is nearer to a node than this part of a cell lies on it.
constexpr double kOnNode = 1e-9;

// Of a crossing's squared miss in the energy, where the bi-Laplacian has 20 to a node. With more g comes no
// closer to ½ between crossings, but gets jags where a profile grazes nodes.
constexpr double kCrossingWeight = 1e4;

constexpr int kCurveSegments = 1024;

// The clean union takes 6 to 20 rounds.
constexpr int kMostRounds = 60;

struct StencilEntry {
  int di, dj;
  double weight;
};
constexpr std::array<StencilEntry, 13> kBiLaplacian{{{0, 0, 20},
                                                     {1, 0, -8},
                                                     {-1, 0, -8},
                                                     {0, 1, -8},
                                                     {0, -1, -8},
                                                     {1, 1, 2},
                                                     {1, -1, 2},
                                                     {-1, 1, 2},
                                                     {-1, -1, 2},
                                                     {2, 0, 1},
                                                     {-2, 0, 1},
                                                     {0, 2, 1},
                                                     {0, -2, 1}}};

/// One slice: values on a square of nodes, symmetric.
struct Grid {
  int side;
  std::vector<double> values;

  explicit Grid(int nodes) : side(nodes), values(to_size(nodes) * nodes, kFree) {}

  std::size_t index(int i, int j) const { return to_size(i) * side + j; }
  double at(int i, int j) const { return values[index(i, j)]; }
  void set(int i, int j, double value) { values[index(i, j)] = values[index(j, i)] = value; }
  bool is_free(int i, int j) const { return std::isnan(at(i, j)); }
  /// The node that stands for one beyond an edge: normal derivatives there are zero.
  int mirrored(int k) const { return k < 0 ? -k : k >= side ? 2 * (side - 1) - k : k; }
};

/// The profile between two neighbouring nodes: (1 - t) g(a) + t g(b) = ½.
struct Crossing {
  std::array<std::size_t, 2> nodes;
  std::array<double, 2> shares;
};

struct Constraints {
  Grid fixed;  // NaN: free
  std::vector<Crossing> crossings;
};

Constraints constraints_of(const OperatorTableSpec& spec, double depth) {
  const int side = spec.nodes, last = side - 1, middle = last / 2;
  Constraints result{Grid(side), {}};
  Grid& fixed = result.fixed;
  for (int k = 0; k < side; ++k) fixed.set(k, 0, k / static_cast<double>(last));
  for (int k = 0; k < side; ++k) fixed.set(k, last, 1);
  fixed.set(middle, middle, 0.5);
  const double end = contact_end(spec.profile, depth) * last + kOnNode;
  for (int k = middle; k < last && k <= end; ++k) fixed.set(k, k, 0.5);

  // The polyline's crossings with the grid's lines, each segment without its second end.
  std::vector<Crossing> crossings;
  const auto add = [&](int i, int j, int i_next, int j_next, double t) {
    if (t < kOnNode || t > 1 - kOnNode) {
      const int on_i = t < 0.5 ? i : i_next, on_j = t < 0.5 ? j : j_next;
      if (fixed.is_free(on_i, on_j)) fixed.set(on_i, on_j, 0.5);
    } else {
      crossings.push_back({{fixed.index(i, j), fixed.index(i_next, j_next)}, {1 - t, t}});
    }
  };
  const std::vector<Eigen::Vector2d> curve = half_curve(spec.profile, depth, kCurveSegments);
  for (std::size_t s = 0; s + 1 < curve.size(); ++s) {
    const Eigen::Vector2d a = curve[s] * last, b = curve[s + 1] * last;
    for (const int axis : {0, 1}) {
      const int other = 1 - axis;
      if (a[axis] == b[axis]) continue;
      const double from = std::min(a[axis], b[axis]), to = std::max(a[axis], b[axis]);
      for (int line = static_cast<int>(std::ceil(from)); line <= to; ++line) {
        if (line == b[axis]) continue;
        const double across = a[other] + (b[other] - a[other]) * ((line - a[axis]) / (b[axis] - a[axis]));
        const int below = std::clamp(static_cast<int>(across), 0, last - 1);
        if (axis == 0)
          add(line, below, line, below + 1, across - below);
        else
          add(below, line, below + 1, line, across - below);
      }
    }
  }
  for (const Crossing& crossing : crossings)
    if (std::isnan(fixed.values[crossing.nodes[0]]) || std::isnan(fixed.values[crossing.nodes[1]]))
      result.crossings.push_back(crossing);
  return result;
}

/// The free nodes such that the bi-Laplacian's energy is least. g is symmetric: half of them are unknowns.
/// A profile with sharp turns can make the solution overshoot; fields end at 0 and 1.
Grid solve(const Constraints& constraints) {
  using Matrix = Eigen::SparseMatrix<double>;
  const Grid& fixed = constraints.fixed;
  const int side = fixed.side;
  std::vector<int> unknown(fixed.values.size(), -1);
  int count = 0;
  for (int i = 0; i < side; ++i)
    for (int j = i; j < side; ++j)
      if (fixed.is_free(i, j)) unknown[fixed.index(i, j)] = unknown[fixed.index(j, i)] = count++;

  Grid result = fixed;
  if (count == 0) return result;
  // Equations of mirrored nodes add up, which keeps the matrix symmetric.
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(fixed.values.size() * 8);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(count);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      const int row = unknown[fixed.index(i, j)];
      if (row < 0) continue;
      for (const StencilEntry& entry : kBiLaplacian) {
        const std::size_t at = fixed.index(fixed.mirrored(i + entry.di), fixed.mirrored(j + entry.dj));
        if (unknown[at] < 0)
          right[row] -= entry.weight * fixed.values[at];
        else if (unknown[at] <= row)
          entries.emplace_back(row, unknown[at], entry.weight);
      }
    }
  constexpr double weight = 2 * kCrossingWeight;  // with their mirror images
  for (const Crossing& crossing : constraints.crossings) {
    double miss = 0.5;
    for (std::size_t a = 0; a < 2; ++a)
      if (unknown[crossing.nodes[a]] < 0) miss -= crossing.shares[a] * fixed.values[crossing.nodes[a]];
    for (std::size_t a = 0; a < 2; ++a) {
      const int row = unknown[crossing.nodes[a]];
      if (row < 0) continue;
      right[row] += weight * crossing.shares[a] * miss;
      for (std::size_t b = 0; b < 2; ++b) {
        const int column = unknown[crossing.nodes[b]];
        if (column >= 0 && column <= row)
          entries.emplace_back(row, column, weight * crossing.shares[a] * crossing.shares[b]);
      }
    }
  }
  Matrix matrix(count, count);
  matrix.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Matrix> factor(matrix);
  if (factor.info() != Eigen::Success) throw Error("operator table: cannot solve for its profile");
  const Eigen::VectorXd solution = factor.solve(right);
  for (std::size_t k = 0; k < unknown.size(); ++k)
    if (unknown[k] >= 0) result.values[k] = std::clamp(solution[unknown[k]], 0.0, 1.0);
  return result;
}

/// solve(), and g >= max(f1, f2): nodes below the bound are fixed to it, and set free again when that holds
/// them down instead of up, until none changes (a primal-dual active set).
Grid solve_above_union(const Constraints& constraints) {
  const Grid& fixed = constraints.fixed;
  const int side = fixed.side;
  const auto bound = [&](int i, int j) { return std::max(i, j) / static_cast<double>(side - 1); };
  std::vector<std::uint8_t> held(fixed.values.size(), 0);
  Grid result = solve(constraints);
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (int i = 0; i < side; ++i)
      for (int j = i; j < side; ++j) {
        if (!fixed.is_free(i, j)) continue;
        std::uint8_t& hold = held[fixed.index(i, j)];
        bool next = result.at(i, j) < bound(i, j) - 1e-9;
        if (hold) {
          double force = 0;
          for (const StencilEntry& entry : kBiLaplacian)
            force += entry.weight * result.at(fixed.mirrored(i + entry.di), fixed.mirrored(j + entry.dj));
          next = force > 0;
        }
        changed = changed || next != (hold != 0);
        hold = next;
      }
    if (!changed) break;
    Constraints with_held = constraints;
    for (int i = 0; i < side; ++i)
      for (int j = i; j < side; ++j)
        if (held[fixed.index(i, j)]) with_held.fixed.set(i, j, bound(i, j));
    result = solve(with_held);
  }
  for (int i = 0; i < side; ++i)
    for (int j = i; j < side; ++j)
      if (fixed.is_free(i, j)) result.set(i, j, std::max(result.at(i, j), bound(i, j)));
  return result;
}

/// Value and derivatives at a node, i >= j.
OperatorTable::Node node_of(const Grid& grid, int i, int j) {
  const int last = grid.side - 1;
  const auto value = static_cast<float>(grid.at(i, j));
  if (j == 0) return {{value, 1, 0, 0}};  // on the axis before the edge f1 = 1
  if (i == last) return {{value, 0, 0, 0}};
  const double scale = 0.5 * last;
  return {{value, static_cast<float>(scale * (grid.at(i + 1, j) - grid.at(i - 1, j))),
           static_cast<float>(scale * (grid.at(i, j + 1) - grid.at(i, j - 1))), 0}};
}

}  // namespace

std::string_view name_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::union_:
      return "union";
    case OperatorKind::blend:
      return "blend";
    case OperatorKind::contact:
      return "contact";
    case OperatorKind::bulge:
      return "bulge";
    case OperatorKind::profile:
      return "profile";
  }
  return "unknown";
}

OperatorTableSpec table_spec(OperatorKind kind) {
  OperatorTableSpec spec;
  spec.kind = kind;
  switch (kind) {
    case OperatorKind::contact:
      return spec;
    case OperatorKind::bulge:
      spec.profile = bulge_profile();
      return spec;
    case OperatorKind::blend:
      spec.profile = {};
      return spec;
    case OperatorKind::union_:
    case OperatorKind::profile:
      break;
  }
  throw Error(fmt::format("operator '{}' has no table of its own", name_of(kind)));
}

OperatorTableSpec table_spec(const OperatorProfile& profile) {
  OperatorTableSpec spec;
  spec.kind = OperatorKind::profile;
  spec.profile = profile;
  return spec;
}

void validate(const OperatorTableSpec& spec) {
  if (spec.nodes < OperatorTableSpec::kLeastNodes || spec.nodes > OperatorTableSpec::kMostNodes ||
      spec.nodes % 2 == 0)
    throw Error(fmt::format("operator table: {} nodes per side, not an odd number from {} to {}", spec.nodes,
                            OperatorTableSpec::kLeastNodes, OperatorTableSpec::kMostNodes));
  if (spec.slices < OperatorTableSpec::kLeastSlices || spec.slices > OperatorTableSpec::kMostSlices)
    throw Error(fmt::format("operator table: {} slices, not {} to {}", spec.slices,
                            OperatorTableSpec::kLeastSlices, OperatorTableSpec::kMostSlices));
  if (spec.kind == OperatorKind::profile)
    validate(spec.profile);
  else if (spec.profile != table_spec(spec.kind).profile)
    throw Error(fmt::format("operator table: not the profile of operator '{}'", name_of(spec.kind)));
}

std::size_t OperatorTable::node_count(const OperatorTableSpec& spec) {
  return row_start(to_size(spec.nodes)) * to_size(spec.slices);
}

OperatorTable::OperatorTable(const OperatorTableSpec& spec, std::vector<Node> nodes)
    : spec_(spec),
      nodes_(std::move(nodes)),
      cells_(static_cast<float>(spec.nodes - 1)),
      layers_(static_cast<float>(spec.slices - 1)),
      last_cell_(spec.nodes - 2),
      last_layer_(spec.slices - 2),
      slices_(spec.slices) {
  validate(spec_);
  if (nodes_.size() != node_count(spec_))
    throw Error(fmt::format("operator table: {} nodes, not {}", nodes_.size(), node_count(spec_)));
}

OperatorTable::OperatorTable(const OperatorTableSpec& spec)
    : OperatorTable(spec, (validate(spec), std::vector<Node>(node_count(spec)))) {
  const int side = spec.nodes;
  const auto slices = to_size(spec.slices);
  const auto node_at = [&](int i, int j, std::size_t slice) -> Node& {
    return nodes_[(row_start(to_size(i)) + to_size(j)) * slices + slice];
  };
  parallel_blocks(slices, 1, [&](std::size_t slice, std::size_t) {
    const double depth = static_cast<double>(slice) / static_cast<double>(slices - 1);
    if (spec_.kind == OperatorKind::blend) {
      for (int i = 0; i < side; ++i)
        for (int j = 0; j <= i; ++j) {
          const BlendValue blend =
              gradient_blend(i / static_cast<double>(side - 1), j / static_cast<double>(side - 1),
                             depth * std::numbers::pi / 4);
          node_at(i, j, slice) = {{static_cast<float>(blend.value), static_cast<float>(blend.d1),
                                   static_cast<float>(blend.d2), 0}};
        }
    } else {
      const Constraints constraints = constraints_of(spec_, depth);
      const Grid grid = slice == 0 ? solve_above_union(constraints) : solve(constraints);
      for (int i = 0; i < side; ++i)
        for (int j = 0; j <= i; ++j) node_at(i, j, slice) = node_of(grid, i, j);
    }
    // With a fourth corner on the plane of the other three a cell is linear where f1 >= f2.
    for (int i = 0; i + 1 < side; ++i)
      for (std::size_t lane = 0; lane < 4; ++lane)
        node_at(i, i + 1, slice).lanes[lane] = node_at(i, i, slice).lanes[lane] +
                                               node_at(i + 1, i + 1, slice).lanes[lane] -
                                               node_at(i + 1, i, slice).lanes[lane];
  });
}

OperatorValue OperatorTable::node(int i, int j, int slice) const {
  assert(std::min(i, j) >= 0 && std::max(i, j) < spec_.nodes && slice >= 0 && slice < spec_.slices);
  const auto row = to_size(std::max(i, j)), column = to_size(std::min(i, j));
  const Node& node = nodes_[(row_start(row) + column) * to_size(spec_.slices) + to_size(slice)];
  return {node.lanes[0], i >= j ? node.lanes[1] : node.lanes[2], i >= j ? node.lanes[2] : node.lanes[1]};
}

}  // namespace sinew
