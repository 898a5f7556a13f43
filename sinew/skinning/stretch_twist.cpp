#include <sinew/skinning/stretch_twist.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <Eigen/LU>

#include <sinew/core/parallel.h>
#include <sinew/core/polar.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/skinning/stretch_twist.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {  // other kernels' files use the same names

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, StretchTwistBinding::kPadding>;
using V = hn::Vec<D>;

// c[0] + x c[1] + x² c[2] + …
template <std::size_t kSize>
HWY_INLINE V polynomial(V x, const float (&c)[kSize]) {
  const D d;
  V sum = hn::Set(d, c[kSize - 1]);
  for (std::size_t i = kSize - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

HWY_INLINE V dot(const float (&row)[3], V x, V y, V z) {
  const D d;
  return hn::MulAdd(hn::Set(d, row[0]), x, hn::MulAdd(hn::Set(d, row[1]), y, hn::Mul(hn::Set(d, row[2]), z)));
}

// Adds what one bone does to its vertices. They lie scattered, so they are gathered to be worked on together.
void add_motion(const StretchTwistBinding& binding, const StretchTwistBinding::Run& run,
                const BoneMotion& motion, const Vec3f* rest, Vec3f* posed) {
  constexpr std::size_t kChunk = StretchTwistBinding::kPadding;
  const D d;
  HWY_ALIGN float place[3][kChunk] = {};
  HWY_ALIGN float added[3][kChunk];
  for (std::size_t begin = run.begin; begin < run.end; begin += kChunk) {
    const std::size_t count = std::min<std::size_t>(kChunk, run.end - begin);
    const std::uint32_t* vertices = binding.vertices().data() + begin;
    if (motion.twists)
      for (std::size_t i = 0; i < count; ++i)
        for (int c = 0; c < 3; ++c) place[c][i] = rest[vertices[i]][c] - motion.head[c];
    for (std::size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
      const V weight = hn::LoadU(d, binding.weights() + begin + i);
      const V end = hn::LoadU(d, binding.ends() + begin + i);
      const V along = hn::Mul(weight, end);
      if (!motion.twists) {
        for (int c = 0; c < 3; ++c) hn::Store(hn::Mul(along, hn::Set(d, motion.stretch[c])), d, added[c] + i);
        continue;
      }
      // sin and 1 − cos of an angle within [-π, π], by Taylor's series for half the angle, doubled.
      constexpr float kSine[] = {1, -1 / 6.0f, 1 / 120.0f, -1 / 5040.0f, 1 / 362880.0f, -1 / 39916800.0f};
      constexpr float kCosine[] = {
          1, -1 / 2.0f, 1 / 24.0f, -1 / 720.0f, 1 / 40320.0f, -1 / 3628800.0f, 1 / 479001600.0f};
      const V half = hn::Mul(end, hn::Set(d, 0.5f * motion.angle));
      const V squared = hn::Mul(half, half);
      const V s = hn::Mul(half, polynomial(squared, kSine));
      const V c = polynomial(squared, kCosine);
      const V twice = hn::Mul(hn::Add(weight, weight), s);
      const V sine = hn::Mul(twice, c), versine = hn::Mul(twice, s);
      const V x = hn::Load(d, place[0] + i), y = hn::Load(d, place[1] + i), z = hn::Load(d, place[2] + i);
      for (int row = 0; row < 3; ++row) {
        V sum = hn::Mul(along, hn::Set(d, motion.stretch[row]));
        sum = hn::MulAdd(sine, dot(motion.turn[row], x, y, z), sum);
        sum = hn::MulAdd(versine, dot(motion.tilt[row], x, y, z), sum);
        hn::Store(sum, d, added[row] + i);
      }
    }
    for (std::size_t i = 0; i < count; ++i)
      for (int c = 0; c < 3; ++c) posed[vertices[i]][c] += added[c][i];
  }
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew {

HWY_EXPORT(add_motion);

namespace {

// Share of the bone at each end over which its twist and stretch set in. A plain clamped projection has a
// corner at the joints, which shows as a crease across the skin.
constexpr double kSoftEnd = 0.1;

// A joint with more bones (a head with its face) shares a vertex among its nearest ones.
constexpr std::size_t kMostShares = 4;
constexpr double kLeastWeight = 1e-6;

// Below these a bone is at rest: files round matrices to floats, which must not cost a pass over the
// vertices.
constexpr double kLeastTwist = 1e-6;    // radians
constexpr double kLeastStretch = 2e-6;  // of the lengths it is the difference of

constexpr double kLargest = 1e30;  // of a stretch that fits into floats with room to spare

double distance_to_segment(const Vec3d& p, const Vec3d& head, const Vec3d& tail) {
  const Vec3d bone = tail - head;
  const double u = std::clamp((p - head).dot(bone) / bone.squaredNorm(), 0.0, 1.0);
  return (p - head - u * bone).norm();
}

struct Share {
  std::uint32_t bone;
  double value;
};

/// Shares of a joint's bones [begin, end) in the vertex at `p`, summing to 1: Shepard's, of a power so high
/// that the nearest bone has nearly all, cut smoothly at the first bone that gets nothing.
void share_among_bones(const Vec3d& p, std::span<const StretchBone> bones, std::uint32_t begin,
                       std::uint32_t end, std::vector<Share>& shares) {
  shares.clear();
  for (std::uint32_t b = begin; b < end; ++b)
    shares.push_back({b, distance_to_segment(p, bones[b].head, bones[b].tail)});
  if (shares.size() == 1) {
    shares[0].value = 1;
    return;
  }
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.value != b.value ? a.value < b.value : a.bone < b.bone;
  });
  const double cut = shares.size() > kMostShares ? shares[kMostShares].value : 0;
  shares.resize(std::min(shares.size(), kMostShares));
  double length = 0;
  for (const Share& share : shares)
    length = std::max(length, (bones[share.bone].tail - bones[share.bone].head).norm());
  // Relative to the nearest, so that powers stay within range.
  const double nearest = std::max(shares[0].value, 1e-6 * length);
  double sum = 0;
  for (Share& share : shares) {
    const double distance = std::max(share.value, nearest);
    const double tail = cut > nearest ? std::max(0.0, (cut - distance) / (cut - nearest)) : 1;
    share.value = tail * tail * std::pow(nearest / distance, 4);
    sum += share.value;
  }
  for (Share& share : shares) share.value /= sum;
}

}  // namespace

double end_point_weight(const Vec3d& p, const Vec3d& head, const Vec3d& tail) {
  // Jacobson & Sorkine solve for bounded weights over the volume, to get a function that rises evenly along
  // the bone, is constant across it and beyond its ends. For a straight bone the projection is that function,
  // needs no volume mesh and works for open and broken surfaces alike.
  const Vec3d bone = tail - head;
  const double u = (p - head).dot(bone) / bone.squaredNorm();
  // From 0 to 1 with one slope in the middle and parabolas at both ends.
  constexpr double kSlope = 1 / (1 - kSoftEnd);
  const auto rise = [](double x) {
    return x <= 0 ? 0 : x < kSoftEnd ? 0.5 * kSlope * x * x / kSoftEnd : kSlope * (x - 0.5 * kSoftEnd);
  };
  return u < 0.5 ? rise(u) : 1 - rise(1 - u);
}

double bone_twist(const Vec3d& axis, const Affine3d& start_posed_from_rest,
                  const Affine3d& end_posed_from_rest) {
  const Mat3d start = start_posed_from_rest.linear();
  const double size = start.cwiseAbs().maxCoeff();
  if (!(size > 0) || !(std::abs(start.determinant()) > 1e-9 * size * size * size)) return 0;
  const Mat3d relative = start.inverse() * end_posed_from_rest.linear();
  if (!relative.allFinite() || !(relative.determinant() > 0)) return 0;
  Mat3d rotation = relative;
  if (!(relative.transpose() * relative).isIdentity(1e-9)) rotation = nearest_rotation(relative);
  Quatd turn(rotation);
  if (turn.w() < 0) turn.coeffs() = -turn.coeffs();
  const double along = turn.vec().dot(axis);
  const double angle = 2 * std::atan2(along, turn.w());
  // cos of half the swing; 0 when the end points straight back and any twist would do.
  const double half_swing = std::hypot(along, turn.w());
  const double x = std::clamp((half_swing - 0.05) / (0.25 - 0.05), 0.0, 1.0);
  return std::isfinite(angle) ? angle * x * x * (3 - 2 * x) : 0;
}

StretchTwistBinding::StretchTwistBinding(std::span<const Vec3f> rest, const SkinWeights& weights,
                                         std::vector<StretchBone> bones)
    : bones_(std::move(bones)) {
  assert(rest.size() == weights.rows());
  std::stable_sort(bones_.begin(), bones_.end(),
                   [](const StretchBone& a, const StretchBone& b) { return a.start < b.start; });
  std::vector<std::uint32_t> first_bone;  // per joint, and one more
  for (std::uint32_t b = 0; b < bones_.size(); ++b) {
    assert((bones_[b].tail - bones_[b].head).squaredNorm() > 0);
    while (first_bone.size() <= bones_[b].start) first_bone.push_back(b);
  }
  first_bone.push_back(static_cast<std::uint32_t>(bones_.size()));

  struct BlockEntry {
    std::uint32_t bone, vertex;
    double weight, end;
  };
  std::vector<BlockEntry> block;
  std::vector<Share> shares;
  for (std::size_t begin = 0; begin < rest.size(); begin += kBlock) {
    block.clear();
    for (std::size_t v = begin; v < std::min(begin + kBlock, rest.size()); ++v) {
      const Vec3d p = rest[v].cast<double>();
      for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i) {
        const std::uint32_t joint = weights.joints[i];
        if (joint + 1 >= first_bone.size() || first_bone[joint] == first_bone[joint + 1]) continue;
        share_among_bones(p, bones_, first_bone[joint], first_bone[joint + 1], shares);
        for (const Share& share : shares) {
          const StretchBone& bone = bones_[share.bone];
          const double weight = static_cast<double>(weights.values[i]) * share.value;
          const double end = end_point_weight(p, bone.head, bone.tail);
          if (weight > kLeastWeight && end > 0)
            block.push_back({share.bone, static_cast<std::uint32_t>(v), weight, end});
        }
      }
    }
    std::stable_sort(block.begin(), block.end(),
                     [](const BlockEntry& a, const BlockEntry& b) { return a.bone < b.bone; });
    block_starts_.push_back(static_cast<std::uint32_t>(runs_.size()));
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto next = static_cast<std::uint32_t>(vertices_.size());
      if (i == 0 || block[i].bone != block[i - 1].bone) runs_.push_back({block[i].bone, next, next});
      vertices_.push_back(block[i].vertex);
      weights_.push_back(static_cast<float>(block[i].weight));
      ends_.push_back(static_cast<float>(block[i].end));
      runs_.back().end = next + 1;
    }
  }
  block_starts_.push_back(static_cast<std::uint32_t>(runs_.size()));
  weights_.resize(weights_.size() + kPadding, 0.0f);
  ends_.resize(ends_.size() + kPadding, 0.0f);
}

