#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>
#include <sinew/tracking/field_neighbours.h>
#include <sinew/tracking/fold_plane.h>
#include <sinew/tracking/mean_value_rings.h>
#include <sinew/tracking/palm_shares.h>
#include <sinew/tracking/probe.h>
#include <sinew/tracking/twist_view.h>

namespace sinew {

struct TrackingOptions {
  double step = 1;          ///< σ: share of a Newton step that is taken
  int rounds = 3;           ///< of projections and a relaxation
  int steps = 1;            ///< Newton steps of a round
  double tolerance = 1e-4;  ///< |f − iso| of a vertex that has arrived
  double ease = 2e-3;       ///< by which |f − iso| may be off without anything being done
  double turn = 55;         ///< degrees the gradient may turn in one step
  double gap = 0.03;        ///< by which a vertex's own field stays above the others in contact
  double relaxation = 1;    ///< times μ
  double coherence = 0.8;   ///< share of the neighbours' displacement taken on after every round
  double strain = 0.5;      ///< most that a displacement may differ from its neighbours', in rest edges
  double swelling = 0.8;    ///< share of the outgrowth that the layer before made that stays
  int smoothing = 8;        ///< sweeps over what is in contact
  int diffusion = 6;        ///< sweeps that spread the smoothing
  int untangling = 40;      ///< sweeps over triangles that are flipped
};

/// What happened to a vertex in a frame.
enum class TrackMark : std::uint8_t {
  still = 0,     ///< stayed where the layer before put it, or was smoothed only
  moved = 1,     ///< went to its iso-value
  contact = 2,   ///< was stopped at the contact surface
  returned = 3,  ///< had been sent across the contact surface, and was brought back
};

/// Scratch of one performer; made by SkinTracker::make_scratch(). Vertices are in the tracker's own order, in
/// which those near each other are together; only `marks` and `room` are in the mesh's.
struct TrackingScratch {
  /// Vertices that lie together and the fields that reach them in this frame.
  struct Block {
    std::array<std::uint16_t, CompositionTree::kMostLeaves> fields{};
    std::array<CompositionTree::Step, CompositionTree::kMostLeaves> steps{};
    std::uint32_t field_count = 0;
    std::uint32_t active = 0;  ///< entries of `work`, from the block's first vertex on
  };
  std::vector<PosedField> posed;
  std::vector<Eigen::Affine3f> transforms;  ///< per field
  std::vector<Eigen::Matrix3f> turns;       ///< per transform, its linear part
  std::vector<float> turn_sizes;            ///< their norms
  std::vector<Vec3f> centers;               ///< per field, of its part
  std::vector<float> posed_radius;          ///< per field, of its support, as it is scaled
  std::vector<Vec3f> joints;                ///< per joint of the set
  std::vector<FoldPlane> planes;            ///< per joint of the set
  std::vector<float> joint_radius;          ///< per joint of the set
  std::vector<JointTwist> twists;           ///< per joint of the set
  std::vector<TwistTurn> seen;              ///< per entry of the twist shares
  std::vector<std::uint8_t> turned;         ///< 1: a vertex sees some field turned
  std::vector<std::uint16_t> motion;        ///< per field, the first one that moves as it does
  std::vector<std::uint8_t> at_rest;        ///< per group of fields, 1: all of them move alike
  std::vector<Block> blocks;
  std::vector<std::uint32_t> work;             ///< active vertices, block by block
  std::vector<std::array<Vec3f, 2>> segments;  ///< all fields' bones
  std::vector<Vec3f> start, now, next, gradient, inwards;
  std::vector<Vec3f> asked_at;                ///< where `present` was found
  std::vector<Vec3f> out, bone;               ///< outward normal and nearest point of the own bone
  std::vector<std::uint8_t> warm, next_warm;  ///< per block, 1: some vertex has a beta
  std::vector<Vec3f> carried;             ///< per ring entry, its triangle's carried normal over its square
  std::vector<Vec3f> corner;              ///< likewise, from its centre to the vertex, once it is asked for
  std::vector<std::uint8_t> is_carried;   ///< 1: those of its ring are known
  std::vector<std::uint64_t> stirred;     ///< per block, bits of the vertices that tracking has moved
  std::vector<std::uint64_t> bent;        ///< likewise, of those whose joints have turned
  std::vector<std::uint8_t> pair_turned;  ///< per pair of joints that move the same skin most
  /// What its joints do to a vertex: the blend of their turns, which shrinks, and of their sizes.
  struct VertexTurn {
    Eigen::Matrix3f turn;
    float scale;
  };
  std::vector<VertexTurn> vertex_turns;
  std::vector<std::uint8_t> has_turns;       ///< per block, 1: those of its vertices are known
  std::vector<std::uint32_t> turned_blocks;  ///< whose turns are to be found
  /// Per block, bits of its vertices: which a sweep of untangling and the next one look at, and which go.
  std::vector<std::uint64_t> asked, next_asked, goes;
  std::vector<std::uint8_t> may_untangle;   ///< per block, 1: of those that this frame looks at
  std::vector<std::uint32_t> swept_blocks;  ///< by this sweep
  std::vector<float> error, target, beta, next_beta;
  std::vector<float> side;             ///< that of the nearest contact
  std::vector<std::uint8_t> followed;  ///< rounds since the fields were asked
  std::vector<float> held;             ///< share of the steps to the iso-value that are not taken
  std::vector<std::uint64_t> present;  ///< bits of the block's fields that a vertex has to do with
  std::vector<float> slides;           ///< per neighbour entry, once it is asked for
  std::vector<float> free;             ///< 1 where there is room for skin to swell, 0 at contacts
  std::vector<TrackMark> state;
  std::vector<TrackMark> marks;
  std::vector<float> room;  ///< `free` of the frame, in the mesh's order
};

/// History-free tracking (Vaillant et al. 2012, §5; Vaillant 2015, §4.6.2): brings vertices that a geometric
/// skin has moved back to the iso-value they had at rest, and stops them where two parts of the body meet.
///
/// Beyond the papers, every vertex has its own field, that of the bone that moves it most (palm_shares.h: in
/// a palm the mean of its bones'). It is on its own side of a contact while its own field is the stronger
/// one; where fields overlap at rest already, by as much less. A vertex that the skin sent across comes back
/// along ∇(f_own − f_other), but never away from its own bone. Neighbouring vertices move coherently: what a
/// field cannot tell, the surface knows.
class SkinTracker {
 public:
  /// `own` names each vertex's own field, -1: not tracked; so are vertices where no field is. `weights` say
  /// which transforms move a vertex. `posed_at_rest`, one motion for all transforms, carries the fields to
  /// where `rest` is; poses other than the rest are tracked as if it were the identity. Throws Error when
  /// sizes differ, when own fields, weights or fields name what is not there, or there are more than 65 535
  /// fields.
  SkinTracker(const MeshView& rest, std::span<const std::int32_t> own, std::shared_ptr<const FieldSet> fields,
              const SkinWeights& weights, std::span<const Affine3d> posed_at_rest,
              const TrackingOptions& options);

