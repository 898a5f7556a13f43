#include <sinew/picture/field_slice.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/picture/color_map.h>
#include <sinew/picture/strokes.h>
#include <sinew/picture/text.h>

namespace sinew {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kSurface = 0.5;
constexpr int kSliceRowsPerTask = 4;
constexpr int kCoarsestStep = 16;
constexpr float kClosestLines = 3;  // pixels; thin lines closer together would make one dark patch
constexpr Rgb kLine{52, 58, 72}, kBoldLine{20, 24, 34}, kContour{12, 14, 18}, kPaper{255, 255, 255};
constexpr float kThinOpacity = 0.55f;

/// Warm inside, cool outside, both pale at the surface so that its line stands out.
Rgb field_color(double value) {
  const double away = std::clamp(2 * std::abs(value - kSurface), 0.0, 1.0);
  return value > kSurface ? oklch(0.90 - 0.33 * away, 0.05 + 0.13 * away, 62 - 34 * away)
                          : oklch(0.93 - 0.30 * away, 0.03 + 0.10 * away, 240);
}

/// Colours looked up: finding one takes longer than many a field.
class FieldColors {
 public:
  FieldColors() {
    for (std::size_t i = 0; i < table_.size(); ++i)
      table_[i] = field_color(static_cast<double>(i) / static_cast<double>(table_.size() - 1));
  }
  const Rgb& operator()(double value) const {
    const double place = std::clamp(value, 0.0, 1.0) * static_cast<double>(table_.size() - 1);
    return table_[to_size(std::lround(place))];
  }

 private:
  std::array<Rgb, 512> table_;
};

struct Opacity {
  float inside = 1;
  float outside = 1;
  /// Colours come up while the field rises from 0 to this. Most fields end with an ever flatter slope, and a
  /// hard border there would look like a feature.
  double faded = 0.08;

  float operator()(double value) const {
    if (!(value > 0)) return 0;
    const auto risen = static_cast<float>(std::min(1.0, value / faded));
    return risen * (value > kSurface ? inside : outside);
  }
};

/// A function's values at pixel middles `step` apart: node (i, j) is pixel (i · step, j · step). The last
/// column and row may lie beyond the picture.
struct ValueGrid {
  int step = 1;
  int columns = 0, rows = 0;
  std::vector<double> values;

  template <class Function>
  ValueGrid(int width, int height, int pixels_apart, const Function& at_pixel)
      : step(pixels_apart),
        columns((width + step - 2) / step + 1),
        rows((height + step - 2) / step + 1),
        values(to_size(columns) * to_size(rows)) {
    parallel_blocks(to_size(rows), kSliceRowsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j)
        for (int i = 0; i < columns; ++i) {
          const double value = at_pixel(i * step + 0.5, static_cast<double>(j) * step + 0.5);
          values[j * to_size(columns) + to_size(i)] = std::isfinite(value) ? value : kNothing;
        }
    });
  }

  double at(int i, int j) const { return values[to_size(j) * to_size(columns) + to_size(i)]; }

  /// At a pixel's middle. NaN where a node that counts is.
  double at_pixel(int x, int y) const {
    const int i = x / step, j = y / step;
    const double right = static_cast<double>(x % step) / step, down = static_cast<double>(y % step) / step;
    const auto along = [&](int row) {
      return right > 0 ? (1 - right) * at(i, row) + right * at(i + 1, row) : at(i, row);
    };
    return down > 0 ? (1 - down) * along(j) + down * along(j + 1) : along(j);
  }
};

