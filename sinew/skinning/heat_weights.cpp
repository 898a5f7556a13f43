#include <sinew/skinning/heat_weights.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/intrinsic_laplacian.h>
#include <sinew/geometry/sparse_cholesky.h>
#include <sinew/skinning/heat_sources.h>
#include <sinew/skinning/row_diffusion.h>
#include <sinew/skinning/row_sampling.h>

namespace sinew {

namespace {

constexpr double kHeat = 1;             // the paper's c
constexpr double kSmallestHeat = 1e-3;  // before sharpening
// A piece of surface gets its own heat when at least this share of its vertices see their bones.
constexpr double kSeeingShare = 0.2;
// Distances to bones and to other surfaces are never shorter than this share of a piece's size: they would
// outweigh all diffusion.
constexpr double kShortest = 1e-3;
// What draws a vertex never vanishes beside its neighbours, however far away a rig is.
constexpr double kLeastScreen = 1e-9;
constexpr std::size_t kLanes = SparseCholesky::kLanes;
constexpr std::size_t kRowsPerTask = 2048;

/// A weight on its way into a row.
struct Entry {
  std::uint32_t vertex;
  Influence influence;
};

/// Some vertices of the surface with equations of their own.
struct Part {
  std::vector<std::uint32_t> vertices;  ///< increasing
  std::vector<double> screen;           ///< per entry of `vertices`: what is added to L's diagonal
};

Eigen::SparseMatrix<double> screened(const Eigen::SparseMatrix<double>& laplacian, const Part& part) {
  const auto size = static_cast<Eigen::Index>(part.vertices.size());
  if (size == laplacian.rows()) {
    Eigen::SparseMatrix<double> system = laplacian;
    system.diagonal() += Eigen::Map<const Eigen::VectorXd>(part.screen.data(), size);
    return system;
  }
  // Parts are made of whole components, so no entry leads out of one.
  std::vector<int> number(to_size(laplacian.rows()), -1);
  for (std::size_t i = 0; i < part.vertices.size(); ++i) number[part.vertices[i]] = static_cast<int>(i);
  Eigen::SparseMatrix<double> system(size, size);
  std::size_t entries = 0;
  for (const std::uint32_t v : part.vertices)
    entries += to_size(laplacian.outerIndexPtr()[v + 1] - laplacian.outerIndexPtr()[v]);
  system.reserve(static_cast<Eigen::Index>(entries));
  for (std::size_t i = 0; i < part.vertices.size(); ++i) {
    const auto column = static_cast<Eigen::Index>(i);
    system.startVec(column);
    for (Eigen::SparseMatrix<double>::InnerIterator it(laplacian, part.vertices[i]); it; ++it) {
      const int row = number[to_size(it.row())];
      system.insertBack(row, column) = it.value() + (row == column ? part.screen[i] : 0);
    }
  }
  system.finalize();
  return system;
}

/// Solves (L + screen) w_j = screen · target_j over a part for every joint j.
/// for_each_target(i, visit) calls visit(slot, value) for the targets of the part's i-th vertex; slots count
/// the joints.
template <class ForEachTarget>
std::vector<Entry> diffuse(const Eigen::SparseMatrix<double>& laplacian, const Part& part,
                           std::span<const std::uint32_t> joints, const ForEachTarget& for_each_target) {
  if (part.vertices.empty()) return {};
  const SparseCholesky solver(screened(laplacian, part));
  const std::size_t size = part.vertices.size();
  const std::size_t batches = (joints.size() + kLanes - 1) / kLanes;
  const double threshold = std::min(kSmallestHeat, 0.1 / static_cast<double>(joints.size()));
  std::vector<std::vector<Entry>> found(batches);
  parallel_blocks(batches, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<double> block(size * kLanes), scratch(size * kLanes);
    for (std::size_t batch = begin; batch < end; ++batch) {
      const std::size_t first = batch * kLanes;
      std::fill(block.begin(), block.end(), 0.0);
      for (std::size_t i = 0; i < size; ++i)
        for_each_target(i, [&](std::size_t slot, double value) {
          if (slot >= first && slot < first + kLanes)
            block[i * kLanes + (slot - first)] += part.screen[i] * value;
        });
      solver.solve(block, scratch);
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t lane = 0; lane < kLanes && first + lane < joints.size(); ++lane)
          if (const double weight = block[i * kLanes + lane]; weight > threshold)
            found[batch].push_back({part.vertices[i], {joints[first + lane], static_cast<float>(weight)}});
    }
  });
  std::vector<Entry> entries;
  std::size_t count = 0;
  for (const std::vector<Entry>& some : found) count += some.size();
  entries.reserve(count);
  for (std::vector<Entry>& some : found) {
    entries.insert(entries.end(), some.begin(), some.end());
    std::vector<Entry>().swap(some);
  }
  return entries;
}

