#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// Scratch of one performer; made by ElasticRelaxation::make_scratch(). One entry per vertex. Vectors have a
/// fourth entry, 0, because that is faster.
struct RelaxationScratch {
  // Given.
  std::vector<Eigen::Matrix3f> turns;  ///< R_i: how the vertex's bones turn and scale the rest
  std::vector<Vec4f> normals;          ///< unit; zero: it may go anywhere
  std::vector<Vec4f> slid;             ///< how far it has slid from where its bones have it
  // Found.
  std::vector<Vec4f> pulls;
  std::vector<Vec4f> moves;
  // In between.
  std::vector<Vec4f> direction, next_direction;
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

  /// How strongly the skin pulls at a vertex that is free, in any direction: a quarter of the energy's
  /// negative gradient. Reads turns and `slid` of `scratch`. `rest` may be another than that of the
  /// constructor, as morphs change it.
  Vec4f pull(std::uint32_t vertex, std::span<const Vec3f> rest, std::span<const Vec3f> positions,
             const RelaxationScratch& scratch) const;
  /// How far a vertex would go by a pull if the others stayed, metres.
  float way(std::uint32_t vertex, const Vec4f& pull) const {
    return pull.norm() / (diagonal_[vertex] + anchored_[vertex]);
  }

  /// Finds the moves of `vertices`, all of them free, that lead from `pulls` to the least, the others
  /// staying. `pulls` are overwritten. By so many Jacobi sweeps with Chebyshev's acceleration (Golub and
  /// Varga 1961); what takes more of them is left to later frames. The result is linear in the pulls and
  /// local, so nothing jumps and no limb feels another. Moves of other vertices are zero. Allocates nothing;
  /// same bits for any number of threads.
  void find_moves(std::span<const std::uint32_t> vertices, int sweeps, RelaxationScratch& scratch) const;

  bool is_free(std::uint32_t vertex) const { return anchored_[vertex] > 0; }

 private:
  std::vector<std::uint32_t> starts_{0}, ends_;  // edges per vertex
  std::vector<float> weights_, diagonal_;        // w_ij; Σ_j w_ij
  std::vector<float> anchored_;                  // a_i; 0: does not slide
};

}  // namespace sinew
