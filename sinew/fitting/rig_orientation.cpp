#include <sinew/fitting/rig_orientation.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <sinew/fitting/extremities.h>
#include <sinew/fitting/graph_matching.h>
#include <sinew/fitting/rig_bones.h>
#include <sinew/fitting/similarity.h>
#include <sinew/fitting/symmetrise.h>

namespace sinew {

namespace {

/// By hand, on the built-in characters, turned, lying and in frames of their clips (docs/fitting.md, "How
/// well").
struct OrientationParams {
  // Where the mesh's head is.
  double head_distance = 0.2;  ///< from where it is expected to its limb's end, as a share of the mesh's size
  double head_radius = 0.06;   ///< round that end, in which the outermost vertex is the head; likewise
  double across_weight = 3;    ///< how much more distances from the middle plane count
  double middle_tolerance = 0.02;  ///< share of the rig's size: a head nearer to the middle plane is on it

  // Weights in OrientationHypothesis::score.
  double residual_weight = 4;    ///< of the best similarity's residual, per size of the mesh
  double dropped_weight = 4;     ///< of the share of the rig that is dropped
  double unevenness_weight = 4;  ///< of the difference of left and right, log of the ratio of lengths

  // Scores that end the search.
  double sure_score = 1.35;  ///< below, no other head is tried
  double good_score = 1.78;  ///< below, no orientation lying down

  // By which factor another hypothesis must be better than that of the files.
  double other_upright = 0.85;  ///< another head, or lying down
  double other_facing = 0.96;   ///< turned about y by a multiple of 90°
  double refined = 0.9;         ///< turned to the best similarity's rotation

