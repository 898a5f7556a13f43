#include <sinew/fitting/limb_placement.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <sinew/core/rotation.h>
#include <sinew/fitting/matched_limbs.h>
#include <sinew/fitting/polyline.h>
#include <sinew/fitting/similarity.h>

namespace sinew {

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// By hand, on the built-in characters with limbs of many lengths and girths (docs/fitting.md, "How well").
struct LimbPlacementParams {
  // Sampling.
  std::size_t arc_points = 80;  ///< of a limb, at which joints may be placed
  int chain_steps = 200;        ///< of a chain, at which its distance from its neighbours is measured

  // A limb that leaves the end of the trunk sideways: by more than this angle, radians, between these shares
  // of both.
  double sideways = 0.9, trunk_end_share = 0.3, limb_start_share = 0.5;

  // Where a chain exits the body.
  double nearly_separate = 0.85;  ///< of the distance that is enough: a joint there may be the base joint
  double bent = 0.6;              ///< radians: a chain that turns by more at its next joint is bent
  double max_saddle_before = 3;   ///< radii: how far before the limb's first section its saddle may be
  double exit_doubt = 1.0, exit_doubt_unsure = 1.5;       ///< standard deviation of the exit, in radii, …
  double inside_doubt = 0.15, inside_doubt_unsure = 0.3;  ///< … and per length that the chain goes inside
  double proportion_doubt = 0.25;  ///< standard deviation of the log of a limb's length over its expected one
  double search_width = 3;         ///< standard deviations round the guess that are searched
  double max_exit_share = 0.9;     ///< of the chain, that may be inside when proportions are weighed, …
  double max_exit_behind = 0.6;    ///< … and of what lies behind the separation, in any case

  // Joints.
  double short_bone = 0.05;  ///< share of a chain: joints nearer to the one before follow their neighbours
  double guessed_last_bone =
      0.8;                     ///< length of a last bone over the one before; 0.7 to 0.9 in the hand template
  double guessed_head = 1.4;   ///< length of a head over its neck
  int landmarks_per_limb = 2;  ///< joints of each limb that move the points round its fork
};
constexpr LimbPlacementParams kLimbParams;

class LimbPlacer {
 public:
  LimbPlacer(const RigGraph& rig, const LimbGraph& mesh, const NodeMap& node_map, const Mat3d& mesh_from_rig,
             const LimbPlacementOptions& options)
      : rig_(rig), mesh_(mesh), node_map_(node_map), mesh_from_rig_(mesh_from_rig), options_(options) {
    result_.points = rig.points;
    result_.placed.assign(rig.points.size(), 0);
    MatchedLimbs matched = matched_limbs(rig, mesh, node_map);
    scale_ = matched.scale;
    for (MatchedLimb& limb : matched.limbs) result_.limbs.push_back({std::move(limb)});
    bases_.resize(result_.limbs.size());
  }

  LimbPlacement run() {
    // From the ends to the head: where a fork is, its limbs tell.
    for (const LimbId l : reversed(result_.limbs.ids())) {
      find_exit(l);
      place(l);
    }
    fill_forks();
    return std::move(result_);
  }

 private:
  /// Where a limb that leaves a fork begins.
  struct LimbBase {
    double exit = 0;                   ///< arc length of the rig's chain at which it comes out of the body
    std::size_t joint = 0;             ///< place in the chain of the joint just inside
    Vec3d joint_mesh = Vec3d::Zero();  ///< where that joint goes
    bool known = false;                ///< `exit` and the joint are
  };

  /// A chain that another must get away from.
  struct Neighbour {
    Polyline chain;
    bool is_trunk;
    double min_distance;
  };

  /// Both ends of a limb that joints are placed in, in rig and mesh.
  struct LimbEnds {
    Vec3d rig_start, mesh_start, rig_end, mesh_end;
    double start = 0, end = 0;  ///< arc lengths of the chain
    bool ends_in_fork = false;  ///< the end is not the chain's last joint but the middle of a fork
  };

  std::vector<Vec3d> rig_points(const std::vector<PointId>& chain) const {
    std::vector<Vec3d> points;
    for (const PointId p : chain) points.push_back(rig_.points[p]);
    return points;
  }

  bool is_leaf(NodeId node) const {
    return std::none_of(result_.limbs.begin(), result_.limbs.end(),
                        [&](const PlacedLimb& limb) { return limb.from == node; });
  }

  // ---- Where limbs come out of the body

