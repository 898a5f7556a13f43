#include <sinew/tracking/tracking_frame.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include <sinew/core/polar.h>
#include <sinew/core/smooth_step.h>

namespace sinew {

namespace {

constexpr float kThinTriangle = 0.3f;  // area over that at rest below which a triangle is nearly flipped
constexpr float kSurelyOpen = 0.7f;    // from which on it is not
constexpr float kShrunk = 0.9f;    // size of a blend of turns, of theirs, up to which it is made a rotation
constexpr float kDrawn = 0.3f;     // share of the way to the ring's mean that a tangled vertex goes at first
constexpr float kSettled = 0.01f;  // a way so short, in edges, is not worth another sweep
constexpr float kTurned = 0.8f;    // trace of a turn by 45 degrees, in thirds: from there on it may be

using VertexTurn = TrackingScratch::VertexTurn;

VertexTurn mean_turn(const VertexTurn& a, const VertexTurn& b, const VertexTurn& c) {
  return {(a.turn + b.turn + c.turn) / 3, (a.scale + b.scale + c.scale) / 3};
}

/// A blend of turns that has shrunk so much that it also leans normals over becomes a rotation.
void unshrink(VertexTurn& blend) {
  const float least = kShrunk * std::numbers::sqrt3_v<float> * blend.scale;
  if (blend.turn.squaredNorm() < least * least) blend.turn = polar_rotation<float>(blend.turn);
}

bool bit_of(std::span<const std::uint64_t> words, std::size_t i) {
  return (words[i / 64] >> (i % 64) & 1) != 0;
}

}  // namespace

void SkinTracker::Frame::find_turned_pairs() const {
  // The first is none.
  for (std::size_t p = 1; p < t_.turn_pairs_.size(); ++p) {
    const auto [a, b] = t_.turn_pairs_[p];
    s_.pair_turned[p] =
        s_.turns[a].cwiseProduct(s_.turns[b]).sum() < kTurned * s_.turn_sizes[a] * s_.turn_sizes[b];
  }
}

void SkinTracker::Frame::find_stirred(std::size_t b, bool all_slides) const {
  const std::size_t begin = b * kBlock, end = std::min(begin + kBlock, t_.tracked_);
  s_.bent[b] = all_slides ? ~std::uint64_t{0} : 0;
  for (std::size_t i = begin; i < end; ++i) {
    s_.is_carried[i] = 0;
    s_.stirred[b] |= std::uint64_t{stirred(i)} << (i - begin);
    s_.bent[b] |= std::uint64_t{s_.pair_turned[t_.turn_pair_[i]]} << (i - begin);
  }
}

void SkinTracker::Frame::find_turns(std::size_t b) const {
  for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i)
    s_.vertex_turns[i] = blended_turn(i);
}

TrackingScratch::VertexTurn SkinTracker::Frame::blended_turn(std::size_t i) const {
  VertexTurn sum{Eigen::Matrix3f::Zero(), 0};
  const auto joints = t_.weights_.row_joints(i);
  const auto values = t_.weights_.row_values(i);
  for (std::size_t k = 0; k < joints.size(); ++k) {
    sum.turn += values[k] * s_.turns[joints[k]];
    sum.scale += values[k] * s_.turn_sizes[joints[k]];
  }
  sum.scale /= std::numbers::sqrt3_v<float>;
  return sum;
}

TrackingScratch::VertexTurn SkinTracker::Frame::turn_of(std::size_t i) const {
  return i < t_.tracked_ ? s_.vertex_turns[i] : blended_turn(i);
}

void SkinTracker::Frame::find_suspect_blocks() const {
  s_.swept_blocks.clear();
  for (std::uint32_t b = 0; b < s_.blocks.size(); ++b) {
    const auto near = t_.near_blocks(b);
    const auto stirs = [&](std::uint32_t n) { return s_.stirred[n] != 0; };
    if (s_.may_untangle[b] && (s_.bent[b] != 0 || std::any_of(near.begin(), near.end(), stirs)))
      s_.swept_blocks.push_back(b);
  }
  list_turned_blocks();
}

