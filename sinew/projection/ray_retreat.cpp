#include <sinew/projection/ray_retreat.h>

#include <algorithm>
#include <array>

#include <sinew/core/parallel.h>
#include <sinew/projection/crossing_order.h>
#include <sinew/projection/ray_stop.h>

namespace sinew {

namespace {

constexpr std::size_t kRetreatsPerTask = 16;
constexpr float kShortestRay = 1e-3f;  // edges

/// The pieces of a ray on which the surface winds round it twice or more, from its bone (0) to its vertex
/// (1). Its crossings are given the other way round, `winding` is that of the bone.
/// Runs nearer to the bone than `core` are left out.
struct OverlapRuns {
  std::array<OverlapRun, CrossingOrder::kMost / 2 + 1> list;
  std::size_t count = 0;

  OverlapRuns(const CrossingOrder& from_vertex, int winding, float core) {
    // Beyond the crossings that were kept, nearer to the bone, nothing is known.
    int kept = 0;
    for (std::size_t i = 0; i < from_vertex.count; ++i) kept += from_vertex.list[i].winding;
    winding -= from_vertex.winding - kept;
    const float known = from_vertex.count == CrossingOrder::kMost ? 1 - from_vertex.list.back().t : 0.0f;
    float entered = winding >= 2 ? known : -1.0f;
    const auto leave = [&](float t) {
      if (t > core && count < list.size()) list[count].from = std::max(entered, core), list[count++].to = t;
      entered = -1;
    };
    for (std::size_t i = from_vertex.count; i-- > 0;) {
      const Crossing& crossing = from_vertex.list[i];
      winding -= crossing.winding;
      if (winding >= 2 && entered < 0) entered = 1 - crossing.t;
      if (winding < 2 && entered >= 0) leave(1 - crossing.t);
    }
    if (entered >= 0) leave(1);
  }
};

}  // namespace

RayRetreat::RayRetreat(const ContactSkin& skin, const FieldSet& fields, const ContactParams& params)
    : skin_(skin),
      params_(params),
      crossings_(std::make_unique<CrossingTriangles>(*skin.tree)),
      sides_(std::make_unique<ContactSides>(*skin.weights, fields, params)),
      rest_retreat_(skin.vertex_count, 0) {}

float RayRetreat::retreat(std::uint32_t v, ContactFrame& frame) const {
  const Vec3f at = frame.placed[v], origin = skin_.ray_origin(v, frame), direction = at - origin;
  const float length = direction.norm();
  frame.ray[v] = length;
  frame.back[v] = Vec3f::Zero();
  const float scale = skin_.scale(v, frame), edges = frame.edge[v] = skin_.edge[v] * scale;
  if (!(edges > 0 && length > kShortestRay * edges)) return 0;
  frame.back[v] = -direction / length;
  // From the vertex inwards, so that of many crossings the nearest are kept.
  CrossingOrder crossings;
  frame.surface->cross(at, origin - at, 0, 1, [&](const Crossing& crossing) {
    if (!skin_.is_corner(crossing.triangle, v)) crossings.add(crossing);
  });
  OverlapRuns runs(crossings, frame.surface->winding(origin, origin - at), params_.core);
  if (runs.count == 0) return 0;

  const ContactSides::Present present =
      sides_->present(frame.fields, at.cwiseMin(origin), at.cwiseMax(origin));
  const int samples = params_.samples;
  for (std::size_t k = 0; k < runs.count; ++k) {
    OverlapRun& run = runs.list[k];
    for (int i = 0; i < samples; ++i) {
      const float share = (static_cast<float>(i) + 0.5f) / static_cast<float>(samples);
      const float t = run.from + share * (run.to - run.from);
      run.side[i] = sides_->side(v, frame.fields, present, origin + t * direction);
    }
  }
  const float edge = edges / length;
  const float stop = stop_on_ray({runs.list.data(), runs.count}, samples, params_.side_width,
                                 params_.fade * edge, params_.reach * edge);
  return std::max(0.0f, (1 - stop) * length - scale * rest_retreat_[v]);
}

void RayRetreat::find(ContactFrame& frame) const {
  frame.clear_region();
  frame.next_frontier.clear();
  const auto ask = [&](std::uint32_t v) {
    if (v >= skin_.vertex_count || frame.asked[v]) return;
    frame.asked[v] = 1;
    frame.next_frontier.push_back(v);
  };
  crossings_->find(*frame.surface, frame.crossing);
  for (const auto& found : frame.crossing.found)
    for (const std::uint32_t t : found)
      for (const std::uint32_t v : skin_.closed.triangles[t]) ask(v);
  while (!frame.next_frontier.empty()) {
    frame.frontier.swap(frame.next_frontier);
    frame.next_frontier.clear();
    parallel_blocks(frame.frontier.size(), kRetreatsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        frame.retreat[frame.frontier[i]] = retreat(frame.frontier[i], frame);
    });
    frame.region.insert(frame.region.end(), frame.frontier.begin(), frame.frontier.end());
    for (const std::uint32_t v : frame.frontier)
      if (frame.retreat[v] > 0)
        for (const std::uint32_t n : skin_.rings[v]) ask(n);
  }
}

void RayRetreat::smooth(ContactFrame& frame) const {
  for (int sweep = 0; sweep < params_.retreat_sweeps; ++sweep) {
    for (const std::uint32_t v : frame.region)
      frame.next[v] = (frame.retreat[v] + skin_.ring_mean(v, frame.retreat)) / 2;
    for (const std::uint32_t v : frame.region) frame.retreat[v] = frame.next[v];
  }
}

}  // namespace sinew
