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
  double settled = 2e-5;  ///< largest move, in support radii, of skin that has come to rest
};

/// What one performer's skin remembers, and scratch; made by ElasticTracker::make_state().
struct ElasticState {
  bool started = false;
  bool fresh = false;               ///< in the step that begins
  bool wild = false;                ///< no skin could follow the last step
  std::vector<Vec3f> kept;          ///< where vertices are, carried back to the rest by their own bone
  std::vector<Vec3f> drift;         ///< by how much the last step changed that
  std::vector<Affine3d> last;       ///< posed_from_rest of the last step
  std::vector<std::uint8_t> awake;  ///< per block, 1: some vertex has not come to rest
  std::vector<float> folded;        ///< 1 in a fold, 0 when it was in none for long
  std::vector<float> creep;         ///< how far vertices may move by themselves, in support radii

  TrackingScratch tracking;  ///< no history from here on
  std::vector<Affine3d> moved;
  std::vector<SplitTransform> split;
  std::vector<float> scale;   ///< per field
  std::vector<float> motion;  ///< per block, of what moves it, in support radii
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
  /// Begins anew, with the skin where history-free tracking puts it. `positions` are read where a vertex is
  /// not tracked; results take the place of the others.
  void start(std::span<const Affine3d> posed_from_rest, ElasticState& state,
             std::span<Vec3f> positions) const;
  /// Goes on from the last step. Turns of more than about a right angle want steps between. Begins anew after
  /// poses that no skin can follow: joints torn apart, sizes that leap.
  void step(std::span<const Affine3d> posed_from_rest, ElasticState& state, std::span<Vec3f> positions) const;

  /// Adds what this frame's morph targets do to the rest, as the last step has turned it: the skin does not
  /// remember it.
  void add_morphs(const ElasticState& state, std::span<const Vec3f> morphed_rest,
                  std::span<Vec3f> positions) const;

  /// As SkinTracker::untangle, after the last step and whatever else moves its skin; it is not remembered.
  /// Rigid skin stays.
  void untangle(ElasticState& state, std::span<Vec3f> positions) const {
    tracker_.untangle(state.tracking, positions, freedom_);
  }
  /// As SkinTracker::leave_room, after the last step.
  void leave_room(std::span<const Vec3f> positions, ElasticState& state, std::span<float> room) const {
    tracker_.leave_room(positions, state.tracking, room, true);
  }

  const SkinTracker& tracker() const { return tracker_; }

 private:
  class Step;

  enum class Sense { good, wild, blind };
  /// Whether the skin can follow to these transforms: wild: they leap; blind: they are too far away for
  /// floats.
  Sense sense(std::span<const Affine3d> posed_from_rest, const ElasticState& state) const;
  void go_on(std::span<const Affine3d> posed_from_rest, ElasticState& state,
             std::span<Vec3f> positions) const;
  /// Fields, turns and where dual quaternion skinning puts the vertices.
  void pose(std::span<const Affine3d> posed_from_rest, ElasticState& state) const;

  SkinTracker tracker_;
  ElasticOptions options_;
  // By place in the tracker's order.
  std::vector<float> freedom_;  // 1 − rigidity
  std::vector<std::uint32_t> edge_starts_{0}, edge_ends_;
  std::vector<float> edge_weights_, diagonal_;
  std::vector<std::uint32_t> block_transform_starts_{0}, block_transforms_;  // that carry a block's vertices
};

}  // namespace sinew
