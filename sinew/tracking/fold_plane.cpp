#include <sinew/tracking/fold_plane.h>

#include <algorithm>
#include <cmath>

namespace sinew {

namespace {

constexpr float kNoPlane = 0.05f;   // |b − a|, of unit vectors along the bones, below which there is none
constexpr float kFoldReach = 2.2f;      // from the joint, in radii: where the plane ends, fields take over
constexpr float kMostFoldTurn = 0.35f;  // radians
constexpr float kFaintFold = 0.3f;      // value of both fields from which on they do meet
// Lengths of `inside` from which on the plane is turned, and wholly is.
constexpr float kOpen = 0.1f;
constexpr float kClosed = 0.5f;
constexpr float kClearFold = 0.1f;  // difference at the ends of the search from which on it is turned wholly
constexpr float kWeak = 0.1f;   // smaller values may have been cut off
constexpr int kBisections = 8;

float value_at(const PosedField& field, const Vec3f& at) {
  return field.usable ? field.sample(at).value : 0.0f;
}

}  // namespace

FoldPlane fold_plane(const Vec3f& joint, const Vec3f& parent_middle, const Vec3f& child_middle) {
  const Vec3f a = (parent_middle - joint).normalized(), b = (child_middle - joint).normalized();
  const float length = (b - a).norm();
  FoldPlane plane;
  if (a.norm() > 0 && b.norm() > 0 && length > kNoPlane && std::isfinite(length)) {
    plane.normal = (b - a) / length;
    plane.inside = (a + b) / 2;
  }
  return plane;
}

FoldPlane turned_to_contact(const FoldPlane& plane, const Vec3f& joint, float radius,
                            const PosedField& parent, const PosedField& child) {
  const float closed = plane.inside.norm();
  if (!(closed > kOpen)) return plane;
  const Vec3f inwards = plane.inside / closed;
  const auto place = [&](float angle) {
    return Vec3f(joint + kFoldReach * radius * (std::cos(angle) * inwards + std::sin(angle) * plane.normal));
  };
  const auto difference = [&](float angle) {
    return value_at(child, place(angle)) - value_at(parent, place(angle));
  };
  float low = -kMostFoldTurn, high = kMostFoldTurn;
  float at_low = difference(low), at_high = difference(high);
  // Nothing jumps where an end's sign changes: the child's bone may lie before it.
  const float clear = smooth_step(0.0f, kClearFold, std::min(-at_low, at_high));
  if (!(clear > 0)) return plane;
  for (int k = 0; k < kBisections; ++k) {
    const float mid = (low + high) / 2, at_mid = difference(mid);
    if (at_mid > 0)
      high = mid, at_high = at_mid;
    else
      low = mid, at_low = at_mid;
  }
  float angle = low - at_low * (high - low) / (at_high - at_low);
  const float met = std::min(value_at(child, place(angle)), value_at(parent, place(angle)));
  // Nothing jumps where they cease to meet, or meet too far off.
  angle *= clear * smooth_step(kWeak, kFaintFold, met) * smooth_step(kOpen, kClosed, closed) *
           (1 - smooth_step(0.5f, 1.0f, std::abs(angle) / kMostFoldTurn));
  FoldPlane turned;
  turned.normal = std::cos(angle) * plane.normal - std::sin(angle) * inwards;
  turned.inside = closed * (std::cos(angle) * inwards + std::sin(angle) * plane.normal);
  return turned;
}

}  // namespace sinew
