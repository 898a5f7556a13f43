#include <sinew/tracking/probe_lanes.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

#include <sinew/tracking/gradients.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/tracking/probe_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {  // other kernels' files use the same names

namespace hn = hwy::HWY_NAMESPACE;
using namespace meeting;

// Vertices of one own field, as many as a vector has lanes.
constexpr std::size_t kMost = 8;
using D = hn::CappedTag<float, kMost>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

struct V3 {
  V x, y, z;
};

HWY_INLINE V set(float value) {
  return hn::Set(D(), value);
}
HWY_INLINE V3 set(const Vec3f& v) {
  return {set(v.x()), set(v.y()), set(v.z())};
}
HWY_INLINE V load(const float* from) {
  return hn::Load(D(), from);
}
HWY_INLINE V dot(const V3& a, const V3& b) {
  return hn::MulAdd(a.x, b.x, hn::MulAdd(a.y, b.y, hn::Mul(a.z, b.z)));
}
HWY_INLINE V3 sub(const V3& a, const V3& b) {
  return {hn::Sub(a.x, b.x), hn::Sub(a.y, b.y), hn::Sub(a.z, b.z)};
}
HWY_INLINE V3 scaled(V t, const V3& a) {
  return {hn::Mul(t, a.x), hn::Mul(t, a.y), hn::Mul(t, a.z)};
}
/// a + t (b − a)
HWY_INLINE V mix(V a, V t, V b) {
  return hn::MulAdd(t, hn::Sub(b, a), a);
}
HWY_INLINE V3 mix(const V3& a, V t, const V3& b) {
  return {mix(a.x, t, b.x), mix(a.y, t, b.y), mix(a.z, t, b.z)};
}
HWY_INLINE V choose(M yes, V a, V b) {
  return hn::IfThenElse(yes, a, b);
}
HWY_INLINE V3 choose(M yes, const V3& a, const V3& b) {
  return {choose(yes, a.x, b.x), choose(yes, a.y, b.y), choose(yes, a.z, b.z)};
}
HWY_INLINE V smooth_step(float low, float high, V x) {
  const V t = hn::Min(set(1), hn::Max(set(0), hn::Mul(hn::Sub(x, set(low)), set(1 / (high - low)))));
  return hn::Mul(hn::Mul(t, t), hn::NegMulAdd(set(2), t, set(3)));
}

HWY_INLINE std::uint32_t bits_of(M mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(D(), mask, bytes);
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8;
}
HWY_INLINE M mask_of(std::uint32_t bits) {
  const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
  return hn::LoadMaskBits(D(), bytes);
}
template <typename Work>
HWY_INLINE void each_lane(std::uint32_t bits, const Work& work) {
  for (; bits != 0; bits &= bits - 1) work(static_cast<std::size_t>(std::countr_zero(bits)));
}

struct Samples {
  V value;
  V3 gradient;
};

/// Vertices of one own field and the points at which they ask.
struct Chunk {
  std::size_t count = 0;
  std::uint32_t turned = 0;  // bits of those that see some field turned
  std::uint32_t anew = 0;    // and of those that ask which fields there are
  std::uint32_t vertex[kMost];
  HWY_ALIGN float x[kMost], y[kMost], z[kMost];
  Vec3f low = Vec3f::Constant(std::numeric_limits<float>::max()), high = -low;  // of the points

  Vec3f at(std::size_t lane) const { return {x[lane], y[lane], z[lane]}; }
  V3 points() const { return {load(x), load(y), load(z)}; }
};

/// The points of a chunk in one field's grid.
struct GridPlaces {
  V3 at;
  M inside;
};

HWY_INLINE GridPlaces places_in(const PosedField& field, const V3& p) {
  const float* m = field.grid_from_world.data();
  const FieldGrid& grid = *field.grid;
  const auto row = [&](const float* r) HWY_ATTR {
    return hn::MulAdd(set(r[0]), p.x, hn::MulAdd(set(r[1]), p.y, hn::MulAdd(set(r[2]), p.z, set(r[3]))));
  };
  const V3 at{row(m), row(m + 4), row(m + 8)};
  const auto in = [&](V c, std::size_t axis) HWY_ATTR {
    return hn::And(hn::Ge(c, set(grid.low()[axis])), hn::Lt(c, set(grid.high()[axis])));
  };
  return {at, hn::And(in(at.x, 0), hn::And(in(at.y, 1), in(at.z, 2)))};
}