/// Rows from entries in any order; rows without entries stay empty.
SkinWeights to_rows(std::size_t vertex_count, std::span<const Entry> entries) {
  std::vector<std::uint32_t> starts(vertex_count + 1, 0);
  for (const Entry& entry : entries) ++starts[entry.vertex + 1];
  for (std::size_t v = 0; v < vertex_count; ++v) starts[v + 1] += starts[v];
  std::vector<Influence> sorted(entries.size());
  std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
  for (const Entry& entry : entries) sorted[next[entry.vertex]++] = entry.influence;
  SkinWeights weights;
  weights.starts.reserve(vertex_count + 1);
  weights.joints.reserve(entries.size());
  weights.values.reserve(entries.size());
  WeightRepairs repairs;
  for (std::size_t v = 0; v < vertex_count; ++v)
    append_row(weights, std::span(sorted).subspan(starts[v], starts[v + 1] - starts[v]), 0, repairs);
  return weights;
}

void sharpen(SkinWeights& weights, double sharpness) {
  if (sharpness == 1) return;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    double sum = 0;
    for (std::uint32_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i) {
      weights.values[i] = static_cast<float>(std::pow(double{weights.values[i]}, sharpness));
      sum += weights.values[i];
    }
    for (std::uint32_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      weights.values[i] = static_cast<float>(weights.values[i] / sum);
  }
}

/// Per piece of surface, whether enough of it sees bones to be warmed by them.
std::vector<std::uint8_t> see_bones(const Components& components, const HeatSources& sources) {
  std::vector<std::size_t> size(components.count, 0), seeing(components.count, 0);
  for (std::size_t v = 0; v < sources.vertices.size(); ++v) {
    ++size[components.of_vertex[v]];
    if (sources.vertices[v].sees_bone) ++seeing[components.of_vertex[v]];
  }
  std::vector<std::uint8_t> see(components.count, 0);
  for (std::size_t c = 0; c < components.count; ++c)
    see[c] = static_cast<double>(seeing[c]) >= kSeeingShare * static_cast<double>(size[c]);
  return see;
}

/// A piece of surface that sees bones takes heat from those alone: where limbs are pieces of their own, a
/// vertex that a bone too short leaves behind must not go to the next limb's.
void keep_to_own_bones(const MeshView& surface, std::span<const Vec3d> normals,
                       std::span<const double> shortest, const Components& components,
                       const OrientedSurface& oriented, std::span<const Bone> bones, HeatSources& sources) {
  std::vector<std::vector<std::uint32_t>> seen(components.count), strays(components.count);
  const std::vector<std::uint8_t> rooted = see_bones(components, sources);
  const auto has = [](const std::vector<std::uint32_t>& joints, std::uint32_t joint) {
    return std::find(joints.begin(), joints.end(), joint) != joints.end();
  };
  for (std::size_t v = 0; v < surface.positions.size(); ++v) {
    const HeatSources::Vertex& source = sources.vertices[v];
    std::vector<std::uint32_t>& joints = seen[components.of_vertex[v]];
    for (std::size_t k = 0; source.sees_bone && source.faces_bone && k < source.count; ++k)
      if (!has(joints, source.joints[k])) joints.push_back(source.joints[k]);
  }
  for (std::uint32_t v = 0; v < surface.positions.size(); ++v) {
    const HeatSources::Vertex& source = sources.vertices[v];
    const std::vector<std::uint32_t>& joints = seen[components.of_vertex[v]];
    const bool at_home = std::all_of(source.joints.begin(), source.joints.begin() + source.count,
                                     [&](std::uint32_t joint) { return has(joints, joint); });
    if (rooted[components.of_vertex[v]] != 0 && !joints.empty() && !at_home)
      strays[components.of_vertex[v]].push_back(v);
  }
  for (std::size_t piece = 0; piece < components.count; ++piece) {
    if (strays[piece].empty()) continue;
    std::vector<Bone> own;
    for (const Bone& bone : bones)
      if (has(seen[piece], static_cast<std::uint32_t>(bone.joint))) own.push_back(bone);
    std::vector<Vec3f> positions;
    std::vector<Vec3d> directions;
    std::vector<double> limits;
    for (const std::uint32_t v : strays[piece]) {
      positions.push_back(surface.positions[v]);
      directions.push_back(normals[v]);
      limits.push_back(shortest[v]);
    }
    const HeatSources found = find_heat_sources(positions, directions, limits, oriented, own);
    for (std::size_t i = 0; i < strays[piece].size(); ++i)
      sources.vertices[strays[piece][i]] = found.vertices[i];
  }
}

