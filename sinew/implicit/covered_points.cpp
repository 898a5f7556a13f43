#include <sinew/implicit/covered_points.h>

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/implicit/covered_points.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::uint64_t covered_lanes(const FieldGrid& grid, const float* m, const PointBlock& points) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  const auto rows = hn::Set(di, grid.size()[1]), columns = hn::Set(di, grid.size()[2]);
  const auto* words = reinterpret_cast<const std::int32_t*>(grid.covered().data());
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < PointBlock::kSize; i += lanes) {
    const auto x = hn::Load(d, points.x.data() + i), y = hn::Load(d, points.y.data() + i),
               z = hn::Load(d, points.z.data() + i);
    const auto to_grid = [&](const float* row) {
      return hn::MulAdd(
          hn::Set(d, row[0]), x,
          hn::MulAdd(hn::Set(d, row[1]), y, hn::MulAdd(hn::Set(d, row[2]), z, hn::Set(d, row[3]))));
    };
    const auto inside = [&](const auto at, std::size_t axis) {
      return hn::And(hn::Ge(at, hn::Set(d, grid.low()[axis])), hn::Lt(at, hn::Set(d, grid.high()[axis])));
    };
    const auto gx = to_grid(m), gy = to_grid(m + 4), gz = to_grid(m + 8);
    const auto in = hn::And(inside(gx, 0), hn::And(inside(gy, 1), inside(gz, 2)));
    if (hn::AllFalse(d, in)) continue;
    const auto cell_of = [&](const auto at) { return hn::ConvertTo(di, hn::IfThenElseZero(in, at)); };
    const auto cell =
        hn::Add(hn::Mul(hn::Add(hn::Mul(cell_of(gx), rows), cell_of(gy)), columns), cell_of(gz));
    const auto word = hn::BitCast(du, hn::GatherIndex(di, words, hn::ShiftRight<5>(cell)));
    const auto bit = hn::Shr(word, hn::And(hn::BitCast(du, cell), hn::Set(du, 31)));
    const auto covered = hn::And(in, hn::RebindMask(d, hn::Eq(hn::And(bit, hn::Set(du, 1)), hn::Set(du, 1))));
    // Of up to 64 lanes, least first.
    std::uint8_t stored[8] = {};
    hn::StoreMaskBits(d, covered, stored);
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) bits |= std::uint64_t{stored[byte]} << (8 * byte);
    result |= bits << i;
  }
  return result;
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace sinew {

HWY_EXPORT(covered_lanes);

PointBlock::PointBlock() {
  for (std::array<float, kSize>* rows : {&x, &y, &z}) rows->fill(std::numeric_limits<float>::quiet_NaN());
}

std::uint64_t covered_points(const PosedField& field, const PointBlock& points) {
  return HWY_DYNAMIC_DISPATCH(covered_lanes)(*field.grid, field.grid_from_world.data(), points);
}

}  // namespace sinew

#endif
