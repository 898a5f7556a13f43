#include <sinew/tracking/elastic_tracker.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/intrinsic_laplacian.h>
#include <sinew/tracking/tracking_frame.h>

namespace sinew {

namespace {

constexpr float kLongestSlide = 0.25f;  // of a relaxation, in support radii
constexpr float kPull = 2;              // how much faster than its surroundings skin may move
// How far it may move by itself in a step, in support radii: more while it goes on in one direction, less
// when it goes to and fro.
constexpr float kFree = 0.12f;       // outside of folds
constexpr float kRemembered = 0.9f;  // of having been in one, after a step
constexpr float kElasticNearFold = 0.05f;   // share of smoothing from which on a vertex counts as in a fold
constexpr float kLeastCreep = 2e-4f;
constexpr float kMostCreep = 0.02f;
constexpr float kFaster = 1.5f;
constexpr float kStraightJoint = 0.7f;  // cosine
constexpr float kSlower = 0.5f;
constexpr float kFarthest = 4;  // from where its bone carries it, in support radii; then it begins anew
constexpr double kWild = 4;  // by which sizes may change in a step, and joints come apart, in support radii
constexpr double kFarAway = 2e5;     // from the origin, in support radii, from where on floats are too coarse
constexpr double kStill = 1e-6;      // by which parts may shift against each other, in support radii
constexpr double kConverged = 1e-4;  // residual of a relaxation over the first one's

}  // namespace

ElasticTracker::ElasticTracker(const MeshView& rest, std::span<const std::int32_t> own,
                               std::shared_ptr<const FieldSet> fields, const SkinWeights& weights,
                               std::size_t transform_count, const TrackingOptions& tracking,
                               const ElasticOptions& options, std::span<const float> rigidity)
    : tracker_(rest, own, std::move(fields), weights,
               std::vector<Affine3d>(transform_count, Affine3d::Identity()), tracking),
      options_(options) {
  const std::size_t count = rest.positions.size();
  if (!rigidity.empty() && rigidity.size() != count)
    throw Error(fmt::format("elastic tracking: {} rigidities for {} vertices", rigidity.size(), count));
  for (const float r : rigidity)
    if (!(r >= 0 && r <= 1)) throw Error(fmt::format("elastic tracking: rigidity {} is not in 0 to 1", r));
  std::vector<std::uint32_t> place(count);
  for (std::uint32_t i = 0; i < count; ++i) place[tracker_.vertex_[i]] = i;

  const Eigen::SparseMatrix<double> laplacian = intrinsic_laplacian(rest).laplacian;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t v = tracker_.vertex_[i];
    freedom_.push_back(rigidity.empty() ? 1.0f : 1 - rigidity[v]);
    std::vector<std::pair<std::uint32_t, float>> row;
    for (Eigen::SparseMatrix<double>::InnerIterator entry(laplacian, v); entry; ++entry)
      if (entry.row() != static_cast<Eigen::Index>(v) && entry.value() < 0)
        row.push_back({place[static_cast<std::size_t>(entry.row())], static_cast<float>(-entry.value())});
    std::sort(row.begin(), row.end());
    float sum = 0;
    for (const auto& [end, weight] : row) {
      edge_ends_.push_back(end);
      edge_weights_.push_back(weight);
      sum += weight;
    }
    diagonal_.push_back(sum);
    edge_starts_.push_back(static_cast<std::uint32_t>(edge_ends_.size()));
  }
  for (std::size_t begin = 0; begin < tracker_.tracked_; begin += SkinTracker::kBlock) {
    std::set<std::uint32_t> transforms;
    for (std::size_t i = begin; i < std::min(begin + SkinTracker::kBlock, tracker_.tracked_); ++i) {
      const auto joints = tracker_.weights_.row_joints(i);
      transforms.insert(joints.begin(), joints.end());
      transforms.insert(tracker_.fields_->transform[tracker_.own_[i]]);
    }
    block_transforms_.insert(block_transforms_.end(), transforms.begin(), transforms.end());
    block_transform_starts_.push_back(static_cast<std::uint32_t>(block_transforms_.size()));
  }
}

