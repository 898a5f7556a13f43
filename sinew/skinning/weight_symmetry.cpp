#include <sinew/skinning/weight_symmetry.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <Eigen/Geometry>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/geometry/weld.h>
#include <sinew/skinning/row_sampling.h>

namespace sinew {

namespace {

// Of the surface's size: image and partner are the same point.
constexpr double kSamePoint = 1e-4;
// Of the mean length of the edges there: how much of it that point may be off on a fine mesh.
constexpr double kSamePointOfEdge = 0.1;
// A counterpart's distance: of the edges there, within these shares of the size. Two tessellations of one
// round surface differ by a part of their edges' length.
constexpr double kReachOfEdge = 0.5;
constexpr double kLeastReach = 0.005, kMostReach = 0.025;
constexpr double kAgreeingCosine = 0.5;

constexpr std::size_t kMirroredPerTask = 256;

struct Counterpart {
  std::uint32_t vertex = kNoIndex;  // exactly this one …
  std::optional<NearestHit> point;  // … or this point
};

std::vector<double> mean_edge_lengths(const MeshView& surface) {
  std::vector<double> sums(surface.positions.size(), 0.0);
  std::vector<int> counts(surface.positions.size(), 0);
  for (const Triangle& f : surface.triangles)
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t a = f[to_size(k)], b = f[to_size((k + 1) % 3)];
      const double length =
          (surface.positions[a].cast<double>() - surface.positions[b].cast<double>()).norm();
      for (const std::uint32_t v : {a, b}) {
        sums[v] += length;
        ++counts[v];
      }
    }
  for (std::size_t v = 0; v < sums.size(); ++v)
    if (counts[v] > 0) sums[v] /= counts[v];
  return sums;
}

class CounterpartSearch {
 public:
  CounterpartSearch(const MeshView& surface, const MirrorPlane& plane)
      : surface_(surface),
        plane_(plane),
        query_(surface),
        normals_(smooth_normals(surface)),
        edges_(mean_edge_lengths(surface)),
        weld_(weld_vertices(surface.positions)),
        twins_starts_(weld_.size() + 1, 0),
        twins_(surface.positions.size()) {
    Eigen::AlignedBox3d box;
    for (const Triangle& f : surface.triangles)
      for (const std::uint32_t v : f) box.extend(surface.positions[v].cast<double>());
    size_ = box.isEmpty() ? 0 : box.diagonal().norm();
    for (const std::uint32_t w : weld_.welded_of_vertex) ++twins_starts_[w + 1];
    for (std::size_t w = 0; w < weld_.size(); ++w) twins_starts_[w + 1] += twins_starts_[w];
    std::vector<std::uint32_t> next(twins_starts_.begin(), twins_starts_.end() - 1);
    for (std::uint32_t v = 0; v < twins_.size(); ++v) twins_[next[weld_.welded_of_vertex[v]]++] = v;
  }

  Counterpart find(std::uint32_t v) const {
    const Vec3d image = plane_.mirrored(surface_.positions[v].cast<double>());
    const Vec3d normal = plane_.mirrored_direction(normals_[v]);
    const double reach = std::clamp(kReachOfEdge * edges_[v], kLeastReach * size_, kMostReach * size_);
    const std::optional<NearestHit> hit = query_.nearest(image.cast<float>(), static_cast<float>(reach));
    if (!hit) return {};
    const std::uint32_t vertex = vertex_at(image, normal, surface_.triangles[hit->triangle],
                                           std::min(kSamePoint * size_, kSamePointOfEdge * edges_[v]));
    // A vertex in no triangle has no normal to judge a point by.
    const bool agrees = normal.dot(interpolated_normal(normals_, surface_.triangles[hit->triangle],
                                                       hit->barycentric)) >= kAgreeingCosine;
    return {vertex, agrees ? hit : std::nullopt};
  }

 private:
  // The vertex at that point, if any. Surfaces that touch, such as closed lips, have several: then the one
  // that faces the same way.
  std::uint32_t vertex_at(const Vec3d& point, const Vec3d& normal, const Triangle& near,
                          double tolerance) const {
    std::uint32_t best = kNoIndex;
    double best_distance = 0, best_cosine = 0;
    for (const std::uint32_t corner : near) {
      const std::uint32_t w = weld_.welded_of_vertex[corner];
      const double distance = (surface_.positions[corner].cast<double>() - point).norm();
      if (!(distance <= tolerance)) continue;
      for (std::uint32_t i = twins_starts_[w]; i < twins_starts_[w + 1]; ++i) {
        const double cosine = normal.dot(normals_[twins_[i]]);
        const bool both_have_normals = !normal.isZero() && !normals_[twins_[i]].isZero();
        if (both_have_normals && cosine < kAgreeingCosine) continue;
        if (best != kNoIndex &&
            (distance != best_distance ? distance > best_distance : cosine <= best_cosine))
          continue;
        best = twins_[i];
        best_distance = distance;
        best_cosine = cosine;
      }
    }
    return best;
  }

