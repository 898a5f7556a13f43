#include <sinew/effects/wrinkle_region.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <sinew/core/index.h>
#include <sinew/core/smooth_step.h>
#include <sinew/geometry/incidence.h>

namespace sinew {

namespace {

// Skin that turns away from the rectangle fades out between these cosines, so that no step remains at a
// limb's silhouette.
constexpr double kTurnedAway = 0.05, kTurnedTo = 0.4;
// Sums of normals shorter than this share of their parts point nowhere.
constexpr double kNoDirection = 1e-3;

Vec3d triangle_normal(const MeshView& mesh, std::uint32_t t) {
  const Triangle& triangle = mesh.triangles[t];
  const Vec3d a = mesh.positions[triangle[0]].cast<double>();
  return (mesh.positions[triangle[1]].cast<double>() - a)
      .cross(mesh.positions[triangle[2]].cast<double>() - a);
}

/// Unit length, or zero.
Vec3d direction(const Vec3d& v) {
  const double length = v.norm();
  return length > 0 && std::isfinite(length) ? Vec3d(v / length) : Vec3d::Zero();
}

class RegionFinder {
 public:
  RegionFinder(const MeshView& mesh, const WrinkleSegment& segment)
      : mesh_(mesh), segment_(segment), incidence_(vertex_incidence(mesh.positions.size(), mesh.triangles)) {}

  WrinkleRegion find(std::size_t path_points) {
    set_frame();
    if (region_.normal.isZero()) return region_;
    flood();
    add_vertices();
    add_path(path_points);
    return std::move(region_);
  }

 private:
  Vec3d vertex_normal(std::uint32_t v) const {
    Vec3d sum = Vec3d::Zero();
    for (const std::uint32_t corner : incidence_[v]) sum += triangle_normal(mesh_, corner / 3);
    return segment_.side * direction(sum);
  }

  Vec3d at(std::uint32_t v) const { return mesh_.positions[v].cast<double>(); }

  void set_frame() {
    region_.start = at(segment_.from);
    const Vec3d chord = at(segment_.to) - region_.start;
    region_.chord = chord.norm();
    const Vec3d x = direction(chord);
    const Vec3d sum = vertex_normal(segment_.from) + vertex_normal(segment_.to);
    const Vec3d upright = sum - sum.dot(x) * x;
    if (x.isZero() || upright.norm() < kNoDirection || !(segment_.width > 0)) return;
    region_.normal = direction(upright);
    region_.along = chord / chord.squaredNorm();
    region_.across = region_.normal.cross(x) / (segment_.width / 2);
  }

  bool is_under(std::uint32_t t) const {
    if (segment_.side * triangle_normal(mesh_, t).dot(region_.normal) <= 0) return false;
    double low_x = 1e300, high_x = -1e300, low_z = 1e300, high_z = -1e300;
    for (const std::uint32_t v : mesh_.triangles[t]) {
      const WrinkleRegion::Place place = region_.place(at(v));
      low_x = std::min(low_x, place.x);
      high_x = std::max(high_x, place.x);
      low_z = std::min(low_z, place.z);
      high_z = std::max(high_z, place.z);
    }
    return low_x < 1 && high_x > 0 && low_z < 1 && high_z > -1;
  }

  void flood() {
    std::vector<char> seen(mesh_.triangles.size(), 0);
    std::vector<std::uint32_t> waiting{segment_.from, segment_.to};
    while (!waiting.empty()) {
      const std::uint32_t v = waiting.back();
      waiting.pop_back();
      for (const std::uint32_t corner : incidence_[v]) {
        const std::uint32_t t = corner / 3;
        if (seen[t] || !is_under(t)) continue;
        seen[t] = 1;
        region_.triangles.push_back(t);
        waiting.insert(waiting.end(), mesh_.triangles[t].begin(), mesh_.triangles[t].end());
      }
    }
    std::sort(region_.triangles.begin(), region_.triangles.end());
  }

  void add_vertices() {
    std::vector<std::uint32_t> candidates;
    for (const std::uint32_t t : region_.triangles)
      candidates.insert(candidates.end(), mesh_.triangles[t].begin(), mesh_.triangles[t].end());
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    for (const std::uint32_t v : candidates) {
      const WrinkleRegion::Place place = region_.place(at(v));
      if (!(place.x > 0 && place.x < 1)) continue;
      const double share = wrinkle_attenuation(segment_.attenuation, place.z) *
                           smooth_step(kTurnedAway, kTurnedTo, vertex_normal(v).dot(region_.normal));
      if (share > 0) region_.vertices.push_back({v, place.x, place.z, share});
    }
  }

