#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <sinew/contact/crossing_triangles.h>
#include <sinew/contact/posed_surface.h>
#include <sinew/geometry/mesh.h>
#include <sinew/implicit/field_set.h>

namespace sinew {

struct ContactSkin;

/// The point of other skin, in front of a vertex or, where the vertex is inside of that, behind it.
struct ContactPartner {
  enum class Kind : std::uint8_t { none, point, too_deep } kind = Kind::none;
  Triangle corners{};
  std::array<float, 3> place{};  ///< weights of the corners
};

/// Scratch of one performer: one frame of contact; made by ContactProjection::make_frame(). Per vertex unless
/// it says otherwise.
struct ContactFrame {
  // The pose.
  std::vector<PosedField> fields;           ///< per field
  std::vector<Eigen::Affine3f> transforms;  ///< per transform
  std::vector<Quatf> rotations;             ///< per transform
  std::vector<float> scales;                ///< per transform, cube root of how volumes grow

  // The skin.
  bool is_placed = false;     ///< false where this frame's positions were refused
  std::vector<Vec3f> placed;  ///< positions of the closed surface: the skin's, then its fans'
  std::unique_ptr<PosedSurface> surface;
  CrossingScratch crossing;
  std::vector<std::uint8_t> folded;  ///< per triangle of the skin, 1: the base skin may have turned it over

  // The vertices that contact may move in this frame: what follows is known of them only, but for `asked`,
  // `retreat`, `activity`, `pushes` and `next`, which are 0 elsewhere, and `apart`, which is infinite.
  std::vector<std::uint32_t> region;
  std::vector<std::uint8_t> asked;  ///< 1: is in `region`
  std::vector<Vec3f> base;          ///< where the rays' ends were
  std::vector<Vec3f> back;          ///< unit vector towards the ray's origin
  std::vector<float> ray;           ///< length of the ray
  std::vector<float> edge;          ///< ContactSkin::edge, as large as the pose makes it
  std::vector<float> retreat;       ///< along the ray, metres
  std::vector<float> activity;      ///< the retreat spread to neighbours, metres
  std::vector<Quatf> turns;
  std::vector<Vec3f> normals;
  std::vector<ContactPartner> partners;
  std::vector<float> apart;   ///< from other skin along normals, metres; infinite: there is none
  std::vector<float> pushes;  ///< along normals, metres
  std::vector<Vec3f> moves;   ///< of unfolding
  std::vector<float> next;    ///< values of the next sweep

  std::vector<std::uint32_t> frontier, next_frontier;

  /// Empties the region.
  void clear_region();
  /// Adds what lies within so many rings of the region, with its rays, without retreat.
  void grow_region(const ContactSkin& skin, int rings);
};

}  // namespace sinew
