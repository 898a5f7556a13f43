#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/picture/clay.h>
#include <sinew/picture/field_slice.h>

namespace sinew {

/// A field as a solid of its own colour.
struct DrawnField {
  FieldFunction field;
  Eigen::AlignedBox3d box;  ///< metres; what the field says outside of it does not count
  Rgb color{203, 184, 167};
};

struct FieldSurfaceOptions {
  int cells = 64;      ///< along the longest side of a field's box, 4 to 512
  double level = 0.5;  ///< of the field on the surface
};

/// The surface where a field passes through a level: all pieces of it, closed where it leaves the box, facing
/// outwards, its triangles evened out for drawing. Details below a cell are lost. Where the field is not
/// finite is outside. Empty when nothing in the box lies above the level. The same bits for any number of
/// threads. Throws Error for an empty field, a box without volume or that is not finite, and options out of
/// range.
Mesh field_surface(const FieldFunction& field, const Eigen::AlignedBox3d& box,
                   const FieldSurfaceOptions& options = {});

/// Draws fields, such as the bones' of a skeleton, as clay of several colours. Made once: fields that move
/// rigidly are polygonised at rest and moved from frame to frame.
class FieldPicture {
 public:
  /// Throws Error as field_surface() does.
  explicit FieldPicture(std::span<const DrawnField> fields, const FieldSurfaceOptions& options = {});

  /// Surfaces of all fields as one, at rest.
  MeshView surface() const { return {positions_, triangles_}; }

  /// One frame. `moved_from_rest` has one transform per field, or none at all: at rest. A `ghost` in the
  /// options, such as the skin, is drawn round the fields. Throws Error when no field has a surface, when
  /// there are more or fewer transforms than fields, and as render_clay() does.
  Image render(const Camera& camera, const ClayOptions& options,
               std::span<const Affine3d> moved_from_rest = {}) const;

 private:
  std::size_t fields_;
  std::vector<Vec3f> positions_;
  std::vector<Triangle> triangles_;
  std::vector<std::uint32_t> field_of_vertex_;
  std::vector<Rgb> colors_;
  std::vector<DrawnSurface> drawn_;  // one; a vector because it is made last
};

}  // namespace sinew
