#include <sinew/authoring/suggest_wrinkles.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>

#include <sinew/character/performer.h>
#include <sinew/core/index.h>
#include <sinew/effects/compression.h>
#include <sinew/geometry/one_rings.h>

namespace sinew {

namespace {

/// How tools are found. All by hand, on the built-in characters, the trousers and human.glb
/// (docs/wrinkles.md).
struct WrinkleSuggestionTuning {
  /// Share of its length that skin must lose for a tool.
  double least_compression = 0.16;
  /// The same, of the strongest compression on the character.
  double least_share = 0.3;
  /// Share of the vertices under a tool that others may have covered.
  double most_covered = 0.25;
  /// Skin of one place: compressed by at least this share of its peak, ...
  double share_of_peak = 0.4;
  /// ... in the same direction (cosine, of a line), ...
  double same_direction = 0.6;
  /// ... and facing the same side (cosine of the normals).
  double same_side = 0.2;
  /// Sweeps over the compression before peaks are looked for.
  int smoothings = 3;
  /// Ends reach beyond what folds by this share of its length.
  double beyond = 0.3;
  /// A tool is this many times as wide as what folds.
  double wider = 1.3;
  /// A place ends this far from its peak, in diagonals of the character: left and right stay apart.
  double reach = 0.07;
  /// Folds are this many times longer than wide.
  double slenderness = 5;
  /// Their height, as a share of what skin that gives nothing would have.
  double strength = 0.7;
  /// Per tool.
  int fewest_folds = 2;
  /// Per tool.
  int most_folds = 6;
  /// Of a place.
  std::size_t fewest_vertices = 6;
  /// Length at which folds begin, at most, in lengths at rest.
  double most_extension = 1.25;
};
constexpr WrinkleSuggestionTuning kSuggestion;

/// What was seen of a vertex in the frame in which it was compressed the most.
struct Peak {
  Compression compression;
  int frame = 0;
};

/// Amounts as their neighbours have them on average: single squeezed triangles are noise.
void smooth_amounts(const OneRings& rings, std::vector<Compression>& values) {
  std::vector<double> next(values.size());
  for (int round = 0; round < kSuggestion.smoothings; ++round) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      double sum = values[v].amount;
      for (const std::uint32_t n : rings[v]) sum += values[n].amount;
      next[v] = sum / static_cast<double>(rings[v].size() + 1);
    }
    for (std::size_t v = 0; v < values.size(); ++v) values[v].amount = next[v];
  }
}

class WrinkleSuggester {
 public:
  WrinkleSuggester(const std::shared_ptr<const Character>& character, const WrinkleFrames& frames,
                   const Progress& progress)
      : character_(*character),
        rest_{character->rest(), character->triangles()},
        rings_(one_rings(character->rest().size(), character->triangles())),
        peaks_(character->rest().size()),
        taken_(character->rest().size(), 0),
        covered_(character->rest().size(), 0) {
    Eigen::AlignedBox3f box;
    for (const Triangle& t : rest_.triangles)
      for (const std::uint32_t v : t) box.extend(rest_.positions[v]);
    reach_ = box.isEmpty() ? 0 : kSuggestion.reach * static_cast<double>(box.diagonal().norm());
    normals_.assign(rest_.positions.size(), Vec3d::Zero());
    for (const Triangle& t : rest_.triangles) {
      const Vec3d a = rest_.positions[t[0]].cast<double>();
      const Vec3d normal =
          (rest_.positions[t[1]].cast<double>() - a).cross(rest_.positions[t[2]].cast<double>() - a);
      for (const std::uint32_t v : t) normals_[v] += normal;
    }
    for (Vec3d& normal : normals_) normal.normalize();
    Performer performer(character);
    Pose pose = character->rest_pose();
    for (int frame = 0; frame < frames.count; ++frame) {
      frames.set_pose(frame, pose);
      performer.perform(pose, frames.seconds);
      const auto now = performer.welded_positions();
      std::vector<Compression> compression = surface_compression(rest_, now);
      smooth_amounts(rings_, compression);
      for (std::size_t v = 0; v < peaks_.size(); ++v)
        if (compression[v].amount > peaks_[v].compression.amount) peaks_[v] = {compression[v], frame};
      report_progress(progress, (frame + 1.0) / frames.count);
    }
  }

