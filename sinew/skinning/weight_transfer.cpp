#include <sinew/skinning/weight_transfer.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <Eigen/Geometry>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/skinning/row_diffusion.h>
#include <sinew/skinning/row_sampling.h>

namespace sinew {

namespace {

constexpr std::size_t kTransferredPerTask = 256;

// Tight clothes cut into the body by this share of its size: that much inside still counts as outside.
constexpr double kCutIn = 0.001;

// A fully lined garment has half of its vertices facing the body. With a share below the first number a piece
// has no lining, and faces something only where limbs are close together; above the second, it is wound the
// wrong way round.
constexpr double kLinedShare = 0.2, kTurnedShare = 0.8;

// Rows with a smaller sum count as empty: parts of them could vanish in float.
constexpr double kNoWeight = 1e-6;

enum class Verdict : std::uint8_t { same_way, facing, aslant, too_far, no_normal };

void check_positions(const MeshView& mesh, const char* what) {
  for (std::size_t v = 0; v < mesh.positions.size(); ++v)
    if (!mesh.positions[v].allFinite())
      throw Error(fmt::format("{}: vertex {}: position ({}, {}, {}) is not finite", what, v,
                              mesh.positions[v].x(), mesh.positions[v].y(), mesh.positions[v].z()));
}

void check_options(const TransferOptions& options) {
  if (!(options.max_distance >= 0) || !std::isfinite(options.max_distance))
    throw Error(
        fmt::format("weight transfer: largest distance {} must be a share of the source's size, 0 or "
                    "more",
                    options.max_distance));
  if (!(options.max_angle > 0 && options.max_angle <= 90))
    throw Error(fmt::format("weight transfer: largest angle {} must be above 0 and at most 90 degrees",
                            options.max_angle));
}

// The bound surface, as far as it has weights.
class Source {
 public:
  Source(const MeshView& mesh, const SkinWeights& weights)
      : weights_(weights),
        triangles_(weighted_triangles(mesh, weights)),
        query_(MeshView{mesh.positions, triangles_}),
        normals_(smooth_normals(mesh)) {
    Eigen::AlignedBox3d box;
    for (const Triangle& f : triangles_)
      for (const std::uint32_t v : f) box.extend(mesh.positions[v].cast<double>());
    size_ = box.diagonal().norm();
  }

  double size() const { return size_; }

  NearestHit nearest(const Vec3f& point) const {
    const std::optional<NearestHit> hit = query_.nearest(point);
    assert(hit);
    return *hit;
  }

  Vec3d normal(const NearestHit& hit) const {
    return interpolated_normal(normals_, triangles_[hit.triangle], hit.barycentric);
  }

  void add_row(const NearestHit& hit, std::vector<Influence>& row) const {
    add_interpolated_row(weights_, triangles_[hit.triangle], hit.barycentric, row);
  }

  // Whether the ray meets the outside of the surface. Where it leaves through the surface first, it started
  // inside, by a little: clothes cut in.
  bool meets_outside(const Vec3d& from, const Vec3d& direction, double reach) const {
    const Ray ray{from.cast<float>(), direction.cast<float>(), 0.0f, static_cast<float>(reach)};
    const std::vector<RayHit> hits = query_.all_hits(ray);
    return std::any_of(hits.begin(), hits.end(), [](const RayHit& hit) { return hit.from_front; });
  }

 private:
  static std::vector<Triangle> weighted_triangles(const MeshView& mesh, const SkinWeights& weights) {
    const auto has_weight = [&](std::uint32_t v) {
      double sum = 0;
      for (const float value : weights.row_values(v)) sum += double{value};
      return sum > kNoWeight;
    };
    std::vector<Triangle> result;
    for (const Triangle& f : mesh.triangles)
      if (std::all_of(f.begin(), f.end(), has_weight)) result.push_back(f);
    if (result.empty())
      throw Error(fmt::format("weight transfer: none of the source's {} triangles has weights at all corners",
                              mesh.triangles.size()));
    return result;
  }

