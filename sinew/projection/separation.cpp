#include <sinew/projection/separation.h>

#include <algorithm>
#include <limits>

#include <sinew/core/parallel.h>
#include <sinew/projection/crossing_order.h>

namespace sinew {

namespace {

constexpr std::size_t kPushesPerTask = 16;
constexpr std::size_t kMeansPerTask = 128;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float ramp(float value) {
  return std::clamp(value, 0.0f, 1.0f);
}

}  // namespace

bool Separation::is_active(std::uint32_t v, const ContactFrame& frame) const {
  constexpr float kLeast = 1e-4f;  // edges
  return frame.activity[v] > kLeast * frame.edge[v];
}

float Separation::contact(std::uint32_t v, const ContactFrame& frame) const {
  return ramp(frame.activity[v] / (params_.closing_from * frame.edge[v]));
}

void Separation::find_activity(ContactFrame& frame) const {
  for (const std::uint32_t v : frame.region) frame.activity[v] = frame.retreat[v];
  for (int sweep = 0; sweep < params_.activity_sweeps; ++sweep) {
    for (const std::uint32_t v : frame.region)
      frame.next[v] = std::max(frame.activity[v], skin_.ring_mean(v, frame.activity));
    for (const std::uint32_t v : frame.region) frame.activity[v] = frame.next[v];
  }
}

ContactPartner Separation::find_partner(std::uint32_t v, const Vec3f& normal,
                                        const ContactFrame& frame) const {
  using Kind = ContactPartner::Kind;
  const Vec3f& at = frame.placed[v];
  const auto partner = [&](const Crossing& crossing) {
    return ContactPartner{Kind::point, skin_.closed.triangles[crossing.triangle], crossing.place};
  };
  // A short line both ways: what lies on it and faces the vertex, before it or, where the vertex is inside,
  // behind it.
  CrossingOrder behind;
  Crossing before;
  before.t = kInfinity;
  frame.surface->cross_facing(at, normal, -params_.too_deep * frame.edge[v], params_.far * frame.edge[v],
                              [&](Crossing crossing) {
                                if (skin_.is_corner(crossing.triangle, v)) return;
                                if (crossing.t > 0) {
                                  if (crossing.t < before.t) before = crossing;
                                } else {
                                  crossing.t = -crossing.t;
                                  behind.add(crossing);
                                }
                              });
  // Behind it may also be its own far side: only there it is worth a long way to tell which.
  if (behind.count > 0) {
    int winding = 1;  // just inside the vertex
    frame.surface->cross(at, normal, 0, kInfinity, [&](const Crossing& crossing) {
      if (!skin_.is_corner(crossing.triangle, v)) winding -= crossing.winding;
    });
    if (winding >= 2) {
      const auto way_out = static_cast<std::size_t>(winding - 2);  // each leaves one body
      return way_out < behind.count ? partner(behind.list[way_out]) : ContactPartner{.kind = Kind::too_deep};
    }
  }
  return before.t < kInfinity ? partner(before) : ContactPartner();
}

float Separation::distance_before(std::uint32_t v, float reach, const ContactFrame& frame) const {
  float nearest = reach;
  frame.surface->cross_facing(frame.placed[v], skin_.normal(v, frame.placed), 0, reach,
                              [&](const Crossing& crossing) {
                                if (!skin_.is_corner(crossing.triangle, v))
                                  nearest = std::min(nearest, crossing.t);
                              });
  return nearest;
}

float Separation::distance_apart(std::uint32_t v, const Vec3f& normal, const ContactFrame& frame) const {
  const ContactPartner& partner = frame.partners[v];
  switch (partner.kind) {
    case ContactPartner::Kind::none:
      return kInfinity;
    case ContactPartner::Kind::too_deep:
      return -kInfinity;
    case ContactPartner::Kind::point:
      break;
  }
  Vec3f point = Vec3f::Zero();
  for (std::size_t k = 0; k < 3; ++k) point += partner.place[k] * frame.placed[partner.corners[k]];
  return (point - frame.placed[v]).dot(normal);
}

float Separation::push(std::uint32_t v, int number, ContactFrame& frame) const {
  const float edge = frame.edge[v], gap = params_.gap * edge;
  const Vec3f normal = frame.normals[v] = skin_.normal(v, frame.placed);
  const float closing = contact(v, frame);
  if (closing > 0) frame.moves[v] = closing * unfolding_.move(v, frame);
  if (number % params_.sweeps_per_search == 0) frame.partners[v] = find_partner(v, normal, frame);
  const float apart = frame.apart[v] = distance_apart(v, normal, frame);
  if (!(apart < gap)) return 0;
  const float active = ramp(frame.activity[v] / (params_.active_from * edge));
  const float fades = 1 - ramp((-apart / edge - params_.deep) / (params_.too_deep - params_.deep));
  // Of a ray its core stays: what cannot give way further is given way to.
  const float moved = (frame.base[v] - frame.placed[v]).norm(), most = (1 - params_.core) * frame.ray[v];
  const float gives = most > 0 ? 1 - ramp(2 * moved / most - 1) : 0.0f;
  return fades > 0 ? -std::min(0.5f * (gap - apart), params_.most_push * edge) * active * fades * gives
                   : 0.0f;
}

float Separation::close(std::uint32_t v, const ContactFrame& frame) const {
  const float edge = frame.edge[v], gap = params_.gap * edge, far = params_.far * edge;
  if (!(frame.apart[v] > gap && frame.apart[v] < far)) return 0;
  // Triangles cut corners: where a neighbour touches already, only a part of a gap is one.
  float nearest = frame.apart[v];
  for (const std::uint32_t n : skin_.rings[v]) nearest = std::min(nearest, frame.apart[n]);
  const float apart = frame.apart[v] + params_.ring_gap * (std::max(nearest, 0.0f) - frame.apart[v]);
  if (!(apart > gap)) return 0;
  const float room = std::max(0.0f, (frame.base[v] - frame.placed[v]).dot(frame.normals[v]));
  return std::min(0.5f * (apart - gap) * ramp(2 - 2 * apart / far), room) * contact(v, frame);
}

void Separation::sweep(int number, ContactFrame& frame) const {
  skin_.place_fans(frame.placed);
  if (number % params_.sweeps_per_search == 0) {
    frame.surface->refit(frame.placed);
    frame.surface->find_normals();
  }
  parallel_blocks(frame.region.size(), kPushesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = frame.region[i];
      frame.moves[v].setZero();
      frame.normals[v].setZero();
      frame.apart[v] = kInfinity;
      frame.pushes[v] = is_active(v, frame) ? push(v, number, frame) : 0.0f;
    }
  });
  parallel_blocks(frame.region.size(), kMeansPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = frame.region[i];
      if (frame.pushes[v] == 0 && is_active(v, frame)) frame.pushes[v] = close(v, frame);
    }
  });
  for (int k = 0; k < params_.push_sweeps; ++k) {
    parallel_blocks(frame.region.size(), kMeansPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint32_t v = frame.region[i];
        frame.next[v] = (frame.pushes[v] + skin_.ring_mean(v, frame.pushes)) / 2;
      }
    });
    for (const std::uint32_t v : frame.region) frame.pushes[v] = frame.next[v];
  }
  for (const std::uint32_t v : frame.region)
    if (is_active(v, frame)) frame.placed[v] += frame.pushes[v] * frame.normals[v] + frame.moves[v];
}

void Separation::separate(ContactFrame& frame) const {
  for (int number = 0; number < params_.sweeps; ++number) sweep(number, frame);
}

}  // namespace sinew
