#include <sinew/projection/unfolding.h>

#include <algorithm>

#include <sinew/core/parallel.h>

namespace sinew {

namespace {

constexpr std::size_t kMovesPerTask = 128, kTrianglesPerTask = 1024;

}  // namespace

Vec3f Unfolding::move(std::uint32_t v, const ContactFrame& frame) const {
  float folded = 0, whole = 0;
  Vec3f sum = Vec3f::Zero();
  const Quatf& turn = frame.turns[v];
  const float size = skin_.scale(v, frame);
  if (!(size > 0)) return Vec3f::Zero();
  for (const std::uint32_t corner : skin_.incidence[v]) {
    const std::uint32_t t = corner / 3;
    const Triangle& f = skin_.closed.triangles[t];
    const Vec3f &a = frame.placed[f[0]], &b = frame.placed[f[1]], &c = frame.placed[f[2]];
    const float rest = skin_.area[t].norm();
    if (!(rest > 0)) continue;
    const float ratio = (b - a).cross(c - a).dot(turn * skin_.area[t]) / (size * size * rest * rest);
    whole += rest;
    const float share = rest * std::clamp((params_.flat_area - ratio) / params_.flat_width, 0.0f, 1.0f);
    if (!(share > 0)) continue;
    folded += share;
    sum += share * ((a + b + c) / 3 + size * (turn * skin_.corner[corner]) - frame.placed[v]);
  }
  if (!(folded > 0)) return Vec3f::Zero();
  // The middle of its ring, near neighbours first: else a short edge is torn to the length of its neighbours.
  Vec3f middle = Vec3f::Zero();
  float weights = 0;
  for (std::uint32_t k = skin_.rings.starts[v]; k < skin_.rings.starts[v + 1]; ++k) {
    middle += skin_.nearness[k] * (frame.placed[skin_.rings.neighbours[k]] - frame.placed[v]);
    weights += skin_.nearness[k];
  }
  const Vec3f upright = sum / folded, even = weights > 0 ? Vec3f(middle / weights) : upright;
  return std::min(2 * folded / whole, 1.0f) * (upright + params_.to_ring * (even - upright));
}

bool Unfolding::may_be_folded(std::size_t t, const ContactFrame& frame) const {
  constexpr float kUpright = 0.7f;  // share of the area that is seen from where the first bone turns it
  const Triangle& f = skin_.closed.triangles[t];
  const Vec3f &a = frame.placed[f[0]], &b = frame.placed[f[1]], &c = frame.placed[f[2]];
  const float rest = skin_.area[t].squaredNorm();
  const auto joints = skin_.weights->row_joints(f[0]);
  if (!(rest > 0) || joints.empty()) return false;
  const float size = frame.scales[joints[0]];
  return !((b - a).cross(c - a).dot(frame.rotations[joints[0]] * skin_.area[t]) >
           kUpright * size * size * rest);
}

void Unfolding::unfold(ContactFrame& frame) const {
  frame.clear_region();
  if (params_.upright_sweeps == 0) return;
  parallel_blocks(skin_.area.size(), kTrianglesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) frame.folded[t] = may_be_folded(t, frame);
  });
  for (std::size_t t = 0; t < skin_.area.size(); ++t) {
    if (frame.folded[t] == 0) continue;
    for (const std::uint32_t v : skin_.closed.triangles[t])
      if (!frame.asked[v]) frame.asked[v] = 1, frame.region.push_back(v);
  }
  frame.grow_region(skin_, params_.upright_rings);
  for (const std::uint32_t v : frame.region) frame.turns[v] = skin_.turn(v, frame);
  // Only what moved in a sweep, and its rings, can move in the next one.
  frame.frontier.assign(frame.region.begin(), frame.region.end());
  for (int sweep = 0; sweep < params_.upright_sweeps && !frame.frontier.empty(); ++sweep) {
    parallel_blocks(frame.frontier.size(), kMovesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        frame.moves[frame.frontier[i]] = move(frame.frontier[i], frame);
    });
    constexpr std::uint8_t kInRegion = 1, kListed = 2;
    frame.next_frontier.clear();
    const auto list = [&](std::uint32_t v) {
      if (frame.asked[v] != kInRegion) return;
      frame.asked[v] = kListed;
      frame.next_frontier.push_back(v);
    };
    for (const std::uint32_t v : frame.frontier) {
      if (frame.moves[v].isZero(0)) continue;
      frame.placed[v] += frame.moves[v];
      list(v);
      for (const std::uint32_t n : skin_.rings[v]) list(n);
    }
    for (const std::uint32_t v : frame.next_frontier) frame.asked[v] = kInRegion;
    frame.frontier.swap(frame.next_frontier);
  }
}

}  // namespace sinew
