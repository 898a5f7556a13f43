#include <sinew/projection/contact_projection.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/polar.h>
#include <sinew/projection/attachment.h>
#include <sinew/projection/ray_stop.h>

namespace sinew {

namespace {

constexpr std::size_t kRaysPerTask = 16;
constexpr std::size_t kPushesPerTask = 128;
constexpr int kEdgeSweeps = 3;

float ramp(float value) {
  return std::clamp(value, 0.0f, 1.0f);
}

/// The crossings of a ray that are nearest to its beginning, in order; how often it winds counts them all.
struct NearCrossings {
  static constexpr std::size_t kMost = 64;
  std::array<Crossing, kMost> list;
  std::size_t count = 0;
  int winding = 0;  // of all

  void add(const Crossing& crossing) {
    winding += crossing.winding;
    if (count == kMost && crossing.t >= list[kMost - 1].t) return;
    std::size_t at = count < kMost ? count++ : kMost - 1;
    for (; at > 0 && list[at - 1].t > crossing.t; --at) list[at] = list[at - 1];
    list[at] = crossing;
  }
};

}  // namespace

ContactProjection::~ContactProjection() = default;

ContactProjection::ContactProjection(const MeshView& rest, SharedWeights weights,
                                     std::shared_ptr<const FieldSet> fields,
                                     std::span<const std::uint8_t> takes_part, const ContactParams& params)
    : params_(params),
      weights_(std::move(weights)),
      fields_(std::move(fields)),
      vertices_(rest.positions.size()) {
  if (weights_->rows() != vertices_) throw Error("contact: weights and vertices differ in number");
  for (const std::uint32_t transform : weights_->joints)
    transforms_ = std::max<std::size_t>(transforms_, transform + 1);
  for (const std::uint32_t transform : fields_->transform)
    transforms_ = std::max<std::size_t>(transforms_, transform + 1);
  std::vector<Triangle> triangles;
  for (const Triangle& f : rest.triangles)
    if (!repeats_corner(f) &&
        (takes_part.empty() || (takes_part[f[0]] && takes_part[f[1]] && takes_part[f[2]])))
      triangles.push_back(f);
  rings_ = one_rings(vertices_, triangles);
  closed_ = close_surface(vertices_, triangles);
  const std::vector<Vec3f> placed = closed_.place(rest.positions);
  tree_ = std::make_unique<TriangleTree>(MeshView{placed, closed_.triangles});
  crossings_ = std::make_unique<CrossingTriangles>(*tree_);
  sides_ = std::make_unique<ContactSides>(*weights_, *fields_, params_);
  incidence_ = vertex_incidence(vertices_, triangles);
  const MeshView skin{rest.positions, triangles};
  origins_ = ray_origins(skin, rings_, *weights_, *fields_, *tree_, placed, params_);
  for (const Triangle& f : triangles)
    rest_area_.push_back(
        (rest.positions[f[1]] - rest.positions[f[0]]).cross(rest.positions[f[2]] - rest.positions[f[0]]));
  rest_corner_.resize(3 * triangles.size());
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k) {
      const Triangle& f = triangles[t];
      rest_corner_[3 * t + k] =
          rest.positions[f[k]] - (rest.positions[f[0]] + rest.positions[f[1]] + rest.positions[f[2]]) / 3;
    }
  edge_.assign(vertices_, 0);
  for (std::size_t v = 0; v < vertices_; ++v)
    for (const std::uint32_t n : rings_[v])
      edge_[v] += (rest.positions[n] - rest.positions[v]).norm() / static_cast<float>(rings_[v].size());
  for (int sweep = 0; sweep < kEdgeSweeps; ++sweep) {
    std::vector<float> next = edge_;
    for (std::size_t v = 0; v < vertices_; ++v) {
      if (rings_[v].empty()) continue;
      float sum = 0;
      for (const std::uint32_t n : rings_[v]) sum += edge_[n];
      next[v] = (edge_[v] + sum / static_cast<float>(rings_[v].size())) / 2;
    }
    edge_.swap(next);
  }

