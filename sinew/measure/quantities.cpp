#include <sinew/measure/quantities.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sinew {

namespace {

using Frame = FrameMeasurements;
using Value = std::optional<double>;

constexpr double kPercent = 100;
constexpr double kMillimetres = 1e3;
constexpr double kCubicCentimetres = 1e6;

Value pairs(const Frame& frame, std::size_t count) {
  return frame.surface.pairs_known ? Value(static_cast<double>(count)) : std::nullopt;
}
Value depth(const Frame& frame, double value) {
  return frame.surface.depth.known ? Value(value) : std::nullopt;
}
Value overlap(const Frame& frame, double value) {
  return frame.surface.pairs_known ? Value(value) : std::nullopt;
}
Value gap(const Frame& frame, double share) {
  std::vector<double> gaps = frame.gaps.gaps;
  return gaps.empty() ? std::nullopt : Value(kMillimetres * quantile(gaps, share));
}
/// Of the joints' skins.
Value deviation_largest(const Frame& frame) {
  double largest = 0;
  for (const JointDeviation& d : frame.deviations) largest = std::max(largest, d.largest);
  return frame.deviations.empty() ? std::nullopt : Value(kMillimetres * largest);
}
Value deviation_rms(const Frame& frame) {
  double squares = 0;
  for (const JointDeviation& d : frame.deviations) squares += d.rms * d.rms;
  return frame.deviations.empty()
             ? std::nullopt
             : Value(kMillimetres * std::sqrt(squares / static_cast<double>(frame.deviations.size())));
}
Value deviation_percent(const Frame& frame) {
  Value largest;
  for (const JointDeviation& d : frame.deviations)
    if (d.limb_length > 0) largest = std::max(largest.value_or(0), kPercent * d.rms / d.limb_length);
  return largest;
}
Value since_rest(const Frame& frame, double value) {
  return frame.surface.new_pairs_known ? Value(value) : std::nullopt;
}

const std::array kQuantities = {
    Quantity{"pairs", "intersecting pairs", "", Worse::larger,
             [](const Frame& f, const RestSurface&) { return pairs(f, f.surface.intersecting_pairs); }},
    Quantity{"pairs_new", "  new since rest", "", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return since_rest(f, static_cast<double>(f.surface.new_intersecting_pairs));
             }},
    Quantity{"buried", "buried vertices", "", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(f.surface.buried_vertices); }},
    Quantity{"buried_new", "  new since rest", "", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(f.surface.new_buried_vertices); }},
    Quantity{
        "depth_largest_mm", "depth, largest", "mm", Worse::larger,
        [](const Frame& f, const RestSurface&) { return depth(f, kMillimetres * f.surface.depth.largest); }},
    Quantity{
        "depth_mean_mm", "depth, mean", "mm", Worse::larger,
        [](const Frame& f, const RestSurface&) { return depth(f, kMillimetres * f.surface.depth.mean); }},
    Quantity{"depth_largest_percent", "depth, largest", "% of limb radius", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return depth(f, kPercent * f.surface.depth.largest_share_of_limb);
             }},
    Quantity{"depth_mean_percent", "depth, mean", "% of limb radius", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return depth(f, kPercent * f.surface.depth.mean_share_of_limb);
             }},
    Quantity{"overlap_cm3", "overlap volume", "cm³", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return overlap(f, kCubicCentimetres * f.surface.overlap.total());
             }},
    Quantity{"overlap_new_cm3", "  new since rest", "cm³", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return since_rest(f, kCubicCentimetres * f.surface.new_overlap_volume);
             }},
    Quantity{"overlap_new_percent", "  new since rest", "% of rest volume", Worse::larger,
             [](const Frame& f, const RestSurface& rest) {
               return rest.volume_known
                          ? since_rest(f, kPercent * f.surface.new_overlap_volume / std::abs(rest.volume))
                          : std::nullopt;
             }},
    Quantity{"volume_percent", "volume", "% of rest", Worse::farther_from_100,
             [](const Frame& f, const RestSurface& rest) {
               return rest.volume_known ? Value(kPercent * f.surface.volume_ratio) : std::nullopt;
             }},
    Quantity{"joint_volume_smallest_percent", "joint volume, smallest", "% of rest", Worse::smaller,
             [](const Frame& f, const RestSurface&) {
               const JointVolume* joint = smallest_joint_volume(f.surface);
               return joint != nullptr ? Value(kPercent * joint->ratio) : std::nullopt;
             }},
    Quantity{
        "area_stretch_largest_percent", "area stretch, largest", "%", Worse::larger,
        [](const Frame& f, const RestSurface&) { return Value(kPercent * f.surface.area_stretch.largest); }},
    Quantity{
        "area_stretch_smallest_percent", "area stretch, smallest", "%", Worse::smaller,
        [](const Frame& f, const RestSurface&) { return Value(kPercent * f.surface.area_stretch.smallest); }},
    Quantity{"area_stretch_rms_percent", "area stretch, RMS", "%", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(kPercent * f.surface.area_stretch.rms); }},
    Quantity{
        "edge_stretch_largest_percent", "edge stretch, largest", "%", Worse::larger,
        [](const Frame& f, const RestSurface&) { return Value(kPercent * f.surface.edge_stretch.largest); }},
    Quantity{
        "edge_stretch_smallest_percent", "edge stretch, smallest", "%", Worse::smaller,
        [](const Frame& f, const RestSurface&) { return Value(kPercent * f.surface.edge_stretch.smallest); }},
    Quantity{"edge_stretch_rms_percent", "edge stretch, RMS", "%", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(kPercent * f.surface.edge_stretch.rms); }},
    Quantity{"curvature_change_rms_percent", "curvature change, RMS", "%", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.surface.curvature_change ? Value(kPercent * *f.surface.curvature_change)
                                                 : std::nullopt;
             }},
    Quantity{"curvature_mean_change_percent", "curvature change, mean", "%", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.surface.curvature_mean_change
                          ? Value(kPercent * std::abs(*f.surface.curvature_mean_change))
                          : std::nullopt;
             }},
    Quantity{"flipped", "flipped triangles", "", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(f.surface.flipped_triangles); }},
    Quantity{"flipped_outside_contact", "  outside contact", "", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(f.surface.flipped_outside_contact); }},
    Quantity{"degenerate", "degenerate triangles", "", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(f.surface.degenerate_triangles); }},
    Quantity{"flicker_rms_mm", "flicker, RMS", "mm/frame²", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.flicker ? Value(kMillimetres * f.flicker->rms) : std::nullopt;
             }},
    Quantity{"flicker_rms_percent", "flicker, RMS", "% of mean edge", Worse::larger,
             [](const Frame& f, const RestSurface& rest) {
               return f.flicker && rest.mean_edge > 0 ? Value(kPercent * f.flicker->rms / rest.mean_edge)
                                                      : std::nullopt;
             }},
    Quantity{"flicker_largest_mm", "flicker, largest", "mm/frame²", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.flicker ? Value(kMillimetres * f.flicker->largest) : std::nullopt;
             }},
    Quantity{"pops_percent", "pops over 2 mm", "% of vertices", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.pops ? Value(kPercent * f.pops->share) : std::nullopt;
             }},
    Quantity{"pops_in_contact_percent", "  of those in contact", "%", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.pops ? Value(kPercent * f.pops->share_in_contact) : std::nullopt;
             }},
    Quantity{"pops_largest_mm", "pops, largest", "mm/frame²", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.pops ? Value(kMillimetres * f.pops->largest) : std::nullopt;
             }},
    Quantity{"pops_rms_mm", "pops, RMS", "mm/frame²", Worse::larger,
             [](const Frame& f,
                const RestSurface&) { return f.pops ? Value(kMillimetres * f.pops->rms) : std::nullopt; }},
    Quantity{"steps_percent", "steps over 2 mm", "% of vertices", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.steps ? Value(kPercent * f.steps->share) : std::nullopt;
             }},
    Quantity{"steps_largest_mm", "steps, largest", "mm/frame", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.steps ? Value(kMillimetres * f.steps->largest) : std::nullopt;
             }},
    Quantity{"gap_median_mm", "gap, median", "mm", Worse::larger,
             [](const Frame& f, const RestSurface&) { return gap(f, 0.5); }},
    Quantity{"gap_p90_mm", "gap, 90th percentile", "mm", Worse::larger,
             [](const Frame& f, const RestSurface&) { return gap(f, 0.9); }},
    Quantity{"gap_misses", "gap, nothing to touch", "vertices", Worse::larger,
             [](const Frame& f, const RestSurface&) {
               return f.gaps.gaps.empty() && f.gaps.misses == 0 ? std::nullopt : Value(f.gaps.misses);
             }},
    Quantity{"pose_deviation_largest_mm", "pose deviation, largest", "mm", Worse::larger,
             [](const Frame& f, const RestSurface&) { return deviation_largest(f); }},
    Quantity{"pose_deviation_rms_mm", "pose deviation, RMS", "mm", Worse::larger,
             [](const Frame& f, const RestSurface&) { return deviation_rms(f); }},
    Quantity{"pose_deviation_percent", "pose deviation, largest", "% of limb length", Worse::larger,
             [](const Frame& f, const RestSurface&) { return deviation_percent(f); }},
    Quantity{"time_ms", "time of perform()", "ms", Worse::larger,
             [](const Frame& f, const RestSurface&) { return Value(1e3 * f.seconds); }},
};

