#pragma once

#include <string>

#include <sinew/picture/character_picture.h>
#include <sinew/picture/clay.h>
#include <sinew/scene/scene.h>

/// Reads the arguments of `sinew render` that are more than a word or a number. All throw Error with the
/// option and what it expects.
namespace sinew::cli {

/// One view, in pixels.
struct ViewSize {
  int width = 0;
  int height = 0;
};

/// WIDTHxHEIGHT, of --size.
ViewSize parse_size(const std::string& text);

/// A joint by its name; `option` is what named it.
int find_joint(const std::string& option, const std::string& name, const Scene& scene);

/// What --color says. Of `freedom` only the joint: each method has its own values, or none.
Coloring parse_color(const std::string& text, const Scene& scene);

/// A plane across an axis: AXIS, relation, OFFSET.
struct AxisPlane {
  int axis;
  char relation;
  float offset;
};

/// --cut. AXIS=OFFSET keeps the side away from the camera.
CutPlane parse_cut(const std::string& text, const Vec3d& towards_camera);

/// --field-slice.
AxisPlane parse_field_slice(const std::string& text);

}  // namespace sinew::cli
