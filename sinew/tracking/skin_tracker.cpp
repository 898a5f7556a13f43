#include <sinew/tracking/skin_tracker.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/segment.h>
#include <sinew/tracking/gradients.h>
#include <sinew/tracking/lift_chains.h>
#include <sinew/tracking/tracking_frame.h>

namespace sinew {

namespace {

// Between fields that may slide below each other's skin there are so many joints at most.
constexpr int kKinJoints = 3;
// Edges per support radius: from kFine on neighbours are near enough to take anything over from each other,
// and below kTooCoarse a field means nothing to the mesh.
constexpr float kFine = 3;
constexpr float kCoarse = 2;
constexpr float kTooCoarse = 0.7f;
// Where several fields cover the same skin, as on chest and palm, they differ by their fit. Ease there, in
// eases.
constexpr float kSharedEase = 10;
constexpr int kRestraints = 2;
// Up to which two fields' transforms count as the same, in support radii, where the fields are.
constexpr float kAlike = 1e-4f;

/// Interleaves the bits of three coordinates: points with similar numbers are near each other.
std::uint64_t morton_code(const Vec3f& unit) {
  const auto spread = [](float coordinate) {
    auto v = static_cast<std::uint64_t>(std::clamp(coordinate, 0.0f, 1.0f) * 2097151.0f);
    v = (v | v << 32) & 0x1f00000000ffff;
    v = (v | v << 16) & 0x1f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    v = (v | v << 2) & 0x1249249249249249;
    return v;
  };
  return spread(unit.x()) | spread(unit.y()) << 1 | spread(unit.z()) << 2;
}

Vec3f nearest_bone_point(const BoneField& field, const Vec3f& at) {
  const Vec3d x = at.cast<double>();
  Vec3d nearest = x;
  double least = std::numeric_limits<double>::infinity();
  for (const BoneSegment& segment : field.segments) {
    const Vec3d point = nearest_on_segment(segment.head, segment.tail, x);
    if ((x - point).squaredNorm() < least) least = (x - point).squaredNorm(), nearest = point;
  }
  return nearest.cast<float>();
}

/// Per pair of fields, whether no more than kKinJoints are between them.
std::vector<std::uint8_t> find_kin(std::span<const std::int32_t> parent) {
  const std::size_t count = parent.size();
  std::vector<std::uint8_t> kin(count * count, 0);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) {
      auto above = static_cast<std::int32_t>(a);
      for (int up = 0; up <= kKinJoints && above >= 0; ++up) {
        auto other = static_cast<std::int32_t>(b);
        for (int down = 0; up + down <= kKinJoints && other >= 0; ++down) {
          if (other == above) kin[a * count + b] = 1;
          other = parent[static_cast<std::size_t>(other)];
        }
        above = parent[static_cast<std::size_t>(above)];
      }
    }
  return kin;
}

}  // namespace