namespace {

void copy_matrix(const Mat3d& from, float (&to)[3][3]) {
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) to[row][column] = static_cast<float>(from(row, column));
}

BoneMotion bone_motion(const StretchBone& bone, const Affine3d& start, const Affine3d& end) {
  BoneMotion motion;
  const Vec3d posed_tail = end * bone.tail;
  const Vec3d carried_tail = start * bone.tail;
  const Vec3d stretch = posed_tail - carried_tail;
  const double lengths = posed_tail.cwiseAbs().maxCoeff() + carried_tail.cwiseAbs().maxCoeff() +
                         (carried_tail - start * bone.head).norm();
  motion.stretches = bone.stretch && stretch.allFinite() && stretch.cwiseAbs().maxCoeff() < kLargest &&
                     stretch.norm() > kLeastStretch * lengths;
  if (motion.stretches)
    for (int c = 0; c < 3; ++c) motion.stretch[c] = static_cast<float>(stretch[c]);

  const Vec3d axis = (bone.tail - bone.head).normalized();
  const double angle = bone.twist * bone_twist(axis, start, end);
  motion.twists = std::abs(angle) > kLeastTwist;
  if (motion.twists) {
    // Rodrigues: K(e) − 1 = sin(e·angle) [axis]× + (1 − cos(e·angle)) [axis]×².
    Mat3d cross;
    cross << 0, -axis.z(), axis.y(), axis.z(), 0, -axis.x(), -axis.y(), axis.x(), 0;
    motion.angle = static_cast<float>(angle);
    for (int c = 0; c < 3; ++c) motion.head[c] = static_cast<float>(bone.head[c]);
    copy_matrix(start.linear() * cross, motion.turn);
    copy_matrix(start.linear() * cross * cross, motion.tilt);
  }
  return motion;
}

}  // namespace