  MeshView surface_;
  MirrorPlane plane_;
  SurfaceQuery query_;
  std::vector<Vec3d> normals_;
  std::vector<double> edges_;
  Weld weld_;
  std::vector<std::uint32_t> twins_starts_, twins_;  // vertices at each welded one's position
  double size_ = 0;
};

void add_row(const SkinWeights& weights, std::size_t v, std::vector<Influence>& row) {
  for (std::uint32_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
    row.push_back({weights.joints[i], weights.values[i]});
}

// The mean of a row and its counterpart's, from which both vertices of a pair take their rows.
class MeanRow {
 public:
  explicit MeanRow(std::span<const int> partner) : partner_(partner), sums_(partner.size(), 0.0) {}

  // `own` and the mirrored `other`, of joints with partners only.
  void set(std::span<const Influence> own, std::span<const Influence> other) {
    for (const std::uint32_t joint : joints_) sums_[joint] = 0;
    joints_.clear();
    total_ = 0;
    add(own, false);
    add(other, true);
    std::sort(joints_.begin(), joints_.end());
    joints_.erase(std::unique(joints_.begin(), joints_.end()), joints_.end());
    for (const std::uint32_t joint : joints_) total_ += sums_[joint];
  }

  // A vertex's row: what it has of joints without partner, and the mean scaled to what that leaves.
  void compose(std::span<const Influence> own, bool mirror, std::vector<Influence>& row) const {
    double kept = 0, whole = 0;
    for (const Influence& influence : own) {
      whole += double{influence.weight};
      if (partner_[influence.joint] < 0) kept += double{influence.weight};
    }
    row.clear();
    if (!(total_ > 0) || (whole > 0 && kept >= whole)) {
      row.assign(own.begin(), own.end());  // nothing to mirror
      return;
    }
    for (const Influence& influence : own)
      if (partner_[influence.joint] < 0)
        row.push_back({influence.joint, static_cast<float>(influence.weight / whole)});
    // Without such joints this is the same number on both sides, however the rows were rounded.
    const double share = (whole > 0 ? 1 - kept / whole : 1.0) / total_;
    for (const std::uint32_t joint : joints_) {
      const std::uint32_t target = mirror ? static_cast<std::uint32_t>(partner_[joint]) : joint;
      row.push_back({target, static_cast<float>(share * sums_[joint])});
    }
  }

 private:
  void add(std::span<const Influence> row, bool mirror) {
    for (const Influence& influence : row) {
      const int partner = partner_[influence.joint];
      if (partner < 0) continue;
      const std::uint32_t joint = mirror ? static_cast<std::uint32_t>(partner) : influence.joint;
      sums_[joint] += double{influence.weight};
      joints_.push_back(joint);
    }
  }

  std::span<const int> partner_;
  std::vector<double> sums_;
  std::vector<std::uint32_t> joints_;
  double total_ = 0;
};

void check_symmetry(const MeshView& surface, const SkinWeights& weights, const BindSymmetry& symmetry) {
  check_triangles(surface, "symmetry");
  check_rows(weights, surface.positions.size(), "symmetry");
  for (std::size_t v = 0; v < surface.positions.size(); ++v)
    if (!surface.positions[v].allFinite())
      throw Error(fmt::format("symmetry: vertex {}: position ({}, {}, {}) is not finite", v,
                              surface.positions[v].x(), surface.positions[v].y(), surface.positions[v].z()));
  const std::vector<int>& partner = symmetry.partner;
  for (std::size_t j = 0; j < partner.size(); ++j) {
    if (partner[j] == -1) continue;
    if (partner[j] < -1 || to_size(partner[j]) >= partner.size())
      throw Error(fmt::format("symmetry: joint {}: partner {} does not exist ({} joints)", j, partner[j],
                              partner.size()));
    if (partner[to_size(partner[j])] != static_cast<int>(j))
      throw Error(fmt::format("symmetry: joint {} has partner {}, whose partner is {}", j, partner[j],
                              partner[to_size(partner[j])]));
  }
  for (const std::uint32_t joint : weights.joints)
    if (joint >= partner.size())
      throw Error(
          fmt::format("symmetry: weights name joint {}, partners are known of {}", joint, partner.size()));
  if (!symmetry.plane.point.allFinite() || !(std::abs(symmetry.plane.normal.norm() - 1) < 1e-6))
    throw Error("symmetry: the mirror plane needs a finite point and a normal of unit length");
}

}  // namespace

SkinWeights symmetrize(const MeshView& surface, const SkinWeights& weights, const BindSymmetry& symmetry,
                       SymmetryReport* report) {
  check_symmetry(surface, weights, symmetry);
  const std::size_t count = surface.positions.size();
  std::vector<Counterpart> counterparts(count);
  if (!surface.triangles.empty()) {
    const CounterpartSearch search(surface, symmetry.plane);
    parallel_blocks(count, kMirroredPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) counterparts[v] = search.find(static_cast<std::uint32_t>(v));
    });
  }

  SymmetryReport counts;
  std::vector<std::vector<Influence>> rows(count);
  MeanRow mean(symmetry.partner);
  std::vector<Influence> own, other;
  for (std::uint32_t v = 0; v < count; ++v) {
    own.clear();
    other.clear();
    add_row(weights, v, own);
    const std::uint32_t u = counterparts[v].vertex;
    if (u != kNoIndex && counterparts[u].vertex == v) {
      ++counts.paired_vertices;
      if (u < v) continue;  // made together with it
      add_row(weights, u, other);
      mean.set(own, other);
      mean.compose(own, false, rows[v]);
      if (u != v) mean.compose(other, true, rows[u]);
    } else if (counterparts[v].point) {
      ++counts.interpolated_vertices;
      const NearestHit& hit = *counterparts[v].point;
      add_interpolated_row(weights, surface.triangles[hit.triangle], hit.barycentric, other);
      mean.set(own, other);
      mean.compose(own, false, rows[v]);
    } else {
      ++counts.unmirrored_vertices;
      rows[v] = own;
    }
  }

  SkinWeights result;
  WeightRepairs repairs;
  for (std::vector<Influence>& row : rows) append_row(result, row, 0, repairs);
  if (report) *report = counts;
  return result;
}

}  // namespace sinew
