#include <sinew/picture/plot.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sinew {

namespace {

// Okabe and Ito 2008, "Color universal design", without the yellow that is lost on white.
constexpr std::array<std::string_view, 7> kColors{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                  "#56B4E9", "#E69F00", "#8C6D46"};
constexpr std::array<std::string_view, 4> kDashes{"", "7 4", "2 3", "9 3 2 3"};

constexpr double kLeastRange = 1e-9;                // of the larger number
constexpr double kTextSize = 12, kCharacter = 6.6;  // pixels; width of an average character

double width_of(std::string_view text) {
  const auto characters = std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return kCharacter * static_cast<double>(characters);
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string tick_label(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e6 || size < 1e-4) return fmt::format("{:.3g}", value);
  std::string text = fmt::format("{:.6f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

/// A range of numbers and where they lie on the page.
struct Axis {
  double low = 0, high = 1;  // logarithms when log
  bool log = false;
  double from = 0, to = 1;  // pixels
  std::vector<double> ticks;

  bool shows(double value) const { return std::isfinite(value) && (!log || value > 0); }
  double place(double value) const {
    const double v = log ? std::log10(value) : value;
    return from + (v - low) / (high - low) * (to - from);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return !(low <= high); }
  /// Its ends differ by more than rounding.
  bool is_wide() const { return high - low > kLeastRange * std::max(std::abs(low), std::abs(high)); }
};

Axis make_axis(Range range, bool log, bool from_zero, int ticks) {
  Axis axis;
  axis.log = log;
  if (log) {
    axis.low = std::floor(std::log10(range.low) + 1e-9);
    axis.high = std::ceil(std::log10(range.high) - 1e-9);
    if (axis.high <= axis.low) axis.high = axis.low + 1;
    const bool few = axis.high - axis.low <= 2;
    const double step = std::max(1.0, std::ceil((axis.high - axis.low) / 8));
    for (double decade = axis.low; decade <= axis.high + 1e-9; decade += step)
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double exponent = decade + std::log10(digit);
        if ((digit == 1 || few) && exponent <= axis.high + 1e-9) axis.ticks.push_back(std::pow(10, exponent));
      }
    return axis;
  }
  if (from_zero && range.low >= 0) range.low = 0;
  if (from_zero && range.high <= 0) range.high = 0;
  // Also where they differ by rounding alone: no axis could tell them apart.
  if (!range.is_wide()) {
    const double largest = std::max(std::abs(range.low), std::abs(range.high));
    const double around = largest == 0 ? 1 : largest * 0.1;
    range.low -= from_zero && range.low == 0 ? 0 : around;
    range.high += around;
  }
  axis.ticks = nice_ticks(range.low, range.high, ticks);
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

/// Puts an SVG together, element after element.
class Drawing {
 public:
  Drawing(int width, int height, const std::string& title)
      : svg_(fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" )"
                         R"(height="{1}" role="img" style="max-width:100%;height:auto" fill="currentColor" )"
                         R"(font-family="system-ui,sans-serif" font-size="{2}"><title>{3}</title>)",
                         width, height, kTextSize, escape_markup(title))) {}

  void text(double x, double y, std::string_view anchor, std::string_view content,
            std::string_view extra = "") {
    svg_ += fmt::format(R"(<text x="{}" y="{}" text-anchor="{}"{}>{}</text>)", coordinate(x), coordinate(y),
                        anchor, extra, escape_markup(content));
  }
  void line(double x1, double y1, double x2, double y2, double opacity) {
    svg_ +=
        fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="currentColor" stroke-opacity="{}"/>)",
                    coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), opacity);
  }
  void add(const std::string& element) { svg_ += element; }
  std::string finish() && { return std::move(svg_) + "</svg>"; }

 private:
  std::string svg_;
};

struct Frame {
  double left, right, top, bottom;
};

void draw_title(Drawing& drawing, const std::string& title) {
  if (!title.empty()) drawing.text(8, 18, "start", title, R"( font-weight="600" font-size="14")");
}