  TrackingScratch make_scratch() const;
  /// Moves `positions`, one per rest vertex, in place. `posed_from_rest` has as many as `posed_at_rest` had.
  /// Allocates nothing, throws nothing; positions that are not finite stay as they are. Same bits for any
  /// number of threads.
  void track(std::span<const Affine3d> posed_from_rest, TrackingScratch& scratch,
             std::span<Vec3f> positions) const;

  /// The last step of the frame that was tracked, after whatever else moves its skin: triangles that are
  /// flipped against where their joints carry them, or nearly, are put upright. Promises as track().
  void untangle(TrackingScratch& scratch, std::span<Vec3f> positions) const {
    untangle(scratch, positions, {});
  }
  /// After track(), with its positions: lowers `room`, one entry per rest vertex, for those that lie near
  /// skin of other parts that they face, to 0 for those in contact.
  void leave_room(std::span<const Vec3f> positions, TrackingScratch& scratch, std::span<float> room) const {
    leave_room(positions, scratch, room, false);
  }

  /// With what the frame that was tracked last asks its fields, by places in the tracker's order.
  ProbeTables probe_tables(TrackingScratch& scratch) const;

  const FieldSet& fields() const { return *fields_; }
  const TrackingOptions& options() const { return options_; }
  /// The composed field's value at each vertex at rest, as the vertex feels it; 0 where it is not tracked.
  std::vector<float> iso() const;

 private:
  friend class ElasticTracker;

  /// `freedom`, one per vertex in the tracker's order or none, is how much of its way a vertex takes.
  void untangle(TrackingScratch& s, std::span<Vec3f> positions, std::span<const float> freedom) const;
  class Frame;
  static constexpr std::size_t kBlock = 64;
  using Segment = std::array<Vec3f, 2>;

