#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sinew/core/progress.h>
#include <sinew/picture/camera.h>
#include <sinew/picture/drawn_surface.h>
#include <sinew/picture/image.h>

namespace sinew {

/// Keeps the points with normal · x ≤ offset and takes the rest away.
struct CutPlane {
  Vec3f normal = Vec3f::UnitX();  ///< unit length
  float offset = 0;               ///< metres
};

/// The plane through a point, to take away the side that `normal` (of any length) points to. Throws Error
/// when a number is not finite or `normal` is zero.
CutPlane plane_through(const Vec3d& point, const Vec3d& normal);

/// A bone of the skeleton overlay, in scene space.
struct DrawnBone {
  Vec3f head = Vec3f::Zero();
  Vec3f tail = Vec3f::Zero();
  Rgb color{245, 166, 35};
};

/// Another surface over the one that is drawn, as if of glass: pale where it faces the camera, dark at its
/// outline. Nothing hides it, it casts no shadow; the cut takes its part of it. Triangles with a corner that
/// is not finite are left out.
struct ClayGhost {
  const DrawnSurface* surface = nullptr;  ///< none: no ghost
  std::span<const Vec3f> positions;       ///< one per vertex of it, scene space
  Rgb color{58, 72, 96};
  float opacity = 0.10f;  ///< where it faces the camera; more towards its outline
};

/// Most pixels a picture of clay may have: 8192 squared, at some 70 bytes each while it is drawn.
inline constexpr std::int64_t kMostClayPixels = std::int64_t{1} << 26;

enum class ClayQuality {
  draft,  ///< for previews and animations: a few samples per pixel
  final,  ///< for single pictures
};

struct Backdrop {
  Rgb top{236, 238, 241};
  Rgb bottom{208, 211, 216};
};

struct ClayOptions {
  int width = 960;   ///< pixels
  int height = 720;  ///< pixels
  ClayQuality quality = ClayQuality::final;
  Rgb clay{203, 184, 167};        ///< of surfaces without colours of their own
  Rgb back_faces{142, 120, 160};  ///< where a part that has an inside shows it
  Backdrop backdrop;
  /// Height (y, metres) of a floor that takes shadows; none: no floor. Seen from below it is not there.
  std::optional<float> floor;
  bool wireframe = false;
  float wire_width = 1.1f;  ///< pixels
  std::optional<CutPlane> cut;
  std::span<const DrawnBone> bones;  ///< drawn over the surface, fainter where they lie inside it
  ClayGhost ghost;
};

/// What one frame shows.
struct ClayFrame {
  std::span<const Vec3f> positions;  ///< one per vertex of the surface, scene space
  std::span<const Rgb> colors;       ///< one per vertex, or empty for clay
  bool sharp_colors = false;         ///< each point takes its nearest corner's colour instead of a mixture
};

/// A picture of the surface as matte clay under a soft key light, fill and rim light and an open sky. Lights
/// turn with the camera. The same bits for any number of threads. Triangles with a corner that is not finite
/// are left out. Throws Error when nothing is left to draw, sizes disagree with `surface`, or the picture is
/// too large.
Image render_clay(const DrawnSurface& surface, const ClayFrame& frame, const Camera& camera,
                  const ClayOptions& options, const Progress& progress = {});

}  // namespace sinew