/// A cell, 0 for points outside of the grid, and where in it they are.
struct Cells {
  VI cell;
  V3 fraction;
};

HWY_INLINE Cells cells_of(const FieldGrid& grid, const GridPlaces& places) {
  const auto safe = [&](V c) HWY_ATTR { return hn::IfThenElseZero(places.inside, c); };
  const V x = safe(places.at.x), y = safe(places.at.y), z = safe(places.at.z);
  const VI ix = hn::ConvertTo(DI(), x), iy = hn::ConvertTo(DI(), y), iz = hn::ConvertTo(DI(), z);
  const VI rows = hn::Set(DI(), grid.size()[1]), columns = hn::Set(DI(), grid.size()[2]);
  return {hn::Add(hn::Mul(hn::Add(hn::Mul(ix, rows), iy), columns), iz),
          {hn::Sub(x, hn::ConvertTo(D(), ix)), hn::Sub(y, hn::ConvertTo(D(), iy)),
           hn::Sub(z, hn::ConvertTo(D(), iz))}};
}

/// Bits of the points that the field covers.
HWY_INLINE std::uint32_t covered(const PosedField& field, const GridPlaces& places) {
  using DU = hn::RebindToUnsigned<D>;
  const VI cell = cells_of(*field.grid, places).cell;
  const auto* words = reinterpret_cast<const std::int32_t*>(field.grid->covered().data());
  const auto word = hn::BitCast(DU(), hn::GatherIndex(DI(), words, hn::ShiftRight<5>(cell)));
  const auto place = hn::And(hn::BitCast(DU(), cell), hn::Set(DU(), 31));
  const auto one = hn::Set(DU(), 1);
  const M set_bits = hn::RebindMask(D(), hn::Eq(hn::And(hn::Shr(word, place), one), one));
  return bits_of(hn::And(places.inside, set_bits));
}

/// Four numbers for each lane, one after the other in memory as they were stored, by number.
HWY_INLINE Samples transposed(const float* found) {
#if HWY_TARGET != HWY_SCALAR && HWY_MAX_BYTES >= 32
  // Loads that are as wide as the stores before them need not wait for these.
  static_assert(kLanes == 8);
  const hn::FixedTag<float, 4> d4;
  hn::Vec<decltype(d4)> low[4], high[4];
  hn::LoadInterleaved4(d4, found, low[0], low[1], low[2], low[3]);
  hn::LoadInterleaved4(d4, found + 16, high[0], high[1], high[2], high[3]);
  return {hn::Combine(D(), high[0], low[0]),
          {hn::Combine(D(), high[1], low[1]), hn::Combine(D(), high[2], low[2]),
           hn::Combine(D(), high[3], low[3])}};
#else
  Samples s;
  hn::LoadInterleaved4(D(), found, s.value, s.gradient.x, s.gradient.y, s.gradient.z);
  return s;
#endif
}

/// Trilinear interpolation of a cell's eight nodes, four numbers each.
HWY_INLINE void interpolate(const FieldGrid::Node* node, std::size_t along_x, std::size_t along_y, float tx,
                            float ty, float tz, float* result) {
  const float *n00 = &node->value, *n01 = &node[along_y].value, *n10 = &node[along_x].value,
              *n11 = &node[along_x + along_y].value;
#if HWY_TARGET == HWY_SCALAR
  for (int c = 0; c < 4; ++c) {
    const auto pair = [&](int z) {
      const int k = 4 * z + c;
      const float a = n00[k] + ty * (n01[k] - n00[k]), b = n10[k] + ty * (n11[k] - n10[k]);
      return a + tx * (b - a);
    };
    const float low = pair(0), high = pair(1);
    result[c] = low + tz * (high - low);
  }
#elif HWY_MAX_BYTES >= 32
  // A node and the next one in z at once.
  const hn::FixedTag<float, 8> d8;
  const hn::FixedTag<float, 4> d4;
  const auto mix8 = [&](auto a, auto t, auto b) HWY_ATTR { return hn::MulAdd(t, hn::Sub(b, a), a); };
  const auto t8 = hn::Set(d8, ty);
  const auto a = mix8(hn::LoadU(d8, n00), t8, hn::LoadU(d8, n01));
  const auto b = mix8(hn::LoadU(d8, n10), t8, hn::LoadU(d8, n11));
  const auto c = mix8(a, hn::Set(d8, tx), b);
  const auto low = hn::LowerHalf(d4, c), high = hn::UpperHalf(d4, c);
  hn::Store(hn::MulAdd(hn::Set(d4, tz), hn::Sub(high, low), low), d4, result);
#else
  const hn::FixedTag<float, 4> d4;
  const auto mix4 = [&](auto a, auto t, auto b) HWY_ATTR { return hn::MulAdd(t, hn::Sub(b, a), a); };
  const auto x4 = hn::Set(d4, tx), y4 = hn::Set(d4, ty);
  const auto pair = [&](std::size_t z) HWY_ATTR {
    return mix4(mix4(hn::Load(d4, n00 + z), y4, hn::Load(d4, n01 + z)), x4,
                mix4(hn::Load(d4, n10 + z), y4, hn::Load(d4, n11 + z)));
  };
  hn::Store(mix4(pair(0), hn::Set(d4, tz), pair(4)), d4, result);
#endif
}

