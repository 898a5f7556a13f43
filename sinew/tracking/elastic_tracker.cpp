#include <sinew/tracking/elastic_tracker.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/intrinsic_laplacian.h>
#include <sinew/tracking/tracking_frame.h>

namespace sinew {

namespace {

constexpr float kLongestSlide = 0.25f;  // of a relaxation, in support radii
constexpr double kStill = 1e-6;         // by which parts may shift against each other, in support radii
constexpr double kConverged = 1e-4;     // residual of a relaxation over the first one's

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
  s.awake.assign(blocks, 1);
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
      const Vec3f x = s_.tracking.transforms[t_.own_[i]] * s_.kept[i];
      if (std::isfinite(x.sum())) s_.tracking.now[i] = x;
    }
  }

  /// Whether the fields and transforms that a block has to do with have moved as one since the last step.
  bool has_moved(std::size_t b) const {
    const TrackingScratch::Block& block = s_.tracking.blocks[b];
    const std::size_t i = b * SkinTracker::kBlock;
    const std::uint32_t first = t_.fields_->transform[t_.own_[i]];
    const double limit = kStill * t_.fields_->fields[t_.own_[i]].radius;
    const Vec3d at = s_.tracking.now[i].cast<double>();
    const auto moved = [&](std::uint32_t transform) {
      if (transform == first) return false;
      const Eigen::Matrix<double, 3, 4> apart = s_.moved[transform].affine() - s_.moved[first].affine();
      const double size = t_.fields_->fields[t_.own_[i]].radius;
      return !((apart.leftCols<3>() * at + apart.col(3)).norm() <= limit &&
               apart.leftCols<3>().norm() * size <= limit);
    };
    for (std::uint32_t k = e_.block_transform_starts_[b]; k < e_.block_transform_starts_[b + 1]; ++k)
      if (moved(e_.block_transforms_[k])) return true;
    for (std::size_t k = 0; k < block.field_count; ++k)
      if (moved(t_.fields_->transform[block.fields[k]])) return true;
    return false;
  }

  /// The turns, and where dual quaternion skinning puts the vertices.
  void find_turns(std::size_t b) const {
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) blend(i);
  }

  void aim(std::size_t b) const {
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) frame_.aim(i, s_.tracking.blocks[b]);
  }

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
      if (s.present[i] != 0 && std::isfinite(s.now[i].sum()))
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
      const float longest = kLongestSlide * static_cast<float>(t_.fields_->fields[t_.own_[i]].radius);
      if (length > longest) move *= longest / length;
      if (std::isfinite(move.sum())) x += move;
    }
  }

  /// Remembers where the vertices are; says whether they have come to rest.
  void keep(std::size_t b) const {
    float most = 0;
    for (std::size_t i = b * SkinTracker::kBlock; i < end_of(b); ++i) {
      const Vec3f kept =
          t_.rest_[i] +
          e_.freedom_[i] *
              (s_.tracking.transforms[t_.own_[i]].inverse(Eigen::Affine) * s_.tracking.now[i] - t_.rest_[i]);
      if (!std::isfinite(kept.sum())) continue;
      Vec3f move = kept - s_.kept[i];
      // Where two contacts send a vertex to and fro it ends between them.
      const float lengths = std::max(move.squaredNorm(), s_.drift[i].squaredNorm());
      if (lengths > 0) move *= 1 - 0.5f * std::max(0.0f, -move.dot(s_.drift[i]) / lengths);
      s_.drift[i] = move;
      const float radius = static_cast<float>(t_.fields_->fields[t_.own_[i]].radius);
      most = std::max(most, move.norm() / radius);
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

  /// The part in the tangent plane; none of skin that is not free.
  Vec3f tangential(std::size_t i, const Vec3f& v) const {
    return e_.freedom_[i] * (v - v.dot(s_.normal[i]) * s_.normal[i]);
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

void ElasticTracker::start(std::span<const Affine3d> posed_from_rest, ElasticState& s,
                           std::span<Vec3f> positions) const {
  tracker_.track(posed_from_rest, s.tracking, positions);
  for (std::size_t i = 0; i < tracker_.tracked_; ++i) {
    const Vec3f kept =
        s.tracking.transforms[tracker_.own_[i]].inverse(Eigen::Affine) * positions[tracker_.vertex_[i]];
    s.kept[i] = std::isfinite(kept.sum()) ? kept : tracker_.rest_[i];
  }
  std::copy(posed_from_rest.begin(), posed_from_rest.end(), s.last.begin());
  std::fill(s.drift.begin(), s.drift.end(), Vec3f::Zero());
  std::fill(s.awake.begin(), s.awake.end(), std::uint8_t{1});
  s.started = true;
  step(posed_from_rest, s, positions);
}

void ElasticTracker::step(std::span<const Affine3d> posed_from_rest, ElasticState& s,
                          std::span<Vec3f> positions) const {
  assert(posed_from_rest.size() == s.last.size() && positions.size() == s.kept.size());
  TrackingScratch& tracking = s.tracking;
  tracker_.pose(posed_from_rest, tracking);
  for (std::size_t j = 0; j < s.last.size(); ++j) {
    s.moved[j] = posed_from_rest[j] * s.last[j].inverse(Eigen::Affine);
    s.split[j] = split_transform(posed_from_rest[j]);
    s.last[j] = posed_from_rest[j];
  }
  for (std::size_t i = 0; i < tracker_.vertex_.size(); ++i)
    tracking.start[i] = tracking.now[i] = positions[tracker_.vertex_[i]];

  const Step step(*this, s);
  parallel_blocks(tracking.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      step.carry(b);
      step.frame().find_fields(b);
      s.active[b] = s.awake[b] || step.has_moved(b);
      step.find_turns(b);
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
  each_block([&](std::size_t b) { frame.widen(b); });
  for (int sweep = 0; sweep < options.smoothing; ++sweep) {
    each_block([&](std::size_t b) { frame.smooth(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  each_block([&](std::size_t b) {
    frame.look_round(b);
    step.project(b);
    frame.widen(b);
  });
  for (int sweep = 0; sweep < options.untangling; ++sweep) {
    each_block([&](std::size_t b) { frame.untangle(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  each_block([&](std::size_t b) { step.keep(b); });
  for (std::size_t i = 0; i < tracker_.tracked_; ++i) {
    tracking.marks[tracker_.vertex_[i]] = tracking.state[i];
    const Vec3f x = tracking.transforms[tracker_.own_[i]] * s.kept[i];
    if (std::isfinite(x.sum())) positions[tracker_.vertex_[i]] = x;
  }
}

}  // namespace sinew
