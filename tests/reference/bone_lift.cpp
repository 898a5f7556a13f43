#include "tests/reference/bone_lift.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>
#include <Eigen/SVD>

#include <sinew/core/index.h>

#include "tests/reference/implicit_fields.h"

namespace sinew::reference {

namespace {

// These have the names and values of those of BoneLift, and the same meaning.
constexpr int kRounds = 6;
constexpr int kSteps = 16;
constexpr int kHalvings = 8;
constexpr double kArrived = 0.001;
constexpr double kLongestStep = 0.25;
constexpr double kClearance = 0.5;
constexpr double kFineEdges = 0.7;
constexpr double kCoarseEdges = 1.5;
constexpr double kCoarseClearance = 0.9;
constexpr double kLeastGoal = 0.1;
constexpr double kHeavier = 0.7;
constexpr double kLighter = 1.4;
constexpr double kTooCoarse = 1;
constexpr double kTrusted = 2.5;
constexpr double kMostTurn = 0.08;
constexpr double kMostPinnedTurn = 0.25;
constexpr double kMostBent = 0.9;
constexpr double kMostBentRoot = 0.2;
constexpr double kStraight = 0.2;
constexpr double kBent = 0.6;
constexpr double kAxisShare = 0.1;
constexpr double kTorn = 0.6;
constexpr double kAgreed = 0.8;

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

/// About the same axis, by `angle` radians at most.
Mat3d at_most(double angle, const Mat3d& rotation) {
  const Eigen::AngleAxisd turn(rotation);
  return Eigen::AngleAxisd(std::min(turn.angle(), angle), turn.axis()).toRotationMatrix();
}

struct Value {
  double value = 0;
  Vec3d gradient = Vec3d::Zero();
};

/// The ways of a group's points out of what they lie in.
struct Ways {
  std::vector<Vec3d> heads, tails;  // as much of them as concerns this end
  std::vector<Vec3d> whole;

  bool any() const {
    return std::any_of(whole.begin(), whole.end(), [](const Vec3d& way) { return !way.isZero(0); });
  }
  /// |Σ v| / Σ |v|: 1 where all lead the same way, 0 where they cancel out.
  double agreement() const {
    Vec3d sum = Vec3d::Zero();
    double lengths = 0;
    for (const Vec3d& way : whole) sum += way, lengths += way.norm();
    return sum.norm() / lengths;
  }
};

class Lifting {
 public:
  Lifting(const LiftTask& task, std::span<const Affine3d> posed_from_rest)
      : task_(task),
        chains_(task.chains),
        posed_from_rest_(posed_from_rest.begin(), posed_from_rest.end()),
        transforms_(posed_from_rest_),
        turns_(task.fields.fields.size(), Mat3d::Identity()),
        lifts_(task.fields.fields.size(), Affine3d::Identity()) {
    for (std::size_t n = 0; n < chains_.rest_nodes.size(); ++n)
      posed_nodes_.push_back(pose_of(chains_.node_field[n]) * chains_.rest_nodes[n]);
    nodes_ = posed_nodes_;
  }

