#include <sinew/layers/volume_layer.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <fmt/format.h>

#include <sinew/character/rest_joints.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/pattern.h>
#include <sinew/core/rotation.h>
#include <sinew/core/smooth_step.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

/// By hand, on the built-in characters (docs/volume.md); epsilons are marked.
struct VolumeLayerTuning {
  /// Volumes of float positions are not known better than this share of the part's (epsilon).
  double tolerance = 1e-9;
  /// A joint that bends by less, in radians, has no clear hinge: its two cross axes share alike.
  double hinge = 30 * std::numbers::pi / 180;
  /// Near a border skin loses its freedom, within this share of the limb's radius.
  double border = 0.5;
  /// Sweeps by which the free-motion mask fades out towards contacts.
  int mask_sweeps = 8;
};
constexpr VolumeLayerTuning kVolume;
constexpr std::size_t kMostNotes = 5;
constexpr std::size_t kVolumePerTask = 4096;

/// The bones of each binding's joint and where the skin lies along them; vertices belong to the joint that
/// moves them most.
LimbChart make_chart(const Character& character, const RestJoints& joints) {
  std::vector<LimbBone> bones;
  std::vector<std::vector<std::uint32_t>> bones_of(character.bindings().size());
  for (std::uint32_t b = 0; b < character.bindings().size(); ++b) {
    const int joint = character.bindings()[b].joint;
    if (joint < 0 || joints.is_solid(b) || !joints.place(b).allFinite()) continue;
    for (const Bone& bone : joints.bones_of(joint)) {
      LimbBone limb{b, -1, joints.place(b), joints.tail(b, bone)};
      if (!limb.tail.allFinite()) continue;
      if (bone.child >= 0) limb.tail_anchor = joints.binding_beside(b, bone.child);
      bones_of[b].push_back(static_cast<std::uint32_t>(bones.size()));
      bones.push_back(limb);
    }
  }
  std::vector<LimbPlace> places(character.rest().size());
  for (std::size_t v = 0; v < places.size(); ++v) {
    const Vec3d at = character.rest()[v].cast<double>();
    double nearest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t b : bones_of[character.skin_weights().row_joints(v)[0]]) {
      const Vec3d along = bones[b].tail - bones[b].head;
      const Vec3d point = nearest_on_segment(bones[b].head, bones[b].tail, at);
      const double distance = (at - point).norm();
      if (!(distance < nearest)) continue;
      nearest = distance;
      const double length2 = along.squaredNorm();
      places[v] = {b, length2 > 0 ? (point - bones[b].head).dot(along) / length2 : 0, at - point};
    }
  }
  return {character.bindings().size(), std::move(bones), std::move(places)};
}

/// Freedom near borders: 0 on them, 1 from some way off. Meshes that meet there must not come apart.
std::vector<float> away_from_borders(const Character& character, const LimbChart& chart) {
  const std::span<const Vec3f> rest = character.rest();
  std::vector<float> result(rest.size(), 1);
  const ClosedSurface closed = close_surface(rest.size(), character.triangles());
  if (closed.was_closed()) return result;
  std::vector<std::uint32_t> border;
  for (const std::vector<std::uint32_t>& loop : closed.borders)
    border.insert(border.end(), loop.begin(), loop.end());
  // Along edges: by Dijkstra, from all of them at once.
  std::vector<std::vector<std::uint32_t>> around(rest.size());
  for (const Triangle& f : character.triangles())
    for (int k = 0; k < 3; ++k)
      around[f[k]].push_back(f[(k + 1) % 3]), around[f[(k + 1) % 3]].push_back(f[k]);
  std::vector<float> distance(rest.size(), std::numeric_limits<float>::infinity());
  std::multimap<float, std::uint32_t> open;
  for (const std::uint32_t v : border) distance[v] = 0, open.emplace(0.0f, v);
  while (!open.empty()) {
    const auto [at, v] = *open.begin();
    open.erase(open.begin());
    if (at > distance[v]) continue;
    for (const std::uint32_t next : around[v]) {
      const float there = at + (rest[next] - rest[v]).norm();
      if (there < distance[next]) distance[next] = there, open.emplace(there, next);
    }
  }
  for (std::size_t v = 0; v < rest.size(); ++v) {
    const double reach = kVolume.border * chart.places()[v].outwards.norm();
    if (reach > 0)
      result[v] = static_cast<float>(smooth_step(0.0, 1.0, static_cast<double>(distance[v]) / reach));
  }
  for (const std::uint32_t v : border) result[v] = 0;
  return result;
}

