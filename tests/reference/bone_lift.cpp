#include "tests/reference/bone_lift.h"

#include <algorithm>
#include <cmath>

#include <Eigen/LU>
#include <Eigen/SVD>

#include "tests/reference/implicit_fields.h"

namespace sinew::reference {

namespace {

// These have the names and values of those of BoneLift, and the same meaning.
constexpr int kRounds = 5;
constexpr int kSteps = 16;
constexpr double kArrived = 0.001;
constexpr double kLongestStep = 0.25;
constexpr double kSkin = 0.5;
constexpr double kDeep = 0.75;
constexpr double kClearance = 0.4;
constexpr double kFineEdges = 0.7;
constexpr double kCoarseEdges = 1.5;
constexpr double kCoarseClearance = 0.9;
constexpr double kLeastGoal = 0.1;
constexpr double kHeavier = 0.7;
constexpr double kLighter = 1.4;
constexpr double kTooCoarse = 1;
constexpr double kTrusted = 2.5;
constexpr double kMostTurn = 0.08;
constexpr double kAxisShare = 0.1;

/// 3 t² − 2 t³ with t = (x − low) / (high − low), clamped to [0, 1].
double smooth_step(double low, double high, double x) {
  const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return 3 * t * t - 2 * t * t * t;
}

/// Σ |v|⁴ v / Σ |v|⁴.
Vec3d mean_of_longest(std::span<const Vec3d> ways) {
  Vec3d sum = Vec3d::Zero();
  double weights = 0;
  for (const Vec3d& way : ways) {
    sum += std::pow(way.norm(), 4) * way;
    weights += std::pow(way.norm(), 4);
  }
  return weights > 0 ? Vec3d(sum / weights) : Vec3d(Vec3d::Zero());
}

Mat3d turn_between(const Vec3d& from, const Vec3d& to) {
  if (!(from.norm() > 0) || !(to.norm() > 0)) return Mat3d::Identity();
  return Quatd::FromTwoVectors(from, to).toRotationMatrix();
}

/// R of the greatest <R, M>: U diag(1, 1, ±1) Vᵀ, never mirrored.
Mat3d nearest_rotation(const Mat3d& matrix) {
  const Eigen::JacobiSVD<Mat3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Mat3d u = svd.matrixU(), v = svd.matrixV();
  return u * Vec3d(1, 1, (u * v.transpose()).determinant() < 0 ? -1 : 1).asDiagonal() * v.transpose();
}

struct Sample {
  double value = 0;
  Vec3d gradient = Vec3d::Zero();
};

class Lifting {
 public:
  Lifting(const LiftTask& task, std::span<const Affine3d> posed_from_rest)
      : task_(task),
        chains_(task.chains),
        posed_from_rest_(posed_from_rest.begin(), posed_from_rest.end()),
        transforms_(posed_from_rest_),
        lifts_(task.fields.fields.size(), Affine3d::Identity()),
        depth_(chains_.samples.size(), 0) {
    for (std::size_t n = 0; n < chains_.rest_nodes.size(); ++n)
      posed_nodes_.push_back(pose_of(chains_.node_field[n]) * chains_.rest_nodes[n]);
    nodes_ = posed_nodes_;
  }

