#include <sinew/effects/volume_keeper.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>

namespace sinew {

namespace {

constexpr std::size_t kVerticesPerTask = 8192;
/// By hand, on the built-in characters (docs/volume.md); epsilons are marked.
struct VolumeKeeperTuning {
  /// Share of the part's strongest patch: what has less can restore nothing (epsilon).
  double least_strength = 1e-9;
  /// Area of the fans over the part's own: what has more is a sheet.
  double most_hole = 0.5;
  /// Volume over area to the power of 1½ (a ball has 0.094): what has less is a sheet.
  double least_volume = 0.002;
  /// Sweeps that hand what cells cannot restore to their neighbours.
  int spread_sweeps = 24;
  /// A patch whose weakest axis has less than this share of its strength is looked at in every frame.
  double flat = 0.03;
  /// Sweeps that settle what neighbours have lost to each other.
  int settle_sweeps = 4;
  /// Arrangements of patches in rounds that are tried.
  int arrangements = 100;
};
constexpr VolumeKeeperTuning kKeeper;

std::vector<double> vertex_areas(std::span<const Vec3d> points, std::span<const Triangle> triangles) {
  std::vector<double> areas(points.size(), 0);
  for (const Triangle& f : triangles) {
    const double area = (points[f[1]] - points[f[0]]).cross(points[f[2]] - points[f[0]]).norm() / 2;
    for (const std::uint32_t v : f) areas[v] += area / 3;
  }
  return areas;
}

/// What a cell hands on: all above its capacity, and less and less of it down to half of that. Without such a
/// bend in it the skin would jerk where the capacity is reached.
double excess_over(double capacity, double loss) {
  const double from = capacity / 2;
  if (!(loss > from)) return 0;
  return loss < 3 * from ? (loss - from) * (loss - from) / (2 * capacity) : loss - capacity;
}

using Rounds = std::vector<std::vector<std::uint32_t>>;

/// Each patch in turn to the round that has least to do of those without a rival of it; in a round the
/// largest first, so that threads finish together.
Rounds arrange(std::span<const std::uint32_t> order, std::span<const std::vector<std::uint32_t>> rivals,
               std::span<const std::size_t> sizes) {
  Rounds rounds;
  std::vector<std::size_t> round_of(sizes.size(), sizes.size()), work;
  for (const std::uint32_t c : order) {
    std::vector<std::uint8_t> taken(rounds.size(), 0);
    for (const std::uint32_t other : rivals[c])
      if (round_of[other] < rounds.size()) taken[round_of[other]] = 1;
    std::size_t best = rounds.size();
    for (std::size_t r = 0; r < rounds.size(); ++r)
      if (!taken[r] && (best == rounds.size() || work[r] < work[best])) best = r;
    if (best == rounds.size()) rounds.emplace_back(), work.push_back(0);
    round_of[c] = best;
    rounds[best].push_back(c);
    work[best] += sizes[c];
  }
  for (std::vector<std::uint32_t>& round : rounds)
    std::stable_sort(round.begin(), round.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  return rounds;
}

/// How long two threads take, in vertices.
std::size_t time_of_two(const Rounds& rounds, std::span<const std::size_t> sizes) {
  std::size_t time = 0;
  for (const std::vector<std::uint32_t>& round : rounds) {
    std::size_t one = 0, other = 0;
    for (const std::uint32_t c : round) (one <= other ? one : other) += sizes[c];
    time += std::max(one, other);
  }
  return time;
}

}  // namespace

VolumeKeeper::VolumeKeeper(const MeshView& rest, std::span<const std::uint32_t> anchor_of_vertex,
                           std::span<const Vec3d> rest_anchors,
                           std::span<const std::vector<VolumePatch::Vertex>> freedoms,
                           std::span<const int> parents)
    : cells_(rest.triangles, anchor_of_vertex) {
  assert(rest.positions.size() == anchor_of_vertex.size());
  assert(freedoms.size() == rest_anchors.size() && parents.size() == rest_anchors.size());
  const std::size_t cell_count = cells_.cells().size();
  std::vector<Vec3d> points(cells_.point_count(), Vec3d::Zero());
  for (std::size_t v = 0; v < rest.positions.size(); ++v) points[v] = rest.positions[v].cast<double>();
  cells_.place_fans(points);
  rest_volumes_.resize(cell_count);
  cells_.measure(points, rest_anchors, rest_volumes_);

  const ClosedSurface& surface = cells_.surface();
  std::vector<std::uint8_t> on_border(points.size(), 0);
  for (const std::vector<std::uint32_t>& border : surface.borders)
    for (const std::uint32_t v : border) on_border[v] = 1;
  const Incidence incidence = vertex_incidence(points.size(), surface.triangles);
  const std::vector<double> areas = vertex_areas(points, surface.triangles);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> cell_of;  // by anchor and part
  for (std::uint32_t c = 0; c < cell_count; ++c)
    cell_of[{cells_.cells()[c].anchor, cells_.cells()[c].part}] = c;
  std::vector<std::vector<VolumePatch::Vertex>> vertices(cell_count);
  for (std::uint32_t anchor = 0; anchor < freedoms.size(); ++anchor)
    for (const VolumePatch::Vertex& free : freedoms[anchor]) {
      if (on_border[free.vertex] || cells_.cell_of_vertex()[free.vertex] == VolumeCells::kNone) continue;
      const std::uint32_t part = cells_.cells()[cells_.cell_of_vertex()[free.vertex]].part;
      const auto found = cell_of.find({anchor, part});
      if (found != cell_of.end()) vertices[found->second].push_back(free);
    }
  for (std::size_t c = 0; c < cell_count; ++c) {
    patches_.emplace_back(surface.triangles, incidence, areas, vertices[c]);
    areas_.push_back(patches_[c].areas(points));
    abilities_.push_back(patches_[c].ability(areas_[c], {}));
    // A flat patch, as on a palm, is looked at closely in any case.
    rest_strengths_.push_back(patches_[c].weakest_direction(points) > kKeeper.flat ? abilities_[c].strength
                                                                                   : 0);
  }
  find_neighbours();
  find_sheets(points);
  find_restoring_cells(parents);
  find_rounds();
}

void VolumeKeeper::find_neighbours() {
  neighbours_.resize(cells_.cells().size());
  for (const Triangle& f : cells_.surface().triangles)
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t a = cells_.cell_of_vertex()[f[k]], b = cells_.cell_of_vertex()[f[(k + 1) % 3]];
      if (a != b) neighbours_[a].push_back(b), neighbours_[b].push_back(a);
    }
  for (std::vector<std::uint32_t>& list : neighbours_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

void VolumeKeeper::find_sheets(std::span<const Vec3d> points) {
  const ClosedSurface& surface = cells_.surface();
  std::vector<double> volume(cells_.part_count(), 0), own(volume), fans(volume);
  for (std::size_t c = 0; c < rest_volumes_.size(); ++c) volume[cells_.cells()[c].part] += rest_volumes_[c];
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    const Triangle& f = surface.triangles[t];
    const double area = (points[f[1]] - points[f[0]]).cross(points[f[2]] - points[f[0]]).norm() / 2;
    (t < surface.triangle_count ? own : fans)[surface.part[t]] += area;
  }
  for (std::uint32_t part = 0; part < volume.size(); ++part)
    if (fans[part] > kKeeper.most_hole * own[part] ||
        std::abs(volume[part]) < kKeeper.least_volume * std::pow(own[part] + fans[part], 1.5))
      sheets_.push_back(part);
}

void VolumeKeeper::find_restoring_cells(std::span<const int> parents) {
  const std::span<const VolumeCells::Cell> cells = cells_.cells();
  std::vector<double> strongest(cells_.part_count(), 0);
  fallback_cells_.assign(cells_.part_count(), VolumeCells::kNone);
  const auto is_sheet = [&](std::uint32_t c) {
    return std::binary_search(sheets_.begin(), sheets_.end(), cells[c].part);
  };
  for (std::uint32_t c = 0; c < cells.size(); ++c)
    if (!is_sheet(c) && abilities_[c].strength > strongest[cells[c].part]) {
      strongest[cells[c].part] = abilities_[c].strength;
      fallback_cells_[cells[c].part] = c;
    }
  const auto can_restore = [&](std::uint32_t c) {
    if (is_sheet(c)) return false;
    return abilities_[c].strength > 0 &&
           abilities_[c].strength >= kKeeper.least_strength * strongest[cells[c].part];
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> restoring_cell_of;  // by part and anchor
  for (std::uint32_t c = 0; c < cells.size(); ++c)
    if (can_restore(c)) restoring_cell_of[{cells[c].part, cells[c].anchor}] = c;
  can_act_ = !restoring_cell_of.empty();
  for (std::uint32_t c = 0; c < cells.size(); ++c) {
    std::uint32_t restoring_cell = fallback_cells_[cells[c].part];
    std::size_t steps = 0;
    for (int anchor = static_cast<int>(cells[c].anchor); anchor >= 0 && steps <= parents.size();
         anchor = parents[to_size(anchor)], ++steps) {
      const auto found = restoring_cell_of.find({cells[c].part, static_cast<std::uint32_t>(anchor)});
      if (found == restoring_cell_of.end()) continue;
      restoring_cell = found->second;
      break;
    }
    restoring_cells_.push_back(restoring_cell);
  }
}

void VolumeKeeper::find_rounds() {
  // Which patches move a vertex.
  std::vector<std::vector<std::uint32_t>> movers(cells_.point_count());
  for (std::uint32_t c = 0; c < patches_.size(); ++c)
    for (const std::uint32_t v : patches_[c].vertices()) movers[v].push_back(c);
  std::vector<std::vector<std::uint32_t>> rivals(patches_.size());
  for (std::uint32_t c = 0; c < patches_.size(); ++c) {
    const auto add = [&](std::span<const std::uint32_t> vertices) {
      for (const std::uint32_t v : vertices)
        for (const std::uint32_t other : movers[v])
          if (other != c) rivals[c].push_back(other), rivals[other].push_back(c);
    };
    add(patches_[c].vertices());
    add(patches_[c].halo());
  }
  std::vector<std::uint32_t> order;
  std::vector<std::size_t> sizes;
  for (std::uint32_t c = 0; c < patches_.size(); ++c) {
    std::sort(rivals[c].begin(), rivals[c].end());
    rivals[c].erase(std::unique(rivals[c].begin(), rivals[c].end()), rivals[c].end());
    sizes.push_back(patches_[c].vertices().size());
    if (sizes[c] > 0) order.push_back(c);
  }
  // Those with most rivals first; then some other orders, of which the best counts.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return rivals[a].size() > rivals[b].size(); });
  std::mt19937 random(1);
  std::size_t least = 0;
  for (int trial = 0; trial < kKeeper.arrangements; ++trial) {
    Rounds rounds = arrange(order, rivals, sizes);
    const std::size_t time = time_of_two(rounds, sizes);
    if (trial == 0 || time < least) least = time, rounds_ = std::move(rounds);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  }
  // Rounds use the same memory, one after the other: it stays in the cache.
  scratch_starts_.assign(patches_.size(), 0);
  for (const std::vector<std::uint32_t>& round : rounds_) {
    std::size_t end = 0;
    for (const std::uint32_t c : round) scratch_starts_[c] = end, end += patches_[c].scratch_size();
    scratch_size_ = std::max(scratch_size_, end);
  }
}

VolumeScratch VolumeKeeper::make_scratch() const {
  VolumeScratch scratch;
  scratch.points.assign(cells_.point_count(), Vec3d::Zero());
  scratch.volumes.assign(3 * cells_.cells().size() + cells_.part_count(), 0);
  scratch.parts.assign(2 * cells_.part_count(), 0);
  scratch.patches.assign(scratch_size_, 0);
  return scratch;
}

void VolumeKeeper::measure(std::span<const Vec3f> positions, std::span<const Vec3d> anchors,
                           VolumeScratch& scratch, std::span<double> volumes) const {
  assert(positions.size() == cells_.surface().vertex_count);
  for (std::size_t v = 0; v < positions.size(); ++v) scratch.points[v] = positions[v].cast<double>();
  cells_.place_fans(scratch.points);
  cells_.measure(scratch.points, anchors, volumes);
}

void VolumeKeeper::settle_losses(std::span<double> losses, std::span<double> change) const {
  for (int sweep = 0; sweep < kKeeper.settle_sweeps; ++sweep) {
    std::fill(change.begin(), change.end(), 0.0);
    // A cell offers each neighbour of the other sign a share of what it has, by what that has.
    const auto opposite = [&](std::uint32_t a, std::uint32_t b) { return losses[a] * losses[b] < 0; };
    const auto offer = [&](std::uint32_t a, std::uint32_t b) {
      double all = 0;
      for (const std::uint32_t n : neighbours_[a])
        if (opposite(a, n)) all += std::abs(losses[n]);
      return std::abs(losses[a]) * std::abs(losses[b]) / all;
    };
    bool any = false;
    for (std::uint32_t a = 0; a < losses.size(); ++a)
      for (const std::uint32_t b : neighbours_[a]) {
        if (b < a || !opposite(a, b)) continue;
        any = true;
        const double settled = std::min(offer(a, b), offer(b, a)) * (losses[a] > 0 ? 1 : -1);
        change[a] -= settled;
        change[b] += settled;
      }
    if (!any) return;
    for (std::size_t c = 0; c < losses.size(); ++c) losses[c] += change[c];
  }
}

void VolumeKeeper::spread_losses(const VolumeDemand& demand, VolumeScratch& scratch,
                                 std::span<double> losses) const {
  const std::size_t count = losses.size();
  const std::span<double> capacities = std::span(scratch.volumes).first(count);
  const std::span<double> change = std::span(scratch.volumes).last(count);
  // By the areas at rest, in every frame: posed ones hardly differ, and it must not change with the first
  // contact.
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t anchor = cells_.cells()[c].anchor;
    const double scale = demand.scales.empty() ? 1 : demand.scales[anchor];
    const VolumePatch::Ability ability =
        demand.free_motion.empty() ? abilities_[c] : patches_[c].ability(areas_[c], demand.free_motion);
    capacities[c] =
        restoring_cells_[c] == c ? ability.capacity(demand.limits[anchor]) * scale * scale * scale : 0;
  }
  for (int sweep = 0; sweep < kKeeper.spread_sweeps; ++sweep) {
    std::fill(change.begin(), change.end(), 0.0);
    bool any = false;
    for (std::size_t c = 0; c < count; ++c) {
      double all = 0;
      for (const std::uint32_t n : neighbours_[c]) all += capacities[n];
      const double excess = excess_over(capacities[c], std::abs(losses[c])) * (losses[c] > 0 ? 1 : -1);
      if (excess == 0 || !(all > 0)) continue;
      any = true;
      // Half of it: what comes and goes settles.
      for (const std::uint32_t n : neighbours_[c]) {
        const double handed = excess / 2 * capacities[n] / all;
        change[n] += handed;
        change[c] -= handed;
      }
    }
    if (!any) break;
    for (std::size_t c = 0; c < count; ++c) losses[c] += change[c];
  }
  // What is still too much the whole part bears.
  const std::span<double> left = std::span(scratch.parts).first(cells_.part_count());
  const std::span<double> all = std::span(scratch.parts).last(cells_.part_count());
  std::fill(scratch.parts.begin(), scratch.parts.end(), 0.0);
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t part = cells_.cells()[c].part;
    const double kept = std::clamp(losses[c], -capacities[c], capacities[c]);
    left[part] += losses[c] - kept;
    all[part] += capacities[c];
  }
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t part = cells_.cells()[c].part;
    if (!(all[part] > 0)) continue;
    losses[c] = std::clamp(losses[c], -capacities[c], capacities[c]) + left[part] * capacities[c] / all[part];
  }
}