  std::vector<Neighbour> siblings(LimbId l) const {
    std::vector<Neighbour> result;
    for (const LimbId o : result_.limbs.ids()) {
      const PlacedLimb& other = result_.limbs[o];
      if (o == l || other.from != result_.limbs[l].from) continue;
      const double times = other.is_trunk ? options_.trunk_separation : options_.separation;
      result.push_back({Polyline(rig_points(other.chain)), other.is_trunk,
                        times * (result_.limbs[l].radius + other.radius) / scale_});
    }
    return result;
  }

  /// A limb that leaves the end of the trunk sideways, such as a cat's hind leg, must get out of the trunk
  /// first.
  void add_trunk_before(LimbId l, const Polyline& chain, std::vector<Neighbour>& neighbours) const {
    for (const PlacedLimb& trunk : result_.limbs) {
      if (trunk.to != result_.limbs[l].from) continue;
      const Polyline before(rig_points(trunk.chain));
      const Vec3d arrival =
          before.at(before.length()) - before.at((1 - kLimbParams.trunk_end_share) * before.length());
      const Vec3d leaving = chain.at(kLimbParams.limb_start_share * chain.length()) - chain.at(0);
      const double angle = std::atan2(arrival.cross(leaving).norm(), arrival.dot(leaving));
      if (angle < kLimbParams.sideways) continue;
      const std::size_t last = trunk.radii.size() - 1;
      const double thickness = trunk.radii[last >= 2 ? last - 2 : 0];
      neighbours.push_back(
          {before, true, options_.trunk_separation * (result_.limbs[l].radius + thickness) / scale_});
    }
  }

  /// How far a chain is from its neighbours there, at worst, over how far it must be. Limbs leave side by
  /// side, so they are compared at the same arc length; a trunk goes another way.
  static double separation(const Polyline& chain, const std::vector<Neighbour>& neighbours,
                           double arc_length) {
    double least = kUnbounded;
    for (const Neighbour& other : neighbours) {
      const Vec3d at = chain.at(arc_length);
      const double distance =
          other.is_trunk ? other.chain.distance(at) : (other.chain.at(arc_length) - at).norm();
      least = std::min(least, distance / other.min_distance);
    }
    return least;
  }

  /// Where a limb that leaves a fork comes out of the body, in the rig and in the mesh.
  void find_exit(LimbId l) {
    PlacedLimb& limb = result_.limbs[l];
    LimbBase& base = bases_[l];
    if (limb.is_trunk) return;
    const Polyline chain(rig_points(limb.chain));
    std::vector<Neighbour> neighbours = siblings(l);
    const bool has_trunk = std::any_of(neighbours.begin(), neighbours.end(),
                                       [](const Neighbour& other) { return other.is_trunk; });
    const bool is_finger = neighbours.size() >= 2 && !has_trunk;
    add_trunk_before(l, chain, neighbours);
    const double radius = limb.radius / scale_;  // in the rig
    const int steps = kLimbParams.chain_steps;
    int step = 0;
    while (step < steps && separation(chain, neighbours, chain.length() * step / steps) < 1) ++step;
    double separate = step < steps ? chain.length() * step / steps : 0;  // 0: chains cross
    // A joint that is nearly there, or that is less than the limb's radius off, is the one that is meant.
    double best = kUnbounded;
    std::size_t base_joint = limb.chain.size();
    for (std::size_t k = 1; k + 1 < limb.chain.size(); ++k) {
      const double off = std::abs(chain.arc_length(k) - separate);
      const bool nearly = chain.arc_length(k) <= separate &&
                          separation(chain, neighbours, chain.arc_length(k)) > kLimbParams.nearly_separate;
      if ((nearly || off < radius) && off < best) {
        best = off;
        base_joint = k;
      }
    }
    const bool joint_found = base_joint < limb.chain.size();
    if (joint_found) separate = chain.arc_length(base_joint);
    limb.exit_mesh = exit_in_mesh(l);
    const double web = is_finger ? options_.finger_web_offset : options_.web_offset;
    const double guess = separate + web * limb.radius / scale_;
    // A limb that bends at its next joint may show from there on only, as a cat's forearm does.
    const bool sure = joint_found && bend_behind(chain, guess) < kLimbParams.bent;
    const double doubt =
        (sure ? kLimbParams.exit_doubt : kLimbParams.exit_doubt_unsure) * limb.radius / scale_ +
        (sure ? kLimbParams.inside_doubt : kLimbParams.inside_doubt_unsure) * separate;
    base.exit = std::clamp(
        likeliest_exit(limb, chain, guess, doubt), 0.0,
        kLimbParams.max_exit_behind * chain.length() + (1 - kLimbParams.max_exit_behind) * separate);
    // The joint nearest to where the chains are separate, not beyond where they come out.
    const double inside = std::max(0.0, base.exit - web * limb.radius / scale_);
    best = kUnbounded;
    for (std::size_t k = 0; k < limb.chain.size() && chain.arc_length(k) <= base.exit; ++k)
      if (std::abs(chain.arc_length(k) - inside) < best) {
        best = std::abs(chain.arc_length(k) - inside);
        base.joint = k;
      }
    base.known = true;
    limb.exit_rig = chain.at(base.exit);
  }

