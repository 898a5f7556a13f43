#include "tests/reference/ray_retreat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <sinew/contact/contact_sides.h>

namespace sinew::reference {

namespace {

struct Hit {
  double t;
  int winding;  // +1: the line enters
};

/// Where origin + t direction passes through a triangle.
std::optional<Hit> cross(const Vec3d& origin, const Vec3d& direction, const Vec3d& a, const Vec3d& b,
                         const Vec3d& c) {
  const Vec3d normal = (b - a).cross(c - a);
  const double along = normal.dot(direction);
  if (along == 0) return {};
  const double t = normal.dot(a - origin) / along;
  const Vec3d at = origin + t * direction;
  const auto inside = [&](const Vec3d& p, const Vec3d& q) { return normal.dot((q - p).cross(at - p)) > 0; };
  if (!inside(a, b) || !inside(b, c) || !inside(c, a)) return {};
  return Hit{t, along < 0 ? 1 : -1};
}

}  // namespace

std::vector<double> ray_retreats(const ContactSkin& skin, const FieldSet& fields, const ContactParams& params,
                                 const ContactFrame& frame, std::span<const Vec3f> positions) {
  std::vector<Vec3f> placed(positions.begin(), positions.end());
  placed.resize(skin.vertex_count + skin.closed.borders.size());
  skin.place_fans(placed);
  const std::vector<float> strengths = field_strengths(fields, params);
  const std::vector<std::int32_t> field_of = fields_of_transforms(fields);
  std::vector<double> retreats(skin.vertex_count, 0);
  for (std::uint32_t v = 0; v < skin.vertex_count; ++v) {
    const SkinWeights& weights = *skin.weights;
    Vec3d origin = Vec3d::Zero();
    double scale = 0;
    std::map<std::int32_t, double> own;  // weight per field
    for (std::size_t k = 0; k < weights.row_size(v); ++k) {
      const std::uint32_t transform = weights.row_joints(v)[k];
      const auto weight = static_cast<double>(weights.row_values(v)[k]);
      origin += weight * (frame.transforms[transform] * skin.origins[v]).cast<double>();
      scale += weight * static_cast<double>(frame.scales[transform]);
      if (field_of[transform] >= 0) own[field_of[transform]] += weight;
    }
    double heaviest = 0;
    for (const auto& [field, weight] : own) heaviest = std::max(heaviest, weight);
    const Vec3d at = placed[v].cast<double>(), ray = at - origin;
    const double length = ray.norm(), edge = static_cast<double>(skin.edge[v]) * scale;
    if (!(length > 1e-3 * edge)) continue;

    // How often the surface winds round the bone's end of the ray, told away from the vertex; then what the
    // ray crosses on the way out.
    int winding = 0;
    std::vector<Hit> hits;
    for (std::uint32_t t = 0; t < skin.closed.triangles.size(); ++t) {
      const Triangle& f = skin.closed.triangles[t];
      const std::optional<Hit> hit = cross(origin, ray, placed[f[0]].cast<double>(),
                                           placed[f[1]].cast<double>(), placed[f[2]].cast<double>());
      if (!hit) continue;
      if (hit->t < 0) winding += hit->winding;
      if (hit->t > 0 && hit->t < 1 && !skin.is_corner(t, v)) hits.push_back(*hit);
    }
    std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.t < b.t; });
    struct Run {
      double from, to;
    };
    std::vector<Run> runs;
    double entered = winding >= 2 ? 0.0 : -1.0;
    const auto core = static_cast<double>(params.core);
    const auto leave = [&](double t) {
      if (t > core) runs.push_back({std::max(entered, core), t});
      entered = -1;
    };
    for (const Hit& hit : hits) {
      winding += hit.winding;
      if (winding >= 2 && entered < 0) entered = hit.t;
      if (winding < 2 && entered >= 0) leave(hit.t);
    }
    if (entered >= 0) leave(1);
    if (runs.empty()) continue;

    const auto share_of = [&](std::size_t field) {  // a_i
      const auto found = own.find(static_cast<std::int32_t>(field));
      if (found == own.end()) return 0.0;
      return std::clamp((found->second / heaviest - static_cast<double>(params.own_from)) /
                            static_cast<double>(params.own_wholly - params.own_from),
                        0.0, 1.0);
    };
    const auto side = [&](double t) {  // s = max (f_i − 1 + a_i) − max (f_i − a_i)
      double mine = -1e9, other = -1e9;
      for (std::size_t i = 0; i < fields.fields.size(); ++i) {
        const Vec3f place = (origin + t * ray).cast<float>();
        const double f = static_cast<double>(strengths[i] * frame.fields[i].sample(place).value);
        mine = std::max(mine, f - 1 + share_of(i));
        other = std::max(other, f - share_of(i));
      }
      return mine - other;
    };
    // ∫ T dt by runs k and those beyond it; a run that ends before the vertex counts less.
    const auto stop_by = [&](std::size_t first) {
      double left = 1, stop = 0, t = 0;
      for (std::size_t k = first; k < runs.size(); ++k) {
        stop += left * (runs[k].from - t);
        const double piece = (runs[k].to - runs[k].from) / params.samples;
        for (int i = 0; i < params.samples; ++i) {
          const double s = side(runs[k].from + (i + 0.5) * piece);
          const double rate = std::clamp(0.5 - s / static_cast<double>(params.side_width), 0.0, 1.0) /
                              (static_cast<double>(params.fade) * edge / length);
          constexpr int kSteps = 2000;
          for (int step = 0; step < kSteps; ++step) {
            const double next = std::max(0.0, left - rate * piece / kSteps);
            stop += (left + next) / 2 * piece / kSteps;
            left = next;
          }
        }
        t = runs[k].to;
      }
      return stop + left * (1 - t);
    };
    double stop = 1;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const double reach = static_cast<double>(params.reach) * edge / length;
      stop += std::clamp(1 - (1 - runs[k].to) / reach, 0.0, 1.0) * (stop_by(k) - stop_by(k + 1));
    }
    retreats[v] = (1 - std::clamp(stop, 0.0, 1.0)) * length;
  }
  return retreats;
}

}  // namespace sinew::reference
