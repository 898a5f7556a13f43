#include <sinew/fitting/fit_rig.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/rotation.h>
#include <sinew/fitting/body_surface.h>
#include <sinew/fitting/bone_orientation.h>
#include <sinew/fitting/controllers.h>
#include <sinew/fitting/extremities.h>
#include <sinew/fitting/graph_matching.h>
#include <sinew/fitting/limb_alignment.h>
#include <sinew/fitting/resolution_levels.h>
#include <sinew/fitting/rig_graph.h>
#include <sinew/fitting/similarity.h>
#include <sinew/fitting/symmetrise.h>
#include <sinew/geometry/oriented_surface.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

// Shares of the mesh's size: how far from where it is expected the head's end may be found, and round it the
// vertex that stands out most.
constexpr double kHeadNear = 0.2, kHeadRound = 0.06;
// How much more an end's distance from the middle plane counts, when the head is looked for.
constexpr double kAcross = 3;
// A way of standing scores how much its limbs differ, this times what the best similarity leaves over, and
// this times the share of the rig that is dropped, but for chains shorter than a twelfth of the longest way
// from the head.
constexpr double kResidual = 4, kDropped = 4, kUneven = 4, kSmallLimb = 1.0 / 12;
// Scores: below the first nobody looks for another head, below the second not for one that lies down.
constexpr double kSureScore = 1.35, kGoodScore = 1.78;
// Differences, scores without what the pose does to them, above this mean that there is no sane match: those
// of sane ones are 0.4 to 1.5, of a biped in a cat and a cat in a man 1.8 and 1.9.
constexpr double kWorstDifference = 1.62;
// Another way of standing, or of facing, must be better than the way the files stand by this factor.
constexpr double kOtherStance = 0.85, kOtherFacing = 0.96, kTurned = 0.9;
// Where a limb longer than the first share of the longest way is missing, forks of the rig as near to each
// other as the second are tried as one, and taken so if the difference is below the third.
constexpr double kLargeLimb = 0.2, kFarForks = 0.22, kGoodDifference = 1.2;
// Costs that differ by less than this factor are the same.
constexpr double kAsGood = 1.001;
// Chains that make up more than this share of the rig may not be dropped.
constexpr double kMostDropped = 0.45;
// Turns below this angle come from the pose, not from the way a character faces.
constexpr double kPoseTurn = 0.25;
// Of the points of a limb that is not in the mesh, this share must lie in flesh for it to be carried along.
constexpr double kInFlesh = 0.6;
// A point counts as in flesh up to this many times as far from its bone as the skin is.
constexpr double kOnSkin = 1.3;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The 24 ways to put a box upright: as it stands, the other turns about y, then the rest.
std::vector<Mat3d> ways_to_stand() {
  std::vector<Mat3d> ways;
  const auto turn = [](double quarters, const Vec3d& axis) {
    Mat3d m = Eigen::AngleAxisd(quarters * 1.5707963267948966, axis).toRotationMatrix();
    return Mat3d(m.array().round().matrix());
  };
  for (const Mat3d& tilt : {Mat3d(Mat3d::Identity()), turn(1, Vec3d::UnitX()), turn(-1, Vec3d::UnitX()),
                            turn(1, Vec3d::UnitZ()), turn(-1, Vec3d::UnitZ()), turn(2, Vec3d::UnitX())})
    for (const double yaw : {0.0, 2.0, 1.0, 3.0}) ways.push_back(tilt * turn(yaw, Vec3d::UnitY()));
  return ways;
}

double rig_size(const RigGraph& rig) {
  Eigen::AlignedBox3d box;
  for (const Vec3d& point : rig.points) box.extend(point);
  return box.diagonal().norm();
}

/// One way in which the rig may stand in the mesh.
struct Stance {
  Mat3d turn = Mat3d::Identity();
  std::uint32_t head = 0;
  Alignment alignment;
  bool by_descriptors = false;
  double score = std::numeric_limits<double>::infinity();
  double difference = 0;  ///< the score without what the pose does to it
};

class Fitter {
 public:
  Fitter(const MeshView& mesh, const ControlRig& rig, const FitOptions& options)
      : mesh_(mesh), rig_(rig), options_(options) {}