  /// The skin's saddle, projected onto the limb's axis.
  Vec3d exit_in_mesh(LimbId l) const {
    const PlacedLimb& limb = result_.limbs[l];
    const Polyline line(limb.centres);
    const Vec3d on_axis = line.at(std::min(limb.radius, kLimbMeasuring.radius_at_share * line.length()));
    const Vec3d saddle = mesh_.nodes[limb.fork].saddle;
    const double back =
        std::clamp((saddle - on_axis).dot(limb.direction), -kLimbParams.max_saddle_before * limb.radius,
                   std::max(0.0, 0.5 * line.length() - limb.radius));
    return on_axis + back * limb.direction;
  }

  /// How much the chain turns at the first joint behind an arc length; radians.
  static double bend_behind(const Polyline& chain, double arc_length) {
    for (std::size_t k = 1; k + 1 < chain.size(); ++k)
      if (chain.arc_length(k) > arc_length) {
        const Vec3d before = chain.point(k) - chain.point(k - 1),
                    behind = chain.point(k + 1) - chain.point(k);
        return std::atan2(before.cross(behind).norm(), before.dot(behind));
      }
    return 0;
  }

  /// Where a chain comes out of the body: what its neighbours say (`guess`, with a standard deviation of
  /// `doubt`) weighed against the limb's proportion to the whole character, as a maximum-likelihood estimate.
  double likeliest_exit(const PlacedLimb& limb, const Polyline& chain, double guess, double doubt) const {
    Vec3d rig_end, mesh_end = limb.centres.back();
    double rig_length = chain.length();
    if (!is_leaf(limb.to) && fork_middle(limb.to, rig_end, mesh_end)) {
      const double on = chain.project(rig_end);
      rig_length = on + (rig_end - chain.at(on)).norm();
    } else if (is_leaf(limb.to) && !options_.tails_known) {
      return guess;
    }
    const Polyline line(limb.centres);
    // From its exit, which may lie before the limb's first centre.
    const double first = line.project(limb.exit_mesh);
    const double before = first > 0 ? 0 : (line.at(0) - limb.exit_mesh).norm();
    const double mesh_length = std::max(1e-12, line.project(mesh_end) - first + before);
    double best = kUnbounded, found = guess;
    const int steps = kLimbParams.chain_steps;
    for (int k = 0; k <= steps; ++k) {
      const double exit =
          guess + doubt * (2 * kLimbParams.search_width * k / steps - kLimbParams.search_width);
      if (exit < 0 || exit > kLimbParams.max_exit_share * rig_length) continue;
      const double proportion =
          std::log(mesh_length / (rig_length - exit) / scale_) / kLimbParams.proportion_doubt;
      const double off = (exit - guess) / doubt;
      if (const double cost = proportion * proportion + off * off; cost < best) {
        best = cost;
        found = exit;
      }
    }
    return found;
  }

  /// The middle of the base joints of a fork's limbs, in the rig and in the mesh. False when none is known;
  /// then both are the origin.
  bool fork_middle(NodeId node, Vec3d& rig, Vec3d& mesh) const {
    int count = 0;
    rig = mesh = Vec3d::Zero();
    for (const LimbId l : result_.limbs.ids()) {
      const PlacedLimb& limb = result_.limbs[l];
      if (limb.from != node || !bases_[l].known) continue;
      rig += rig_.points[limb.chain[bases_[l].joint]];
      mesh += bases_[l].joint_mesh;
      ++count;
    }
    if (count == 0) return false;
    rig /= count;
    mesh /= count;
    return true;
  }

  // ---- Joints

