#include <sinew/implicit/muscle.h>

#include <algorithm>
#include <cmath>

#include <sinew/core/index.h>
#include <sinew/implicit/compact_support.h>

namespace sinew {

namespace {

constexpr float kCore = 0.25f;                  // e²: rounds the tip that a distance has in the middle
constexpr float kSurface = 1.118033988749895f;  // √(1+e²)

constexpr double kThinnest = 0.7;  // bounds of the radius by which a muscle keeps its volume
constexpr double kThickest = 1.5;
constexpr double kLargest = 1e15;  // entries of a matrix that floats still work with

}  // namespace

double muscle_bend(const Muscle& muscle, std::span<const Affine3d> posed_from_rest) {
  const Mat3d before = posed_from_rest[muscle.driver_parent_transform].linear();
  const Mat3d after = posed_from_rest[muscle.driver_transform].linear();
  double angle;
  if (muscle.driver_bone.squaredNorm() > 0) {
    const Vec3d a = before * muscle.driver_bone, b = after * muscle.driver_bone;
    angle = std::atan2(a.cross(b).norm(), a.dot(b));
  } else {
    // For turns, trace(AᵀB) = |A| |B| (1 + 2 cos) / 3.
    const double cosine = 1.5 * before.cwiseProduct(after).sum() / (before.norm() * after.norm()) - 0.5;
    angle = std::acos(std::clamp(cosine, -1.0, 1.0));
  }
  const double t = std::min(angle / muscle.full_angle, 1.0);
  return t > 0 ? t * t * (3 - 2 * t) : 0.0;
}

FieldSample PosedMuscle::sample(const Vec3f& at) const {
  const Vec3f q = to_ball(at);
  const float k2 = q.squaredNorm();
  if (!(k2 < reach * reach)) return {};
  const float root = std::sqrt(k2 + kCore);
  const float slope = thickness * kSurface;
  const float x = slope * (root - kSurface);
  const Vec3f g = compact_support_slope(x, 1.0f) * slope / root * q;
  const std::array<float, 12>& m = ball_from_world;
  return {compact_support(x, 1.0f),
          {m[0] * g.x() + m[4] * g.y() + m[8] * g.z(), m[1] * g.x() + m[5] * g.y() + m[9] * g.z(),
           m[2] * g.x() + m[6] * g.y() + m[10] * g.z()}};
}

bool pose_muscle(const Muscle& muscle, double host_support, const Affine3d& host,
                 std::span<const Affine3d> posed_from_rest, PosedMuscle& posed) {
  // In the host's rest space: whatever happens to the host happens to its muscles, too.
  const Affine3d rest_from_world = host.inverse();
  const Vec3d origin = rest_from_world * (posed_from_rest[muscle.origin_transform] * muscle.origin);
  const Vec3d insertion = rest_from_world * (posed_from_rest[muscle.insertion_transform] * muscle.insertion);
  const double length = (insertion - origin).norm();
  const double rest_length = (muscle.insertion - muscle.origin).norm();
  const double bend = muscle_bend(muscle, posed_from_rest);
  double radius = muscle.radius * (1 + muscle.swell * bend);
  if (rest_length > 0)
    radius *= length > 0 ? std::clamp(std::sqrt(rest_length / length), kThinnest, kThickest) : kThickest;
  const Vec3d center = (origin + insertion) / 2 + muscle.lift * bend * muscle.radius * muscle.outwards;

  const double half = length / 2;
  Mat3d ball_from_rest = Mat3d::Identity() / radius;
  if (half > radius) {
    const Vec3d axis = (insertion - origin) / length;
    ball_from_rest += (1 / half - 1 / radius) * axis * axis.transpose();
  }
  Affine3d ball_from_world = Affine3d::Identity();
  ball_from_world.linear() = ball_from_rest * rest_from_world.linear();
  ball_from_world.translation() = ball_from_rest * (rest_from_world.translation() - center);
  posed.thickness = static_cast<float>(radius / host_support);
  const float outermost = kSurface + 1 / (posed.thickness * kSurface);
  posed.reach = std::sqrt(outermost * outermost - kCore);
  const auto sound = [](double value) { return value > 0 && value < kLargest; };
  if (!sound(static_cast<double>(posed.thickness)) || !sound(static_cast<double>(posed.reach)) ||
      !ball_from_world.matrix().allFinite() || !sound(ball_from_world.matrix().cwiseAbs().maxCoeff()))
    return false;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      posed.ball_from_world[to_size(4 * row + column)] = static_cast<float>(ball_from_world(row, column));
  return true;
}

FieldSample merge_muscle(const FieldSample& host, const FieldSample& muscle) {
  const float a = host.value, b = muscle.value;
  const float apart = a - b, width = kMuscleBlend * (a + b);
  if (!(std::abs(apart) < width)) return a >= b ? host : muscle;
  const float share = apart / width;  // −1: all the muscle's, 1: all the host's
  const float overlap = width - std::abs(apart);
  // By a and b directly, and through the width.
  const float widening = kMuscleBlend * (1 - share * share) / 4;
  FieldSample merged;
  merged.value = std::min(std::max(a, b) + overlap * overlap / (4 * width), 1.0f);
  merged.gradient =
      ((1 + share) / 2 + widening) * host.gradient + ((1 - share) / 2 + widening) * muscle.gradient;
  return merged;
}

}  // namespace sinew
