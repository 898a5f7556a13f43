#pragma once

#include <numbers>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace sinew {

using Vec2f = Eigen::Vector2f;
using Vec3f = Eigen::Vector3f;
using Vec4f = Eigen::Vector4f;
using Vec3d = Eigen::Vector3d;
using Quatf = Eigen::Quaternionf;
using Quatd = Eigen::Quaterniond;
using Mat3d = Eigen::Matrix3d;
using Mat4f = Eigen::Matrix4f;
using Mat4d = Eigen::Matrix4d;
using Affine3d = Eigen::Affine3d;

/// Radians.
inline constexpr double kDegree = std::numbers::pi / 180;

// Arrays of Vec3f are handed to file writers and SIMD kernels as packed xyz floats.
static_assert(sizeof(Vec3f) == 3 * sizeof(float) && alignof(Vec3f) == alignof(float));

}  // namespace sinew
