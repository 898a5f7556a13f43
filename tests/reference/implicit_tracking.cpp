#include "tests/reference/implicit_tracking.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <Eigen/SVD>

#include <sinew/geometry/one_rings.h>
#include <sinew/tracking/field_neighbours.h>
#include <sinew/tracking/mean_value_rings.h>
#include <sinew/tracking/palm_shares.h>

#include "tests/reference/implicit_fields.h"

namespace sinew::reference {

namespace {

// These have the names and values of those of the tracker, and the same meaning.
constexpr double kNoContact = 2;
constexpr double kFacesAway = 0.1;
constexpr double kFaces = 0.5;
constexpr double kAway = 0;
constexpr double kTowards = 0.3;
constexpr double kNear = 1.5;
constexpr double kFar = 2.5;
constexpr int kKinJoints = 3;
constexpr double kFine = 3;
constexpr double kCoarse = 2;
constexpr double kTooCoarse = 0.7;
constexpr double kShift = 0.03;
constexpr double kShiftAlong = 0.15;
constexpr double kPastBone = 0.2;
constexpr double kLongestStep = 0.5;
constexpr double kLongestReturn = 0.25;
constexpr double kReturnBudget = 2;
constexpr double kDeepContact = 0.15;
constexpr double kHeld = 0.07;
constexpr double kDeepest = 0.9;
constexpr double kKeptBulge = 0.5;
constexpr double kSurelyOpen = 0.7;
constexpr double kThinTriangle = 0.3;
constexpr double kTurned = 0.8;
constexpr double kSettled = 0.01;
constexpr double kShrunk = 0.9;
constexpr double kDrawn = 0.3;
constexpr double kSmoothed = 0.1;
constexpr int kReturnSteps = 12;
constexpr double kAcross = 2e-4;
constexpr int kHalvings = 5;
constexpr int kRestraints = 2;
constexpr double kClear = 0.35;
constexpr double kUnfelt = 0.05;
constexpr double kFelt = 0.35;
constexpr double kCoarseGap = 0.18;
constexpr double kFlat = -0.015;
constexpr double kPlaneGap = 0.9;
constexpr double kCoarsest = 0.2;
constexpr double kSharedEase = 10;
constexpr double kFlatReach = 0.02;
constexpr double kAfar = 0.1;
constexpr int kMostFollowed = 2;
constexpr double kNoGradient = 1e-6;
constexpr double kLeastBeta = 1e-3;
// Those of fold planes.
constexpr double kSlope = 1.3;
constexpr double kNoPlane = 0.05;
constexpr double kReach = 2.2;
constexpr double kMostTurn = 0.35;
constexpr double kFaint = 0.3;
constexpr double kOpen = 0.1;
constexpr double kClosed = 0.5;
constexpr double kClearEnds = 0.1;
constexpr double kWeak = 0.1;
constexpr int kBisections = 8;
// Those of twists.
constexpr double kBend = 0.7;
constexpr double kTwist = 0.95;
constexpr double kNoAxis = 0.01;
constexpr double kAxis = 0.05;
constexpr double kLeastShare = 1e-3;
constexpr double kRigid = 0.05;
constexpr double kStretched = 0.3;
constexpr double kShortBone = 0.1;

/// 3 t² − 2 t³ with t = (x − low) / (high − low), clamped to [0, 1].
double smooth_step(double low, double high, double x) {
  const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return 3 * t * t - 2 * t * t * t;
}

/// cos ∠(a, b); 1 where one of them vanishes.
double cosine(const Vec3d& a, const Vec3d& b) {
  const double lengths = a.norm() * b.norm();
  return lengths > 0 ? a.dot(b) / lengths : 1;
}

/// 0 up to 45°, 1 from a right angle on.
double opposition(const Vec3d& a, const Vec3d& b) {
  return 1 - smooth_step(0, 0.7, cosine(a, b));
}

/// v / |v|; zero for vectors that have no direction.
Vec3d direction_of(const Vec3d& v) {
  return v.norm() > kNoGradient ? Vec3d(v / v.norm()) : Vec3d(Vec3d::Zero());
}

/// v, shortened to `longest`.
Vec3d at_most(const Vec3d& v, double longest) {
  return v.norm() > longest ? Vec3d(v * (longest / v.norm())) : v;
}

/// The point of a field's bone, carried by `transform`, that is nearest to x.
Vec3d nearest_bone_point(const BoneField& field, const Affine3d& transform, const Vec3d& x) {
  Vec3d nearest = x;
  double least = std::numeric_limits<double>::infinity();
  for (const BoneSegment& bone : field.segments) {
    const Vec3d head = transform * bone.head, along = transform * bone.tail - head;
    double t = 0;
    if (along.squaredNorm() > 0) t = std::clamp((x - head).dot(along) / along.squaredNorm(), 0.0, 1.0);
    const Vec3d point = head + t * along;
    if ((x - point).norm() < least) {
      least = (x - point).norm();
      nearest = point;
    }
  }
  return nearest;
}

/// Per field, the joints on the way from one of them; many where there is no way.
std::vector<int> joints_away(const FieldSet& set, std::size_t from) {
  const int many = static_cast<int>(set.fields.size());
  std::vector<int> steps(set.fields.size(), many);
  steps[from] = 0;
  for (int pass = 0; pass < many; ++pass)
    for (const FieldJoint& joint : set.joints) {
      steps[joint.parent] = std::min(steps[joint.parent], steps[joint.child] + 1);
      steps[joint.child] = std::min(steps[joint.child], steps[joint.parent] + 1);
    }
  return steps;
}

Vec3d mean_of_samples(const BoneField& field) {
  Vec3d sum = Vec3d::Zero();
  for (const HermitePoint& sample : field.samples) sum += sample.position;
  return field.samples.empty() ? sum : Vec3d(sum / static_cast<double>(field.samples.size()));
}

std::vector<Vec3f> to_float(std::span<const Vec3d> points) {
  std::vector<Vec3f> result;
  for (const Vec3d& p : points) result.push_back(p.cast<float>());
  return result;
}

/// Where the skins of a joint's two parts meet in a fold: in a plane through the joint.
struct FoldPlane {
  Vec3d normal = Vec3d::Zero();  // to the child's side; zero: no plane
  Vec3d inside = Vec3d::Zero();  // into the bend, |inside| = cos of half of the angle between the bones

  /// 0 on the outside of the bend; on its inside 1 up to 1.2 radii from the joint along the plane, 0 from 2.2
  /// on.
  double share(const Vec3d& from_joint, double radius) const {
    const Vec3d along = from_joint - normal.dot(from_joint) * normal;
    return smooth_step(0.1, 0.5, inside.dot(from_joint) / radius) *
           (1 - smooth_step(1.2, 2.2, along.norm() / radius));
  }

  /// Way to the child's side in field values, kSlope of which make a radius.
  double side(const Vec3d& from_joint, double radius) const { return side_gradient(radius).dot(from_joint); }
  Vec3d side_gradient(double radius) const { return kSlope / radius * normal; }