SkinTracker::SkinTracker(const MeshView& rest, std::span<const std::int32_t> own,
                         std::shared_ptr<const FieldSet> fields, const SkinWeights& weights,
                         std::span<const Affine3d> posed_at_rest, const TrackingOptions& options)
    : options_(options), fields_(std::move(fields)) {
  const std::size_t count = rest.positions.size();
  const std::size_t field_count = fields_->fields.size();
  if (own.size() != count || weights.rows() != count)
    throw Error(fmt::format("tracking needs an own field and weights for each of {} vertices", count));
  if (field_count > std::numeric_limits<std::uint16_t>::max())
    throw Error(fmt::format("{} fields are too many to track", field_count));
  for (const Operator& operation : fields_->tree.operators())
    unions_only_ = unions_only_ && operation.kind() == OperatorKind::union_;

  for (const std::uint32_t transform : fields_->transform)
    if (transform >= posed_at_rest.size())
      throw Error(fmt::format("tracking: field of transform {} of {}", transform, posed_at_rest.size()));
  for (const std::int32_t field : fields_->field_of_transform)
    if (field >= static_cast<std::int32_t>(field_count))
      throw Error(fmt::format("tracking: a transform of field {} of {}", field, field_count));
  for (const std::int32_t field : own)
    if (field >= static_cast<std::int32_t>(field_count))
      throw Error(fmt::format("tracking: own field {} of {}", field, field_count));
  for (const std::uint32_t joint : weights.joints)
    if (joint >= posed_at_rest.size())
      throw Error(fmt::format("tracking: weight on joint {} of {}", joint, posed_at_rest.size()));
  check_muscles(*fields_, posed_at_rest.size());
  turn_count_ = posed_at_rest.size();

  const LiftChains chains = make_lift_chains(rest, own, *fields_, turn_count_);
  kin_ = find_kin(chains.parent);
  palm_of_ = chains.palm_of;

  std::vector<PosedField> posed(field_count);
  pose_fields(*fields_, posed_at_rest, posed);
  FieldNeighbours neighbours = find_field_neighbours(*fields_, posed, rest.positions, own, weights);
  const PalmShares palm_shares = find_palm_shares(*fields_, chains, own, weights);
  const TwistShares twist_shares = find_twist_shares(*fields_, neighbours, own, weights);
  child_bones_ = child_bones(*fields_);
  std::vector<float> iso(count, 0);
  std::vector<Vec3f> gradient(count, Vec3f::Zero()), outwards(count, Vec3f::Zero());
  parallel_blocks(count, 256, [&](std::size_t begin, std::size_t end) {
    std::vector<FieldSample> samples(field_count);
    for (std::size_t v = begin; v < end; ++v) {
      if (own[v] < 0) continue;
      const auto mine = static_cast<std::size_t>(own[v]);
      const Vec3f& at = rest.positions[v];
      for (std::size_t f = 0; f < field_count; ++f)
        samples[f] = posed[f].usable ? posed[f].sample(at) : FieldSample();
      const FieldSample of_bone = samples[mine];
      samples[mine] = own_sample(mine, palm_shares[v], [&](std::size_t f) { return samples[f]; });
      outwards[v] = -samples[mine].gradient;
      for (std::size_t f = 0; f < field_count; ++f)
        if (f != mine && are_one_palm(mine, f)) samples[f] = {};
      for (std::uint32_t e = neighbours.starts[v]; e < neighbours.starts[v + 1]; ++e) {
        FieldNeighbour& n = neighbours.entries[e];
        n.rest_side += samples[mine].value - of_bone.value;
        if (!palm_shares[v].empty())
          n.rest_opposition = opposition(samples[mine].gradient, samples[n.field].gradient);
        samples[n.field].value *= n.damping, samples[n.field].gradient *= n.damping;
      }
      const FieldSample all = fields_->tree.compose(samples);
      iso[v] = all.value;
      gradient[v] = all.gradient;
    }
  });

  // Tracked vertices first, those near each other together.
  Vec3f low = Vec3f::Constant(std::numeric_limits<float>::max()), high = -low;
  for (const Vec3f& p : rest.positions) low = low.cwiseMin(p), high = high.cwiseMax(p);
  const float scale = 1 / std::max((high - low).maxCoeff(), 1e-30f);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  for (std::uint32_t v = 0; v < count; ++v) {
    const bool tracked = own[v] >= 0 && iso[v] > 0;
    tracked_ += tracked;
    keys.push_back(
        {tracked ? morton_code((rest.positions[v] - low) * scale) : std::numeric_limits<std::uint64_t>::max(),
         v});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> place(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    vertex_.push_back(keys[i].second);
    place[keys[i].second] = i;
  }

  std::vector<Vec3f> positions, across;
  for (const std::uint32_t v : vertex_) {
    const bool tracked = positions.size() < tracked_;
    positions.push_back(rest.positions[v]);
    across.push_back(gradient[v]);
    iso_.push_back(tracked ? iso[v] : 0.0f);
    own_.push_back(tracked ? static_cast<std::uint16_t>(own[v]) : std::uint16_t{0});
    rest_bone_.push_back(tracked ? nearest_bone_point(fields_->fields[own_.back()], rest.positions[v])
                                 : rest.positions[v]);
    rest_out_.push_back(tracked ? outwards[v] : Vec3f(Vec3f::Zero()));
    if (tracked)
      palm_shares_.entries.insert(palm_shares_.entries.end(), palm_shares[v].begin(), palm_shares[v].end());
    palm_shares_.starts.push_back(static_cast<std::uint32_t>(palm_shares_.entries.size()));
    float shared = 0;
    for (const FieldNeighbour& n : neighbours[v]) {
      neighbours_.entries.push_back(n);
      shared = std::max(shared, n.nearness * n.damping);
    }
    ease_.push_back(static_cast<float>(options.ease) * (1 + kSharedEase * shared));
    neighbours_.starts.push_back(static_cast<std::uint32_t>(neighbours_.entries.size()));
    const auto shares = twist_shares.entries.begin();
    if (tracked)
      twist_shares_.entries.insert(twist_shares_.entries.end(), shares + twist_shares.starts[v],
                                   shares + twist_shares.starts[v + 1]);
    twist_shares_.starts.push_back(static_cast<std::uint32_t>(twist_shares_.entries.size()));
  }
  neighbours_.joint_radius = neighbours.joint_radius;
  std::vector<Triangle> triangles;
  for (const Triangle& t : rest.triangles) triangles.push_back({place[t[0]], place[t[1]], place[t[2]]});
  rings_ = one_rings(count, triangles);
  rest_ = positions;
  for (const std::uint32_t v : vertex_) {
    const auto joints = weights.row_joints(v);
    const auto values = weights.row_values(v);
    weights_.joints.insert(weights_.joints.end(), joints.begin(), joints.end());
    weights_.values.insert(weights_.values.end(), values.begin(), values.end());
    weights_.starts.push_back(static_cast<std::uint32_t>(weights_.joints.size()));
  }
  find_turn_pairs();
  mean_values_ = mean_value_rings(positions, rings_, across);
  describe_blocks(triangles);
  for (std::size_t i = 0; i < count; ++i) {
    Vec3f mean = Vec3f::Zero();
    for (std::size_t k = 0; k < rings_[i].size(); ++k)
      mean += mean_values_.values[rings_.starts[i] + k] * positions[rings_[i][k]];
    rest_height_.push_back(mean_values_.valid[i] ? Vec3f(positions[i] - mean) : Vec3f(Vec3f::Zero()));
    float sum = 0;
    for (const std::uint32_t n : rings_[i]) sum += (positions[n] - positions[i]).norm();
    edge_.push_back(rings_[i].empty() ? 0.0f : sum / static_cast<float>(rings_[i].size()));
    const bool loose = i >= tracked_ || !(edge_[i] > 0);
    const float edges = loose ? kFine : static_cast<float>(fields_->fields[own_[i]].radius) / edge_[i];
    fineness_.push_back(std::min(edges * edges / (kFine * kFine), 1.0f));
    trust_.push_back(smooth_step(kTooCoarse, kCoarse, edges));
  }
  skin_edge_.assign(field_count, 0);
  std::vector<float> skin_vertices(field_count, 0);
  for (std::size_t i = 0; i < tracked_; ++i) skin_edge_[own_[i]] += edge_[i], ++skin_vertices[own_[i]];
  for (std::size_t f = 0; f < field_count; ++f) skin_edge_[f] /= std::max(skin_vertices[f], 1.0f);
  for (const BoneField& field : fields_->fields) {
    rest_center_.push_back(middle_of(field));
    radius_.push_back(static_cast<float>(field.radius));
    for (const BoneSegment& segment : field.segments)
      rest_segments_.push_back({segment.head.cast<float>(), segment.tail.cast<float>()});
    segment_starts_.push_back(static_cast<std::uint32_t>(rest_segments_.size()));
  }
  find_field_groups();
  find_rest(posed_at_rest);
}

void SkinTracker::find_turn_pairs() {
  std::map<std::array<std::uint32_t, 2>, std::uint32_t> pair_numbers;
  for (std::size_t i = 0; i < weights_.rows(); ++i) {
    const auto joints = weights_.row_joints(i);
    std::uint32_t pair = 0;
    if (joints.size() >= 2) {
      const auto [at, is_new] =
          pair_numbers.try_emplace({joints[0], joints[1]}, static_cast<std::uint32_t>(turn_pairs_.size()));
      if (is_new) turn_pairs_.push_back({joints[0], joints[1]});
      pair = at->second;
    }
    turn_pair_.push_back(pair);
  }
}

void SkinTracker::describe_blocks(std::span<const Triangle> triangles) {
  std::vector<std::vector<Triangle>> of_block((tracked_ + kBlock - 1) / kBlock);
  for (const Triangle& t : triangles) {
    std::size_t before[2] = {of_block.size(), of_block.size()};
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t b = t[c] < tracked_ ? t[c] / kBlock : of_block.size();
      if (b < of_block.size() && b != before[0] && b != before[1]) of_block[b].push_back(t);
      if (c < 2) before[c] = b;
    }
  }
  for (const std::vector<Triangle>& some : of_block) {
    block_triangles_.insert(block_triangles_.end(), some.begin(), some.end());
    block_triangle_starts_.push_back(static_cast<std::uint32_t>(block_triangles_.size()));
  }
  for (std::size_t begin = 0; begin < tracked_; begin += kBlock) {
    std::set<std::uint32_t> near{static_cast<std::uint32_t>(begin / kBlock)};
    for (std::size_t i = begin; i < std::min(begin + kBlock, tracked_); ++i)
      for (const std::uint32_t n : rings_[i])
        if (n < tracked_) near.insert(static_cast<std::uint32_t>(n / kBlock));
    near_blocks_.insert(near_blocks_.end(), near.begin(), near.end());
    near_block_starts_.push_back(static_cast<std::uint32_t>(near_blocks_.size()));
    std::set<std::uint16_t> twisting;
    for (std::uint32_t e = twist_shares_.starts[begin];
         e < twist_shares_.starts[std::min(begin + kBlock, tracked_)]; ++e)
      twisting.insert(twist_shares_.entries[e].joint);
    twist_joints_.insert(twist_joints_.end(), twisting.begin(), twisting.end());
    twist_joint_starts_.push_back(static_cast<std::uint32_t>(twist_joints_.size()));
  }
}

