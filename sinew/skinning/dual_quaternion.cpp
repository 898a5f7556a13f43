#include <sinew/skinning/dual_quaternion.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include <sinew/core/parallel.h>
#include <sinew/core/polar.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/skinning/dual_quaternion.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {  // other kernels' files use the same names

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kBlock = PackedWeights::kBlock;

// Blended, not yet normalised dual quaternions of one block.
struct BlendedBlock {
  HWY_ALIGN float real[4 * kBlock];
  HWY_ALIGN float dual[4 * kBlock];
};

#if HWY_TARGET == HWY_SCALAR

template <bool kPerVertexSigns>
void blend_block(const std::uint16_t* joints, const float* weights, std::size_t influences,
                 const DualQuaternion* motions, BlendedBlock& blended) {
  for (std::size_t i = 0; i < kBlock; ++i) {
    float sum[8] = {};
    const float* pivot = motions[joints[i]].real;
    for (std::size_t k = 0; k < influences; ++k) {
      const DualQuaternion& q = motions[joints[k * kBlock + i]];
      float w = weights[k * kBlock + i];
      if (kPerVertexSigns &&
          pivot[0] * q.real[0] + pivot[1] * q.real[1] + pivot[2] * q.real[2] + pivot[3] * q.real[3] < 0)
        w = -w;
      for (int c = 0; c < 4; ++c) {
        sum[c] += w * q.real[c];
        sum[4 + c] += w * q.dual[c];
      }
    }
    std::memcpy(blended.real + 4 * i, sum, 4 * sizeof(float));
    std::memcpy(blended.dual + 4 * i, sum + 4, 4 * sizeof(float));
  }
}

#else

using D4 = hn::FixedTag<float, 4>;
using V4 = hn::Vec<D4>;

// `weight` with the sign of <pivot, q>.
HWY_INLINE V4 signed_weight(V4 weight, V4 pivot, V4 q) {
  const V4 products = hn::Mul(pivot, q);
  const V4 pairs = hn::Add(products, hn::Shuffle2301(products));
  const V4 dot = hn::Add(pairs, hn::Shuffle1032(pairs));
  return hn::CopySignToAbs(weight, dot);
}

// One vertex at a time, so that a joint's motion is one or two contiguous loads instead of eight gathers.
template <bool kPerVertexSigns, class Influences>
HWY_INLINE void blend_block_with(const std::uint16_t* HWY_RESTRICT joints, const float* HWY_RESTRICT weights,
                                 Influences influences, const DualQuaternion* HWY_RESTRICT motions,
                                 BlendedBlock& blended) {
  const D4 d4;
#if HWY_MAX_BYTES >= 32
  const hn::FixedTag<float, 8> d8;
#endif
  for (std::size_t i = 0; i < kBlock; ++i) {
    const DualQuaternion& first = motions[joints[i]];
    const V4 pivot = hn::Load(d4, first.real);
#if HWY_MAX_BYTES >= 32
    auto sum = hn::Mul(hn::Set(d8, weights[i]), hn::Load(d8, first.real));
#else
    const V4 first_weight = hn::Set(d4, weights[i]);
    V4 real = hn::Mul(first_weight, pivot);
    V4 dual = hn::Mul(first_weight, hn::Load(d4, first.dual));
#endif
    for (std::size_t k = 1; k < influences; ++k) {
      const DualQuaternion& q = motions[joints[k * kBlock + i]];
#if HWY_MAX_BYTES >= 32
      if constexpr (kPerVertexSigns) {
        const V4 w = signed_weight(hn::Set(d4, weights[k * kBlock + i]), pivot, hn::Load(d4, q.real));
        sum = hn::MulAdd(hn::Combine(d8, w, w), hn::Load(d8, q.real), sum);
      } else {
        sum = hn::MulAdd(hn::Set(d8, weights[k * kBlock + i]), hn::Load(d8, q.real), sum);
      }
#else
      V4 w = hn::Set(d4, weights[k * kBlock + i]);
      const V4 q_real = hn::Load(d4, q.real);
      if constexpr (kPerVertexSigns) w = signed_weight(w, pivot, q_real);
      real = hn::MulAdd(w, q_real, real);
      dual = hn::MulAdd(w, hn::Load(d4, q.dual), dual);
#endif
    }
#if HWY_MAX_BYTES >= 32
    hn::Store(hn::LowerHalf(d4, sum), d4, blended.real + 4 * i);
    hn::Store(hn::UpperHalf(d4, sum), d4, blended.dual + 4 * i);
#else
    hn::Store(real, d4, blended.real + 4 * i);
    hn::Store(dual, d4, blended.dual + 4 * i);
#endif
  }
}

