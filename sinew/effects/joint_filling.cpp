#include <sinew/effects/joint_filling.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>
#include <Eigen/LU>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/core/smooth_step.h>
#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/limb_radius.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/volume.h>

namespace sinew {

namespace {

constexpr int kFillingRounds = 2;
// Freedom is evened out over rings of neighbours, as many as there are in half a limb radius, within these
// bounds.
constexpr double kFewestEvenings = 1;
constexpr double kMostEvenings = 4;
// Limb radii from a patch's border from which on its skin is moved wholly: it has to end in the skin round
// it.
constexpr float kFade = 0.6f;
constexpr double kLeastShareOfSphere = 0.1;  // that a patch encloses; else the joint is not in a limb
// Degrees that a joint turns from which on it may lose something, and all of it is restored.
constexpr double kStillJoint = 5;
constexpr double kBentJoint = 40;
constexpr double kLeft = 0.005;  // of the volume that is not missed
constexpr double kMost = 0.4;    // of a push, in limb radii
// All but extreme poses push less far.
constexpr double kFarPush = 0.1;
// Cosine between a triangle's normal and where its joints carry it from which on it is pushed, and wholly is.
constexpr float kRolled = 0.3f;
constexpr float kUpright = 0.8f;
// Of its area at rest, below which a triangle counts as more and more rolled over: where it vanishes, its
// normal turns round at once.
constexpr float kThin = 0.25f;
constexpr double kDegrees = std::numbers::pi / 180;

/// The angle between two transforms' turns; 0 where one of them is none.
double angle_between(const Affine3d& a, const Affine3d& b) {
  const double sizes = a.linear().norm() * b.linear().norm();
  if (!(sizes > 0) || !std::isfinite(sizes)) return 0;
  const double cosine = (3 * a.linear().cwiseProduct(b.linear()).sum() / sizes - 1) / 2;
  return std::acos(std::clamp(cosine, -1.0, 1.0));
}

/// The volume within a closed surface about a point of it, and its gradient by the first vertices.
double volume_and_gradient(std::span<const Vec3f> places, std::span<const Triangle> triangles,
                           std::span<Vec3f> gradients) {
  const Vec3f origin = places[0];
  std::fill(gradients.begin(), gradients.end(), Vec3f::Zero());
  double six_fold = 0;
  for (const Triangle& t : triangles) {
    const Vec3f a = places[t[0]] - origin, b = places[t[1]] - origin, c = places[t[2]] - origin;
    const Vec3f normal = (b - a).cross(c - a);
    six_fold += static_cast<double>(a.dot(normal));
    for (const std::uint32_t v : t)
      if (v < gradients.size()) gradients[v] += normal / 6;
  }
  return six_fold / 6;
}

}  // namespace

JointFilling::JointFilling(const MeshView& rest, SharedWeights weights, std::span<const Hinge> hinges,
                           double share)
    : weights_(weights), vertices_(rest.positions.size()), share_(share) {
  for (const std::uint32_t joint : weights->joints)
    transforms_ = std::max(transforms_, std::size_t{joint} + 1);
  for (const Hinge& hinge : hinges)
    transforms_ = std::max({transforms_, std::size_t{hinge.binding} + 1, std::size_t{hinge.parent} + 1});
  if (weights->rows() != vertices_)
    throw Error(fmt::format("filling joints needs weights for each of {} vertices", vertices_));
  if (!(share > 0) || hinges.empty()) return;
  const std::vector<std::vector<std::uint32_t>> near = vertices_nearest_to(rest, *weights, hinges, {});
  // With their rings, for single vertices may look through a dent.
  const OneRings rings = one_rings(vertices_, rest.triangles);
  std::vector<std::uint32_t> asked;
  for (const std::vector<std::uint32_t>& some : near)
    for (const std::uint32_t v : some) {
      asked.push_back(v);
      asked.insert(asked.end(), rings[v].begin(), rings[v].end());
    }
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  const std::vector<double> radii =
      limb_radius_at(rest, connected_components(vertices_, rest.triangles).of_triangle, asked);
  const auto radius_at = [&](std::uint32_t v) {
    return radii[static_cast<std::size_t>(std::lower_bound(asked.begin(), asked.end(), v) - asked.begin())];
  };
  std::vector<double> radius(hinges.size(), 0);
  for (std::size_t h = 0; h < hinges.size(); ++h) {
    std::vector<double> here;
    for (const std::uint32_t v : near[h]) {
      double sum = radius_at(v), known = sum > 0 ? 1 : 0;
      for (const std::uint32_t n : rings[v]) sum += radius_at(n), known += radius_at(n) > 0 ? 1 : 0;
      if (known > 0) here.push_back(sum / known);
    }
    if (here.empty()) continue;
    const auto middle = here.begin() + static_cast<std::ptrdiff_t>(here.size() / 2);
    std::nth_element(here.begin(), middle, here.end());
    radius[h] = *middle;
  }
  std::vector<HingePatch> found = hinge_patches(rest, *weights, hinges, radius);
  for (std::size_t h = 0; h < hinges.size(); ++h) {
    if (found[h].vertices.empty()) continue;
    Patch patch;
    patch.binding = hinges[h].binding, patch.parent = hinges[h].parent;
    patch.radius = radius[h];
    patch.vertices = std::move(found[h].vertices);
    ClosedSurface closed = close_surface(patch.vertices.size(), found[h].triangles);
    patch.skin_triangles = closed.triangle_count;
    patch.triangles = std::move(closed.triangles);
    patch.inverse_degree.assign(patch.vertices.size(), 0);
    for (std::size_t t = 0; t < patch.skin_triangles; ++t)
      for (const std::uint32_t v : patch.triangles[t]) patch.inverse_degree[v] += 2;
    for (float& degree : patch.inverse_degree) degree = 1 / degree;
    patch.borders = std::move(closed.borders);
    for (const std::uint32_t v : patch.vertices) {
      float nearest = std::numeric_limits<float>::max();
      for (const std::vector<std::uint32_t>& border : patch.borders)
        for (const std::uint32_t end : border)
          nearest =
              std::min(nearest, (rest.positions[v] - rest.positions[patch.vertices[end]]).squaredNorm());
      patch.share.push_back(smooth_step(0.0f, kFade, std::sqrt(nearest) / static_cast<float>(patch.radius)));
    }
    double edges = 0;
    for (std::size_t t = 0; t < patch.skin_triangles; ++t)
      for (int k = 0; k < 3; ++k)
        edges += static_cast<double>((rest.positions[patch.vertices[patch.triangles[t][(k + 1) % 3]]] -
                                      rest.positions[patch.vertices[patch.triangles[t][k]]])
                                         .norm());
    const double edge = edges / (3 * static_cast<double>(patch.skin_triangles));
    patch.evenings =
        static_cast<int>(std::clamp(std::round(patch.radius / (2 * edge)), kFewestEvenings, kMostEvenings));
    JointFillingScratch::Patch s;
    s.places.resize(patch.vertices.size() + patch.borders.size());
    gather(patch, rest.positions, s);
    for (std::size_t t = 0; t < patch.skin_triangles; ++t) {
      const Triangle& f = patch.triangles[t];
      patch.rest_normals.push_back((s.places[f[1]] - s.places[f[0]]).cross(s.places[f[2]] - s.places[f[0]]));
    }
    patch.volume = volume_and_gradient(s.places, patch.triangles, {});
    const double sphere = 4 * std::numbers::pi / 3 * std::pow(found[h].reach, 3);
    if (patch.volume >= kLeastShareOfSphere * sphere) patches_.push_back(std::move(patch));
  }
  far_.assign(vertices_, 0);
  for (const Patch& patch : patches_)
    for (const std::uint32_t v : patch.vertices)
      far_[v] = std::max(far_[v], static_cast<float>(kFarPush * patch.radius));
}

JointFillingScratch JointFilling::make_scratch() const {
  JointFillingScratch s;
  for (const Patch& patch : patches_) {
    JointFillingScratch::Patch& p = s.patches.emplace_back();
    p.places.resize(patch.vertices.size() + patch.borders.size());
    p.gradients.resize(patch.vertices.size());
    p.pushes.resize(patch.vertices.size());
    p.freedom.resize(patch.vertices.size());
  }
  s.pushes.resize(patches_.empty() ? 0 : vertices_);
  s.normals.resize(s.pushes.size());
  s.turns.resize(transforms_);
  s.movable.reserve(s.pushes.size());
  s.far.reserve(s.pushes.size());
  s.listed.resize(s.pushes.size());
  return s;
}

double JointFilling::bent_share(const Patch& patch, std::span<const Affine3d> posed_from_rest) const {
  const double angle = angle_between(posed_from_rest[patch.parent], posed_from_rest[patch.binding]);
  return share_ * smooth_step(kStillJoint, kBentJoint, angle / kDegrees);
}

void JointFilling::gather(const Patch& patch, std::span<const Vec3f> positions,
                          JointFillingScratch::Patch& s) const {
  for (std::size_t i = 0; i < patch.vertices.size(); ++i) s.places[i] = positions[patch.vertices[i]];
  for (std::size_t k = 0; k < patch.borders.size(); ++k) {
    Vec3f sum = Vec3f::Zero();
    for (const std::uint32_t v : patch.borders[k]) sum += s.places[v];
    s.places[patch.vertices.size() + k] = sum / static_cast<float>(patch.borders[k].size());
  }
}

void JointFilling::find_goal(const Patch& patch, std::span<const Affine3d> posed_from_rest,
                             std::span<const Vec3f> morphed, std::span<const Vec3f> positions,
                             JointFillingScratch::Patch& s) const {
  const Affine3d &above = posed_from_rest[patch.parent], &below = posed_from_rest[patch.binding];
  s.part = bent_share(patch, posed_from_rest);
  s.pushed = 0;
  if (!(s.part > 0)) return;
  s.whole = patch.volume;
  if (!morphed.empty()) {
    gather(patch, morphed, s);
    s.whole = volume_and_gradient(s.places, patch.triangles, {});
  }
  // As both bones are scaled.
  s.whole *= std::sqrt(std::abs(above.linear().determinant() * below.linear().determinant()));
  gather(patch, positions, s);
  const double volume = volume_and_gradient(s.places, patch.triangles, {});
  const double lost = s.whole - volume;
  if (!(lost > 0)) s.part = 0;
  // A little is not missed, and nothing begins at once.
  s.goal = volume + s.part * lost * lost / (std::abs(lost) + kLeft * s.whole);
}

Vec3f JointFilling::carry(std::uint32_t vertex, const Vec3f& direction,
                          std::span<const Eigen::Matrix3f> turns) const {
  Vec3f carried = Vec3f::Zero();
  const auto joints = weights_->row_joints(vertex);
  const auto values = weights_->row_values(vertex);
  for (std::size_t k = 0; k < joints.size(); ++k) carried += values[k] * (turns[joints[k]] * direction);
  return carried;
}

void JointFilling::find_freedom(const Patch& patch, std::span<const Eigen::Matrix3f> turns,
                                std::span<const float> room, JointFillingScratch::Patch& s) const {
  const auto size = static_cast<float>(std::cbrt(s.whole / patch.volume));
  for (std::size_t i = 0; i < s.freedom.size(); ++i) s.freedom[i] = patch.share[i] * room[patch.vertices[i]];
  // Where skin has been rolled over by a contact, out is not where it was.
  for (std::size_t t = 0; t < patch.skin_triangles; ++t) {
    const Triangle& f = patch.triangles[t];
    if (!(s.freedom[f[0]] > 0) && !(s.freedom[f[1]] > 0) && !(s.freedom[f[2]] > 0)) continue;
    const Vec3f carried = carry(patch.vertices[f[0]], patch.rest_normals[t], turns);
    const Vec3f normal = (s.places[f[1]] - s.places[f[0]]).cross(s.places[f[2]] - s.places[f[0]]);
    const float along = carried.dot(normal), squares = carried.squaredNorm();
    const float lengths = squares * std::max(normal.squaredNorm(), kThin * kThin * size * size * squares);
    // Nearly all are upright: without roots.
    if (along > 0 && lengths > 0 && along * along >= kUpright * kUpright * lengths) continue;
    const float upright = lengths > 0 ? smooth_step(kRolled, kUpright, along / std::sqrt(lengths)) : 0.0f;
    for (const std::uint32_t v : f) s.freedom[v] = std::min(s.freedom[v], upright);
  }
  // It ends gradually at contacts, too.
  for (int sweep = 0; sweep < patch.evenings; ++sweep) {
    std::fill(s.pushes.begin(), s.pushes.end(), 0.0f);
    for (std::size_t t = 0; t < patch.skin_triangles; ++t) {
      const Triangle& f = patch.triangles[t];
      const float sum = s.freedom[f[0]] + s.freedom[f[1]] + s.freedom[f[2]];
      for (const std::uint32_t v : f) s.pushes[v] += sum - s.freedom[v];
    }
    for (std::size_t i = 0; i < s.freedom.size(); ++i)
      s.freedom[i] = std::min(s.freedom[i], s.pushes[i] * patch.inverse_degree[i]);
  }
}

void JointFilling::find_pushes(const Patch& patch, bool first, std::span<const Vec3f> positions,
                               std::span<const Eigen::Matrix3f> turns, std::span<const float> room,
                               JointFillingScratch::Patch& s) const {
  std::fill(s.pushes.begin(), s.pushes.end(), 0.0f);
  if (!(s.part > 0)) return;
  gather(patch, positions, s);
  const double volume = volume_and_gradient(s.places, patch.triangles, s.gradients);
  if (first) find_freedom(patch, turns, room, s);
  if (!(s.goal > volume)) {
    std::fill(s.pushes.begin(), s.pushes.end(), 0.0f);
    return;
  }
  double capacity = 0;
  for (std::size_t i = 0; i < s.pushes.size(); ++i) {
    s.pushes[i] = s.freedom[i];
    capacity += static_cast<double>(s.pushes[i] * s.gradients[i].norm());
  }
  const double size = std::cbrt(s.whole / patch.volume);
  double way = std::min((s.goal - volume) / capacity, kMost * size * patch.radius - s.pushed);
  // What is round grows faster than it begins to. Borders do not move, and so neither do the fans' middles.
  for (std::size_t i = 0; i < s.pushes.size(); ++i)
    if (const float length = s.gradients[i].norm(); length > 0)
      s.places[i] += static_cast<float>(way) * s.pushes[i] / length * s.gradients[i];
  const double grown = volume_and_gradient(s.places, patch.triangles, {}) - volume;
  if (grown > s.goal - volume) way *= (s.goal - volume) / grown;
  const bool goes = way > 0 && std::isfinite(way);
  if (goes) s.pushed += way;
  for (float& push : s.pushes) push *= goes ? static_cast<float>(way) : 0.0f;
}

void JointFilling::find_lost(std::span<const Affine3d> posed_from_rest, std::span<const Vec3f> morphed,
                             std::span<const Vec3f> positions, JointFillingScratch& s) const {
  assert(positions.size() == vertices_ && posed_from_rest.size() >= transforms_);
  parallel_blocks(patches_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p)
      find_goal(patches_[p], posed_from_rest, morphed, positions, s.patches[p]);
  });
  constexpr float kLeastShare = 0.01f;
  for (const std::uint32_t v : s.movable) s.listed[v] = 0;
  s.movable.clear();
  s.far.clear();
  for (std::size_t p = 0; p < patches_.size(); ++p) {
    if (!(s.patches[p].part > 0)) continue;
    for (std::size_t i = 0; i < patches_[p].vertices.size(); ++i) {
      const std::uint32_t v = patches_[p].vertices[i];
      if (s.listed[v] != 0 || !(patches_[p].share[i] > kLeastShare)) continue;
      s.listed[v] = 1;
      s.movable.push_back(v);
      s.far.push_back(far_[v]);
    }
  }
}

