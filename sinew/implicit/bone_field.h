#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/implicit/field_grid.h>
#include <sinew/implicit/hermite_rbf.h>

namespace sinew {

/// A piece of a bone: where it begins and ends, and which of its ends the body goes on at, so that the field
/// must close there. The end of a finger tip has skin and needs no closing.
struct BoneSegment {
  Vec3d head = Vec3d::Zero();
  Vec3d tail = Vec3d::Zero();
  bool close_head = true;
  bool close_tail = true;
  /// Into which the field is closed beyond the tail; zero: the segment's own. Where several bones leave a
  /// joint, the hole they leave lies across the child's direction, not across the segment's.
  Vec3d tail_direction = Vec3d::Zero();
};

/// The part of the mesh that a bone moves, and the bone.
struct BonePart {
  std::vector<std::uint32_t> triangles;  ///< of the mesh
  std::vector<BoneSegment> segments;     ///< several where a joint has several children
  /// The vertices of the body that the part belongs to, [first, last): its field does not go beyond their
  /// skin.
  std::uint32_t first_body_vertex = 0;
  std::uint32_t last_body_vertex = 0;
};

struct BoneFieldOptions {
  int samples = 60;    ///< of the part, about
  double cull = 0.05;  ///< share of the bone at each closed end whose samples are left out
  double closure_head =
      1;  ///< closure point at the head: times the distance from the joint to the nearest vertex
  double closure_tail = 1;   ///< the same at the tail; 0: none
  double support = 1;        ///< times the distance of the farthest sample from the bone
  bool deepen = true;        ///< see BoneField::deepening
  int grid_nodes = 24000;    ///< of the grid that the field is kept in, about
  std::uint64_t seed = 1;    ///< of the sampling
  std::vector<Vec3d> added;  ///< more samples: each at the part's vertex that is nearest to the point
  struct Ball {
    Vec3d center = Vec3d::Zero();
    double radius = 0;
  };
  std::vector<Ball> removed;  ///< no samples in these
};

/// The field of one bone: what it was made from, for pictures and tests, and the grid it is evaluated by.
struct BoneField {
  HermiteRbf rbf;
  std::vector<HermitePoint> samples;   ///< of the mesh
  std::vector<HermitePoint> closures;  ///< points that close the ends
  /// Points of other parts' skin that the field would have gone beyond: a part that covers one side of a limb
  /// only closes far out on the other.
  std::vector<HermitePoint> bounds;
  double radius = 0;  ///< of the compact support: f = t_r(d)
  /// Inside, d is deepened to d (1 + deepening (d/r)²), and smoothly kept above -0.9 r: an RBF is flat
  /// inside, and how flat depends on the part. Deepened, fields have similar values at their bones, so that
  /// equal values mean equal depths.
  double deepening = 0;
  std::vector<BoneSegment> segments;
  FieldGrid grid;

  /// The exact field, in rest space: what the grid was sampled from. Value and gradient in double.
  double value(const Vec3d& x) const;
  HermiteRbf::Value evaluate(const Vec3d& x) const;
};

/// Reconstructs the field of a part. `normals` are outward unit vertex normals (zero where there is none).
/// Returns an empty field (radius 0) where the part has no surface to make one of: no triangles, no area, no
/// two distinct samples. Throws Error for samples that no smooth surface goes through, and more than
/// HermiteRbf takes.
BoneField make_bone_field(const MeshView& mesh, std::span<const Vec3d> normals, const BonePart& part,
                          const BoneFieldOptions& options);

}  // namespace sinew