  /// Turned about the joint in the plane of the bones, by so much that what lay along `inside` comes nearer
  /// to the child.
  FoldPlane turned(double angle) const {
    const Vec3d inwards = inside.normalized();
    return {std::cos(angle) * normal - std::sin(angle) * inwards,
            inside.norm() * (std::cos(angle) * inwards + std::sin(angle) * normal)};
  }
};

/// Halfway between the ways from a joint to the middles of its parts, a and b of unit length:
/// n = (b − a) / |b − a|, inside = (a + b) / 2. None where a middle lies at the joint.
FoldPlane fold_plane(const Vec3d& joint, const Vec3d& parent_middle, const Vec3d& child_middle) {
  const Vec3d a = (parent_middle - joint).normalized(), b = (child_middle - joint).normalized();
  if (parent_middle == joint || child_middle == joint) return {};
  if (!a.allFinite() || !b.allFinite() || !((b - a).norm() > kNoPlane)) return {};
  return {(b - a).normalized(), (a + b) / 2};
}

/// A joint's turn in a pose.
struct Twist {
  Vec3d place = Vec3d::Zero();
  Vec3d axis = Vec3d::UnitX();
  double angle = 0;  // from 0 to π
  double share = 0;  // 1: a twist of the child's bone; 0: a bend, or hardly a turn

  Affine3d turn_by(double part) const {
    return Eigen::Translation3d(place) * Eigen::AngleAxisd(part, axis) * Eigen::Translation3d(-place);
  }
};

/// The angle to which dual quaternions blend `share` of a turn with none: 2 arg(1 − share + share e^(iθ/2)).
double blended_angle(double angle, double share) {
  return 2 * std::atan2(share * std::sin(angle / 2), 1 - share + share * std::cos(angle / 2));
}

/// 1 for A = s R with s > 0, less the farther A Aᵀ / s² is from 1.
double share_of_turn(const Mat3d& a) {
  const double scale = std::cbrt(a.determinant());
  if (!(scale > 0)) return 0;
  const double off = (a * a.transpose() / (scale * scale) - Mat3d::Identity()).norm();
  return 1 - smooth_step(kRigid, kStretched, off);
}

Quatd turn_of(const Mat3d& a) {
  return Quatd(Mat3d(a / std::cbrt(a.determinant()))).normalized();
}

/// Per field, whether the joint carries it: its child, and what hangs on that.
std::vector<bool> fields_below(const FieldSet& set, const FieldJoint& top) {
  std::vector<bool> below(set.fields.size(), false);
  below[top.child] = true;
  for (std::size_t pass = 0; pass < set.joints.size(); ++pass)
    for (const FieldJoint& joint : set.joints)
      if (below[joint.parent]) below[joint.child] = true;
  return below;
}

/// The field that a transform counts for; -1: none.
std::int32_t field_of(const FieldSet& set, std::uint32_t transform) {
  if (!set.field_of_transform.empty())
    return transform < set.field_of_transform.size() ? set.field_of_transform[transform] : -1;
  const auto found = std::find(set.transform.begin(), set.transform.end(), transform);
  return found == set.transform.end() ? -1 : static_cast<std::int32_t>(found - set.transform.begin());
}

struct Sample {
  double value = 0;
  Vec3d gradient = Vec3d::Zero();
};

Sample scaled(const Sample& sample, double share) {
  return {share * sample.value, share * sample.gradient};
}

/// How a vertex meets one other field.
struct Contact {
  double side = kNoContact;    // negative: across
  Vec3d back = Vec3d::Zero();  // ∇ of what `side` is measured by: the way back
};

/// What a vertex meets at a point.
struct Probe {
  Sample own;           // f_own, of its own bone
  Sample all;           // f, composed of all bones as the vertex feels them
  Contact nearest;      // that of the least side
  double stranger = 0;  // strongest field that the vertex has nothing to do with at rest
};

/// What is known of a vertex at rest.
struct RestVertex {
  bool tracked = false;
  std::size_t own = 0;
  double iso = 0;
  double ease = 0;
  double edge = 0;                  // mean length of its edges
  double fineness = 0;              // share of what neighbours tell that is taken: less on coarse meshes
  double trust = 0;                 // share of the displacement that is taken: less on coarser ones
  Vec3d bone = Vec3d::Zero();       // nearest point of its own bone
  Vec3d outwards = Vec3d::Zero();   // −∇f_own
  std::vector<std::size_t> ring;    // its neighbours, counter-clockwise
  std::vector<double> mean_values;  // Φ of the ring; empty where there are none
  Vec3d height = Vec3d::Zero();     // of the vertex over Σ Φ_j v_j
  std::vector<FieldNeighbour> neighbours;
  std::vector<double> follows;  // per joint: share of the vertex's weight that is below it
  std::vector<double> palm;     // per field of its palm: share in its own field; -1: of others
};

/// What happens to a vertex in a frame.
struct PosedVertex {
  Vec3d start = Vec3d::Zero(), now = Vec3d::Zero();
  double target = 0;               // t, the value to go to
  double error = 0;                // f − t
  Vec3d gradient = Vec3d::Zero();  // ∇f
  Vec3d inwards = Vec3d::Zero();   // direction of ∇f_own where it began
  double beta = 0;                 // share of smoothing
  double side = 0;                 // that of the nearest contact
  int followed = 0;                // rounds since the fields were asked
  double held = 0;                 // 1: takes no more Newton steps
  bool active = false;
  TrackMark mark = TrackMark::still;
  std::vector<double> slides;  // per neighbour: 1 where its field just slides over the vertex
  std::vector<double> faced;   // per field: how far the vertex meets it as a stranger
  std::vector<Affine3d> view;  // per field: takes points to where the vertex sees it
};

class Tracking {
 public:
  Tracking(const TrackingTask& task, std::span<const Affine3d> posed_from_rest)
      : task_(task), fields_(task.fields), options_(task.options), rest_(task.rest.size()) {
    learn_rest();
    pose(posed_from_rest);
  }

  TrackedSkin run(std::span<const Vec3d> start) {
    skin_.assign(start.size(), {});
    for (std::size_t v = 0; v < skin_.size(); ++v) begin(v, start[v]);
    project_active();
    for (int round = 1; round < options_.rounds; ++round) follow_active();
    for (int sweep = 0; sweep < options_.diffusion; ++sweep) diffuse();
    widen();
    for (int sweep = 0; sweep < options_.smoothing; ++sweep)
      move_active([&](std::size_t v) { return smoothed(v); });
    project_active();
    for (int sweep = 0; sweep < kRestraints; ++sweep)
      move_active([&](std::size_t v) { return Vec3d(skin_[v].start + coherent(v, 0)); });

    TrackedSkin result;
    for (std::size_t v = 0; v < skin_.size(); ++v) {
      result.positions.push_back(trusted(v));
      result.marks.push_back(skin_[v].mark);
    }
    for (std::size_t v = 0; v < skin_.size(); ++v) skin_[v].now = result.positions[v];
    untangle();
    for (std::size_t v = 0; v < skin_.size(); ++v)
      if (rest_[v].tracked && result.positions[v].allFinite())
        result.positions[v] += rest_[v].trust * (skin_[v].now - result.positions[v]);
    return result;
  }