bool is_worse(Worse worse, double a, double b) {
  switch (worse) {
    case Worse::larger:
      return a > b;
    case Worse::smaller:
      return a < b;
    case Worse::farther_from_100:
      return std::abs(a - kPercent) > std::abs(b - kPercent);
  }
  return false;
}

}  // namespace

std::span<const Quantity> quantities() {
  return kQuantities;
}

const JointVolume* smallest_joint_volume(const SurfaceMeasurements& frame) {
  const auto smallest = std::min_element(frame.joint_volumes.begin(), frame.joint_volumes.end(),
                                         [](const auto& a, const auto& b) { return a.ratio < b.ratio; });
  return smallest != frame.joint_volumes.end() ? &*smallest : nullptr;
}

std::vector<std::optional<QuantitySummary>> summarise(const PerformanceMeasurements& measured) {
  std::vector<std::optional<QuantitySummary>> summaries;
  for (const Quantity& quantity : kQuantities) {
    std::optional<QuantitySummary> summary;
    double sum = 0;
    int count = 0;
    for (const FrameMeasurements& frame : measured.frames) {
      const Value value = quantity.value(frame, measured.rest);
      if (!value) continue;
      if (!summary || is_worse(quantity.worse, *value, summary->worst))
        summary = QuantitySummary{*value, frame.frame, 0};
      sum += *value;
      ++count;
    }
    if (summary) summary->mean = sum / count;
    summaries.push_back(summary);
  }
  return summaries;
}

}  // namespace sinew