/// Names with a sample of their line or bar, in rows; returns the height they take.
double draw_legend(Drawing& drawing, const std::vector<std::string>& names, double left, double right,
                   double top, bool bars) {
  constexpr double kSample = 26, kRow = 18;
  if (names.size() < 2 && (names.empty() || names[0].empty())) return 0;
  double x = left, y = top + 12;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double width = kSample + 6 + width_of(names[i]) + 16;
    if (x > left && x + width > right) {
      x = left;
      y += kRow;
    }
    const std::string_view color = kColors[i % kColors.size()];
    if (bars)
      drawing.add(fmt::format(R"(<rect x="{}" y="{}" width="12" height="12" rx="2" fill="{}"/>)",
                              coordinate(x + 10), coordinate(y - 10), color));
    else
      drawing.add(fmt::format(
          R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="2.5" stroke-dasharray="{}"/>)",
          coordinate(x), coordinate(y - 4), coordinate(x + kSample), coordinate(y - 4), color,
          kDashes[i / kColors.size() % kDashes.size()]));
    drawing.text(x + kSample + 6, y, "start", names[i]);
    x += width;
  }
  return y - top + 8;
}

double widest_label(const Axis& axis) {
  double widest = 0;
  for (const double tick : axis.ticks) widest = std::max(widest, width_of(tick_label(tick)));
  return widest;
}

void draw_value_axis(Drawing& drawing, const Axis& axis, const Frame& frame, const std::string& label) {
  for (const double tick : axis.ticks) {
    const double y = axis.place(tick);
    drawing.line(frame.left, y, frame.right, y, 0.14);
    drawing.text(frame.left - 7, y + 4, "end", tick_label(tick));
  }
  if (label.empty()) return;
  const double middle = (frame.top + frame.bottom) / 2;
  drawing.text(14, middle, "middle", label,
               fmt::format(R"svg( transform="rotate(-90 14 {})")svg", coordinate(middle)));
}

std::string no_data(int width, int height, const std::string& title) {
  Drawing drawing(width, height, title);
  draw_title(drawing, title);
  drawing.text(width / 2.0, height / 2.0, "middle", "no data");
  return std::move(drawing).finish();
}

double x_of(const PlotSeries& series, std::size_t i) {
  return series.x.empty() ? static_cast<double>(i) : series.x[i];
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      switch (byte) {
        case '&':
          safe += "&amp;";
          break;
        case '<':
          safe += "&lt;";
          break;
        case '>':
          safe += "&gt;";
          break;
        case '"':
          safe += "&quot;";
          break;
        case '\'':
          safe += "&#39;";
          break;
        default:
          safe += byte >= 0x20 && byte != 0x7f ? static_cast<char>(byte) : byte == '\n' ? '\n' : ' ';
      }
      ++i;
      continue;
    }
    const std::size_t length = byte >= 0xf5 ? 0 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
    bool whole = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; whole && k < length; ++k)
      whole = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    safe += whole ? text.substr(i, length) : std::string_view("\xef\xbf\xbd");
    i += whole ? length : 1;
  }
  return safe;
}

std::vector<double> nice_ticks(double low, double high, int count) {
  assert(low < high && count >= 1);
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= rough * (1 - 1e-9)) {
      step = digit * power;
      break;
    }
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  // Where the range is within rounding of its numbers, steps get lost: then the two ends do.
  const double steps = last - first;
  if (!(steps >= 1) || steps > 10 * count + 10 || first + 1 == first) return {low, high};
  for (int i = 0; i <= static_cast<int>(steps); ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string line_plot_svg(const LinePlot& plot) {
  Range x_range, y_range;
  for (const PlotSeries& series : plot.series) {
    assert(series.x.empty() || series.x.size() == series.y.size());
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      const double x = x_of(series, i), y = series.y[i];
      if (!std::isfinite(x) || !std::isfinite(y) || (plot.log_x && x <= 0) || (plot.log_y && y <= 0))
        continue;
      x_range.add(x);
      y_range.add(y);
    }
  }
  if (x_range.empty()) return no_data(plot.width, plot.height, plot.title);
  Axis y_axis = make_axis(y_range, plot.log_y, plot.y_from_zero, 5);
  Axis x_axis = make_axis(x_range, plot.log_x, false, 8);
  if (!plot.log_x && x_range.is_wide()) {  // lines may end between two ticks
    x_axis.low = x_range.low;
    x_axis.high = x_range.high;
  }

  Drawing drawing(plot.width, plot.height, plot.title);
  draw_title(drawing, plot.title);
  std::vector<std::string> names;
  for (const PlotSeries& series : plot.series) names.push_back(series.name);
  // Labels stand in the middle under their ticks, of which the last may be at the frame's end.
  const double right_margin = std::max(18.0, width_of(tick_label(x_axis.ticks.back())) / 2 + 4);
  Frame frame{widest_label(y_axis) + (plot.y_label.empty() ? 16 : 36), plot.width - right_margin,
              plot.title.empty() ? 12.0 : 34.0, plot.height - (plot.x_label.empty() ? 28.0 : 46.0)};
  frame.top += draw_legend(drawing, names, frame.left, frame.right, frame.top - 4, false);
  x_axis.from = frame.left;
  x_axis.to = frame.right;
  y_axis.from = frame.bottom;
  y_axis.to = frame.top;
  draw_value_axis(drawing, y_axis, frame, plot.y_label);
  for (const double tick : x_axis.ticks) {
    const double x = x_axis.place(tick);
    if (x < frame.left - 0.5 || x > frame.right + 0.5) continue;
    drawing.line(x, frame.bottom, x, frame.bottom + 5, 0.6);
    drawing.text(x, frame.bottom + 18, "middle", tick_label(tick));
  }
  drawing.line(frame.left, frame.bottom, frame.right, frame.bottom, 0.6);
  if (!plot.x_label.empty())
    drawing.text((frame.left + frame.right) / 2, plot.height - 8.0, "middle", plot.x_label);

  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const PlotSeries& series = plot.series[s];
    const std::string_view color = kColors[s % kColors.size()];
    std::string path, dots;
    bool pen_down = false;
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      const double x = x_of(series, i), y = series.y[i];
      if (!x_axis.shows(x) || !y_axis.shows(y)) {
        pen_down = false;
        continue;
      }
      path += fmt::format("{}{} {}", pen_down ? "L" : "M", coordinate(x_axis.place(x)),
                          coordinate(y_axis.place(y)));
      if (plot.markers || series.y.size() == 1)
        dots += fmt::format(R"(<circle cx="{}" cy="{}" r="3.2" fill="{}"/>)", coordinate(x_axis.place(x)),
                            coordinate(y_axis.place(y)), color);
      pen_down = true;
    }
    if (!path.empty())
      drawing.add(fmt::format(
          R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round" stroke-dasharray="{}"/>)",
          path, color, kDashes[s / kColors.size() % kDashes.size()]));
    drawing.add(dots);
  }
  return std::move(drawing).finish();
}