  // What retreats at rest already stays as it is.
  rest_retreat_.assign(vertices_, 0);
  ContactScratch s = make_scratch();
  const std::vector<Affine3d> unmoved(transforms_, Affine3d::Identity());
  std::copy(rest.positions.begin(), rest.positions.end(), s.placed.begin());
  pose(unmoved, s);
  place_fans(s);
  s.surface->refit(s.placed);
  flood(s);
  rest_retreat_ = s.retreat;
}

ContactScratch ContactProjection::make_scratch() const {
  ContactScratch s;
  s.placed.resize(vertices_ + closed_.borders.size());
  s.base.resize(vertices_);
  s.normals.resize(vertices_);
  s.retreat.assign(vertices_, 0);
  s.next.assign(vertices_, 0);
  s.activity.assign(vertices_, 0);
  s.asked.assign(vertices_, 0);
  s.back.resize(vertices_);
  s.ray.resize(vertices_);
  s.moves.resize(vertices_);
  s.pushes.assign(vertices_, 0);
  s.turns.resize(vertices_);
  s.frontier.reserve(vertices_);
  s.next_frontier.reserve(vertices_);
  s.region.reserve(vertices_);
  s.posed.resize(fields_->fields.size());
  s.transforms.resize(transforms_);
  s.rotations.resize(transforms_);
  s.surface = std::make_unique<PosedSurface>(*tree_);
  s.crossing = crossings_->make_scratch();
  return s;
}

void ContactProjection::pose(std::span<const Affine3d> posed_from_rest, ContactScratch& s) const {
  pose_fields(*fields_, posed_from_rest, s.posed);
  for (std::size_t t = 0; t < transforms_; ++t) {
    s.transforms[t] = posed_from_rest[t].cast<float>();
    s.rotations[t] = Quatd(polar_rotation<double>(posed_from_rest[t].linear())).cast<float>();
  }
}

void ContactProjection::place_fans(ContactScratch& s) const {
  for (std::size_t b = 0; b < closed_.borders.size(); ++b) {
    Vec3f sum = Vec3f::Zero();
    for (const std::uint32_t v : closed_.borders[b]) sum += s.placed[v];
    s.placed[vertices_ + b] = sum / static_cast<float>(closed_.borders[b].size());
  }
}

Vec3f ContactProjection::posed_origin(std::uint32_t v, const ContactScratch& s) const {
  Vec3f sum = Vec3f::Zero();
  for (std::size_t k = 0; k < weights_->row_size(v); ++k)
    sum += weights_->row_values(v)[k] * (s.transforms[weights_->row_joints(v)[k]] * origins_[v]);
  return sum;
}

Quatf ContactProjection::turn_of(std::uint32_t v, const ContactScratch& s) const {
  Vec4f sum = Vec4f::Zero();
  const auto joints = weights_->row_joints(v);
  if (joints.empty()) return Quatf::Identity();
  const Vec4f first = s.rotations[joints[0]].coeffs();
  for (std::size_t k = 0; k < joints.size(); ++k) {
    const Vec4f q = s.rotations[joints[k]].coeffs();
    sum += (q.dot(first) < 0 ? -1.0f : 1.0f) * weights_->row_values(v)[k] * q;
  }
  return Quatf(Vec4f(sum.normalized()));
}

bool ContactProjection::is_own(std::uint32_t triangle, std::uint32_t v) const {
  const Triangle& f = closed_.triangles[triangle];
  return f[0] == v || f[1] == v || f[2] == v;
}