/// Marching squares. Lines are left out where the values change by more than `steepest` per pixel, and where
/// a corner is NaN.
std::vector<Stroke> iso_lines(const ValueGrid& grid, double level, double steepest) {
  std::vector<Stroke> lines;
  for (int j = 0; j + 1 < grid.rows; ++j)
    for (int i = 0; i + 1 < grid.columns; ++i) {
      // Corners in a ring, from the upper left one.
      constexpr std::array<std::array<int, 2>, 4> kRing{{{0, 0}, {1, 0}, {1, 1}, {0, 1}}};
      std::array<double, 4> above{};
      for (std::size_t k = 0; k < 4; ++k) above[k] = grid.at(i + kRing[k][0], j + kRing[k][1]) - level;
      const double change_x = 0.5 * ((above[1] - above[0]) + (above[2] - above[3]));
      const double change_y = 0.5 * ((above[3] - above[0]) + (above[2] - above[1]));
      if (!(std::hypot(change_x, change_y) <= steepest * grid.step)) continue;
      std::array<Vec2f, 4> crossing;
      std::size_t crossings = 0, first_side = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t next = (k + 1) % 4;
        if ((above[k] < 0) == (above[next] < 0)) continue;
        const double share = above[k] / (above[k] - above[next]);
        const double x = i + kRing[k][0] + share * (kRing[next][0] - kRing[k][0]);
        const double y = j + kRing[k][1] + share * (kRing[next][1] - kRing[k][1]);
        if (crossings == 0) first_side = k;
        crossing[crossings++] = {static_cast<float>(x * grid.step + 0.5),
                                 static_cast<float>(y * grid.step + 0.5)};
      }
      if (crossings == 2) lines.push_back({crossing[0], crossing[1]});
      if (crossings == 4) {
        // A saddle: the middle says which corners hang together.
        const bool joined = (above[0] + above[1] + above[2] + above[3] < 0) == (above[first_side] < 0);
        lines.push_back({crossing[0], crossing[joined ? 1 : 3]});
        lines.push_back({crossing[2], crossing[joined ? 3 : 1]});
      }
    }
  return lines;
}

float thin_width(const Image& image) {
  return std::clamp(0.0021f * static_cast<float>(std::min(image.width, image.height)), 1.0f, 2.5f);
}

float bold_width(const Image& image) {
  return std::clamp(0.0060f * static_cast<float>(std::min(image.width, image.height)), 2.0f, 7.0f);
}

/// Colours, then lines over them.
void paint_grid(Image& image, const ValueGrid& grid, const std::vector<double>& levels, double bold_level,
                double spacing, const Opacity& opacity) {
  const FieldColors colors;
  parallel_blocks(to_size(image.height), kSliceRowsPerTask, [&](std::size_t begin, std::size_t end) {
    for (auto y = static_cast<int>(begin); y < static_cast<int>(end); ++y)
      for (int x = 0; x < image.width; ++x) {
        const double value = grid.at_pixel(x, y);
        if (std::isnan(value)) continue;
        blend(image, x, y, colors(value), opacity(value));
      }
  });
  std::vector<Stroke> thin;
  for (const double level : levels) {
    if (std::abs(level - bold_level) < 1e-9) continue;
    const std::vector<Stroke> lines = iso_lines(grid, level, spacing / kClosestLines);
    thin.insert(thin.end(), lines.begin(), lines.end());
  }
  draw_strokes(image, thin, thin_width(image), kLine, kThinOpacity);
  draw_strokes(image, iso_lines(grid, bold_level, std::numeric_limits<double>::infinity()), bold_width(image),
               kBoldLine, 0.95f);
}

void draw_key(Image& image, const std::vector<double>& levels) {
  TextStyle style;
  style.size = std::clamp(0.022f * static_cast<float>(image.height), 11.0f, 18.0f);
  const int unit = static_cast<int>(style.size);
  const int width = std::min(13 * unit, image.width - 2 * unit), height = unit;
  if (width < 9 * unit || image.height < 12 * unit) return;  // no room to read it in
  const int left = image.width - unit - width, bottom = image.height - unit - text_line_height(style);
  const int panel_top = bottom - height - unit - text_cap_height(style);
  for (int y = panel_top; y < image.height - unit / 3; ++y)
    for (int x = left - unit / 2; x < image.width - unit / 3; ++x) blend(image, x, y, {250, 251, 252}, 0.78f);
  const Opacity opacity;
  for (int x = 0; x < width; ++x) {
    const double value = static_cast<double>(x) / (width - 1);
    for (int y = bottom - height; y < bottom; ++y)
      blend(image, left + x, y, field_color(value), opacity(value));
  }
  const auto stroke_at = [&](double value) {
    const float x =
        static_cast<float>(left) + 0.5f + static_cast<float>(value) * static_cast<float>(width - 1);
    return Stroke{{x, static_cast<float>(bottom - height)}, {x, static_cast<float>(bottom)}};
  };
  std::vector<Stroke> thin;
  for (const double level : levels) thin.push_back(stroke_at(level));
  draw_strokes(image, thin, 1, kLine, kThinOpacity);
  const Stroke bold = stroke_at(kSurface);
  draw_strokes(image, std::span(&bold, 1), bold_width(image), kBoldLine, 0.95f);
  const int labels = bottom + text_cap_height(style) + unit / 3;
  draw_text(image, left, labels, "0", style);
  draw_centered_text(image, left + width / 2, labels, "0.5", style);
  draw_text(image, left + width - text_width("1", style), labels, "1", style);
  const int titles = bottom - height - unit / 2;
  draw_text(image, left, titles, "outside", style);
  draw_text(image, left + width - text_width("inside", style), titles, "inside", style);
}

