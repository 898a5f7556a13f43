#include <sinew/fitting/limb_placement.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <sinew/core/rotation.h>
#include <sinew/fitting/limb_alignment.h>
#include <sinew/fitting/polyline.h>
#include <sinew/fitting/similarity.h>

namespace sinew {

namespace {

// Centres of an arc that joints may be placed at.
constexpr std::size_t kArcPoints = 80;
// Joints nearer to the one before than this share of their chain are not placed by themselves.
constexpr double kShortBone = 0.05;
// A limb behind a fork that keeps this much of the thickness before it is the trunk that goes on.
constexpr double kGoesOn = 0.72;
// A limb that leaves the trunk at more than this angle leaves it sideways.
constexpr double kSideways = 0.9;
// Joints whose chains are this far apart, as a share of what is enough, may be where a limb starts.
constexpr double kNearlyApart = 0.85;
// A chain that turns by more than this is bent, radians.
constexpr double kBent = 0.6;
// Standard deviations: of the logarithm of a limb's length over what the whole character's size would make
// it, and of where a chain comes out of the flesh per length that it goes inside.
constexpr double kUsualProportion = 0.25;
constexpr double kInsideDoubt = 0.3;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

class Placer {
 public:
  Placer(const RigGraph& rig, const LimbGraph& mesh, const std::vector<int>& image, const Mat3d& turn,
         const LimbPlacementOptions& options)
      : rig_(rig), mesh_(mesh), image_(image), turn_(turn), options_(options) {
    result_.points = rig.points;
    result_.placed.assign(rig.points.size(), 0);
    const std::vector<double> rig_way = distances_from_head(rig.graph), mesh_way = distances_from_head(mesh);
    double rig_longest = 0, mesh_longest = 0;  // of what is matched
    for (std::size_t n = 0; n < image.size(); ++n)
      if (image[n] >= 0 && rig_way[n] > rig_longest) {
        rig_longest = rig_way[n];
        mesh_longest = mesh_way[u(image[n])];
      }
    scale_ = rig_longest > 0 && mesh_longest > 0 ? mesh_longest / rig_longest : 1;
  }

  LimbPlacement run() {
    find_limbs();
    if (is_hand()) find_scale_by_ends();
    // Ends first: where a fork is, its limbs tell.
    for (std::size_t l = result_.limbs.size(); l-- > 0;) {
      find_parting(result_.limbs[l]);
      place(result_.limbs[l]);
    }
    fill_forks();
    return std::move(result_);
  }

 private:
  struct Start {           // of a limb that leaves a fork
    double along = 0;      // of the rig's chain, where it comes out of the flesh
    std::size_t free = 0;  // place in the chain of the joint just inside
    Vec3d direction = Vec3d::Zero();
    double radius = 0;
    Vec3d free_mesh = Vec3d::Zero();  // where that joint goes
    bool known = false;
  };

  /// A rig of a hand has no trunk before its only fork, and the mesh may go on behind the wrist for as long
  /// as it likes: then the distances between the limbs' ends tell the size.
  bool is_hand() const {
    return result_.limbs.size() > 2 && std::all_of(result_.limbs.begin(), result_.limbs.end(),
                                                   [](const PlacedLimb& limb) { return limb.from == 0; });
  }
  void find_scale_by_ends() {
    std::vector<double> ratios;
    for (const PlacedLimb& a : result_.limbs)
      for (const PlacedLimb& b : result_.limbs) {
        const double rig = (rig_.points[u(a.chain.back())] - rig_.points[u(b.chain.back())]).norm();
        const double mesh = (a.way.back() - b.way.back()).norm();
        if (&a < &b && rig > 0 && mesh > 0) ratios.push_back(mesh / rig);
      }
    for (PlacedLimb& limb : result_.limbs) limb.goes_on = false;
    if (ratios.empty()) return;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    scale_ = *middle;
  }

  struct Neighbour {  // a chain that another must get away from
    Polyline chain;
    bool trunk;
    double enough;
  };