/// How much of a vertex's weight is on bindings of the joints that fit the pattern. Throws Error, prefixed
/// with `where`, when none does.
std::vector<float> weight_on(const Character& character, const std::string& pattern,
                             const std::string& where) {
  std::vector<std::uint8_t> fits(character.bindings().size(), 0);
  for (std::size_t b = 0; b < fits.size(); ++b) {
    const int joint = character.bindings()[b].joint;
    fits[b] = joint >= 0 && matches_pattern(character.skeleton().joints[to_size(joint)].name, pattern);
  }
  if (std::find(fits.begin(), fits.end(), 1) == fits.end())
    throw Error(fmt::format("{}: weight: no joint with skin is named '{}'", where, pattern));
  std::vector<float> result(character.rest().size(), 0);
  for (std::size_t v = 0; v < result.size(); ++v) {
    const auto bindings = character.skin_weights().row_joints(v);
    const auto values = character.skin_weights().row_values(v);
    for (std::size_t k = 0; k < bindings.size(); ++k)
      if (fits[bindings[k]]) result[v] += values[k];
  }
  return result;
}

/// What is painted, from 0 to 1; 1 for meshes that are not. Throws Error when none is, but for the usual
/// name.
std::vector<float> painted_freedom(const Character& character, const std::string& attribute) {
  const std::span<const float> painted = character.painted(attribute);
  if (painted.empty() && attribute != VolumeLayerOptions().freedom_attribute)
    throw Error(fmt::format("volume: freedom_attribute: no mesh has an attribute '{}'", attribute));
  std::vector<float> result(character.rest().size(), 1);
  if (painted.empty()) return result;
  for (std::size_t m = 0; m < character.meshes().size(); ++m) {
    if (!character.is_painted(attribute, m)) continue;
    const std::size_t first = character.meshes()[m].first_vertex;
    for (std::size_t v = first; v < first + character.meshes()[m].weld.size(); ++v)
      result[v] = std::clamp(painted[v], 0.0f, 1.0f);
  }
  return result;
}

}  // namespace

struct VolumeLayer::State : LayerState {
  std::size_t bytes() const override {
    return scratch.bytes() + held_bytes(anchors, frames, shares, target_volumes, determinants, scales,
                                        free_motion, next_free_motion);
  }

  VolumeScratch scratch;
  std::vector<Vec3d> anchors;
  std::vector<VolumeFrame> frames;
  std::vector<VolumeShares> shares;
  std::vector<double> target_volumes;
  std::vector<double> determinants, scales;  // per binding
  std::vector<float> free_motion, next_free_motion;
};