  std::vector<WrinkleChoice> suggest(std::size_t most) {
    std::vector<std::uint32_t> order(peaks_.size());
    for (std::uint32_t v = 0; v < order.size(); ++v) order[v] = v;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return peaks_[a].compression.amount > peaks_[b].compression.amount;
    });
    std::vector<WrinkleChoice> tools;
    const double least = order.empty()
                             ? 0
                             : std::max(kSuggestion.least_compression,
                                        kSuggestion.least_share * peaks_[order[0]].compression.amount);
    for (const std::uint32_t v : order) {
      if (tools.size() == most || peaks_[v].compression.amount < least) break;
      if (taken_[v] || peaks_[v].compression.direction.isZero()) continue;
      WrinkleChoice tool;
      if (make_tool(v, tool)) tools.push_back(std::move(tool));
    }
    return tools;
  }

 private:
  /// The vertices that fold together with a peak.
  std::vector<std::uint32_t> place_round(std::uint32_t peak) {
    const Compression& at_peak = peaks_[peak].compression;
    std::vector<std::uint32_t> place{peak};
    std::vector<char> seen(peaks_.size(), 0);
    seen[peak] = 1;
    for (std::size_t i = 0; i < place.size(); ++i)
      for (const std::uint32_t n : rings_[place[i]]) {
        const Compression& there = peaks_[n].compression;
        if (seen[n] || taken_[n] || there.amount < kSuggestion.share_of_peak * at_peak.amount ||
            std::abs(there.direction.dot(at_peak.direction)) < kSuggestion.same_direction ||
            normals_[n].dot(normals_[peak]) < kSuggestion.same_side ||
            static_cast<double>((rest_.positions[n] - rest_.positions[peak]).norm()) > reach_)
          continue;
        seen[n] = 1;
        place.push_back(n);
      }
    return place;
  }

  bool make_tool(std::uint32_t peak, WrinkleChoice& tool) {
    const std::vector<std::uint32_t> place = place_round(peak);
    for (const std::uint32_t v : place) taken_[v] = 1;
    if (place.size() < kSuggestion.fewest_vertices) return false;
    // The middle and the direction of the place, weighed by how much its skin is compressed.
    Vec3d middle = Vec3d::Zero(), normal = Vec3d::Zero();
    Mat3d directions = Mat3d::Zero();
    double sum = 0;
    for (const std::uint32_t v : place) {
      const Compression& c = peaks_[v].compression;
      sum += c.amount;
      middle += c.amount * rest_.positions[v].cast<double>();
      normal += c.amount * normals_[v];
      directions += c.amount * c.direction * c.direction.transpose();
    }
    middle /= sum;
    const Vec3d z = normal.normalized();
    Vec3d along = Eigen::SelfAdjointEigenSolver<Mat3d>(directions).eigenvectors().col(2);
    along = (along - along.dot(z) * z).normalized();
    if (!along.allFinite() || !z.allFinite()) return false;
    const Vec3d across = z.cross(along);
    double low = 0, high = 0, left = 0, right = 0;
    for (const std::uint32_t v : place) {
      const Vec3d from_middle = rest_.positions[v].cast<double>() - middle;
      low = std::min(low, from_middle.dot(along));
      high = std::max(high, from_middle.dot(along));
      left = std::min(left, from_middle.dot(across));
      right = std::max(right, from_middle.dot(across));
    }
    const double length = high - low, width = right - left;
    if (!(length > 0 && width > 0)) return false;
    middle += (left + right) / 2 * across;
    const Vec3d from = middle + (low - kSuggestion.beyond * length) * along,
                to = middle + (high + kSuggestion.beyond * length) * along;
    tool.name = name_of(peak);
    tool.mesh = mesh_of(peak);
    // What lies under the tool; a place that others cover already is not worth one of its own.
    std::vector<std::uint32_t> under;
    std::size_t covered = 0;
    for (std::uint32_t v = 0; v < taken_.size(); ++v) {
      const Vec3d there = rest_.positions[v].cast<double>() - middle;
      if (there.dot(along) > low - kSuggestion.beyond * length &&
          there.dot(along) < high + kSuggestion.beyond * length &&
          std::abs(there.dot(across)) < kSuggestion.wider * width / 2 && std::abs(there.dot(z)) < length &&
          normals_[v].dot(z) > 0) {
        under.push_back(v);
        covered += covered_[v] != 0;
      }
    }
    if (static_cast<double>(covered) > kSuggestion.most_covered * static_cast<double>(under.size()))
      return false;
    for (const std::uint32_t v : under) taken_[v] = covered_[v] = 1;
    const std::uint32_t start = nearest(from, peak), end = nearest(to, peak);
    if (start == end) return false;  // thinner than its triangles
    for (const std::uint32_t v : {start, end}) {
      const Vec3f& at = rest_.positions[v];
      tool.points.push_back({at.x(), at.y(), at.z()});
    }
    tool.width = kSuggestion.wider * width;
    tool.folds =
        std::clamp(static_cast<int>(std::lround((to - from).norm() * kSuggestion.slenderness / tool.width)),
                   kSuggestion.fewest_folds, kSuggestion.most_folds);
    tool.strength = kSuggestion.strength;
    tool.levels = {{0.8}, {0.2}};
    return true;
  }

  /// The vertex nearest to a point among those of the peak's mesh that face its way.
  std::uint32_t nearest(const Vec3d& point, std::uint32_t peak) const {
    const CharacterMesh& mesh = character_.meshes()[mesh_number(peak)];
    std::uint32_t best = peak;
    double distance = std::numeric_limits<double>::infinity();
    for (std::size_t v = mesh.first_vertex; v < mesh.first_vertex + mesh.weld.size(); ++v) {
      const double d = (rest_.positions[v].cast<double>() - point).norm();
      if (d >= distance || rings_[v].empty() || !(normals_[v].dot(normals_[peak]) > kSuggestion.same_side))
        continue;
      distance = d;
      best = static_cast<std::uint32_t>(v);
    }
    return best;
  }

  std::size_t mesh_number(std::uint32_t v) const {
    std::size_t m = 0;
    while (m + 1 < character_.meshes().size() && character_.meshes()[m + 1].first_vertex <= v) ++m;
    return m;
  }

  /// Only named where there is a choice.
  std::string mesh_of(std::uint32_t v) const {
    return character_.meshes().size() > 1 ? character_.meshes()[mesh_number(v)].name : std::string();
  }

  std::string name_of(std::uint32_t v) const {
    const int joint = character_.bindings()[character_.skin_weights().row_joints(v)[0]].joint;
    return joint < 0 ? "wrinkles" : character_.skeleton().joints[to_size(joint)].name;
  }

  const Character& character_;
  MeshView rest_;
  OneRings rings_;
  double reach_ = 0;  // metres
  std::vector<Vec3d> normals_;
  std::vector<Peak> peaks_;
  std::vector<char> taken_, covered_;  // by a place; by a tool
};