  /// A limb that leaves the end of the trunk sideways, such as a cat's hind leg, must get out of the trunk
  /// first.
  void add_trunk_before(const PlacedLimb& limb, const Polyline& chain, double radius,
                        std::vector<Neighbour>& neighbours) const {
    for (std::size_t o = 0; o < result_.limbs.size(); ++o) {
      const PlacedLimb& trunk = result_.limbs[o];
      if (trunk.to != limb.from) continue;
      const Polyline before(rig_points(trunk.chain));
      const Vec3d arrival = before.at(before.length()) - before.at(0.7 * before.length());
      const Vec3d leaving = chain.at(0.5 * chain.length()) - chain.at(0);
      const double angle = std::atan2(arrival.cross(leaving).norm(), arrival.dot(leaving));
      if (angle < kSideways) continue;
      const std::size_t last = trunk.radii.size() - 1;
      const double thickness = trunk.radii[last >= 2 ? last - 2 : 0];
      neighbours.push_back({before, true, options_.apart_from_trunk * (radius + thickness) / scale_});
    }
  }

  std::vector<Vec3d> rig_points(const std::vector<int>& chain) const {
    std::vector<Vec3d> points;
    for (const int p : chain) points.push_back(rig_.points[u(p)]);
    return points;
  }

  void find_limbs() {
    const LimbGraph& graph = rig_.graph;
    for (int n = 1; n < static_cast<int>(graph.nodes.size()); ++n) {
      if (image_[u(n)] < 0) continue;
      PlacedLimb limb;
      limb.to = n;
      std::vector<std::vector<int>> pieces;
      int above = n;
      do {
        const int arc = graph.node(above).arc;
        pieces.push_back(rig_.chains[u(arc)]);
        above = graph.arc(arc).from;
      } while (above > 0 && image_[u(above)] < 0);
      limb.from = above;
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
        limb.chain.insert(limb.chain.end(), piece->begin() + (limb.chain.empty() ? 0 : 1), piece->end());
      result_.limbs.push_back(std::move(limb));
    }
    starts_.resize(result_.limbs.size());
    for (std::size_t l = 0; l < result_.limbs.size(); ++l) {
      PlacedLimb& limb = result_.limbs[l];
      const std::vector<int> path = mesh_.path(image_[u(limb.from)], image_[u(limb.to)]);
      std::size_t own = 0;  // nodes of the path that neighbours pass, too
      for (std::size_t o = 0; o < result_.limbs.size(); ++o) {
        if (o == l || result_.limbs[o].from != limb.from) continue;
        const std::vector<int> other = mesh_.path(image_[u(limb.from)], image_[u(result_.limbs[o].to)]);
        std::size_t shared = 0;
        while (shared < path.size() && shared < other.size() && path[shared] == other[shared]) ++shared;
        own = std::max(own, std::min(shared, path.size() - 1));
      }
      const int fork = own == 0 ? image_[u(limb.from)] : path[own - 1];
      forks_.push_back(fork);
      for (std::size_t k = own; k < path.size(); ++k) {
        const LimbGraph::Arc& arc = mesh_.arc(mesh_.node(path[k]).arc);
        limb.way.insert(limb.way.end(), arc.points.begin(), arc.points.end());
        limb.radii.insert(limb.radii.end(), arc.radii.begin(), arc.radii.end());
      }
      Start& start = starts_[l];
      // Thickness and direction are told a little further on, where sections lie across the limb.
      const Polyline way(limb.way);
      const double r0 = limb.radii[0];
      start.radius = limb.radii[way.nearest_index(std::min(r0, 0.3 * way.length()))];
      if (!(start.radius > 0)) start.radius = r0;
      const double first = std::min(0.5 * start.radius, 0.1 * way.length());
      const double last = std::min(3.5 * start.radius, 0.5 * way.length());
      const Vec3d direction = way.at(last) - way.at(first);
      start.direction = direction.norm() > 0 ? Vec3d(direction.normalized()) : Vec3d(Vec3d::UnitY());
      const int arc_before = mesh_.node(fork).arc;
      if (arc_before >= 0) {
        const LimbGraph::Arc& before = mesh_.arc(arc_before);
        const double thickness = before.radii[before.radii.size() >= 2 ? before.radii.size() - 2 : 0];
        limb.goes_on = start.radius >= kGoesOn * thickness;
      } else {
        limb.goes_on = true;  // the head's only limb
      }
    }
    // Of a fork's limbs only one is the trunk: the longest of those thick enough.
    for (PlacedLimb& limb : result_.limbs)
      for (const PlacedLimb& other : result_.limbs)
        if (&other != &limb && other.from == limb.from && limb.goes_on && other.goes_on &&
            Polyline(other.way).length() > Polyline(limb.way).length())
          limb.goes_on = false;
  }