template <bool kPerVertexSigns>
void blend_block(const std::uint16_t* joints, const float* weights, std::size_t influences,
                 const DualQuaternion* motions, BlendedBlock& blended) {
  switch (influences) {
    case 1:
      return blend_block_with<false>(joints, weights, std::integral_constant<std::size_t, 1>(), motions,
                                     blended);
    case 2:
      return blend_block_with<kPerVertexSigns>(joints, weights, std::integral_constant<std::size_t, 2>(),
                                               motions, blended);
    case 4:
      return blend_block_with<kPerVertexSigns>(joints, weights, std::integral_constant<std::size_t, 4>(),
                                               motions, blended);
    default:
      return blend_block_with<kPerVertexSigns>(joints, weights, influences, motions, blended);
  }
}

#endif

// With real part (a, d) and dual part (b, e) before normalisation, |q|² = a² + |d|²:
// v = p + 2/|q|² ( d × (d × p + a p) + a e − b d + d × e ), which needs no square root.
void apply_block(const BlendedBlock& blended, const float* rest, float* posed) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < kBlock; i += lanes) {
    hn::Vec<decltype(d)> dx, dy, dz, a, ex, ey, ez, b, px, py, pz;
#if HWY_TARGET == HWY_SCALAR
    const float* real = blended.real + 4 * i;
    const float* dual = blended.dual + 4 * i;
    dx = hn::Set(d, real[0]), dy = hn::Set(d, real[1]), dz = hn::Set(d, real[2]), a = hn::Set(d, real[3]);
    ex = hn::Set(d, dual[0]), ey = hn::Set(d, dual[1]), ez = hn::Set(d, dual[2]), b = hn::Set(d, dual[3]);
    px = hn::Set(d, rest[3 * i]), py = hn::Set(d, rest[3 * i + 1]), pz = hn::Set(d, rest[3 * i + 2]);
#else
    hn::LoadInterleaved4(d, blended.real + 4 * i, dx, dy, dz, a);
    hn::LoadInterleaved4(d, blended.dual + 4 * i, ex, ey, ez, b);
    hn::LoadInterleaved3(d, rest + 3 * i, px, py, pz);
#endif
    const auto squared_norm = hn::MulAdd(a, a, hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz))));
    const auto two_over = hn::Div(hn::Set(d, 2.0f), squared_norm);
    // d × p + a p + e: folds the two cross products with d into one.
    const auto sx = hn::Add(hn::MulAdd(a, px, hn::MulSub(dy, pz, hn::Mul(dz, py))), ex);
    const auto sy = hn::Add(hn::MulAdd(a, py, hn::MulSub(dz, px, hn::Mul(dx, pz))), ey);
    const auto sz = hn::Add(hn::MulAdd(a, pz, hn::MulSub(dx, py, hn::Mul(dy, px))), ez);
    const auto mx = hn::Add(hn::MulSub(dy, sz, hn::Mul(dz, sy)), hn::MulSub(a, ex, hn::Mul(b, dx)));
    const auto my = hn::Add(hn::MulSub(dz, sx, hn::Mul(dx, sz)), hn::MulSub(a, ey, hn::Mul(b, dy)));
    const auto mz = hn::Add(hn::MulSub(dx, sy, hn::Mul(dy, sx)), hn::MulSub(a, ez, hn::Mul(b, dz)));
    const auto vx = hn::MulAdd(two_over, mx, px);
    const auto vy = hn::MulAdd(two_over, my, py);
    const auto vz = hn::MulAdd(two_over, mz, pz);
#if HWY_TARGET == HWY_SCALAR
    posed[3 * i] = hn::GetLane(vx), posed[3 * i + 1] = hn::GetLane(vy), posed[3 * i + 2] = hn::GetLane(vz);
#else
    hn::StoreInterleaved3(vx, vy, vz, d, posed + 3 * i);
#endif
  }
}