StretchTwistScratch make_stretch_twist_scratch(std::size_t joint_count, const StretchTwistBinding& binding) {
  StretchTwistScratch scratch;
  scratch.matrices.resize(joint_count);
  scratch.motions.resize(binding.bones().size());
  return scratch;
}

void stretch_twist_skinning(std::span<const Vec3f> rest, const PackedWeights& weights,
                            const StretchTwistBinding& binding, std::span<const Affine3d> posed_from_rest,
                            StretchTwistScratch& scratch, std::span<Vec3f> posed) {
  assert(scratch.matrices.size() == posed_from_rest.size());
  assert(scratch.motions.size() == binding.bones().size());
  pack_matrices(posed_from_rest, scratch.matrices);
  linear_blend_skinning(rest, weights, scratch.matrices, posed);

  bool any = false;
  for (std::size_t b = 0; b < scratch.motions.size(); ++b) {
    const StretchBone& bone = binding.bones()[b];
    scratch.motions[b] = bone_motion(bone, posed_from_rest[bone.start], posed_from_rest[bone.end]);
    any = any || scratch.motions[b].twists || scratch.motions[b].stretches;
  }
  if (!any) return;
  parallel_blocks(binding.block_starts().size() - 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::uint32_t r = binding.block_starts()[begin]; r < binding.block_starts()[end]; ++r) {
      const StretchTwistBinding::Run& run = binding.runs()[r];
      const BoneMotion& motion = scratch.motions[run.bone];
      if (motion.twists || motion.stretches)
        HWY_DYNAMIC_DISPATCH(add_motion)(binding, run, motion, rest.data(), posed.data());
    }
  });
}

}  // namespace sinew
#endif
