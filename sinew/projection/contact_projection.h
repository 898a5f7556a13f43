#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <sinew/contact/contact_params.h>
#include <sinew/geometry/mesh.h>
#include <sinew/implicit/field_set.h>
#include <sinew/projection/contact_frame.h>
#include <sinew/projection/contact_skin.h>
#include <sinew/projection/iso_shape.h>
#include <sinew/projection/ray_retreat.h>
#include <sinew/projection/separation.h>
#include <sinew/projection/unfolding.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// History-free contact, as Vaillant et al. 2013 ask for it; the way there is our own (docs/implicit.md). The
/// deformed mesh tells where it overlaps. There, every vertex retreats along its own ray to where both skins
/// meet, by an amount that is an integral over the ray, never a choice. What is left of the overlap is then
/// separated along normals.
class ContactProjection {
 public:
  /// `weights` are by transforms. Throws Error when there is not one row of them per vertex, when the fields
  /// name fields that are not there, and for more samples than OverlapRun holds.
  ContactProjection(const MeshView& rest, SharedWeights weights, std::shared_ptr<const FieldSet> fields,
                    const ContactParams& params);
  ContactProjection(const ContactProjection&) = delete;
  ContactProjection& operator=(const ContactProjection&) = delete;

  ContactFrame make_frame() const;

  /// Moves `positions`, one per rest vertex, in place. Allocates nothing, throws nothing; positions stay as
  /// they are when one of them is not finite or there are too few transforms. Same bits for any number of
  /// threads.
  void project(std::span<const Affine3d> posed_from_rest, ContactFrame& frame,
               std::span<Vec3f> positions) const;

  /// After project(): lowers `free_motion`, one entry per rest vertex, of those in contact or near it, down
  /// to 0.
  void limit_free_motion(const ContactFrame& frame, std::span<float> free_motion) const;

  /// After project(): lowers `free_motion` of the given vertices where other skin is before them: those that
  /// may move by `far` (metres at rest, one for each) then go no farther than half of the way to it. Each
  /// vertex is named once.
  void keep_distance(std::span<const std::uint32_t> vertices, std::span<const float> far, ContactFrame& frame,
                     std::span<float> free_motion) const;

  const FieldSet& fields() const { return *fields_; }
  const ContactSkin& skin() const { return skin_; }
  const ContactParams& params() const { return params_; }

 private:
  void pose(std::span<const Affine3d> posed_from_rest, ContactFrame& frame) const;
  void fit_surface(ContactFrame& frame) const;

  ContactParams params_;
  std::shared_ptr<const FieldSet> fields_;
  ContactSkin skin_;
  std::optional<IsoShape> shape_;
  RayRetreat retreat_;
  Unfolding unfolding_;
  Separation separation_;
};

}  // namespace sinew
