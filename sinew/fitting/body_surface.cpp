#include <sinew/fitting/body_surface.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/fitting/limb_graph.h>
#include <sinew/geometry/isosurface.h>
#include <sinew/geometry/oriented_surface.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/weld.h>

namespace sinew {

namespace {

/// By hand, on the built-in characters. Lengths are shares of the mesh's size.
struct BodySurfaceParams {
  double min_extent = 0.9;           ///< share of the whole's extent in every direction that the body has
  double extent_tolerance = 0.02;    ///< by which it may be smaller, for meshes that are flat in a direction
  double wrap_distance = 0.005;      ///< between several components and the surface wrapped round them
  double wrap_cell = 0.006;          ///< grid that surface is extracted on
  std::size_t inside_samples = 200;  ///< faces below which a point inside is looked for
  double inside_offset = 1e-4;       ///< below a face, where rays start
};
constexpr BodySurfaceParams kBodySurface;

double triangle_area(const MeshView& mesh, const Triangle& t) {
  const Vec3d a = mesh.positions[t[0]].cast<double>(), b = mesh.positions[t[1]].cast<double>(),
              c = mesh.positions[t[2]].cast<double>();
  return 0.5 * (b - a).cross(c - a).norm();
}

/// Only vertices that triangles use.
BodySurface compact(const MeshView& mesh, std::span<const Triangle> triangles) {
  BodySurface body;
  std::vector<std::uint32_t> place(mesh.positions.size(), ~std::uint32_t{0});
  for (Triangle triangle : triangles) {
    for (std::uint32_t& v : triangle) {
      if (place[v] == ~std::uint32_t{0}) {
        place[v] = static_cast<std::uint32_t>(body.positions.size());
        body.positions.push_back(mesh.positions[v]);
      }
      v = place[v];
    }
    body.triangles.push_back(triangle);
  }
  return body;
}

/// Triangles of the component with the largest area; `count` receives how many have triangles.
std::vector<Triangle> largest_component(const MeshView& mesh, std::size_t* count) {
  const Components components = connected_components(mesh.positions.size(), mesh.triangles);
  std::vector<double> areas(components.count, 0);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    areas[components.of_triangle[t]] += triangle_area(mesh, mesh.triangles[t]);
  std::vector<char> has_triangles(components.count, 0);
  for (const std::uint32_t component : components.of_triangle) has_triangles[component] = 1;
  if (count != nullptr) *count = to_size(std::count(has_triangles.begin(), has_triangles.end(), 1));
  const auto largest =
      static_cast<std::uint32_t>(std::max_element(areas.begin(), areas.end()) - areas.begin());
  std::vector<Triangle> triangles;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    if (components.of_triangle[t] == largest) triangles.push_back(mesh.triangles[t]);
  return triangles;
}

Eigen::AlignedBox3d box_of(const MeshView& mesh, std::span<const Triangle> triangles) {
  Eigen::AlignedBox3d box;
  for (const Triangle& triangle : triangles)
    for (const std::uint32_t v : triangle) box.extend(mesh.positions[v].cast<double>());
  return box;
}

BodySurface wrapped(const MeshView& mesh, double size) {
  const OrientedSurface flesh(mesh);
  const double distance = kBodySurface.wrap_distance * size;
  const SolidFunction solid = [&](const Vec3d& p) {
    SolidSample sample;
    const std::optional<NearestHit> hit = flesh.query().nearest(p.cast<float>());
    if (!hit) return sample;
    const Vec3d away = p - hit->position.cast<double>();
    const double outside = flesh.contains(p) ? -away.norm() : away.norm();
    sample.value = outside - distance;
    if (away.norm() > 0) sample.gradient = away / outside;
    return sample;
  };
  // Somewhere in the thickest flesh, to start from: half-way through it, below a face of the largest
  // component.
  const std::vector<Triangle> largest = largest_component(mesh, nullptr);
  Vec3d inside = Vec3d::Zero();
  double thickest = -1;
  const std::size_t step = std::max<std::size_t>(1, largest.size() / kBodySurface.inside_samples);
  for (std::size_t t = 0; t < largest.size(); t += step) {
    const Vec3d a = mesh.positions[largest[t][0]].cast<double>(),
                b = mesh.positions[largest[t][1]].cast<double>(),
                c = mesh.positions[largest[t][2]].cast<double>();
    const Vec3d normal = (b - a).cross(c - a);
    if (!(normal.norm() > 0)) continue;
    for (const double side : {1.0, -1.0}) {
      const Vec3d direction = side * normal.normalized();
      const Vec3d start = (a + b + c) / 3 + kBodySurface.inside_offset * size * direction;
      const double reach = flesh.reach(start, direction);
      if (reach > thickest) {
        thickest = reach;
        inside = start + 0.5 * reach * direction;
      }
    }
  }
  const IsoSurface surface = extract_isosurface(solid, inside, kBodySurface.wrap_cell * size);
  BodySurface body;
  for (const Vec3d& position : surface.positions) body.positions.push_back(position.cast<float>());
  body.triangles = surface.triangles;
  body.wrapped = true;
  return body;
}

}  // namespace

BodySurface body_surface(const MeshView& mesh) {
  const Weld weld = weld_vertices(mesh.positions);
  const std::vector<Vec3f> positions = welded_positions(weld, mesh.positions);
  const std::vector<Triangle> triangles = weld_triangles(weld, mesh.triangles).triangles;
  const MeshView welded{positions, triangles};
  double total = 0;
  for (const Triangle& triangle : triangles) total += triangle_area(welded, triangle);
  if (!(total > 0)) throw Error("the mesh has no faces with an area; there is nothing to fit a rig to");
  std::size_t components = 0;
  const std::vector<Triangle> largest = largest_component(welded, &components);
  const Eigen::AlignedBox3d whole = box_of(welded, triangles), part = box_of(welded, largest);
  const double tolerance = kBodySurface.extent_tolerance * whole.diagonal().norm();
  const bool is_body =
      ((part.sizes().array() + tolerance) >= kBodySurface.min_extent * whole.sizes().array()).all();
  BodySurface body;
  if (components == 1 || is_body) {
    body = compact(welded, largest);
    body.used = 1;
  } else {
    body = wrapped(welded, whole.diagonal().norm());
    body.used = components;
  }
  body.components = components;
  return body;
}

}  // namespace sinew