ElasticState ElasticTracker::make_state() const {
  ElasticState s;
  s.tracking = tracker_.make_scratch();
  const std::size_t count = tracker_.vertex_.size(), blocks = s.tracking.blocks.size();
  s.kept = tracker_.rest_;
  s.last.assign(tracker_.turn_count_, Affine3d::Identity());
  s.moved = s.last;
  s.split.resize(tracker_.turn_count_);
  s.scale.assign(tracker_.fields_->fields.size(), 1);
  s.awake.assign(blocks, 1);
  s.motion.assign(blocks, 0);
  s.creep.assign(count, kMostCreep);
  s.folded.assign(count, 0);
  s.active.assign(blocks, 0);
  s.blocks.reserve(blocks);
  s.turn.assign(count, Eigen::Matrix3f::Identity());
  for (std::vector<Vec3f>* vectors :
       {&s.drift, &s.goal, &s.normal, &s.offset, &s.residual, &s.direction, &s.product})
    vectors->assign(count, Vec3f::Zero());
  s.sums.assign(blocks, 0);
  return s;
}

/// One step, shared by the threads that do it; every function treats one block of vertices.
class ElasticTracker::Step {
 public:
  Step(const ElasticTracker& elastic, ElasticState& state)
      : e_(elastic), t_(elastic.tracker_), s_(state), frame_(t_, state.tracking) {}

  std::size_t end_of(std::size_t b) const { return std::min((b + 1) * SkinTracker::kBlock, t_.tracked_); }

