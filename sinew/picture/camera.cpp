#include <sinew/picture/camera.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

namespace {

struct NamedView {
  std::string_view name;
  View view;
};

// A few degrees above the horizon where a level view would hide the ground.
constexpr NamedView kViews[] = {{"front", {0, 4}},          {"back", {180, 4}}, {"left", {90, 4}},
                                {"right", {-90, 4}},        {"side", {90, 4}},  {"top", {0, 90}},
                                {"three-quarter", {35, 14}}};

// Of the image's shorter side. Narrow, as a portrait lens: limbs keep their proportions.
constexpr double kHalfOpening = 12 * std::numbers::pi / 180;

Camera aim(const View& view, double aspect) {
  const double yaw = view.yaw * std::numbers::pi / 180, pitch = view.pitch * std::numbers::pi / 180;
  Camera camera;
  camera.back = {std::sin(yaw) * std::cos(pitch), std::sin(pitch), std::cos(yaw) * std::cos(pitch)};
  camera.right = {std::cos(yaw), 0, -std::sin(yaw)};
  camera.up = camera.back.cross(camera.right);
  const double opening = std::tan(kHalfOpening);
  camera.tan_half_width = opening * std::max(1.0, aspect);
  camera.tan_half_height = opening * std::max(1.0, 1 / aspect);
  return camera;
}

}  // namespace

std::string view_names() {
  std::string names;
  for (const NamedView& view : kViews) names += fmt::format("{}{}", names.empty() ? "" : ", ", view.name);
  return names;
}

View parse_view(std::string_view text) {
  for (const NamedView& view : kViews)
    if (view.name == text) return view.view;
  View view;
  const char* end = text.data() + text.size();
  const auto yaw = std::from_chars(text.data(), end, view.yaw);
  if (yaw.ec == std::errc() && yaw.ptr != end && *yaw.ptr == ',') {
    const auto pitch = std::from_chars(yaw.ptr + 1, end, view.pitch);
    if (pitch.ec == std::errc() && pitch.ptr == end && std::abs(view.yaw) <= 3600 &&
        std::abs(view.pitch) <= 90)
      return view;
  }
  throw Error(fmt::format("camera '{}': expected {} or YAW,PITCH in degrees (pitch from -90 to 90)", text,
                          view_names()));
}

Vec3d Camera::direction(double x, double y) const {
  return (2 * x - 1) * tan_half_width * right + (1 - 2 * y) * tan_half_height * up - back;
}

Vec3d Camera::project(const Vec3d& point) const {
  const Vec3d offset = point - position;
  const double depth = -offset.dot(back);
  return {0.5 + 0.5 * offset.dot(right) / (depth * tan_half_width),
          0.5 - 0.5 * offset.dot(up) / (depth * tan_half_height), depth};
}

CameraFit::CameraFit(const View& view, double aspect, double margin)
    : frame_(aim(view, aspect)),
      tan_x_(frame_.tan_half_width * (1 - 2 * margin)),
      tan_y_(frame_.tan_half_height * (1 - 2 * margin)) {
  assert(aspect > 0 && margin >= 0 && margin < 0.5);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  highest_x_ = highest_y_ = nearest_ = -kInfinity;
  lowest_x_ = lowest_y_ = farthest_ = kInfinity;
}

// With the point at (x, y, z) in camera axes, z towards the camera, a camera at (cx, cy, d) sees it when
// |x - cx| ≤ (d - z) tan_x, that is x + z tan_x - d tan_x ≤ cx ≤ x - z tan_x + d tan_x; the same for y.
void CameraFit::add(const Vec3d& point) {
  if (!point.allFinite()) return;
  ++count_;
  const double x = point.dot(frame_.right), y = point.dot(frame_.up), z = point.dot(frame_.back);
  highest_x_ = std::max(highest_x_, x + z * tan_x_);
  lowest_x_ = std::min(lowest_x_, x - z * tan_x_);
  highest_y_ = std::max(highest_y_, y + z * tan_y_);
  lowest_y_ = std::min(lowest_y_, y - z * tan_y_);
  nearest_ = std::max(nearest_, z);
  farthest_ = std::min(farthest_, z);
}

void CameraFit::add(std::span<const Vec3f> points) {
  for (const Vec3f& point : points) add(Vec3d(point.cast<double>()));
}

void CameraFit::add(const Vec3d& center, double radius) {
  if (!center.allFinite() || !(radius >= 0) || !std::isfinite(radius)) return;
  add(center);
  // The support of a ball in the direction (±1, 0, tan_x) is its radius times that direction's length.
  const double x = center.dot(frame_.right), y = center.dot(frame_.up), z = center.dot(frame_.back);
  const double reach_x = radius * std::hypot(1, tan_x_), reach_y = radius * std::hypot(1, tan_y_);
  highest_x_ = std::max(highest_x_, x + z * tan_x_ + reach_x);
  lowest_x_ = std::min(lowest_x_, x - z * tan_x_ - reach_x);
  highest_y_ = std::max(highest_y_, y + z * tan_y_ + reach_y);
  lowest_y_ = std::min(lowest_y_, y - z * tan_y_ - reach_y);
  nearest_ = std::max(nearest_, z + radius);
  farthest_ = std::min(farthest_, z - radius);
}

Camera CameraFit::camera(double zoom) const {
  if (empty()) throw Error("nothing to look at: the camera was given no finite point");
  Camera camera = frame_;
  // A single point has no size to fit; any distance will do.
  const double size = std::max({highest_x_ - lowest_x_, highest_y_ - lowest_y_, nearest_ - farthest_});
  const double least = size > 0 ? 1e-3 * size : 1.0;
  double distance =
      std::max((highest_x_ - lowest_x_) / (2 * tan_x_), (highest_y_ - lowest_y_) / (2 * tan_y_));
  distance = std::max(distance, nearest_ + least);
  const double x = (highest_x_ + lowest_x_) / 2, y = (highest_y_ + lowest_y_) / 2;
  // Zooming narrows the opening instead of going nearer: the perspective stays and nothing is passed.
  camera.tan_half_width /= zoom;
  camera.tan_half_height /= zoom;
  camera.position = x * camera.right + y * camera.up + distance * camera.back;
  return camera;
}

}  // namespace sinew