/// The field at the points of some lanes, zero for the others; as the vertices see it.
HWY_INLINE Samples samples_at(const ProbeTables& t, const Chunk& chunk, std::size_t field,
                              const GridPlaces& places, std::uint32_t lanes) {
  const PosedField& posed = t.posed[field];
  const FieldGrid& grid = *posed.grid;
  HWY_ALIGN float found[4 * kMost] = {};
  if (posed.muscle_count != 0) {
    HWY_ALIGN float rows[4][kMost] = {};
    each_lane(lanes, [&](std::size_t lane) {
      const FieldSample s = t.sample(chunk.vertex[lane], field, chunk.at(lane));
      rows[0][lane] = s.value;
      for (int c = 0; c < 3; ++c) rows[1 + c][lane] = s.gradient[c];
    });
    return {load(rows[0]), {load(rows[1]), load(rows[2]), load(rows[3])}};
  }
  const Cells cells = cells_of(grid, places);
  HWY_ALIGN float tx[kMost], ty[kMost], tz[kMost];
  HWY_ALIGN std::int32_t cell[kMost];
  hn::Store(cells.fraction.x, D(), tx);
  hn::Store(cells.fraction.y, D(), ty);
  hn::Store(cells.fraction.z, D(), tz);
  hn::Store(cells.cell, DI(), cell);
  const auto along_y = static_cast<std::size_t>(grid.size()[2]);
  const std::size_t along_x = along_y * static_cast<std::size_t>(grid.size()[1]);
  const FieldGrid::Node* nodes = grid.nodes().data();
  each_lane(lanes, [&](std::size_t lane) HWY_ATTR {
    interpolate(nodes + cell[lane], along_x, along_y, tx[lane], ty[lane], tz[lane], found + 4 * lane);
  });
  const Samples in_grid = transposed(found);
  const V3& g = in_grid.gradient;
  const float* m = posed.grid_from_world.data();
  const auto column = [&](const float* c) HWY_ATTR {
    return hn::MulAdd(set(c[0]), g.x, hn::MulAdd(set(c[4]), g.y, hn::Mul(set(c[8]), g.z)));
  };
  Samples result{in_grid.value, {column(m), column(m + 1), column(m + 2)}};
  if (const std::uint32_t turned = lanes & chunk.turned; turned != 0) {
    HWY_ALIGN float rows[3][kMost];
    hn::Store(result.gradient.x, D(), rows[0]);
    hn::Store(result.gradient.y, D(), rows[1]);
    hn::Store(result.gradient.z, D(), rows[2]);
    each_lane(turned, [&](std::size_t lane) {
      const Vec3f seen =
          t.seen_gradient(chunk.vertex[lane], field, {rows[0][lane], rows[1][lane], rows[2][lane]});
      for (int c = 0; c < 3; ++c) rows[c][lane] = seen[c];
    });
    result.gradient = {load(rows[0]), load(rows[1]), load(rows[2])};
  }
  return result;
}