float ContactProjection::find_retreat(std::uint32_t v, ContactScratch& s) const {
  const Vec3f at = s.placed[v], origin = posed_origin(v, s), direction = at - origin;
  const float length = direction.norm();
  s.ray[v] = length;
  s.back[v] = Vec3f::Zero();
  if (!(length > 1e-3f * edge_[v])) return 0;
  s.back[v] = -direction / length;
  // From the vertex inwards, so that of many crossings the nearest are kept.
  NearCrossings crossings;
  s.surface->cross(at, origin - at, 0, 1, [&](const Crossing& crossing) {
    if (!is_own(crossing.triangle, v)) crossings.add(crossing);
  });
  int winding = s.surface->winding(origin, origin - at);
  std::array<OverlapRun, NearCrossings::kMost / 2 + 1> runs;
  std::size_t count = 0;
  float entered = winding >= 2 ? 0.0f : -1.0f;
  for (std::size_t i = crossings.count; i-- > 0;) {
    const Crossing& crossing = crossings.list[i];
    winding -= crossing.winding;  // the ray was asked the other way round
    if (winding >= 2 && entered < 0) entered = 1 - crossing.t;
    if (winding < 2 && entered >= 0) {
      if (count < runs.size()) runs[count].from = entered, runs[count++].to = 1 - crossing.t;
      entered = -1;
    }
  }
  if (entered >= 0 && count < runs.size()) runs[count].from = entered, runs[count++].to = 1;
  if (count == 0) return 0;

  const ContactSides::Present present = sides_->present(s.posed, at.cwiseMin(origin), at.cwiseMax(origin));
  const int samples = params_.samples;
  for (std::size_t k = 0; k < count; ++k) {
    OverlapRun& run = runs[k];
    for (int i = 0; i < samples; ++i) {
      const float share = (static_cast<float>(i) + 0.5f) / static_cast<float>(samples);
      const float t = run.from + share * (run.to - run.from);
      run.side[i] =
          sides_->side(v, s.posed, present, origin + t * direction) + params_.middle * (0.5f - share);
    }
  }
  const float stop = stop_on_ray({runs.data(), count}, samples, params_.side_width,
                                 params_.fade * edge_[v] / length, params_.reach * edge_[v] / length);
  return std::max(0.0f, (1 - stop) * length - rest_retreat_[v]);
}

void ContactProjection::flood(ContactScratch& s) const {
  for (const std::uint32_t v : s.region)
    s.asked[v] = 0, s.retreat[v] = s.next[v] = s.activity[v] = s.pushes[v] = 0;
  s.region.clear();
  s.frontier.clear();
  crossings_->find(*s.surface, s.crossing);
  const auto ask = [&](std::uint32_t v) {
    if (v >= vertices_ || s.asked[v]) return;
    s.asked[v] = 1;
    s.next_frontier.push_back(v);
  };
  s.next_frontier.clear();
  for (const auto& found : s.crossing.found)
    for (const std::uint32_t t : found)
      for (const std::uint32_t v : closed_.triangles[t]) ask(v);
  while (!s.next_frontier.empty()) {
    s.frontier.swap(s.next_frontier);
    s.next_frontier.clear();
    parallel_blocks(s.frontier.size(), kRaysPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) s.retreat[s.frontier[i]] = find_retreat(s.frontier[i], s);
    });
    s.region.insert(s.region.end(), s.frontier.begin(), s.frontier.end());
    for (const std::uint32_t v : s.frontier)
      if (s.retreat[v] > 0)
        for (const std::uint32_t n : rings_[v]) ask(n);
  }
}

void ContactProjection::grow_region(ContactScratch& s, int rings) const {
  std::size_t begin = 0;
  for (int ring = 0; ring < rings; ++ring) {
    const std::size_t end = s.region.size();
    for (std::size_t i = begin; i < end; ++i)
      for (const std::uint32_t n : rings_[s.region[i]]) {
        if (s.asked[n]) continue;
        s.asked[n] = 1;
        s.region.push_back(n);
        s.retreat[n] = 0;
        const Vec3f to_origin = posed_origin(n, s) - s.placed[n];
        s.ray[n] = to_origin.norm();
        s.back[n] = s.ray[n] > 0 ? Vec3f(to_origin / s.ray[n]) : Vec3f(Vec3f::Zero());
      }
    begin = end;
  }
}

void ContactProjection::smooth_retreat(ContactScratch& s) const {
  for (int sweep = 0; sweep < params_.retreat_sweeps; ++sweep) {
    for (const std::uint32_t v : s.region) {
      float sum = 0;
      for (const std::uint32_t n : rings_[v]) sum += s.retreat[n];
      s.next[v] =
          rings_[v].empty() ? s.retreat[v] : (s.retreat[v] + sum / static_cast<float>(rings_[v].size())) / 2;
    }
    for (const std::uint32_t v : s.region) s.retreat[v] = s.next[v];
  }
}

