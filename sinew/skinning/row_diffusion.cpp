#include <sinew/skinning/row_diffusion.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/geometry/laplacian.h>
#include <sinew/geometry/sparse_cholesky.h>

namespace sinew {

namespace {

using Sparse = Eigen::SparseMatrix<double>;

constexpr float kDropped = 1e-6f;

// How strongly vertices pull on each other, as a matrix with entries > 0 off the diagonal wherever they share
// a triangle. All positive gives the maximum principle; within bounds, a system that can be solved on any
// mesh. Cotangents are around 1 on good triangles.
Sparse pulls(const MeshView& surface) {
  constexpr double kWeakest = 1e-3, kStrongest = 1e3;
  Sparse result = cotangent_laplacian(surface);
  for (int column = 0; column < result.outerSize(); ++column)
    for (Sparse::InnerIterator entry(result, column); entry; ++entry)
      entry.valueRef() = entry.row() == column ? 0 : std::clamp(-entry.value(), kWeakest, kStrongest);
  return result;
}

}  // namespace

Components connected_parts(const MeshView& surface) {
  std::vector<Triangle> proper;
  for (const Triangle& f : surface.triangles)
    if (f[0] != f[1] && f[1] != f[2] && f[2] != f[0]) proper.push_back(f);
  return connected_components(surface.positions.size(), proper);
}

SkinWeights fill_rows(const MeshView& surface, const SkinWeights& weights,
                      std::span<const std::uint8_t> known) {
  const std::size_t count = surface.positions.size();
  assert(weights.rows() == count && known.size() == count);

  const Components components = connected_parts(surface);
  std::vector<std::uint8_t> fed(components.count, 0);
  const auto is_source = [&](std::size_t v) { return known[v] != 0 && weights.row_size(v) > 0; };
  for (std::size_t v = 0; v < count; ++v)
    if (is_source(v)) fed[components.of_vertex[v]] = 1;

  // Known but empty rows are neither sources nor filled: they let the others' weights pass.
  std::vector<int> unknown_of_vertex(count, -1);
  std::vector<std::uint32_t> unknowns;
  for (std::size_t v = 0; v < count; ++v)
    if (!is_source(v) && fed[components.of_vertex[v]]) {
      unknown_of_vertex[v] = static_cast<int>(unknowns.size());
      unknowns.push_back(static_cast<std::uint32_t>(v));
    }

  std::vector<std::vector<Influence>> filled(unknowns.size());
  if (!unknowns.empty()) {
    const Sparse pull = pulls(surface);
    const auto size = static_cast<Eigen::Index>(unknowns.size());
    std::vector<Eigen::Triplet<double>> entries;
    struct BorderPull {
      int unknown;
      std::uint32_t source;
      double strength;
    };
    std::vector<BorderPull> border;
    for (std::size_t u = 0; u < unknowns.size(); ++u) {
      const int row = static_cast<int>(u);
      double diagonal = 0;
      for (Sparse::InnerIterator entry(pull, static_cast<Eigen::Index>(unknowns[u])); entry; ++entry) {
        const auto other = to_size(entry.row());
        if (other == unknowns[u]) continue;
        diagonal += entry.value();
        if (unknown_of_vertex[other] >= 0)
          entries.emplace_back(unknown_of_vertex[other], row, -entry.value());
        else
          border.push_back({row, static_cast<std::uint32_t>(other), entry.value()});
      }
      entries.emplace_back(row, row, diagonal);
    }
    Sparse system(size, size);
    system.setFromTriplets(entries.begin(), entries.end());
    entries = {};
    const SparseCholesky solver(system);

    std::vector<std::uint32_t> joints;
    for (const BorderPull& pulled : border)
      for (const std::uint32_t joint : weights.row_joints(pulled.source)) joints.push_back(joint);
    std::sort(joints.begin(), joints.end());
    joints.erase(std::unique(joints.begin(), joints.end()), joints.end());

    // As many joints at a time as are solved for together; of each only what counts is kept.
    std::vector<double> block(unknowns.size() * SparseCholesky::kLanes), scratch(block.size());
    for (std::size_t first = 0; first < joints.size(); first += SparseCholesky::kLanes) {
      const auto begin = joints.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = joints.begin() +
                       static_cast<std::ptrdiff_t>(std::min(first + SparseCholesky::kLanes, joints.size()));
      std::fill(block.begin(), block.end(), 0.0);
      for (const BorderPull& pulled : border)
        for (std::uint32_t k = weights.starts[pulled.source]; k < weights.starts[pulled.source + 1]; ++k)
          if (const auto lane = std::lower_bound(begin, end, weights.joints[k]);
              lane != end && *lane == weights.joints[k])
            block[to_size(pulled.unknown) * SparseCholesky::kLanes + to_size(lane - begin)] +=
                pulled.strength * double{weights.values[k]};
      solver.solve(block, scratch);
      for (std::size_t u = 0; u < unknowns.size(); ++u)
        for (std::size_t lane = 0; lane < to_size(end - begin); ++lane)
          if (const auto weight = static_cast<float>(block[u * SparseCholesky::kLanes + lane]);
              weight > kDropped)
            filled[u].push_back({joints[first + lane], weight});
    }
  }

  SkinWeights result;
  WeightRepairs repairs;
  for (std::size_t v = 0; v < count; ++v) {
    if (unknown_of_vertex[v] >= 0 && known[v] == 0) {
      append_row(result, filled[to_size(unknown_of_vertex[v])], 0, repairs);
      continue;
    }
    if (known[v] != 0) {
      const std::span<const std::uint32_t> joints = weights.row_joints(v);
      const std::span<const float> values = weights.row_values(v);
      result.joints.insert(result.joints.end(), joints.begin(), joints.end());
      result.values.insert(result.values.end(), values.begin(), values.end());
    }
    result.starts.push_back(static_cast<std::uint32_t>(result.joints.size()));
  }
  return result;
}

}  // namespace sinew