/// The chunk's points as its vertices see one field.
HWY_INLINE V3 points_for(const ProbeTables& t, const Chunk& chunk, std::size_t field) {
  if (chunk.turned == 0) return chunk.points();
  Chunk seen = chunk;
  each_lane(chunk.turned, [&](std::size_t lane) {
    const Vec3f at = t.seen_place(chunk.vertex[lane], field, chunk.at(lane));
    seen.x[lane] = at.x(), seen.y[lane] = at.y(), seen.z[lane] = at.z();
  });
  return seen.points();
}

HWY_INLINE Samples all_of_field(const ProbeTables& t, const Chunk& chunk, std::size_t field,
                                std::uint32_t lanes) {
  const GridPlaces places = places_in(t.posed[field], points_for(t, chunk, field));
  const std::uint32_t inside = t.posed[field].muscle_count != 0 ? ~std::uint32_t{0} : bits_of(places.inside);
  Samples s = samples_at(t, chunk, field, places, lanes & inside);
  // Rounding may leave something of fields that end.
  const M some = hn::Gt(s.value, set(0));
  return {hn::IfThenElseZero(some, s.value),
          {hn::IfThenElseZero(some, s.gradient.x), hn::IfThenElseZero(some, s.gradient.y),
           hn::IfThenElseZero(some, s.gradient.z)}};
}

/// The own field of the chunk's vertices (palm_shares.h).
HWY_INLINE Samples own_samples(const ProbeTables& t, const Chunk& chunk, std::size_t own) {
  Samples sum{set(0), {set(0), set(0), set(0)}};
  if (!t.posed[own].usable) return sum;
  const std::uint32_t all = (std::uint32_t{1} << chunk.count) - 1;
  std::uint32_t in_palm = 0;
  for (std::size_t lane = 0; lane < chunk.count; ++lane)
    if (!(*t.palm_shares)[chunk.vertex[lane]].empty()) in_palm |= std::uint32_t{1} << lane;
  if (in_palm != all) sum = all_of_field(t, chunk, own, all & ~in_palm);
  // Field by field, those of the first lane that is left first.
  std::size_t taken[kMost] = {};
  for (std::uint32_t left = in_palm; left != 0;) {
    std::size_t field = std::numeric_limits<std::size_t>::max();
    each_lane(left, [&](std::size_t lane) {
      field = std::min(field, std::size_t{(*t.palm_shares)[chunk.vertex[lane]][taken[lane]].field});
    });
    HWY_ALIGN float share[kMost] = {};
    std::uint32_t here = 0;
    each_lane(left, [&](std::size_t lane) {
      const std::span<const PalmShare> shares = (*t.palm_shares)[chunk.vertex[lane]];
      if (shares[taken[lane]].field != field) return;
      share[lane] = shares[taken[lane]].share;
      here |= std::uint32_t{1} << lane;
      if (++taken[lane] == shares.size()) left &= ~(std::uint32_t{1} << lane);
    });
    const Samples part = all_of_field(t, chunk, field, here);
    const V w = load(share);
    sum.value = hn::MulAdd(w, part.value, sum.value);
    sum.gradient.x = hn::MulAdd(w, part.gradient.x, sum.gradient.x);
    sum.gradient.y = hn::MulAdd(w, part.gradient.y, sum.gradient.y);
    sum.gradient.z = hn::MulAdd(w, part.gradient.z, sum.gradient.z);
  }
  return sum;
}

struct Contacts {
  V side, firm;
  V3 back, rival;
  V apart, meets;
};

HWY_INLINE Contacts choose(M yes, const Contacts& a, const Contacts& b) {
  return {choose(yes, a.side, b.side),   choose(yes, a.firm, b.firm),   choose(yes, a.back, b.back),
          choose(yes, a.rival, b.rival), choose(yes, a.apart, b.apart), choose(yes, a.meets, b.meets)};
}

/// What a chunk's vertices have to do with one field at rest.
struct Neighbours {
  const FieldNeighbour* any = nullptr;
  HWY_ALIGN float nearness[kMost], damping[kMost], rest_side[kMost], rest_opposition[kMost],
      rest_plane_side[kMost], rest_near[kMost], slides[kMost], edge[kMost], fineness[kMost];
  HWY_ALIGN float out[3][kMost], bone[3][kMost];  // of those whose slides are not known
};