void JointFilling::restore(std::span<const Affine3d> posed_from_rest, std::span<const float> room,
                           JointFillingScratch& s, std::span<Vec3f> positions) const {
  assert(positions.size() == vertices_ && room.size() == vertices_ && posed_from_rest.size() >= transforms_);
  if (patches_.empty()) return;
  const auto each_patch = [&](auto&& work) {
    parallel_blocks(patches_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) work(patches_[p], s.patches[p]);
    });
  };
  for (std::size_t t = 0; t < s.turns.size(); ++t) s.turns[t] = posed_from_rest[t].linear().cast<float>();
  for (int round = 0; round < kFillingRounds; ++round) {
    each_patch([&](const Patch& patch, JointFillingScratch::Patch& p) {
      find_pushes(patch, round == 0, positions, s.turns, room, p);
    });
    // Where patches overlap, the one that wants most is heard: they fill each other.
    std::fill(s.pushes.begin(), s.pushes.end(), 0.0f);
    for (std::size_t p = 0; p < patches_.size(); ++p) {
      const JointFillingScratch::Patch& from = s.patches[p];
      if (!(from.part > 0)) continue;
      for (std::size_t i = 0; i < from.pushes.size(); ++i) {
        const std::uint32_t v = patches_[p].vertices[i];
        if (!(from.pushes[i] > s.pushes[v])) continue;
        s.pushes[v] = from.pushes[i];
        s.normals[v] = from.gradients[i];
      }
    }
    for (std::size_t v = 0; v < vertices_; ++v) {
      const float length = s.pushes[v] > 0 ? s.normals[v].norm() : 0.0f;
      if (length > 0) positions[v] += s.pushes[v] / length * s.normals[v];
    }
  }
}

}  // namespace sinew