void VolumeKeeper::keep_points(const VolumeDemand& demand, VolumeScratch& scratch) const {
  const std::span<const VolumeCells::Cell> cells = cells_.cells();
  assert(demand.target_volumes.size() == cells.size());
  const std::span<double> volumes = std::span(scratch.volumes).first(cells.size());
  const std::span<double> losses = std::span(scratch.volumes).subspan(cells.size(), cells.size());
  const std::span<double> part_volumes =
      std::span(scratch.volumes).subspan(2 * cells.size(), cells_.part_count());
  cells_.place_fans(scratch.points);
  cells_.measure(scratch.points, demand.anchors, volumes);
  std::fill(losses.begin(), losses.end(), 0.0);
  std::fill(part_volumes.begin(), part_volumes.end(), 0.0);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    part_volumes[cells[c].part] += demand.target_volumes[c];
    const double loss = (volumes[c] - demand.target_volumes[c]) * demand.strengths[cells[c].anchor];
    if (restoring_cells_[c] != VolumeCells::kNone && std::isfinite(loss)) losses[restoring_cells_[c]] += loss;
  }
  settle_losses(losses, std::span(scratch.volumes).last(cells.size()));
  if (!demand.limits.empty()) spread_losses(demand, scratch, losses);
  const auto restore = [&](std::uint32_t c, double loss) {
    const std::uint32_t anchor = cells[c].anchor;
    const double scale = demand.scales.empty() ? 1 : demand.scales[anchor];
    const std::span<double> memory =
        std::span(scratch.patches).subspan(scratch_starts_[c], patches_[c].scratch_size());
    // Strengths are areas times areas.
    return patches_[c].restore(loss, demand.frames[anchor], demand.shares[anchor], demand.free_motion, memory,
                               scratch.points, rest_strengths_[c] * std::pow(scale, 4));
  };
  const auto matters = [&](std::uint32_t c, double loss) {
    return std::abs(loss) > demand.tolerance * std::abs(part_volumes[cells[c].part]);
  };
  const std::span<double> failed = std::span(scratch.volumes).last(cells.size());
  std::fill(failed.begin(), failed.end(), 0.0);
  for (const std::vector<std::uint32_t>& round : rounds_)
    parallel_blocks(round.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (matters(round[i], losses[round[i]]) && !restore(round[i], losses[round[i]]))
          failed[round[i]] = losses[round[i]];
    });
  // A patch that has vanished cannot: another one of the part does.
  for (std::uint32_t c = 0; c < cells.size(); ++c) {
    const std::uint32_t other = fallback_cells_[cells[c].part];
    if (failed[c] != 0 && other != c && other != VolumeCells::kNone) restore(other, failed[c]);
  }
}

void VolumeKeeper::keep(const VolumeDemand& demand, VolumeScratch& scratch,
                        std::span<Vec3d> positions) const {
  assert(positions.size() == cells_.surface().vertex_count);
  std::copy(positions.begin(), positions.end(), scratch.points.begin());
  keep_points(demand, scratch);
  std::copy(scratch.points.begin(), scratch.points.begin() + static_cast<std::ptrdiff_t>(positions.size()),
            positions.begin());
}

void VolumeKeeper::keep(const VolumeDemand& demand, VolumeScratch& scratch,
                        std::span<Vec3f> positions) const {
  assert(positions.size() == cells_.surface().vertex_count);
  parallel_blocks(positions.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) scratch.points[v] = positions[v].cast<double>();
  });
  keep_points(demand, scratch);
  parallel_blocks(positions.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) positions[v] = scratch.points[v].cast<float>();
  });
}

}  // namespace sinew
