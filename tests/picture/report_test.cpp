#include <sinew/picture/report.h>

#include <cstring>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/picture/plot.h>
#include <sinew/picture/webp.h>

#include "tests/picture/markup.h"
#include "tests/support/temporary_directory.h"

namespace sinew {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Report, Base64OfTheStandardsExamples) {
  EXPECT_EQ(base64(bytes("")), "");
  EXPECT_EQ(base64(bytes("f")), "Zg==");
  EXPECT_EQ(base64(bytes("fo")), "Zm8=");
  EXPECT_EQ(base64(bytes("foo")), "Zm9v");
  EXPECT_EQ(base64(bytes("foob")), "Zm9vYg==");
  EXPECT_EQ(base64(bytes("foobar")), "Zm9vYmFy");
  EXPECT_EQ(base64(bytes("\xff\xfe\xfd")), "//79");
}

Report full_report() {
  Report report("Sinew <demo>", "on \"2 cores\" & more");
  report.section("Pictures <b>");
  report.paragraph("<script>alert('x')</script>");
  report.begin_row();
  report.picture(Image(4, 4, {1, 2, 3}), "caption & <i>", "alt \"quoted\"");
  report.picture(encode_webp(Image(4, 4, {1, 2, 3})), "", "webp");
  report.end_row();
  report.section("Numbers");
  report.subsection("All <of> them");
  report.table({"what <it> is", {"method", "ms"}, {{"<lbs>", "1.5"}, {"dqs & co", "2"}}});
  LinePlot plot;
  plot.series = {{"a<b", {}, {1, 2, 3}}};
  report.plot(line_plot_svg(plot), "a plot");
  const std::vector<std::string> items{"one", "<two>"};
  report.list(items);
  return report;
}

TEST(Report, IsOneWellFormedPageWithEverythingInIt) {
  const std::string html = full_report().html();
  test::expect_well_formed(html);
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_NE(html.find("data:image/png;base64,iVBOR"), std::string::npos);
  EXPECT_NE(html.find("data:image/webp;base64,UklGR"), std::string::npos);
  EXPECT_NE(html.find("href=\"#part-2\""), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(Report, TextIsEscapedAndNothingIsFetchedOrRun) {
  const std::string html = full_report().html();
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<i>"), std::string::npos);
  EXPECT_EQ(html.find("<two>"), std::string::npos);
  EXPECT_NE(html.find("alt=\"alt &quot;quoted&quot;\""), std::string::npos);
  for (const char* outside : {"src=\"http", "href=\"http", "@import", "url("})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

TEST(Report, PicturesMustBePngOrWebp) {
  Report report("r");
  EXPECT_THROW(report.picture(bytes("GIF89a"), "", ""), Error);
  EXPECT_THROW(report.picture(bytes(""), "", ""), Error);
}

TEST(Report, WritesTheFile) {
  const test::TemporaryDirectory directory;
  full_report().write(directory / "r.html");
  EXPECT_EQ(as_text(read_file(directory / "r.html")), full_report().html());
  EXPECT_THROW(full_report().write(directory / "no/r.html"), Error);
}

}  // namespace
}  // namespace sinew