void SkinTracker::find_field_groups() {
  std::map<std::vector<std::uint16_t>, std::uint32_t> numbers;
  for (std::size_t i = 0; i < tracked_; ++i) {
    std::vector<std::uint16_t> group{own_[i]};
    for (const FieldNeighbour& n : neighbours_[i]) group.push_back(n.field);
    for (const PalmShare& share : palm_shares_[i]) group.push_back(share.field);
    std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
    // Vertices side by side mostly have the same.
    if (i > 0 && field_groups_[field_group_.back()] == group) {
      field_group_.push_back(field_group_.back());
      continue;
    }
    const auto [at, is_new] = numbers.try_emplace(group, static_cast<std::uint32_t>(field_groups_.size()));
    if (is_new) field_groups_.push_back(group);
    field_group_.push_back(at->second);
  }
}

void SkinTracker::find_rest(std::span<const Affine3d> posed_at_rest) {
  TrackingScratch s = make_scratch();
  pose(posed_at_rest, s);
  const ProbeTables tables = probe_tables(s);
  parallel_blocks(tracked_, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::uint32_t e = neighbours_.starts[i]; e < neighbours_.starts[i + 1]; ++e)
        neighbours_.entries[e].rest_near = tables.rest_nearness(i, neighbours_.entries[e].field);
  });
  s.now = s.start = rest_;
  const Frame frame(*this, s);
  parallel_blocks(s.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) frame.start(b, 0);
  });
  rest_free_ = s.free;
  for (std::size_t i = 0; i < tracked_; ++i)
    if (s.state[i] != TrackMark::still) rest_free_[i] = -1;
}

