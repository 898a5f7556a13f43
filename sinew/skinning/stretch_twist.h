#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/held_bytes.h>
#include <sinew/core/math.h>
#include <sinew/skinning/linear_blend.h>
#include <sinew/skinning/packed_weights.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// A bone that twists and stretches towards the joint at its tail. Joints are numbered as in the weights;
/// places are in rest space, so that posed_from_rest[start] * head and posed_from_rest[end] * tail are the
/// posed joints.
struct StretchBone {
  std::uint32_t start = 0;  ///< the joint whose vertices twist and stretch
  std::uint32_t end = 0;    ///< the joint at the tail
  Vec3d head = Vec3d::Zero();
  Vec3d tail = Vec3d::Zero();  ///< elsewhere than the head
  double twist = 1;            ///< which share of the end's turn about the bone arrives at the tail
  bool stretch = true;         ///< whether the tail follows the end's place
};

/// The end-point weight e: 0 at the bone's head and before, 1 at its tail and beyond, a function of the
/// projection on the bone only.
double end_point_weight(const Vec3d& p, const Vec3d& head, const Vec3d& tail);

/// How far the joint at the bone's tail has turned about the bone, relative to the joint at its head, since
/// rest: the twist of the swing-twist decomposition, in radians within [-π, π]. A turn beyond 180° cannot be
/// told from the opposite one by looking at one frame: it comes out as that. Fades to 0 where the end has
/// swung by more than 150° and so where its twist stops being defined; 0 for transforms without inverse and
/// for mirrored ones.
double bone_twist(const Vec3d& axis, const Affine3d& start_posed_from_rest,
                  const Affine3d& end_posed_from_rest);

/// Stretchable, twistable bones (Jacobson & Sorkine 2011; Vaillant 2015, §2.1.2.2), for bones that hang on
/// the joints of a skeleton:
///   v = Σ w_i ( T_i ( a_i + K_i(e_i) (p − a_i) ) + e_i s_i ),  s_i = b_i' − T_i b_i,
/// a_i, b_i a bone's ends, K_i(e) a turn by e·twist_i about it. T_i takes the place of the paper's swing R_i
/// from the rest direction to the posed one: a joint has a roll and a scale of its own, which a swing alone
/// would lose. So without twist and stretch this is linear blend skinning, bit for bit. The paper's user
/// sets twist and stretch; ours come from the joint at the tail: the turn about the bone which it adds, and
/// its place. That joint's own vertices start with this turn already in full, so that the skin is
/// continuous across the joint, and the twist is spread over the bone in front of it. s_i may have any
/// direction: the paper's bone points at its tail by definition, a joint need not. A joint's scale acts on
/// all its vertices, as in linear blending.
///
/// A joint with several bones shares its vertices among the nearest ones, smoothly.
class StretchTwistBinding {
 public:
  /// One rest position per row of the weights.
  StretchTwistBinding(std::span<const Vec3f> rest, const SkinWeights& weights,
                      std::vector<StretchBone> bones);

  std::span<const StretchBone> bones() const { return bones_; }

  /// What bones do to vertices on top of linear blending, entry by entry: bone after bone within blocks of
  /// kBlock vertices. Weights and ends have kPadding more, for kernels that read whole vectors.
  std::span<const std::uint32_t> vertices() const { return vertices_; }
  const float* weights() const { return weights_.data(); }  ///< w_i times the bone's share
  const float* ends() const { return ends_.data(); }        ///< e_i, positive: at 0 a bone adds nothing
  /// Entries of one bone within one block.
  struct Run {
    std::uint32_t bone;
    std::uint32_t begin, end;
  };
  static constexpr std::size_t kBlock = 2048;  ///< vertices per block
  static constexpr std::size_t kPadding = 16;

  std::span<const Run> runs() const { return runs_; }
  /// First run of each block, and the number of runs.
  std::span<const std::uint32_t> block_starts() const { return block_starts_; }

 private:
  std::vector<StretchBone> bones_;
  std::vector<std::uint32_t> vertices_;
  std::vector<float> weights_, ends_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> block_starts_;
};

/// What a bone does in one frame. `turn` and `tilt` take p − a to the parts of T (K(e) − 1) (p − a) that go
/// with sin and 1 − cos.
struct BoneMotion {
  bool twists = false;
  bool stretches = false;
  float angle = 0;
  float head[3] = {};
  float turn[3][3] = {};
  float tilt[3][3] = {};
  float stretch[3] = {};  ///< s_i
};

/// Scratch for one caller of stretch_twist_skinning; sized once, reused each frame.
struct StretchTwistScratch {
  std::vector<SkinMatrix> matrices;
  std::vector<BoneMotion> motions;
  std::size_t bytes() const { return held_bytes(matrices, motions); }
};
StretchTwistScratch make_stretch_twist_scratch(std::size_t joint_count, const StretchTwistBinding& binding);

/// Same contract as linear_blend_skinning, but for the scratch. `weights` are those of `binding`.
void stretch_twist_skinning(std::span<const Vec3f> rest, const PackedWeights& weights,
                            const StretchTwistBinding& binding, std::span<const Affine3d> posed_from_rest,
                            StretchTwistScratch& scratch, std::span<Vec3f> posed);

}  // namespace sinew