  /// (1) Vertices follow their own bone.
  void carry(std::size_t b) const {
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      const float radius = static_cast<float>(t_.fields_->fields[t_.own_[i]].radius);
      if (!((s_.kept[i] - t_.rest_[i]).norm() <= kFarthest * radius)) {
        s_.kept[i] = t_.rest_[i];
        s_.awake[b] = 1;
      }
      s_.tracking.now[i] = s_.tracking.transforms[t_.own_[i]] * s_.kept[i];
    }
  }

  /// How far the fields and transforms that a block has to do with have moved against its own bone since the
  /// last step, in support radii.
  float motion(std::size_t b) const {
    const TrackingScratch::Block& block = s_.tracking.blocks[b];
    const std::size_t i = b * SkinTracker::kBlock;
    const std::uint32_t first = t_.fields_->transform[t_.own_[i]];
    const double size = posed_radius(i);
    const Vec3d at = s_.tracking.now[i].cast<double>();
    double most = 0;
    const auto look = [&](std::uint32_t transform) {
      if (transform == first) return;
      const Eigen::Matrix<double, 3, 4> apart = s_.moved[transform].affine() - s_.moved[first].affine();
      const double way =
          ((apart.leftCols<3>() * at + apart.col(3)).norm() + apart.leftCols<3>().norm() * size) / size;
      if (!(way <= most)) most = std::isfinite(way) ? way : 1;
    };
    for (std::uint32_t k = e_.block_transform_starts_[b]; k < e_.block_transform_starts_[b + 1]; ++k)
      look(e_.block_transforms_[k]);
    for (std::size_t k = 0; k < block.field_count; ++k) look(t_.fields_->transform[block.fields[k]]);
    return static_cast<float>(most);
  }

  /// The turns of some vertices, and where dual quaternion skinning puts them.
  void find_turns(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) blend(i);
  }

  void aim(std::size_t b) const { frame_.aim(b); }

  /// ½ Σ_j w_ij (R_i + R_j)(p_i − p_j)
  void find_goal(std::size_t b) const {
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      Vec3f own = Vec3f::Zero(), others = Vec3f::Zero();
      for (std::uint32_t k = e_.edge_starts_[i]; k < e_.edge_starts_[i + 1]; ++k) {
        const std::uint32_t j = e_.edge_ends_[k];
        const Vec3f edge = e_.edge_weights_[k] * (t_.rest_[i] - t_.rest_[j]);
        own += edge;
        others += s_.turn[j] * edge;
      }
      s_.goal[i] = 0.5f * (s_.turn[i] * own + others);
    }
  }

  /// (2) To the iso-value, or the contact; and the tangent planes there.
  void project(std::size_t b) const {
    TrackingScratch& s = s_.tracking;
    TrackingScratch::Block& block = s.blocks[b];
    block.active = 0;
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      s_.normal[i].setZero();
      s.beta[i] = s.held[i] = 0;
      if (s.present[i] != 0 && e_.freedom_[i] > 0 && std::isfinite(s.now[i].sum()))
        s.work[b * SkinTracker::kBlock + block.active++] = static_cast<std::uint32_t>(i);
    }
    frame_.settle(b, e_.options_.steps, s_.normal);
  }

  /// Bᵀ (goal − L v), where conjugate gradients begin; sums its squared length over the diagonal.
  void find_residual(std::size_t b) const {
    double sum = 0;
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      s_.offset[i].setZero();
      s_.residual[i] = tangential(i, s_.goal[i] - laplacian(s_.tracking.now, i));
      s_.direction[i] = preconditioned(i);
      sum += s_.residual[i].dot(s_.direction[i]);
    }
    s_.sums[b] = sum;
  }

  void multiply(std::size_t b) const {
    double sum = 0;
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      s_.product[i] = tangential(i, laplacian(s_.direction, i));
      sum += s_.product[i].dot(s_.direction[i]);
    }
    s_.sums[b] = sum;
  }

  void advance(std::size_t b, float alpha) const {
    double sum = 0;
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      s_.offset[i] += alpha * s_.direction[i];
      s_.residual[i] -= alpha * s_.product[i];
      sum += s_.residual[i].dot(preconditioned(i));
    }
    s_.sums[b] = sum;
  }

  void turn_direction(std::size_t b, float beta) const {
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i)
      s_.direction[i] = preconditioned(i) + beta * s_.direction[i];
  }

  void slide(std::size_t b) const {
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      Vec3f& x = s_.tracking.now[i];
      Vec3f move = s_.offset[i];
      const float length = move.norm();
      const float longest = kLongestSlide * posed_radius(i);
      if (length > longest) move *= longest / length;
      if (std::isfinite(move.sum())) x += move;
    }
  }

  /// Remembers how far vertices are in a fold, or near one.
  void note_folds(std::size_t b) const {
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i)
      s_.folded[i] = std::max(std::min(s_.tracking.beta[i] / kElasticNearFold, 1.0f), kRemembered * s_.folded[i]);
  }

  /// Remembers where the vertices are; says whether they have come to rest. Skin moves not much faster than
  /// what moves it: in a deep fold there is not one place for it, and it would flicker between them.
  void keep(std::size_t b) const {
    float most = 0;
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      const float radius = static_cast<float>(t_.fields_->fields[t_.own_[i]].radius);
      const Vec3f kept = s_.tracking.transforms[t_.own_[i]].inverse(Eigen::Affine) * s_.tracking.now[i];
      s_.tracking.room[t_.vertex_[i]] =
          e_.freedom_[i] * t_.trust_[i] * (1 - s_.folded[i]) * s_.tracking.free[i];
      Vec3f move = t_.rest_[i] + e_.freedom_[i] * (kept - t_.rest_[i]) - s_.kept[i];
      // Where two contacts send a vertex to and fro it ends between them.
      const float along = move.dot(s_.drift[i]);
      const float lengths = std::max(move.squaredNorm(), s_.drift[i].squaredNorm());
      if (lengths > 0) move *= 1 - 0.5f * std::max(0.0f, -along / lengths);
      const float bound = kStraightJoint * move.norm() * s_.drift[i].norm();
      const float change = along < 0 ? kSlower : along > bound ? kFaster : 1.0f;
      s_.creep[i] = std::clamp(s_.creep[i] * change, kLeastCreep, kMostCreep);
      const float alone = kFree + s_.folded[i] * (s_.creep[i] - kFree);
      const float length = move.norm(), longest = (kPull * s_.motion[b] + alone) * radius;
      // Where it begins there is nothing to jump from.
      if (length > longest && !s_.fresh) move *= longest / length;
      if (!std::isfinite(move.sum())) continue;
      most = std::max(most, move.norm() / radius);
      s_.drift[i] = move;
      s_.kept[i] += move;
    }
    s_.awake[b] = most > static_cast<float>(e_.options_.settled);
  }

  const SkinTracker::Frame& frame() const { return frame_; }

 private:
  Vec3f laplacian(const std::vector<Vec3f>& values, std::size_t i) const {
    Vec3f sum = e_.diagonal_[i] * values[i];
    for (std::uint32_t k = e_.edge_starts_[i]; k < e_.edge_starts_[i + 1]; ++k)
      sum -= e_.edge_weights_[k] * values[e_.edge_ends_[k]];
    return sum;
  }

  float posed_radius(std::size_t i) const {
    return s_.scale[t_.own_[i]] * static_cast<float>(t_.fields_->fields[t_.own_[i]].radius);
  }

  /// The part in the tangent plane; none of skin that is not free.
  Vec3f tangential(std::size_t i, const Vec3f& v) const {
    if (e_.freedom_[i] == 0) return Vec3f::Zero();
    return v - v.dot(s_.normal[i]) * s_.normal[i];
  }

  Vec3f preconditioned(std::size_t i) const {
    return e_.diagonal_[i] > 0 ? Vec3f(s_.residual[i] / e_.diagonal_[i]) : Vec3f(Vec3f::Zero());
  }

  /// Dual quaternion skinning of one vertex, as skinning/dual_quaternion.h has it, of which the rotation is
  /// wanted, too.
  void blend(std::size_t i) const {
    const auto joints = t_.weights_.row_joints(i);
    const auto values = t_.weights_.row_values(i);
    if (joints.empty()) return;
    const auto real = [&](std::size_t k) {
      return Eigen::Map<const Eigen::Vector4f>(s_.split[joints[k]].rigid.real);
    };
    const auto dual = [&](std::size_t k) {
      return Eigen::Map<const Eigen::Vector4f>(s_.split[joints[k]].rigid.dual);
    };
    Eigen::Vector4f turn = Eigen::Vector4f::Zero(), shift = Eigen::Vector4f::Zero();
    Eigen::Matrix3f stretch = Eigen::Matrix3f::Zero();
    bool rigid = true;
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const float weight = real(k).dot(real(0)) < 0 ? -values[k] : values[k];
      turn += weight * real(k);
      shift += weight * dual(k);
      stretch += values[k] * s_.split[joints[k]].stretch.linear().cast<float>();
      rigid = rigid && s_.split[joints[k]].is_rigid;
    }
    if (!(turn.squaredNorm() > 1e-12f)) turn = real(0), shift = dual(0);
    const float length = turn.norm();
    const Eigen::Quaternionf rotation(Eigen::Vector4f(turn / length));
    const Vec3f translation =
        2 * (Eigen::Quaternionf(Eigen::Vector4f(shift / length)) * rotation.conjugate()).vec();
    s_.turn[i] = rotation.toRotationMatrix();
    if (!rigid) s_.turn[i] = s_.turn[i] * stretch;
    s_.tracking.start[i] = s_.turn[i] * t_.rest_[i] + translation;
  }

  const ElasticTracker& e_;
  const SkinTracker& t_;
  ElasticState& s_;
  SkinTracker::Frame frame_;
};