VolumeLayer::VolumeLayer(const Character& character, const VolumeLayerOptions& options)
    : has_morphs_(character.morph_weight_count() > 0), respect_contact_(options.respect_contact) {
  const std::span<const Binding> bindings = character.bindings();
  const RestJoints& joints = character.rest_joints();
  const LimbChart chart = make_chart(character, joints);
  std::vector<std::uint32_t> anchor_of_vertex;
  for (std::size_t v = 0; v < character.rest().size(); ++v)
    anchor_of_vertex.push_back(chart.nearer_anchor(v, character.skin_weights().row_joints(v)[0]));

  rings_ = one_rings(character.rest().size(), character.triangles());
  const std::vector<float> inland = away_from_borders(character, chart);
  const std::vector<float> painted = painted_freedom(character, options.freedom_attribute);
  freedoms_.resize(bindings.size());
  std::vector<int> parents(bindings.size(), -1);
  for (std::uint32_t b = 0; b < bindings.size(); ++b)
    rest_anchors_.push_back(joints.place(b).allFinite() ? joints.place(b) : Vec3d(Vec3d::Zero()));
  std::vector<bool> used(options.joints.size(), false);
  for (std::uint32_t b = 0; b < bindings.size(); ++b) {
    JointAxes& axes = joint_axes_.emplace_back();
    joint_of_binding_.push_back(bindings[b].joint);
    const VolumeChoice* choice = &options.choice;
    std::string where = "volume";
    if (bindings[b].joint >= 0) {
      const Joint* joint = &character.skeleton().joints[to_size(bindings[b].joint)];
      for (std::size_t i = 0; i < options.joints.size(); ++i)
        if (matches_pattern(joint->name, options.joints[i].joint)) {
          choice = &options.joints[i].choice, where = fmt::format("volume: joints: {}", i);
          used[i] = true;
        }
      for (int above = joint->parent; above >= 0 && axes.parent < 0;
           above = character.skeleton().joints[to_size(above)].parent)
        axes.parent = joints.binding_beside(b, above);
    }
    shares_.push_back(choice->shares(where));
    strengths_.push_back(choice->strength);
    limits_.push_back(choice->max_displacement * chart.radius(b));
    const FreedomRule rule = choice->rule(where);
    axes.bone = choice->bone();
    parents[b] = axes.parent;
    if (axes.parent >= 0) axes.before = rest_anchors_[b] - rest_anchors_[to_size(axes.parent)];
    for (const LimbBone& bone : chart.bones())
      if (bone.head_anchor == b && (bone.tail - bone.head).norm() > axes.behind.norm())
        axes.behind = bone.tail - bone.head;
    axes.before.stableNormalize(), axes.behind.stableNormalize();
    const Vec3d& bone = axes.behind.squaredNorm() > 0 ? axes.behind : axes.before;
    if (bone.squaredNorm() > 0) axes.across = bone.unitOrthogonal();

    freedoms_[b] = find_freedom(chart, character.rest(), b, rule, &rings_);
    std::vector<float> weight;
    if (!choice->weight.empty()) weight = weight_on(character, choice->weight, where);
    for (VolumePatch::Vertex& free : freedoms_[b]) {
      free.freedom *= inland[free.vertex];
      free.freedom *= painted[free.vertex];
      if (!weight.empty()) free.freedom *= weight[free.vertex];
    }
    std::erase_if(freedoms_[b], [](const VolumePatch::Vertex& free) { return !(free.freedom > 0); });
  }
  keeper_ = std::make_unique<VolumeKeeper>(MeshView{character.rest(), character.triangles()},
                                           anchor_of_vertex, rest_anchors_, freedoms_, parents);

  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      notes_.push_back(
          fmt::format("joints: {}: no joint with skin is named '{}'", i, options.joints[i].joint));
  note_sheets(character);

  needed_.assign(bindings.size(), 0);
  for (const VolumeCells::Cell& cell : keeper_->cells().cells()) needed_[cell.anchor] = 1;
  // What each binding holds of each cell, by its weights on the triangles' corners.
  const VolumeCells& cells = keeper_->cells();
  VolumeScratch scratch = keeper_->make_scratch();
  for (std::size_t v = 0; v < character.rest().size(); ++v)
    scratch.points[v] = character.rest()[v].cast<double>();
  cells.place_fans(scratch.points);
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> held;
  cells.for_each_contribution(scratch.points, rest_anchors_,
                              [&](std::uint32_t cell, std::uint32_t t, double volume) {
                                for (const std::uint32_t v : cells.surface().triangles[t]) {
                                  // A fan's middle follows its cell's joint.
                                  if (v >= character.rest().size()) {
                                    held[{cell, cells.cells()[cell].anchor}] += volume / 3;
                                    continue;
                                  }
                                  const auto row = character.skin_weights().row_joints(v);
                                  const auto values = character.skin_weights().row_values(v);
                                  for (std::size_t k = 0; k < row.size(); ++k)
                                    held[{cell, row[k]}] += volume / 3 * static_cast<double>(values[k]);
                                }
                              });
  for (const auto& [key, volume] : held) holdings_.push_back({key.first, key.second, volume});
}

