#include <sinew/fitting/symmetrise.h>

#include <algorithm>
#include <cmath>

#include <sinew/fitting/limb_graph.h>

namespace sinew {

namespace {

// Shares of the mesh's size: how far a point may be from its partner's image, and a vertex's image from the
// mesh.
constexpr double kPointOff = 0.06, kVertexOff = 0.015;
constexpr std::size_t kSamples = 400;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

std::optional<MirrorPlane> make_symmetric(const MeshView& mesh, const SurfaceQuery& surface,
                                          std::span<const SymmetricPoints> pairs,
                                          std::vector<Vec3d>& points) {
  const double size = mesh_size(mesh);
  MirrorPlane plane;
  plane.normal.setZero();
  Vec3d sum = Vec3d::Zero();
  double count = 0;
  for (const SymmetricPoints& pair : pairs) {
    if (pair.left == pair.right) continue;
    Vec3d way = points[u(pair.left)] - points[u(pair.right)];
    if (plane.normal.dot(way) < 0) way = -way;
    plane.normal += way;
    sum += 0.5 * (points[u(pair.left)] + points[u(pair.right)]);
    ++count;
  }
  if (count == 0 || !(plane.normal.norm() > 0)) return {};
  plane.normal.normalize();
  plane.point = sum / count;
  // Meshes are modelled about a plane through the origin, across an axis.
  for (int axis = 0; axis < 3; ++axis)
    if (std::abs(plane.normal[axis]) > 0.9995 && std::abs(plane.point[axis]) < 0.005 * size) {
      plane.normal = Vec3d::Unit(axis);
      plane.point[axis] = 0;
    }
  for (const SymmetricPoints& pair : pairs)
    if ((plane.mirrored(points[u(pair.left)]) - points[u(pair.right)]).norm() > kPointOff * size) return {};
  std::vector<Vec3f> images;
  const std::size_t step = std::max<std::size_t>(1, mesh.positions.size() / kSamples);
  for (std::size_t v = 0; v < mesh.positions.size(); v += step)
    images.push_back(plane.mirrored(mesh.positions[v].cast<double>()).cast<float>());
  std::vector<std::optional<NearestHit>> hits(images.size());
  surface.nearest(images, hits, static_cast<float>(kVertexOff * size));
  const auto on = static_cast<double>(std::count_if(
      hits.begin(), hits.end(), [](const std::optional<NearestHit>& hit) { return hit.has_value(); }));
  if (on < 0.95 * static_cast<double>(images.size())) return {};
  for (const SymmetricPoints& pair : pairs) {
    const Vec3d left = points[u(pair.left)], right = points[u(pair.right)];
    points[u(pair.left)] = 0.5 * (left + plane.mirrored(right));
    points[u(pair.right)] =
        pair.left == pair.right ? points[u(pair.left)] : plane.mirrored(points[u(pair.left)]);
  }
  return plane;
}

std::vector<int> partner_bones(const ControlRig& rig) {
  Skeleton names;
  for (const RigBone& bone : rig.bones) names.joints.push_back({bone.name, -1, {}, bone.deforms});
  return mirror_joints(names);
}

}  // namespace sinew