 private:
  // At rest.

  void learn_rest() {
    for (std::size_t f = 0; f < fields_.fields.size(); ++f) joints_away_.push_back(joints_away(fields_, f));
    for (const FieldJoint& joint : fields_.joints) below_.push_back(fields_below(fields_, joint));
    for (const Operator& operation : fields_.tree.operators())
      unions_only_ = unions_only_ && operation.kind() == OperatorKind::union_;
    pose(std::vector<Affine3d>(transform_count(), Affine3d::Identity()));
    std::vector<PosedField> posed(fields_.fields.size());
    pose_fields(fields_, std::vector<Affine3d>(transform_count(), Affine3d::Identity()), posed);
    const std::vector<Vec3f> positions = to_float(task_.rest);
    const FieldNeighbours neighbours =
        find_field_neighbours(fields_, posed, positions, task_.own, task_.weights);
    const LiftChains chains =
        make_lift_chains({positions, task_.triangles}, task_.own, fields_, transform_count());
    const PalmShares palms = find_palm_shares(fields_, chains, task_.own, task_.weights);
    for (const float radius : neighbours.joint_radius)
      rest_joint_radius_.push_back(static_cast<double>(radius));

    std::vector<Vec3f> across;
    const std::vector<double> all_of_it(fields_.fields.size(), 1.0);
    for (std::size_t v = 0; v < rest_.size(); ++v) {
      RestVertex& vertex = rest_[v];
      const auto known = neighbours[v];
      vertex.neighbours.assign(known.begin(), known.end());
      across.push_back(Vec3f::Zero());
      if (task_.own[v] < 0) continue;
      vertex.own = static_cast<std::size_t>(task_.own[v]);
      for (std::size_t j = 0; j < fields_.joints.size(); ++j) vertex.follows.push_back(weight_below(v, j));
      for (std::size_t f = 0; f < fields_.fields.size(); ++f)
        vertex.palm.push_back(chains.share_palm(vertex.own, f) ? 0 : -1);
      vertex.palm[vertex.own] = palms[v].empty() ? 1 : 0;
      for (const PalmShare& part : palms[v]) vertex.palm[part.field] = static_cast<double>(part.share);
      const std::vector<Sample> by_bones = all_fields(task_.rest[v]), samples = with_palm(vertex, by_bones);
      for (FieldNeighbour& n : vertex.neighbours) {
        n.rest_side += static_cast<float>(samples[vertex.own].value - by_bones[vertex.own].value);
        if (!palms[v].empty())
          n.rest_opposition =
              static_cast<float>(opposition(samples[vertex.own].gradient, samples[n.field].gradient));
      }
      const Sample all = compose(vertex, felt(vertex, samples, all_of_it));
      across[v] = all.gradient.cast<float>();
      vertex.tracked = all.value > 0;
      if (!vertex.tracked) continue;
      vertex.iso = all.value;
      vertex.bone = nearest_bone_point(fields_.fields[vertex.own], Affine3d::Identity(), task_.rest[v]);
      vertex.outwards = -samples[vertex.own].gradient;
      // Where fields share the skin, each with its own small error, more is left alone.
      double shared = 0;
      for (const FieldNeighbour& n : vertex.neighbours)
        shared = std::max(shared, static_cast<double>(n.nearness) * static_cast<double>(n.damping));
      vertex.ease = options_.ease * (1 + kSharedEase * shared);
    }

    const OneRings rings = one_rings(rest_.size(), task_.triangles);
    const MeanValueRings mean_values = mean_value_rings(positions, rings, across);
    for (std::size_t v = 0; v < rest_.size(); ++v) {
      RestVertex& vertex = rest_[v];
      Vec3d mean = Vec3d::Zero();
      for (std::size_t k = 0; k < rings[v].size(); ++k) {
        const std::size_t n = rings[v][k];
        vertex.ring.push_back(n);
        vertex.edge += (task_.rest[n] - task_.rest[v]).norm() / static_cast<double>(rings[v].size());
        if (!mean_values.valid[v]) continue;
        vertex.mean_values.push_back(static_cast<double>(mean_values.values[rings.starts[v] + k]));
        mean += vertex.mean_values.back() * task_.rest[n];
      }
      if (mean_values.valid[v]) vertex.height = task_.rest[v] - mean;
      // By the edges per support radius, squared: what is passed on goes as far as on a fine mesh.
      const double edges =
          vertex.tracked && vertex.edge > 0 ? fields_.fields[vertex.own].radius / vertex.edge : kFine;
      vertex.fineness = std::min(std::pow(edges / kFine, 2), 1.0);
      vertex.trust = smooth_step(kTooCoarse, kCoarse, edges);
    }
    for (std::size_t f = 0; f < fields_.fields.size(); ++f) {
      double sum = 0, count = 0;
      for (const RestVertex& vertex : rest_)
        if (vertex.tracked && vertex.own == f) {
          sum += vertex.edge;
          ++count;
        }
      skin_edge_.push_back(count > 0 ? sum / count : 0);
    }
  }

  /// Of the vertex's weight on what has a field.
  double weight_below(std::size_t v, std::size_t joint) const {
    double below = 0, all = 0;
    for (std::size_t k = 0; k < task_.weights.row_size(v); ++k) {
      const std::int32_t f = field_of(fields_, task_.weights.row_joints(v)[k]);
      if (f < 0) continue;
      const auto weight = static_cast<double>(task_.weights.row_values(v)[k]);
      all += weight;
      if (below_[joint][static_cast<std::size_t>(f)]) below += weight;
    }
    return all > 0 ? below / all : 0;
  }

  std::size_t transform_count() const {
    std::uint32_t last = 0;
    for (const std::uint32_t transform : fields_.transform) last = std::max(last, transform);
    for (const std::uint32_t joint : task_.weights.joints) last = std::max(last, joint);
    return std::size_t{last} + 1;
  }

  // Fields.

  void pose(std::span<const Affine3d> posed_from_rest) {
    posed_from_rest_.assign(posed_from_rest.begin(), posed_from_rest.end());
    rest_from_posed_.clear();
    for (const std::uint32_t transform : fields_.transform)
      rest_from_posed_.push_back(posed_from_rest[transform].inverse());
    joint_radius_.clear();
    planes_.clear();
    twists_.clear();
    for (const FieldJoint& joint : fields_.joints) twists_.push_back(posed_twist(joint));
    for (std::size_t j = 0; j < rest_joint_radius_.size(); ++j) {
      joint_radius_.push_back(rest_joint_radius_[j] * joint_size(fields_.joints[j]));
      planes_.push_back(posed_plane(j));
    }
  }

  Vec3d middle_of(std::size_t f) const { return transform_of(f) * mean_of_samples(fields_.fields[f]); }

  Vec3d place_of(const FieldJoint& joint) const { return transform_of(joint.child) * joint.place; }