void VolumeLayer::note_sheets(const Character& character) {
  const ClosedSurface& surface = keeper_->cells().surface();
  for (const std::uint32_t part : keeper_->sheets()) {
    const auto first = std::find(surface.part.begin(), surface.part.end(), part) - surface.part.begin();
    const std::uint32_t vertex = surface.triangles[to_size(first)][0];
    std::string mesh;
    for (const CharacterMesh& candidate : character.meshes())
      if (candidate.first_vertex <= vertex) mesh = candidate.name;
    if (notes_.size() < kMostNotes)
      notes_.push_back(
          fmt::format("mesh '{}': the part with vertex {} is a sheet or nearly so; its volume is not kept",
                      mesh, vertex));
  }
}

std::string VolumeLayer::idle_because() const {
  return keeper_->can_act() ? "" : "no closed part of the surface has skin that is free to move";
}

std::vector<float> VolumeLayer::freedom(int joint) const {
  std::vector<float> result(rings_.size(), 0);
  for (std::size_t b = 0; b < freedoms_.size(); ++b)
    if (joint < 0 || joint_of_binding_[b] == joint)
      for (const VolumePatch::Vertex& free : freedoms_[b])
        result[free.vertex] = std::max(result[free.vertex], static_cast<float>(free.freedom));
  return result;
}

std::unique_ptr<LayerState> VolumeLayer::make_state() const {
  auto state = std::make_unique<State>();
  state->scratch = keeper_->make_scratch();
  state->anchors = rest_anchors_;
  state->frames.resize(joint_axes_.size());
  state->shares = shares_;
  state->target_volumes.resize(keeper_->cells().cells().size());
  state->determinants.resize(joint_axes_.size());
  state->scales.resize(joint_axes_.size());
  if (respect_contact_)
    state->free_motion.resize(rings_.size()), state->next_free_motion.resize(rings_.size());
  return state;
}

std::span<const float> VolumeLayer::find_free_motion(const LayerFrame& frame, State& state) const {
  if (!respect_contact_ || frame.free_motion.empty()) return {};
  std::copy(frame.free_motion.begin(), frame.free_motion.end(), state.free_motion.begin());
  if (std::all_of(state.free_motion.begin(), state.free_motion.end(),
                  [](float free_motion) { return free_motion == 1; }))
    return {};
  for (int sweep = 0; sweep < kVolume.mask_sweeps; ++sweep) {
    parallel_blocks(state.free_motion.size(), kVolumePerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        float sum = 0;
        for (const std::uint32_t n : rings_[v]) sum += state.free_motion[n];
        const auto count = static_cast<float>(rings_[v].size());
        state.next_free_motion[v] =
            count > 0 ? std::min(state.free_motion[v], sum / count) : state.free_motion[v];
      }
    });
    std::swap(state.free_motion, state.next_free_motion);
  }
  return state.free_motion;
}

void VolumeLayer::find_target_volumes(const LayerFrame& frame, State& state) const {
  if (has_morphs_)
    keeper_->measure(frame.rest, rest_anchors_, state.scratch, state.target_volumes);
  else
    std::copy(keeper_->rest_volumes().begin(), keeper_->rest_volumes().end(), state.target_volumes.begin());
  // Joints that are scaled hold as much more: a cell as its own joint says, and what other joints hold of it
  // as they do.
  bool scaled = false;
  for (std::size_t b = 0; b < joint_axes_.size(); ++b) {
    state.determinants[b] = frame.posed_from_rest[b].linear().determinant();
    state.scales[b] = std::cbrt(std::abs(state.determinants[b]));
    scaled |= std::abs(state.determinants[b] - 1) > 1e-5;
  }
  if (!scaled) return;
  const std::span<const VolumeCells::Cell> cells = keeper_->cells().cells();
  for (std::size_t c = 0; c < cells.size(); ++c)
    state.target_volumes[c] *= state.determinants[cells[c].anchor];
  for (const Holding& holding : holdings_)
    state.target_volumes[holding.cell] +=
        (state.determinants[holding.binding] - state.determinants[cells[holding.cell].anchor]) *
        holding.volume;
}