  void leave_room(std::span<const Vec3f> positions, TrackingScratch& scratch, std::span<float> room,
                  bool bones_have_moved) const;
  // Set-up, in this order.
  /// Finds the pairs of transforms that move the same skin most.
  void find_turn_pairs();
  /// Lists what blocks have to do with: triangles, blocks, joints that twist.
  void describe_blocks(std::span<const Triangle> triangles);
  /// Finds the groups of fields that vertices have to do with at rest.
  void find_field_groups();
  /// Finds which fields are near at rest, and how free skin is then, as a frame finds it.
  void find_rest(std::span<const Affine3d> posed_at_rest);

  /// Finds which fields move alike, and so which vertices have to do with such as do only.
  void find_motions(TrackingScratch& scratch) const;
  /// Puts fields, bones and joints where the transforms carry them.
  void pose(std::span<const Affine3d> posed_from_rest, TrackingScratch& scratch) const;
  /// The triangles that have some corner in a block.
  std::span<const Triangle> block_triangles(std::size_t block) const {
    return {block_triangles_.data() + block_triangle_starts_[block],
            block_triangle_starts_[block + 1] - block_triangle_starts_[block]};
  }
  /// The joints about which some vertex of a block may see a field turned.
  std::span<const std::uint16_t> twist_joints(std::size_t block) const {
    return {twist_joints_.data() + twist_joint_starts_[block],
            twist_joint_starts_[block + 1] - twist_joint_starts_[block]};
  }
  /// The blocks that have vertices of rings of this one's, itself included.
  std::span<const std::uint32_t> near_blocks(std::size_t block) const {
    return {near_blocks_.data() + near_block_starts_[block],
            near_block_starts_[block + 1] - near_block_starts_[block]};
  }
  /// Whether two bones are of the same palm.
  bool are_one_palm(std::size_t a, std::size_t b) const {
    return palm_of_[a] >= 0 && palm_of_[a] == palm_of_[b];
  }

  TrackingOptions options_;
  std::shared_ptr<const FieldSet> fields_;
  bool unions_only_ = true;
  std::vector<std::uint32_t> vertex_;  // per place in the tracker's order, the mesh's vertex
  std::size_t tracked_ = 0;            // these come first
  // All below by place in that order.
  OneRings rings_;
  std::vector<std::uint32_t> near_block_starts_{0}, near_blocks_;
  std::vector<std::uint32_t> block_triangle_starts_{0};
  std::vector<Triangle> block_triangles_;
  std::vector<std::uint32_t> twist_joint_starts_{0};
  std::vector<std::uint16_t> twist_joints_;
  MeanValueRings mean_values_;
  std::vector<std::uint16_t> own_;
  std::vector<float> iso_, edge_, ease_;
  // Groups of fields, sorted, and per vertex that of all it has to do with at rest; how free it is then.
  std::vector<std::vector<std::uint16_t>> field_groups_;
  std::vector<std::uint32_t> field_group_;
  std::vector<float> rest_free_;  // negative where tracking does something at rest already
  std::vector<float> fineness_;   // share of what is passed on to neighbours; less on coarse meshes
  std::vector<float> trust_;      // share of the displacement that is taken; less on coarser ones
  std::vector<Vec3f> rest_bone_, rest_out_;  // nearest point of the own bone; outward normal
  std::vector<Vec3f> rest_;
  std::vector<Vec3f> rest_height_;  // over the mean value of the ring
  FieldNeighbours neighbours_;
  TwistShares twist_shares_;
  PalmShares palm_shares_;
  std::vector<Vec3f> child_bones_;  // per joint of the set, at rest
  SkinWeights weights_;
  std::size_t turn_count_ = 0;  // transforms of a frame
  // Transforms that move the same skin most, and per vertex which two; the first pair is twice the same.
  std::vector<std::array<std::uint32_t, 2>> turn_pairs_{{0, 0}};
  std::vector<std::uint32_t> turn_pair_;
  std::vector<Vec3f> rest_center_;  // per field
  std::vector<Segment> rest_segments_;
  std::vector<std::uint32_t> segment_starts_{0};  // per field
  std::vector<std::uint8_t> kin_;                 // per pair of fields
  std::vector<std::int32_t> palm_of_;             // per field; -1: of none
  std::vector<float> skin_edge_;                  // per field, mean length of its skin's edges
  std::vector<float> radius_;                     // per field, of its support
};

}  // namespace sinew
