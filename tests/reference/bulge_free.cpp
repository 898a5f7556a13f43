#include "tests/reference/bulge_free.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <sinew/core/index.h>

namespace sinew::reference {

namespace {

/// Where on the segment the nearest point to `p` is: 0 at a, 1 at b.
double nearest_on_segment(const Vec3d& p, const Vec3d& a, const Vec3d& b) {
  const double square = (b - a).squaredNorm();
  return square > 0 ? std::clamp((p - a).dot(b - a) / square, 0.0, 1.0) : 0.0;
}

struct Offset {
  Vec3d vector;
  double distance;
  double lift;
};

/// Mean over both segments, each with weight 1 / distance¹⁶. `w`: how much `p` follows the bone below.
Offset from_bones(const Vec3d& p, double w, const Vec3d& head, const Vec3d& joint, const Vec3d& tail) {
  const Vec3d foot_above = joint + nearest_on_segment(p, joint, head) * (head - joint);
  const Vec3d foot_below = joint + nearest_on_segment(p, joint, tail) * (tail - joint);
  const Vec3d above = p - foot_above, below = p - foot_below;
  const double lift_above = w * (foot_above - joint).norm(),
               lift_below = (1 - w) * (foot_below - joint).norm();
  if (above.norm() == 0) return {Vec3d::Zero(), 0, lift_above};
  if (below.norm() == 0) return {Vec3d::Zero(), 0, lift_below};
  const double w_above = std::pow(above.norm() / below.norm(), -16);
  return {(w_above * above + below) / (w_above + 1), (w_above * above.norm() + below.norm()) / (w_above + 1),
          (w_above * lift_above + lift_below) / (w_above + 1)};
}

double smooth_step(double from, double to, double x) {
  const double t = std::clamp((x - from) / (to - from), 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

/// The part of `v` that is perpendicular to the unit vector `n`, as a unit vector.
Vec3d perpendicular(const Vec3d& v, const Vec3d& n) {
  return (v - v.dot(n) * n).normalized();
}

struct Share {
  int joint;
  double below, weight;
};

}  // namespace

void bulge_free(std::span<const Vec3f> rest, const SkinWeights& weights, std::span<const BulgeFreeBone> bones,
                std::span<const Affine3d> posed_from_rest, double strength, std::span<Vec3f> posed) {
  const auto bone = [&](int j) { return bones[to_size(j)]; };
  const auto transform = [&](int j) { return posed_from_rest[to_size(j)]; };
  double longest = 0;
  for (const BulgeFreeBone& b : bones) longest = std::max(longest, (b.tail - b.head).norm());

  for (std::size_t v = 0; v < rest.size(); ++v) {
    std::map<int, double> below_joint;
    for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      for (int j = static_cast<int>(weights.joints[i]); j >= 0; j = bone(j).parent)
        below_joint[j] += weights.values[i];
    std::vector<Share> shares;
    for (const auto& entry : below_joint) {
      const int j = entry.first;
      const double w = std::min(entry.second, 1.0);
      const double weight = w * (1 - w) - BulgeFreeCorrection::kLeastShare;
      if (bone(j).parent < 0 || (bone(j).tail - bone(j).head).norm() <= 1e-6 * longest || weight <= 0)
        continue;
      shares.push_back({j, w, weight});
    }
    std::stable_sort(shares.begin(), shares.end(),
                     [](const Share& a, const Share& b) { return a.weight > b.weight; });
    double too_many = 0;
    if (shares.size() > BulgeFreeCorrection::kMostJoints) {
      too_many = shares[BulgeFreeCorrection::kMostJoints].weight;
      shares.resize(BulgeFreeCorrection::kMostJoints);
    }

    const Vec3d p = rest[v].cast<double>(), q = posed[v].cast<double>();
    Vec3d pull = Vec3d::Zero();
    double total = 0;
    for (const Share& share : shares) {
      const int j = share.joint, parent = bone(j).parent;
      int start = parent;
      while ((bone(start).head - bone(j).head).norm() <= 1e-6 * longest && bone(start).parent >= 0)
        start = bone(start).parent;
      const Affine3d above = transform(parent), below = transform(j);
      const Vec3d joint = below * bone(j).head;
      const Offset at_rest = from_bones(p, share.below, bone(start).head, bone(j).head, bone(j).tail);
      const Offset now = from_bones(q, share.below, transform(start) * bone(start).head, joint,
                                    transform(bone(j).tail_joint) * bone(j).tail);

      const Vec3d along = (bone(j).tail - bone(j).head).normalized();
      const Vec3d unbent = (above.linear() * along).normalized();
      const Vec3d bent = (below.linear() * along).normalized();
      const double chord = (bent - unbent).norm();
      if (!(chord > 1e-6)) continue;
      const double nearness = 1 / (at_rest.distance * at_rest.distance / (longest * longest) + 1e-5);
      const double weight = (share.weight - too_many) * chord * chord * nearness * nearness;
      const double fade = 1 - too_many / share.weight;
      total += weight;

      const double w = share.below;
      const Vec3d fold =
          (1 - w) * perpendicular(above.linear().transpose() * perpendicular(bent, unbent), along) +
          w * perpendicular(below.linear().transpose() * perpendicular(-unbent, bent), along);
      const double side = at_rest.distance > 0 ? at_rest.vector.dot(fold) / at_rest.distance : 0.0;
      const double outer = 1 - smooth_step(0, BulgeFreeCorrection::kFoldSide, side);
      double limb = at_rest.lift > 0 ? 0 : 1;
      if (at_rest.distance > 0)
        limb = 1 - smooth_step(BulgeFreeCorrection::kLimbLift, BulgeFreeCorrection::kSpanLift,
                               at_rest.lift / at_rest.distance);

      double kept = at_rest.distance;
      if (at_rest.vector.norm() > 0)
        kept *= ((1 - w) * (above.linear() * at_rest.vector).norm() +
                 w * (below.linear() * at_rest.vector).norm()) /
                at_rest.vector.norm();
      // How far dual quaternions between these two bones turn a vertex off the nearer of them.
      const double half = std::asin(std::min(1.0, chord / 2));
      const double less = std::min(w, 1 - w);
      const double turn = 2 * std::atan2(less * std::sin(half), 1 - less + less * std::cos(half));
      const double most = 2 * std::sin(turn / 2) * (q - joint).norm();
      const double bulge = std::min(now.distance - kept, most);
      if (bulge > 0 && now.distance > 0)
        pull += weight * fade * outer * limb * bulge / now.distance * now.vector;
    }
    if (total > 0) posed[v] -= (strength / total * pull).cast<float>();
  }
}

}  // namespace sinew::reference
