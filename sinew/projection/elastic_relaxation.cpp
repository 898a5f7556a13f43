#include <sinew/projection/elastic_relaxation.h>

#include <algorithm>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/intrinsic_laplacian.h>

namespace sinew {

namespace {

constexpr std::size_t kBlock = 256;
// Eigenvalues of the matrix, each row by its diagonal, that sweeps are made for. None is larger. Smaller ones
// belong to slides that vary over dozens of edges: these take more than one frame.
constexpr float kLeastEigenvalue = 0.06f, kMostEigenvalue = 2;

Vec4f tangential(const Vec4f& at, const Vec4f& normal) {
  return at - at.dot(normal) * normal;
}

}  // namespace

ElasticRelaxation::ElasticRelaxation(const MeshView& rest, std::span<const float> anchor)
    : anchored_(rest.positions.size(), 0) {
  const std::size_t count = rest.positions.size();
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
  const std::size_t count = anchored_.size();
  RelaxationScratch s;
  s.turns.assign(count, Eigen::Matrix3f::Identity());
  for (auto* vectors : {&s.normals, &s.slid, &s.pulls, &s.moves, &s.direction, &s.next_direction})
    vectors->assign(count, Vec4f::Zero());
  return s;
}

/// ½ Σ_j w_ij (R_i + R_j)(p_i − p_j) − (L x)_i − a_i s_i.
Vec4f ElasticRelaxation::pull(std::uint32_t v, std::span<const Vec3f> rest, std::span<const Vec3f> positions,
                              const RelaxationScratch& s) const {
  Vec3f sum = -anchored_[v] * s.slid[v].head<3>();
  for (std::uint32_t k = starts_[v]; k < starts_[v + 1]; ++k) {
    const std::uint32_t n = ends_[k];
    const Vec3f edge = rest[v] - rest[n];
    sum += weights_[k] * (0.5f * (s.turns[v] * edge + s.turns[n] * edge) - (positions[v] - positions[n]));
  }
  return {sum.x(), sum.y(), sum.z(), 0};
}

void ElasticRelaxation::find_moves(std::span<const std::uint32_t> vertices, int sweeps,
                                   RelaxationScratch& s) const {
  for (auto* vectors : {&s.moves, &s.direction, &s.next_direction})
    std::fill(vectors->begin(), vectors->end(), Vec4f::Zero());
  constexpr float kEigenvalueMiddle = (kMostEigenvalue + kLeastEigenvalue) / 2,
                  kEigenvalueHalf = (kMostEigenvalue - kLeastEigenvalue) / 2;
  const auto each = [&](auto&& work) {
    parallel_blocks(vertices.size(), kBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) work(vertices[i]);
    });
  };
  each([&](std::uint32_t v) {
    s.pulls[v] = tangential(s.pulls[v], s.normals[v]);
    s.direction[v] = s.pulls[v] / ((diagonal_[v] + anchored_[v]) * kEigenvalueMiddle);
  });
  // Saad 2003, algorithm 12.1; `pulls` are the residual.
  float rho = kEigenvalueHalf / kEigenvalueMiddle;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const float next_rho = 1 / (2 * kEigenvalueMiddle / kEigenvalueHalf - rho);
    const float keep = next_rho * rho, take = 2 * next_rho / kEigenvalueHalf;
    each([&](std::uint32_t v) {
      const float diagonal = diagonal_[v] + anchored_[v];
      Vec4f sum = diagonal * s.direction[v];
      for (std::uint32_t k = starts_[v]; k < starts_[v + 1]; ++k) sum -= weights_[k] * s.direction[ends_[k]];
      s.pulls[v] -= tangential(sum, s.normals[v]);
      s.moves[v] += s.direction[v];
      s.next_direction[v] = keep * s.direction[v] + (take / diagonal) * s.pulls[v];
    });
    s.direction.swap(s.next_direction);
    rho = next_rho;
  }
}

}  // namespace sinew