  void place(LimbId l) {
    PlacedLimb& limb = result_.limbs[l];
    const std::vector<Vec3d> joints = guess_unknown_tails(limb);
    const Polyline chain(joints);
    const LimbEnds ends = find_ends(l, chain);
    const Polyline centres(centres_between(limb, ends));
    // The joints in between.
    std::vector<Vec3d> bones{ends.rig_start};
    std::vector<std::size_t> placed_joints;  // their places in the chain
    const double reach = std::max(ends.end - ends.start, 1e-12);
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const double at = chain.arc_length(k);
      const bool last = k + 1 == joints.size();
      if (at <= ends.start || at > ends.end || (last && !ends.ends_in_fork)) continue;
      if ((joints[k] - bones.back()).norm() < kLimbParams.short_bone * reach ||
          (ends.rig_end - joints[k]).norm() < kLimbParams.short_bone * reach)
        continue;
      bones.push_back(joints[k]);
      placed_joints.push_back(k);
    }
    bones.push_back(ends.rig_end);
    const JointPlacement placement =
        place_joints(bones, centres.resampled(kLimbParams.arc_points), options_.joints);
    for (std::size_t k = 0; k < placed_joints.size(); ++k)
      set(limb.chain[placed_joints[k]], placement.arc[placement.points[k + 1]]);
    if (is_leaf(limb.to)) set(limb.chain.back(), ends.mesh_end);
    if (limb.from == LimbGraph::kHead && !bases_[l].known) set(limb.chain[0], ends.mesh_start);
    double rig_length = 0;
    for (std::size_t k = 0; k + 1 < bones.size(); ++k) rig_length += (bones[k + 1] - bones[k]).norm();
    limb.scale = rig_length > 0 ? centres.length() / rig_length : scale_;
    // Short bones between two joints that have their places.
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const double at = chain.arc_length(k);
      if (result_.placed[limb.chain[k]] || at <= ends.start || at >= ends.end) continue;
      set(limb.chain[k], between_neighbours(limb, chain, k, ends));
    }
    if (bases_[l].known) place_base_joint(l, chain);
  }

  /// The chain's joints, the last ones of a limb where they are expected if the rig does not say.
  std::vector<Vec3d> guess_unknown_tails(const PlacedLimb& limb) const {
    std::vector<Vec3d> joints = rig_points(limb.chain);
    if (options_.tails_known || joints.size() < 3) return joints;
    if (is_leaf(limb.to)) {
      const std::size_t last = joints.size() - 1;
      const Vec3d bone = joints[last] - joints[last - 1];
      if (bone.norm() > 0)
        joints[last] = joints[last - 1] + bone.normalized() * kLimbParams.guessed_last_bone *
                                              (joints[last - 1] - joints[last - 2]).norm();
    }
    if (limb.from == LimbGraph::kHead) {
      const Vec3d head = joints[0] - joints[1];
      if (head.norm() > 0)
        joints[0] = joints[1] + head.normalized() * kLimbParams.guessed_head * (joints[1] - joints[2]).norm();
    }
    return joints;
  }

  LimbEnds find_ends(LimbId l, const Polyline& chain) const {
    const PlacedLimb& limb = result_.limbs[l];
    LimbEnds ends;
    ends.rig_start = chain.point(0);
    ends.mesh_start = mesh_.nodes[node_map_[limb.from]].position;
    if (bases_[l].known) {
      ends.rig_start = limb.exit_rig;
      ends.mesh_start = limb.exit_mesh;
      ends.start = bases_[l].exit;
    } else if (Vec3d rig_middle, mesh_middle; fork_middle(limb.from, rig_middle, mesh_middle)) {
      ends.rig_start = rig_middle;
      ends.mesh_start = mesh_middle;
      ends.start = chain.project(rig_middle);
    }
    ends.rig_end = chain.point(chain.size() - 1);
    ends.mesh_end = limb.centres.back();
    ends.end = chain.length();
    if (!is_leaf(limb.to) && fork_middle(limb.to, ends.rig_end, ends.mesh_end)) {
      ends.ends_in_fork = true;
      ends.end = std::max(chain.project(ends.rig_end), ends.start);
    }
    return ends;
  }

  /// The limb's centres between its ends. Joints need not be in the middle of the flesh: a spine is at the
  /// back. The centres are shifted so that they start and end where the joints round the forks say.
  static std::vector<Vec3d> centres_between(const PlacedLimb& limb, const LimbEnds& ends) {
    std::vector<Vec3d> centres{ends.mesh_start};
    const Polyline line(limb.centres);
    const double first = line.project(ends.mesh_start), last = line.project(ends.mesh_end);
    const Vec3d at_start = ends.mesh_start - line.at(first), at_end = ends.mesh_end - line.at(last);
    for (std::size_t k = 0; k < limb.centres.size(); ++k)
      if (line.arc_length(k) > first && line.arc_length(k) < last) {
        const double share = (line.arc_length(k) - first) / (last - first);
        centres.push_back(limb.centres[k] + (1 - share) * at_start + share * at_end);
      }
    centres.push_back(ends.mesh_end);
    return centres;
  }

  /// From the exit back to the joint inside, as the rig goes there, turned to how the limb comes out.
  void place_base_joint(LimbId l, const Polyline& chain) {
    const PlacedLimb& limb = result_.limbs[l];
    LimbBase& base = bases_[l];
    const double measured = std::min(kLimbMeasuring.direction_to * limb.radius / scale_,
                                     kLimbMeasuring.direction_to_share * (chain.length() - base.exit));
    const Vec3d comes_out = chain.at(base.exit + measured) - limb.exit_rig;
    Mat3d rotation = mesh_from_rig_;
    if (comes_out.norm() > 0)
      rotation = shortest_turn(mesh_from_rig_ * comes_out.normalized(), limb.direction).toRotationMatrix() *
                 mesh_from_rig_;
    base.joint_mesh =
        limb.exit_mesh + limb.scale * (rotation * (rig_.points[limb.chain[base.joint]] - limb.exit_rig));
    if (base.joint > 0) set(limb.chain[base.joint], base.joint_mesh);
  }

  /// A point between its placed neighbours along the chain, at the same share of the distance as in the rig.
  Vec3d between_neighbours(const PlacedLimb& limb, const Polyline& chain, std::size_t k,
                           const LimbEnds& ends) const {
    double before = ends.start, behind = ends.end;
    Vec3d a = ends.mesh_start, b = ends.mesh_end;
    for (std::size_t o = 0; o < limb.chain.size(); ++o) {
      if (!result_.placed[limb.chain[o]]) continue;
      const double at = chain.arc_length(o);
      if (at <= chain.arc_length(k) && at > before) {
        before = at;
        a = result_.points[limb.chain[o]];
      }
      if (at >= chain.arc_length(k) && at < behind) {
        behind = at;
        b = result_.points[limb.chain[o]];
      }
    }
    const double share = behind > before ? (chain.arc_length(k) - before) / (behind - before) : 0.5;
    return a + share * (b - a);
  }

  void set(PointId point, const Vec3d& position) {
    result_.points[point] = position;
    result_.placed[point] = 1;
  }

  // ---- Forks

  /// Points of matched chains that have no place yet, round forks.
  void fill_forks() {
    const PerPoint<char> is_landmark = result_.placed;
    for (const PlacedLimb& limb : result_.limbs)
      for (std::size_t k = 0; k < limb.chain.size(); ++k) {
        const PointId point = limb.chain[k];
        if (result_.placed[point]) continue;
        // Which fork it belongs to: the limb's start, or its end if that is nearer along the chain.
        const NodeId fork = 2 * k > limb.chain.size() && !is_leaf(limb.to) ? limb.to : limb.from;
        std::vector<Vec3d> rig, mesh;
        for (const PlacedLimb& other : result_.limbs) {
          if (other.from != fork && other.to != fork) continue;
          // The nearest known joints of each limb at the fork.
          int taken = 0;
          const auto take = [&](PointId p) {
            if (!is_landmark[p] || taken >= kLimbParams.landmarks_per_limb) return;
            rig.push_back(rig_.points[p]);
            mesh.push_back(result_.points[p]);
            ++taken;
          };
          if (other.from == fork)
            for (const PointId p : other.chain) take(p);
          else
            for (auto p = other.chain.rbegin(); p != other.chain.rend(); ++p) take(*p);
        }
        set(point, warped(rig, mesh, rig_.points[point], mesh_from_rig_, scale_));
      }
  }

  const RigGraph& rig_;
  const LimbGraph& mesh_;
  const NodeMap& node_map_;
  Mat3d mesh_from_rig_;
  LimbPlacementOptions options_;
  double scale_ = 1;
  PerLimb<LimbBase> bases_;
  LimbPlacement result_;
};

}  // namespace

LimbPlacement place_limbs(const RigGraph& rig, const LimbGraph& mesh, const NodeMap& node_map,
                          const Mat3d& mesh_from_rig, const LimbPlacementOptions& options) {
  return LimbPlacer(rig, mesh, node_map, mesh_from_rig, options).run();
}

}  // namespace sinew
