#include <sinew/skinning/linear_blend.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include <sinew/core/parallel.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/skinning/linear_blend.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {  // other kernels' files use the same names

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kBlock = PackedWeights::kBlock;

#if HWY_TARGET == HWY_SCALAR

void skin_block(const float* rest, const std::uint16_t* joints, const float* weights, std::size_t influences,
                const SkinMatrix* matrices, float* posed) {
  for (std::size_t i = 0; i < kBlock; ++i) {
    const float* p = rest + 3 * i;
    for (int r = 0; r < 3; ++r) {
      float row[4] = {};
      for (std::size_t k = 0; k < influences; ++k)
        for (int c = 0; c < 4; ++c)
          row[c] += weights[k * kBlock + i] * matrices[joints[k * kBlock + i]].rows[r][c];
      posed[3 * i + r] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
    }
  }
}

#else

// A matrix is three rows of four floats: one AVX-512, two AVX2 or three 128-bit vectors. Each vertex blends
// whole matrices, which needs no gather, and multiplies each row by (x y z 1). Four vertices then add up
// their rows together, which leaves x y z of the four in three 128-bit vectors.
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
using D4 = hn::FixedTag<float, 4>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kVectors = (12 + kLanes - 1) / kLanes;

// Sums of each 128-bit row: lane v of each row of the result belongs to argument v.
HWY_INLINE V add_up_rows(V v0, V v1, V v2, V v3) {
  const D d;
  const hn::Repartition<double, D> d64;
  const V sum01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
  const V sum23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
  const auto pairs01 = hn::BitCast(d64, sum01);
  const auto pairs23 = hn::BitCast(d64, sum23);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, pairs01, pairs23)),
                 hn::BitCast(d, hn::InterleaveUpper(d64, pairs01, pairs23)));
}

// `influences` is a constant (std::integral_constant) for the common counts, so that the loop unrolls.
template <class Influences>
HWY_INLINE void skin_block_with(const float* HWY_RESTRICT rest, const std::uint16_t* HWY_RESTRICT joints,
                                const float* HWY_RESTRICT weights, Influences influences,
                                const SkinMatrix* HWY_RESTRICT matrices, float* HWY_RESTRICT posed) {
  const D d;
  const D4 d4;
  HWY_ALIGN constexpr float kPoint[16] = {1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0};
  const auto is_coordinate = hn::Ne(hn::Load(d, kPoint), hn::Zero(d));
  const V one = hn::Set(d, 1.0f);

  for (std::size_t i = 0; i < kBlock; i += 4) {
    V products[kVectors][4];
    for (std::size_t v = 0; v < 4; ++v) {
      const float* matrix = matrices[joints[i + v]].rows[0];
      V w = hn::Set(d, weights[i + v]);
      V blended[kVectors];
      for (std::size_t r = 0; r < kVectors; ++r) blended[r] = hn::Mul(w, hn::Load(d, matrix + r * kLanes));
      for (std::size_t k = 1; k < influences; ++k) {
        matrix = matrices[joints[k * kBlock + i + v]].rows[0];
        w = hn::Set(d, weights[k * kBlock + i + v]);
        for (std::size_t r = 0; r < kVectors; ++r)
          blended[r] = hn::MulAdd(w, hn::Load(d, matrix + r * kLanes), blended[r]);
      }
      // x y z and the next vertex's x, which gives way to 1: the translation's coordinate.
      const V point = hn::IfThenElse(is_coordinate, hn::LoadDup128(d, rest + 3 * (i + v)), one);
      for (std::size_t r = 0; r < kVectors; ++r) products[r][v] = hn::Mul(blended[r], point);
    }
    V sums[kVectors];
    for (std::size_t r = 0; r < kVectors; ++r)
      sums[r] = add_up_rows(products[r][0], products[r][1], products[r][2], products[r][3]);
#if HWY_MAX_BYTES >= 64
    const hn::FixedTag<float, 8> d8;
    const auto xy = hn::LowerHalf(d8, sums[0]);
    const auto z = hn::LowerHalf(d4, hn::UpperHalf(d8, sums[0]));
    hn::StoreInterleaved3(hn::LowerHalf(d4, xy), hn::UpperHalf(d4, xy), z, d4, posed + 3 * i);
#elif HWY_MAX_BYTES >= 32
    hn::StoreInterleaved3(hn::LowerHalf(d4, sums[0]), hn::UpperHalf(d4, sums[0]), hn::LowerHalf(d4, sums[1]),
                          d4, posed + 3 * i);
#else
    hn::StoreInterleaved3(sums[0], sums[1], sums[2], d4, posed + 3 * i);
#endif
  }
}

void skin_block(const float* rest, const std::uint16_t* joints, const float* weights, std::size_t influences,
                const SkinMatrix* matrices, float* posed) {
  switch (influences) {
    case 1:
      return skin_block_with(rest, joints, weights, std::integral_constant<std::size_t, 1>(), matrices,
                             posed);
    case 2:
      return skin_block_with(rest, joints, weights, std::integral_constant<std::size_t, 2>(), matrices,
                             posed);
    case 4:
      return skin_block_with(rest, joints, weights, std::integral_constant<std::size_t, 4>(), matrices,
                             posed);
    default:
      return skin_block_with(rest, joints, weights, influences, matrices, posed);
  }
}

#endif

void skin_blocks(std::span<const Vec3f> rest, const PackedWeights& weights,
                 std::span<const SkinMatrix> matrices, std::size_t first_block, std::size_t last_block,
                 std::span<Vec3f> posed) {
  for (std::size_t b = first_block; b < last_block; ++b) {
    const std::size_t begin = b * kBlock;
    const PackedWeights::Block block = weights.blocks()[b];
    const std::uint16_t* joints = weights.joints() + block.first;
    const float* values = weights.weights() + block.first;
    if (begin + kBlock < rest.size()) {
      skin_block(rest[begin].data(), joints, values, block.influences, matrices.data(), posed[begin].data());
    } else {
      // The kernel does whole blocks and reads one float past the last vertex.
      HWY_ALIGN float rest_buffer[3 * kBlock + 1] = {};
      HWY_ALIGN float posed_buffer[3 * kBlock];
      const std::size_t bytes = (rest.size() - begin) * sizeof(Vec3f);
      std::memcpy(rest_buffer, rest[begin].data(), bytes);
      skin_block(rest_buffer, joints, values, block.influences, matrices.data(), posed_buffer);
      std::memcpy(posed[begin].data(), posed_buffer, bytes);
    }
  }
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew {

HWY_EXPORT(skin_blocks);

void pack_matrices(std::span<const Affine3d> posed_from_rest, std::span<SkinMatrix> packed) {
  assert(posed_from_rest.size() == packed.size());
  for (std::size_t j = 0; j < packed.size(); ++j)
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 4; ++column)
        packed[j].rows[row][column] = row < 3 ? static_cast<float>(posed_from_rest[j](row, column)) : 0.0f;
}

void linear_blend_skinning(std::span<const Vec3f> rest, const PackedWeights& weights,
                           std::span<const SkinMatrix> matrices, std::span<Vec3f> posed) {
  assert(rest.size() == weights.vertex_count() && posed.size() == rest.size());
  constexpr std::size_t kBlocksPerTask = 64;
  parallel_blocks(weights.blocks().size(), kBlocksPerTask, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(skin_blocks)(rest, weights, matrices, begin, end, posed);
  });
}

}  // namespace sinew
#endif