  /// Mean of the scales of a joint's two parts: (|det P| |det C|)^(1/6); 1 where there is none.
  double joint_size(const FieldJoint& joint) const {
    const double parent = transform_of(joint.parent).linear().determinant();
    const double child = transform_of(joint.child).linear().determinant();
    const double size = std::pow(std::abs(parent * child), 1.0 / 6);
    return size > 0 && std::isfinite(size) ? size : 1;
  }

  /// The plane between the middles of a joint's parts, turned by the angle, within ±kMostTurn, at which both
  /// fields are equal kReach radii from the joint: bisected, the parent's being the stronger one at its lower
  /// end and the child's at its upper one, or else not turned; then where the line between the last two
  /// differences is 0. By less of it where those at the ends are small, the fields are faint, the joint is
  /// open, or the angle is large.
  FoldPlane posed_plane(std::size_t j) const {
    const FieldJoint& joint = fields_.joints[j];
    const FoldPlane plane = fold_plane(place_of(joint), middle_of(joint.parent), middle_of(joint.child));
    const double closed = plane.inside.norm();
    if (!(closed > kOpen)) return plane;
    const auto value = [&](std::size_t f, double angle) {
      const Vec3d way = plane.turned(angle).inside / closed;
      return field(f, place_of(joint) + kReach * joint_radius_[j] * way).value;
    };
    const auto difference = [&](double angle) {
      return value(joint.child, angle) - value(joint.parent, angle);
    };
    double low = -kMostTurn, high = kMostTurn;
    const double clear = smooth_step(0, kClearEnds, std::min(-difference(low), difference(high)));
    if (!(clear > 0)) return plane;
    for (int k = 0; k < kBisections; ++k) {
      const double middle = (low + high) / 2;
      (difference(middle) > 0 ? high : low) = middle;
    }
    const double at_low = difference(low), at_high = difference(high);
    const double angle = (at_high * low - at_low * high) / (at_high - at_low);
    const double met = std::min(value(joint.child, angle), value(joint.parent, angle));
    return plane.turned(angle * clear * smooth_step(kWeak, kFaint, met) *
                        smooth_step(kOpen, kClosed, closed) *
                        (1 - smooth_step(kMostTurn / 2, kMostTurn, std::abs(angle))));
  }

  /// R_parent⁻¹ R_child = (axis, θ); a twist as far as the axis lies along the child's bone, whichever way.
  Twist posed_twist(const FieldJoint& joint) const {
    Twist twist;
    twist.place = place_of(joint);
    const Mat3d parent = transform_of(joint.parent).linear(), child = transform_of(joint.child).linear();
    Vec3d bone = Vec3d::Zero();
    for (const BoneSegment& segment : fields_.fields[joint.child].segments)
      bone += segment.tail - segment.head;
    // The way to the middle of the part, where the bone is hardly there.
    if (bone.norm() < kShortBone * fields_.fields[joint.child].radius)
      bone = mean_of_samples(fields_.fields[joint.child]) - joint.place;
    const double rigid = share_of_turn(parent) * share_of_turn(child);
    if (!(rigid > 0) || !(bone.norm() > 0)) return twist;
    const Eigen::AngleAxisd turn(turn_of(parent).conjugate() * turn_of(child));
    twist.axis = turn_of(parent) * turn.axis();
    twist.angle = turn.angle();
    twist.share = rigid * smooth_step(kNoAxis, kAxis, std::sin(turn.angle() / 2)) *
                  smooth_step(kBend, kTwist, std::abs(cosine(turn.axis(), bone)));
    return twist;
  }

  const Affine3d& transform_of(std::size_t f) const { return posed_from_rest_[fields_.transform[f]]; }

  /// f(x) = f_rest(T⁻¹ x) and ∇f = T⁻ᵀ ∇f_rest.
  Sample field(std::size_t f, const Vec3d& x) const {
    const Vec3d at = rest_from_posed_[f] * x;
    Sample sample;
    if (task_.values == FieldValues::exact) {
      const sinew::HermiteRbf::Value value = fields_.fields[f].evaluate(at);
      sample = {value.distance, value.gradient};
    } else {
      const FieldGrid& grid = fields_.fields[f].grid;
      const Vec3d in_grid = grid.grid_from_rest() * at;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double at_axis = in_grid[static_cast<Eigen::Index>(axis)];
        const bool inside = at_axis >= static_cast<double>(grid.low()[axis]) &&
                            at_axis < static_cast<double>(grid.high()[axis]);
        if (!inside) return {};
      }
      const Eigen::Vector4d value = trilinear(grid, in_grid);
      sample = {value[0], grid.grid_from_rest().linear().transpose() * value.tail<3>()};
    }
    if (!(sample.value > 0)) return {};
    sample.gradient = rest_from_posed_[f].linear().transpose() * sample.gradient;
    return sample;
  }

  std::vector<Sample> all_fields(const Vec3d& x) const {
    std::vector<Sample> samples;
    for (std::size_t f = 0; f < fields_.fields.size(); ++f) samples.push_back(field(f, x));
    return samples;
  }

  /// A vertex of a palm has the mean of its bones' fields, by its weights on them, for its own, and hears
  /// nothing of the single ones.
  std::vector<Sample> with_palm(const RestVertex& vertex, std::vector<Sample> samples) const {
    Sample mean;
    for (std::size_t f = 0; f < samples.size(); ++f) {
      if (vertex.palm[f] < 0) continue;
      mean.value += vertex.palm[f] * samples[f].value;
      mean.gradient += vertex.palm[f] * samples[f].gradient;
      samples[f] = Sample();
    }
    samples[vertex.own] = mean;
    return samples;
  }

  /// The fields as a vertex feels them: those that it has to do with at rest damped, strangers as far as it
  /// faces them.
  std::vector<Sample> felt(const RestVertex& vertex, std::vector<Sample> samples,
                           std::span<const double> faced) const {
    std::vector<double> share(faced.begin(), faced.end());
    for (const FieldNeighbour& n : vertex.neighbours) share[n.field] = static_cast<double>(n.damping);
    share[vertex.own] = 1;
    for (std::size_t f = 0; f < samples.size(); ++f) samples[f] = scaled(samples[f], share[f]);
    return samples;
  }

  /// The composed field. A union is the largest of all, the vertex's own where they are equal.
  Sample compose(const RestVertex& vertex, std::span<const Sample> samples) const {
    if (unions_only_) {
      Sample largest = samples[vertex.own];
      for (const Sample& sample : samples)
        if (sample.value > largest.value) largest = sample;
      return largest;
    }
    std::vector<FieldSample> leaves;
    for (const Sample& sample : samples)
      leaves.push_back({static_cast<float>(sample.value), sample.gradient.cast<float>()});
    const FieldSample all = fields_.tree.compose(leaves);
    return {static_cast<double>(all.value), all.gradient.cast<double>()};
  }