/// Writes each level on its line, where the line crosses the diagonal that both axes rise along; where it
/// would cover another number, nothing.
void label_lines(Image& image, const ValueGrid& grid, const std::vector<double>& levels) {
  TextStyle style;
  style.size = std::clamp(0.029f * static_cast<float>(image.height), 8.0f, 24.0f);
  const auto room = static_cast<float>(text_line_height(style));
  std::vector<Vec2f> taken;
  for (const double level : levels) {
    float nearest = 2;  // pixels; lines that do not cross the diagonal have none
    Vec2f place = Vec2f::Zero();
    for (const Stroke& stroke : iso_lines(grid, level, std::numeric_limits<double>::infinity())) {
      const Vec2f middle = 0.5f * (stroke.from + stroke.to);
      const float off = std::abs(middle.x() + middle.y() - static_cast<float>(image.height));
      if (off >= nearest) continue;
      nearest = off;
      place = middle;
    }
    if (nearest >= 2 || std::any_of(taken.begin(), taken.end(),
                                    [&](const Vec2f& other) { return (other - place).norm() < room; }))
      continue;
    taken.push_back(place);
    const std::string label = fmt::format("{:.3g}", level);
    const int x = static_cast<int>(place.x()), y = static_cast<int>(place.y());
    const int width = text_width(label, style), height = text_cap_height(style);
    for (int j = -height / 2 - 2; j <= height / 2 + 2; ++j)
      for (int i = -width / 2 - 2; i <= width / 2 + 2; ++i) blend(image, x + i, y + j, kPaper, 0.8f);
    draw_centered_text(image, x, y + height / 2, label, style);
  }
}

/// Turned so that its normal points to the side the camera is on.
CutPlane facing(const CutPlane& plane, const Camera& camera) {
  if (!plane.normal.allFinite() || !std::isfinite(plane.offset) || std::abs(plane.normal.norm() - 1) > 1e-3f)
    throw Error(fmt::format("({}, {}, {}) · x = {} is no plane with a unit normal", plane.normal.x(),
                            plane.normal.y(), plane.normal.z(), plane.offset));
  const double height = plane.normal.cast<double>().dot(camera.position) - plane.offset;
  const double rounding = 1e-6 * (camera.position.norm() + std::abs(plane.offset));
  if (!(std::abs(height) > rounding))
    throw Error("the plane of a field cannot be seen: the camera lies in it");
  return height > 0 ? plane : CutPlane{-plane.normal, -plane.offset};
}

std::vector<double> levels_between_0_and_1(double spacing) {
  std::vector<double> levels;
  if (spacing > 0)
    for (int i = 1; i * spacing < 1 - 1e-9; ++i) levels.push_back(i * spacing);
  return levels;
}

void check(const FieldFunction& field, const FieldSliceOptions& options) {
  constexpr double kFinestSpacing = 0.001;
  if (!field) throw Error("a field slice needs a field");
  if (!(options.line_spacing == 0 || (options.line_spacing >= kFinestSpacing && options.line_spacing <= 1)))
    throw Error(fmt::format("iso-lines of a field slice cannot be {} apart: 0, or {} to 1",
                            options.line_spacing, kFinestSpacing));
  if (options.step < 1 || options.step > kCoarsestStep)
    throw Error(fmt::format("a field slice cannot be evaluated every {} pixels: 1 to {}", options.step,
                            kCoarsestStep));
  for (const float opacity : {options.inside_opacity, options.outside_opacity})
    if (!(opacity >= 0 && opacity <= 1))
      throw Error(fmt::format("opacity {} of a field slice is not between 0 and 1", opacity));
}

