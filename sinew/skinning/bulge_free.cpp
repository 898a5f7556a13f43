#include <sinew/skinning/bulge_free.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include <sinew/core/parallel.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/skinning/bulge_free.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {  // other kernels' files use the same names

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kLanes = BulgeFreeCorrection::kLanes;

// Squared distance to a bone, in units of the longest bone: what is nearer lies on it.
constexpr float kOnBone = 1e-5f;

// The squares of greater distances overflow.
constexpr float kMostDistance = 1e18f;

using D = hn::CappedTag<float, kLanes>;
using V = hn::Vec<D>;

struct V3 {
  V x, y, z;
};

HWY_INLINE V set(float value) {
  return hn::Set(D(), value);
}
HWY_INLINE V3 set(const Vec3f& v) {
  return {set(v.x()), set(v.y()), set(v.z())};
}
HWY_INLINE V dot(const V3& a, const V3& b) {
  return hn::MulAdd(a.x, b.x, hn::MulAdd(a.y, b.y, hn::Mul(a.z, b.z)));
}
HWY_INLINE V3 sub(const V3& a, const V3& b) {
  return {hn::Sub(a.x, b.x), hn::Sub(a.y, b.y), hn::Sub(a.z, b.z)};
}
/// a + t b
HWY_INLINE V3 add_scaled(const V3& a, V t, const V3& b) {
  return {hn::MulAdd(t, b.x, a.x), hn::MulAdd(t, b.y, a.y), hn::MulAdd(t, b.z, a.z)};
}
HWY_INLINE V norm(const V3& a) {
  return hn::Sqrt(dot(a, a));
}
HWY_INLINE V clamp_01(V t) {
  return hn::Min(set(1.0f), hn::Max(set(0.0f), t));
}
HWY_INLINE V smooth_step(V t) {
  return hn::Mul(hn::Mul(t, t), hn::NegMulAdd(set(2.0f), t, set(3.0f)));
}
HWY_INLINE V transformed_norm(const Eigen::Matrix3f& m, const V3& v) {
  return norm({dot(set(Vec3f(m.row(0))), v), dot(set(Vec3f(m.row(1))), v), dot(set(Vec3f(m.row(2))), v)});
}

struct Offset {
  V3 vector;   // away from the bones; shorter than the distance where they point different ways
  V distance;  // to them
  V lift;      // per radian: how far the other bone's weight turns them off the one beside them
};

// How far points `p`, seen from the joint, are from the two bones: a mean with weights ∝ distance⁻¹⁶. Skin
// beyond the joint has the joint itself as the nearest point of both. `w_above` and `w_below`: how much they
// follow each bone.
HWY_INLINE Offset offset_from_bones(const V3& p, V w_above, V w_below,
                                    const BulgeFreeCorrection::BonePair& bones) {
  const V3 above = set(bones.above), below = set(bones.below);
  const V t_above = clamp_01(hn::Mul(dot(p, above), set(bones.above_scale)));
  const V t_below = clamp_01(hn::Mul(dot(p, below), set(bones.below_scale)));
  const V3 from_above = add_scaled(p, hn::Neg(t_above), above);
  const V3 from_below = add_scaled(p, hn::Neg(t_below), below);
  const V square_above = dot(from_above, from_above), square_below = dot(from_below, from_below);
  const V near = hn::Min(square_above, square_below), far = hn::Max(square_above, square_below);
  const V ratio = hn::IfThenElseZero(hn::Gt(far, set(0.0f)), hn::Div(near, far));
  const V ratio_2 = hn::Mul(ratio, ratio), ratio_4 = hn::Mul(ratio_2, ratio_2);
  const V ratio_8 = hn::Mul(ratio_4, ratio_4);
  const V far_share = hn::Div(ratio_8, hn::Add(set(1.0f), ratio_8));
  const V above_share =
      hn::IfThenElse(hn::Lt(square_above, square_below), hn::Sub(set(1.0f), far_share), far_share);
  const V near_distance = hn::Sqrt(near);
  const V lift_above = hn::Mul(w_below, hn::Mul(t_above, norm(above)));
  const V lift_below = hn::Mul(w_above, hn::Mul(t_below, norm(below)));
  return {add_scaled(from_below, above_share, sub(from_above, from_below)),
          hn::MulAdd(far_share, hn::Sub(hn::Sqrt(far), near_distance), near_distance),
          hn::MulAdd(above_share, hn::Sub(lift_above, lift_below), lift_below)};
}

