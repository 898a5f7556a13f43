#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sinew/character/performer.h>
#include <sinew/picture/clay.h>
#include <sinew/picture/color_map.h>
#include <sinew/picture/field_slice.h>

namespace sinew {

/// What colours the surface.
struct Coloring {
  enum class By {
    clay,       ///< one colour
    weights,    ///< each joint's colour, mixed by weight
    partition,  ///< the colour of the joint with the largest weight
    joint,      ///< weight of one joint, as heat
    stretch,    ///< area round each vertex against rest, from half to twice
    values,     ///< numbers of the caller's own
    marks,      ///< what became of each vertex, told frame by frame with set_marks()
  };
  By by = By::clay;
  int joint = -1;             ///< for By::joint
  std::vector<float> values;  ///< for By::values: one per welded vertex
  ColorScale scale;           ///< for By::values
};

/// What became of a vertex in a frame, for Coloring::By::marks.
enum class VertexMark : std::uint8_t {
  plain = 0,    ///< clay
  moved = 1,    ///< moved without touching, soft blue
  contact = 2,  ///< stopped where skin meets skin, red
};

/// Draws a character as its performer left it. Made once per character, used for every frame.
class CharacterPicture {
 public:
  /// Throws Error when the coloring does not fit the character.
  explicit CharacterPicture(std::shared_ptr<const Character> character, Coloring coloring = {});

  const Character& character() const { return *character_; }
  /// The bar to draw beside the picture; none for clay, weights, partition and marks.
  const std::optional<ColorScale>& scale() const { return scale_; }

  /// For Coloring::By::marks: a VertexMark per welded vertex, shown from now on; all are plain before the
  /// first call. Throws Error when the coloring is another, or their number or one of them is wrong.
  void set_marks(std::span<const std::uint8_t> marks);

  /// One frame, with the colour bar or the marks' legend where there is one. `skeleton_pose` draws the bones
  /// of that pose over it.
  Image render(const Performer& performer, const Camera& camera, const ClayOptions& options,
               const Pose* skeleton_pose = nullptr) const;

  /// One frame cut open, with a field of the posed character painted on the plane: see render_field_slice().
  Image render_slice(const Performer& performer, const FieldFunction& field, const CutPlane& plane,
                     const Camera& camera, const ClayOptions& options, const FieldSliceOptions& slice = {},
                     const Pose* skeleton_pose = nullptr) const;

 private:
  struct Shown;
  void show(const Performer& performer, const ClayOptions& options, const Pose* skeleton_pose,
            Shown& shown) const;

  std::shared_ptr<const Character> character_;
  Coloring coloring_;
  DrawnSurface surface_;
  std::vector<Rgb> colors_;          // those that stay the same from frame to frame
  std::vector<std::uint8_t> marks_;  // empty unless colored by them
  std::optional<ColorScale> scale_;
};

/// Bones of a pose, for ClayOptions::bones. `positions` is the welded surface in that pose; leaf bones end
/// at the skin they move.
std::vector<DrawnBone> drawn_bones(const Character& character, std::span<const Vec3f> positions,
                                   const Pose& pose);

/// Per welded vertex, log2 of the area of its triangles against rest; 0 where there is no area at rest.
std::vector<float> area_stretch(const Character& character, std::span<const Vec3f> positions);

/// Where a joint is in a pose, scene space.
Vec3d joint_position(const Skeleton& skeleton, const Pose& pose, int joint);

/// Radius (metres) of what a close-up of a joint shows: some limb thicknesses, measured at rest on the skin
/// that blends between the joint and its parent, or else on the skin it moves. Throws Error when the joint
/// moves no skin at all.
double focus_radius(const Character& character, int joint);

}  // namespace sinew