/// ProbeTables::slides_over().
HWY_INLINE V slides_over(const ProbeTables& t, std::size_t field, const Neighbours& n) {
  const V nearness = load(n.nearness), near = load(n.rest_near);
  const V3 out{load(n.out[0]), load(n.out[1]), load(n.out[2])};
  const V3 bone{load(n.bone[0]), load(n.bone[1]), load(n.bone[2])};
  const V out_squares = dot(out, out);
  const auto cosine = [&](const V3& way, V otherwise) HWY_ATTR {
    const V squares = hn::Mul(dot(way, way), out_squares);
    return choose(hn::Gt(squares, set(0)), hn::Div(dot(out, way), hn::Sqrt(squares)), otherwise);
  };
  const V facing = cosine(sub(set(t.centers[field]), bone), set(0));
  V slides = hn::Mul(nearness, hn::Sub(set(1), smooth_step(kFacesAway, kFaces, facing)));
  const V strange = hn::Mul(hn::Sub(set(1), nearness), near);
  if (hn::AllFalse(D(), hn::Gt(strange, set(0)))) return slides;
  V3 way{set(0), set(0), set(0)};
  V least = set(std::numeric_limits<float>::max());
  for (std::uint32_t k = t.segment_starts[field]; k < t.segment_starts[field + 1]; ++k) {
    const Vec3f along = t.segments[k][1] - t.segments[k][0];
    const float length = along.squaredNorm();
    const V3 from = sub(bone, set(t.segments[k][0]));
    const V place = length > 0
                        ? hn::Min(set(1), hn::Max(set(0), hn::Mul(dot(from, set(along)), set(1 / length))))
                        : set(0);
    const V3 to = sub(scaled(place, set(along)), from);
    const V squares = dot(to, to);
    const M nearer = hn::Lt(squares, least);
    way = choose(nearer, to, way);
    least = choose(nearer, squares, least);
  }
  // Those that face it, or lie on it, do not slide.
  const V turned_away = hn::Sub(set(1), smooth_step(kAway, kTowards, cosine(way, set(1))));
  return hn::Max(slides, hn::Mul(strange, turned_away));
}

/// ProbeTables::meet_neighbour() for lanes that are not clear of the other field.
HWY_INLINE Contacts meet_neighbours(const ProbeTables& t, const Neighbours& n, const Samples& own,
                                    const Samples& other, const V3& at) {
  const V nearness = load(n.nearness);
  V slides = load(n.slides), rest_side = load(n.rest_side), gap = set(t.gap);
  V apart = hn::Sub(own.value, other.value);
  const V3 rival = scaled(load(n.damping), other.gradient);
  Contacts c{apart, set(0), sub(own.gradient, rival), rival, apart, set(1)};
  // The joint between two fields is the same for all vertices of the one.
  if (n.any->joint >= 0) {
    const auto joint = static_cast<std::size_t>(n.any->joint);
    const float radius = t.joint_radius[joint];
    const V per_radius = set(1 / radius);
    const V3 from_joint = sub(at, set(t.joints[joint]));
    const V squares = dot(from_joint, from_joint);
    // joint_bias_share()
    const V bias_share =
        hn::Sub(set(1), smooth_step(kAllBias, kNoBias, hn::Mul(hn::Sqrt(squares), per_radius)));
    apart = hn::NegMulAdd(set(n.any->joint_bias), bias_share, apart);
    const FoldPlane& plane = t.planes[joint];
    const V3 normal = set(plane.normal);
    const V across = dot(normal, from_joint);
    // FoldPlane::share()
    const V in = smooth_step(FoldPlane::kOutside, FoldPlane::kInside,
                             hn::Mul(dot(set(plane.inside), from_joint), per_radius));
    if (!hn::AllTrue(D(), hn::Eq(in, set(0)))) {
      const V along = hn::Sqrt(hn::Max(hn::NegMulAdd(across, across, squares), set(0)));
      const V share = hn::Mul(
          in, hn::Sub(set(1), smooth_step(FoldPlane::kNear, FoldPlane::kFar, hn::Mul(along, per_radius))));
      c.firm = hn::Mul(load(n.fineness), share);
      const V slope = set(n.any->plane_sign * FoldPlane::kSlope / radius);
      apart = mix(apart, c.firm, hn::Mul(slope, across));
      c.back = mix(c.back, c.firm, scaled(slope, normal));
      rest_side = mix(rest_side, c.firm, load(n.rest_plane_side));
      const V edges =
          hn::Min(hn::Mul(load(n.edge), set(1 / t.neighbours->joint_radius[joint])), set(kCoarsest));
      gap = hn::Max(hn::MulAdd(c.firm, hn::MulAdd(hn::Mul(set(kPlaneGap), edges), edges, set(kFlat)), gap),
                    set(0));
      slides = hn::NegMulAdd(slides, c.firm, slides);
    }
  }
  const V squares = hn::Mul(dot(own.gradient, own.gradient), dot(other.gradient, other.gradient));
  const V cosine =
      choose(hn::Gt(squares, set(0)), hn::Div(dot(own.gradient, other.gradient), hn::Sqrt(squares)), set(1));
  const V shift = hn::MulAdd(hn::Mul(set(kShiftAlong), nearness),
                             smooth_step(kShiftsFrom, kShiftsWholly, cosine), set(kShift));
  V allowed = hn::Min(hn::Sub(rest_side, shift), gap);
  // opposition()
  const V opposed = hn::Sub(set(1), smooth_step(kOpposed, kAlong, cosine));
  const V folds = hn::Max(set(0), hn::Sub(opposed, load(n.rest_opposition)));
  allowed = mix(allowed, folds, gap);
  const V counted = choose(hn::Gt(allowed, set(0)), hn::Sub(set(1), slides), set(1));
  const V cubed = hn::Mul(slides, hn::Mul(slides, slides));
  c.side = hn::MulAdd(cubed, set(SkinContact::kNone), hn::NegMulAdd(counted, allowed, apart));
  c.apart = apart;
  c.meets = hn::Sub(set(1), slides);
  return c;
}

