#include <sinew/measure/overlap_volume.h>

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/disjoint_sets.h>

namespace sinew {

namespace {

// Along the mean side of a region, at least: a fraction of an edge apart where triangles are many, and enough
// for a region of a few large ones.
constexpr double kLinesPerRootOfTriangles = 10;
constexpr double kFewestLinesPerSide = 72, kEnoughLinesPerSide = 128;
constexpr double kLinesPerEdge = 4;         // at least
constexpr double kMostLinesPerSide = 1024;  // at most, however much larger than its edges a region is
constexpr std::uint32_t kNoRegion = 0xffffffffu;
// Lines turn away from a region's own directions, along which borders of boxes and strips like to run.
constexpr double kTurnOfGrid = 0.4636;

/// Triangles that meet others or are buried, by connected region: the border of every part of space with w ≥
/// 2 is made of them.
struct Regions {
  std::vector<std::uint32_t> of_triangle;
  std::vector<std::vector<std::uint32_t>> triangles;
};

Regions find_regions(const ClosedSurface& surface, std::size_t vertex_count, const Burial& burial,
                     std::span<const TrianglePair> pairs,
                     std::span<const std::array<std::uint32_t, 2>> touches) {
  Regions regions;
  std::vector<char> marked(surface.triangles.size(), 0);
  DisjointSets sets(vertex_count);
  for (const TrianglePair& pair : pairs) {
    marked[pair[0]] = marked[pair[1]] = 1;
    sets.join(surface.triangles[pair[0]][0], surface.triangles[pair[1]][0]);
  }
  for (const auto& [vertex, triangle] : touches) sets.join(vertex, surface.triangles[triangle][0]);
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    const Triangle& f = surface.triangles[t];
    if (burial.triangles[t] || burial.vertex(f[0]) || burial.vertex(f[1]) || burial.vertex(f[2]))
      marked[t] = 1;
    if (!marked[t]) continue;
    sets.join(f[0], f[1]);
    sets.join(f[1], f[2]);
  }
  regions.of_triangle.assign(surface.triangles.size(), kNoRegion);
  std::vector<std::uint32_t> region_of_set(vertex_count, kNoRegion);
  for (std::uint32_t t = 0; t < surface.triangles.size(); ++t) {
    if (!marked[t]) continue;
    std::uint32_t& region = region_of_set[sets.find(surface.triangles[t][0])];
    if (region == kNoRegion) {
      region = static_cast<std::uint32_t>(regions.triangles.size());
      regions.triangles.emplace_back();
    }
    regions.of_triangle[t] = region;
    regions.triangles[region].push_back(t);
  }
  return regions;
}

struct Crossing {
  double height;
  std::uint32_t part;
  std::int8_t step;  // of w, going up
  bool own;          // the triangle belongs to the region
};

/// The length of the line where w ≥ 2, once for each time that w is above 1, as far as the region's own
/// triangles lead into it: so that neighbouring regions count nothing twice.
double overlapped_length(std::span<const Crossing> crossings, std::vector<Crossing>& entered) {
  entered.clear();
  double length = 0;
  int w = 0;
  for (const Crossing& crossing : crossings) {
    if (crossing.step > 0) {
      if (++w >= 2) entered.push_back(crossing);
    } else if (w-- >= 2) {
      if (entered.back().own) length += crossing.height - entered.back().height;
      entered.pop_back();
    }
  }
  return length;
}

class RegionVolume {
 public:
  RegionVolume(const ClosedSurface& surface, std::span<const Vec3f> positions,
               const FittedTriangleTree& boxes, const Regions& regions, std::uint32_t region)
      : surface_(surface), positions_(positions), boxes_(boxes), regions_(regions), region_(region) {}

  OverlapVolume compute() {
    choose_view();
    if (!lay_grid()) return {};
    shoot();
    return integrate();
  }

 private:
  void choose_view() {
    const std::vector<std::uint32_t>& own = regions_.triangles[region_];
    Eigen::AlignedBox3d box;
    double edges = 0;
    for (const std::uint32_t t : own) {
      const Triangle& f = surface_.triangles[t];
      for (int k = 0; k < 3; ++k) {
        const Vec3d p = positions_[f[k]].cast<double>();
        box.extend(p);
        edges += (positions_[f[(k + 1) % 3]].cast<double>() - p).norm();
      }
    }
    mean_edge_ = edges / static_cast<double>(3 * own.size());
    origin_ = box.center();
    const double size = box.diagonal().norm();
    Mat3d spread = Mat3d::Zero();
    if (size > 0)
      for (const std::uint32_t t : own)
        for (const std::uint32_t v : surface_.triangles[t]) {
          const Vec3d p = (positions_[v].cast<double>() - origin_) / size;
          spread += p * p.transpose();
        }
    // Eigenvalues ascend: the first direction is the thinnest.
    const Mat3d axes = Eigen::SelfAdjointEigenSolver<Mat3d>(spread).eigenvectors();
    const double c = std::cos(kTurnOfGrid), s = std::sin(kTurnOfGrid);
    view_.row(0) = (c * axes.col(2) + s * axes.col(1)).transpose();
    view_.row(1) = (c * axes.col(1) - s * axes.col(2)).transpose();
    view_.row(2) = view_.row(0).cross(view_.row(1));
  }