  /// Where a limb that leaves a fork comes out of the flesh, in the rig and in the mesh.
  void find_parting(PlacedLimb& limb) {
    const auto l = static_cast<std::size_t>(&limb - result_.limbs.data());
    Start& start = starts_[l];
    if (limb.goes_on) return;
    const Polyline chain(rig_points(limb.chain));
    std::vector<Neighbour> neighbours;
    bool has_trunk = false;
    for (std::size_t o = 0; o < result_.limbs.size(); ++o)
      if (const PlacedLimb& other = result_.limbs[o]; o != l && other.from == limb.from) {
        const double times = other.goes_on ? options_.apart_from_trunk : options_.apart;
        neighbours.push_back({Polyline(rig_points(other.chain)), other.goes_on,
                              times * (start.radius + starts_[o].radius) / scale_});
        has_trunk |= other.goes_on;
      }
    const bool is_finger = neighbours.size() >= 2 && !has_trunk;
    add_trunk_before(limb, chain, start.radius, neighbours);
    const auto nearness = [&](double along) {
      // Limbs leave side by side, so they are compared as far along; a trunk goes another way.
      double least = std::numeric_limits<double>::infinity();
      for (const Neighbour& other : neighbours) {
        const Vec3d at = chain.at(along);
        const double distance = other.trunk ? other.chain.distance(at) : (other.chain.at(along) - at).norm();
        least = std::min(least, distance / other.enough);
      }
      return least;
    };
    constexpr int kSteps = 200;
    int step = 0;
    while (step < kSteps && nearness(chain.length() * step / kSteps) < 1) ++step;
    double apart = step < kSteps ? chain.length() * step / kSteps : 0;  // 0: chains cross
    // A joint that is nearly there, or that is less than the limb's radius off, is the one that is meant.
    double best = std::numeric_limits<double>::infinity();
    std::size_t meant = limb.chain.size();
    for (std::size_t k = 1; k + 1 < limb.chain.size(); ++k) {
      const double off = std::abs(chain.along(k) - apart);
      const bool nearly = chain.along(k) <= apart && nearness(chain.along(k)) > kNearlyApart;
      if ((nearly || off < start.radius / scale_) && off < best) {
        best = off;
        meant = k;
      }
    }
    if (meant < limb.chain.size()) apart = chain.along(meant);
    const double web = is_finger ? options_.finger_web : options_.web;
    // The skin's saddle, seen along the limb.
    const Polyline way(limb.way);
    const Vec3d on = way.at(std::min(start.radius, 0.3 * way.length()));
    const Vec3d saddle = mesh_.node(forks_[l]).saddle;
    const double back = std::clamp((saddle - on).dot(start.direction), -3 * start.radius,
                                   std::max(0.0, 0.5 * way.length() - start.radius));
    limb.parts_mesh = on + back * start.direction;
    const double guess = apart + web * start.radius / scale_;
    // A limb that bends at its next joint may show from there on only, as a cat's forearm does.
    const bool sure = meant < limb.chain.size() && bend_behind(chain, guess) < kBent;
    const double doubt =
        (sure ? 1.0 : 1.5) * start.radius / scale_ + (sure ? 0.5 : 1.0) * kInsideDoubt * apart;
    start.along = std::clamp(balanced(limb, chain, guess, doubt), 0.0, 0.6 * chain.length() + 0.4 * apart);
    // The joint nearest to where the chains are apart, not beyond where they come out.
    const double inside = std::max(0.0, start.along - web * start.radius / scale_);
    best = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < limb.chain.size() && chain.along(k) <= start.along; ++k)
      if (std::abs(chain.along(k) - inside) < best) {
        best = std::abs(chain.along(k) - inside);
        start.free = k;
      }
    start.known = true;
    limb.parts_rig = chain.at(start.along);
  }

