#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sinew/skinning/dual_quaternion.h>
#include <sinew/tracking/skin_tracker.h>

namespace sinew {

struct ElasticOptions {
  int rounds = 2;         ///< of a projection and a relaxation, per step
  int sweeps = 16;        ///< of conjugate gradients in a relaxation, at most
  int steps = 2;          ///< Newton steps of a projection
  double settled = 2e-4;  ///< largest move, in support radii, of skin that has come to rest
};

/// What one performer's skin remembers, and scratch; made by ElasticTracker::make_state().
struct ElasticState {
  bool started = false;
  std::vector<Vec3f> kept;          ///< where vertices are, carried back to the rest by their own bone
  std::vector<Vec3f> drift;         ///< by how much the last step changed that
  std::vector<Affine3d> last;       ///< posed_from_rest of the last step
  std::vector<std::uint8_t> awake;  ///< per block, 1: some vertex has not come to rest

  TrackingScratch tracking;  ///< no history from here on
  std::vector<Affine3d> moved;
  std::vector<SplitTransform> split;
  std::vector<std::uint8_t> active;
  std::vector<std::uint32_t> blocks;  ///< the active ones
  std::vector<Eigen::Matrix3f> turn;  ///< per vertex, the blend of its joints' linear parts
  std::vector<Vec3f> goal, normal, offset, residual, direction, product;
  std::vector<double> sums;
};

/// Elastic tracking (Vaillant et al. 2014; Vaillant 2015, §4.6.3): skin that remembers where it was. Per step
/// vertices (1) follow their own bone, (2) go to their iso-value or the contact that stops them, (3) minimise
/// Σ w_ij |(v_i − v_j) − R_i (p_i − p_j)|² within their tangent planes, where the R_i are blends of the
/// joints' turns; (2) and (3) alternate. w_ij are the edges of an intrinsic Delaunay triangulation, so that
/// none is negative.
///
/// The minimum within tangent planes solves Bᵀ L B t = Bᵀ (½ Σ_j w_ij (R_i + R_j)(p_i − p_j) − L v), by
/// conjugate gradients that never form it. Parts of the skin where nothing has moved against its own bone,
/// and that have come to rest, are left alone.
class ElasticTracker {
 public:
  /// As SkinTracker. `rigidity`, one per vertex or empty: 1 for skin that stays rigid to its bone, 0 for skin
  /// that is relaxed. Throws Error as SkinTracker does, and for rigidities of another size or outside of 0
  /// to 1.
  ElasticTracker(const MeshView& rest, std::span<const std::int32_t> own,
                 std::shared_ptr<const FieldSet> fields, const SkinWeights& weights,
                 std::size_t transform_count, const TrackingOptions& tracking, const ElasticOptions& options,
                 std::span<const float> rigidity = {});

  ElasticState make_state() const;
  /// Begins anew: with the skin where history-free tracking puts `positions`, which a geometric skin has
  /// posed. Results take their place.
  void start(std::span<const Affine3d> posed_from_rest, ElasticState& state,
             std::span<Vec3f> positions) const;
  /// Goes on from the last step. Turns of more than about a right angle want steps between. `positions` are
  /// read where a vertex is not tracked, or not finite in the state, only.
  void step(std::span<const Affine3d> posed_from_rest, ElasticState& state, std::span<Vec3f> positions) const;

  const SkinTracker& tracker() const { return tracker_; }

 private:
  class Step;

  SkinTracker tracker_;
  ElasticOptions options_;
  // By place in the tracker's order.
  std::vector<float> freedom_;  // 1 − rigidity
  std::vector<std::uint32_t> edge_starts_{0}, edge_ends_;
  std::vector<float> edge_weights_, diagonal_;
  std::vector<std::uint32_t> block_transform_starts_{0}, block_transforms_;  // that carry a block's vertices
};

}  // namespace sinew
