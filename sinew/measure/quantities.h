#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <sinew/measure/performance_ruler.h>

namespace sinew {

/// Which of two frames is the worse one.
enum class Worse { larger, smaller, farther_from_100 };

/// One figure of a frame, ready for tables, plots and JSON: the number in the unit that its key ends with.
struct Quantity {
  std::string_view key;      ///< "depth_largest_mm"
  std::string_view heading;  ///< "depth, largest"
  std::string_view unit;     ///< "mm"; empty for counts
  Worse worse;
  /// None where the frame has no such figure.
  std::optional<double> (*value)(const FrameMeasurements& frame, const RestSurface& rest);
};

/// All quantities, in the order of docs/measurements.md.
std::span<const Quantity> quantities();

/// Of the hinges that bend in the frame the one with least of its volume left, the first of several; null
/// when there are none.
const JointVolume* smallest_joint_volume(const SurfaceMeasurements& frame);

/// A quantity over all frames that have it.
struct QuantitySummary {
  double worst = 0;
  int worst_frame = 0;
  double mean = 0;
};

/// One entry per quantity; none where no frame has it.
std::vector<std::optional<QuantitySummary>> summarise(const PerformanceMeasurements& measured);

}  // namespace sinew