  FittedRig run(FitReport& report) {
    const auto start = std::chrono::steady_clock::now();
    body_ = body_surface(mesh_);
    report.components = body_.components;
    report.wrapped = body_.wrapped;
    const int head_bone = find_head_bone(rig_, options_.head_bone);
    graph_ = rig_graph(rig_, head_bone);
    if (graph_.graph.arcs.empty())
      throw Error(fmt::format("rig '{}': its deforming bones have no length", rig_.name));
    report.head_bone = rig_.bones[u(head_bone)].name;
    size_ = mesh_size(body_.view());
    mirrored_ = mirrored_nodes();
    Stance stance = find_stance();
    if (int largest = -1; dropped_share(stance.alignment.image, kLargeLimb, largest) > 0) {
      // Legs that part from the trunk one close after the other may do so in another order than in the rig.
      const RigGraph before = std::move(graph_);
      graph_ = rig_graph(rig_, head_bone, kFarForks);
      mirrored_ = mirrored_nodes();
      if (Stance merged = find_stance(); merged.difference < std::min(stance.difference, kGoodDifference)) {
        stance = std::move(merged);
      } else {
        graph_ = before;
        mirrored_ = mirrored_nodes();
      }
    }
    const LimbGraph& limbs = graph_from(stance.head);
    refuse_insane(stance, limbs);
    report.graph_seconds = graph_seconds_;
    report.matching_seconds = seconds_since(start) - graph_seconds_;

    const auto placing = std::chrono::steady_clock::now();
    LimbPlacement placement =
        place_limbs(graph_, limbs, stance.alignment.image, stance.turn, options_.placement);
    const OrientedSurface flesh(body_.view());
    place_tails(placement, stance.turn);
    if (options_.symmetric) report.mirror = symmetrise(placement, flesh);
    report.head = body_.positions[stance.head].cast<double>();
    report.head_guessed = !options_.head_point;
    report.mesh_from_rig = stance.turn;
    report.cost = stance.alignment.cost;
    report.score = stance.score;
    report.by_descriptors = stance.by_descriptors;
    report.limbs = placement.limbs.size();
    report.mesh_graph = limbs;
    report.scale = size_ / std::max(rig_size(graph_), 1e-12);
    count_ignored(limbs, stance, report);
    report.placement_seconds = seconds_since(placing);

    const auto carrying = std::chrono::steady_clock::now();
    FittedRig fitted = carry(placement, flesh, report);
    report.controllers_seconds = seconds_since(carrying);
    return fitted;
  }

 private:
  const LimbGraph& graph_from(std::uint32_t head) {
    const auto found = graphs_.find(head);
    if (found != graphs_.end()) return found->second;
    const auto start = std::chrono::steady_clock::now();
    LimbGraph graph = mesh_graph(body_.view(), head, options_.graph);
    graph_seconds_ += seconds_since(start);
    return graphs_.emplace(head, std::move(graph)).first->second;
  }

  const ResolutionLevels& levels_from(std::uint32_t head) {
    const auto found = levels_.find(head);
    if (found != levels_.end()) return found->second;
    return levels_.emplace(head, resolution_levels(graph_from(head))).first->second;
  }

  std::uint32_t nearest_vertex(const Vec3d& p) const {
    std::uint32_t best = 0;
    for (std::uint32_t v = 1; v < body_.positions.size(); ++v)
      if ((body_.positions[v].cast<double>() - p).squaredNorm() <
          (body_.positions[best].cast<double>() - p).squaredNorm())
        best = v;
    return best;
  }

