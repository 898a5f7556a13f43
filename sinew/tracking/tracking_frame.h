#pragma once

#include <algorithm>

#include <sinew/core/parallel.h>
#include <sinew/tracking/probe.h>
#include <sinew/tracking/probe_lanes.h>
#include <sinew/tracking/skin_tracker.h>

namespace sinew {

/// One frame of SkinTracker (Vaillant et al. 2012, §5; Vaillant 2015, §4.6.2), shared by the threads that do
/// it: every function treats one block of vertices. Sweeps over the surface read `now` and write `next`; all
/// other functions write to the block's own vertices only. tests/reference/implicit_tracking.h is a plain
/// version of the same.
class SkinTracker::Frame {
 public:
  using Contact = SkinContact;
  using Probe = SkinProbe;

  Frame(const SkinTracker& tracker, TrackingScratch& scratch);

  const ProbeTables& tables() const { return tables_; }

  /// Finds how vertices see fields when joints twist. Comes first.
  void find_twists(std::size_t b) const;

  /// Finds the fields that reach a block.
  void find_fields(std::size_t b) const;

  /// Finds the fields that reach a block and its active vertices (those that must move), and projects these a
  /// first time.
  void start(std::size_t b, int times) const;

  /// Whether all fields that reach a vertex have moved rigidly together, as at rest: then the vertex stays
  /// where it is.
  bool is_as_at_rest(const TrackingScratch::Block& block, std::size_t i) const;

  /// Finds the field values that vertices should reach, from where the geometric skin puts them (`start`),
  /// and the fields that are not zero where they are now.
  void aim(std::size_t b) const;

  /// Brings active vertices to their own side, then up to `times` steps towards their iso-value, or straight
  /// to the contact that is in the way; `normals` are those of the surfaces that they end on, zero where no
  /// field is.
  void settle(std::size_t b, int times, std::span<Vec3f> normals) const;

  /// Writes to `next_beta` how near vertices are to other parts' skin that faces them: 1 at a contact. Set
  /// `bones_have_moved` when start() was not called for all vertices in this frame.
  void find_touch(std::size_t b, bool bones_have_moved) const;

  /// Evaluates the fields at the active vertices' present places and projects them: brings them to their own
  /// side, then up to `times` steps towards their iso-value.
  void project_again(std::size_t b, int times) const;

  /// Moves active vertices to `next`, then projects them. Vertices that are still near the place of their
  /// last evaluation, and far from contacts, reuse its value and gradient.
  void follow(std::size_t b, int times) const;

  /// Tangential relaxation (eq. 7 and 8) of displacements that have been made coherent, into `next`.
  void relax(std::size_t b) const;

  /// No displacement differs from its neighbours' by more than the strain allows; into `next`.
  void restrain(std::size_t b) const;