std::vector<float> SkinTracker::iso() const {
  std::vector<float> result(vertex_.size(), 0);
  for (std::size_t i = 0; i < vertex_.size(); ++i) result[vertex_[i]] = iso_[i];
  return result;
}

TrackingScratch SkinTracker::make_scratch() const {
  TrackingScratch s;
  const std::size_t count = vertex_.size(), field_count = fields_->fields.size();
  s.posed.resize(field_count);
  s.transforms.resize(field_count);
  s.centers.resize(field_count);
  s.posed_radius.resize(field_count);
  s.turns.resize(turn_count_);
  s.turn_sizes.resize(turn_count_);
  s.segments.resize(rest_segments_.size());
  s.joints.resize(fields_->joints.size());
  s.planes.resize(fields_->joints.size());
  s.joint_radius.resize(fields_->joints.size());
  s.twists.resize(fields_->joints.size());
  s.seen.resize(twist_shares_.entries.size());
  s.turned.assign(count, 0);
  s.motion.resize(field_count);
  s.at_rest.assign(field_groups_.size(), 0);
  s.blocks.resize((tracked_ + kBlock - 1) / kBlock);
  s.warm.resize(s.blocks.size());
  s.next_warm.resize(s.blocks.size());
  s.stirred.resize(s.blocks.size());
  s.bent.resize(s.blocks.size());
  s.pair_turned.resize(turn_pairs_.size());
  s.vertex_turns.resize(tracked_);
  s.has_turns.resize(s.blocks.size());
  s.turned_blocks.reserve(s.blocks.size());
  s.may_untangle.resize(s.blocks.size());
  s.swept_blocks.reserve(s.blocks.size());
  s.work.resize(tracked_);
  for (std::vector<Vec3f>* vectors :
       {&s.start, &s.now, &s.next, &s.gradient, &s.inwards, &s.out, &s.bone, &s.asked_at})
    vectors->assign(count, Vec3f::Zero());
  for (std::vector<float>* numbers : {&s.side, &s.held, &s.error, &s.target, &s.beta, &s.next_beta})
    numbers->assign(count, 0);
  s.present.assign(count, 0);
  s.followed.assign(count, 0);
  s.carried.resize(mean_values_.values.size());
  s.corner.resize(mean_values_.values.size());
  s.is_carried.assign(count, 0);
  for (std::vector<std::uint64_t>* bits : {&s.asked, &s.next_asked, &s.goes})
    bits->assign(s.blocks.size(), 0);
  s.slides.resize(neighbours_.entries.size());
  s.free.assign(count, 1);
  s.room.assign(count, 1);
  s.state.assign(count, TrackMark::still);
  s.marks.assign(count, TrackMark::still);
  return s;
}