Vec2f pixel_of(const Vec3d& projected, const Image& image) {
  return {static_cast<float>(projected.x() * image.width), static_cast<float>(projected.y() * image.height)};
}

/// The line between two points as the camera sees it, cut off just before it.
bool project_line(Vec3d from, Vec3d to, const Camera& camera, const Image& image, Stroke& line) {
  double near = camera.project(from).z(), far = camera.project(to).z();
  const double nearest = 1e-6 * std::max({1e-30, std::abs(near), std::abs(far)});
  if (!(std::max(near, far) > nearest)) return false;
  if (near < nearest) from += (nearest - near) / (far - near) * (to - from);
  if (far < nearest) to += (nearest - far) / (near - far) * (from - to);
  line = {pixel_of(camera.project(from), image), pixel_of(camera.project(to), image)};
  return true;
}

void draw_contour(Image& image, const DrawnSurface& surface, std::span<const Vec3f> positions,
                  const CutPlane& plane, const Camera& camera) {
  std::vector<Stroke> strokes;
  Stroke stroke;
  for (const auto& piece : plane_section(positions, surface.triangles(), plane.normal, plane.offset))
    if (project_line(piece[0].cast<double>(), piece[1].cast<double>(), camera, image, stroke))
      strokes.push_back(stroke);
  // Pale round the dark: it often runs along the bold line, and the two shall be told apart.
  const float width = std::max(1.4f, 0.0030f * static_cast<float>(std::min(image.width, image.height)));
  draw_strokes(image, strokes, width + 2.2f, kPaper, 0.85f);
  draw_strokes(image, strokes, width, kContour, 1);
}

void draw_bones(Image& image, std::span<const DrawnBone> bones, const Camera& camera) {
  const float width = std::max(1.5f, 0.0040f * static_cast<float>(std::min(image.width, image.height)));
  for (const DrawnBone& bone : bones) {
    Stroke line;
    if (!bone.head.allFinite() || !bone.tail.allFinite() ||
        !project_line(bone.head.cast<double>(), bone.tail.cast<double>(), camera, image, line))
      continue;
    const Stroke joint{line.from, line.from};
    draw_strokes(image, std::span(&line, 1), width + 2, kBoldLine, 0.6f);
    draw_strokes(image, std::span(&joint, 1), 3 * width + 2, kBoldLine, 0.6f);
    draw_strokes(image, std::span(&line, 1), width, bone.color);
    draw_strokes(image, std::span(&joint, 1), 3 * width, bone.color);
  }
}

void draw_turned(Image& image, const FieldFunction& field, const CutPlane& plane, const Camera& camera,
                 const FieldSliceOptions& options) {
  const Vec3d normal = plane.normal.cast<double>();
  const double height = normal.dot(camera.position) - plane.offset;  // above 0
  const double farthest = 1e4 * height;  // near the horizon of the plane there is nothing but rounding
  const ValueGrid grid(image.width, image.height, options.step, [&](double x, double y) {
    const Vec3d direction = camera.direction(x / image.width, y / image.height);
    const double sinking = -normal.dot(direction);
    if (!(sinking > 0) || !(height * direction.norm() <= farthest * sinking)) return kNothing;
    return field(camera.position + height / sinking * direction);
  });
  paint_grid(image, grid, levels_between_0_and_1(options.line_spacing), kSurface, options.line_spacing,
             {options.inside_opacity, options.outside_opacity});
}

}  // namespace

void draw_field_slice(Image& image, const FieldFunction& field, const CutPlane& plane, const Camera& camera,
                      const FieldSliceOptions& options) {
  check(field, options);
  draw_turned(image, field, facing(plane, camera), camera, options);
  if (options.key) draw_key(image, levels_between_0_and_1(options.line_spacing));
}

Image render_field_slice(const DrawnSurface& surface, const ClayFrame& frame, const FieldFunction& field,
                         const CutPlane& plane, const Camera& camera, const ClayOptions& clay,
                         const FieldSliceOptions& options, const Progress& progress) {
  check(field, options);
  const CutPlane turned = facing(plane, camera);
  ClayOptions settings = clay;
  settings.cut = turned;
  settings.bones = {};
  Image image = render_clay(surface, frame, camera, settings, progress);
  draw_turned(image, field, turned, camera, options);
  draw_contour(image, surface, frame.positions, turned, camera);
  draw_bones(image, clay.bones, camera);
  if (options.key) draw_key(image, levels_between_0_and_1(options.line_spacing));
  return image;
}

