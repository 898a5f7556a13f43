#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/skinning/hinge_patches.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Scratch of one performer; made by JointFilling::make_scratch().
struct JointFillingScratch {
  struct Patch {
    std::vector<Vec3f> places;     ///< of its vertices, then of the middles of its fans
    std::vector<Vec3f> gradients;  ///< of its volume, per vertex
    std::vector<float> pushes;     ///< per vertex
    std::vector<float> freedom;    ///< per vertex, share of a push that it takes in this frame
    double whole = 0;              ///< the volume that it has unbent
    double part = 0;               ///< of what is lost that is restored; 0: it is left alone
    double goal = 0;               ///< volume to have in the end
    double pushed = 0;             ///< how far, so far
  };
  std::vector<Patch> patches;
  std::vector<float> pushes;  ///< per vertex of the surface
  std::vector<Vec3f> normals;
  std::vector<Eigen::Matrix3f> turns;  ///< per transform
  std::vector<std::uint32_t> movable;  ///< vertices round joints that have lost volume
  std::vector<float> far;              ///< per entry of that: how far they move in all but extreme poses
  std::vector<std::uint8_t> listed;    ///< per vertex of the surface
};

/// Where a joint bends, its limb is flattened by the fold and loses flesh. The skin round it that is free
/// swells until the patch within 1.5 limb radii (hinge_patches.h) has its volume again. History-free, and no
/// more than a pose asks for: exact volumes, and other ways to restore them, are the business of
/// effects/volume_keeper.h.
class JointFilling {
 public:
  /// `weights` are by transforms; `hinges` name these. `share`, 0 to 1, of what is lost is restored. Throws
  /// Error when weights are not one row per vertex.
  JointFilling(const MeshView& rest, SharedWeights weights, std::span<const Hinge> hinges, double share);

  JointFillingScratch make_scratch() const;

  /// Finds how much volume each joint has lost at `positions`, one per rest vertex, and lists in
  /// `scratch.movable` the vertices round those that have lost some. `morphed` is the rest with what changes
  /// it in this frame, or empty.
  void find_lost(std::span<const Affine3d> posed_from_rest, std::span<const Vec3f> morphed,
                 std::span<const Vec3f> positions, JointFillingScratch& scratch) const;
  /// After find_lost(), with the same pose and positions: moves these. `room` says how free each is to move,
  /// 0 to 1. Neither allocates or throws; patches with positions that are not finite stay as they are. Same
  /// bits for any number of threads.
  void restore(std::span<const Affine3d> posed_from_rest, std::span<const float> room,
               JointFillingScratch& scratch, std::span<Vec3f> positions) const;
  /// Both.
  void fill(std::span<const Affine3d> posed_from_rest, std::span<const Vec3f> morphed,
            std::span<const float> room, JointFillingScratch& scratch, std::span<Vec3f> positions) const {
    find_lost(posed_from_rest, morphed, positions, scratch);
    restore(posed_from_rest, room, scratch, positions);
  }

 private:
  struct Patch {
    std::uint32_t binding = 0, parent = 0;  // transforms
    std::vector<std::uint32_t> vertices;    // of the surface
    std::vector<Triangle> triangles;        // by places in that list, and beyond it the middles of the fans
    std::size_t skin_triangles = 0;         // these come first, the fans' after them
    std::vector<std::vector<std::uint32_t>> borders;  // of the fans, by places
    std::vector<float> inverse_degree;                // per vertex, 1 over twice its triangles
    std::vector<float> share;                         // per vertex, of a push that it takes
    std::vector<Vec3f> rest_normals;                  // per triangle of the skin, of any length
    int evenings = 1;                                 // sweeps, see find_freedom()
    double radius = 0;                                // of the limb
    double volume = 0;                                // at rest
  };

  /// Share of what is lost that is restored, by how far the joint is bent.
  double bent_share(const Patch& patch, std::span<const Affine3d> posed_from_rest) const;
  void gather(const Patch& patch, std::span<const Vec3f> positions, JointFillingScratch::Patch& s) const;
  /// Finds what a patch should hold, and how much of that counts.
  void find_goal(const Patch& patch, std::span<const Affine3d> posed_from_rest,
                 std::span<const Vec3f> morphed, std::span<const Vec3f> positions,
                 JointFillingScratch::Patch& s) const;
  void find_freedom(const Patch& patch, std::span<const Eigen::Matrix3f> turns, std::span<const float> room,
                    JointFillingScratch::Patch& s) const;
  /// How far its vertices are to go along their normals.
  void find_pushes(const Patch& patch, bool first, std::span<const Vec3f> positions,
                   std::span<const Eigen::Matrix3f> turns, std::span<const float> room,
                   JointFillingScratch::Patch& s) const;
  /// Where a vertex's joints carry a direction of its rest.
  Vec3f carry(std::uint32_t vertex, const Vec3f& direction, std::span<const Eigen::Matrix3f> turns) const;

  std::vector<Patch> patches_;
  std::vector<float> far_;  // per vertex, how far it moves in all but extreme poses, metres at rest
  SharedWeights weights_;
  std::size_t transforms_ = 0;  // that weights and hinges name
  std::size_t vertices_ = 0;
  double share_ = 1;
};

}  // namespace sinew