void ElasticTracker::pose(std::span<const Affine3d> posed_from_rest, ElasticState& s) const {
  assert(posed_from_rest.size() == s.last.size());
  tracker_.pose(posed_from_rest, s.tracking);
  for (std::size_t j = 0; j < s.last.size(); ++j) {
    s.moved[j] = posed_from_rest[j] * s.last[j].inverse(Eigen::Affine);
    s.split[j] = split_transform(posed_from_rest[j]);
    s.last[j] = posed_from_rest[j];
  }
  for (std::size_t f = 0; f < s.scale.size(); ++f)
    s.scale[f] = s.tracking.transforms[f].linear().norm() / std::sqrt(3.0f);
  const Step step(*this, s);
  parallel_blocks(tracker_.vertex_.size(), 256,
                  [&](std::size_t begin, std::size_t end) { step.find_turns(begin, end); });
}

void ElasticTracker::start(std::span<const Affine3d> posed_from_rest, ElasticState& s,
                           std::span<Vec3f> positions) const {
  pose(posed_from_rest, s);
  for (std::size_t i = 0; i < tracker_.tracked_; ++i) positions[tracker_.vertex_[i]] = s.tracking.start[i];
  tracker_.track(posed_from_rest, s.tracking, positions);
  tracker_.untangle(s.tracking, positions, freedom_);
  for (std::size_t i = 0; i < tracker_.tracked_; ++i) {
    const Vec3f kept =
        s.tracking.transforms[tracker_.own_[i]].inverse(Eigen::Affine) * positions[tracker_.vertex_[i]];
    s.kept[i] = std::isfinite(kept.sum()) ? kept : tracker_.rest_[i];
  }
  std::fill(s.drift.begin(), s.drift.end(), Vec3f::Zero());
  std::fill(s.awake.begin(), s.awake.end(), std::uint8_t{1});
  std::fill(s.creep.begin(), s.creep.end(), kMostCreep);
  std::fill(s.folded.begin(), s.folded.end(), 0.0f);
  s.started = s.fresh = true;
  go_on(posed_from_rest, s, positions);
  s.fresh = false;
}

