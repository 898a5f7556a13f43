#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sinew/contact/contact_params.h>
#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/incidence.h>
#include <sinew/geometry/mesh.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/geometry/triangle_tree.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>

namespace sinew {

struct ContactFrame;

/// What contact knows of a skin at rest. Immutable.
struct ContactSkin {
  /// `weights` are by transforms. Throws Error when there is not one row of them per vertex.
  ContactSkin(const MeshView& rest, SharedWeights weights, const FieldSet& fields,
              const ContactParams& params);

  /// Puts the fans that close the skin (ClosedSurface) in the middle of their borders. `placed` are all
  /// vertices of the closed surface.
  void place_fans(std::span<Vec3f> placed) const;
  /// Unit normal, outward; zero where the triangles round the vertex have no area.
  Vec3f normal(std::uint32_t vertex, std::span<const Vec3f> placed) const;
  bool is_corner(std::uint32_t triangle, std::uint32_t vertex) const {
    const Triangle& f = closed.triangles[triangle];
    return f[0] == vertex || f[1] == vertex || f[2] == vertex;
  }
  /// Mean of a number over the vertices round one; its own where there are none.
  float ring_mean(std::uint32_t vertex, std::span<const float> values) const {
    if (rings[vertex].empty()) return values[vertex];
    float sum = 0;
    for (const std::uint32_t n : rings[vertex]) sum += values[n];
    return sum / static_cast<float>(rings[vertex].size());
  }
  /// Where a vertex's ray begins in the pose of a frame.
  Vec3f ray_origin(std::uint32_t vertex, const ContactFrame& frame) const;
  /// How much larger than at rest a vertex's bones make it in the pose of a frame.
  float scale(std::uint32_t vertex, const ContactFrame& frame) const;
  /// How a vertex's bones turn it in the pose of a frame.
  Quatf turn(std::uint32_t vertex, const ContactFrame& frame) const;

  std::size_t vertex_count = 0, transform_count = 0;
  SharedWeights weights;
  ClosedSurface closed;  ///< its first triangles are the skin's
  OneRings rings;
  std::vector<float> nearness;  ///< per neighbour in `rings`: 1 over the length of the edge at rest, or 0
  Incidence incidence;          ///< of the skin's triangles
  std::unique_ptr<const TriangleTree> tree;  ///< of the closed surface
  std::vector<Vec3f> origins;                ///< of the vertices' rays, at rest (attachment.h)
  std::vector<float> edge;                   ///< per vertex, mean length of its edges, smoothed over the mesh
  std::vector<Vec3f> area;                   ///< per triangle of the skin, its normal times twice its area
  std::vector<Vec3f> corner;                 ///< per corner, from its triangle's middle
};

}  // namespace sinew