  const SkinWeights& weights_;
  std::vector<Triangle> triangles_;
  SurfaceQuery query_;
  std::vector<Vec3d> normals_;
  double size_ = 0;
};

}  // namespace

SkinWeights transfer_weights(const MeshView& source_mesh, const SkinWeights& source_weights,
                             const MeshView& target, const TransferOptions& options, TransferReport* report) {
  check_options(options);
  check_triangles(source_mesh, "weight transfer: source");
  check_triangles(target, "weight transfer: target");
  check_rows(source_weights, source_mesh.positions.size(), "weight transfer: source");
  check_positions(source_mesh, "weight transfer: source");
  check_positions(target, "weight transfer: target");
  const Source source(source_mesh, source_weights);
  const std::size_t count = target.positions.size();
  const double reach = options.max_distance * source.size();
  const double least_cosine = std::cos(options.max_angle * std::numbers::pi / 180);

  const Components components = connected_parts(target);
  const std::vector<Vec3d> normals = smooth_normals(target);
  std::vector<NearestHit> hits(count);
  std::vector<Verdict> verdicts(count);
  parallel_blocks(count, kTransferredPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      hits[v] = source.nearest(target.positions[v]);
      const Vec3d there = source.normal(hits[v]);
      const double cosine = normals[v].dot(there);
      if (!(double{hits[v].distance} <= reach))
        verdicts[v] = Verdict::too_far;
      else if (normals[v].isZero() || there.isZero())
        verdicts[v] = Verdict::no_normal;
      else
        verdicts[v] = cosine >= least_cosine    ? Verdict::same_way
                      : cosine <= -least_cosine ? Verdict::facing
                                                : Verdict::aslant;
    }
  });

  TransferReport counts;
  counts.vertices = count;
  std::vector<std::size_t> same_way(components.count, 0), facing(components.count, 0);
  for (std::size_t v = 0; v < count; ++v) {
    if (verdicts[v] == Verdict::same_way) ++same_way[components.of_vertex[v]];
    if (verdicts[v] == Verdict::facing) ++facing[components.of_vertex[v]];
  }
  std::vector<std::uint8_t> turned(components.count, 0), lined(components.count, 0);
  if (options.either_side)
    for (std::size_t c = 0; c < components.count; ++c) {
      const auto votes = static_cast<double>(same_way[c] + facing[c]),
                 facing_votes = static_cast<double>(facing[c]);
      turned[c] = facing_votes > kTurnedShare * votes;
      lined[c] = facing_votes >= kLinedShare * votes && !turned[c];
      counts.turned_components += turned[c];
    }
  for (std::size_t v = 0; v < count; ++v) {
    if (!turned[components.of_vertex[v]]) continue;
    if (verdicts[v] == Verdict::same_way)
      verdicts[v] = Verdict::facing;
    else if (verdicts[v] == Verdict::facing)
      verdicts[v] = Verdict::same_way;
  }

  std::vector<std::uint8_t> accepted(count, 0);
  parallel_blocks(count, kTransferredPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      accepted[v] = verdicts[v] == Verdict::same_way || verdicts[v] == Verdict::no_normal;
      if (verdicts[v] != Verdict::facing || !lined[components.of_vertex[v]]) continue;
      const Vec3d position = target.positions[v].cast<double>();
      const double height = (position - hits[v].position.cast<double>()).dot(source.normal(hits[v]));
      accepted[v] = height >= -kCutIn * source.size() && !source.meets_outside(position, -normals[v], reach);
    }
  });

  std::vector<std::uint8_t> has_triangle(count, 0), has_accepted(components.count, 0);
  for (const Triangle& f : target.triangles)
    for (const std::uint32_t v : f) has_triangle[v] = 1;
  for (std::size_t v = 0; v < count; ++v) {
    if (accepted[v]) has_accepted[components.of_vertex[v]] = 1;
    counts.stray_vertices += !has_triangle[v];
    counts.too_far_vertices += verdicts[v] == Verdict::too_far;
    counts.wrong_side_vertices += !accepted[v] && verdicts[v] != Verdict::too_far;
    counts.facing_vertices += accepted[v] && verdicts[v] == Verdict::facing;
  }
  for (std::size_t c = 0; c < components.count; ++c) counts.fallback_components += !has_accepted[c];

  SkinWeights rows;
  WeightRepairs repairs;
  std::vector<Influence> row;
  std::vector<std::uint8_t> known(count, 0);
  for (std::size_t v = 0; v < count; ++v) {
    known[v] = accepted[v] || !has_accepted[components.of_vertex[v]];
    row.clear();
    if (known[v]) source.add_row(hits[v], row);
    append_row(rows, row, 0, repairs);
    counts.transferred_vertices += accepted[v];
    counts.fallback_vertices += known[v] && !accepted[v];
  }
  counts.filled_vertices = count - counts.transferred_vertices - counts.fallback_vertices;
  if (counts.filled_vertices > 0) rows = fill_rows(target, rows, known);
  assert(std::adjacent_find(rows.starts.begin(), rows.starts.end()) == rows.starts.end());
  if (report) *report = counts;
  return rows;
}

}  // namespace sinew