void pull_shares(const BulgeFreeCorrection::Shares& shares, const BulgeFreeCorrection::Bend& bend,
                 float scale, const Vec3f* rest, const Vec3f* posed, Vec4f* pulls) {
  HWY_ALIGN float points[6][kLanes];
  HWY_ALIGN float results[4][kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    const Vec3f p = rest[shares.vertex[i]] - bend.rest.joint;
    const Vec3f v = posed[shares.vertex[i]] - bend.posed.joint;
    for (int c = 0; c < 3; ++c) {
      points[c][i] = p[c];
      points[3 + c][i] = v[c];
    }
  }
  const D d;
  const V one = set(1.0f), zero = set(0.0f);
  for (std::size_t i = 0; i < kLanes; i += hn::Lanes(d)) {
    const V3 p{hn::Load(d, points[0] + i), hn::Load(d, points[1] + i), hn::Load(d, points[2] + i)};
    const V3 v{hn::Load(d, points[3] + i), hn::Load(d, points[4] + i), hn::Load(d, points[5] + i)};
    const V below = hn::Load(d, shares.below.data() + i), above = hn::Sub(one, below);
    const Offset at_rest = offset_from_bones(p, above, below, bend.rest);
    const Offset now = offset_from_bones(v, above, below, bend.posed);

    const V nearness =
        hn::Div(one, hn::MulAdd(hn::Mul(at_rest.distance, at_rest.distance), set(scale), set(kOnBone)));
    const V weight =
        hn::Mul(hn::Mul(hn::Mul(nearness, nearness), set(bend.swing)), hn::Load(d, shares.weight.data() + i));

    const V fold = hn::MulAdd(above, dot(at_rest.vector, set(bend.fold_above)),
                              hn::Mul(below, dot(at_rest.vector, set(bend.fold_below))));
    const V t = clamp_01(hn::Div(fold, hn::Mul(set(BulgeFreeCorrection::kFoldSide), at_rest.distance)));
    const V outer = hn::IfThenElse(hn::Le(fold, zero), one, hn::Sub(one, smooth_step(t)));

    constexpr float kLiftRange = BulgeFreeCorrection::kSpanLift - BulgeFreeCorrection::kLimbLift;
    const V excess = hn::NegMulAdd(set(BulgeFreeCorrection::kLimbLift), at_rest.distance, at_rest.lift);
    const V spans = clamp_01(hn::Div(excess, hn::Mul(set(kLiftRange), at_rest.distance)));
    const V limb = hn::IfThenElse(hn::Le(excess, zero), one, hn::Sub(one, smooth_step(spans)));

    V kept = at_rest.distance;
    if (!bend.rigid) {
      const V length = norm(at_rest.vector);
      const V scaled = hn::MulAdd(above, transformed_norm(bend.linear_above, at_rest.vector),
                                  hn::Mul(below, transformed_norm(bend.linear_below, at_rest.vector)));
      kept = hn::IfThenElse(hn::Gt(length, zero), hn::Mul(kept, hn::Div(scaled, length)), kept);
    }
    // Two quaternions β apart, blended with w, turn a vertex off the nearer of them by an angle whose chord
    // is min(w, 1 - w) chord(β) / norm of the blend.
    const V blend_norm = hn::Sqrt(hn::NegMulAdd(hn::Mul(below, above), set(bend.blend_loss), one));
    const V most = hn::Div(hn::Mul(hn::Mul(hn::Min(below, above), set(bend.chord)), norm(v)), blend_norm);
    const V bulge = hn::Min(hn::Sub(now.distance, kept), most);
    const auto bulges = hn::And(
        hn::Gt(bulge, zero), hn::And(hn::Gt(now.distance, zero), hn::Lt(now.distance, set(kMostDistance))));
    const V factor =
        hn::IfThenElseZero(bulges, hn::Mul(hn::Mul(weight, hn::Load(d, shares.fade.data() + i)),
                                           hn::Mul(hn::Mul(outer, limb), hn::Div(bulge, now.distance))));
    hn::Store(hn::Mul(factor, now.vector.x), d, results[0] + i);
    hn::Store(hn::Mul(factor, now.vector.y), d, results[1] + i);
    hn::Store(hn::Mul(factor, now.vector.z), d, results[2] + i);
    hn::Store(weight, d, results[3] + i);
  }
  for (std::size_t i = 0; i < shares.count; ++i)
    pulls[shares.slot[i]] = Vec4f(results[0][i], results[1][i], results[2][i], results[3][i]);
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew {

HWY_EXPORT(pull_shares);

namespace {

constexpr std::size_t kSharesPerTask = 64;
constexpr std::size_t kVerticesPerTask = 4096;

// Swings below a millionth of a radian are rounding: nothing bulges by them, but their direction is noise.
constexpr double kLeastSwing = 1e-12;

// As in dual quaternion skinning: linear parts closer to a rotation count as one.
constexpr double kRigidTolerance = 2e-6;

bool is_rigid(const Mat3d& linear) {
  return (linear.transpose() * linear - Mat3d::Identity()).cwiseAbs().maxCoeff() < 2 * kRigidTolerance;
}

Vec3d unit_or_zero(const Vec3d& v) {
  const double length = v.norm();
  return length > 0 && length < 1e100 ? Vec3d(v / length) : Vec3d(Vec3d::Zero());
}

float inverse_square(const Vec3d& v) {
  const double square = v.squaredNorm();
  return square > 1e-30 && square < 1e30 ? static_cast<float>(1 / square) : 0.0f;
}

BulgeFreeCorrection::BonePair bone_pair(const Vec3d& head, const Vec3d& joint, const Vec3d& tail) {
  const Vec3d above = head - joint, below = tail - joint;
  return {joint.cast<float>(), above.cast<float>(), below.cast<float>(), inverse_square(above),
          inverse_square(below)};
}

/// Number of bones above each.
std::vector<int> depths(std::span<const BulgeFreeBone> bones) {
  std::vector<int> depth(bones.size(), -1);
  std::vector<std::size_t> path;
  for (std::size_t j = 0; j < bones.size(); ++j) {
    path.clear();
    int at = static_cast<int>(j);
    for (; at >= 0 && depth[static_cast<std::size_t>(at)] < 0;
         at = bones[static_cast<std::size_t>(at)].parent)
      path.push_back(static_cast<std::size_t>(at));
    int above = at < 0 ? -1 : depth[static_cast<std::size_t>(at)];
    for (; !path.empty(); path.pop_back()) depth[path.back()] = ++above;
  }
  return depth;
}

struct VertexShare {
  std::uint32_t joint;
  float below;
  float weight;
};

}  // namespace

BulgeFreeCorrection::BulgeFreeCorrection(std::span<const BulgeFreeBone> bones, const SkinWeights& weights)
    : vertex_count_(weights.rows()), bone_count_(bones.size()) {
  const auto bone_at = [&](int joint) -> const BulgeFreeBone& {
    assert(joint >= 0 && static_cast<std::size_t>(joint) < bones.size());
    return bones[static_cast<std::size_t>(joint)];
  };
  double longest = 0;
  for (const BulgeFreeBone& bone : bones) longest = std::max(longest, (bone.tail - bone.head).norm());
  scale_ = inverse_square(Vec3d(longest, 0, 0));
  const double zero = 1e-6 * longest;

  const std::vector<int> depth = depths(bones);
  std::vector<int> order(bones.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return depth[static_cast<std::size_t>(a)] < depth[static_cast<std::size_t>(b)];
  });
  // Rigs put joints on top of each other to turn about one axis each: the bone above a joint starts at the
  // first ancestor elsewhere.
  std::vector<int> start(bones.size());
  std::vector<std::int64_t> bend_of_joint(bones.size(), -1);
  for (const int number : order) {
    const auto j = static_cast<std::size_t>(number);
    const BulgeFreeBone& bone = bones[j];
    start[j] = number;
    if (bone.parent < 0) continue;
    const bool elsewhere = (bone_at(bone.parent).head - bone.head).norm() > zero;
    start[j] = elsewhere ? bone.parent : start[static_cast<std::size_t>(bone.parent)];
    if (!((bone.tail - bone.head).norm() > zero)) continue;
    bend_of_joint[j] = static_cast<std::int64_t>(joints_.size());
    joints_.push_back(
        {bone.parent, number, start[j], bone.tail_joint, bone_at(start[j]).head, bone.head, bone.tail});
  }

  std::vector<Influence> branches;
  std::vector<VertexShare> row;
  std::vector<std::int64_t> open(joints_.size(), -1);  // per joint, the Shares that still have room
  std::uint32_t slots = 0;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    // From the vertex's joints upwards, deepest first, adding up where branches meet, until one is left: it
    // carries all.
    branches.clear();
    for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      branches.push_back({weights.joints[i], weights.values[i]});
    row.clear();
    while (branches.size() > 1) {
      const auto deepest = std::max_element(
          branches.begin(), branches.end(),
          [&](const Influence& a, const Influence& b) { return depth[a.joint] < depth[b.joint]; });
      const std::size_t joint = deepest->joint;
      const float w = std::min(deepest->weight, 1.0f);
      const float weight = w * (1 - w) - kLeastShare;
      if (weight > 0 && bend_of_joint[joint] >= 0)
        row.push_back({static_cast<std::uint32_t>(bend_of_joint[joint]), w, weight});
      const int parent = bones[joint].parent;
      const auto sibling = std::find_if(branches.begin(), branches.end(), [&](const Influence& branch) {
        return parent >= 0 && branch.joint == static_cast<std::uint32_t>(parent);
      });
      if (parent >= 0 && sibling == branches.end()) {
        deepest->joint = static_cast<std::uint32_t>(parent);
      } else {
        if (sibling != branches.end()) sibling->weight += deepest->weight;
        branches.erase(deepest);
      }
    }
    if (row.empty()) continue;
    std::sort(row.begin(), row.end(), [](const VertexShare& a, const VertexShare& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.joint < b.joint;
    });
    float too_many = 0;
    if (row.size() > kMostJoints) {
      too_many = row[kMostJoints].weight;
      row.resize(kMostJoints);
    }
    for (const VertexShare& share : row) {
      std::int64_t& group = open[share.joint];
      if (group < 0 || shares_[static_cast<std::size_t>(group)].count == kLanes) {
        group = static_cast<std::int64_t>(shares_.size());
        Shares empty{};
        empty.joint = share.joint;
        empty.vertex.fill(static_cast<std::uint32_t>(v));
        shares_.push_back(empty);
      }
      Shares& shares = shares_[static_cast<std::size_t>(group)];
      const std::size_t lane = shares.count++;
      shares.vertex[lane] = static_cast<std::uint32_t>(v);
      shares.slot[lane] = slots++;
      shares.below[lane] = share.below;
      shares.weight[lane] = share.weight - too_many;
      shares.fade[lane] = 1 - too_many / share.weight;
    }
    vertices_.push_back({static_cast<std::uint32_t>(v), slots});
  }
}

