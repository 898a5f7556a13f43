#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// Scratch of one performer; made by ElasticRelaxation::make_scratch(). One entry per vertex unless it says
/// otherwise.
struct RelaxationScratch {
  // Given.
  std::vector<Eigen::Matrix3f> turns;  ///< R_i: how the vertex's bones turn and scale the rest
  std::vector<Vec3f> normals;          ///< unit; zero: it may go anywhere
  std::vector<Vec3f> slid;             ///< how far it has slid from where its bones have it
  // Found.
  std::vector<Vec3f> moves;
  // In between.
  std::vector<Vec3f> residual, direction, product;
  std::vector<double> sums;  ///< per block
};

/// What elastic skin wants (Vaillant et al. 2014; Vaillant 2015, §4.6.3): the least of
///   Σ_i Σ_j w_ij |(x_i − x_j) − R_i (p_i − p_j)|² + 2 Σ_i a_i |s_i|²
/// where each vertex stays in its tangent plane. p is the rest, w the edges of an intrinsic Delaunay
/// triangulation, so that none is negative. The second term is not the thesis': it holds the skin to what is
/// under it, s_i being how far it has slid. So slides end within the length that `anchor` stands for, and the
/// minimum is unique.
class ElasticRelaxation {
 public:
  /// `anchor`: per vertex, the length over which a slide fades along the skin, metres; not positive: the
  /// vertex does not slide. Throws Error for another number of them than vertices.
  ElasticRelaxation(const MeshView& rest, std::span<const float> anchor);

  RelaxationScratch make_scratch() const;
  /// Finds the moves of `vertices` from `positions` that lead to the least, the others staying, by so many
  /// sweeps of conjugate gradients at most. Moves of other vertices are zero. Allocates nothing; same bits
  /// for any number of threads.
  void find_moves(std::span<const Vec3f> positions, std::span<const std::uint32_t> vertices, int sweeps,
                  RelaxationScratch& scratch) const;

  /// How strongly, tangentially, the skin pulls at a vertex; 0 where it is as its bones have it.
  Vec3f pull(std::uint32_t vertex, std::span<const Vec3f> positions, const RelaxationScratch& scratch) const;

  bool is_free(std::uint32_t vertex) const { return anchored_[vertex] > 0; }

 private:
  Vec3f tangential(std::uint32_t vertex, const Vec3f& v, const RelaxationScratch& s) const;

  std::vector<Vec3f> rest_;
  std::vector<std::uint32_t> starts_{0}, ends_;  // edges per vertex
  std::vector<float> weights_, diagonal_;        // w_ij; Σ_j w_ij
  std::vector<float> anchored_;                  // a_i; 0: does not slide
};

}  // namespace sinew