  /// How much the chain turns at the first joint behind `along`.
  static double bend_behind(const Polyline& chain, double along) {
    for (std::size_t k = 1; k + 1 < chain.size(); ++k)
      if (chain.along(k) > along) {
        const Vec3d before = chain.point(k) - chain.point(k - 1),
                    behind = chain.point(k + 1) - chain.point(k);
        return std::atan2(before.cross(behind).norm(), before.dot(behind));
      }
    return 0;
  }

  /// Where a chain comes out of the flesh, weighing what its neighbours say (`guess`, give or take `doubt`)
  /// against the limb's proportion to the whole character: the likelier of both errors is made smaller.
  double balanced(const PlacedLimb& limb, const Polyline& chain, double guess, double doubt) const {
    Vec3d rig_end, mesh_end = limb.way.back();
    double rig_length = chain.length();
    if (!is_leaf(limb.to) && fork_middle(limb.to, rig_end, mesh_end)) {
      const double on = chain.nearest(rig_end);
      rig_length = on + (rig_end - chain.at(on)).norm();
    } else if (is_leaf(limb.to) && !options_.tails_known) {
      return guess;
    }
    const Polyline way(limb.way);
    // From where it parts, which may lie before the limb's first centre.
    const double first = way.nearest(limb.parts_mesh);
    const double before = first > 0 ? 0 : (way.at(0) - limb.parts_mesh).norm();
    const double mesh_length = std::max(1e-12, way.nearest(mesh_end) - first + before);
    double best = std::numeric_limits<double>::infinity(), found = guess;
    constexpr int kSteps = 200;
    for (int k = 0; k <= kSteps; ++k) {
      const double along = guess + doubt * (6.0 * k / kSteps - 3);
      if (along < 0 || along > 0.9 * rig_length) continue;
      const double proportion = std::log(mesh_length / (rig_length - along) / scale_) / kUsualProportion;
      const double off = (along - guess) / doubt;
      if (const double cost = proportion * proportion + off * off; cost < best) {
        best = cost;
        found = along;
      }
    }
    return found;
  }

  /// The middle of the joints that hang on a fork, in the rig and in the mesh. False when none does.
  bool fork_middle(int node, Vec3d& rig, Vec3d& mesh) const {
    int count = 0;
    rig = mesh = Vec3d::Zero();
    for (std::size_t l = 0; l < result_.limbs.size(); ++l) {
      const PlacedLimb& limb = result_.limbs[l];
      if (limb.from != node || !starts_[l].known) continue;
      rig += rig_.points[u(limb.chain[starts_[l].free])];
      mesh += starts_[l].free_mesh;
      ++count;
    }
    if (count == 0) return false;
    rig /= count;
    mesh /= count;
    return true;
  }

