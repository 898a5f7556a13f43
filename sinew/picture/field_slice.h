#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sinew/picture/clay.h>

namespace sinew {

/// A field of implicit skinning: 0 beyond its support, ½ on its surface, 1 deep inside. Must be safe to call
/// from many threads.
using FieldFunction = std::function<double(const Vec3d&)>;

/// How a field is drawn in a plane: outside (below ½) in blues, inside in reds, both darker away from ½;
/// nothing where it is 0 or not finite. Iso-lines are thin, the one at ½ is bold.
struct FieldSliceOptions {
  double line_spacing = 0.1;      ///< between thin lines; 0: only the bold one
  int step = 1;                   ///< pixels between evaluations; more for slow fields, 16 at most
  float inside_opacity = 0.96f;   ///< 0 to 1
  float outside_opacity = 0.80f;  ///< 0 to 1; what lies behind shines through
  bool key = true;                ///< explains the colours, in the lower right corner
};

/// Paints a field over the part of a plane that the camera sees, into a picture made with that camera: all of
/// the plane, whatever stands before it. `field` is asked once per pixel, or per `step` pixels and
/// interpolated, in parallel. The same bits for any number of threads. Throws Error for a plane that is not
/// finite or whose normal is no unit vector, a camera in the plane, an empty `field`, and options out of
/// range.
void draw_field_slice(Image& image, const FieldFunction& field, const CutPlane& plane, const Camera& camera,
                      const FieldSliceOptions& options = {});

/// A surface cut open by a plane, with a field painted on the plane: the side away from the camera stays, as
/// clay (whichever way the plane's normal points; `clay.cut` is not looked at), and a dark line shows where
/// the plane meets the surface. Bones of `clay` are drawn on top, as lines. As in Vaillant et al. 2012,
/// figure 2 (f–h). Throws Error as render_clay() and draw_field_slice() do.
Image render_field_slice(const DrawnSurface& surface, const ClayFrame& frame, const FieldFunction& field,
                         const CutPlane& plane, const Camera& camera, const ClayOptions& clay,
                         const FieldSliceOptions& options = {}, const Progress& progress = {});

/// How a function of two numbers is plotted.
struct FunctionPlot {
  int size = 480;            ///< pixels, width and height of the whole picture, at least 64
  double low = 0, high = 1;  ///< both axes
  /// Of thin lines; those closer together than lines are wide are left out.
  std::vector<double> levels{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
  double bold_level = 0.5;
  std::string title;
  std::string x_label = "f1";
  std::string y_label = "f2";
};

/// Iso-lines and colours of a function over a square, in the colours of field slices, with axes: what an
/// operator makes of two fields. Paper where the function is not finite or 0. `function` is called from many
/// threads. Throws Error for a picture too small or too large, axes without length, levels that are not
/// finite and an empty function.
Image plot_function(const std::function<double(double x, double y)>& function, const FunctionPlot& plot = {});

}  // namespace sinew
