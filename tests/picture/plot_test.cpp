#include <sinew/picture/plot.h>

#include <cmath>

#include <gtest/gtest.h>

#include "tests/picture/markup.h"

namespace sinew {
namespace {

LinePlot two_lines() {
  LinePlot plot;
  plot.title = "Overlap <while> bending & \"more\"";
  plot.x_label = "angle (°)";
  plot.y_label = "cm³";
  plot.series = {{"lbs", {0, 50, 100, 150}, {0, 1, 4, 9}}, {"it's <dqs>", {0, 50, 100, 150}, {0, 2, NAN, 3}}};
  return plot;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Plot, LinePlotIsWellFormedAndEscaped) {
  const std::string svg = line_plot_svg(two_lines());
  test::expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<path"), 2u);
  EXPECT_NE(svg.find("Overlap &lt;while&gt; bending &amp; &quot;more&quot;"), std::string::npos);
  EXPECT_NE(svg.find("it&#39;s &lt;dqs&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(svg.find("http"), svg.find("http://www.w3.org/2000/svg"));
}

TEST(Plot, GapsWhereNumbersAreMissing) {
  LinePlot plot = two_lines();
  plot.series.resize(1);
  plot.series[0].y = {1, NAN, 3, 4};
  const std::string svg = line_plot_svg(plot);
  const std::string path = svg.substr(svg.find("<path d=\"") + 9);
  EXPECT_EQ(std::count(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(path.find('"')), 'M'), 2);
}

TEST(Plot, LogAxesLeaveOutWhatHasNoLogarithm) {
  LinePlot plot = two_lines();
  plot.log_x = plot.log_y = plot.markers = true;
  plot.series = {{"a", {0, 10, 1000, 100000}, {1, 0.5, -2, 700}}};
  const std::string svg = line_plot_svg(plot);
  test::expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<circle"), 2u);
  EXPECT_NE(svg.find(">100000<"), std::string::npos);
}

TEST(Plot, NothingToShowSaysSo) {
  for (const std::vector<PlotSeries>& series :
       {std::vector<PlotSeries>{}, std::vector<PlotSeries>{{"a", {}, {}}},
        std::vector<PlotSeries>{{"a", {}, {NAN}}}}) {
    LinePlot plot;
    plot.series = series;
    test::expect_well_formed(line_plot_svg(plot));
    EXPECT_NE(line_plot_svg(plot).find("no data"), std::string::npos);
  }
  EXPECT_NE(bar_chart_svg({}).find("no data"), std::string::npos);
}

TEST(Plot, OddNumbersStayOnThePage) {
  for (const std::vector<double>& y : {std::vector<double>{5},
                                       {0, 0, 0},
                                       {-3, -3},
                                       {1e300, -1e300},
                                       {1e-300, 2e-300},
                                       {100, std::nextafter(100.0, 200.0)},
                                       {-1e9, -1e9 + 1e-6},
                                       {1e16, 1e16 + 2}}) {
    LinePlot plot;
    plot.series = {{"a", {}, y}};
    // As well along the other axis.
    plot.series.push_back({"b", y, std::vector<double>(y.size(), 1.0)});
    plot.y_from_zero = y[0] < 100;
    const std::string svg = line_plot_svg(plot);
    EXPECT_LT(svg.size(), 20000u) << y[0];
    test::expect_well_formed(svg);
    EXPECT_EQ(svg.find("nan"), std::string::npos) << y[0];
    EXPECT_EQ(svg.find("inf"), std::string::npos) << y[0];
  }
}

TEST(Plot, BarsForEveryFiniteNumber) {
  BarChart chart;
  chart.title = "ms <per> frame";
  chart.categories = {"arm", "hand & arm"};
  chart.series = {{"lbs", {1, 2}}, {"dqs", {3, NAN}}};
  const std::string svg = bar_chart_svg(chart);
  test::expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<rect"), 3u + 2u);  // and two in the legend
  EXPECT_NE(svg.find("hand &amp; arm"), std::string::npos);
}

TEST(Plot, TicksAreRoundAndCoverTheRange) {
  EXPECT_EQ(nice_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  for (const auto& [low, high] : {std::pair{0.0, 1.0}, {-3.3, 7.1}, {0.0123, 0.0129}, {1e6, 9e6}}) {
    const std::vector<double> ticks = nice_ticks(low, high, 5);
    EXPECT_LE(ticks.front(), low + 1e-9 * std::abs(low));
    EXPECT_GE(ticks.back(), high - 1e-9 * std::abs(high));
    EXPECT_GE(ticks.size(), 3u);
    EXPECT_LE(ticks.size(), 9u);
  }
}

TEST(Plot, TicksEndWhereRoundingSwallowsTheirSteps) {
  for (const double low : {100.0, -100.0, 1e16, 1e-300})
    for (const int ulps : {1, 2, 3, 10}) {
      double high = low;
      for (int i = 0; i < ulps; ++i) high = std::nextafter(high, 1e300);
      const std::vector<double> ticks = nice_ticks(low, high, 5);
      EXPECT_GE(ticks.size(), 2u);
      EXPECT_LE(ticks.size(), 70u);
      EXPECT_LT(ticks.front(), ticks.back());
    }
}

TEST(Plot, LastLabelStaysOnThePage) {
  LinePlot plot;
  plot.log_x = true;
  plot.series = {{"a", {1, 1e6}, {1, 2}}, {"b", {1, 900000}, {1, 2}}};
  const std::string svg = line_plot_svg(plot);
  const std::size_t label = svg.find(">1e+06<");
  ASSERT_NE(label, std::string::npos);
  const std::size_t element = svg.rfind("<text x=\"", label);
  const double x = std::stod(svg.substr(element + 9));
  EXPECT_LE(x + 5 * 6.6 / 2, plot.width);  // five characters about x
}

TEST(Plot, MarkupIsEscaped) {
  EXPECT_EQ(escape_markup("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
  EXPECT_EQ(escape_markup("µ°\n"), "µ°\n");
  EXPECT_EQ(escape_markup(std::string_view("\0\x01", 2)), "  ");
  EXPECT_EQ(escape_markup("\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace sinew
