#include <sinew/skinning/smooth_rows.h>

#include <cassert>

#include <sinew/core/index.h>
#include <sinew/geometry/intrinsic_laplacian.h>

namespace sinew {

namespace {

constexpr float kSmallestWeight = 1e-3f;

SkinWeights smooth_once(const Eigen::SparseMatrix<double>& laplacian, const SkinWeights& weights) {
  SkinWeights smoothed;
  smoothed.starts.reserve(weights.starts.size());
  WeightRepairs repairs;
  std::vector<Influence> row;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    row.clear();
    double degree = 0;
    for (Eigen::SparseMatrix<double>::InnerIterator it(laplacian, static_cast<Eigen::Index>(v)); it; ++it)
      if (it.row() != it.col()) degree -= it.value();
    const auto add = [&](std::size_t from, double share) {
      for (std::uint32_t i = weights.starts[from]; i < weights.starts[from + 1]; ++i)
        row.push_back({weights.joints[i], static_cast<float>(share * weights.values[i])});
    };
    add(v, degree > 0 ? 0.5 : 1.0);
    if (degree > 0)
      for (Eigen::SparseMatrix<double>::InnerIterator it(laplacian, static_cast<Eigen::Index>(v)); it; ++it)
        if (it.row() != it.col()) add(to_size(it.row()), -0.5 * it.value() / degree);
    append_row(smoothed, row, 0, repairs);
    // Heaviest first: what is too light stands at the end.
    std::uint32_t kept = smoothed.starts.back();
    while (kept > smoothed.starts[v] + 1 && smoothed.values[kept - 1] < kSmallestWeight) --kept;
    smoothed.joints.resize(kept);
    smoothed.values.resize(kept);
    smoothed.starts.back() = kept;
  }
  return smoothed;
}

}  // namespace

SkinWeights smooth_rows(const MeshView& surface, const SkinWeights& weights, int passes) {
  assert(weights.rows() == surface.positions.size());
  if (passes <= 0) return weights;
  const Eigen::SparseMatrix<double> laplacian = intrinsic_laplacian(surface).laplacian;
  SkinWeights smoothed = weights;
  for (int pass = 0; pass < passes; ++pass) smoothed = smooth_once(laplacian, smoothed);
  // Dropping left rows a little short.
  return limit_influences(smoothed, 0);
}

}  // namespace sinew
