#include <array>
#include <numbers>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/layers/volume_layer.h>

namespace sinew {

namespace {

constexpr std::array<std::string_view, 4> kPresets{"isotropic", "muscle", "fat", "rubber"};
constexpr std::array<std::string_view, 4> kAxes{"preset", "before", "between", "behind"};
constexpr std::array<std::string_view, 2> kCurves{"spline", "straight"};
constexpr std::array<std::string_view, 7> kVolumeSides{"all", "+x", "-x", "+y", "-y", "+z", "-z"};

struct Preset {
  VolumeShares shares;
  double bone;
  double softness;
  std::vector<SwellProfile::Point> profile;
};

/// Rohmer 2014, §II.4 and §II.5: a muscle swells across bone and hinge, on the bone before the joint; rolls
/// of fat are two bumps; rubber gives way across the hinge, wherever it is.
const Preset& preset_of(std::size_t number) {
  static const std::array<Preset, 4> presets{{
      {{1.0 / 3, 1.0 / 3, 1.0 / 3}, 0.5, 0.5, {}},
      {{0.1, 0.2, 0.7}, 0, 0, {{-0.95, 0}, {-0.5, 1}, {-0.05, 0}}},
      {{0.1, 0.2, 0.7}, 0.5, 0.5, {{-0.8, 0}, {-0.4, 1}, {0, 0.1}, {0.4, 1}, {0.8, 0}}},
      {{0.15, 0.15, 0.7}, 0.5, 0, {}},
  }};
  return presets[number];
}

}  // namespace

void VolumeChoice::ProfilePoint::visit(FieldVisitor& fields) {
  fields.number("along", along, -1, 1,
                "-1: other end of the bone before the joint, 0: joint, 1: end of the next");
  fields.number("value", value, 0, 1, "how freely the skin swells there");
}

void VolumeChoice::visit(FieldVisitor& fields) {
  fields.choice(
      "preset", preset, kPresets,
      "isotropic (alike on all axes), muscle (swells the bone before the joint), fat (two rolls), rubber "
      "(gives way across the hinge)");
  fields.number("strength", strength, 0, 4,
                "how much of the lost volume is restored; more than 1 exaggerates");
  fields.renamed("most", "max_displacement");
  fields.number(
      "max_displacement", max_displacement, 0.01, 10,
      "how far skin moves, in radii of the limb; what a joint cannot restore within that its neighbours do");
  fields.number("share_along", share_along, -1, 1, "share restored along the bone; -1: as the preset says");
  fields.number("share_hinge", share_hinge, -1, 1, "along the axis that the joint turns about");
  fields.number("share_across", share_across, -1, 1, "across both; shares need not add up to 1");
  fields.choice("axis", axis, kAxes,
                "the bone that the first axis follows: before the joint, behind it, between");
  fields.number(
      "softness", softness, -1, 1,
      "0: all skin is alike, 1: freedom grows with the distance from the bone; -1: as the preset says");
  fields.list("profile", profile, "a curve along the bones: where skin swells; none: as the preset says");
  fields.choice("curve", curve, kCurves, "how the profile's points are joined");
  fields.choice("side", side, kVolumeSides, "of the bone that swells, at rest");
  fields.number("spread", spread, 5, 180, "how far round the bone from that side, degrees (Gaussian)");
  fields.list("region", region, "balls outside of which skin stays; none: all is free");
  fields.text("weight", weight, "joints whose skin weights multiply the freedom, name or pattern");
}

VolumeShares VolumeChoice::shares(const std::string& where) const {
  VolumeShares result = preset_of(preset).shares;
  const std::array<double, 3> own{share_along, share_hinge, share_across};
  double sum = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    if (own[a] >= 0) result[a] = own[a];
    sum += result[a];
  }
  if (!(sum > 0))
    throw Error(fmt::format("{}: all three shares are 0; one axis must restore the volume", where));
  for (double& share : result) share /= sum;
  return result;
}

double VolumeChoice::bone() const {
  constexpr std::array<double, 4> kBones{0, 0, 0.5, 1};
  return axis == 0 ? preset_of(preset).bone : kBones[axis];
}

FreedomRule VolumeChoice::rule(const std::string& where) const {
  FreedomRule rule;
  std::vector<SwellProfile::Point> points;
  for (const ProfilePoint& point : profile) points.push_back({point.along, point.value});
  if (points.empty()) points = preset_of(preset).profile;
  try {
    if (!points.empty()) rule.profile = SwellProfile(std::move(points), curve == 0);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", where, error.what()));
  }
  rule.softness = softness >= 0 ? softness : preset_of(preset).softness;
  if (side > 0) rule.side[static_cast<int>((side - 1) / 2)] = side % 2 == 1 ? 1 : -1;
  rule.spread = spread * kDegree;
  for (const RecipeBall& ball : region) rule.region.push_back({ball.position(), ball.radius});
  return rule;
}

void JointVolumeChoice::visit(FieldVisitor& fields) {
  fields.text("joint", joint, "name of the joint, or a pattern: * any characters, ? one");
  choice.visit(fields);
}

void VolumeLayerOptions::visit(FieldVisitor& fields) {
  choice.visit(fields);
  fields.text("freedom_attribute", freedom_attribute,
              "vertex attribute of the file in which freedom is painted, 0 to 1; it multiplies");
  fields.boolean("respect_contact", respect_contact,
                 "skin that a layer before has brought into contact stays where it is");
  fields.list("joints", joints,
              "joints that restore their volume otherwise; the last entry that matches counts");
}

}  // namespace sinew