  /// The region's point at (x, z): of several layers the one nearest to the rectangle.
  SurfacePoint point_under(double x, double z) const {
    SurfacePoint best;
    double nearest = std::numeric_limits<double>::infinity();
    const Vec3d on_segment = region_.start + x * (at(segment_.to) - region_.start) +
                             z * region_.across / region_.across.squaredNorm();
    for (const std::uint32_t t : region_.triangles) {
      std::array<WrinkleRegion::Place, 3> p;
      for (std::size_t c = 0; c < 3; ++c) p[c] = region_.place(at(mesh_.triangles[t][c]));
      const auto area = [&](const WrinkleRegion::Place& a, const WrinkleRegion::Place& b) {
        return (a.x - x) * (b.z - z) - (b.x - x) * (a.z - z);
      };
      std::array<double, 3> w{area(p[1], p[2]), area(p[2], p[0]), area(p[0], p[1])};
      const double sum = w[0] + w[1] + w[2];
      if (!(std::abs(sum) > 0)) continue;
      for (double& weight : w) weight /= sum;
      if (*std::min_element(w.begin(), w.end()) < -1e-9) continue;
      const SurfacePoint candidate{mesh_.triangles[t], w};
      const double distance = (candidate.at(mesh_.positions) - on_segment).norm();
      if (distance < nearest) {
        nearest = distance;
        best = candidate;
      }
    }
    if (std::isfinite(nearest)) return best;
    // A hole under the segment: the vertex of the region nearest to it.
    for (const std::uint32_t t : region_.triangles)
      for (const std::uint32_t v : mesh_.triangles[t]) {
        const double distance = (at(v) - on_segment).norm();
        if (distance >= nearest) continue;
        nearest = distance;
        best = {{v, v, v}, {1, 0, 0}};
      }
    return best;
  }

  void add_path(std::size_t count) {
    const std::uint32_t a = segment_.from, b = segment_.to;
    region_.path.push_back({{a, a, a}, {1, 0, 0}});
    if (!region_.triangles.empty())
      for (std::size_t i = 1; i + 1 < count; ++i)
        region_.path.push_back(point_under(static_cast<double>(i) / static_cast<double>(count - 1), 0));
    region_.path.push_back({{b, b, b}, {1, 0, 0}});
    for (const int side : {0, 1})
      for (std::size_t i = 0; i < region_.path.size(); ++i)
        region_.side_paths[to_size(side)].push_back(
            region_.triangles.empty()
                ? region_.path[i]
                : point_under(static_cast<double>(i) / static_cast<double>(region_.path.size() - 1),
                              (2 * side - 1) * WrinkleRegion::kSidePath));
  }

  const MeshView& mesh_;
  const WrinkleSegment& segment_;
  Incidence incidence_;
  WrinkleRegion region_;
};

}  // namespace

double wrinkle_attenuation(WrinkleAttenuation kind, double z) {
  if (!(std::abs(z) < 1)) return 0;
  const double s = z * z;
  switch (kind) {
    case WrinkleAttenuation::bell:
      return 1 + (-4 * s * s * s + 17 * s * s - 22 * s) / 9;
    case WrinkleAttenuation::linear:
      return 1 - std::abs(z);
    case WrinkleAttenuation::none:
      return 1;
  }
  return 1;
}

WrinkleRegion::Place WrinkleRegion::place(const Vec3d& point) const {
  const Vec3d from_start = point - start;
  return {from_start.dot(along), from_start.dot(across)};
}

WrinkleRegion find_wrinkle_region(const MeshView& mesh, const WrinkleSegment& segment,
                                  std::size_t path_points) {
  return RegionFinder(mesh, segment).find(path_points);
}

int wrinkle_refinement(const MeshView& mesh, const WrinkleRegion& region, std::uint32_t triangle,
                       double along, double across, int most) {
  double longest = 0;  // in edges that are short enough
  for (std::size_t c = 0; c < 3; ++c) {
    const auto a = region.place(mesh.positions[mesh.triangles[triangle][c]].cast<double>());
    const auto b = region.place(mesh.positions[mesh.triangles[triangle][(c + 1) % 3]].cast<double>());
    longest = std::max({longest, std::abs(b.x - a.x) / along, std::abs(b.z - a.z) / across});
  }
  int levels = 0;
  // An edge that is a little too long is not worth four times the triangles.
  for (; levels < most && longest > 1.4; longest /= 2) ++levels;
  return levels;
}

void find_inward_turns(std::span<const Vec3d> normals, const Vec3d& across, std::span<double> turns) {
  for (std::size_t i = 0; i < normals.size(); ++i) {
    // A turn about `across` takes the normal towards the end of the path: over a ridge.
    const double outwards =
        i == 0 ? 0 : std::atan2(normals[i - 1].cross(normals[i]).dot(across), normals[i - 1].dot(normals[i]));
    turns[i] = (i == 0 ? 0 : turns[i - 1]) - outwards;
  }
}

void find_fold_tightness(std::span<const double> lengths, std::span<const double> turns,
                         std::span<double> tightness) {
  std::fill(tightness.begin(), tightness.end(), 0.0);
  for (std::size_t i = 0; i < turns.size(); ++i)
    for (std::size_t j = i + 1; j < turns.size(); ++j) {
      const double inwards = turns[j] - turns[i], length = lengths[j] - lengths[i];
      if (!(inwards > 0)) continue;
      const double tight = inwards < std::numbers::pi && length > 0
                               ? std::min(2 * std::tan(inwards / 2) / length, kTightest)
                               : kTightest;
      tightness[i] = std::max(tightness[i], tight);
      tightness[j] = std::max(tightness[j], tight);
    }
}

}  // namespace sinew