/// How much longer than at rest each tool becomes.
void set_extensions(const std::shared_ptr<const Character>& character, const WrinkleFrames& frames,
                    std::vector<WrinkleChoice>& tools) {
  WrinkleLayerOptions options;
  options.tools = tools;
  const WrinkleLayer layer(*character, options);
  if (layer.tools().size() != tools.size()) return;  // one lies on no skin: all keep their rest
  std::vector<double> longest(tools.size(), 1);
  Performer performer(character);
  Pose pose = character->rest_pose();
  for (int frame = 0; frame < frames.count; ++frame) {
    frames.set_pose(frame, pose);
    performer.perform(pose, frames.seconds);
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const WrinkleLayer::Tool& tool = layer.tools()[i];
      const double length = tool.rest_length - WrinkleLayer::loss(tool, performer.welded_positions());
      longest[i] = std::max(longest[i], length / tool.rest_length);
    }
  }
  // Skin that was stretched and comes back does not fold at once: half of the way counts.
  for (std::size_t i = 0; i < tools.size(); ++i)
    tools[i].extension = std::min(1 + (longest[i] - 1) / 2, kSuggestion.most_extension);
}

}  // namespace

std::vector<WrinkleChoice> suggest_wrinkles(const std::shared_ptr<const Character>& character,
                                            const WrinkleFrames& frames, std::size_t most,
                                            const Progress& progress) {
  std::vector<WrinkleChoice> tools = WrinkleSuggester(character, frames, progress).suggest(most);
  set_extensions(character, frames, tools);
  return tools;
}

}  // namespace sinew
