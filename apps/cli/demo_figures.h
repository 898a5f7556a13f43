#pragma once

#include <string>
#include <vector>

#include <sinew/measure/performance_ruler.h>
#include <sinew/picture/report.h>

namespace sinew::cli {

/// What one method did in a clip.
struct MethodFigures {
  std::string name;
  PerformanceMeasurements measured;
};

/// Adds a table of the methods' figures, and plots of some of them over a clip that lasts `seconds`. There
/// must be methods, each with the same number of frames.
void report_figures(Report& report, const std::vector<MethodFigures>& methods, double seconds);

}  // namespace sinew::cli
