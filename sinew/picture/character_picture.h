#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sinew/character/performer.h>
#include <sinew/picture/clay.h>
#include <sinew/picture/color_map.h>

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
  };
  By by = By::clay;
  int joint = -1;             ///< for By::joint
  std::vector<float> values;  ///< for By::values: one per welded vertex
  ColorScale scale;           ///< for By::values
};

/// Draws a character as its performer left it. Made once per character, used for every frame.
class CharacterPicture {
 public:
  /// Throws Error when the coloring does not fit the character.
  explicit CharacterPicture(std::shared_ptr<const Character> character, Coloring coloring = {});

  const Character& character() const { return *character_; }
  /// The bar to draw beside the picture; none for clay, weights and partition.
  const std::optional<ColorScale>& scale() const { return scale_; }

  /// One frame, with the colour bar where there is one. `skeleton_pose` draws the bones of that pose over it.
  Image render(const Performer& performer, const Camera& camera, const ClayOptions& options,
               const Pose* skeleton_pose = nullptr) const;

 private:
  std::shared_ptr<const Character> character_;
  Coloring coloring_;
  DrawnSurface surface_;
  std::vector<Rgb> colors_;  // those that stay the same from frame to frame
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