std::string bar_chart_svg(const BarChart& chart) {
  Range range;
  for (const BarChart::Series& series : chart.series)
    for (const double value : series.values)
      if (std::isfinite(value)) range.add(value);
  if (range.empty() || chart.categories.empty()) return no_data(chart.width, chart.height, chart.title);
  Axis axis = make_axis(range, false, true, 5);
  // Bars grow from 0, which the axis must show.
  if (axis.low > 0 || axis.high < 0)
    axis = make_axis({std::min(0.0, range.low), std::max(0.0, range.high)}, false, true, 5);

  Drawing drawing(chart.width, chart.height, chart.title);
  draw_title(drawing, chart.title);
  std::vector<std::string> names;
  for (const BarChart::Series& series : chart.series) names.push_back(series.name);
  Frame frame{widest_label(axis) + (chart.value_label.empty() ? 16 : 36), chart.width - 12.0,
              chart.title.empty() ? 12.0 : 34.0, chart.height - 28.0};
  frame.top += draw_legend(drawing, names, frame.left, frame.right, frame.top - 4, true);
  axis.from = frame.bottom;
  axis.to = frame.top;
  draw_value_axis(drawing, axis, frame, chart.value_label);
  const double group = (frame.right - frame.left) / static_cast<double>(chart.categories.size());
  const double bar = 0.78 * group / static_cast<double>(std::max<std::size_t>(1, chart.series.size()));
  for (std::size_t c = 0; c < chart.categories.size(); ++c) {
    const double left = frame.left + group * static_cast<double>(c) + 0.11 * group;
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      if (c >= chart.series[s].values.size() || !std::isfinite(chart.series[s].values[c])) continue;
      const double value = chart.series[s].values[c];
      const double top = std::min(axis.place(value), axis.place(0));
      drawing.add(fmt::format(
          R"(<rect x="{}" y="{}" width="{}" height="{}" rx="1.5" fill="{}"><title>{}</title></rect>)",
          coordinate(left + bar * static_cast<double>(s)), coordinate(top), coordinate(0.92 * bar),
          coordinate(std::abs(axis.place(value) - axis.place(0))), kColors[s % kColors.size()],
          escape_markup(fmt::format("{} {}: {:.4g}", chart.series[s].name, chart.categories[c], value))));
    }
    drawing.text(left + 0.39 * group, frame.bottom + 18, "middle", chart.categories[c]);
  }
  drawing.line(frame.left, axis.place(0), frame.right, axis.place(0), 0.6);
  return std::move(drawing).finish();
}

}  // namespace sinew