ElasticTracker::Sense ElasticTracker::sense(std::span<const Affine3d> posed_from_rest,
                                            const ElasticState& s) const {
  Sense sense = Sense::good;
  for (std::size_t f = 0; f < s.scale.size(); ++f) {
    const std::uint32_t transform = tracker_.fields_->transform[f];
    const Affine3d& now = posed_from_rest[transform];
    const double radius = tracker_.fields_->fields[f].radius;
    const double scale = now.linear().norm() / std::sqrt(3.0);
    const double before = s.last[transform].linear().norm() / std::sqrt(3.0);
    const Vec3d place = now * tracker_.rest_center_[f].cast<double>();
    if (!(place.cwiseAbs().maxCoeff() <= kFarAway * scale * radius)) return Sense::blind;
    const bool mirrored = now.linear().determinant() * s.last[transform].linear().determinant() < 0;
    if (!(scale <= kWild * before && before <= kWild * scale) || mirrored) sense = Sense::wild;
  }
  for (const FieldJoint& joint : tracker_.fields_->joints) {
    const Vec3d by_child = posed_from_rest[tracker_.fields_->transform[joint.child]] * joint.place;
    const Vec3d by_parent = posed_from_rest[tracker_.fields_->transform[joint.parent]] * joint.place;
    const double radius = s.scale[joint.child] * tracker_.fields_->fields[joint.child].radius;
    if (!((by_child - by_parent).norm() <= kWild * radius)) sense = Sense::wild;
  }
  return sense;
}

void ElasticTracker::step(std::span<const Affine3d> posed_from_rest, ElasticState& s,
                          std::span<Vec3f> positions) const {
  assert(positions.size() == s.kept.size());
  TrackingScratch& tracking = s.tracking;
  const Sense now = sense(posed_from_rest, s);
  // Nor can it follow from there.
  const bool was_wild = std::exchange(s.wild, now == Sense::wild);
  switch (now == Sense::good && was_wild ? Sense::wild : now) {
    case Sense::blind:
      // Nothing can be measured there: the skin stays with its bones.
      tracker_.pose(posed_from_rest, tracking);
      for (std::size_t i = 0; i < tracker_.tracked_; ++i) {
        const Vec3f x = tracking.transforms[tracker_.own_[i]] * s.kept[i];
        if (std::isfinite(x.sum())) positions[tracker_.vertex_[i]] = x;
      }
      return;
    case Sense::wild:
      start(posed_from_rest, s, positions);
      return;
    case Sense::good:
      break;
  }
  go_on(posed_from_rest, s, positions);
}