void SkinTracker::Frame::list_turned_blocks() const {
  s_.turned_blocks.clear();
  for (const std::uint32_t b : s_.swept_blocks)
    for (const std::uint32_t n : t_.near_blocks(b))
      if (!s_.has_turns[n]) s_.has_turns[n] = 1, s_.turned_blocks.push_back(n);
}

void SkinTracker::Frame::find_tangled(std::size_t b) const {
  const std::size_t begin = b * kBlock;
  // Bits of the block's vertices. Triangles may be flipped beside skin that has moved, or where the two
  // heaviest joints of a vertex have turned against each other.
  std::uint64_t suspects = s_.bent[b], tangled = 0;
  const auto is_stirred = [&](std::uint32_t i) { return i < t_.tracked_ && bit_of(s_.stirred, i); };
  const auto bit_in_block = [&](std::uint32_t i) {
    const std::size_t place = i - begin;  // huge for those before it
    return place < kBlock && i < t_.tracked_ ? std::uint64_t{1} << place : std::uint64_t{0};
  };
  for (const Triangle& t : t_.block_triangles(b)) {
    const bool stirs[3] = {is_stirred(t[0]), is_stirred(t[1]), is_stirred(t[2])};
    for (std::size_t c = 0; c < 3; ++c)
      if (stirs[(c + 1) % 3] || stirs[(c + 2) % 3]) suspects |= bit_in_block(t[c]);
  }
  for (const Triangle& t : t_.block_triangles(b)) {
    const std::uint64_t corners = suspects & (bit_in_block(t[0]) | bit_in_block(t[1]) | bit_in_block(t[2]));
    if ((corners & ~tangled) != 0 && is_thin(t)) tangled |= corners;
  }
  for (; tangled != 0; tangled &= tangled - 1) {
    const std::size_t i = begin + static_cast<std::size_t>(std::countr_zero(tangled));
    if (t_.mean_values_.valid[i] && std::isfinite(s_.now[i].sum())) ask_round(i);
  }
}

bool SkinTracker::Frame::is_thin(const Triangle& t) const {
  const Vec3f first = s_.now[t[1]] - s_.now[t[0]], second = s_.now[t[2]] - s_.now[t[0]];
  const Vec3f rest_first = t_.rest_[t[1]] - t_.rest_[t[0]], rest_second = t_.rest_[t[2]] - t_.rest_[t[0]];
  const Vec3f normal = first.cross(second), rest_normal = rest_first.cross(rest_second);
  const auto has_less = [&](float share, const VertexTurn& turn) {
    // <c, n> < share |c| s² A, c the carried normal, n that of now with its double area, A that at rest.
    const Vec3f carried = (turn.turn * rest_first).cross(turn.turn * rest_second);
    const float sizes = carried.norm() * rest_normal.norm();
    // Those without an area have no side, either.
    return sizes > 0 && carried.dot(normal) < share * turn.scale * turn.scale * sizes;
  };
  VertexTurn turn = mean_turn(turn_of(t[0]), turn_of(t[1]), turn_of(t[2]));
  // Nearly all have more, and then no rotation need be found.
  if (!has_less(kSurelyOpen, turn)) return false;
  unshrink(turn);
  return has_less(kThinTriangle, turn);
}

void SkinTracker::Frame::ask_round(std::size_t i) const {
  const auto ask = [&](std::size_t n) {
    const std::uint64_t bit = std::uint64_t{1} << (n % kBlock);
    // Other blocks' vertices ask, too; in which order makes no difference.
    if (n < t_.tracked_) std::atomic_ref(s_.next_asked[n / kBlock]).fetch_or(bit, std::memory_order_relaxed);
  };
  ask(i);
  for (const std::uint32_t n : t_.rings_[i]) ask(n);
}

void SkinTracker::Frame::find_asked_blocks() const {
  std::swap(s_.asked, s_.next_asked);
  std::fill(s_.next_asked.begin(), s_.next_asked.end(), std::uint64_t{0});
  s_.swept_blocks.clear();
  for (std::uint32_t b = 0; b < s_.blocks.size(); ++b)
    if (s_.may_untangle[b] && s_.asked[b] != 0) s_.swept_blocks.push_back(b);
  list_turned_blocks();
}

