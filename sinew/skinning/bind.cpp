#include <sinew/skinning/bind.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/skinning/envelope_weights.h>
#include <sinew/skinning/heat_weights.h>
#include <sinew/skinning/row_sampling.h>
#include <sinew/skinning/smooth_rows.h>
#include <sinew/skinning/weight_symmetry.h>

namespace sinew {

namespace {

// Squares of what is farther away do not fit into a double's precision beside a character.
constexpr double kFarthest = 1e15;

bool is_usable(const Vec3d& p) {
  return p.allFinite() && p.cwiseAbs().maxCoeff() <= kFarthest;
}

void check(const MeshView& surface, std::span<const Bone> bones, const BindOptions& options) {
  if (bones.empty()) throw Error("bind: there is no bone to bind to");
  for (const Bone& bone : bones)
    if (bone.joint < 0 || !is_usable(bone.head) || !is_usable(bone.tail))
      throw Error(
          fmt::format("bind: the bone of joint {} is not at a finite place within 1e15 m", bone.joint));
  for (std::size_t v = 0; v < surface.positions.size(); ++v)
    if (!is_usable(surface.positions[v].cast<double>()))
      throw Error(fmt::format("bind: vertex {} is not at a finite place within 1e15 m", v));
  check_triangles(surface, "bind");
  if (!(options.prune >= 0 && options.prune <= 0.5))
    throw Error(fmt::format("bind: prune is {}; allowed are 0 to 0.5", options.prune));
  if (options.smooth < 0 || options.smooth > 1000)
    throw Error(fmt::format("bind: smooth is {}; allowed are 0 to 1000 passes", options.smooth));
  if (!(options.sharpness >= 1 && options.sharpness <= 8))
    throw Error(fmt::format("bind: sharpness is {}; allowed are 1 to 8", options.sharpness));
  if (options.locked.rows() == 0) return;
  check_rows(options.locked, surface.positions.size(), "bind: locked weights");
  for (std::size_t v = 0; v < options.locked.rows(); ++v) {
    double sum = 0;
    for (std::uint32_t i = options.locked.starts[v]; i < options.locked.starts[v + 1]; ++i) {
      sum += options.locked.values[i];
      for (const Bone& bone : bones)
        if (static_cast<std::uint32_t>(bone.joint) == options.locked.joints[i])
          throw Error(fmt::format("bind: joint {} is locked and has a bone to be bound to", bone.joint));
    }
    if (sum > 1 + 1e-3)
      throw Error(fmt::format("bind: the locked weights of vertex {} sum to {}, more than 1", v, sum));
  }
}

SkinWeights strongest_only(const SkinWeights& weights) {
  return limit_influences(weights, 1);
}

/// Rows without what is lighter than `prune`, cut to `influences` and scaled to sum 1 - locked, with the
/// locked weights, which come first and keep their values.
SkinWeights finish_rows(const SkinWeights& weights, const BindOptions& options) {
  const bool any_locked = options.locked.rows() > 0;
  const std::size_t most = options.influences == 0 ? weights.joints.size() + 1 : options.influences;
  SkinWeights finished;
  finished.starts.reserve(weights.starts.size());
  finished.joints.reserve(std::min(weights.joints.size(), weights.rows() * std::min<std::size_t>(most, 8)));
  finished.values.reserve(finished.joints.capacity());
  WeightRepairs repairs;
  std::vector<Influence> row, held;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    held.clear();
    double locked = 0;
    if (any_locked)
      for (std::uint32_t i = options.locked.starts[v]; i < options.locked.starts[v + 1]; ++i)
        if (options.locked.values[i] > 0) {
          held.push_back({options.locked.joints[i], options.locked.values[i]});
          locked += options.locked.values[i];
        }
    std::stable_sort(held.begin(), held.end(),
                     [](const Influence& a, const Influence& b) { return a.weight > b.weight; });
    // What is left needs a joint to go to: then the lightest locked one gives way, where all places are
    // taken.
    const std::size_t most_held =
        locked > 1 - 1e-6 ? most : std::max<std::size_t>(most - 1, most == 1 ? 0 : 1);
    if (held.size() > most_held) {
      held.resize(most_held);
      locked = 0;
      for (const Influence& influence : held) locked += influence.weight;
    }
    row.clear();
    const double left = std::max(0.0, 1 - locked);
    // Rows are heaviest first. What is light goes before the cut and after it.
    for (std::uint32_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      if (row.empty() || weights.values[i] >= options.prune)
        row.push_back({weights.joints[i], weights.values[i]});
    row.resize(cut_smoothly(row, most - std::min(most, held.size())).size());
    double sum = 0;
    for (const Influence& influence : row) sum += influence.weight;
    while (row.size() > 1 && row.back().weight < options.prune * sum) {
      sum -= row.back().weight;
      row.pop_back();
    }
    if (left < 1e-6 && !held.empty()) row.clear();
    for (Influence& influence : row) influence.weight = static_cast<float>(influence.weight * left / sum);
    row.insert(row.end(), held.begin(), held.end());
    append_row(finished, row, 0, repairs);
  }
  return finished;
}

}  // namespace

SkinWeights bind_surface(const MeshView& surface, std::span<const Bone> bones, const BindOptions& options,
                         BindReport* report, const OrientedSurface* oriented) {
  check(surface, bones, options);
  BindReport facts;
  HeatReport heat;
  SkinWeights weights = options.method == BindMethod::envelope
                            ? envelope_weights(surface.positions, bones)
                            : heat_weights(surface, bones, {.sharpness = options.sharpness}, &heat, oriented);
  if (options.method == BindMethod::rigid && options.smooth > 0) weights = strongest_only(weights);
  if (options.smooth > 0) weights = smooth_rows(surface, weights, options.smooth);
  if (options.symmetry) {
    SymmetryReport symmetry;
    // Locked joints have no weights here to exchange with their partners.
    BindSymmetry free = *options.symmetry;
    for (const std::uint32_t joint : options.locked.joints)
      if (joint < free.partner.size() && free.partner[joint] >= 0) {
        free.partner[to_size(free.partner[joint])] = -1;
        free.partner[joint] = -1;
      }
    weights = symmetrize(surface, weights, free, &symmetry);
    facts.mirrored_vertices = symmetry.paired_vertices + symmetry.interpolated_vertices;
    facts.unmirrored_vertices = symmetry.unmirrored_vertices;
  }
  if (options.method == BindMethod::rigid && options.smooth == 0) weights = strongest_only(weights);
  weights = finish_rows(weights, options);

  if (report != nullptr) {
    facts.heat = heat;
    facts.vertices = surface.positions.size();
    std::vector<int> used;
    for (std::size_t v = 0; v < weights.rows(); ++v)
      if (weights.row_size(v) == 0) ++facts.unbound_vertices;
    std::vector<std::uint8_t> is_used;
    for (const std::uint32_t joint : weights.joints) {
      if (joint >= is_used.size()) is_used.resize(joint + 1, 0);
      is_used[joint] = 1;
    }
    for (const Bone& bone : bones)
      if (to_size(bone.joint) >= is_used.size() || is_used[to_size(bone.joint)] == 0)
        facts.unused_joints.push_back(bone.joint);
    std::sort(facts.unused_joints.begin(), facts.unused_joints.end());
    facts.unused_joints.erase(std::unique(facts.unused_joints.begin(), facts.unused_joints.end()),
                              facts.unused_joints.end());
    *report = std::move(facts);
  }
  return weights;
}

}  // namespace sinew