void ElasticTracker::go_on(std::span<const Affine3d> posed_from_rest, ElasticState& s,
                           std::span<Vec3f> positions) const {
  TrackingScratch& tracking = s.tracking;
  pose(posed_from_rest, s);
  for (std::size_t i = tracker_.tracked_; i < tracker_.vertex_.size(); ++i)
    tracking.now[i] = positions[tracker_.vertex_[i]];

  const Step step(*this, s);
  parallel_blocks(tracking.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      step.carry(b);
      step.frame().find_twists(b);
      step.frame().find_fields(b);
      s.motion[b] = step.motion(b);
      s.active[b] = s.awake[b] || s.motion[b] > kStill;
    }
  });
  s.blocks.clear();
  for (std::uint32_t b = 0; b < s.active.size(); ++b) {
    const auto near = tracker_.near_blocks(b);
    if (std::any_of(near.begin(), near.end(), [&](std::uint32_t n) { return s.active[n] != 0; }))
      s.blocks.push_back(b);
  }
  const auto each_block = [&](auto&& work) {
    parallel_blocks(s.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) work(s.blocks[k]);
    });
  };
  const auto total = [&] {
    double sum = 0;
    for (const std::uint32_t b : s.blocks) sum += s.sums[b];
    return sum;
  };
  std::fill(tracking.beta.begin(), tracking.beta.end(), 0.0f);
  std::fill(tracking.next_beta.begin(), tracking.next_beta.end(), 0.0f);
  std::fill(tracking.warm.begin(), tracking.warm.end(), std::uint8_t{0});
  std::fill(tracking.next_warm.begin(), tracking.next_warm.end(), std::uint8_t{0});
  // Blocks that are left alone do not move in any direction.
  std::fill(s.direction.begin(), s.direction.end(), Vec3f::Zero());
  each_block([&](std::size_t b) {
    step.find_goal(b);
    step.aim(b);
  });
  for (int round = 0; round < options_.rounds; ++round) {
    each_block([&](std::size_t b) { step.project(b); });
    each_block([&](std::size_t b) { step.find_residual(b); });
    double rho = total();
    const double first = rho;
    for (int sweep = 0; sweep < options_.sweeps && rho > kConverged * kConverged * first && rho > 0;
         ++sweep) {
      each_block([&](std::size_t b) { step.multiply(b); });
      const double curvature = total();
      if (!(curvature > 0)) break;
      const double alpha = rho / curvature;
      if (!std::isfinite(alpha)) break;
      each_block([&](std::size_t b) { step.advance(b, static_cast<float>(alpha)); });
      const double next = total();
      each_block([&](std::size_t b) { step.turn_direction(b, static_cast<float>(next / rho)); });
      rho = next;
    }
    each_block([&](std::size_t b) { step.slide(b); });
  }
  // Folds are smoothed as history-free tracking does it.
  const SkinTracker::Frame& frame = step.frame();
  const TrackingOptions& options = tracker_.options_;
  each_block([&](std::size_t b) {
    step.project(b);
    frame.find_warm(b);
  });
  for (int sweep = 0; sweep < options.diffusion; ++sweep) {
    each_block([&](std::size_t b) { frame.diffuse(b); });
    std::swap(tracking.beta, tracking.next_beta);
    std::swap(tracking.warm, tracking.next_warm);
  }
  each_block([&](std::size_t b) {
    frame.widen(b);
    step.note_folds(b);
  });
  for (int sweep = 0; sweep < options.smoothing; ++sweep) {
    each_block([&](std::size_t b) { frame.smooth(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  each_block([&](std::size_t b) {
    frame.look_round(b);
    step.project(b);
  });
  frame.untangle(options.untangling, true, each_block);
  each_block([&](std::size_t b) { step.keep(b); });
  for (std::size_t i = 0; i < tracker_.tracked_; ++i) {
    tracking.marks[tracker_.vertex_[i]] = tracking.state[i];
    Vec3f x = tracking.transforms[tracker_.own_[i]] * s.kept[i];
    // Where the mesh is too coarse for fields, as far as they can be trusted.
    const float trust = 1 - freedom_[i] * (1 - tracker_.trust_[i]);
    if (trust < 1) x = tracking.start[i] + trust * (x - tracking.start[i]);
    if (std::isfinite(x.sum())) positions[tracker_.vertex_[i]] = x;
  }
}

void ElasticTracker::add_morphs(const ElasticState& s, std::span<const Vec3f> morphed_rest,
                                std::span<Vec3f> positions) const {
  assert(morphed_rest.size() == s.kept.size() && positions.size() == s.kept.size());
  for (std::size_t i = 0; i < tracker_.tracked_; ++i) {
    const std::uint32_t v = tracker_.vertex_[i];
    const Vec3f morph = s.turn[i] * (morphed_rest[v] - tracker_.rest_[i]);
    if (std::isfinite(morph.sum())) positions[v] += morph;
  }
}

}  // namespace sinew