void SkinTracker::pose(std::span<const Affine3d> posed_from_rest, TrackingScratch& s) const {
  assert(posed_from_rest.size() == turn_count_);
  pose_fields(*fields_, posed_from_rest, s.posed);
  for (std::size_t f = 0; f < s.transforms.size(); ++f) {
    s.transforms[f] = posed_from_rest[fields_->transform[f]].cast<float>();
    s.centers[f] = s.transforms[f] * rest_center_[f];
    for (std::uint32_t k = segment_starts_[f]; k < segment_starts_[f + 1]; ++k)
      s.segments[k] = {s.transforms[f] * rest_segments_[k][0], s.transforms[f] * rest_segments_[k][1]};
  }
  for (std::size_t j = 0; j < s.turns.size(); ++j) {
    s.turns[j] = posed_from_rest[j].linear().cast<float>();
    s.turn_sizes[j] = s.turns[j].norm();
  }
  for (std::size_t f = 0; f < s.posed_radius.size(); ++f)
    s.posed_radius[f] = radius_[f] * s.turn_sizes[fields_->transform[f]] / std::numbers::sqrt3_v<float>;
  for (std::size_t j = 0; j < s.joints.size(); ++j) {
    const FieldJoint& joint = fields_->joints[j];
    s.joints[j] = s.transforms[joint.child] * joint.place.cast<float>();
    // As both parts are scaled.
    const float size = std::cbrt(std::sqrt(std::abs(s.transforms[joint.parent].linear().determinant() *
                                                    s.transforms[joint.child].linear().determinant())));
    s.joint_radius[j] = neighbours_.joint_radius[j] * (size > 0 && std::isfinite(size) ? size : 1.0f);
    s.twists[j] = joint_twist(s.transforms[joint.parent].linear(), s.transforms[joint.child].linear(),
                              s.joints[j], child_bones_[j]);
    s.planes[j] =
        turned_to_contact(fold_plane(s.joints[j], s.centers[joint.parent], s.centers[joint.child]),
                          s.joints[j], s.joint_radius[j], s.posed[joint.parent], s.posed[joint.child]);
  }
  find_motions(s);
}

ProbeTables SkinTracker::probe_tables(TrackingScratch& scratch) const {
  return Frame(*this, scratch).tables();
}

void SkinTracker::find_motions(TrackingScratch& s) const {
  // Muscles move by themselves; before set-up has ended nothing is known.
  if (rest_free_.empty() || !fields_->muscles.empty()) return;
  for (std::size_t f = 0; f < s.motion.size(); ++f) {
    const auto moves_alike = [&](std::size_t other) {
      const Vec3f apart = s.transforms[f] * rest_center_[f] - s.transforms[other] * rest_center_[f];
      const Eigen::Matrix3f turned = s.transforms[f].linear() - s.transforms[other].linear();
      return apart.norm() + turned.norm() * radius_[f] <
             kAlike * std::min(s.posed_radius[f], s.posed_radius[other]);
    };
    s.motion[f] = static_cast<std::uint16_t>(f);
    for (std::uint16_t other = 0; other < f && s.motion[f] == f; ++other)
      if (s.motion[other] == other && moves_alike(other)) s.motion[f] = other;
  }
  for (std::size_t g = 0; g < field_groups_.size(); ++g) {
    const std::vector<std::uint16_t>& group = field_groups_[g];
    s.at_rest[g] = std::all_of(group.begin(), group.end(),
                               [&](std::uint16_t f) { return s.motion[f] == s.motion[group.front()]; });
  }
}