  double equal_cost = 1.001;     ///< costs that differ by less than this factor are equal
  double min_refinement = 0.25;  ///< radians: smaller rotations come from the pose, as of limbs in a stride
};
constexpr OrientationParams kOrientation;

/// The 24 rotations that map axes to axes: the identity, the other turns about y, then the rest.
std::vector<Mat3d> axis_aligned_rotations() {
  std::vector<Mat3d> rotations;
  const auto turn = [](double quarters, const Vec3d& axis) {
    Mat3d m = Eigen::AngleAxisd(quarters * 1.5707963267948966, axis).toRotationMatrix();
    return Mat3d(m.array().round().matrix());
  };
  for (const Mat3d& tilt : {Mat3d(Mat3d::Identity()), turn(1, Vec3d::UnitX()), turn(-1, Vec3d::UnitX()),
                            turn(1, Vec3d::UnitZ()), turn(-1, Vec3d::UnitZ()), turn(2, Vec3d::UnitX())})
    for (const double yaw : {0.0, 2.0, 1.0, 3.0}) rotations.push_back(tilt * turn(yaw, Vec3d::UnitY()));
  return rotations;
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
    const std::vector<Mat3d> rotations = axis_aligned_rotations();
    bool at_end = true;
    const auto head_for = [&](const Mat3d& rotation) {
      return head_point_ ? nearest_vertex(*head_point_) : guess_head(rotation, at_end);
    };
    // Upright as in the files, facing any side.
    const std::uint32_t head = head_for(rotations[0]);
    // A head that is no limb's end, such as on the belly of someone lying, is none, however well the rest
    // fits.
    bool sure = at_end;
    OrientationHypothesis best = evaluate(rotations[0], head);
    for (std::size_t k = 1; k < 4; ++k)
      if (OrientationHypothesis turned = evaluate(rotations[k], head);
          turned.score < kOrientation.other_facing * best.score)
        best = turned;
    if (sure && best.score < kOrientation.sure_score) return best;
    // Upside down, then lying down: with another head.
    OrientationHypothesis other = best;
    for (std::size_t k = 0; k < rotations.size(); ++k) {
      if (k == 4 && sure && std::min(other.score, best.score) < kOrientation.good_score) break;
      if (OrientationHypothesis hypothesis = evaluate(rotations[k], head_for(rotations[k]));
          hypothesis.score < other.score) {
        other = hypothesis;
        sure = at_end;
      }
    }
    return other.score < kOrientation.other_upright * best.score ? other : best;
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

  /// Where the head should be if the rig were oriented so; then the mesh's limb end that is nearest, and
  /// there the vertex that is outermost in the direction of the rig's head. `at_end` receives whether there
  /// was such an end.
  std::uint32_t guess_head(const Mat3d& rotation, bool& at_end) {
    Eigen::AlignedBox3d rig_box;
    for (const Vec3d& point : graph_.points) rig_box.extend(rotation * point);
    const Vec3d expected = expected_head(rotation, rig_box);
    if (limb_ends_.empty()) find_limb_ends(expected);
    // A head in the middle of the rig is in the middle of the mesh, too: neither ear is it.
    const double off_middle = graph_.points[graph_.head].x() - (rotation.transpose() * rig_box.center()).x();
    const bool in_middle = std::abs(off_middle) < kOrientation.middle_tolerance * rig_box.diagonal().norm();
    const Vec3d across = in_middle ? Vec3d(rotation.col(0)) : Vec3d::Zero();
    std::uint32_t best = nearest_vertex(expected);
    double least = kOrientation.head_distance * size_;
    at_end = false;
    for (const std::uint32_t end : limb_ends_) {
      const Vec3d off = positions_[end].cast<double>() - expected;
      const double distance = (off + kOrientation.across_weight * across.dot(off) * across).norm();
      if (distance < least) {
        least = distance;
        best = end;
        at_end = true;
      }
    }
    const std::vector<PointId>& neighbours = graph_.neighbours[graph_.head];
    const PointId next = neighbours.empty() ? graph_.head : neighbours[0];
    const Vec3d out = rotation * (graph_.points[graph_.head] - graph_.points[next]);
    const Vec3d centre = positions_[best].cast<double>();
    for (std::uint32_t v = 0; v < positions_.size(); ++v) {
      const Vec3d p = positions_[v].cast<double>();
      if ((p - centre).norm() < kOrientation.head_radius * size_ &&
          out.dot(p) > out.dot(positions_[best].cast<double>()))
        best = v;
    }
    return best;
  }

  /// The place in the mesh's box that corresponds to the head's place in the rig's box.
  Vec3d expected_head(const Mat3d& rotation, const Eigen::AlignedBox3d& rig_box) const {
    Eigen::AlignedBox3d mesh_box;
    for (const Vec3f& position : positions_) mesh_box.extend(position.cast<double>());
    const Vec3d head = rotation * graph_.points[graph_.head];
    Vec3d expected;
    for (int k = 0; k < 3; ++k) {
      const double rig_width = rig_box.sizes()[k];
      const double share =
          rig_width > 1e-9 * rig_box.diagonal().norm() ? (head[k] - rig_box.min()[k]) / rig_width : 0.5;
      expected[k] = mesh_box.min()[k] + share * mesh_box.sizes()[k];
    }
    return expected;
  }

  /// The extremities as seen from the one that is farthest from a point; and that one.
  void find_limb_ends(const Vec3d& point) {
    const std::uint32_t start = nearest_vertex(point);
    const std::vector<double> first = edge_distances(meshes_.mesh(), std::span(&start, 1));
    std::uint32_t far = start;
    for (std::uint32_t v = 0; v < first.size(); ++v)
      if (std::isfinite(first[v]) && first[v] > first[far]) far = v;
    const std::vector<double> second = edge_distances(meshes_.mesh(), std::span(&far, 1));
    limb_ends_.push_back(far);
    for (const Extremity& end :
         find_extremities(meshes_.mesh(), second, meshes_.options().prominence * size_))
      limb_ends_.push_back(end.vertex);
  }

  OrientationHypothesis evaluate(const Mat3d& rotation, std::uint32_t head) {
    Mat3d refined;
    OrientationHypothesis hypothesis = evaluate_once(rotation, head, refined);
    // A character that faces half-way between two sides; but limbs that are apart in a stride are a pose.
    if (Eigen::AngleAxisd(Mat3d(refined * rotation.transpose())).angle() < kOrientation.min_refinement)
      return hypothesis;
    const OrientationHypothesis turned = evaluate_once(Mat3d(refined), head, refined);
    return turned.score < kOrientation.refined * hypothesis.score ? turned : hypothesis;
  }

  /// `refined` receives the rotation that takes the rig's nodes best to those of the mesh.
  OrientationHypothesis evaluate_once(const Mat3d& rotation, std::uint32_t head, Mat3d& refined) {
    OrientationHypothesis hypothesis;
    hypothesis.mesh_from_rig = rotation;
    hypothesis.head = head;
    const LimbGraph& limbs = meshes_.graph(head);
    hypothesis.alignment = align_limbs(graph_.graph, limbs, rotation);
    // Poirier's matching, where it finds one that is as good.
    NodeMap matched = match_graphs(graph_.graph, meshes_.levels(head), rotation);
    if (alignment_cost(graph_.graph, limbs, rotation, matched) <=
        hypothesis.alignment.cost * kOrientation.equal_cost) {
      hypothesis.alignment.node_map = std::move(matched);
      hypothesis.by_descriptors = true;
    }
    const NodeMap& node_map = hypothesis.alignment.node_map;
    std::vector<Vec3d> from, to;
    for (const NodeId n : node_map.ids())
      if (node_map[n].valid()) {
        from.push_back(graph_.graph.nodes[n].position);
        to.push_back(limbs.nodes[node_map[n]].position);
      }
    const Similarity whole = best_similarity(from, to, rotation, size_ / rig_size(graph_));
    refined = whole.rotation;
    double residual = 0;
    for (std::size_t k = 0; k < from.size(); ++k) residual += (whole(from[k]) - to[k]).squaredNorm();
    residual = std::sqrt(residual / std::max<double>(1, static_cast<double>(from.size())));
    hypothesis.difference = hypothesis.alignment.difference +
                            kOrientation.dropped_weight * dropped_share(graph_.graph, node_map, kSmallLimb) +
                            kOrientation.unevenness_weight * unevenness(node_map, limbs);
    hypothesis.score = hypothesis.difference + kOrientation.residual_weight * residual / size_;
    return hypothesis;
  }

  /// Nodes of the rig that are mirror images of each other, by the names of their bones.
  std::vector<std::pair<NodeId, NodeId>> mirrored_nodes() const {
    PerPoint<NodeId> node_at(graph_.points.size());
    for (const NodeId n : graph_.node_point.ids()) node_at[graph_.node_point[n]] = n;
    std::vector<std::pair<NodeId, NodeId>> pairs;
    const PerBone<BoneId> partner = mirror_bones(rig_);
    for (const BoneId b : bone_ids(rig_)) {
      const BoneId other = partner[b];
      if (other <= b || !graph_.head_point[b].valid() || !graph_.head_point[other].valid()) continue;
      for (const auto& points : {std::pair{graph_.head_point[b], graph_.head_point[other]},
                                 std::pair{graph_.tail_point[b], graph_.tail_point[other]}}) {
        const NodeId left = node_at[points.first], right = node_at[points.second];
        if (left.valid() && right.valid() && left != right) pairs.push_back({left, right});
      }
    }
    return pairs;
  }

  /// How much left and right limbs differ in length, whatever their pose: the logarithm of their ratio, on
  /// average.
  double unevenness(const NodeMap& node_map, const LimbGraph& limbs) const {
    const PerNode<double> distances = distances_from_head(limbs);
    double sum = 0;
    int count = 0;
    for (const auto& [left, right] : mirrored_) {
      const NodeId a = node_map[left], b = node_map[right];
      if (a <= LimbGraph::kHead || b <= LimbGraph::kHead) continue;  // the head or none
      sum += std::abs(std::log(std::max(distances[a], 1e-12) / std::max(distances[b], 1e-12)));
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
  std::vector<std::uint32_t> limb_ends_;             // vertices of the mesh
  std::vector<std::pair<NodeId, NodeId>> mirrored_;  // nodes of the rig
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

double dropped_share(const LimbGraph& rig, const NodeMap& node_map, double min_length, NodeId* largest) {
  const PerNode<double> distances = distances_from_head(rig);
  const double longest = std::max(*std::max_element(distances.begin(), distances.end()), 1e-12);
  PerNode<char> kept(node_map.size(), 0);  // the node or one below it has a limb
  for (const NodeId n : reversed(node_map.ids())) {
    kept[n] |= node_map[n].valid();
    if (const NodeId parent = rig.parent(n); kept[n] && parent.valid()) kept[parent] = 1;
  }
  double dropped = 0, all = 0, most = 0;
  for (const NodeId n : rig.below_head()) {
    const double length = rig.length(rig.nodes[n].parent_arc) / longest;
    if (length < min_length) continue;
    all += length;
    if (kept[n]) continue;
    dropped += length;
    if (length > most) {
      most = length;
      if (largest != nullptr) *largest = n;
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