void skin_blocks(std::span<const Vec3f> rest, const PackedWeights& weights, const DualQuaternion* motions,
                 bool per_vertex_signs, std::size_t first_block, std::size_t last_block,
                 std::span<Vec3f> posed) {
  BlendedBlock blended;
  HWY_ALIGN float rest_buffer[3 * kBlock];
  HWY_ALIGN float posed_buffer[3 * kBlock];
  for (std::size_t b = first_block; b < last_block; ++b) {
    const std::size_t begin = b * kBlock;
    const std::size_t count = std::min(kBlock, rest.size() - begin);
    const PackedWeights::Block block = weights.blocks()[b];
    const std::uint16_t* joints = weights.joints() + block.first;
    const float* values = weights.weights() + block.first;
    if (per_vertex_signs)
      blend_block<true>(joints, values, block.influences, motions, blended);
    else
      blend_block<false>(joints, values, block.influences, motions, blended);
    if (count == kBlock) {
      apply_block(blended, rest[begin].data(), posed[begin].data());
    } else {
      // Padding vertices have weight 0 throughout; a unit quaternion keeps 0 / 0 out of the unused lanes.
      for (std::size_t i = count; i < kBlock; ++i) blended.real[4 * i + 3] = 1.0f;
      std::memset(rest_buffer, 0, sizeof rest_buffer);
      std::memcpy(rest_buffer, rest[begin].data(), count * sizeof(Vec3f));
      apply_block(blended, rest_buffer, posed_buffer);
      std::memcpy(posed[begin].data(), posed_buffer, count * sizeof(Vec3f));
    }
  }
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew {

HWY_EXPORT(skin_blocks);

namespace {

// Linear parts closer to a rotation than this lose less than a micrometre per metre when taken as one. Files
// hold scales such as 0.99999994, which must not cost a second pass.
constexpr double kRigidTolerance = 2e-6;

DualQuaternion to_dual_quaternion(const Mat3d& rotation, const Vec3d& translation) {
  const Quatd real = Quatd(rotation).normalized();
  // Dual part: ½ t q with t the pure quaternion of the translation.
  const Quatd t(0, translation.x(), translation.y(), translation.z());
  const Quatd dual = t * real;
  DualQuaternion result;
  for (int c = 0; c < 4; ++c) {
    result.real[c] = static_cast<float>(real.coeffs()[c]);
    result.dual[c] = static_cast<float>(0.5 * dual.coeffs()[c]);
  }
  return result;
}

float dot(const DualQuaternion& a, const DualQuaternion& b) {
  return a.real[0] * b.real[0] + a.real[1] * b.real[1] + a.real[2] * b.real[2] + a.real[3] * b.real[3];
}

// Turns the joints' quaternions, which stand for the same motion with either sign, so that pairs that share a
// vertex lie in one hemisphere. Returns whether all of them do: then no vertex needs a sign of its own.
// Around a loop of more than a full turn no such choice exists, and the kernel decides per vertex.
bool align_signs(std::span<DualQuaternion> motions,
                 const std::vector<std::pair<std::uint16_t, std::uint16_t>>& pairs) {
  // Two sweeps settle chains whose pairs do not come in hierarchical order; what is left is caught below.
  for (int sweep = 0; sweep < 2; ++sweep)
    for (const auto& [pivot, other] : pairs)
      if (dot(motions[pivot], motions[other]) < 0) {
        DualQuaternion& q = motions[other];
        for (int c = 0; c < 4; ++c) {
          q.real[c] = -q.real[c];
          q.dual[c] = -q.dual[c];
        }
      }
  for (const auto& [pivot, other] : pairs)
    if (dot(motions[pivot], motions[other]) < 0) return false;
  return true;
}

}  // namespace

SplitTransform split_transform(const Affine3d& posed_from_rest) {
  const Mat3d linear = posed_from_rest.linear();
  SplitTransform result;
  result.stretch = Affine3d::Identity();
  result.is_rigid =
      (linear.transpose() * linear - Mat3d::Identity()).cwiseAbs().maxCoeff() < kRigidTolerance &&
      linear.determinant() > 0;
  if (result.is_rigid) {
    result.rigid = to_dual_quaternion(linear, posed_from_rest.translation());
    return result;
  }
  // The whole reflection is in the stretch: joints that are mirrored together then stretch alike.
  const PolarFactors factors = polar_factors(linear);
  result.stretch.linear() = factors.stretch;
  result.rigid = to_dual_quaternion(factors.rotation, posed_from_rest.translation());
  return result;
}

DualQuaternionScratch make_dual_quaternion_scratch(std::size_t joint_count, std::size_t vertex_count) {
  DualQuaternionScratch scratch;
  scratch.rigid.resize(joint_count);
  scratch.stretch.resize(joint_count);
  scratch.stretched.resize(vertex_count);
  return scratch;
}

void dual_quaternion_skinning(std::span<const Vec3f> rest, const PackedWeights& weights,
                              std::span<const Affine3d> posed_from_rest, DualQuaternionScratch& scratch,
                              std::span<Vec3f> posed) {
  assert(rest.size() == weights.vertex_count() && posed.size() == rest.size());
  assert(scratch.rigid.size() == posed_from_rest.size() && scratch.stretched.size() == rest.size());
  bool all_rigid = true;
  for (std::size_t j = 0; j < posed_from_rest.size(); ++j) {
    const SplitTransform split = split_transform(posed_from_rest[j]);
    scratch.rigid[j] = split.rigid;
    pack_matrices({&split.stretch, 1}, {&scratch.stretch[j], 1});
    all_rigid = all_rigid && split.is_rigid;
  }
  if (!all_rigid) {
    linear_blend_skinning(rest, weights, scratch.stretch, scratch.stretched);
    rest = scratch.stretched;
  }
  const bool per_vertex_signs = !align_signs(scratch.rigid, weights.joint_pairs());
  constexpr std::size_t kBlocksPerTask = 64;
  parallel_blocks(weights.blocks().size(), kBlocksPerTask, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(skin_blocks)
    (rest, weights, scratch.rigid.data(), per_vertex_signs, begin, end, posed);
  });
}

}  // namespace sinew
#endif