void ContactProjection::find_activity(ContactScratch& s) const {
  constexpr int kSpread = 3;
  for (const std::uint32_t v : s.region) s.activity[v] = s.retreat[v];
  for (int sweep = 0; sweep < kSpread; ++sweep) {
    for (const std::uint32_t v : s.region) {
      float sum = 0;
      for (const std::uint32_t n : rings_[v]) sum += s.activity[n];
      s.next[v] = std::max(s.activity[v], rings_[v].empty() ? 0 : sum / static_cast<float>(rings_[v].size()));
    }
    for (const std::uint32_t v : s.region) s.activity[v] = s.next[v];
  }
}

Vec3f ContactProjection::normal(std::uint32_t v, std::span<const Vec3f> placed) const {
  Vec3f sum = Vec3f::Zero();
  for (const std::uint32_t corner : incidence_[v]) {
    const Triangle& f = closed_.triangles[corner / 3];
    sum += (placed[f[1]] - placed[f[0]]).cross(placed[f[2]] - placed[f[0]]);
  }
  const float length = sum.norm();
  return length > 0 ? Vec3f(sum / length) : Vec3f(Vec3f::Zero());
}

float ContactProjection::distance_apart(std::uint32_t v, const Vec3f& normal, const ContactScratch& s) const {
  const Vec3f& at = s.placed[v];
  NearCrossings inwards;
  s.surface->cross(at, -normal, 0, std::numeric_limits<float>::infinity(), [&](const Crossing& crossing) {
    if (!is_own(crossing.triangle, v)) inwards.add(crossing);
  });
  int winding = -inwards.winding;
  if (winding >= 2) {
    for (std::size_t i = 0; i < inwards.count; ++i) {
      winding += inwards.list[i].winding;
      if (winding < 2) return -inwards.list[i].t;
    }
    return -std::numeric_limits<float>::infinity();
  }
  float nearest = std::numeric_limits<float>::infinity();
  s.surface->cross(at, normal, 0, params_.far * edge_[v], [&](const Crossing& crossing) {
    if (crossing.winding > 0 && !is_own(crossing.triangle, v)) nearest = std::min(nearest, crossing.t);
  });
  return nearest;
}

Vec3f ContactProjection::upright(std::uint32_t v, const ContactScratch& s, float& folded) const {
  // Each triangle that is folded wants its corners where the joints carry them, about its own middle.
  float bad = 0, whole = 0;
  Vec3f sum = Vec3f::Zero();
  const Quatf& turn = s.turns[v];
  for (const std::uint32_t corner : incidence_[v]) {
    const std::uint32_t t = corner / 3;
    const Triangle& f = closed_.triangles[t];
    const Vec3f &a = s.placed[f[0]], &b = s.placed[f[1]], &c = s.placed[f[2]];
    const float rest = rest_area_[t].norm();
    if (!(rest > 0)) continue;
    const float ratio = (b - a).cross(c - a).dot(turn * rest_area_[t]) / (rest * rest);
    whole += rest;
    const float share = rest * ramp((params_.flat_area - ratio) / params_.flat_width);
    if (!(share > 0)) continue;
    bad += share;
    sum += share * ((a + b + c) / 3 + turn * rest_corner_[corner] - s.placed[v]);
  }
  folded = whole > 0 ? bad / whole : 0;
  return bad > 0 ? Vec3f(sum / bad) : Vec3f(Vec3f::Zero());
}

void ContactProjection::separate(int sweep, ContactScratch& s) const {
  place_fans(s);
  s.surface->refit(s.placed);
  parallel_blocks(s.region.size(), kRaysPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = s.region[i];
      s.pushes[v] = 0;
      s.moves[v].setZero();
      s.normals[v].setZero();
      const float edge = edge_[v];
      if (!(s.activity[v] > 1e-4f * edge)) continue;
      const Vec3f n = s.normals[v] = normal(v, s.placed);
      const float active = ramp(s.activity[v] / (params_.active_from * edge));
      const float closing = ramp(s.activity[v] / (params_.closing_from * edge));
      const float apart = distance_apart(v, n, s), gap = params_.gap * edge;
      if (apart < gap) {
        const float fades = 1 - ramp((-apart / edge - params_.deep) / (params_.too_deep - params_.deep));
        if (fades > 0) s.pushes[v] = -0.5f * (gap - apart) * active * fades;
      } else if (sweep < params_.closing_sweeps && apart < params_.far * edge) {
        const float room = std::max(0.0f, (s.base[v] - s.placed[v]).dot(n));
        const float close = 0.5f * (apart - gap) * ramp(2 - 2 * apart / (params_.far * edge));
        s.pushes[v] = 0.5f * std::min(close, room) * closing;
      }
      if (sweep < params_.unfolding_sweeps && closing > 0) {
        float folded = 0;
        const Vec3f way = upright(v, s, folded);
        s.moves[v] = ramp(2 * folded) * closing * way;
      }
    }
  });
  parallel_blocks(s.region.size(), kPushesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = s.region[i];
      if (rings_[v].empty()) continue;
      float sum = 0;
      for (const std::uint32_t n : rings_[v]) sum += s.pushes[n];
      s.next[v] = (s.pushes[v] + sum / static_cast<float>(rings_[v].size())) / 2;
    }
  });
  for (const std::uint32_t v : s.region) {
    if (!(s.activity[v] > 1e-4f * edge_[v])) continue;
    s.placed[v] += s.next[v] * s.normals[v] + s.moves[v];
  }
}

