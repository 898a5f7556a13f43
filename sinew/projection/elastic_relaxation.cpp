#include <sinew/projection/elastic_relaxation.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/intrinsic_laplacian.h>

namespace sinew {

namespace {

constexpr std::size_t kBlock = 128;
constexpr double kConverged = 1e-3;  // residual over the first one

}  // namespace

ElasticRelaxation::ElasticRelaxation(const MeshView& rest, std::span<const float> anchor)
    : rest_(rest.positions.begin(), rest.positions.end()), anchored_(rest.positions.size(), 0) {
  const std::size_t count = rest_.size();
  if (anchor.size() != count)
    throw Error(fmt::format("elastic: {} anchors for {} vertices", anchor.size(), count));
  const IntrinsicLaplacian laplacian = intrinsic_laplacian(rest);
  for (std::size_t v = 0; v < count; ++v) {
    float sum = 0;
    for (Eigen::SparseMatrix<double>::InnerIterator entry(laplacian.laplacian, static_cast<Eigen::Index>(v));
         entry; ++entry) {
      if (entry.row() == static_cast<Eigen::Index>(v) || !(entry.value() < 0)) continue;
      ends_.push_back(static_cast<std::uint32_t>(entry.row()));
      weights_.push_back(static_cast<float>(-entry.value()));
      sum += weights_.back();
    }
    diagonal_.push_back(sum);
    starts_.push_back(static_cast<std::uint32_t>(ends_.size()));
    if (sum > 0 && anchor[v] > 0)
      anchored_[v] =
          static_cast<float>(laplacian.mass[static_cast<Eigen::Index>(v)]) / (anchor[v] * anchor[v]);
  }
}

RelaxationScratch ElasticRelaxation::make_scratch() const {
  const std::size_t count = rest_.size();
  RelaxationScratch s;
  s.turns.assign(count, Eigen::Matrix3f::Identity());
  for (auto* vectors : {&s.normals, &s.slid, &s.moves, &s.residual, &s.direction, &s.product})
    vectors->assign(count, Vec3f::Zero());
  s.sums.assign(count / kBlock + 1, 0);
  return s;
}

Vec3f ElasticRelaxation::tangential(std::uint32_t v, const Vec3f& at, const RelaxationScratch& s) const {
  return at - at.dot(s.normals[v]) * s.normals[v];
}

/// Bᵀ (½ Σ_j w_ij (R_i + R_j)(p_i − p_j) − (L x)_i − a_i s_i): a quarter of the energy's negative gradient.
Vec3f ElasticRelaxation::pull(std::uint32_t v, std::span<const Vec3f> positions,
                              const RelaxationScratch& s) const {
  if (!is_free(v)) return Vec3f::Zero();
  Vec3f sum = -anchored_[v] * s.slid[v];
  const Vec3f &at = positions[v], &rest = rest_[v];
  for (std::uint32_t k = starts_[v]; k < starts_[v + 1]; ++k) {
    const std::uint32_t n = ends_[k];
    const Vec3f edge = rest - rest_[n];
    sum += weights_[k] * (0.5f * (s.turns[v] * edge + s.turns[n] * edge) - (at - positions[n]));
  }
  return tangential(v, sum, s);
}

void ElasticRelaxation::find_moves(std::span<const Vec3f> positions, std::span<const std::uint32_t> vertices,
                                   int sweeps, RelaxationScratch& s) const {
  std::fill(s.moves.begin(), s.moves.end(), Vec3f::Zero());
  std::fill(s.direction.begin(), s.direction.end(), Vec3f::Zero());
  // Sums over blocks of fixed size, in order: the same bits for any number of threads.
  const auto sum_over = [&](auto&& work) {
    parallel_blocks(vertices.size(), kBlock, [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += static_cast<double>(work(vertices[i]));
      s.sums[begin / kBlock] = sum;
    });
    double total = 0;
    for (std::size_t b = 0; b * kBlock < vertices.size(); ++b) total += s.sums[b];
    return total;
  };
  const auto preconditioned = [&](std::uint32_t v) -> Vec3f {
    return s.residual[v] / (diagonal_[v] + anchored_[v]);
  };
  double rho = sum_over([&](std::uint32_t v) {
    s.residual[v] = pull(v, positions, s);
    if (!is_free(v)) return 0.0f;
    s.direction[v] = preconditioned(v);
    return s.residual[v].dot(s.direction[v]);
  });
  const double first = rho;
  for (int sweep = 0; sweep < sweeps && rho > kConverged * kConverged * first && rho > 0; ++sweep) {
    const double curvature = sum_over([&](std::uint32_t v) {
      if (!is_free(v)) return 0.0f;
      Vec3f sum = (diagonal_[v] + anchored_[v]) * s.direction[v];
      for (std::uint32_t k = starts_[v]; k < starts_[v + 1]; ++k) sum -= weights_[k] * s.direction[ends_[k]];
      s.product[v] = tangential(v, sum, s);
      return s.product[v].dot(s.direction[v]);
    });
    if (!(curvature > 0) || !std::isfinite(curvature)) break;
    const auto alpha = static_cast<float>(rho / curvature);
    const double next = sum_over([&](std::uint32_t v) {
      if (!is_free(v)) return 0.0f;
      s.moves[v] += alpha * s.direction[v];
      s.residual[v] -= alpha * s.product[v];
      return s.residual[v].dot(preconditioned(v));
    });
    const auto beta = static_cast<float>(next / rho);
    sum_over([&](std::uint32_t v) {
      if (is_free(v)) s.direction[v] = preconditioned(v) + beta * s.direction[v];
      return 0.0f;
    });
    rho = next;
  }
}

}  // namespace sinew
