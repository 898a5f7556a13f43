#include <sinew/picture/report.h>

#include <algorithm>
#include <cassert>
#include <cstdint>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/picture/plot.h>
#include <sinew/picture/png.h>

namespace sinew {

namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--text:#1f2328;--soft:#59636e;--paper:#ffffff;--panel:#f6f8fa;--line:#d1d9e0;--link:#0060b0}
@media(prefers-color-scheme:dark){:root{--text:#e6e9ed;--soft:#9aa4af;--paper:#14171b;--panel:#1d2126;--line:#343b43;--link:#6cb6ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--text);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:72rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:2rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.4rem;margin:3rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:2rem 0 .5rem}
p,ul{max-width:46rem}
.subtitle{color:var(--soft);margin:0 0 1.5rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.4rem 1.25rem;padding:0;margin:0}
a{color:var(--link)}
figure{margin:1rem 0}
figure img,figure svg{display:block;max-width:100%;height:auto;border-radius:6px}
figure img{border:1px solid var(--line)}
figcaption{color:var(--soft);font-size:.9rem;margin-top:.4rem}
.row{display:flex;flex-wrap:wrap;gap:1.25rem;align-items:flex-start}
.row figure{flex:0 1 auto;margin:.5rem 0;max-width:100%}
.scroll{overflow-x:auto}
table{border-collapse:collapse;margin:1rem 0;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.4rem}
th,td{padding:.35rem .8rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
thead th{background:var(--panel);font-weight:600}
@media print{body{background:#fff;color:#000}h2{break-after:avoid}figure{break-inside:avoid}}
)";

std::string_view type_of(std::span<const std::byte> file) {
  const std::string_view text = as_text(file);
  if (text.starts_with("\x89PNG")) return "image/png";
  if (text.size() >= 12 && text.starts_with("RIFF") && text.substr(8, 4) == "WEBP") return "image/webp";
  throw Error("report: a picture is neither PNG nor WebP");
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < left ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text += k <= left ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Report::Report(std::string title, std::string subtitle)
    : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void Report::section(std::string_view heading) {
  assert(!in_row_);
  sections_.emplace_back(heading);
  body_ += fmt::format("<h2 id=\"part-{}\">{}</h2>\n", sections_.size(), escape_markup(heading));
}

void Report::subsection(std::string_view heading) {
  assert(!in_row_);
  body_ += fmt::format("<h3>{}</h3>\n", escape_markup(heading));
}

void Report::paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", escape_markup(text));
}

void Report::list(std::span<const std::string> items) {
  body_ += "<ul>";
  for (const std::string& item : items) body_ += fmt::format("<li>{}</li>", escape_markup(item));
  body_ += "</ul>\n";
}

void Report::table(const ReportTable& table) {
  body_ += "<div class=\"scroll\"><table>";
  if (!table.caption.empty()) body_ += fmt::format("<caption>{}</caption>", escape_markup(table.caption));
  body_ += "<thead><tr>";
  for (const std::string& cell : table.header)
    body_ += fmt::format("<th scope=\"col\">{}</th>", escape_markup(cell));
  body_ += "</tr></thead><tbody>";
  for (const std::vector<std::string>& row : table.rows) {
    assert(row.size() == table.header.size());
    body_ += "<tr>";
    for (const std::string& cell : row) body_ += fmt::format("<td>{}</td>", escape_markup(cell));
    body_ += "</tr>";
  }
  body_ += "</tbody></table></div>\n";
}

void Report::figure(std::string_view content, std::string_view caption) {
  body_ += "<figure>";
  body_ += content;
  if (!caption.empty()) body_ += fmt::format("<figcaption>{}</figcaption>", escape_markup(caption));
  body_ += "</figure>\n";
}

void Report::picture(std::span<const std::byte> file, std::string_view caption,
                     std::string_view alternative) {
  figure(fmt::format("<img src=\"data:{};base64,{}\" alt=\"{}\">", type_of(file), base64(file),
                     escape_markup(alternative)),
         caption);
}

void Report::picture(const Image& image, std::string_view caption, std::string_view alternative) {
  picture(encode_png(image), caption, alternative);
}

void Report::plot(std::string_view svg, std::string_view caption) {
  figure(svg, caption);
}

void Report::begin_row() {
  assert(!in_row_);
  in_row_ = true;
  body_ += "<div class=\"row\">\n";
}

void Report::end_row() {
  assert(in_row_);
  in_row_ = false;
  body_ += "</div>\n";
}

std::string Report::html() const {
  assert(!in_row_);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
      escape_markup(title_), kStyle);
  if (!subtitle_.empty()) page += fmt::format("<p class=\"subtitle\">{}</p>\n", escape_markup(subtitle_));
  if (sections_.size() > 1) {
    page += "<nav><ul>";
    for (std::size_t i = 0; i < sections_.size(); ++i)
      page += fmt::format("<li><a href=\"#part-{}\">{}</a></li>", i + 1, escape_markup(sections_[i]));
    page += "</ul></nav>\n";
  }
  page += body_;
  page += "</main>\n</body>\n</html>\n";
  return page;
}

void Report::write(const std::filesystem::path& path) const {
  write_file(path, html());
}

}  // namespace sinew
