#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/held_bytes.h>
#include <sinew/core/math.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// The bone of one joint of the weights, at rest.
struct BulgeFreeBone {
  int parent = -1;      ///< the joint above; -1: none, nothing bends here
  int tail_joint = -1;  ///< the joint that carries the tail: this one, or the one its bone runs to
  Vec3d head = Vec3d::Zero();
  Vec3d tail = Vec3d::Zero();  ///< may coincide with the head: then nothing bends here
};

/// Takes the bulge from skin that dual quaternions bent (Vaillant 2015, §2.1.2.1; Kim & Han 2014): dual
/// quaternions keep a vertex's distance to the *joint*, so skin beside the joint rises off its bone on the
/// outer side of a bend. This gives such vertices their rest distance to the *bones* back, along the
/// perpendicular to the posed bone, or towards the joint where the joint is nearest. The fold stays as it is.
///
/// The papers' words leave open how the parts meet. Here:
/// - A vertex bends at each joint that divides its weights: a part w moves with the joint or what hangs on
///   it, the rest does not. It is measured from the two bones that meet there: from the nearer one, or where
///   both are about as near from a mean of both, so that nothing jumps as one takes over from the other.
/// - A vertex between several joints takes the mean of what they ask for. A joint counts by w (1 - w), by how
///   far it is bent and by how near its bones are: joints that only twist have no say, and nothing jumps
///   from vertex to vertex as weights fade out.
/// - The fold is told from the *rest* position, since skin in a sharp fold passes through the bone and would
///   look like the outer side: s is the cosine between the vertex's perpendicular and the way the bone
///   swings, both at rest. Where s <= 0 the bulge is taken whole, where s >= kFoldSide not at all, smoothly
///   in between.
/// - Vertices are pulled in only. On the outer side of a straight limb all of them bulge; to lift those that
///   sank, too, tears ridges into trunks, where the bone that swings comes near to skin that is not its own.
///   None is pulled farther than dual quaternions between these two bones can have moved it.
/// - Only skin of limbs bulges. Skin beside one bone, x along it from the joint, that follows the other bone
///   by a weight u is turned off its own by about u x per radian. Limbs blend near their joints, where that
///   is a part of the skin's distance to the bone. Where it exceeds this distance the skin is none of the
///   bone's: it spans from one body to the other, as the lips from the skull to a jaw, and stays. Told at
///   rest, like the fold, so that it does not change as the joint bends.
/// - Distances at rest are measured in each frame, so that morph targets survive; joints that scale scale the
///   distance they keep.
///
/// Immutable; share it between threads.
class BulgeFreeCorrection {
 public:
  static constexpr float kFoldSide = 0.5f;
  /// u x as a part of the distance to the bone: up to the first the bulge is taken whole, from the second on
  /// not at all, smoothly in between. Smooth weights that blend up to three radii from the joint reach 0.26,
  /// buttocks about 0.6: limits of 0.33 and 0.75 leave lumps on them.
  static constexpr float kLimbLift = 0.5f, kSpanLift = 1.0f;
  /// Joints with w (1 - w) up to this do not bend a vertex; what counts of others is the difference to it.
  static constexpr float kLeastShare = 0.001f;
  /// At most this many joints pull a vertex. Where there are more, w (1 - w) of the first one too many takes
  /// the place of kLeastShare, and the others' pull fades as they come near to it, so that none ends
  /// suddenly.
  static constexpr std::size_t kMostJoints = 4;

  /// Memory for one caller of correct(); made once, reused each frame.
  class Scratch;

  BulgeFreeCorrection() = default;
  /// One bone per joint of the weights. Parents must not form a circle.
  BulgeFreeCorrection(std::span<const BulgeFreeBone> bones, const SkinWeights& weights);

  Scratch make_scratch() const;

  std::size_t vertex_count() const { return vertex_count_; }
  /// Vertices that some joint bends; no other is touched.
  std::size_t bent_vertex_count() const { return vertices_.size(); }

  /// Corrects `posed`, what dual_quaternion_skinning made of `rest`, in place. `strength`: the part of the
  /// bulge to take, 0 to 1. Sizes are the constructor's; `posed_from_rest` has one entry per bone. Neither
  /// throws nor allocates; SIMD for the processor it runs on, on the caller's oneTBB arena, same bits for any
  /// number of threads.
  void correct(std::span<const Vec3f> rest, std::span<const Affine3d> posed_from_rest, float strength,
               Scratch& scratch, std::span<Vec3f> posed) const;

  /// Two bones that meet at a joint, as the kernel reads them.
  struct BonePair {
    Vec3f joint, above, below;       ///< the joint, and the bones' far ends seen from it
    float above_scale, below_scale;  ///< 1 / squared lengths; 0 for points
  };
  /// What a joint does in one frame, as the kernel reads it.
  struct Bend {
    float swing = 0;  ///< squared chord of the bone's swing, 0 to 4; 0: does not bend, all else is unset
    float chord;
    float blend_loss;  ///< 2 (1 - cos of half the swing): what blending takes from the quaternions' norm
    bool rigid;        ///< the joints above and below neither scale nor shear
    BonePair rest, posed;
    Vec3f fold_above, fold_below;  ///< unit, at rest: towards the fold, as the bones above and below see it
    Eigen::Matrix3f linear_above, linear_below;
  };
  /// Up to kLanes shares of one joint in vertices, structure of arrays; unused lanes weigh nothing.
  static constexpr std::size_t kLanes = 16;
  struct Shares {
    std::array<std::uint32_t, kLanes> vertex;
    std::array<std::uint32_t, kLanes> slot;        ///< in the scratch's pulls
    alignas(64) std::array<float, kLanes> below;   ///< w
    alignas(64) std::array<float, kLanes> weight;  ///< among the vertex's joints
    alignas(64) std::array<float, kLanes> fade;    ///< part of its pull it may use
    std::uint32_t joint;
    std::uint32_t count;
  };

 private:
  struct Joint {                 // where skin bends
    int above, below;            // joints of the weights
    int head_joint, tail_joint;  // carry the far ends of the two bones
    Vec3d head, joint, tail;
  };
  struct Vertex {
    std::uint32_t vertex;
    std::uint32_t end;  // of its slots; they start where those of the vertex before end
  };

  static Bend bend_of(const Joint& joint, std::span<const Affine3d> posed_from_rest);

  std::size_t vertex_count_ = 0;
  std::size_t bone_count_ = 0;
  float scale_ = 0;  // 1 / squared length of the longest bone
  std::vector<Joint> joints_;
  std::vector<Vertex> vertices_;
  std::vector<Shares> shares_;
};

class BulgeFreeCorrection::Scratch {
 public:
  std::size_t bytes() const { return held_bytes(bends_, pulls_); }

 private:
  friend class BulgeFreeCorrection;
  std::vector<Bend> bends_;
  std::vector<Vec4f, Eigen::aligned_allocator<Vec4f>> pulls_;  // per slot: weighted pull, and weight
};

}  // namespace sinew