  /// Every twisted joint has turned the vertex by the blend of its weight below it, and a field that it
  /// carries all the way. The vertex sees its own field and, as far as they are near, its neighbours' as if
  /// they had turned by as much as itself: points go by the difference. Joints come in the set's order.
  Affine3d view_of(std::size_t v, std::size_t f) const {
    double nearness = f == rest_[v].own ? 1 : 0;
    for (const FieldNeighbour& n : rest_[v].neighbours)
      if (n.field == f && joints_away_[rest_[v].own][f] <= kKinJoints)
        nearness = static_cast<double>(n.nearness);
    Affine3d view = Affine3d::Identity();
    for (std::size_t j = 0; j < twists_.size(); ++j) {
      const double field_follows = below_[j][f] ? 1 : 0, follows = rest_[v].follows[j];
      if (!(std::abs(field_follows - follows) > kLeastShare)) continue;
      const Twist& twist = twists_[j];
      const double ahead = field_follows * twist.angle - blended_angle(twist.angle, follows);
      view = twist.turn_by(blended_angle(ahead, twist.share * nearness)) * view;
    }
    return view;
  }

  /// f(V x) and its gradient Vᵀ ∇f, V the vertex's view of the field.
  std::vector<Sample> seen_fields(std::size_t v, const Vec3d& x) const {
    std::vector<Sample> samples;
    for (std::size_t f = 0; f < fields_.fields.size(); ++f) {
      const Affine3d& view = skin_[v].view[f];
      samples.push_back(field(f, view * x));
      samples[f].gradient = view.linear().transpose() * samples[f].gradient;
    }
    return samples;
  }

  Probe probe(std::size_t v, const Vec3d& x) const {
    const RestVertex& vertex = rest_[v];
    const std::vector<Sample> samples = with_palm(vertex, seen_fields(v, x));
    const std::vector<Sample> as_felt = felt(vertex, samples, skin_[v].faced);
    Probe result;
    result.own = samples[vertex.own];
    result.all = compose(vertex, as_felt);
    for (std::size_t f = 0; f < samples.size(); ++f) {
      if (f == vertex.own || !(samples[f].value > 0)) continue;
      // f_own − f_other − gap, for parts that have nothing to do with each other. The gap is wider where the
      // other's edges are long.
      const double edges = std::min(skin_edge_[f] / fields_.fields[vertex.own].radius, 1.0);
      const double gap = options_.gap + kCoarseGap * edges * edges;
      Contact contact{result.own.value - as_felt[f].value - gap, result.own.gradient - as_felt[f].gradient};
      bool stranger = true;
      for (std::size_t n = 0; n < vertex.neighbours.size(); ++n)
        if (vertex.neighbours[n].field == f) {
          contact = meet_neighbour(v, vertex.neighbours[n], skin_[v].slides[n], result.own, samples[f], x);
          stranger = false;
        }
      if (stranger) result.stranger = std::max(result.stranger, samples[f].value);
      if (contact.side < result.nearest.side) result.nearest = contact;
    }
    return result;
  }

  /// For parts that hang together:
  ///
  ///   apart − (1 − s) allowed + s³ kNoContact,  apart = f_own − f_other − bias(x)
  ///
  /// where s says how far the other's field just slides over the vertex. `allowed` is the difference at rest,
  /// less what the fields shift against each other in any pose, and at most the gap; it becomes the gap as
  /// the gradients turn against each other, which is a fold. Where it is negative, sliding leaves it all.
  ///
  /// In a share of the joint's fold plane, less on coarse meshes, `apart`, its gradient and the difference at
  /// rest are the plane's, the gap has another width, and nothing slides.
  Contact meet_neighbour(std::size_t v, const FieldNeighbour& neighbour, double slides, const Sample& own,
                         const Sample& other, const Vec3d& x) const {
    double apart = own.value - other.value;
    Vec3d back = own.gradient - static_cast<double>(neighbour.damping) * other.gradient;
    if (apart > kClear) return {apart, back};
    auto rest_side = static_cast<double>(neighbour.rest_side);
    double gap = options_.gap;
    if (neighbour.joint >= 0) {
      const auto j = static_cast<std::size_t>(neighbour.joint);
      const double radius = joint_radius_[j];
      const Vec3d from_joint = x - place_of(fields_.joints[j]);
      // All of the bias within half the joint's radius, none beyond one and a half.
      apart -=
          static_cast<double>(neighbour.joint_bias) * (1 - smooth_step(0.5, 1.5, from_joint.norm() / radius));
      const double firm = rest_[v].fineness * planes_[j].share(from_joint, radius);
      const double sign = fields_.joints[j].child == rest_[v].own ? 1 : -1;
      apart = (1 - firm) * apart + firm * sign * planes_[j].side(from_joint, radius);
      back = (1 - firm) * back + firm * sign * planes_[j].side_gradient(radius);
      rest_side = (1 - firm) * rest_side + firm * static_cast<double>(neighbour.rest_plane_side);
      // By the square of the vertex's edges in the joint's radii at rest.
      const double edges = std::min(rest_[v].edge / rest_joint_radius_[j], kCoarsest);
      gap = std::max(0.0, gap + firm * (kFlat + kPlaneGap * edges * edges));
      slides *= 1 - firm;
    }
    const double shift = kShift + kShiftAlong * static_cast<double>(neighbour.nearness) *
                                      smooth_step(0.7, 0.97, cosine(own.gradient, other.gradient));
    const double at_rest = std::min(rest_side - shift, gap);
    const double folds = std::max(
        0.0, opposition(own.gradient, other.gradient) - static_cast<double>(neighbour.rest_opposition));
    const double allowed = (1 - folds) * at_rest + folds * gap;
    const double taken = allowed > 0 ? (1 - slides) * allowed : allowed;
    return {apart - taken + std::pow(slides, 3) * kNoContact, back};
  }

  // Start of a frame.

  /// Cosine of the angle between a vertex's outward normal and the way from its bone to a point; 0 where
  /// there is none.
  double facing(std::size_t v, const Vec3d& to) const {
    const Vec3d out = transform_of(rest_[v].own).linear() * rest_[v].outwards;
    const Vec3d way = to - transform_of(rest_[v].own) * rest_[v].bone;
    const double lengths = way.norm() * out.norm();
    return lengths > 0 ? out.dot(way) / lengths : 0;
  }

  /// How far a vertex meets a part that it has little to do with, though it is near at rest, by the distance
  /// from its bone then, and by the joints between them: not at all when it faces away from the part's bone.
  double faced(std::size_t v, std::size_t f) const {
    const BoneField& field = fields_.fields[f];
    if (joints_away_[rest_[v].own][f] > kKinJoints) return 1;
    const Vec3d& x = task_.rest[v];
    const double distance = (nearest_bone_point(field, Affine3d::Identity(), x) - x).norm();
    const double near = 1 - smooth_step(kNear, kFar, distance / field.radius);
    const Vec3d bone = transform_of(rest_[v].own) * rest_[v].bone;
    const Vec3d to = nearest_bone_point(field, transform_of(f), bone);
    if (!((to - bone).norm() * rest_[v].outwards.norm() > 0)) return 1;
    return 1 - near * (1 - smooth_step(kAway, kTowards, facing(v, to)));
  }

