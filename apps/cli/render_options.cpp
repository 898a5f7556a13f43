#include "apps/cli/render_options.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew::cli {

namespace {

constexpr int kLongestSide = 16384;  // pixels of one view

std::optional<AxisPlane> parse_axis_plane(std::string_view text, std::string_view relations) {
  if (text.size() < 3 || text[0] < 'x' || text[0] > 'z' || relations.find(text[1]) == std::string_view::npos)
    return {};
  AxisPlane plane{text[0] - 'x', text[1], 0};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, plane.offset);
  if (error != std::errc() || rest != end || !std::isfinite(plane.offset)) return {};
  return plane;
}

}  // namespace

ViewSize parse_size(const std::string& text) {
  ViewSize size{};
  const char* end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  if (width.ec == std::errc() && width.ptr != end && *width.ptr == 'x') {
    const auto height = std::from_chars(width.ptr + 1, end, size.height);
    if (height.ec == std::errc() && height.ptr == end && size.width >= 16 && size.height >= 16 &&
        size.width <= kLongestSide && size.height <= kLongestSide) {
      if (std::int64_t{size.width} * size.height > kMostClayPixels)
        throw Error(fmt::format("--size {}: {} × {} pixels are too many for one picture ({} million at most)",
                                text, size.width, size.height, kMostClayPixels / 1000000));
      return size;
    }
  }
  throw Error(fmt::format("--size {}: expected WIDTHxHEIGHT, each from 16 to {} pixels", text, kLongestSide));
}

int find_joint(const std::string& option, const std::string& name, const Scene& scene) {
  const int joint = scene.skeleton.find(name);
  if (joint < 0)
    throw Error(fmt::format("{} {}: no joint of that name; `sinew info --json` lists them", option, name));
  return joint;
}

Coloring parse_color(const std::string& text, const Scene& scene) {
  constexpr std::string_view kBone = "bone:", kFreedom = "freedom:";
  Coloring coloring;
  if (text == "clay") return coloring;
  if (text == "weights") {
    coloring.by = Coloring::By::weights;
  } else if (text == "partition") {
    coloring.by = Coloring::By::partition;
  } else if (text == "stretch") {
    coloring.by = Coloring::By::stretch;
  } else if (text == "contact") {
    coloring.by = Coloring::By::marks;
  } else if (text == "freedom" || text.starts_with(kFreedom)) {
    coloring.by = Coloring::By::values;  // each method has its own, or none
    if (text != "freedom")
      coloring.joint = find_joint("--color freedom:", text.substr(kFreedom.size()), scene);
  } else if (text.starts_with(kBone)) {
    coloring.by = Coloring::By::joint;
    coloring.joint = find_joint("--color bone:", text.substr(kBone.size()), scene);
  } else {
    throw Error(
        fmt::format("--color {}: expected clay, weights, partition, stretch, contact, freedom, freedom:JOINT "
                    "or bone:JOINT",
                    text));
  }
  return coloring;
}

CutPlane parse_cut(const std::string& text, const Vec3d& towards_camera) {
  const std::optional<AxisPlane> plane = parse_axis_plane(text, "<=>");
  if (!plane)
    throw Error(fmt::format("--cut {}: expected x=OFFSET, x<OFFSET or x>OFFSET (or y, z), in metres", text));
  const bool keep_lower =
      plane->relation == '<' || (plane->relation == '=' && towards_camera[plane->axis] >= 0);
  CutPlane cut;
  cut.normal = (keep_lower ? 1.0f : -1.0f) * Vec3f::Unit(plane->axis);
  cut.offset = keep_lower ? plane->offset : -plane->offset;
  return cut;
}

AxisPlane parse_field_slice(const std::string& text) {
  const std::optional<AxisPlane> plane = parse_axis_plane(text, "=");
  if (!plane)
    throw Error(fmt::format("--field-slice {}: expected x=OFFSET, y=OFFSET or z=OFFSET, in metres", text));
  return *plane;
}

}  // namespace sinew::cli
