#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/picture/image.h>

namespace sinew {

/// Base64 of the bytes (RFC 4648, padded).
std::string base64(std::span<const std::byte> bytes);

/// A table: the first column holds names, the others are set to the right as numbers are.
struct ReportTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< as long as the header
};

/// One HTML page that needs nothing else: styles, pictures and plots stand in it, nothing is fetched, nothing
/// runs. It suits light and dark screens, small ones and paper. Add from top to bottom; all text is escaped.
class Report {
 public:
  explicit Report(std::string title, std::string subtitle = "");

  /// A new part of the page; parts are listed at its top.
  void section(std::string_view heading);
  void subsection(std::string_view heading);
  void paragraph(std::string_view text);
  void list(std::span<const std::string> items);
  void table(const ReportTable& table);
  /// A PNG or WebP file's bytes. `alternative` says what there is to see to those who cannot.
  void picture(std::span<const std::byte> file, std::string_view caption, std::string_view alternative);
  /// Encodes it as PNG.
  void picture(const Image& image, std::string_view caption, std::string_view alternative);
  /// SVG of plot.h; trusted as it is.
  void plot(std::string_view svg, std::string_view caption = "");
  /// Figures in a row, wrapping: pictures and plots between begin and end stand side by side.
  void begin_row();
  void end_row();

  std::string html() const;
  /// Writes the page, whole or not at all.
  void write(const std::filesystem::path& path) const;

 private:
  void figure(std::string_view content, std::string_view caption);

  std::string title_;
  std::string subtitle_;
  std::vector<std::string> sections_;
  std::string body_;
  bool in_row_ = false;
};

}  // namespace sinew
