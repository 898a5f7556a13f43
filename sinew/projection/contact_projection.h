#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sinew/contact/contact_params.h>
#include <sinew/contact/contact_sides.h>
#include <sinew/contact/crossing_triangles.h>
#include <sinew/contact/posed_surface.h>
#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/incidence.h>
#include <sinew/geometry/mesh.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Scratch of one performer; made by ContactProjection::make_scratch(). Per vertex unless it says otherwise.
struct ContactScratch {
  std::vector<Vec3f> placed;         ///< positions of the closed surface: the skin's, then its fans'
  std::vector<Vec3f> base;           ///< where the layer before had the vertices of `region`
  std::vector<Vec3f> normals;        ///< outward, of `region`
  std::vector<float> retreat, next;  ///< towards the bone, metres
  std::vector<float> activity;       ///< retreat, spread: how far separation is asked for, metres
  std::vector<std::uint8_t> asked;   ///< 1: is in `region`
  std::vector<Vec3f> back;           ///< unit vector to the bone
  std::vector<float> ray;            ///< length of the ray
  std::vector<Vec3f> moves;
  std::vector<float> pushes;
  std::vector<Quatf> turns;  ///< of `region`
  std::vector<std::uint32_t> frontier, next_frontier;
  std::vector<std::uint32_t> region;        ///< vertices that contact may move in this frame
  std::vector<PosedField> posed;            ///< per field
  std::vector<Eigen::Affine3f> transforms;  ///< per transform
  std::vector<Quatf> rotations;             ///< per transform
  std::unique_ptr<PosedSurface> surface;
  CrossingScratch crossing;
};

/// History-free contact (Vaillant et al. 2012, §5 asks for it; the way is our own, docs/implicit.md): asks
/// the deformed mesh where it overlaps, the fields only where inside of an overlap both skins meet, and moves
/// every vertex along its own ray from its bone by an amount that is an integral, never a choice. What is
/// left of the overlap is then separated along normals.
class ContactProjection {
 public:
  /// `weights` are by transforms. `takes_part`, one per vertex or empty for all, says 0 for vertices whose
  /// triangles are passed over. Throws Error when sizes differ, or weights or fields name what is not there.
  ContactProjection(const MeshView& rest, SharedWeights weights, std::shared_ptr<const FieldSet> fields,
                    std::span<const std::uint8_t> takes_part, const ContactParams& params);
  ~ContactProjection();

  ContactScratch make_scratch() const;

  /// Moves `positions`, one per rest vertex, in place. Allocates nothing, throws nothing; a frame with a
  /// position that is not finite stays as it is. Same bits for any number of threads.
  void project(std::span<const Affine3d> posed_from_rest, ContactScratch& scratch,
               std::span<Vec3f> positions) const;

  /// After project(): lowers `room`, one entry per rest vertex, of those in contact or near one, down to 0.
  void leave_room(const ContactScratch& scratch, std::span<float> room) const;

  const FieldSet& fields() const { return *fields_; }
  const ContactParams& params() const { return params_; }

 private:
  void pose(std::span<const Affine3d> posed_from_rest, ContactScratch& s) const;
  void place_fans(ContactScratch& s) const;
  Vec3f posed_origin(std::uint32_t v, const ContactScratch& s) const;
  Quatf turn_of(std::uint32_t v, const ContactScratch& s) const;
  /// How far a vertex retreats, in metres, by its own ray.
  float find_retreat(std::uint32_t v, ContactScratch& s) const;
  /// Finds the vertices whose rays overlap, beginning at the triangles that cross.
  void flood(ContactScratch& s) const;
  void grow_region(ContactScratch& s, int rings) const;
  void smooth_retreat(ContactScratch& s) const;
  void find_activity(ContactScratch& s) const;
  void separate(int sweep, ContactScratch& s) const;
  Vec3f normal(std::uint32_t v, std::span<const Vec3f> placed) const;
  bool is_own(std::uint32_t triangle, std::uint32_t v) const;
  /// How far a vertex is apart from other skin along its normal: negative when it is in it.
  float distance_apart(std::uint32_t v, const Vec3f& normal, const ContactScratch& s) const;
  /// Where folded triangles round a vertex want it, and how far they are folded over, 0 to 1.
  Vec3f upright(std::uint32_t v, const ContactScratch& s, float& folded) const;
  void unfold(ContactScratch& s) const;

  ContactParams params_;
  SharedWeights weights_;
  std::shared_ptr<const FieldSet> fields_;
  std::size_t vertices_ = 0, transforms_ = 0;
  OneRings rings_;
  ClosedSurface closed_;
  std::unique_ptr<const TriangleTree> tree_;
  std::unique_ptr<const CrossingTriangles> crossings_;
  std::unique_ptr<const ContactSides> sides_;
  Incidence incidence_;
  std::vector<Vec3f> origins_;       // at rest
  std::vector<float> edge_;          // own edge
  std::vector<float> rest_retreat_;  // by which a vertex would retreat at rest
  std::vector<Vec3f> rest_corner_;  // per corner, from its triangle's middle
  std::vector<Vec3f> rest_area_;     // per triangle, its normal times twice its area
};

}  // namespace sinew