void probe_chunk(const ProbeTables& t, std::span<const std::uint16_t> fields, Asked asked, Finds finds,
                 std::size_t own, const Chunk& chunk, SkinProbe* const* probes) {
  const std::uint32_t everyone = (std::uint32_t{1} << chunk.count) - 1;
  const V3 at = chunk.points();
  const Samples mine = own_samples(t, chunk, own);
  Samples all = mine;
  const V3 nowhere{set(0), set(0), set(0)};
  const V none = set(SkinContact::kNone);
  Contacts nearest{none, set(0), nowhere, nowhere, none, set(1)};
  V stranger = set(0), pressed = set(0);
  V3 off = nowhere;

  // Per field, bits of the lanes in which it is present.
  std::uint32_t present[CompositionTree::kMostLeaves];
  std::fill_n(present, fields.size(), 0);
  const FieldNeighbour* neighbour[kMost];
  const FieldNeighbour* const entries = t.neighbours->entries.data();
  for (std::size_t lane = 0; lane < chunk.count; ++lane) {
    const std::uint32_t v = chunk.vertex[lane];
    neighbour[lane] = entries + t.neighbours->starts[v];
    if (asked == Asked::here) continue;
    for (std::uint64_t left = t.present[v]; left != 0; left &= left - 1)
      present[std::countr_zero(left)] |= std::uint32_t{1} << lane;
  }

  Neighbours n{};
  HWY_ALIGN float meets[kMost];
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const std::size_t field = fields[k];
    const PosedField& posed = t.posed[field];
    const bool is_met = field != own && !t.are_one_palm(own, field);
    const std::uint32_t asking = chunk.anew & ~present[k];
    if (asking == 0 && (!is_met || present[k] == 0)) continue;
    // What is known stays so; nothing else is there.
    if (chunk.turned == 0 && !may_reach(posed, chunk.low, chunk.high)) continue;
    const GridPlaces places = places_in(posed, points_for(t, chunk, field));
    std::uint32_t here = bits_of(places.inside) & everyone;
    if (asking != 0) {
      std::uint32_t covers = (here & asking) != 0 ? covered(posed, places) : 0;
      if (posed.muscle_count != 0)
        each_lane(asking, [&](std::size_t lane) {
          const std::uint32_t v = chunk.vertex[lane];
          const Vec3f x = chunk.at(lane);
          if (posed.covers(t.turned[v] ? t.seen_place(v, field, x) : x)) covers |= std::uint32_t{1} << lane;
        });
      present[k] |= covers & asking;
    }
    if (posed.muscle_count != 0) here = everyone;
    here &= present[k];
    if (!is_met || here == 0) continue;

    Samples other = samples_at(t, chunk, field, places, here);
    const M some = hn::And(hn::Gt(other.value, set(0)), mask_of(here));
    const std::uint32_t felt = bits_of(some);
    if (felt == 0) continue;
    const V apart = hn::Sub(mine.value, other.value);
    const std::uint32_t touching = bits_of(hn::And(some, hn::Le(apart, set(kClear))));
    std::uint32_t kin = 0, asks = 0;
    std::fill_n(n.damping, kMost, 1.0f);
    std::fill_n(meets, kMost, 1.0f);
    each_lane(felt, [&](std::size_t lane) {
      const std::uint32_t v = chunk.vertex[lane];
      const FieldNeighbour* const last = entries + t.neighbours->starts[v + 1];
      const FieldNeighbour*& e = neighbour[lane];
      while (e != last && e->field < field) ++e;
      if (e == last || e->field != field) return;
      kin |= std::uint32_t{1} << lane;
      n.any = e;
      n.damping[lane] = e->damping;
      if ((touching >> lane & 1) == 0) return;
      n.nearness[lane] = e->nearness;
      n.rest_side[lane] = e->rest_side;
      n.rest_opposition[lane] = e->rest_opposition;
      n.rest_plane_side[lane] = e->rest_plane_side;
      n.edge[lane] = t.edge[v];
      n.fineness[lane] = t.fineness[v];
      n.slides[lane] = t.slides[e - entries];
      if (n.slides[lane] != ProbeTables::kNotAsked) return;
      asks |= std::uint32_t{1} << lane;
      n.rest_near[lane] = e->rest_near;
      for (int c = 0; c < 3; ++c) n.out[c][lane] = t.out[v][c], n.bone[c][lane] = t.bone[v][c];
    });
    if (asks != 0) {
      HWY_ALIGN float found[kMost];
      hn::Store(slides_over(t, field, n), D(), found);
      each_lane(asks, [&](std::size_t lane) {
        n.slides[lane] = t.slides[neighbour[lane] - entries] = found[lane];
      });
    }

    Contacts c;
    if (kin != felt) {
      const float gap = t.stranger_gap(own, field);
      const M is_strange = mask_of(felt & ~kin);
      stranger = choose(is_strange, hn::Max(stranger, other.value), stranger);
      const std::uint32_t close = bits_of(hn::And(is_strange, hn::Lt(apart, set(gap))));
      each_lane(close, [&](std::size_t lane) { meets[lane] = t.faced(chunk.vertex[lane], field); });
      const V share = load(meets);
      other.value = hn::Mul(share, other.value);
      other.gradient = scaled(share, other.gradient);
      c = {hn::Sub(hn::Sub(mine.value, other.value), set(gap)),
           set(0),
           sub(mine.gradient, other.gradient),
           other.gradient,
           apart,
           share};
    }
    if (kin != 0) {
      const M is_kin = mask_of(kin);
      const V damping = load(n.damping);
      const V3 rival = scaled(damping, other.gradient);
      Contacts of_kin{apart, set(0), sub(mine.gradient, rival), rival, apart, set(1)};
      if ((touching & kin) != 0)
        of_kin = choose(mask_of(touching), meet_neighbours(t, n, mine, other, at), of_kin);
      other.value = hn::Mul(damping, other.value);
      other.gradient = scaled(damping, other.gradient);
      c = kin == felt ? of_kin : choose(is_kin, of_kin, c);
    }
    if (finds == Finds::pressure) {
      const V close = hn::Sub(set(1), smooth_step(kTight, kLoose, hn::Sub(c.apart, set(t.gap))));
      const V here_pressed = hn::Mul(c.meets, close);
      const M more = hn::And(some, hn::Gt(here_pressed, pressed));
      pressed = choose(more, here_pressed, pressed);
      off = choose(more, c.back, off);
    }
    nearest = choose(hn::And(some, hn::Lt(c.side, nearest.side)), c, nearest);
    const M stronger = hn::And(some, hn::Gt(other.value, all.value));
    all = {choose(stronger, other.value, all.value), choose(stronger, other.gradient, all.gradient)};
  }

  HWY_ALIGN float rows[23][kMost];
  const V* const values[] = {
      &mine.value,     &mine.gradient.x, &mine.gradient.y, &mine.gradient.z, &all.value,      &all.gradient.x,
      &all.gradient.y, &all.gradient.z,  &nearest.side,    &nearest.firm,    &nearest.back.x, &nearest.back.y,
      &nearest.back.z, &nearest.rival.x, &nearest.rival.y, &nearest.rival.z, &stranger,       &nearest.apart,
      &nearest.meets,  &pressed,         &off.x,           &off.y,           &off.z};
  const std::size_t row_count = finds == Finds::pressure ? 23 : 17;
  for (std::size_t r = 0; r < row_count; ++r) hn::Store(*values[r], D(), rows[r]);
  for (std::size_t lane = 0; lane < chunk.count; ++lane) {
    const auto vector = [&](std::size_t r) {
      return Vec3f(rows[r][lane], rows[r + 1][lane], rows[r + 2][lane]);
    };
    SkinProbe& p = *probes[lane];
    p.own = {rows[0][lane], vector(1)};
    p.all = {rows[4][lane], vector(5)};
    p.nearest.side = rows[8][lane], p.nearest.firm = rows[9][lane];
    p.nearest.back = vector(10), p.nearest.rival = vector(13);
    p.stranger = rows[16][lane];
    if (finds != Finds::pressure) continue;
    p.nearest.apart = rows[17][lane], p.nearest.meets = rows[18][lane];
    p.pressed = rows[19][lane], p.off = vector(20);
  }
  if (chunk.anew == 0) return;
  std::uint64_t bits[kMost] = {};
  for (std::size_t k = 0; k < fields.size(); ++k)
    each_lane(present[k], [&](std::size_t lane) { bits[lane] |= std::uint64_t{1} << k; });
  for (std::size_t lane = 0; lane < chunk.count; ++lane) t.present[chunk.vertex[lane]] = bits[lane];
}