  void place(PlacedLimb& limb) {
    const auto l = static_cast<std::size_t>(&limb - result_.limbs.data());
    Start& start = starts_[l];
    const bool leaf = is_leaf(limb.to);
    std::vector<Vec3d> joints = rig_points(limb.chain);
    if (leaf && !options_.tails_known && joints.size() >= 3) {
      const std::size_t last = joints.size() - 1;
      const Vec3d way = joints[last] - joints[last - 1];
      if (way.norm() > 0)
        joints[last] =
            joints[last - 1] + way.normalized() * 0.8 * (joints[last - 1] - joints[last - 2]).norm();
    }
    if (limb.from == 0 && !options_.tails_known && joints.size() >= 3) {
      // A head is longer than its neck.
      const Vec3d way = joints[0] - joints[1];
      if (way.norm() > 0) joints[0] = joints[1] + way.normalized() * 1.4 * (joints[1] - joints[2]).norm();
    }
    const Polyline chain(joints);
    // Both ends in rig and mesh.
    Vec3d rig_start = joints[0], mesh_start = mesh_.node(image_[u(limb.from)]).position;
    double from_along = 0;
    if (start.known) {
      rig_start = limb.parts_rig;
      mesh_start = limb.parts_mesh;
      from_along = start.along;
    } else if (Vec3d rig_middle, mesh_middle; fork_middle(limb.from, rig_middle, mesh_middle)) {
      rig_start = rig_middle;
      mesh_start = mesh_middle;
      from_along = chain.nearest(rig_middle);
    }
    Vec3d rig_end = joints.back(), mesh_end = limb.way.back();
    bool virtual_end = false;
    double to_along = chain.length();
    if (!leaf && fork_middle(limb.to, rig_end, mesh_end)) {
      virtual_end = true;
      to_along = std::max(chain.nearest(rig_end), from_along);
    }
    // The limb's centres in between.
    std::vector<Vec3d> arc{mesh_start};
    {
      // Joints need not be in the middle of the flesh: a spine is at the back. The centres are shifted so
      // that they start and end where the joints round the forks say.
      const Polyline way(limb.way);
      const double first = way.nearest(mesh_start), last = way.nearest(mesh_end);
      const Vec3d at_start = mesh_start - way.at(first), at_end = mesh_end - way.at(last);
      for (std::size_t k = 0; k < limb.way.size(); ++k)
        if (way.along(k) > first && way.along(k) < last) {
          const double share = (way.along(k) - first) / (last - first);
          arc.push_back(limb.way[k] + (1 - share) * at_start + share * at_end);
        }
      arc.push_back(mesh_end);
    }
    const Polyline centres(arc);
    arc = centres.resampled(kArcPoints);
    std::vector<Vec3d> bones{rig_start};
    std::vector<std::size_t> which;  // places in the chain of the joints in between
    const double reach = std::max(to_along - from_along, 1e-12);
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const double at = chain.along(k);
      const bool last = k + 1 == joints.size();
      if (at <= from_along || at > to_along || (last && !virtual_end)) continue;
      if ((joints[k] - bones.back()).norm() < kShortBone * reach ||
          (rig_end - joints[k]).norm() < kShortBone * reach)
        continue;
      bones.push_back(joints[k]);
      which.push_back(k);
    }
    bones.push_back(rig_end);
    const JointPlacement placement = place_joints(bones, arc, options_.joints);
    for (std::size_t k = 0; k < which.size(); ++k)
      set(limb.chain[which[k]], placement.arc[placement.points[k + 1]]);
    if (leaf) set(limb.chain.back(), mesh_end);
    if (limb.from == 0 && !start.known) set(limb.chain[0], mesh_start);
    double rig_length = 0;
    for (std::size_t k = 0; k + 1 < bones.size(); ++k) rig_length += (bones[k + 1] - bones[k]).norm();
    limb.scale = rig_length > 0 ? centres.length() / rig_length : scale_;
    // Short bones between two that have their places.
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const double at = chain.along(k);
      if (result_.placed[u(limb.chain[k])] || at <= from_along || at >= to_along) continue;
      set(limb.chain[k], between(limb, chain, k, from_along, mesh_start, to_along, mesh_end));
    }
    if (start.known) {
      // Back to the joint inside, as the rig goes there, turned to how the limb comes out.
      const double measured = std::min(3.5 * start.radius / scale_, 0.5 * (chain.length() - start.along));
      const Vec3d comes_out = chain.at(start.along + measured) - limb.parts_rig;
      Mat3d turn = turn_;
      if (comes_out.norm() > 0)
        turn = shortest_turn(turn_ * comes_out.normalized(), start.direction).toRotationMatrix() * turn_;
      start.free_mesh =
          limb.parts_mesh + limb.scale * (turn * (rig_.points[u(limb.chain[start.free])] - limb.parts_rig));
      if (start.free > 0) set(limb.chain[start.free], start.free_mesh);
    }
  }

  /// A point between its placed neighbours along the chain, as far along as it was.
  Vec3d between(const PlacedLimb& limb, const Polyline& chain, std::size_t k, double from_along,
                const Vec3d& mesh_start, double to_along, const Vec3d& mesh_end) const {
    double before = from_along, behind = to_along;
    Vec3d a = mesh_start, b = mesh_end;
    for (std::size_t o = 0; o < limb.chain.size(); ++o) {
      if (!result_.placed[u(limb.chain[o])]) continue;
      const double at = chain.along(o);
      if (at <= chain.along(k) && at > before) {
        before = at;
        a = result_.points[u(limb.chain[o])];
      }
      if (at >= chain.along(k) && at < behind) {
        behind = at;
        b = result_.points[u(limb.chain[o])];
      }
    }
    const double share = behind > before ? (chain.along(k) - before) / (behind - before) : 0.5;
    return a + share * (b - a);
  }

  bool is_leaf(int node) const {
    return std::none_of(result_.limbs.begin(), result_.limbs.end(),
                        [&](const PlacedLimb& limb) { return limb.from == node; });
  }

  void set(int point, const Vec3d& at) {
    result_.points[u(point)] = at;
    result_.placed[u(point)] = 1;
  }

  /// Points of matched chains that are still where they were, round forks.
  void fill_forks() {
    std::vector<char> landmark = result_.placed;
    for (std::size_t l = 0; l < result_.limbs.size(); ++l) {
      const PlacedLimb& limb = result_.limbs[l];
      for (std::size_t k = 0; k < limb.chain.size(); ++k) {
        const int point = limb.chain[k];
        if (result_.placed[u(point)]) continue;
        // Which fork it belongs to: the limb's start, or its end if that is nearer along the chain.
        const int fork = 2 * k > limb.chain.size() && !is_leaf(limb.to) ? limb.to : limb.from;
        std::vector<Vec3d> rig, mesh;
        for (const PlacedLimb& other : result_.limbs) {
          if (other.from != fork && other.to != fork) continue;
          // The two nearest known joints of each limb at the fork.
          int taken = 0;
          const auto take = [&](int p) {
            if (!landmark[u(p)] || taken >= 2) return;
            rig.push_back(rig_.points[u(p)]);
            mesh.push_back(result_.points[u(p)]);
            ++taken;
          };
          if (other.from == fork)
            for (const int p : other.chain) take(p);
          else
            for (auto p = other.chain.rbegin(); p != other.chain.rend(); ++p) take(*p);
        }
        set(point, carried(rig, mesh, rig_.points[u(point)], turn_, scale_));
      }
    }
  }

  const RigGraph& rig_;
  const LimbGraph& mesh_;
  const std::vector<int>& image_;
  Mat3d turn_;
  LimbPlacementOptions options_;
  double scale_ = 1;
  std::vector<Start> starts_;  // per limb
  std::vector<int> forks_;     // per limb, the mesh's node at which it parts from its neighbours
  LimbPlacement result_;
};

}  // namespace

LimbPlacement place_limbs(const RigGraph& rig, const LimbGraph& mesh, const std::vector<int>& image,
                          const Mat3d& mesh_from_rig, const LimbPlacementOptions& options) {
  return Placer(rig, mesh, image, mesh_from_rig, options).run();
}

}  // namespace sinew