/// The triangles that heat spreads over: all but walls through the flesh, which would lead it from one side
/// of a limb to the other. Interior triangles with vertices of their own stay.
std::vector<Triangle> without_walls(const MeshView& surface, const Orientation& orientation) {
  std::vector<std::uint8_t> on_skin(surface.positions.size(), 0);
  for (std::size_t t = 0; t < surface.triangles.size(); ++t)
    if (orientation.interior[t] == 0)
      for (const std::uint32_t v : surface.triangles[t]) on_skin[v] = 1;
  std::vector<Triangle> kept;
  kept.reserve(surface.triangles.size());
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    const Triangle& f = surface.triangles[t];
    if (orientation.interior[t] == 0 || on_skin[f[0]] == 0 || on_skin[f[1]] == 0 || on_skin[f[2]] == 0)
      kept.push_back(f);
  }
  return kept;
}

/// Per vertex, the shortest distance that counts. By piece: neither a stray vertex far away nor a floor in
/// the scene changes what is short for a body.
std::vector<double> shortest_distances(const MeshView& surface, const Components& components) {
  std::vector<Eigen::AlignedBox3d> boxes(components.count);
  for (const Triangle& f : surface.triangles)
    for (const std::uint32_t v : f)
      boxes[components.of_vertex[v]].extend(surface.positions[v].cast<double>());
  std::vector<double> shortest(surface.positions.size());
  for (std::size_t v = 0; v < shortest.size(); ++v) {
    const Eigen::AlignedBox3d& box = boxes[components.of_vertex[v]];
    shortest[v] = std::max(box.isEmpty() ? 0.0 : kShortest * box.diagonal().norm(), 1e-100);
  }
  return shortest;
}

/// Where a vertex of a piece that sees no bone sits.
struct Link {
  std::uint32_t triangle;
  Vec3f barycentric;
  double distance;
};

}  // namespace