void SkinTracker::Frame::untangle(std::size_t b, float left) const {
  s_.goes[b] = 0;
  for (std::uint64_t asked = s_.asked[b]; asked != 0; asked &= asked - 1) {
    const int k = std::countr_zero(asked);
    const std::size_t i = b * kBlock + static_cast<std::size_t>(k);
    if (!t_.mean_values_.valid[i] || !std::isfinite(s_.now[i].sum())) continue;
    const Vec3f way = way_upright(i, kDrawn * left);
    if (way == Vec3f::Zero()) continue;
    const float settled = kSettled * t_.edge_[i] * s_.vertex_turns[i].scale;
    if (!(way.squaredNorm() > settled * settled)) continue;
    s_.next[i] = s_.now[i] + way;
    s_.goes[b] |= std::uint64_t{1} << k;
  }
}

void SkinTracker::Frame::take_untangled(std::size_t b) const {
  for (std::uint64_t left = s_.goes[b]; left != 0; left &= left - 1) {
    const std::size_t i = b * kBlock + static_cast<std::size_t>(std::countr_zero(left));
    s_.now[i] = s_.next[i];
    ask_round(i);
  }
}

void SkinTracker::Frame::carry_triangles(std::size_t i) const {
  const auto ring = t_.rings_[i];
  const VertexTurn own = turn_of(i);
  VertexTurn before = turn_of(ring.back());
  Vec3f rest_before = t_.rest_[ring.back()] - t_.rest_[i];
  for (std::size_t k = 0; k < ring.size(); ++k) {
    const VertexTurn here = turn_of(ring[k]);
    const Vec3f rest_here = t_.rest_[ring[k]] - t_.rest_[i];
    VertexTurn turn = mean_turn(own, before, here);
    unshrink(turn);
    const Vec3f normal = (turn.turn * rest_before).cross(turn.turn * rest_here);
    // Blended turns shrink what they turn, the area is that without it.
    const float size = turn.scale * turn.scale * rest_before.cross(rest_here).norm() * normal.norm();
    s_.carried[t_.rings_.starts[i] + k] = size > 0 ? Vec3f(normal / size) : Vec3f(Vec3f::Zero());
    s_.corner[t_.rings_.starts[i] + k].x() = std::numeric_limits<float>::quiet_NaN();
    before = here, rest_before = rest_here;
  }
  s_.is_carried[i] = 1;
}

Vec3f SkinTracker::Frame::way_upright(std::size_t i, float drawn) const {
  if (!s_.is_carried[i]) carry_triangles(i);
  const auto ring = t_.rings_[i];
  const std::size_t first = t_.rings_.starts[i];
  Vec3f sum = Vec3f::Zero();
  float most = 0;
  std::uint32_t last = ring.back();
  for (std::size_t k = 0; k < ring.size(); ++k) {
    const Vec3f before = s_.now[last] - s_.now[i], edge = s_.now[ring[k]] - s_.now[i];
    const Vec3f& carried = s_.carried[first + k];
    const float area = before.cross(edge).dot(carried);
    if (carried != Vec3f::Zero() && area < kThinTriangle) {
      Vec3f& corner = s_.corner[first + k];
      if (!std::isfinite(corner.x())) corner = carried_corner(i, last, ring[k]);
      // From the corner to the triangle's centre, and from there to where the corner should be.
      const float share = 1 - smooth_step(0, kThinTriangle, area);
      sum += share * ((before + edge) / 3 + corner);
      most = std::max(most, share);
    }
    last = ring[k];
  }
  sum /= static_cast<float>(ring.size());
  if (most > 0) sum += drawn * most * (ring_mean(i) - s_.now[i]);
  return std::isfinite(sum.sum()) ? sum : Vec3f(Vec3f::Zero());
}

Vec3f SkinTracker::Frame::carried_corner(std::size_t i, std::size_t second, std::size_t third) const {
  const VertexTurn a = turn_of(i), b = turn_of(second), c = turn_of(third);
  const Eigen::Matrix3f turn = polar_rotation<float>(a.turn + b.turn + c.turn);
  const float scale = (a.scale + b.scale + c.scale) / 3;
  return scale * (turn * ((2 * t_.rest_[i] - t_.rest_[second] - t_.rest_[third]) / 3));
}

}  // namespace sinew
