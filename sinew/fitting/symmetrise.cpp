#include <sinew/fitting/symmetrise.h>

#include <algorithm>
#include <cmath>

#include <sinew/fitting/limb_graph.h>

namespace sinew {

namespace {

/// Distances as shares of the mesh's size. By hand, on the built-in characters: posed characters and
/// asymmetric meshes must fail, small flaws pass.
struct SymmetryTestParams {
  double point_tolerance = 0.06;    ///< between a point and its partner's mirror image
  double vertex_tolerance = 0.015;  ///< between a vertex's mirror image and the mesh
  double min_vertices = 0.95;       ///< share of the sampled vertices within that tolerance
  std::size_t samples = 400;        ///< vertices
  double axis_cosine = 0.9995;      ///< a normal this near to an axis (1.8°) …
  double origin_tolerance = 0.005;  ///< … of a plane this near to the origin is that axis's plane
};
constexpr SymmetryTestParams kSymmetryTest;

}  // namespace

std::optional<MirrorPlane> make_symmetric(const MeshView& mesh, const SurfaceQuery& surface,
                                          std::span<const SymmetricPoints> pairs, PerPoint<Vec3d>& points) {
  const double size = mesh_size(mesh);
  MirrorPlane plane;
  plane.normal.setZero();
  Vec3d sum = Vec3d::Zero();
  double count = 0;
  for (const SymmetricPoints& pair : pairs) {
    if (pair.left == pair.right) continue;
    Vec3d across = points[pair.left] - points[pair.right];
    if (plane.normal.dot(across) < 0) across = -across;
    plane.normal += across;
    sum += 0.5 * (points[pair.left] + points[pair.right]);
    ++count;
  }
  if (count == 0 || !(plane.normal.norm() > 0)) return {};
  plane.normal.normalize();
  plane.point = sum / count;
  // Meshes are modelled about a plane through the origin, across an axis.
  for (int axis = 0; axis < 3; ++axis)
    if (std::abs(plane.normal[axis]) > kSymmetryTest.axis_cosine &&
        std::abs(plane.point[axis]) < kSymmetryTest.origin_tolerance * size) {
      plane.normal = Vec3d::Unit(axis);
      plane.point[axis] = 0;
    }
  for (const SymmetricPoints& pair : pairs)
    if ((plane.mirrored(points[pair.left]) - points[pair.right]).norm() >
        kSymmetryTest.point_tolerance * size)
      return {};
  std::vector<Vec3f> images;
  const std::size_t step = std::max<std::size_t>(1, mesh.positions.size() / kSymmetryTest.samples);
  for (std::size_t v = 0; v < mesh.positions.size(); v += step)
    images.push_back(plane.mirrored(mesh.positions[v].cast<double>()).cast<float>());
  std::vector<std::optional<NearestHit>> hits(images.size());
  surface.nearest(images, hits, static_cast<float>(kSymmetryTest.vertex_tolerance * size));
  const auto on = static_cast<double>(std::count_if(
      hits.begin(), hits.end(), [](const std::optional<NearestHit>& hit) { return hit.has_value(); }));
  if (on < kSymmetryTest.min_vertices * static_cast<double>(images.size())) return {};
  for (const SymmetricPoints& pair : pairs) {
    const Vec3d left = points[pair.left], right = points[pair.right];
    points[pair.left] = 0.5 * (left + plane.mirrored(right));
    points[pair.right] = pair.left == pair.right ? points[pair.left] : plane.mirrored(points[pair.left]);
  }
  return plane;
}

PerBone<BoneId> mirror_bones(const ControlRig& rig) {
  Skeleton names;
  for (const RigBone& bone : rig.bones) names.joints.push_back({bone.name, -1, {}, bone.deforms});
  PerBone<BoneId> result;
  for (const int other : mirror_joints(names)) result.push_back(BoneId(other));
  return result;
}

}  // namespace sinew