Image plot_function(const std::function<double(double x, double y)>& function, const FunctionPlot& plot) {
  constexpr int kLeastSize = 64;
  if (!function) throw Error("a plot needs a function");
  if (plot.size < kLeastSize)
    throw Error(fmt::format("a plot needs {} pixels, not {}", kLeastSize, plot.size));
  if (!std::isfinite(plot.low) || !std::isfinite(plot.high) || !(plot.low < plot.high) ||
      !std::isfinite(plot.high - plot.low))
    throw Error(fmt::format("a plot's axes cannot run from {} to {}", plot.low, plot.high));
  for (const double level : plot.levels)
    if (!std::isfinite(level)) throw Error(fmt::format("there is no iso-line of level {}", level));
  if (!std::isfinite(plot.bold_level))
    throw Error(fmt::format("there is no iso-line of level {}", plot.bold_level));
  Image image(plot.size, plot.size, kPaper);
  TextStyle text, bold;
  text.size = std::clamp(0.032f * static_cast<float>(plot.size), 9.0f, 28.0f);
  bold = text;
  bold.bold = true;
  const int line = text_line_height(text), gap = line / 3;
  const int left = std::max(text_width("0.5", text), text_width(plot.y_label, bold)) + 2 * gap,
            right = std::max(gap, text_width("0.5", text) / 2) + gap;
  const int top = plot.title.empty() ? line / 2 + gap : line + 2 * gap, bottom = line + gap;
  const int side = std::min(plot.size - left - right, plot.size - top - bottom);
  if (side < kLeastSize / 4) throw Error(fmt::format("a plot of {} pixels has no room left", plot.size));

  Image square(side, side, kPaper);
  const double range = plot.high - plot.low;
  const ValueGrid grid(side, side, 1, [&](double x, double y) {
    return function(plot.low + range * x / side, plot.high - range * y / side);
  });
  double spacing = std::numeric_limits<double>::infinity();  // the smallest
  std::vector<double> levels = plot.levels;
  std::sort(levels.begin(), levels.end());
  for (std::size_t i = 1; i < levels.size(); ++i)
    if (levels[i] > levels[i - 1]) spacing = std::min(spacing, levels[i] - levels[i - 1]);
  paint_grid(square, grid, levels, plot.bold_level, spacing, {1, 1, 0.01});
  levels.push_back(plot.bold_level);
  label_lines(square, grid, levels);
  blit(square, image, left, top);

  const auto l = static_cast<float>(left), t = static_cast<float>(top), s = static_cast<float>(side);
  std::vector<Stroke> axes{
      {{l, t + s}, {l + s, t + s}}, {{l, t}, {l, t + s}}, {{l, t}, {l + s, t}}, {{l + s, t}, {l + s, t + s}}};
  for (const double share : {0.0, 0.5, 1.0}) {
    const std::string label = fmt::format("{:.3g}", plot.low + share * range);
    const int x = left + static_cast<int>(std::lround(share * side));
    const int y = top + static_cast<int>(std::lround((1 - share) * side));
    axes.push_back({{static_cast<float>(x), t + s}, {static_cast<float>(x), t + s + 3}});
    axes.push_back({{l - 3, static_cast<float>(y)}, {l, static_cast<float>(y)}});
    draw_centered_text(image, x, top + side + gap + text_cap_height(text), label, text);
    draw_text(image, left - gap - text_width(label, text), y + text_cap_height(text) / 2, label, text);
  }
  draw_strokes(image, axes, 1, kLine);
  draw_text(image, left + 3 * side / 4 - text_width(plot.x_label, bold) / 2,
            top + side + gap + text_cap_height(bold), plot.x_label, bold);
  draw_text(image, left - gap - text_width(plot.y_label, bold), top + side / 4 + text_cap_height(bold) / 2,
            plot.y_label, bold);
  if (!plot.title.empty())
    draw_text(image, left, gap + text_cap_height(bold), fit_text(plot.title, plot.size - left, bold), bold);
  return image;
}

}  // namespace sinew