void probe_all(const ProbeTables& t, std::span<const std::uint16_t> fields, Asked asked, Finds finds,
               std::span<const ProbeLane> lanes, std::span<SkinProbe> probes) {
  constexpr std::size_t kMostAtOnce = 64;
  for (std::size_t first = 0; first < lanes.size(); first += kMostAtOnce) {
    const std::size_t count = std::min(kMostAtOnce, lanes.size() - first);
    std::uint64_t left = count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
    while (left != 0) {
      const std::uint16_t own = t.own[lanes[first + static_cast<std::size_t>(std::countr_zero(left))].vertex];
      Chunk chunk;
      SkinProbe* results[kMost];
      for (std::uint64_t look = left; look != 0 && chunk.count < kLanes; look &= look - 1) {
        const std::size_t lane = first + static_cast<std::size_t>(std::countr_zero(look));
        const ProbeLane& from = lanes[lane];
        if (t.own[from.vertex] != own) continue;
        left &= ~(look & -look);
        const std::size_t to = chunk.count++;
        chunk.vertex[to] = from.vertex;
        chunk.x[to] = from.at.x(), chunk.y[to] = from.at.y(), chunk.z[to] = from.at.z();
        chunk.low = chunk.low.cwiseMin(from.at), chunk.high = chunk.high.cwiseMax(from.at);
        chunk.turned |= std::uint32_t{t.turned[from.vertex]} << to;
        const bool anew = asked == Asked::here || (asked == Asked::known_here && from.anew);
        chunk.anew |= std::uint32_t{anew} << to;
        results[to] = &probes[lane];
      }
      // What is not used is nowhere.
      for (std::size_t lane = chunk.count; lane < kLanes; ++lane)
        chunk.x[lane] = chunk.y[lane] = chunk.z[lane] = std::numeric_limits<float>::quiet_NaN();
      probe_chunk(t, fields, asked, finds, own, chunk, results);
    }
  }
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace sinew {

HWY_EXPORT(probe_all);

void probe_lanes(const ProbeTables& tables, std::span<const std::uint16_t> fields, Asked asked, Finds finds,
                 std::span<const ProbeLane> lanes, std::span<SkinProbe> probes) {
  assert(probes.size() >= lanes.size() && fields.size() <= CompositionTree::kMostLeaves);
  HWY_DYNAMIC_DISPATCH(probe_all)(tables, fields, asked, finds, lanes, probes);
}

}  // namespace sinew

#endif