  /// Where the head should be if the rig stood so; then the mesh's end that is nearest, and there the vertex
  /// that stands out most the way the rig does. `at_end` receives whether there was such an end.
  std::uint32_t guess_head(const Mat3d& turn, bool& at_end) {
    Eigen::AlignedBox3d rig_box, mesh_box;
    for (const Vec3d& point : graph_.points) rig_box.extend(turn * point);
    for (const Vec3f& position : body_.positions) mesh_box.extend(position.cast<double>());
    const Vec3d head = turn * graph_.points[u(graph_.head)];
    Vec3d expected;
    for (int k = 0; k < 3; ++k) {
      const double rig_width = rig_box.sizes()[k];
      const double share =
          rig_width > 1e-9 * rig_box.diagonal().norm() ? (head[k] - rig_box.min()[k]) / rig_width : 0.5;
      expected[k] = mesh_box.min()[k] + share * mesh_box.sizes()[k];
    }
    if (ends_.empty()) {
      // Ends of the body, seen from one of them; and that one.
      const std::uint32_t start = nearest_vertex(expected);
      const std::vector<double> first = edge_distances(body_.view(), std::span(&start, 1));
      std::uint32_t far = start;
      for (std::uint32_t v = 0; v < first.size(); ++v)
        if (std::isfinite(first[v]) && first[v] > first[far]) far = v;
      const std::vector<double> second = edge_distances(body_.view(), std::span(&far, 1));
      ends_.push_back(far);
      for (const Extremity& end : find_extremities(body_.view(), second, options_.graph.prominence * size_))
        ends_.push_back(end.vertex);
    }
    // A head in the middle of the rig is in the middle of the mesh, too: neither ear is it.
    const double off_middle = graph_.points[u(graph_.head)].x() - (turn.transpose() * rig_box.center()).x();
    const Vec3d across =
        std::abs(off_middle) < 0.02 * rig_box.diagonal().norm() ? Vec3d(turn.col(0)) : Vec3d::Zero();
    std::uint32_t best = nearest_vertex(expected);
    double least = kHeadNear * size_;
    at_end = false;
    for (const std::uint32_t end : ends_) {
      const Vec3d off = body_.positions[end].cast<double>() - expected;
      const double distance = (off + kAcross * across.dot(off) * across).norm();
      if (distance < least) {
        least = distance;
        best = end;
        at_end = true;
      }
    }
    const int next =
        graph_.neighbours[u(graph_.head)].empty() ? graph_.head : graph_.neighbours[u(graph_.head)][0];
    const Vec3d out = turn * (graph_.points[u(graph_.head)] - graph_.points[u(next)]);
    const Vec3d centre = body_.positions[best].cast<double>();
    for (std::uint32_t v = 0; v < body_.positions.size(); ++v) {
      const Vec3d p = body_.positions[v].cast<double>();
      if ((p - centre).norm() < kHeadRound * size_ &&
          out.dot(p) > out.dot(body_.positions[best].cast<double>()))
        best = v;
    }
    return best;
  }

  Stance stand(const Mat3d& turn, std::uint32_t head) {
    Mat3d seen;
    Stance stance = stand_once(turn, head, seen);
    // A character that faces half-way between two sides; but limbs that are apart in a stride turn nobody
    // round.
    if (Eigen::AngleAxisd(Mat3d(seen * turn.transpose())).angle() < kPoseTurn) return stance;
    const Stance turned = stand_once(Mat3d(seen), head, seen);
    return turned.score < kTurned * stance.score ? turned : stance;
  }

  /// `seen` receives the turn that takes the rig's nodes best to those of the mesh.
  Stance stand_once(const Mat3d& turn, std::uint32_t head, Mat3d& seen) {
    Stance stance;
    stance.turn = turn;
    stance.head = head;
    const LimbGraph& limbs = graph_from(head);
    stance.alignment = align_limbs(graph_.graph, limbs, turn);
    // Poirier's matching, where it finds as good a one.
    std::vector<int> matched = match_graphs(graph_.graph, levels_from(head), turn);
    if (alignment_cost(graph_.graph, limbs, turn, matched) <= stance.alignment.cost * kAsGood) {
      stance.alignment.image = std::move(matched);
      stance.by_descriptors = true;
    }
    std::vector<Vec3d> from, to;
    for (std::size_t n = 0; n < stance.alignment.image.size(); ++n)
      if (stance.alignment.image[n] >= 0) {
        from.push_back(graph_.graph.nodes[n].position);
        to.push_back(limbs.node(stance.alignment.image[n]).position);
      }
    const Similarity whole = best_similarity(from, to, turn, size_ / rig_size(graph_));
    seen = whole.turn;
    double left_over = 0;
    for (std::size_t k = 0; k < from.size(); ++k) left_over += (whole(from[k]) - to[k]).squaredNorm();
    left_over = std::sqrt(left_over / std::max<double>(1, static_cast<double>(from.size())));
    int largest = -1;
    stance.difference = stance.alignment.difference +
                        kDropped * dropped_share(stance.alignment.image, kSmallLimb, largest) +
                        kUneven * unevenness(stance.alignment.image, limbs);
    stance.score = stance.difference + kResidual * left_over / size_;
    return stance;
  }