void VolumeLayer::find_frame(std::size_t binding, const LayerFrame& frame, State& state) const {
  const JointAxes& axes = joint_axes_[binding];
  const Affine3d& behind = frame.posed_from_rest[binding];
  VolumeFrame& result = state.frames[binding];
  result.origin = state.anchors[binding];
  const bool has_parent = axes.parent >= 0;
  const Affine3d& before = has_parent ? frame.posed_from_rest[to_size(axes.parent)] : behind;
  const Vec3d first = (before.linear() * axes.before).stableNormalized();
  const Vec3d second = (behind.linear() * axes.behind).stableNormalized();
  Vec3d along = (1 - axes.bone) * first + axes.bone * second;
  Quatd turn = has_parent ? rotation_of(behind) * rotation_of(before).conjugate() : Quatd::Identity();
  if (turn.w() < 0) turn.coeffs() = -turn.coeffs();
  // Folded flat, where the middle of both bones is across them; or one of the two is not there.
  if (along.norm() < 1e-3) along = turn.vec().cross(first);
  if (along.norm() < 1e-3) along = second.squaredNorm() > 0 ? second : first;
  if (along.norm() < 1e-3) along = Vec3d::UnitX();
  along.normalize();
  // The hinge: the axis of the turn from the bone before to the one behind, across `along`; its length is the
  // sine of half the angle. Without a bend it could be anywhere; there it is one that goes with the joint. It
  // is a line without a direction: between the two go the doubled angles.
  const Vec3d axis = turn.vec() - along.dot(turn.vec()) * along;
  const double known = smooth_step(0.0, kVolume.hinge, 2 * std::asin(std::min(1.0, axis.norm())));
  Vec3d usual = behind.linear() * axes.across;
  usual -= along.dot(usual) * along;
  usual = usual.norm() > 1e-6 * behind.linear().norm() ? usual.normalized() : along.unitOrthogonal();
  const Vec3d beside = along.cross(usual);
  const double twice = 2 * std::atan2(axis.dot(beside), axis.dot(usual));
  const double x = known * std::cos(twice) + 1 - known, y = known * std::sin(twice);
  const double angle = std::atan2(y, x) / 2;
  const Vec3d line = std::cos(angle) * usual + std::sin(angle) * beside;
  result.axes << along, line, along.cross(line);
  // Where the two lines cancel each other out, so does what tells hinge and across apart.
  const double told = known * std::hypot(x, y);
  const VolumeShares& shares = shares_[binding];
  const double mean = (shares[1] + shares[2]) / 2;
  state.shares[binding] = {shares[0], mean + told * (shares[1] - mean), mean + told * (shares[2] - mean)};
}

void VolumeLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  if (!keeper_->can_act()) return;
  auto& s = *static_cast<State*>(state);
  find_target_volumes(frame, s);
  for (std::size_t b = 0; b < joint_axes_.size(); ++b) {
    if (!needed_[b]) continue;
    s.anchors[b] = frame.posed_from_rest[b] * rest_anchors_[b];
    find_frame(b, frame, s);
  }
  keeper_->keep({s.anchors, s.frames, s.shares, strengths_, s.target_volumes, find_free_motion(frame, s),
                 s.scales, limits_, kVolume.tolerance},
                s.scratch, positions);
}

std::unique_ptr<LayerOptions> make_volume_options() {
  return std::make_unique<VolumeLayerOptions>();
}

std::unique_ptr<const Layer> make_volume_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<VolumeLayer>(character, dynamic_cast<const VolumeLayerOptions&>(options));
}

}  // namespace sinew