SkinWeights heat_weights(const MeshView& surface, std::span<const Bone> bones, const HeatOptions& options,
                         HeatReport* report, const OrientedSurface* oriented) {
  assert(!bones.empty());
  const std::size_t count = surface.positions.size();
  std::optional<OrientedSurface> own;
  if (oriented == nullptr) oriented = &own.emplace(surface);
  const Orientation& orientation = oriented->orientation();
  IntrinsicLaplacian intrinsic = intrinsic_laplacian(surface);
  if (report != nullptr) {
    report->repaired_triangles = intrinsic.repeated_corner_triangles + intrinsic.duplicate_triangles;
    report->non_manifold_edges = intrinsic.non_manifold_edges;
    report->boundary_edges = intrinsic.boundary_edges;
    report->flipped_edges = intrinsic.flipped_edges;
  }
  if (const std::vector<Triangle> skin = without_walls(surface, orientation);
      skin.size() < surface.triangles.size())
    intrinsic = intrinsic_laplacian({surface.positions, skin});
  const Components components = connected_parts(surface);
  const std::vector<Vec3d> normals = outward_normals(surface, orientation);
  const std::vector<double> shortest = shortest_distances(surface, components);
  HeatSources sources = find_heat_sources(surface.positions, normals, shortest, *oriented, bones);
  if (components.count > 1)
    keep_to_own_bones(surface, normals, shortest, components, *oriented, bones, sources);
  own.reset();

  // Joints in the order of their numbers; a slot is a place in this list.
  std::vector<std::uint32_t> joints;
  for (const Bone& bone : bones) joints.push_back(static_cast<std::uint32_t>(bone.joint));
  std::sort(joints.begin(), joints.end());
  joints.erase(std::unique(joints.begin(), joints.end()), joints.end());
  std::vector<std::uint32_t> slot_of_joint(joints.back() + 1, 0);
  for (std::size_t s = 0; s < joints.size(); ++s) slot_of_joint[joints[s]] = static_cast<std::uint32_t>(s);

  // Which pieces see bones, and where the others sit. A vertex in no triangle is a piece that sees nothing.
  std::vector<std::uint8_t> has_triangle(count, 0);
  for (const Triangle& f : surface.triangles)
    for (const std::uint32_t v : f) has_triangle[v] = 1;
  std::size_t blind = 0;
  for (std::size_t v = 0; v < count; ++v) {
    if (has_triangle[v] == 0) sources.vertices[v].sees_bone = false;
    if (!sources.vertices[v].sees_bone) ++blind;
  }
  const std::vector<std::uint8_t> rooted = see_bones(components, sources);
  std::vector<Triangle> ground;
  for (std::size_t t = 0; t < surface.triangles.size(); ++t)
    if (const Triangle& f = surface.triangles[t]; rooted[components.of_vertex[f[0]]] != 0 &&
                                                  rooted[components.of_vertex[f[1]]] != 0 &&
                                                  rooted[components.of_vertex[f[2]]] != 0)
      ground.push_back(f);

  std::vector<std::uint32_t> linked;
  std::vector<Link> links;
  const bool all_rooted = std::all_of(rooted.begin(), rooted.end(), [](std::uint8_t r) { return r != 0; });
  if (!ground.empty() && !all_rooted) {
    for (std::uint32_t v = 0; v < count; ++v)
      if (rooted[components.of_vertex[v]] == 0) linked.push_back(v);
    links.resize(linked.size());
    const SurfaceQuery ground_query({surface.positions, ground});
    parallel_blocks(linked.size(), kRowsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::optional<NearestHit> hit = ground_query.nearest(surface.positions[linked[i]]);
        if (hit)
          links[i] = {hit->triangle, hit->barycentric, std::max<double>(hit->distance, shortest[linked[i]])};
        else
          links[i] = {0, Vec3f(1, 0, 0), shortest[linked[i]]};
      }
    });
    // A piece that is nearer to bones than to any other surface does not sit on it.
    std::vector<double> to_ground(components.count, 0), to_bone(components.count, 0);
    for (std::size_t i = 0; i < linked.size(); ++i) {
      to_ground[components.of_vertex[linked[i]]] += links[i].distance;
      to_bone[components.of_vertex[linked[i]]] += sources.vertices[linked[i]].distance;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < linked.size(); ++i) {
      const std::uint32_t piece = components.of_vertex[linked[i]];
      if (to_ground[piece] > to_bone[piece]) continue;
      links[kept] = links[i];
      linked[kept++] = linked[i];
    }
    links.resize(kept);
    linked.resize(kept);
  }
  std::vector<std::uint8_t> is_linked(count, 0);
  for (const std::uint32_t v : linked) is_linked[v] = 1;

  const Eigen::VectorXd degree = intrinsic.laplacian.diagonal();
  Part heated;
  for (std::uint32_t v = 0; v < count; ++v) {
    if (is_linked[v] != 0) continue;
    const HeatSources::Vertex& source = sources.vertices[v];
    heated.vertices.push_back(v);
    heated.screen.push_back(
        std::max(intrinsic.mass[v] * kHeat * source.count / (source.distance * source.distance),
                 kLeastScreen * degree[v]));
  }
  std::vector<Entry> entries =
      diffuse(intrinsic.laplacian, heated, joints, [&](std::size_t i, const auto& visit) {
        const HeatSources::Vertex& source = sources.vertices[heated.vertices[i]];
        for (std::size_t k = 0; k < source.count; ++k)
          visit(slot_of_joint[source.joints[k]], 1.0 / source.count);
      });
  SkinWeights weights = to_rows(count, entries);
  std::vector<Entry>().swap(entries);
  sharpen(weights, options.sharpness);

  if (!linked.empty()) {
    Part sitting;
    sitting.vertices = linked;
    for (std::size_t i = 0; i < linked.size(); ++i)
      sitting.screen.push_back(std::max(intrinsic.mass[linked[i]] / (links[i].distance * links[i].distance),
                                        kLeastScreen * degree[linked[i]]));
    std::vector<Entry> sitting_entries =
        diffuse(intrinsic.laplacian, sitting, joints, [&](std::size_t i, const auto& visit) {
          const Triangle& f = ground[links[i].triangle];
          for (int k = 0; k < 3; ++k) {
            const std::uint32_t v = f[to_size(k)];
            for (std::uint32_t e = weights.starts[v]; e < weights.starts[v + 1]; ++e)
              visit(slot_of_joint[weights.joints[e]], double{links[i].barycentric[k]} * weights.values[e]);
          }
        });
    for (std::size_t v = 0; v < count; ++v)
      for (std::uint32_t e = weights.starts[v]; e < weights.starts[v + 1]; ++e)
        sitting_entries.push_back({static_cast<std::uint32_t>(v), {weights.joints[e], weights.values[e]}});
    weights = to_rows(count, sitting_entries);
  }

  if (report != nullptr) {
    report->components = components.count;
    report->blind_vertices = blind;
    report->linked_vertices = linked.size();
    std::vector<std::uint8_t> piece_linked(components.count, 0);
    for (const std::uint32_t v : linked) piece_linked[components.of_vertex[v]] = 1;
    report->linked_components = to_size(std::count(piece_linked.begin(), piece_linked.end(), 1));
    report->stray_vertices = to_size(std::count(has_triangle.begin(), has_triangle.end(), 0));
    report->outside_bones =
        to_size(std::count(sources.bone_is_outside.begin(), sources.bone_is_outside.end(), 1));
  }
  return weights;
}

}  // namespace sinew
