#include <sinew/fitting/rig_orientation.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include <sinew/fitting/extremities.h>
#include <sinew/fitting/graph_matching.h>
#include <sinew/fitting/similarity.h>
#include <sinew/fitting/symmetrise.h>

namespace sinew {

namespace {

// Shares of the mesh's size: how far from where it is expected the head's end may be found, and round it the
// vertex that stands out most.
constexpr double kHeadNear = 0.2, kHeadRound = 0.06;
// How much more an end's distance from the middle plane counts, when the head is looked for.
constexpr double kAcross = 3;
// What counts how much in OrientationHypothesis::score: what the best similarity leaves over, chains that are
// dropped, and how uneven left and right are.
constexpr double kResidual = 4, kDropped = 4, kUneven = 4;
// Scores: below the first nobody looks for another head, below the second not for one that lies down.
constexpr double kSureScore = 1.35, kGoodScore = 1.78;
// Another way of standing, or of facing, must be better than the way the files stand by this factor.
constexpr double kOtherUpright = 0.85, kOtherFacing = 0.96, kTurned = 0.9;
// Costs that differ by less than this factor are the same.
constexpr double kAsGood = 1.001;
// Turns below this angle come from the pose, not from the way a character faces.
constexpr double kPoseTurn = 0.25;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

/// The 24 ways to put a box upright: as it stands, the other turns about y, then the rest.
std::vector<Mat3d> axis_aligned_rotations() {
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

class OrientationSearch {
 public:
  OrientationSearch(const ControlRig& rig, const RigGraph& graph, MeshGraphs& meshes,
                    const std::optional<Vec3d>& head_point)
      : rig_(rig),
        graph_(graph),
        meshes_(meshes),
        positions_(meshes.mesh().positions),
        head_point_(head_point),
        size_(mesh_size(meshes.mesh())),
        mirrored_(mirrored_nodes()) {}

  OrientationHypothesis find() {
    const std::vector<Mat3d> ways = axis_aligned_rotations();
    bool at_end = true;
    const auto head_for = [&](const Mat3d& turn) {
      return head_point_ ? nearest_vertex(*head_point_) : guess_head(turn, at_end);
    };
    // As the files stand, looking to any side.
    const std::uint32_t head = head_for(ways[0]);
    // A head amid the skin, such as on the belly of someone lying, is none, however well the rest fits.
    bool sure = at_end;
    OrientationHypothesis best = evaluate(ways[0], head);
    for (std::size_t k = 1; k < 4; ++k)
      if (OrientationHypothesis turned = evaluate(ways[k], head); turned.score < kOtherFacing * best.score)
        best = turned;
    if (sure && best.score < kSureScore) return best;
    // The other way round, then lying down: with another head.
    OrientationHypothesis other = best;
    for (std::size_t k = 0; k < ways.size(); ++k) {
      if (k == 4 && sure && std::min(other.score, best.score) < kGoodScore) break;
      if (OrientationHypothesis hypothesis = evaluate(ways[k], head_for(ways[k]));
          hypothesis.score < other.score) {
        other = hypothesis;
        sure = at_end;
      }
    }
    return other.score < kOtherUpright * best.score ? other : best;
  }

 private:
  std::uint32_t nearest_vertex(const Vec3d& p) const {
    std::uint32_t best = 0;
    for (std::uint32_t v = 1; v < positions_.size(); ++v)
      if ((positions_[v].cast<double>() - p).squaredNorm() <
          (positions_[best].cast<double>() - p).squaredNorm())
        best = v;
    return best;
  }

  /// Where the head should be if the rig stood so; then the mesh's end that is nearest, and there the vertex
  /// that stands out most the way the rig does. `at_end` receives whether there was such an end.
  std::uint32_t guess_head(const Mat3d& turn, bool& at_end) {
    Eigen::AlignedBox3d rig_box, mesh_box;
    for (const Vec3d& point : graph_.points) rig_box.extend(turn * point);
    for (const Vec3f& position : positions_) mesh_box.extend(position.cast<double>());
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
      const std::vector<double> first = edge_distances(meshes_.mesh(), std::span(&start, 1));
      std::uint32_t far = start;
      for (std::uint32_t v = 0; v < first.size(); ++v)
        if (std::isfinite(first[v]) && first[v] > first[far]) far = v;
      const std::vector<double> second = edge_distances(meshes_.mesh(), std::span(&far, 1));
      ends_.push_back(far);
      for (const Extremity& end :
           find_extremities(meshes_.mesh(), second, meshes_.options().prominence * size_))
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
      const Vec3d off = positions_[end].cast<double>() - expected;
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
    const Vec3d centre = positions_[best].cast<double>();
    for (std::uint32_t v = 0; v < positions_.size(); ++v) {
      const Vec3d p = positions_[v].cast<double>();
      if ((p - centre).norm() < kHeadRound * size_ && out.dot(p) > out.dot(positions_[best].cast<double>()))
        best = v;
    }
    return best;
  }

  OrientationHypothesis evaluate(const Mat3d& turn, std::uint32_t head) {
    Mat3d seen;
    OrientationHypothesis hypothesis = evaluate_once(turn, head, seen);
    // A character that faces half-way between two sides; but limbs that are apart in a stride turn nobody
    // round.
    if (Eigen::AngleAxisd(Mat3d(seen * turn.transpose())).angle() < kPoseTurn) return hypothesis;
    const OrientationHypothesis turned = evaluate_once(Mat3d(seen), head, seen);
    return turned.score < kTurned * hypothesis.score ? turned : hypothesis;
  }

  /// `seen` receives the turn that takes the rig's nodes best to those of the mesh.
  OrientationHypothesis evaluate_once(const Mat3d& turn, std::uint32_t head, Mat3d& seen) {
    OrientationHypothesis hypothesis;
    hypothesis.mesh_from_rig = turn;
    hypothesis.head = head;
    const LimbGraph& limbs = meshes_.graph(head);
    hypothesis.alignment = align_limbs(graph_.graph, limbs, turn);
    // Poirier's matching, where it finds as good a one.
    std::vector<int> matched = match_graphs(graph_.graph, meshes_.levels(head), turn);
    if (alignment_cost(graph_.graph, limbs, turn, matched) <= hypothesis.alignment.cost * kAsGood) {
      hypothesis.alignment.image = std::move(matched);
      hypothesis.by_descriptors = true;
    }
    std::vector<Vec3d> from, to;
    for (std::size_t n = 0; n < hypothesis.alignment.image.size(); ++n)
      if (hypothesis.alignment.image[n] >= 0) {
        from.push_back(graph_.graph.nodes[n].position);
        to.push_back(limbs.node(hypothesis.alignment.image[n]).position);
      }
    const Similarity whole = best_similarity(from, to, turn, size_ / rig_size(graph_));
    seen = whole.turn;
    double left_over = 0;
    for (std::size_t k = 0; k < from.size(); ++k) left_over += (whole(from[k]) - to[k]).squaredNorm();
    left_over = std::sqrt(left_over / std::max<double>(1, static_cast<double>(from.size())));
    hypothesis.difference = hypothesis.alignment.difference +
                            kDropped * dropped_share(graph_.graph, hypothesis.alignment.image, kSmallLimb) +
                            kUneven * unevenness(hypothesis.alignment.image, limbs);
    hypothesis.score = hypothesis.difference + kResidual * left_over / size_;
    return hypothesis;
  }

  /// Nodes of the rig that are mirror images of each other, by the names of their bones.
  std::vector<std::pair<int, int>> mirrored_nodes() const {
    std::vector<int> node_at(graph_.points.size(), -1);
    for (std::size_t n = 0; n < graph_.node_point.size(); ++n)
      node_at[u(graph_.node_point[n])] = static_cast<int>(n);
    std::vector<std::pair<int, int>> pairs;
    const std::vector<int> partner = partner_bones(rig_);
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
      sum += std::abs(std::log(std::max(way[u(a)], 1e-12) / std::max(way[u(b)], 1e-12)));
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }

  const ControlRig& rig_;
  const RigGraph& graph_;
  MeshGraphs& meshes_;
  std::span<const Vec3f> positions_;
  std::optional<Vec3d> head_point_;
  double size_;
  std::vector<std::uint32_t> ends_;            // of the mesh's limbs
  std::vector<std::pair<int, int>> mirrored_;  // nodes of the rig
};

}  // namespace

const LimbGraph& MeshGraphs::graph(std::uint32_t head) {
  const auto found = graphs_.find(head);
  if (found != graphs_.end()) return found->second;
  const auto start = std::chrono::steady_clock::now();
  LimbGraph graph = mesh_graph(mesh_, head, options_);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return graphs_.emplace(head, std::move(graph)).first->second;
}

const ResolutionLevels& MeshGraphs::levels(std::uint32_t head) {
  const auto found = levels_.find(head);
  if (found != levels_.end()) return found->second;
  return levels_.emplace(head, resolution_levels(graph(head))).first->second;
}

OrientationHypothesis find_orientation(const ControlRig& rig, const RigGraph& graph, MeshGraphs& meshes,
                                       const std::optional<Vec3d>& head_point) {
  return OrientationSearch(rig, graph, meshes, head_point).find();
}

double dropped_share(const LimbGraph& rig, const std::vector<int>& image, double smallest, int* largest) {
  const std::vector<double> way = distances_from_head(rig);
  const double longest = std::max(*std::max_element(way.begin(), way.end()), 1e-12);
  std::vector<char> passed(image.size(), 0);  // has a place, or lies on the way to one that has
  for (std::size_t n = image.size(); n-- > 0;) {
    passed[n] |= image[n] >= 0;
    if (passed[n] && rig.nodes[n].arc >= 0) passed[u(rig.arc(rig.nodes[n].arc).from)] = 1;
  }
  double dropped = 0, all = 0, most = 0;
  for (std::size_t n = 1; n < image.size(); ++n) {
    const double length = rig.length(rig.nodes[n].arc) / longest;
    if (length < smallest) continue;
    all += length;
    if (passed[n]) continue;
    dropped += length;
    if (length > most) {
      most = length;
      if (largest != nullptr) *largest = static_cast<int>(n);
    }
  }
  return all > 0 ? dropped / all : 0;
}

double rig_size(const RigGraph& rig) {
  Eigen::AlignedBox3d box;
  for (const Vec3d& point : rig.points) box.extend(point);
  return box.diagonal().norm();
}

}  // namespace sinew