  /// Across, across, along the lines.
  Vec3d see(std::uint32_t v) const { return view_ * (positions_[v].cast<double>() - origin_); }

  bool lay_grid() {
    Eigen::AlignedBox3d box;
    for (const std::uint32_t t : regions_.triangles[region_])
      for (const std::uint32_t v : surface_.triangles[t]) box.extend(see(v));
    const double width = box.sizes().x(), height = box.sizes().y();
    const double side = std::sqrt(width * height);
    if (!(side > 0)) return false;
    const double lines = std::clamp(
        kLinesPerRootOfTriangles * std::sqrt(static_cast<double>(regions_.triangles[region_].size())),
        kFewestLinesPerSide, kEnoughLinesPerSide);
    spacing_ = std::max(std::min(side / lines, mean_edge_ / kLinesPerEdge), side / kMostLinesPerSide);
    // A region as thin as a hair has a small area and long sides.
    spacing_ = std::max(spacing_, std::max(width, height) / (kMostLinesPerSide * kMostLinesPerSide));
    columns_ = static_cast<std::int64_t>(std::ceil(width / spacing_)) + 1;
    rows_ = static_cast<std::int64_t>(std::ceil(height / spacing_)) + 1;
    first_x_ = box.center().x() - 0.5 * static_cast<double>(columns_ - 1) * spacing_;
    first_y_ = box.center().y() - 0.5 * static_cast<double>(rows_ - 1) * spacing_;
    return true;
  }

  double row_y(std::int64_t row) const { return first_y_ + static_cast<double>(row) * spacing_; }
  static std::int64_t clamped(double place, std::int64_t count) {
    return static_cast<std::int64_t>(std::clamp(std::ceil(place), 0.0, static_cast<double>(count)));
  }

  /// Calls hit(line, height, step) for each line through the triangle. Lines are the half-open pixels of a
  /// scan converter: one that runs through an edge or a corner still crosses a closed surface as often in as
  /// out.
  template <class Hit>
  void scan(const Triangle& f, const Hit& hit) {
    const Vec3d corners[3] = {see(f[0]), see(f[1]), see(f[2])};
    const auto [low, high] = std::minmax({corners[0].y(), corners[1].y(), corners[2].y()});
    const std::int64_t last_row = clamped((high - first_y_) / spacing_ + 1, rows_);
    for (std::int64_t row = clamped((low - first_y_) / spacing_ - 1, rows_); row < last_row; ++row) {
      const double y = row_y(row);
      double x[2] = {0, 0}, z[2] = {0, 0};
      bool rising[2] = {false, false};
      int found = 0;
      for (int k = 0; k < 3 && found < 2; ++k) {
        const int next = (k + 1) % 3;
        const bool below = corners[k].y() <= y, next_below = corners[next].y() <= y;
        if (below == next_below) continue;
        // In one order, so that both triangles at the edge get the same bits.
        const bool swap = f[k] > f[next];
        const Vec3d &a = corners[swap ? next : k], &b = corners[swap ? k : next];
        const double share = (y - a.y()) / (b.y() - a.y());
        x[found] = a.x() + share * (b.x() - a.x());
        z[found] = a.z() + share * (b.z() - a.z());
        rising[found] = below;
        ++found;
      }
      if (found < 2) continue;
      const int left = x[0] <= x[1] ? 0 : 1, right = 1 - left;
      const std::int64_t end = clamped((x[right] - first_x_) / spacing_, columns_);
      for (std::int64_t column = clamped((x[left] - first_x_) / spacing_, columns_); column < end; ++column) {
        const double across = first_x_ + static_cast<double>(column) * spacing_ - x[left];
        const double share = std::clamp(across / (x[right] - x[left]), 0.0, 1.0);
        // Counter-clockwise seen from above, the left side sinks: the triangle faces up, going up leaves the
        // body.
        hit(to_size(row * columns_ + column), z[left] + share * (z[right] - z[left]),
            static_cast<std::int8_t>(rising[left] ? 1 : -1));
      }
    }
  }