void SkinTracker::track(std::span<const Affine3d> posed_from_rest, TrackingScratch& s,
                        std::span<Vec3f> positions) const {
  assert(positions.size() == vertex_.size());
  pose(posed_from_rest, s);
  const auto each_vertex = [&](std::size_t count, auto&& work) {
    parallel_blocks(count, 4096, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) work(i);
    });
  };
  each_vertex(vertex_.size(), [&](std::size_t i) { s.start[i] = s.now[i] = positions[vertex_[i]]; });

  const Frame frame(*this, s);
  const auto each_block = [&](auto&& work) {
    parallel_blocks(s.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) work(b);
    });
  };
  each_block([&](std::size_t b) { frame.start(b, options_.steps); });
  for (int round = 1; round < options_.rounds; ++round) {
    each_block([&](std::size_t b) { frame.relax(b); });
    each_block([&](std::size_t b) { frame.follow(b, options_.steps); });
  }
  each_block([&](std::size_t b) { frame.find_warm(b); });
  for (int sweep = 0; sweep < options_.diffusion; ++sweep) {
    each_block([&](std::size_t b) { frame.diffuse(b); });
    std::swap(s.beta, s.next_beta);
    std::swap(s.warm, s.next_warm);
  }
  each_block([&](std::size_t b) { frame.widen(b); });
  for (int sweep = 0; sweep < options_.smoothing; ++sweep) {
    each_block([&](std::size_t b) { frame.smooth(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  each_block([&](std::size_t b) { frame.project_again(b, options_.steps); });
  for (int sweep = 0; sweep < kRestraints; ++sweep) {
    each_block([&](std::size_t b) { frame.restrain(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  each_vertex(tracked_, [&](std::size_t i) {
    s.marks[vertex_[i]] = s.state[i];
    s.room[vertex_[i]] = trust_[i] * (1 - std::min(2 * s.beta[i], 1.0f)) * s.free[i];
    if (!std::isfinite(s.start[i].sum())) return;
    positions[vertex_[i]] =
        trust_[i] < 1 ? Vec3f(s.start[i] + trust_[i] * (s.now[i] - s.start[i])) : s.now[i];
  });
}

void SkinTracker::untangle(TrackingScratch& s, std::span<Vec3f> positions,
                           std::span<const float> freedom) const {
  assert(positions.size() == vertex_.size());
  assert(freedom.empty() || freedom.size() >= tracked_);
  const auto each_vertex = [&](std::size_t count, auto&& work) {
    parallel_blocks(count, 4096, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) work(i);
    });
  };
  each_vertex(vertex_.size(), [&](std::size_t i) { s.now[i] = positions[vertex_[i]]; });
  Frame(*this, s).untangle(options_.untangling, false, [&](auto&& work) {
    parallel_blocks(s.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) work(b);
    });
  });
  each_vertex(tracked_, [&](std::size_t i) {
    Vec3f& position = positions[vertex_[i]];
    if (s.now[i] == position || !std::isfinite(position.sum())) return;
    position += (freedom.empty() ? trust_[i] : freedom[i] * trust_[i]) * (s.now[i] - position);
  });
}

void SkinTracker::leave_room(std::span<const Vec3f> positions, TrackingScratch& s, std::span<float> room,
                             bool bones_have_moved) const {
  assert(positions.size() == vertex_.size() && room.size() == vertex_.size());
  for (std::size_t i = 0; i < vertex_.size(); ++i) s.now[i] = positions[vertex_[i]];
  const Frame frame(*this, s);
  parallel_blocks(s.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) frame.find_touch(b, bones_have_moved);
  });
  for (std::size_t i = 0; i < tracked_; ++i) {
    float& left = room[vertex_[i]];
    left = std::min(left, 1 - s.next_beta[i]);
  }
}

}  // namespace sinew