  /// Nodes of the rig that are mirror images of each other, by the names of their bones.
  std::vector<std::pair<int, int>> mirrored_nodes() const {
    std::vector<int> node_at(graph_.points.size(), -1);
    for (std::size_t n = 0; n < graph_.node_point.size(); ++n)
      node_at[u(graph_.node_point[n])] = static_cast<int>(n);
    std::vector<std::pair<int, int>> pairs;
    const std::vector<int> partner = partner_bones();
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      const int other = partner[b];
      if (other <= static_cast<int>(b) || graph_.head_point[b] < 0 || graph_.head_point[u(other)] < 0)
        continue;
      for (const auto& points : {std::pair{graph_.head_point[b], graph_.head_point[u(other)]},
                                 std::pair{graph_.tail_point[b], graph_.tail_point[u(other)]}}) {
        const int left = node_at[u(points.first)], right = node_at[u(points.second)];
        if (left >= 0 && right >= 0 && left != right) pairs.push_back({left, right});
      }
    }
    return pairs;
  }

  /// How much left and right limbs differ in length, whatever they do: the logarithm of their ratio, on
  /// average.
  double unevenness(const std::vector<int>& image, const LimbGraph& limbs) const {
    const std::vector<double> way = distances_from_head(limbs);
    double sum = 0;
    int count = 0;
    for (const auto& [left, right] : mirrored_) {
      const int a = image[u(left)], b = image[u(right)];
      if (a <= 0 || b <= 0) continue;
      sum += std::abs(std::log(way[u(a)] / way[u(b)]));
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }

  /// How much of the rig has no limb, by length, chains shorter than `smallest` of the longest way left out.
  /// `largest` receives the node that ends the longest of them.
  double dropped_share(const std::vector<int>& image, double smallest, int& largest) const {
    const std::vector<double> way = distances_from_head(graph_.graph);
    const double longest = std::max(*std::max_element(way.begin(), way.end()), 1e-12);
    std::vector<char> passed(image.size(), 0);  // has a place, or lies on the way to one that has
    for (std::size_t n = image.size(); n-- > 0;) {
      passed[n] |= image[n] >= 0;
      if (passed[n] && graph_.graph.nodes[n].arc >= 0)
        passed[u(graph_.graph.arc(graph_.graph.nodes[n].arc).from)] = 1;
    }
    double dropped = 0, all = 0, most = 0;
    for (std::size_t n = 1; n < image.size(); ++n) {
      const double length = graph_.graph.length(graph_.graph.nodes[n].arc) / longest;
      if (length < smallest) continue;
      all += length;
      if (passed[n]) continue;
      dropped += length;
      if (length > most) {
        most = length;
        largest = static_cast<int>(n);
      }
    }
    return all > 0 ? dropped / all : 0;
  }

  Stance find_stance() {
    const std::vector<Mat3d> ways = ways_to_stand();
    bool at_end = true;
    const auto head_for = [&](const Mat3d& turn) {
      return options_.head_point ? nearest_vertex(*options_.head_point) : guess_head(turn, at_end);
    };
    // As the files stand, looking to any side.
    const std::uint32_t head = head_for(ways[0]);
    // A head amid the skin, such as on the belly of someone lying, is none, however well the rest fits.
    bool sure = at_end;
    Stance best = stand(ways[0], head);
    for (std::size_t k = 1; k < 4; ++k)
      if (Stance turned = stand(ways[k], head); turned.score < kOtherFacing * best.score) best = turned;
    if (sure && best.score < kSureScore) return best;
    // The other way round, then lying down: with another head.
    Stance other = best;
    for (std::size_t k = 0; k < ways.size(); ++k) {
      if (k == 4 && sure && std::min(other.score, best.score) < kGoodScore) break;
      if (Stance stance = stand(ways[k], head_for(ways[k])); stance.score < other.score) {
        other = stance;
        sure = at_end;
      }
    }
    return other.score < kOtherStance * best.score ? other : best;
  }

  /// Names the bones of a chain of the rig.
  std::string chain_name(int node) const {
    const std::vector<int>& chain = graph_.chains[u(graph_.graph.node(node).arc)];
    std::string first, last;
    for (std::size_t k = 0; k + 1 < chain.size(); ++k)
      for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
        const int head = graph_.head_point[b], tail = graph_.tail_point[b];
        if ((head == chain[k] && tail == chain[k + 1]) || (tail == chain[k] && head == chain[k + 1])) {
          if (first.empty()) first = rig_.bones[b].name;
          last = rig_.bones[b].name;
        }
      }
    if (first.empty()) return "a gap between two bones";
    return first == last ? fmt::format("'{}'", first) : fmt::format("'{}' to '{}'", first, last);
  }

  void refuse_insane(const Stance& stance, const LimbGraph& limbs) const {
    const std::vector<double> way = distances_from_head(graph_.graph);
    int worst = -1;
    const double dropped = dropped_share(stance.alignment.image, kSmallLimb, worst);
    std::size_t ends = 0;
    for (std::size_t n = 1; n < limbs.nodes.size(); ++n) ends += limbs.nodes[n].arcs.empty();
    const char* hint =
        "; is this the rig for this character? The mesh's head can be named with a point, the rig's with a "
        "bone";
    if (dropped > kMostDropped && worst > 0)
      throw Error(fmt::format(
          "rig '{}': no limb of the mesh fits the bones {} ({} ends of limbs found, {:.0f} % of the "
          "rig left over){}",
          rig_.name, chain_name(worst), ends, 100 * dropped, hint));
    if (stance.difference > kWorstDifference) {
      // The chain that fits worst.
      const std::vector<double> mesh_way = distances_from_head(limbs);
      double most = 0;
      for (int n = 1; n < static_cast<int>(graph_.graph.nodes.size()); ++n) {
        const int from = graph_.graph.arc(graph_.graph.node(n).arc).from;
        const int a = stance.alignment.image[u(from)], b = stance.alignment.image[u(n)];
        if (a < 0 || b < 0) continue;
        const double ratio = std::abs(
            std::log((mesh_way[u(b)] - mesh_way[u(a)]) / std::max(1e-12, way[u(n)] - way[u(from)]) / size_));
        if (ratio > most) {
          most = ratio;
          worst = n;
        }
      }
      throw Error(
          fmt::format("rig '{}': its limbs and the mesh's differ too much, most of all at the bones {} "
                      "(score {:.2f}, at most {:.2f} is sane){}",
                      rig_.name, worst > 0 ? chain_name(worst) : "of the head", stance.difference,
                      kWorstDifference, hint));
    }
  }

  void count_ignored(const LimbGraph& limbs, const Stance& stance, FitReport& report) const {
    std::vector<char> used(limbs.nodes.size(), 0);
    for (const int m : stance.alignment.image)
      for (int n = m; n >= 0 && !used[u(n)];
           n = limbs.node(n).arc >= 0 ? limbs.arc(limbs.node(n).arc).from : -1)
        used[u(n)] = 1;
    for (std::size_t n = 1; n < limbs.nodes.size(); ++n)
      report.ignored_limbs += limbs.nodes[n].arcs.empty() && !used[n];
  }

  /// Bones that end beside a chain, such as a wrist's in the palm: their tails go with the joints round them.
  void place_tails(LimbPlacement& placement, const Mat3d& turn) const {
    const std::vector<char> known = placement.placed;
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      const int head = graph_.head_point[b], tail = graph_.tail_point[b];
      if (head < 0 || !known[u(head)] || placement.placed[u(tail)]) continue;
      std::vector<Vec3d> from, to;
      std::vector<int> reached{head};
      std::vector<char> seen(graph_.points.size(), 0);
      seen[u(head)] = 1;
      for (std::size_t k = 0; k < reached.size() && reached.size() < 24; ++k) {
        const int p = reached[k];
        if (known[u(p)]) {
          from.push_back(graph_.points[u(p)]);
          to.push_back(placement.points[u(p)]);
          if (from.size() >= 8) break;
        }
        for (const int next : graph_.neighbours[u(p)])
          if (!seen[u(next)]) {
            seen[u(next)] = 1;
            reached.push_back(next);
          }
      }
      placement.points[u(tail)] =
          carried(from, to, graph_.points[u(tail)], turn, size_ / std::max(rig_size(graph_), 1e-12));
      placement.placed[u(tail)] = 1;
    }
  }

  /// Per bone the one on the other side, by its name; itself where it has no side, -1 where there is none.
  std::vector<int> partner_bones() const {
    Skeleton names;
    for (const RigBone& bone : rig_.bones) names.joints.push_back({bone.name, -1, {}, bone.deforms});
    return mirror_joints(names);
  }

  std::optional<MirrorPlane> symmetrise(LimbPlacement& placement, const OrientedSurface& flesh) const {
    std::vector<SymmetricPoints> pairs;
    const std::vector<int> partner = partner_bones();
    std::vector<char> taken(graph_.points.size(), 0);
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      const int other = partner[b];
      if (other < 0 || graph_.head_point[b] < 0 || graph_.head_point[u(other)] < 0) continue;
      for (const auto& [left, right] : {std::pair{graph_.head_point[b], graph_.head_point[u(other)]},
                                        std::pair{graph_.tail_point[b], graph_.tail_point[u(other)]}}) {
        if (taken[u(left)] || taken[u(right)] || !placement.placed[u(left)] || !placement.placed[u(right)])
          continue;
        taken[u(left)] = taken[u(right)] = 1;
        // Which is which does not matter: the plane has no sides.
        pairs.push_back({left, right});
      }
    }
    return make_symmetric(body_.view(), flesh.query(), pairs, placement.points);
  }

  FittedRig carry(const LimbPlacement& placement, const OrientedSurface& flesh, FitReport& report) const {
    const std::size_t count = rig_.bones.size();
    FittedRig fitted{rig_, std::vector<BoneFate>(count, BoneFate::carried)};
    std::vector<char> placed(count, 0);
    for (std::size_t b = 0; b < count; ++b) {
      const int head = graph_.head_point[b], tail = graph_.tail_point[b];
      if (head < 0 || !placement.placed[u(head)] || !placement.placed[u(tail)]) continue;
      placed[b] = 1;
      fitted.fate[b] = BoneFate::placed;
      fitted.rig.bones[b].head = placement.points[u(head)];
      fitted.rig.bones[b].tail = placement.points[u(tail)];
    }
    orient_bones(rig_, placed, fitted.rig);
    const std::vector<ControllerLink> links = link_controllers(rig_);
    // Small limbs that the mesh's graph does not show, such as a jaw, go along where they then lie in flesh;
    // a finger that the mesh does not have would hang in the air.
    const std::vector<int> parents = deform_parents(rig_);
    FittedRig tried = fitted;
    carry_controllers(rig_, links, tried);
    std::vector<std::vector<std::size_t>> loose(count);  // bones without a limb, by the first of them
    std::vector<int> first(count, -1);
    for (const int b : parents_first(rig_)) {
      if (!rig_.bones[u(b)].deforms || placed[u(b)]) continue;
      const int parent = parents[u(b)];
      first[u(b)] = parent >= 0 && first[u(parent)] >= 0 ? first[u(parent)] : b;
      loose[u(first[u(b)])].push_back(u(b));
    }
    for (const std::vector<std::size_t>& bones : loose) {
      if (bones.empty()) continue;
      std::size_t inside = 0;
      for (const std::size_t b : bones) {
        inside += lies_in_flesh(tried.rig, bones[0], parents, placed, tried.rig.bones[b].head, flesh);
        inside += lies_in_flesh(tried.rig, bones[0], parents, placed, tried.rig.bones[b].tail, flesh);
      }
      const bool in_flesh = graph_.face[bones[0]] ||
                            static_cast<double>(inside) >= kInFlesh * 2 * static_cast<double>(bones.size());
      for (const std::size_t b : bones) {
        fitted.fate[b] = in_flesh ? BoneFate::carried : BoneFate::dropped;
        (in_flesh ? report.carried : report.dropped).push_back(rig_.bones[b].name);
      }
    }
    carry_controllers(rig_, links, fitted);
    return fitted;
  }

  /// Whether a point is hardly farther from the placed bone that carries it than the skin is there: a face's
  /// bones are in and on the head, a finger's beyond the palm.
  static bool lies_in_flesh(const ControlRig& fitted, std::size_t bone, const std::vector<int>& parents,
                            const std::vector<char>& placed, const Vec3d& p, const OrientedSurface& flesh) {
    int above = parents[bone];
    while (above >= 0 && !placed[u(above)]) above = parents[u(above)];
    if (above < 0) return flesh.contains(p);
    const RigBone& carrier = fitted.bones[u(above)];
    const Vec3d from = nearest_on_segment(carrier.head, carrier.tail, p);
    const Vec3d way = p - from;
    return way.norm() < 1e-12 || way.norm() <= kOnSkin * flesh.reach(from, way.normalized());
  }

  MeshView mesh_;
  const ControlRig& rig_;
  const FitOptions& options_;
  BodySurface body_;
  RigGraph graph_;
  double size_ = 1;
  double graph_seconds_ = 0;
  std::map<std::uint32_t, LimbGraph> graphs_;  // by head
  std::map<std::uint32_t, ResolutionLevels> levels_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::pair<int, int>> mirrored_;  // nodes of the rig
};

}  // namespace

FittedRig fit_rig(const MeshView& mesh, const ControlRig& rig, const FitOptions& options, FitReport* report) {
  check_rig(rig, "rig");
  FitReport own;
  return Fitter(mesh, rig, options).run(report != nullptr ? *report : own);
}

}  // namespace sinew