  void shoot() {
    const auto lines = to_size(columns_ * rows_);
    std::vector<char> wanted(lines, 0);
    for (const std::uint32_t t : regions_.triangles[region_])
      scan(surface_.triangles[t], [&](std::size_t line, double, std::int8_t) { wanted[line] = 1; });

    std::vector<std::uint32_t> triangles;
    const Vec3d middle(first_x_ + 0.5 * static_cast<double>(columns_ - 1) * spacing_,
                       first_y_ + 0.5 * static_cast<double>(rows_ - 1) * spacing_, 0);
    const Vec3d half(0.5 * static_cast<double>(columns_) * spacing_,
                     0.5 * static_cast<double>(rows_) * spacing_, 0);
    const Mat3d absolute = view_.cwiseAbs();
    const auto in_the_way = [&](const Eigen::AlignedBox3f& box) {
      const Vec3d low = box.min().cast<double>() - origin_, high = box.max().cast<double>() - origin_;
      const Vec3d away = (view_ * ((low + high) / 2) - middle).cwiseAbs();
      const Vec3d reach = absolute * ((high - low) / 2) + half;
      return away.x() <= reach.x() && away.y() <= reach.y();
    };
    boxes_.for_each(in_the_way, [&](std::uint32_t t) { triangles.push_back(t); });

    starts_.assign(lines + 1, 0);
    for (const std::uint32_t t : triangles)
      scan(surface_.triangles[t],
           [&](std::size_t line, double, std::int8_t) { starts_[line + 1] += wanted[line] != 0; });
    for (std::size_t line = 0; line < lines; ++line) starts_[line + 1] += starts_[line];
    crossings_.resize(starts_[lines]);
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    for (const std::uint32_t t : triangles)
      scan(surface_.triangles[t], [&](std::size_t line, double height, std::int8_t step) {
        if (wanted[line])
          crossings_[next[line]++] = {height, surface_.part[t], step, regions_.of_triangle[t] == region_};
      });
  }

  OverlapVolume integrate() {
    double whole = 0, within = 0;
    std::vector<Crossing> entered;
    for (std::size_t line = 0; line + 1 < starts_.size(); ++line) {
      const std::span<Crossing> crossings(crossings_.data() + starts_[line],
                                          starts_[line + 1] - starts_[line]);
      if (crossings.size() < 4) continue;
      std::sort(crossings.begin(), crossings.end(), [](const Crossing& a, const Crossing& b) {
        if (a.height != b.height) return a.height < b.height;
        return a.step != b.step ? a.step < b.step : a.part < b.part;
      });
      const double length = overlapped_length(crossings, entered);
      whole += length;
      const bool one_part = std::all_of(crossings.begin(), crossings.end(), [&](const Crossing& crossing) {
        return crossing.part == crossings.front().part;
      });
      if (one_part) {
        within += length;
        continue;
      }
      std::stable_sort(crossings.begin(), crossings.end(),
                       [](const Crossing& a, const Crossing& b) { return a.part < b.part; });
      for (std::size_t begin = 0, end = 0; begin < crossings.size(); begin = end) {
        while (end < crossings.size() && crossings[end].part == crossings[begin].part) ++end;
        within += overlapped_length(crossings.subspan(begin, end - begin), entered);
      }
    }
    const double cell = spacing_ * spacing_;
    return {within * cell, (whole - within) * cell};
  }

  const ClosedSurface& surface_;
  std::span<const Vec3f> positions_;
  const FittedTriangleTree& boxes_;
  const Regions& regions_;
  std::uint32_t region_;

  Vec3d origin_ = Vec3d::Zero();
  Mat3d view_ = Mat3d::Identity();
  double mean_edge_ = 0;
  double spacing_ = 0, first_x_ = 0, first_y_ = 0;
  std::int64_t columns_ = 0, rows_ = 0;
  std::vector<std::size_t> starts_;  // per line, and the end
  std::vector<Crossing> crossings_;
};

}  // namespace

OverlapVolume overlap_volume(const ClosedSurface& surface, std::span<const Vec3f> positions,
                             const FittedTriangleTree& boxes, const Burial& burial,
                             std::span<const TrianglePair> pairs,
                             std::span<const std::array<std::uint32_t, 2>> touches) {
  const Regions regions = find_regions(surface, positions.size(), burial, pairs, touches);
  std::vector<OverlapVolume> volumes(regions.triangles.size());
  parallel_blocks(volumes.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r)
      volumes[r] = RegionVolume(surface, positions, boxes, regions, static_cast<std::uint32_t>(r)).compute();
  });
  OverlapVolume sum;
  for (const OverlapVolume& volume : volumes) {
    sum.within_parts += volume.within_parts;
    sum.between_parts += volume.between_parts;
  }
  return sum;
}

}  // namespace sinew