BulgeFreeCorrection::Scratch BulgeFreeCorrection::make_scratch() const {
  Scratch scratch;
  scratch.bends_.resize(joints_.size());
  scratch.pulls_.resize(vertices_.empty() ? 0 : vertices_.back().end, Vec4f::Zero());
  return scratch;
}

BulgeFreeCorrection::Bend BulgeFreeCorrection::bend_of(const Joint& joint,
                                                       std::span<const Affine3d> posed_from_rest) {
  const auto transform = [&](int j) -> const Affine3d& {
    return posed_from_rest[static_cast<std::size_t>(j)];
  };
  const Affine3d& above = transform(joint.above);
  const Affine3d& below = transform(joint.below);
  Bend bend{};
  const Vec3d along_rest = unit_or_zero(joint.tail - joint.joint);
  const Vec3d along_above = unit_or_zero(above.linear() * along_rest);  // the bone, had its joint not moved
  const Vec3d along_below = unit_or_zero(below.linear() * along_rest);
  const double swing = (along_below - along_above).squaredNorm();
  // A bone that is scaled to nothing does not swing anywhere.
  if (!(swing > kLeastSwing) || along_above.isZero() || along_below.isZero()) return bend;
  bend.swing = static_cast<float>(swing);
  bend.chord = static_cast<float>(std::sqrt(swing));
  bend.blend_loss = static_cast<float>(2 - 2 * std::sqrt(std::max(0.0, 1 - swing / 4)));

  const double cosine = along_above.dot(along_below);
  const auto fold_at_rest = [&](const Affine3d& posed, const Vec3d& fold) -> Vec3f {
    const Vec3d fold_rest = posed.linear().transpose() * unit_or_zero(fold);  // the inverse, for rotations
    return unit_or_zero(fold_rest - fold_rest.dot(along_rest) * along_rest).cast<float>();
  };
  bend.fold_above = fold_at_rest(above, along_below - cosine * along_above);
  bend.fold_below = fold_at_rest(below, cosine * along_below - along_above);

  bend.rest = bone_pair(joint.head, joint.joint, joint.tail);
  bend.posed = bone_pair(transform(joint.head_joint) * joint.head, below * joint.joint,
                         transform(joint.tail_joint) * joint.tail);
  bend.rigid = is_rigid(above.linear()) && is_rigid(below.linear());
  bend.linear_above = above.linear().cast<float>();
  bend.linear_below = below.linear().cast<float>();
  return bend;
}