  /// Skin slides over a part that hangs together with its own and that it does not face: nearness by the
  /// part's middle, the rest of it by the part's bone.
  double slides_over(std::size_t v, const FieldNeighbour& neighbour) const {
    const auto nearness = static_cast<double>(neighbour.nearness);
    return std::max(nearness * (1 - smooth_step(kFacesAway, kFaces, facing(v, middle_of(neighbour.field)))),
                    (1 - nearness) * (1 - faced(v, neighbour.field)));
  }

  /// t = iso + swelling (1 − s) min(0, f − iso): skin outside of its iso-surface keeps a share of that, less
  /// where a stranger's field comes near, s. Then t comes nearer to f by the ease.
  double target(std::size_t v, const Probe& p) const {
    const double value = p.all.value;
    const double kept = options_.swelling * (1 - smooth_step(kUnfelt, kFelt, p.stranger));
    const double swollen = rest_[v].iso + kept * std::min(0.0, value - rest_[v].iso);
    return swollen + std::clamp(value - swollen, -rest_[v].ease, rest_[v].ease);
  }

  void begin(std::size_t v, const Vec3d& start) {
    PosedVertex& vertex = skin_[v];
    vertex.start = vertex.now = start;
    if (!rest_[v].tracked) return;
    for (const FieldNeighbour& n : rest_[v].neighbours) vertex.slides.push_back(slides_over(v, n));
    for (std::size_t f = 0; f < fields_.fields.size(); ++f) vertex.faced.push_back(faced(v, f));
    for (std::size_t f = 0; f < fields_.fields.size(); ++f) vertex.view.push_back(view_of(v, f));
    const Probe p = probe(v, start);
    vertex.target = target(v, p);
    vertex.inwards = direction_of(p.own.gradient);
    note(v, p);
    const bool arrived = std::abs(vertex.error) <= options_.tolerance && p.nearest.side >= 0;
    vertex.active = start.allFinite() && p.all.value > 0 && !arrived;
  }

  void note(std::size_t v, const Probe& p) {
    skin_[v].error = p.all.value - skin_[v].target;
    skin_[v].gradient = p.all.gradient;
    skin_[v].side = p.nearest.side;
    skin_[v].followed = 0;
  }

  // Projection.

  /// Relaxes active vertices, all from where they were, and projects them.
  void follow_active() {
    std::vector<Vec3d> places(skin_.size());
    for (std::size_t v = 0; v < skin_.size(); ++v)
      if (skin_[v].active) places[v] = relaxed(v);
    for (std::size_t v = 0; v < skin_.size(); ++v) {
      if (!skin_[v].active || follow_plane(v, places[v])) continue;
      skin_[v].now = places[v];
      project(v);
    }
  }

  /// Where one Newton step is asked for, far from contacts, near where the vertex was the round before, at x,
  /// up to kMostFollowed times in a row:
  ///
  ///   y ← y − σ e ∇f(x) / |∇f(x)|²,  e = f(x) − t + ∇f(x)·(y − x).
  bool follow_plane(std::size_t v, const Vec3d& place) {
    PosedVertex& vertex = skin_[v];
    const double longest = kFlatReach * fields_.fields[rest_[v].own].radius;
    const double slope = vertex.gradient.norm();
    if (options_.steps != 1 || vertex.mark != TrackMark::moved || !(vertex.side > kAfar) ||
        vertex.followed == kMostFollowed || !(slope > kNoGradient) ||
        !((place - vertex.now).norm() < longest))
      return false;
    const double error = vertex.error + vertex.gradient.dot(place - vertex.now);
    const double taken = options_.step * (1 - vertex.held) * error;
    if (!(std::abs(taken) < longest * slope)) return false;
    vertex.now = place - taken / (slope * slope) * vertex.gradient;
    vertex.error = error - taken;
    ++vertex.followed;
    return true;
  }

  void project_active() {
    for (std::size_t v = 0; v < skin_.size(); ++v)
      if (skin_[v].active) project(v);
  }

  void project(std::size_t v) {
    PosedVertex& vertex = skin_[v];
    Probe p = probe(v, vertex.now);
    if (p.nearest.side < 0) {
      vertex.beta = std::max(vertex.beta, smooth_step(0, kDeepContact, -p.nearest.side));
      vertex.held = std::max(vertex.held, smooth_step(0, kHeld, -p.nearest.side));
      bring_back(v, p);
      vertex.mark = TrackMark::returned;
    }
    for (int step = 0; step < options_.steps; ++step) {
      const bool arrived = std::abs(p.all.value - vertex.target) <= options_.tolerance;
      if (vertex.held >= 1 || arrived || !(p.all.gradient.norm() > kNoGradient)) break;
      if (!newton_step(v, p)) {
        if (vertex.mark != TrackMark::returned) vertex.mark = TrackMark::contact;
        vertex.beta =
            std::max(vertex.beta, smooth_step(0, kDeepContact, std::abs(p.all.value - vertex.target)));
        break;
      }
      if (vertex.mark == TrackMark::still) vertex.mark = TrackMark::moved;
    }
    note(v, p);
  }

  /// Up to kReturnSteps steps along
  ///
  ///   d = b + max(0, |∇f_own| − n·b) n,  n = ∇f_own / |∇f_own|,
  ///
  /// b the contact's way back, with as much towards the own bone as the own field has at least, each as long
  /// as the side, from kAcross on, over its slope along d (half of |∇f_own| at least). All of them together
  /// are not longer than kReturnBudget ways of the own field alone. Stops at the bone. Ends at the best place
  /// on the way.
  void bring_back(std::size_t v, Probe& p) {
    Vec3d& x = skin_[v].now;
    const double longest = kLongestReturn * fields_.fields[rest_[v].own].radius;
    double left = 0;
    if (p.own.gradient.norm() > kNoGradient) left = kReturnBudget * -p.nearest.side / p.own.gradient.norm();
    const double deepest = std::max(kDeepest, p.own.value);
    Vec3d best = x;
    Probe best_probe = p;
    for (int step = 0; step < kReturnSteps && p.nearest.side < 0; ++step) {
      const double slope = p.own.gradient.norm();
      if (!(slope > kNoGradient)) break;
      const Vec3d n = p.own.gradient / slope;
      const Vec3d& back = p.nearest.back;
      const Vec3d d = (back + std::max(0.0, slope - n.dot(back)) * n).normalized();
      const double rate = std::max(d.dot(back), 0.5 * slope);
      const double length = std::min({(kAcross - p.nearest.side) / rate, longest, left});
      if (!(length > 0)) break;
      const Vec3d before = x;
      const bool whole =
          go(v, length * d, p, [&](const Probe& q) { return !past_bone(v, q) && q.own.value <= deepest; });
      left -= (x - before).norm();
      if (p.nearest.side > best_probe.nearest.side) {
        best = x;
        best_probe = p;
      }
      if (!whole) break;
    }
    x = best;
    p = best_probe;
  }