  /// Vertices of triangles that are flipped, or nearly, go where these stand upright, sweep by sweep, and
  /// those round them in turn. They are looked for everywhere when all skin slides, else where joints turn or
  /// skin stirs. `each_block(work)` calls work(b) for all blocks, side by side.
  template <typename EachBlock>
  void untangle(int sweeps, bool all_slides, const EachBlock& each_block) const {
    if (sweeps <= 0) return;
    std::fill(s_.may_untangle.begin(), s_.may_untangle.end(), std::uint8_t{0});
    std::fill(s_.next_asked.begin(), s_.next_asked.end(), std::uint64_t{0});
    std::fill(s_.stirred.begin(), s_.stirred.end(), std::uint64_t{0});
    std::fill(s_.has_turns.begin(), s_.has_turns.end(), std::uint8_t{0});
    find_turned_pairs();
    each_block([&](std::size_t b) {
      s_.may_untangle[b] = 1;
      find_stirred(b, all_slides);
    });
    const auto each_of = [](std::span<const std::uint32_t> blocks, auto&& work) {
      parallel_blocks(blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) work(blocks[i]);
      });
    };
    const auto each_swept = [&](auto&& work) { each_of(s_.swept_blocks, work); };
    find_suspect_blocks();
    each_of(s_.turned_blocks, [&](std::size_t b) { find_turns(b); });
    each_swept([&](std::size_t b) { find_tangled(b); });
    for (int k = 0; k < sweeps; ++k) {
      find_asked_blocks();
      if (s_.swept_blocks.empty()) return;
      each_of(s_.turned_blocks, [&](std::size_t b) { find_turns(b); });
      const float left = 1 - static_cast<float>(k) / static_cast<float>(sweeps);
      each_swept([&](std::size_t b) { untangle(b, left); });
      each_swept([&](std::size_t b) { take_untangled(b); });
    }
  }

  void take_next(std::size_t b) const;

  /// One sweep that spreads β over the surface. Blocks to which none can come are passed over.
  void diffuse(std::size_t b) const;

  /// Says which blocks have some β.
  void find_warm(std::size_t b) const;

  /// Makes the vertices that β reached active, too. Smoothed skin stays where smoothing puts it, because it
  /// has no iso-value in a contact.
  void widen(std::size_t b) const;

  /// Looks for new fields near vertices that have moved far.
  void look_round(std::size_t b) const;

  /// Laplacian smoothing by β (eq. 9), into `next`. The mean is by the ring's mean value coordinates, which
  /// keep what is irregular in the mesh at rest; with some of the vertex's height over it at rest, without
  /// which fingers would become thin.
  void smooth(std::size_t b) const;

 private:
  class Batch;
  struct Ways;

  /// Whether a point is so far from where a vertex asked which fields there are that it must ask again.
  bool has_gone_far(std::size_t i, const Vec3f& at) const;
  /// Finds what the fields are at the batch's points.
  void probe(const TrackingScratch::Block& block, Asked asked, Batch& batch) const;
  /// The same for some lanes of it, at where their vertices are now.
  void look_again(const TrackingScratch::Block& block, Asked asked, Batch& batch, const Ways& lanes) const;

  /// Brings vertices to their own side, then up to `times` steps towards their iso-value. The batch is that
  /// of where they are.
  void project(const TrackingScratch::Block& block, int times, Batch& batch) const;

  /// A Newton step from `next` by the value and gradient of where the vertex is, as if the field were linear.
  /// False where it is not, a contact may be in the way, or more steps are asked for: nothing is done.
  bool follow_plane(std::size_t i, int times) const;

  float radius(std::size_t field) const { return t_.radius_[field]; }

  void note(std::size_t i, const Probe& p) const;

  /// 1 where there is room for skin to swell, 0 at a contact.
  float room_at(const Probe& p) const;

  /// Finds where the vertex's bone is and its skin faces; what slides over it is asked when it is met.
  void forget_sliding(std::size_t i) const;

  /// Finds what is present at all vertices of a block.
  void find_present(std::size_t b) const;

  /// Which of a block's fields are not zero at a vertex. The others are ignored until the next call. Fields
  /// in `known` are not evaluated.
  std::uint64_t present_fields(const TrackingScratch::Block& block, std::size_t i, const Vec3f& at,
                               std::uint64_t known = 0) const;

  /// The fields at a point as a vertex sees them, composed by the operators of the tree.
  Probe probe(const TrackingScratch::Block& block, std::size_t i, const Vec3f& at) const;

  /// How far skin is inside of flesh: 0 on the outside, 1 in a fold.
  float sunk(std::size_t i, const Probe& p) const;
  /// The displacement that brings sunk skin back to its own side of its bone. Behind the bone the fields'
  /// gradients would lead it farther and farther away.
  Vec3f way_round(std::size_t i, const Probe& p) const;
  /// The displacement that brings skin that has sunk in near a joint to the fold plane, from either side. So
  /// close to the bones the fields' gradients are no guide, and skin would hang into the flesh as a pocket.
  Vec3f way_to_fold(std::size_t i, const Probe& p) const;
  /// How far a vertex lies between its own part and the nearest other, not beside both.
  float between(const Probe& p) const;

  /// The field value for skin that the geometric skin has swollen: it may keep a share of the swelling, which
  /// stands for tissue that a fold displaces. None where another part comes near, because that part is
  /// stopped by the unswollen fields.
  float swollen_target(std::size_t i, const Probe& p) const;

  /// 1 for a vertex that lies between its own part and another, 0 for one on the outside.
  float folded(std::size_t i, const Probe& p) const;

  /// 1 where a vertex lies against skin of another part that it faces, or in a fold; 0 where there is room.
  /// As if all fields were joined by unions.
  float touch(const TrackingScratch::Block& block, std::size_t i) const;

  bool past_bone(std::size_t i, const Probe& p) const;

  /// Moves the batch's vertices that are across a contact along the gradient of f_own − f_other, but not away
  /// from their own bone: behind the other's bone the gradient points the wrong way. Ends at the best place
  /// that was found.
  void bring_back(const TrackingScratch::Block& block, Batch& batch, const Ways& across) const;

  /// A step of Newton's method for f = target (eq. 6, whose sign the papers print wrongly).
  Vec3f newton_move(std::size_t i, const Probe& p) const;
  /// Whether such a step may end with probe `q`: not beyond a contact; not where the gradient has turned too
  /// far, nor where the value would leave its goal.
  bool is_good_step(std::size_t i, const Probe& p, const Probe& q) const;

  /// Moves vertices, and their probes, all the way when the end of it is good; else as far as it is, to a
  /// thirty-second: what is done to a vertex must be continuous in the pose. good(lane, q) is asked with the
  /// probe of a possible end. Notes in `ways` how much of them was taken.
  template <typename Good>
  void go(const TrackingScratch::Block& block, Batch& batch, Ways& ways, const Good& good) const;

  /// The vertex's displacement, brought nearer to its neighbours' by a share, and within the strain limit.
  Vec3f coherent(std::size_t i, float share) const;

  /// Finds out which pairs of joints have turned against each other by so much that triangles of skin that
  /// both move may be flipped.
  void find_turned_pairs() const;
  /// Says which vertices stir, and which such joints move; all when all skin slides.
  void find_stirred(std::size_t b, bool all_slides) const;
  /// Lists the blocks that may have flipped triangles.
  void find_suspect_blocks() const;
  /// Asks for vertices of triangles that are flipped, or nearly, in the first sweep.
  void find_tangled(std::size_t b) const;
  /// Whether a triangle is flipped against where the joints of its corners carry it, or nearly.
  bool is_thin(const Triangle& triangle) const;
  /// Asks for a vertex and its ring in the next sweep.
  void ask_round(std::size_t i) const;
  /// Lists the blocks that have something to do in the sweep that begins.
  void find_asked_blocks() const;
  /// Lists the blocks round those to be swept whose turns are not known yet.
  void list_turned_blocks() const;
  /// One sweep over what is asked for, into `next`; `left` is the share of sweeps that are left.
  void untangle(std::size_t b, float left) const;
  /// Takes what goes there, and asks for it again.
  void take_untangled(std::size_t b) const;

  /// Finds where the joints of their three corners carry the triangles round a vertex, and so the normals.
  void carry_triangles(std::size_t i) const;
  /// Where a vertex goes so that the triangles round it that are flipped, or nearly, stand as they are
  /// carried: of each to its corner of the carried triangle about the same centre, the others want it to
  /// stay. And a share `drawn` of the way to its ring's mean, so that what stands upright is smooth.
  Vec3f way_upright(std::size_t i, float drawn) const;
  /// From the centre of a triangle to the first of its corners, as the rotation nearest to the mean of all
  /// three corners' joints carries it.
  Vec3f carried_corner(std::size_t i, std::size_t second, std::size_t third) const;

  /// Finds the turns of a block's vertices.
  void find_turns(std::size_t b) const;
  /// What the joints of a vertex do to it.
  TrackingScratch::VertexTurn blended_turn(std::size_t i) const;
  /// The same, of vertices whose block's turns are known.
  TrackingScratch::VertexTurn turn_of(std::size_t i) const;

  /// Whether some block that has to do with this one has such a mark.
  bool any_near(std::size_t b, std::span<const std::uint8_t> marks, std::uint8_t mark) const;

  /// Whether tracking has moved it, or smoothing will.
  bool stirred(std::size_t i) const;

  Vec3f smooth_place(std::size_t i) const;

  Vec3f ring_mean(std::size_t i) const;

  const SkinTracker& t_;
  TrackingScratch& s_;
  ProbeTables tables_;
  float step_, tolerance_, cos_turn_, gap_, swelling_, coherence_, strain_, relaxation_;
};

}  // namespace sinew