void BulgeFreeCorrection::correct(std::span<const Vec3f> rest, std::span<const Affine3d> posed_from_rest,
                                  float strength, Scratch& scratch, std::span<Vec3f> posed) const {
  assert(rest.size() == vertex_count_ && posed.size() == vertex_count_);
  assert(posed_from_rest.size() == bone_count_ && scratch.bends_.size() == joints_.size());
  bool any_bent = false;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    scratch.bends_[j] = bend_of(joints_[j], posed_from_rest);
    any_bent = any_bent || scratch.bends_[j].swing > 0;
  }
  if (!any_bent) return;

  parallel_blocks(shares_.size(), kSharesPerTask, [&](std::size_t begin, std::size_t end) {
    const auto pull_shares = HWY_DYNAMIC_DISPATCH(pull_shares);
    for (std::size_t s = begin; s < end; ++s) {
      const Shares& shares = shares_[s];
      const Bend& bend = scratch.bends_[shares.joint];
      if (bend.swing > 0)
        pull_shares(shares, bend, scale_, rest.data(), posed.data(), scratch.pulls_.data());
      else
        for (std::size_t i = 0; i < shares.count; ++i) scratch.pulls_[shares.slot[i]].setZero();
    }
  });
  parallel_blocks(vertices_.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    std::size_t slot = begin == 0 ? 0 : vertices_[begin - 1].end;
    for (std::size_t i = begin; i < end; ++i) {
      Vec4f sum = Vec4f::Zero();
      for (; slot < vertices_[i].end; ++slot) sum += scratch.pulls_[slot];
      // False for what has overflowed, too.
      if (sum.w() > 0 && sum.allFinite()) posed[vertices_[i].vertex] -= (strength / sum.w()) * sum.head<3>();
    }
  });
}

}  // namespace sinew
#endif
