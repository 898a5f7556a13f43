#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew {

/// Text made safe for HTML and SVG, in elements and in quoted attributes: & < > " ' become entities, control
/// characters that XML forbids become spaces, bytes that are not UTF-8 the replacement character.
std::string escape_markup(std::string_view text);

struct PlotSeries {
  std::string name;
  std::vector<double> x;  ///< as many as y; empty: 0, 1, 2 …
  std::vector<double> y;  ///< the line has a gap where a number is not finite
};

struct LinePlot {
  std::string title;
  std::string x_label;  ///< with its unit: "bend (°)"
  std::string y_label;
  std::vector<PlotSeries> series;
  bool log_x = false;  ///< numbers that are not positive are left out
  bool log_y = false;
  bool markers = false;     ///< a dot at each point
  bool y_from_zero = true;  ///< the axis starts at 0 unless numbers are negative
  int width = 640;          ///< pixels at full size; the picture scales
  int height = 360;
};

struct BarChart {
  std::string title;
  std::string value_label;              ///< with its unit
  std::vector<std::string> categories;  ///< groups of bars
  struct Series {
    std::string name;
    std::vector<double> values;  ///< one per category; not finite: no bar
  };
  std::vector<Series> series;
  int width = 640;
  int height = 320;
};

/// An SVG element to stand in an HTML page or, as it is, in a file. Lines differ in colour (Okabe and Ito's,
/// which the colour-blind tell apart) and in dashes; text and axes take the page's text colour, so that it
/// suits light and dark pages. Without any finite number it says so.
std::string line_plot_svg(const LinePlot& plot);
std::string bar_chart_svg(const BarChart& chart);

/// Round numbers (1, 2 or 5 times a power of ten apart) that cover low … high with about `count` steps.
std::vector<double> nice_ticks(double low, double high, int count);

}  // namespace sinew