  /// x − σ (1 − held) (f − t) ∇f / |∇f|² (eq. 6, with the sign that leads to t). Stops before it is farther
  /// across a contact, the gradient turns too far, the bone is passed, or the error grows. False when it
  /// stopped.
  bool newton_step(std::size_t v, Probe& p) {
    const PosedVertex& vertex = skin_[v];
    const double error = p.all.value - vertex.target;
    const Vec3d step =
        -options_.step * (1 - vertex.held) * error / p.all.gradient.squaredNorm() * p.all.gradient;
    const Vec3d from = p.all.gradient;
    const double least_side = std::min(0.0, p.nearest.side);
    const double least_cosine = std::cos(options_.turn * std::numbers::pi / 180);
    return go(v, at_most(step, kLongestStep * fields_.fields[rest_[v].own].radius), p, [&](const Probe& q) {
      return q.nearest.side >= least_side && cosine(from, q.all.gradient) >= least_cosine &&
             !past_bone(v, q) && std::abs(q.all.value - vertex.target) <= std::abs(error);
    });
  }

  /// Whether the own gradient has turned from where the vertex began by more than acos(kPastBone).
  bool past_bone(std::size_t v, const Probe& q) const {
    return q.own.gradient.dot(skin_[v].inwards) < kPastBone * q.own.gradient.norm();
  }

  /// All of the move if its end is good, else as far as bisection finds it good. False when it was cut short.
  bool go(std::size_t v, const Vec3d& move, Probe& p, const std::function<bool(const Probe&)>& good) {
    const Vec3d from = skin_[v].now;
    const Probe end = probe(v, from + move);
    if (good(end)) {
      skin_[v].now = from + move;
      p = end;
      return true;
    }
    double inside = 0, outside = 1;
    for (int halving = 0; halving < kHalvings; ++halving) {
      const double middle = (inside + outside) / 2;
      (good(probe(v, from + middle * move)) ? inside : outside) = middle;
    }
    skin_[v].now = from + inside * move;
    if (inside > 0) p = probe(v, skin_[v].now);
    return false;
  }

  // What neighbours have to say.

  /// Every active vertex goes to its new place, all at once.
  void move_active(const std::function<Vec3d(std::size_t)>& place) {
    std::vector<Vec3d> next;
    for (std::size_t v = 0; v < skin_.size(); ++v) next.push_back(skin_[v].active ? place(v) : skin_[v].now);
    for (std::size_t v = 0; v < skin_.size(); ++v) skin_[v].now = next[v];
  }

  /// u' = m + (1 − share) (u − m) with u the displacement from the start and m the mean of the neighbours',
  /// |u' − m| at most `strain` edges.
  Vec3d coherent(std::size_t v, double share) const {
    const Vec3d own = skin_[v].now - skin_[v].start;
    if (rest_[v].ring.empty()) return own;
    Vec3d mean = Vec3d::Zero();
    for (const std::size_t n : rest_[v].ring) mean += skin_[n].now - skin_[n].start;
    mean /= static_cast<double>(rest_[v].ring.size());
    if (!mean.allFinite()) return own;
    return mean + at_most((1 - share) * (own - mean), options_.strain * rest_[v].edge);
  }

  /// Σ Φ_j v_j.
  Vec3d ring_mean(std::size_t v) const {
    Vec3d mean = Vec3d::Zero();
    for (std::size_t k = 0; k < rest_[v].ring.size(); ++k)
      mean += rest_[v].mean_values[k] * skin_[rest_[v].ring[k]].now;
    return mean.allFinite() ? mean : skin_[v].now;
  }

  /// The coherent place, and from there μ times the tangential part of the way to the ring's mean (eq. 7),
  /// μ = 1 − (1 − |f − t|)⁴ (eq. 8).
  Vec3d relaxed(std::size_t v) const {
    const PosedVertex& vertex = skin_[v];
    const Vec3d place = vertex.start + coherent(v, options_.coherence * rest_[v].fineness);
    if (rest_[v].mean_values.empty() || !(vertex.gradient.norm() > kNoGradient)) return place;
    const double mu = options_.relaxation * (1 - std::pow(1 - std::min(std::abs(vertex.error), 1.0), 4));
    const Vec3d normal = vertex.gradient.normalized();
    const Vec3d way = ring_mean(v) - vertex.now;
    return place + mu * (way - way.dot(normal) * normal);
  }

  /// β' = β + fineness (mean of β over the vertex and its ring − β).
  void diffuse() {
    std::vector<double> next(skin_.size(), 0);
    for (std::size_t v = 0; v < skin_.size(); ++v) {
      if (!rest_[v].tracked) continue;
      double sum = skin_[v].beta;
      for (const std::size_t n : rest_[v].ring) sum += skin_[n].beta;
      const double mean = sum / static_cast<double>(rest_[v].ring.size() + 1);
      next[v] = skin_[v].beta + rest_[v].fineness * (mean - skin_[v].beta);
    }
    for (std::size_t v = 0; v < skin_.size(); ++v) skin_[v].beta = next[v];
  }

  /// From here on those are active that have been moved, or that β has come to. What is smoothed is held.
  void widen() {
    for (std::size_t v = 0; v < skin_.size(); ++v) {
      PosedVertex& vertex = skin_[v];
      if (!rest_[v].tracked) continue;
      vertex.held = std::max(vertex.held, std::min(vertex.beta / kSmoothed, 1.0));
      vertex.active = vertex.now.allFinite() && stirred(v);
    }
  }

  /// v + fineness β (Σ Φ_j v_j + kKeptBulge h − v) (eq. 9), h the height over the ring at rest, turned by the
  /// own bone.
  Vec3d smoothed(std::size_t v) const {
    const PosedVertex& vertex = skin_[v];
    if (rest_[v].mean_values.empty() || !(vertex.beta > kLeastBeta)) return vertex.now;
    const Vec3d place = ring_mean(v) + kKeptBulge * (transform_of(rest_[v].own).linear() * rest_[v].height);
    return place.allFinite() ? Vec3d(vertex.now + rest_[v].fineness * vertex.beta * (place - vertex.now))
                             : vertex.now;
  }

  /// Whether tracking has moved it, or smoothing will.
  bool stirred(std::size_t v) const {
    return skin_[v].beta > kLeastBeta || skin_[v].mark != TrackMark::still;
  }

  /// Beside skin that is stirred; or by the cos of the turn between the two heaviest joints as 3 × 3
  /// matrices: <A, B> / (|A| |B|) < kTurned.
  bool may_be_flipped(std::size_t v) const {
    if (rest_[v].mean_values.empty()) return false;
    for (const std::size_t n : rest_[v].ring)
      if (rest_[n].tracked && stirred(n)) return true;
    const auto joints = task_.weights.row_joints(v);
    if (joints.size() < 2) return false;
    const Mat3d a = posed_from_rest_[joints[0]].linear(), b = posed_from_rest_[joints[1]].linear();
    return (a.transpose() * b).trace() < kTurned * a.norm() * b.norm();
  }

