#pragma once

#include <sinew/core/math.h>

namespace sinew {

// Signs of determinants of float coordinates, exact for all finite inputs. Return -1, 0 or 1.

/// 1 when a, b, c run counter-clockwise in the plane of the axes u and v (seen with u to the right, v up).
int orient2d(const Vec3f& a, const Vec3f& b, const Vec3f& c, int u, int v);

/// The sign of (a - d) · ((b - d) × (c - d)): 1 when a, b, c run clockwise as seen from d, in other words
/// when d lies on the side that the triangle abc does not face. 0 when all four lie in a plane.
int orient3d(const Vec3f& a, const Vec3f& b, const Vec3f& c, const Vec3f& d);

/// All three on one line, or fewer than three points.
bool collinear(const Vec3f& a, const Vec3f& b, const Vec3f& c);

}  // namespace sinew
