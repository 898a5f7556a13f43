#include "tests/support/meshes.h"

#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace sinew::test {

namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;

void add(Polygons& polygons, std::initializer_list<int> corners) {
  std::vector<std::uint32_t> polygon;
  for (const int corner : corners) polygon.push_back(static_cast<std::uint32_t>(corner));
  polygons.add(polygon);
}

Vec3f vec(double x, double y, double z) {
  return {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)};
}

}  // namespace

Mesh make_grid(int columns, int rows, float width, float height) {
  std::vector<Vec3f> positions;
  for (int j = 0; j <= rows; ++j)
    for (int i = 0; i <= columns; ++i) positions.push_back(vec(width * i / columns, height * j / rows, 0));
  Polygons polygons;
  for (int j = 0; j < rows; ++j)
    for (int i = 0; i < columns; ++i) {
      const int v = j * (columns + 1) + i;
      add(polygons, {v, v + 1, v + columns + 2, v + columns + 1});
    }
  return make_mesh(std::move(positions), std::move(polygons));
}

Mesh make_cube(float edge) {
  std::vector<Vec3f> positions;
  const float h = edge / 2;
  for (int v = 0; v < 8; ++v) positions.emplace_back(v & 1 ? h : -h, v & 2 ? h : -h, v & 4 ? h : -h);
  Polygons polygons;
  add(polygons, {0, 4, 6, 2});
  add(polygons, {1, 3, 7, 5});
  add(polygons, {0, 1, 5, 4});
  add(polygons, {2, 6, 7, 3});
  add(polygons, {0, 2, 3, 1});
  add(polygons, {4, 5, 7, 6});
  return make_mesh(std::move(positions), std::move(polygons));
}

Mesh make_icosphere(int levels, float radius) {
  const double t = (1.0 + std::sqrt(5.0)) / 2.0;
  std::vector<Vec3d> points = {{-1, t, 0},  {1, t, 0},  {-1, -t, 0}, {1, -t, 0}, {0, -1, t},  {0, 1, t},
                               {0, -1, -t}, {0, 1, -t}, {t, 0, -1},  {t, 0, 1},  {-t, 0, -1}, {-t, 0, 1}};
  for (Vec3d& p : points) p.normalize();
  std::vector<Triangle> triangles = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                     {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                     {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                     {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
  for (int level = 0; level < levels; ++level) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> middles;
    const auto middle = [&](std::uint32_t a, std::uint32_t b) {
      const auto [place, is_new] =
          middles.try_emplace(std::minmax(a, b), static_cast<std::uint32_t>(points.size()));
      if (is_new) points.push_back((points[a] + points[b]).normalized());
      return place->second;
    };
    std::vector<Triangle> finer;
    for (const Triangle& f : triangles) {
      const std::uint32_t ab = middle(f[0], f[1]), bc = middle(f[1], f[2]), ca = middle(f[2], f[0]);
      finer.push_back({f[0], ab, ca});
      finer.push_back({f[1], bc, ab});
      finer.push_back({f[2], ca, bc});
      finer.push_back({ab, bc, ca});
    }
    triangles = std::move(finer);
  }
  std::vector<Vec3f> positions;
  for (const Vec3d& p : points) positions.push_back((radius * p).cast<float>());
  return make_mesh(std::move(positions), triangles);
}

Mesh make_torus(int around, int across, float big_radius, float small_radius) {
  std::vector<Vec3f> positions;
  Polygons polygons;
  for (int i = 0; i < around; ++i)
    for (int j = 0; j < across; ++j) {
      const double u = kTurn * i / around, v = kTurn * j / across;
      const double r = big_radius + small_radius * std::cos(v);
      positions.push_back(vec(r * std::cos(u), r * std::sin(u), small_radius * std::sin(v)));
      const int i1 = (i + 1) % around, j1 = (j + 1) % across;
      add(polygons, {i * across + j, i1 * across + j, i1 * across + j1, i * across + j1});
    }
  return make_mesh(std::move(positions), std::move(polygons));
}

Mesh make_tube(int around, int along, float radius, float length, bool closed) {
  std::vector<Vec3f> positions;
  Polygons polygons;
  for (int j = 0; j <= along; ++j)
    for (int i = 0; i < around; ++i) {
      const double u = kTurn * i / around;
      positions.push_back(vec(radius * std::cos(u), double{length} * j / along, radius * std::sin(u)));
    }
  for (int j = 0; j < along; ++j)
    for (int i = 0; i < around; ++i) {
      const int i1 = (i + 1) % around;
      add(polygons, {j * around + i, (j + 1) * around + i, (j + 1) * around + i1, j * around + i1});
    }
  if (closed) {
    const int bottom = static_cast<int>(positions.size()), top = bottom + 1, last = along * around;
    positions.push_back(vec(0, 0, 0));
    positions.push_back(vec(0, length, 0));
    for (int i = 0; i < around; ++i) {
      const int i1 = (i + 1) % around;
      add(polygons, {bottom, i, i1});
      add(polygons, {top, last + i1, last + i});
    }
  }
  return make_mesh(std::move(positions), std::move(polygons));
}

Mesh join(const Mesh& a, const Mesh& b) {
  std::vector<Vec3f> positions = a.positions;
  positions.insert(positions.end(), b.positions.begin(), b.positions.end());
  Polygons polygons = a.polygons;
  for (std::size_t p = 0; p < b.polygons.size(); ++p) {
    std::vector<std::uint32_t> polygon;
    for (const std::uint32_t v : b.polygons[p])
      polygon.push_back(v + static_cast<std::uint32_t>(a.positions.size()));
    polygons.add(polygon);
  }
  return make_mesh(std::move(positions), std::move(polygons));
}

Mesh moved(const Mesh& mesh, const Vec3f& shift, float scale) {
  Mesh result = mesh;
  for (Vec3f& p : result.positions) p = scale * p + shift;
  return result;
}

Mesh split_all(const Mesh& mesh) {
  std::vector<Vec3f> positions;
  Polygons polygons;
  for (std::size_t p = 0; p < mesh.polygons.size(); ++p) {
    std::vector<std::uint32_t> polygon;
    for (const std::uint32_t v : mesh.polygons[p]) {
      polygon.push_back(static_cast<std::uint32_t>(positions.size()));
      positions.push_back(mesh.positions[v]);
    }
    polygons.add(polygon);
  }
  return make_mesh(std::move(positions), std::move(polygons));
}

}  // namespace sinew::test