  /// Σ w_i A_i.
  Mat3d blended_turn(std::size_t v) const {
    Mat3d turn = Mat3d::Zero();
    for (std::size_t k = 0; k < task_.weights.row_size(v); ++k)
      turn += static_cast<double>(task_.weights.row_values(v)[k]) *
              posed_from_rest_[task_.weights.row_joints(v)[k]].linear();
    return turn;
  }

  /// Σ w_i |A_i| / √3: how much larger the joints make it.
  double blended_scale(std::size_t v) const {
    double scale = 0;
    for (std::size_t k = 0; k < task_.weights.row_size(v); ++k)
      scale += static_cast<double>(task_.weights.row_values(v)[k]) *
               posed_from_rest_[task_.weights.row_joints(v)[k]].linear().norm() / std::sqrt(3.0);
    return scale;
  }

  static bool is_shrunk(const Mat3d& turn, double scale) {
    return turn.norm() < kShrunk * std::sqrt(3.0) * scale;
  }

  static Mat3d nearest_rotation(const Mat3d& turn) {
    const Eigen::JacobiSVD<Mat3d> svd(turn, Eigen::ComputeFullU | Eigen::ComputeFullV);
    return svd.matrixU() * svd.matrixV().transpose();
  }

  /// How much is left of a triangle's area, negative when it is flipped: <c, n> / (|c| s² A), n the
  /// triangle's normal with its double area, A that at rest, c the normal of the rest's edges carried by a
  /// blend of turns, s the scale; both means of all three corners'. One that has shrunk is made a rotation if
  /// that is asked for.
  double area_left(std::size_t v, std::size_t a, std::size_t b, bool by_rotation) const {
    const Vec3d normal = (skin_[a].now - skin_[v].now).cross(skin_[b].now - skin_[v].now);
    Mat3d turn = (blended_turn(v) + blended_turn(a) + blended_turn(b)) / 3;
    const double scale = (blended_scale(v) + blended_scale(a) + blended_scale(b)) / 3;
    if (by_rotation && is_shrunk(turn, scale)) turn = nearest_rotation(turn);
    const Vec3d to_a = task_.rest[a] - task_.rest[v], to_b = task_.rest[b] - task_.rest[v];
    const Vec3d carried = (turn * to_a).cross(turn * to_b);
    const double size = carried.norm() * scale * scale * to_a.cross(to_b).norm();
    return size > 0 ? normal.dot(carried) / size : 1;
  }

  /// Below kThinTriangle by the mean of the corners' turns, and below kSurelyOpen by that mean as it is,
  /// shrunk or not.
  bool is_flipped(std::size_t v) const {
    const std::vector<std::size_t>& ring = rest_[v].ring;
    for (std::size_t k = 0; k < ring.size(); ++k) {
      const std::size_t a = ring[k], b = ring[(k + 1) % ring.size()];
      if (area_left(v, a, b, false) < kSurelyOpen && area_left(v, a, b, true) < kThinTriangle) return true;
    }
    return false;
  }

  /// Mean over the triangles round the vertex of share × (c + R (p − q) − v): c the triangle's centre, q that
  /// at rest, R the rotation nearest to the mean of the corners' turns, with their scale; share from 0, where
  /// the triangle has kThinTriangle of its area, to 1, where it is flipped. And `drawn` times the largest
  /// share towards the ring's mean.
  Vec3d way_upright(std::size_t v, double drawn) const {
    const std::vector<std::size_t>& ring = rest_[v].ring;
    Vec3d sum = Vec3d::Zero();
    double most = 0;
    for (std::size_t k = 0; k < ring.size(); ++k) {
      const std::size_t a = ring[k], b = ring[(k + 1) % ring.size()];
      const double share = 1 - smooth_step(0, kThinTriangle, area_left(v, a, b, true));
      if (!(share > 0)) continue;
      const Mat3d turn = nearest_rotation(blended_turn(v) + blended_turn(a) + blended_turn(b));
      const double scale = (blended_scale(v) + blended_scale(a) + blended_scale(b)) / 3;
      const Vec3d centre = (skin_[v].now + skin_[a].now + skin_[b].now) / 3;
      const Vec3d rest_centre = (task_.rest[v] + task_.rest[a] + task_.rest[b]) / 3;
      sum += share * (centre + scale * (turn * (task_.rest[v] - rest_centre)) - skin_[v].now);
      most = std::max(most, share);
    }
    return sum / static_cast<double>(ring.size()) + drawn * most * (ring_mean(v) - skin_[v].now);
  }

  /// Sweeps over the vertices of flipped triangles, then over those that the sweep before moved, by more than
  /// kSettled edges, and their rings.
  void untangle() {
    if (options_.untangling == 0) return;
    std::vector<bool> went;
    for (std::size_t v = 0; v < skin_.size(); ++v)
      went.push_back(rest_[v].tracked && may_be_flipped(v) && skin_[v].now.allFinite() && is_flipped(v));
    for (int sweep = 0; sweep < options_.untangling; ++sweep) {
      std::vector<bool> goes(skin_.size(), false);
      std::vector<Vec3d> way(skin_.size(), Vec3d::Zero());
      for (std::size_t v = 0; v < skin_.size(); ++v) {
        if (!rest_[v].tracked || rest_[v].mean_values.empty() || !skin_[v].now.allFinite()) continue;
        bool near = went[v];
        for (const std::size_t n : rest_[v].ring) near = near || went[n];
        if (!near) continue;
        way[v] = way_upright(v, kDrawn * (1 - static_cast<double>(sweep) / options_.untangling));
        goes[v] = way[v].norm() > kSettled * rest_[v].edge * blended_scale(v);
      }
      for (std::size_t v = 0; v < skin_.size(); ++v)
        if (goes[v]) skin_[v].now += way[v];
      went = goes;
    }
  }

  /// start + trust (now − start).
  Vec3d trusted(std::size_t v) const {
    if (!rest_[v].tracked || rest_[v].trust == 1 || !skin_[v].start.allFinite()) return skin_[v].now;
    return skin_[v].start + rest_[v].trust * (skin_[v].now - skin_[v].start);
  }

  const TrackingTask& task_;
  const FieldSet& fields_;
  const TrackingOptions& options_;
  bool unions_only_ = true;
  std::vector<RestVertex> rest_;
  std::vector<double> rest_joint_radius_, joint_radius_;
  std::vector<std::vector<int>> joints_away_;  // from each field to each other
  std::vector<std::vector<bool>> below_;       // per joint and field: whether it carries the field
  std::vector<Affine3d> posed_from_rest_;
  std::vector<Affine3d> rest_from_posed_;  // per field
  std::vector<FoldPlane> planes_;          // per joint
  std::vector<Twist> twists_;              // per joint
  std::vector<PosedVertex> skin_;
  std::vector<double> skin_edge_;  // per field, mean of its own vertices' edges
};

}  // namespace

TrackedSkin track(const TrackingTask& task, std::span<const Affine3d> posed_from_rest,
                  std::span<const Vec3d> start) {
  return Tracking(task, posed_from_rest).run(start);
}

}  // namespace sinew::reference
