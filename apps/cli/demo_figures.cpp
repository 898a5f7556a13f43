#include "apps/cli/demo_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/index.h>
#include <sinew/measure/quantities.h>
#include <sinew/picture/plot.h>

namespace sinew::cli {

namespace {

/// The figures that the report shows; the rest is in `sinew measure`.
constexpr std::array<const char*, 12> kShownQuantities{
    "pairs_new",  "buried_new",   "depth_largest_percent", "overlap_new_cm3",           "gap_median_mm",
    "gap_p90_mm", "pops_percent", "pops_largest_mm",       "pose_deviation_largest_mm", "volume_percent",
    "flipped",    "time_ms"};
constexpr std::array<const char*, 3> kPlottedQuantities{"overlap_new_cm3", "depth_largest_percent",
                                                        "volume_percent"};

const Quantity& quantity(std::string_view key) {
  const auto all = quantities();
  return *std::find_if(all.begin(), all.end(), [&](const Quantity& q) { return q.key == key; });
}

/// Some headings stand under another one in a table and are short for that.
std::string full_heading(const Quantity& shown) {
  if (shown.key == "pairs_new") return "intersecting pairs, new since rest";
  if (shown.key == "buried_new") return "buried vertices, new since rest";
  if (shown.key == "overlap_new_cm3") return "overlap volume, new since rest";
  return std::string(shown.heading);
}

std::string short_number(double value) {
  return std::abs(value) >= 100 || value == std::round(value) ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.3g}", value);
}

}  // namespace

void report_figures(Report& report, const std::vector<MethodFigures>& methods, double seconds) {
  ReportTable table;
  table.caption = fmt::format("Worst of {} frames; time: median", methods[0].measured.frames.size());
  table.header = {"figure"};
  const auto all = quantities();
  std::vector<std::vector<std::optional<QuantitySummary>>> summaries;
  for (std::size_t a = 0; a < methods.size(); ++a) {
    table.header.push_back(methods[a].name);
    summaries.push_back(summarise(methods[a].measured));
  }
  for (const char* key : kShownQuantities) {
    const Quantity& shown = quantity(key);
    std::vector<std::string> row{
        shown.unit.empty() ? full_heading(shown) : fmt::format("{} ({})", full_heading(shown), shown.unit)};
    for (std::size_t a = 0; a < methods.size(); ++a) {
      const auto& figure = summaries[a][to_size(&shown - all.data())];
      row.push_back(!figure ? "–"
                    : key == std::string_view("time_ms")
                        ? short_number(methods[a].measured.median_seconds * 1e3)
                        : short_number(figure->worst));
    }
    table.rows.push_back(std::move(row));
  }
  report.table(table);
  report.begin_row();
  for (const char* key : kPlottedQuantities) {
    const Quantity& plotted = quantity(key);
    LinePlot plot;
    plot.title = full_heading(plotted);
    plot.x_label = "time (s)";
    plot.y_label = std::string(plotted.unit);
    plot.y_from_zero = key != std::string_view("volume_percent");
    plot.width = 420;
    plot.height = 260;
    for (std::size_t a = 0; a < methods.size(); ++a) {
      PlotSeries series;
      series.name = methods[a].name;
      for (const FrameMeasurements& frame : methods[a].measured.frames) {
        const auto value = plotted.value(frame, methods[a].measured.rest);
        series.x.push_back(frame.frame * seconds /
                           static_cast<double>(methods[a].measured.frames.size() - 1));
        series.y.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
      }
      plot.series.push_back(std::move(series));
    }
    report.plot(line_plot_svg(plot));
  }
  report.end_row();
}

}  // namespace sinew::cli
