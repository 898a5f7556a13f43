#include "tests/support/binding_checks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <sinew/geometry/topology.h>

namespace sinew::test {

namespace {

std::set<int> joints_of(std::span<const Bone> bones) {
  std::set<int> joints;
  for (const Bone& bone : bones) joints.insert(bone.joint);
  return joints;
}

std::string row_fault(const SkinWeights& weights, std::size_t v, const std::set<int>& allowed,
                      const BindOptions& options) {
  const auto joints = weights.row_joints(v);
  const auto values = weights.row_values(v);
  if (joints.empty()) return "is empty";
  const std::size_t most =
      options.method == BindMethod::rigid && options.smooth == 0 && options.locked.rows() == 0
          ? 1
          : options.influences;
  if (most > 0 && joints.size() > most) return fmt::format("has {} influences", joints.size());
  double sum = 0;
  for (std::size_t k = 0; k < joints.size(); ++k) {
    if (!std::isfinite(values[k])) return "is not finite";
    if (!(values[k] > 0)) return fmt::format("has the weight {}", values[k]);
    if (k > 0 && values[k] > values[k - 1]) return "is not sorted";
    if (!allowed.contains(static_cast<int>(joints[k]))) return fmt::format("follows joint {}", joints[k]);
    if (std::find(joints.begin(), joints.begin() + static_cast<std::ptrdiff_t>(k), joints[k]) !=
        joints.begin() + static_cast<std::ptrdiff_t>(k))
      return fmt::format("has joint {} twice", joints[k]);
    if (options.locked.rows() == 0 && values[k] < options.prune * (1 - 1e-5))
      return fmt::format("has the weight {}, less than {}", values[k], options.prune);
    sum += values[k];
  }
  if (std::abs(sum - 1) > 1e-5) return fmt::format("sums to {}", sum);
  return {};
}

}  // namespace

std::string weights_fault(const SkinWeights& weights, std::size_t vertices, std::span<const Bone> bones,
                          const BindOptions& options) {
  if (weights.rows() != vertices) return fmt::format("{} rows for {} vertices", weights.rows(), vertices);
  if (weights.starts.front() != 0 || weights.starts.back() != weights.joints.size() ||
      weights.joints.size() != weights.values.size() ||
      !std::is_sorted(weights.starts.begin(), weights.starts.end()))
    return "rows do not fit together";
  std::set<int> allowed = joints_of(bones);
  for (const std::uint32_t joint : options.locked.joints) allowed.insert(static_cast<int>(joint));
  for (std::size_t v = 0; v < vertices; ++v)
    if (const std::string fault = row_fault(weights, v, allowed, options); !fault.empty())
      return fmt::format("row {} of {} {}", v, vertices, fault);
  return {};
}

std::string report_fault(const BindReport& report, const MeshView& surface, const SkinWeights& weights,
                         std::span<const Bone> bones, const BindOptions& options) {
  const std::size_t vertices = surface.positions.size();
  if (report.vertices != vertices) return fmt::format("{} of {} vertices", report.vertices, vertices);
  if (report.unbound_vertices != 0) return fmt::format("{} unbound vertices", report.unbound_vertices);

  std::set<int> unused = joints_of(bones);
  for (const std::uint32_t joint : weights.joints) unused.erase(static_cast<int>(joint));
  if (report.unused_joints != std::vector<int>(unused.begin(), unused.end()))
    return fmt::format("{} unused joints, not {}", report.unused_joints.size(), unused.size());

  const std::size_t mirrored = report.mirrored_vertices + report.unmirrored_vertices;
  if (mirrored != (options.symmetry ? vertices : 0))
    return fmt::format("{} with or without a twin", mirrored);

  // Envelopes do not look at the surface.
  if (options.method == BindMethod::envelope) return {};
  const HeatReport& heat = report.heat;
  for (const std::size_t count :
       {heat.blind_vertices, heat.linked_vertices, heat.stray_vertices, heat.components})
    if (count > vertices) return fmt::format("{} of {} vertices", count, vertices);
  if (heat.linked_components > heat.components)
    return fmt::format("{} of {} components linked", heat.linked_components, heat.components);
  if (heat.linked_components > heat.linked_vertices)
    return fmt::format("{} linked components have {} vertices", heat.linked_components, heat.linked_vertices);
  if (heat.outside_bones > bones.size())
    return fmt::format("{} of {} bones outside", heat.outside_bones, bones.size());

  const TopologyReport topology = inspect_topology(surface);
  if (heat.repaired_triangles < std::max(topology.repeated_corner_triangles, topology.duplicate_triangles) ||
      heat.repaired_triangles > topology.repeated_corner_triangles + topology.duplicate_triangles)
    return fmt::format("{} repaired triangles, not {} and {}", heat.repaired_triangles,
                       topology.repeated_corner_triangles, topology.duplicate_triangles);
  if (heat.stray_vertices < topology.isolated_vertices)
    return fmt::format("{} stray vertices, not {}", heat.stray_vertices, topology.isolated_vertices);
  if (heat.repaired_triangles > 0) return {};
  if (heat.stray_vertices != topology.isolated_vertices)
    return fmt::format("{} stray vertices, not {}", heat.stray_vertices, topology.isolated_vertices);
  if (heat.boundary_edges != topology.boundary_edges)
    return fmt::format("{} boundary edges, not {}", heat.boundary_edges, topology.boundary_edges);
  if (heat.non_manifold_edges != topology.non_manifold_edges)
    return fmt::format("{} non-manifold edges, not {}", heat.non_manifold_edges, topology.non_manifold_edges);
  if (heat.flipped_edges != topology.flipped_edges)
    return fmt::format("{} flipped edges, not {}", heat.flipped_edges, topology.flipped_edges);
  if (heat.components != topology.components + topology.isolated_vertices)
    return fmt::format("{} components, not {}", heat.components,
                       topology.components + topology.isolated_vertices);
  return {};
}

float weight_of(const SkinWeights& weights, std::size_t vertex, int joint) {
  const auto joints = weights.row_joints(vertex);
  for (std::size_t k = 0; k < joints.size(); ++k)
    if (joints[k] == static_cast<std::uint32_t>(joint)) return weights.row_values(vertex)[k];
  return 0;
}

double total_variation(const SkinWeights& a, std::size_t vertex_of_a, const SkinWeights& b,
                       std::size_t vertex_of_b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.row_size(vertex_of_a); ++k)
    sum += std::abs(a.row_values(vertex_of_a)[k] -
                    weight_of(b, vertex_of_b, static_cast<int>(a.row_joints(vertex_of_a)[k])));
  for (std::size_t k = 0; k < b.row_size(vertex_of_b); ++k)
    if (weight_of(a, vertex_of_a, static_cast<int>(b.row_joints(vertex_of_b)[k])) == 0)
      sum += b.row_values(vertex_of_b)[k];
  return sum / 2;
}

}  // namespace sinew::test
