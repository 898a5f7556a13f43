#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sinew/core/math.h>
#include <sinew/picture/image.h>

namespace sinew {

/// Where the camera looks from: 0, 0 is in front of a character that faces +z; yaw turns it round the
/// character towards its left side (+x), pitch raises it. Degrees.
struct View {
  double yaw = 0;
  double pitch = 0;
};

/// front, back, left, right (the character's own), top, three-quarter, or YAW,PITCH in degrees. Throws Error
/// that names what is allowed.
View parse_view(std::string_view text);
/// "front, back, …": for messages and help.
std::string view_names();

/// A pin-hole camera. The axes are unit vectors at right angles; pixels are square.
struct Camera {
  Vec3d position = Vec3d::Zero();
  Vec3d right = Vec3d::UnitX();
  Vec3d up = Vec3d::UnitY();
  Vec3d back = Vec3d::UnitZ();    ///< away from what it looks at
  double tan_half_width = 0.25;   ///< of the horizontal opening
  double tan_half_height = 0.25;  ///< of the vertical opening

  /// Direction (not unit) through the point (x, y) of an image, both from 0 to 1, y downwards.
  Vec3d direction(double x, double y) const;
  /// x and y as above, z the distance along the view axis (negative behind the camera).
  Vec3d project(const Vec3d& point) const;
};

/// Finds the nearest place from which a camera of a given view sees all points it was told, frame after
/// frame, with a margin on each side. Exact for perspective: no bounding sphere.
class CameraFit {
 public:
  /// `aspect` is width / height of the image, `margin` the free share of each side, below one half.
  CameraFit(const View& view, double aspect, double margin = 0.06);

  /// Points that are not finite do not count.
  void add(std::span<const Vec3f> points);
  void add(const Vec3d& point);
  /// All of a ball.
  void add(const Vec3d& center, double radius);
  bool empty() const { return !(count_ > 0); }
  /// Throws Error when no point was added. `zoom` above 1 goes nearer to the middle.
  Camera camera(double zoom = 1) const;

 private:
  Camera frame_;  // axes and openings
  double tan_x_, tan_y_;
  std::size_t count_ = 0;
  // Support values of the points in the four planes that bound the view, and of their depth.
  double highest_x_, lowest_x_, highest_y_, lowest_y_, nearest_, farthest_;
};

}  // namespace sinew