void ContactProjection::unfold(ContactScratch& s) const {
  for (const std::uint32_t v : s.region)
    s.asked[v] = 0, s.retreat[v] = s.next[v] = s.activity[v] = s.pushes[v] = 0;
  s.region.clear();
  if (params_.upright_sweeps == 0) return;
  const std::size_t skin_triangles = rest_area_.size();
  for (std::size_t t = 0; t < skin_triangles; ++t) {
    const Triangle& f = closed_.triangles[t];
    const Vec3f area = (s.placed[f[1]] - s.placed[f[0]]).cross(s.placed[f[2]] - s.placed[f[0]]);
    // A first look: no bone turns the skin there much.
    const float rest = rest_area_[t].norm();
    if (!(rest > 0)) continue;
    const auto joints = weights_->row_joints(f[0]);
    if (joints.empty() || area.dot(s.rotations[joints[0]] * rest_area_[t]) > 0.7f * rest * rest) continue;
    for (const std::uint32_t v : f)
      if (!s.asked[v]) s.asked[v] = 1, s.region.push_back(v);
  }
  grow_region(s, params_.upright_rings);
  for (const std::uint32_t v : s.region) s.turns[v] = turn_of(v, s);
  for (int sweep = 0; sweep < params_.upright_sweeps; ++sweep) {
    parallel_blocks(s.region.size(), kPushesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        float folded = 0;
        const std::uint32_t v = s.region[i];
        const Vec3f way = upright(v, s, folded);
        s.moves[v] = ramp(2 * folded) * way;
      }
    });
    for (const std::uint32_t v : s.region) s.placed[v] += s.moves[v];
  }
}

void ContactProjection::project(std::span<const Affine3d> posed_from_rest, ContactScratch& s,
                                std::span<Vec3f> positions) const {
  if (posed_from_rest.size() < transforms_ || tree_->nodes().empty()) return;
  for (const Vec3f& p : positions)
    if (!p.allFinite()) return;
  std::copy(positions.begin(), positions.end(), s.placed.begin());
  pose(posed_from_rest, s);
  unfold(s);
  for (const std::uint32_t v : s.region) positions[v] = s.placed[v];
  place_fans(s);
  s.surface->refit(s.placed);
  flood(s);
  if (s.region.empty()) return;
  constexpr int kRings = 5;  // that smoothing and activity reach
  grow_region(s, kRings);
  std::sort(s.region.begin(), s.region.end());
  smooth_retreat(s);
  find_activity(s);
  for (const std::uint32_t v : s.region) {
    s.base[v] = s.placed[v];
    s.turns[v] = turn_of(v, s);
    const float hair = std::min(s.retreat[v], params_.hair * edge_[v]);
    s.placed[v] += std::min(s.retreat[v] + hair, s.ray[v]) * s.back[v];
  }
  for (int sweep = 0; sweep < params_.sweeps; ++sweep) separate(sweep, s);
  for (const std::uint32_t v : s.region) positions[v] = s.placed[v];
}

void ContactProjection::leave_room(const ContactScratch& s, std::span<float> room) const {
  for (const std::uint32_t v : s.region)
    room[v] = std::min(room[v], 1 - ramp(s.activity[v] / (params_.closing_from * edge_[v])));
}

}  // namespace sinew