  LiftedBones run(std::span<const Vec3d> positions) {
    LiftedBones result;
    for (int round = 0; round < kRounds && task_.share > 0; ++round) {
      if (!rise()) break;
      result.any = true;
      if (round + 1 < kRounds) keep_lengths();
      make_transforms();
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      nodes_[n] = posed_nodes_[n] + task_.share * (nodes_[n] - posed_nodes_[n]);
    if (result.any) make_transforms();
    result.transforms = transforms_;
    for (std::size_t v = 0; v < positions.size(); ++v)
      result.positions.push_back(result.any ? carried(v, positions[v]) : positions[v]);
    return result;
  }

 private:
  const Affine3d& pose_of(std::size_t field) const { return posed_from_rest_[task_.fields.transform[field]]; }

  /// Support radius in the pose: times ∛|det|.
  double radius(std::size_t field) const { return scale(field) * task_.fields.fields[field].radius; }
  double scale(std::size_t field) const { return std::cbrt(std::abs(pose_of(field).linear().determinant())); }

  /// f(x) = f_rest(T⁻¹ x) and ∇f = T⁻ᵀ ∇f_rest, T as lifted so far.
  Sample field(std::size_t f, const Vec3d& x) const {
    const Affine3d rest_from_posed = transforms_[task_.fields.transform[f]].inverse();
    const Vec3d at = rest_from_posed * x;
    Sample sample;
    if (task_.values == FieldValues::exact) {
      const sinew::HermiteRbf::Value value = task_.fields.fields[f].evaluate(at);
      sample = {value.distance, value.gradient};
    } else {
      const FieldGrid& grid = task_.fields.fields[f].grid;
      const Vec3d in_grid = grid.grid_from_rest() * at;
      for (int axis = 0; axis < 3; ++axis)
        if (!(in_grid[axis] >= 0) || !(in_grid[axis] < grid.size()[static_cast<std::size_t>(axis)] - 1))
          return {};
      const Eigen::Vector4d value = trilinear(grid, in_grid);
      sample = {value[0], grid.grid_from_rest().linear().transpose() * value.tail<3>()};
    }
    if (!(sample.value > 0)) return {};
    sample.gradient = rest_from_posed.linear().transpose() * sample.gradient;
    return sample;
  }

  /// The value of field b at which a bone of field f that has been at `depth` is out of it.
  double goal(std::size_t f, std::size_t b, double depth) const {
    const double coarse =
        smooth_step(kFineEdges, kCoarseEdges, scale(b) * static_cast<double>(chains_.edge[b]) / radius(f));
    const double clearance =
        std::max(kClearance * smooth_step(kSkin, kDeep, depth), kCoarseClearance * coarse);
    return std::max(compact_support(clearance * radius(f), radius(b)), kLeastGoal);
  }

  /// Share of a way out of field b that a bone of field f takes: all of it if its limb is much lighter, and
  /// if b's mesh is fine enough to have a skin.
  double own_share(std::size_t f, std::size_t b) const {
    const double heavier = static_cast<double>(chains_.size[b]) / static_cast<double>(chains_.size[f]);
    const double edge = static_cast<double>(chains_.edge[b]);
    const double trust =
        edge > 0 ? smooth_step(kTooCoarse, kTrusted, task_.fields.fields[b].radius / edge) : 1.0;
    return smooth_step(kHeavier, kLighter, heavier) * trust;
  }

  /// Steps, each the mean of Newton's to the goals of all fields, by their lengths. Of the whole way the
  /// limb's own share is taken, as the first step finds it.
  Vec3d way_out(const LiftChains::Sample& sample, const Vec3d& from, double& depth) const {
    std::vector<std::size_t> others;
    for (std::size_t b = 0; b < lifts_.size(); ++b)
      if (chains_.meets[sample.field * lifts_.size() + b] &&
          !chains_.is_known(sample, static_cast<std::uint16_t>(b)))
        others.push_back(b);
    for (const std::size_t b : others) depth = std::max(depth, field(b, from).value);
    Vec3d x = from;
    double share = 1;
    for (int step = 0; step < kSteps; ++step) {
      Vec3d move = Vec3d::Zero(), wanted = Vec3d::Zero();
      double lengths = 0, shares = 0;
      for (const std::size_t b : others) {
        const Sample other = field(b, x);
        const double excess = other.value - goal(sample.field, b, depth);
        if (!(excess > 0) || !(other.gradient.norm() > 0)) continue;
        const double length = std::min(excess / other.gradient.norm(), kLongestStep * radius(b));
        move -= length * length * other.gradient.normalized();
        wanted -= length * other.gradient.normalized();
        lengths += length;
        shares += length * own_share(sample.field, b);
      }
      if (!(lengths > 0)) break;
      if (step == 0) share = shares / lengths;
      // Fields that want the opposite of each other get half of it.
      move *= (1 + wanted.norm() / lengths) / 2 / lengths;
      x += move;
      if (!(move.norm() > kArrived * radius(sample.field))) break;
    }
    return share * (x - from);
  }

  bool rise() {
    bool any = false;
    for (std::size_t g = 0; g < chains_.groups.size(); ++g) any = rise_of_group(g) || any;
    return any;
  }

  bool rise_of_group(std::size_t g) {
    const std::vector<std::uint32_t>& group = chains_.groups[g];
    std::vector<Vec3d> head_ways, tail_ways;
    Vec3d middle = Vec3d::Zero(), axis = Vec3d::Zero();
    double segments = 0;
    for (const std::uint32_t f : group) {
      middle += nodes_[f] / static_cast<double>(group.size());
      for (const std::uint32_t tail : chains_.tails_of(f)) axis += nodes_[tail] - nodes_[f], ++segments;
      for (std::size_t i = chains_.first_sample[f]; i < chains_.first_sample[f + 1]; ++i) {
        const LiftChains::Sample& sample = chains_.samples[i];
        const double along = static_cast<double>(sample.along);
        const Vec3d& tail = nodes_[chains_.tails_of(f)[sample.segment]];
        const Vec3d way = way_out(sample, nodes_[f] + along * (tail - nodes_[f]), depth_[i]);
        head_ways.push_back(std::min(2 - 2 * along, 1.0) * way);
        tail_ways.push_back(std::min(2 * along, 1.0) * way);
      }
    }
    Vec3d head_way = mean_of_longest(head_ways);
    const Vec3d tail_way = mean_of_longest(tail_ways);
    if (head_way.isZero(0) && tail_way.isZero(0)) return false;
    axis /= segments;
    Vec3d apart = tail_way - head_way;
    const double longest = kMostTurn * axis.norm();
    if (apart.norm() > longest) {
      apart *= longest / apart.norm();
      if (tail_way.norm() > head_way.norm()) head_way = tail_way - apart;
    }
    const Mat3d turn = turn_between(axis, axis + apart);
    for (const std::uint32_t n : chains_.carried[g])
      nodes_[n] = middle + head_way + turn * (nodes_[n] - middle);
    return true;
  }

  void keep_lengths() {
    for (const std::uint32_t f : chains_.order)
      for (const std::uint32_t tail : chains_.tails_of(f)) {
        const Vec3d axis = nodes_[tail] - nodes_[f];
        const double posed = (posed_nodes_[tail] - posed_nodes_[f]).norm();
        if (axis.norm() > 0) nodes_[tail] = nodes_[f] + posed * axis.normalized();
      }
  }

  /// Bones with one tail turn and stretch with it. Those with several take the turn that fits all best,
  /// with some of the turn of their mean axis.
  void make_transforms() {
    for (std::size_t f = 0; f < lifts_.size(); ++f) {
      std::vector<Vec3d> posed, risen;
      Vec3d posed_axis = Vec3d::Zero(), risen_axis = Vec3d::Zero();
      for (const std::uint32_t tail : chains_.tails_of(f)) {
        posed.push_back(posed_nodes_[tail] - posed_nodes_[f]);
        risen.push_back(nodes_[tail] - nodes_[f]);
        posed_axis += posed.back();
        risen_axis += risen.back();
      }
      Mat3d linear = turn_between(posed_axis, risen_axis);
      if (posed.size() == 1 && posed_axis.norm() > 0) {
        const Vec3d along = posed_axis.normalized();
        const double stretch = risen_axis.norm() / posed_axis.norm();
        linear = linear * (Mat3d::Identity() + (stretch - 1) * along * along.transpose());
      } else if (posed.size() > 1) {
        Mat3d covariance = kAxisShare * posed_axis.squaredNorm() * linear;
        for (std::size_t k = 0; k < posed.size(); ++k) covariance += risen[k] * posed[k].transpose();
        linear = nearest_rotation(covariance);
      }
      lifts_[f].linear() = linear;
      lifts_[f].translation() = nodes_[f] - linear * posed_nodes_[f];
      transforms_[task_.fields.transform[f]] = lifts_[f] * pose_of(f);
    }
  }

  /// Blended by weights; a joint without a field counts as the vertex's own.
  Vec3d carried(std::size_t v, const Vec3d& from) const {
    if (task_.own[v] < 0) return from;
    Vec3d to = from;
    for (std::size_t k = 0; k < task_.weights.row_size(v); ++k) {
      auto field = static_cast<std::size_t>(task_.own[v]);
      for (std::size_t f = 0; f < lifts_.size(); ++f)
        if (task_.fields.transform[f] == task_.weights.row_joints(v)[k]) field = f;
      to += static_cast<double>(task_.weights.row_values(v)[k]) * (lifts_[field] * from - from);
    }
    return to;
  }

  const LiftTask& task_;
  const LiftChains& chains_;
  std::vector<Affine3d> posed_from_rest_, transforms_;
  std::vector<Affine3d> lifts_;  // per field
  std::vector<double> depth_;    // per sample, value of the strongest field it has been in
  std::vector<Vec3d> posed_nodes_, nodes_;
};

}  // namespace

LiftedBones lift_bones(const LiftTask& task, std::span<const Affine3d> posed_from_rest,
                       std::span<const Vec3d> positions) {
  return Lifting(task, posed_from_rest).run(positions);
}

}  // namespace sinew::reference