  LiftedBones run(std::span<const Vec3d> positions) {
    LiftedBones result;
    for (int round = 0; round < kRounds && task_.share > 0; ++round) {
      if (!rise()) break;
      result.any = true;
      if (round + 1 < kRounds) keep_shapes();
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

  Vec3d place(const LiftChains::Sample& sample) const {
    const Vec3d &head = nodes_[sample.field], &tail = nodes_[chains_.tails_of(sample.field)[sample.segment]];
    return head + static_cast<double>(sample.along) * (tail - head);
  }

  /// The fields that a point rises out of, by `meets` or `meets_as_one`: none that it lies in at rest.
  std::vector<std::size_t> others(const std::vector<std::uint8_t>& meets,
                                  const LiftChains::Sample& sample) const {
    std::vector<std::size_t> result;
    for (std::size_t b = 0; b < lifts_.size(); ++b)
      if (meets[sample.field * lifts_.size() + b] && !chains_.is_known(sample, static_cast<std::uint16_t>(b)))
        result.push_back(b);
    return result;
  }

  /// f(x) = f_rest(T⁻¹ x) and ∇f = T⁻ᵀ ∇f_rest, T as lifted so far.
  Value field(std::size_t f, const Vec3d& x) const {
    const Affine3d rest_from_posed = transforms_[task_.fields.transform[f]].inverse();
    const Vec3d at = rest_from_posed * x;
    Value result;
    if (task_.values == FieldValues::exact) {
      const sinew::HermiteRbf::Value value = task_.fields.fields[f].evaluate(at);
      result = {value.distance, value.gradient};
    } else {
      const FieldGrid& grid = task_.fields.fields[f].grid;
      const Vec3d in_grid = grid.grid_from_rest() * at;
      for (int axis = 0; axis < 3; ++axis)
        if (!(in_grid[axis] >= 0) || !(in_grid[axis] < grid.size()[to_size(axis)] - 1)) return {};
      const Eigen::Vector4d value = trilinear(grid, in_grid);
      result = {value[0], grid.grid_from_rest().linear().transpose() * value.tail<3>()};
    }
    if (!(result.value > 0)) return {};
    result.gradient = rest_from_posed.linear().transpose() * result.gradient;
    return result;
  }

  /// How much more than its goal field b has at x, and its gradient. The goal is its value where a bone of
  /// field f is out of it.
  Value excess(std::size_t f, std::size_t b, const Vec3d& x) const {
    const double coarse =
        smooth_step(kFineEdges, kCoarseEdges, scale(b) * static_cast<double>(chains_.edge[b]) / radius(f));
    const double clearance = std::max(kClearance, kCoarseClearance * coarse);
    const double goal = std::max(compact_support(clearance * radius(f), radius(b)), kLeastGoal);
    const Value at_x = field(b, x);
    if (!(at_x.value > goal) || !(at_x.gradient.norm() > 0)) return {};
    return {at_x.value - goal, at_x.gradient};
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

  /// The axis about which the pose turns a finger against the bone that it hangs on, as long as √ of how much
  /// it is a hinge: what is left of a way across it is (1 − axis axisᵀ) way. 0 for what is no finger.
  Vec3d hinge_of(std::size_t g) const {
    if (chains_.extremity_of[g] < 0) return Vec3d::Zero();
    const std::uint32_t finger = chains_.groups[g][0];
    const auto above = to_size(chains_.parent[finger]);
    const Eigen::AngleAxisd bend(Mat3d(nearest_rotation(pose_of(finger).linear()) *
                                       nearest_rotation(pose_of(above).linear()).transpose()));
    return std::sqrt(smooth_step(kStraight, kBent, bend.angle())) * bend.axis();
  }

  /// Steps, each the mean of Newton's to the goals of all fields, by their lengths. Of the whole way that
  /// share is taken which `mover` takes of the first step.
  Vec3d way_out(std::size_t g, std::size_t mover, const std::vector<std::uint8_t>& meets,
                const LiftChains::Sample& sample) const {
    const Vec3d from = place(sample), hinge = hinge_of(g);
    const std::vector<std::size_t> fields = others(meets, sample);
    Vec3d x = from;
    double share = 1;
    for (int step = 0; step < kSteps; ++step) {
      Vec3d move = Vec3d::Zero(), wanted = Vec3d::Zero();
      double lengths = 0, shares = 0;
      for (const std::size_t b : fields) {
        const Value other = excess(sample.field, b, x);
        if (!(other.value > 0)) continue;
        const double length = std::min(other.value / other.gradient.norm(), kLongestStep * radius(b));
        Vec3d out = -length * other.gradient.normalized();
        const bool of_palm = static_cast<std::int32_t>(chains_.group_of[b]) == chains_.extremity_of[g];
        if (of_palm) out -= hinge * hinge.dot(out);
        move += length * out;
        wanted += out;
        lengths += length;
        shares += length * own_share(mover, b);
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

  /// A point counts whole for the end that it is nearer to, and the less for the other the farther that is.
  /// Fingers count whole for the tail of their palm.
  Ways ways_of(std::size_t g) const {
    Ways ways;
    for (const std::uint32_t f : chains_.groups[g])
      for (const LiftChains::Sample& sample : chains_.samples_of(f)) {
        const double along = static_cast<double>(sample.along);
        const Vec3d way = way_out(g, f, chains_.meets, sample);
        ways.heads.push_back(std::min(2 - 2 * along, 1.0) * way);
        ways.tails.push_back(std::min(2 * along, 1.0) * way);
        ways.whole.push_back(way);
      }
    for (const std::uint32_t f : chains_.extremities[g])
      for (const LiftChains::Sample& sample : chains_.samples_of(f)) {
        const Vec3d way = way_out(g, chains_.groups[g][0], chains_.meets_as_one, sample);
        ways.tails.push_back(way);
        ways.whole.push_back(way);
      }
    return ways;
  }

  /// How far a direction leads from `way` on until a point of a bone is out of another field, by Newton's
  /// method, then by bisection of the step that led out; `moved`: by more than what counts as nothing.
  double way_out_of(std::size_t b, const LiftChains::Sample& sample, const Vec3d& direction, double way,
                    double least, bool& moved) const {
    const auto at = [&](double length) {
      return excess(sample.field, b, place(sample) + length * direction);
    };
    const double arrived = kArrived * radius(sample.field);
    double before = way;
    for (int step = 0; step < kSteps; ++step) {
      const Value other = at(way);
      if (!(other.value > 0)) break;
      before = way;
      const double slope = -other.gradient.dot(direction), longest = kLongestStep * radius(b);
      way += slope > 0 ? std::min(other.value / slope, longest) : longest;
      if (!(way < least)) return way;
      if (!(way - before > arrived)) break;
      moved = true;
    }
    for (int half = 0; half < kHalvings && way - before > arrived; ++half) {
      const double middle = (before + way) / 2;
      if (at(middle).value > 0)
        before = middle;
      else
        way = middle;
    }
    return way;
  }

  /// How far all of a group and its extremities go in a direction until none of their points is in anything;
  /// infinite when that is not found, or not less than `least`. One point after the other, and again until
  /// none moves.
  double way_along(std::size_t g, const Vec3d& direction, double least) const {
    double way = 0;
    for (int sweep = 0; sweep < kSteps && way < least; ++sweep) {
      bool moved = false;
      for (std::size_t b = 0; b < lifts_.size(); ++b) {
        const auto look_at = [&](std::uint32_t f, const std::vector<std::uint8_t>& meets) {
          for (const LiftChains::Sample& sample : chains_.samples_of(f)) {
            const std::vector<std::size_t> met = others(meets, sample);
            if (std::find(met.begin(), met.end(), b) != met.end())
              way = way_out_of(b, sample, direction, way, least, moved);
          }
        };
        for (const std::uint32_t f : chains_.groups[g]) look_at(f, chains_.meets);
        for (const std::uint32_t f : chains_.extremities[g]) look_at(f, chains_.meets_as_one);
      }
      if (!moved && way < least) return way;
    }
    return std::numeric_limits<double>::infinity();
  }

  /// The shortest way along which all of a group and its extremities get out together: of the 26 directions
  /// to the neighbours of a cell, in the frame of its first bone. It is not longer than the steps allow.
  Vec3d way_as_one(std::size_t g) const {
    const Mat3d frame = pose_of(chains_.groups[g][0]).linear();
    Vec3d shortest = Vec3d::Zero();
    double least = std::numeric_limits<double>::infinity();
    for (int cell = 0; cell < 27; ++cell) {
      const Vec3d neighbour(cell / 9 - 1, cell / 3 % 3 - 1, cell % 3 - 1);
      if (neighbour.isZero()) continue;
      const Vec3d direction = (frame * neighbour).normalized();
      const double way = way_along(g, direction, least);
      if (way < least) least = way, shortest = way * direction;
    }
    return shortest;
  }

  bool rise() {
    bool any = false;
    for (std::size_t g = 0; g < chains_.groups.size(); ++g) {
      const Ways ways = ways_of(g);
      if (!ways.any()) continue;
      any = true;
      const double torn = chains_.is_end[g] ? 1 - smooth_step(kTorn, kAgreed, ways.agreement()) : 0.0;
      const Vec3d as_one = torn > 0 ? way_as_one(g) : Vec3d(Vec3d::Zero());
      move(g, torn * as_one + (1 - torn) * mean_of_longest(ways.heads),
           torn * as_one + (1 - torn) * mean_of_longest(ways.tails));
    }
    return any;
  }

  /// Pinned groups turn about their heads. Others go along with the end that has the longer way, as far as
  /// they cannot turn.
  void move(std::size_t g, const Vec3d& head_way, const Vec3d& tail_way) {
    const std::vector<std::uint32_t>& group = chains_.groups[g];
    Vec3d middle = Vec3d::Zero(), axis = Vec3d::Zero();
    double segments = 0;
    for (const std::uint32_t f : group) {
      middle += nodes_[f] / static_cast<double>(group.size());
      for (const std::uint32_t tail : chains_.tails_of(f)) axis += nodes_[tail] - nodes_[f], ++segments;
    }
    axis /= segments;
    const bool pinned = chains_.is_pinned[g] != 0;
    const Vec3d start = pinned ? Vec3d(Vec3d::Zero()) : head_way;
    const double longest = (pinned ? kMostPinnedTurn : kMostTurn) * axis.norm();
    Vec3d apart = tail_way - start, way = start;
    if (apart.norm() > longest) {
      apart *= longest / apart.norm();
      if (!pinned && tail_way.norm() > head_way.norm()) way = tail_way - apart;
    }
    const Mat3d turn = turn_between(axis, axis + apart);
    for (const std::uint32_t n : chains_.carried[g]) nodes_[n] = middle + way + turn * (nodes_[n] - middle);
  }

  Mat3d turn_above(std::size_t f) const {
    return chains_.parent[f] < 0 ? Mat3d(Mat3d::Identity()) : turns_[to_size(chains_.parent[f])];
  }

  /// Where the bone above carries it, and from there the shortest turn to where it has risen to. With several
  /// tails the turn that fits all best, with some of that one.
  Mat3d turn_of(std::size_t f) const {
    Vec3d posed_axis = Vec3d::Zero(), risen_axis = Vec3d::Zero();
    Mat3d covariance = Mat3d::Zero();
    for (const std::uint32_t tail : chains_.tails_of(f)) {
      const Vec3d posed = posed_nodes_[tail] - posed_nodes_[f], risen = nodes_[tail] - nodes_[f];
      posed_axis += posed;
      risen_axis += risen;
      covariance += risen * posed.transpose();
    }
    const Mat3d turn = turn_between(turn_above(f) * posed_axis, risen_axis) * turn_above(f);
    if (chains_.tails_of(f).size() < 2) return turn;
    return nearest_rotation(covariance + kAxisShare * posed_axis.squaredNorm() * turn);
  }

  /// Limbs' roots, as collar bones are, bend less than other bones. A finger is none.
  double most_bent(std::size_t f) const {
    const std::uint32_t g = chains_.group_of[f];
    return chains_.is_pinned[g] && chains_.extremity_of[g] < 0 ? kMostBentRoot : kMostBent;
  }

  /// Each bone is as the pose has it, but turned, against the bone above no further than it can bend. What
  /// hangs on its tails comes along with them.
  void keep_shapes() {
    for (const std::uint32_t f : chains_.order) {
      turns_[f] = at_most(most_bent(f), turn_of(f) * turn_above(f).transpose()) * turn_above(f);
      for (const std::uint32_t tail : chains_.tails_of(f)) {
        const Vec3d to = nodes_[f] + turns_[f] * (posed_nodes_[tail] - posed_nodes_[f]);
        const Vec3d shift = to - nodes_[tail];
        nodes_[tail] = to;
        const bool is_head = tail < lifts_.size();
        if (!is_head) continue;
        for (const std::uint32_t n : chains_.below[tail]) nodes_[n] += shift;
      }
    }
  }

  /// Bones turn, and those with one tail stretch along with it.
  void make_transforms() {
    for (const std::uint32_t f : chains_.order) {
      turns_[f] = turn_of(f);
      Mat3d linear = turns_[f];
      if (chains_.tails_of(f).size() == 1) {
        const std::uint32_t tail = chains_.tails_of(f)[0];
        const Vec3d posed = posed_nodes_[tail] - posed_nodes_[f], risen = nodes_[tail] - nodes_[f];
        const Vec3d along = posed.normalized();
        if (posed.norm() > 0)
          linear *= Mat3d::Identity() + (risen.norm() / posed.norm() - 1) * along * along.transpose();
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
      auto field = to_size(task_.own[v]);
      for (std::size_t f = 0; f < lifts_.size(); ++f)
        if (task_.fields.transform[f] == task_.weights.row_joints(v)[k]) field = f;
      to += static_cast<double>(task_.weights.row_values(v)[k]) * (lifts_[field] * from - from);
    }
    return to;
  }

  const LiftTask& task_;
  const LiftChains& chains_;
  std::vector<Affine3d> posed_from_rest_, transforms_;
  std::vector<Mat3d> turns_;     // per field
  std::vector<Affine3d> lifts_;  // per field
  std::vector<Vec3d> posed_nodes_, nodes_;
};

}  // namespace

LiftedBones lift_bones(const LiftTask& task, std::span<const Affine3d> posed_from_rest,
                       std::span<const Vec3d> positions) {
  return Lifting(task, posed_from_rest).run(positions);
}

}  // namespace sinew::reference
