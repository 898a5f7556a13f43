#include "tests/support/damage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <sinew/geometry/disjoint_sets.h>
#include <sinew/geometry/weld.h>

#include "tests/support/decimate.h"

namespace sinew::test {

namespace {

using Random = std::mt19937;

/// In [low, high).
double uniform(Random& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random()) / 4294967296.0);
}

std::uint32_t below(Random& random, std::size_t count) {
  return static_cast<std::uint32_t>(uniform(random, 0, static_cast<double>(count)));
}

Vec3f direction(Random& random) {
  while (true) {
    Vec3d v;
    for (int k = 0; k < 3; ++k) v[k] = uniform(random, -1, 1);
    if (v.norm() > 0.1 && v.norm() <= 1) return v.normalized().cast<float>();
  }
}

std::uint32_t add_vertex(TracedMesh& mesh, const Vec3f& position, int source, int anchor) {
  mesh.positions.push_back(position);
  mesh.source.push_back(source);
  mesh.anchor.push_back(anchor);
  return static_cast<std::uint32_t>(mesh.positions.size() - 1);
}

std::uint32_t copy_vertex(TracedMesh& mesh, std::uint32_t v) {
  const Vec3f position = mesh.positions[v];
  return add_vertex(mesh, position, mesh.source[v], mesh.anchor[v]);
}

float height(const TracedMesh& mesh, const Triangle& t, const Vec3f& point, const Vec3f& normal) {
  const Vec3f middle = (mesh.positions[t[0]] + mesh.positions[t[1]] + mesh.positions[t[2]]) / 3.0f;
  return normal.dot(middle - point);
}

/// The mesh's vertices with other triangles, and without those that only the old ones used.
TracedMesh with_triangles(const TracedMesh& mesh, const std::vector<Triangle>& triangles) {
  std::vector<bool> used(mesh.positions.size(), true);
  for (const Triangle& t : mesh.triangles)
    for (const std::uint32_t v : t) used[v] = false;
  for (const Triangle& t : triangles)
    for (const std::uint32_t v : t) used[v] = true;
  TracedMesh result;
  result.placement = mesh.placement;
  std::vector<std::uint32_t> place(mesh.positions.size());
  for (std::uint32_t v = 0; v < mesh.positions.size(); ++v)
    if (used[v]) place[v] = add_vertex(result, mesh.positions[v], mesh.source[v], mesh.anchor[v]);
  for (const Triangle& t : triangles) result.triangles.push_back({place[t[0]], place[t[1]], place[t[2]]});
  return result;
}

/// Unit length, by area; zero where nothing says.
std::vector<Vec3f> normals_of(const TracedMesh& mesh) {
  std::vector<Vec3f> normals(mesh.positions.size(), Vec3f::Zero());
  for (const auto& [a, b, c] : mesh.triangles) {
    const Vec3f cross = (mesh.positions[b] - mesh.positions[a]).cross(mesh.positions[c] - mesh.positions[a]);
    for (const std::uint32_t v : {a, b, c}) normals[v] += cross;
  }
  for (Vec3f& n : normals) n.normalize();
  return normals;
}

/// A flat fan, or a pyramid over it.
void add_island(TracedMesh& mesh, const Vec3f& middle, const Vec3f& up, float radius, int corners, bool solid,
                int anchor) {
  const Vec3f x = up.unitOrthogonal(), y = up.cross(x);
  std::vector<std::uint32_t> rim;
  for (int k = 0; k < corners; ++k) {
    const double angle = 2 * M_PI * k / corners;
    const Vec3f p =
        middle + radius * (static_cast<float>(std::cos(angle)) * x + static_cast<float>(std::sin(angle)) * y);
    rim.push_back(add_vertex(mesh, p, -1, anchor));
  }
  if (corners == 3 && !solid) {
    mesh.triangles.push_back({rim[0], rim[1], rim[2]});
    return;
  }
  const std::uint32_t tip = add_vertex(mesh, solid ? Vec3f(middle + radius * up) : middle, -1, anchor);
  for (std::size_t k = 0; k < rim.size(); ++k)
    mesh.triangles.push_back({rim[k], rim[(k + 1) % rim.size()], tip});
  if (solid)
    for (std::size_t k = 1; k + 1 < rim.size(); ++k) mesh.triangles.push_back({rim[0], rim[k + 1], rim[k]});
}

TracedMesh decimated(const TracedMesh& whole) {
  const DecimatedMesh coarse = decimate(whole.view(), 200);
  return {coarse.positions, coarse.triangles, coarse.source, coarse.source, Affine3d::Identity()};
}

TracedMesh cut_along(const TracedMesh& whole, const Vec3f& normal, float part) {
  return cut_open(whole, middle_of(whole) + part * size_of(whole) * normal, normal);
}

int longest_axis(const TracedMesh& mesh) {
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : mesh.positions) box.extend(p);
  int axis = 0;
  box.sizes().maxCoeff(&axis);
  return axis;
}

constexpr Damage kDamages[] = {
    {"untouched", [](const TracedMesh& whole) { return whole; }},
    {"cut open", [](const TracedMesh& whole) { return cut_along(whole, Vec3f::UnitZ(), 0); }},
    {"end cut off",
     [](const TracedMesh& whole) { return cut_along(whole, Vec3f::Unit(longest_axis(whole)), 0.3f); }},
    {"slit lengthwise",
     [](const TracedMesh& whole) { return slit(whole, middle_of(whole), Vec3f::UnitZ()); }},
    {"slit across",
     [](const TracedMesh& whole) { return slit(whole, middle_of(whole), Vec3f::Unit(longest_axis(whole))); }},
    {"listed twice", listed_twice},
    {"glued double", glued_double},
    {"flipped faces", [](const TracedMesh& whole) { return flipped_faces(whole, 0.5, 1); }},
    {"inside out", [](const TracedMesh& whole) { return flipped_faces(whole, 1, 1); }},
    {"T-junctions", [](const TracedMesh& whole) { return t_junctions(whole, 0.1, 2); }},
    {"internal faces", [](const TracedMesh& whole) { return internal_faces(whole, 6); }},
    {"1000 islands", [](const TracedMesh& whole) { return islands(whole, 1000, 3); }},
    {"zero area faces", [](const TracedMesh& whole) { return zero_area_faces(whole, 0.1, 4); }},
    {"duplicate vertices", [](const TracedMesh& whole) { return duplicate_vertices(whole, 0.1, 5); }},
    {"renumbered", [](const TracedMesh& whole) { return renumbered(whole, 6); }},
    {"turned",
     [](const TracedMesh& whole) {
       return turned(whole, 1, {1, 2, 3});
     }},
    {"scaled by 1e-3", [](const TracedMesh& whole) { return placed(whole, 1e-3); }},
    {"scaled by 1e3", [](const TracedMesh& whole) { return placed(whole, 1e3); }},
    {"far away", [](const TracedMesh& whole) { return placed(whole, 1, 100 * Vec3d(1, -2, 3)); }},
    {"decimated", decimated},
    {"slightly noisy", [](const TracedMesh& whole) { return noisy(whole, 0.001, 6); }},
    {"noisy", [](const TracedMesh& whole) { return noisy(whole, 0.01, 6); }},
    {"clothed",
     [](const TracedMesh& whole) { return clothed(whole, middle_of(whole), Vec3f::UnitY(), 0.01f); }},
    {"soup", unwelded},
    {"soup, welded", [](const TracedMesh& whole) { return welded(unwelded(whole)); }},
    {"everything",
     [](const TracedMesh& whole) {
       const TracedMesh torn =
           duplicate_vertices(t_junctions(flipped_faces(whole, 0.3, 7), 0.05, 8), 0.05, 9);
       return zero_area_faces(islands(clothed(torn, middle_of(torn), Vec3f::UnitX(), 0.01f), 300, 10), 0.05,
                              11);
     }},
};

}  // namespace

TracedMesh traced(const MeshView& whole) {
  TracedMesh mesh;
  mesh.positions.assign(whole.positions.begin(), whole.positions.end());
  mesh.triangles.assign(whole.triangles.begin(), whole.triangles.end());
  mesh.source.resize(mesh.positions.size());
  std::iota(mesh.source.begin(), mesh.source.end(), 0);
  mesh.anchor = mesh.source;
  return mesh;
}

TracedMesh cut_open(const TracedMesh& mesh, const Vec3f& point, const Vec3f& normal) {
  std::vector<Triangle> kept;
  for (const Triangle& t : mesh.triangles)
    if (height(mesh, t, point, normal) <= 0) kept.push_back(t);
  return with_triangles(mesh, kept);
}

TracedMesh slit(const TracedMesh& mesh, const Vec3f& point, const Vec3f& normal) {
  TracedMesh result = mesh;
  std::vector<bool> behind(mesh.positions.size(), false);
  for (const Triangle& t : mesh.triangles)
    if (height(mesh, t, point, normal) <= 0)
      for (const std::uint32_t v : t) behind[v] = true;
  std::map<std::uint32_t, std::uint32_t> copies;
  for (Triangle& t : result.triangles) {
    if (height(mesh, t, point, normal) <= 0) continue;
    for (std::uint32_t& v : t) {
      if (!behind[v]) continue;
      const auto known = copies.find(v);
      const std::uint32_t copy = known != copies.end() ? known->second : copy_vertex(result, v);
      copies.emplace(v, copy);
      v = copy;
    }
  }
  return result;
}

TracedMesh listed_twice(const TracedMesh& mesh) {
  TracedMesh result = mesh;
  for (const auto& [a, b, c] : mesh.triangles) result.triangles.push_back({b, c, a});
  return result;
}

TracedMesh glued_double(const TracedMesh& mesh) {
  TracedMesh result = mesh;
  const auto shift = static_cast<std::uint32_t>(mesh.positions.size());
  for (std::uint32_t v = 0; v < shift; ++v) copy_vertex(result, v);
  for (const auto& [a, b, c] : mesh.triangles) result.triangles.push_back({a + shift, b + shift, c + shift});
  return result;
}

TracedMesh flipped_faces(const TracedMesh& mesh, double share, std::uint32_t seed) {
  Random random(seed);
  TracedMesh result = mesh;
  for (Triangle& t : result.triangles)
    if (uniform(random, 0, 1) < share) std::swap(t[1], t[2]);
  return result;
}

TracedMesh t_junctions(const TracedMesh& mesh, double share, std::uint32_t seed) {
  Random random(seed);
  TracedMesh result = mesh;
  // Only the side of an edge that comes first is split, and no triangle twice.
  std::set<std::pair<std::uint32_t, std::uint32_t>> met;
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    const Triangle t = mesh.triangles[i];
    bool split = false;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = t[k], b = t[(k + 1) % 3], c = t[(k + 2) % 3];
      if (!met.insert(std::minmax(a, b)).second) continue;
      if (split || uniform(random, 0, 1) >= share) continue;
      split = true;
      const std::uint32_t middle =
          add_vertex(result, 0.5f * (mesh.positions[a] + mesh.positions[b]), -1, mesh.anchor[a]);
      result.triangles[i] = {a, middle, c};
      result.triangles.push_back({middle, b, c});
    }
  }
  return result;
}

TracedMesh internal_faces(const TracedMesh& mesh, int planes) {
  TracedMesh result = mesh;
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : mesh.positions) box.extend(p);
  for (int axis = 0; axis < 3; ++axis)
    for (int i = 1; i <= planes; ++i) {
      const float level =
          box.min()[axis] + box.sizes()[axis] * static_cast<float>(i) / static_cast<float>(planes + 1);
      // The edges of the crossing triangles above the plane run round the surface: a fan from one of their
      // vertices closes each ring.
      std::vector<std::pair<std::uint32_t, std::uint32_t>> rim;
      DisjointSets rings(mesh.positions.size());
      for (const Triangle& t : mesh.triangles)
        for (std::size_t k = 0; k < 3; ++k) {
          const std::uint32_t a = t[k], b = t[(k + 1) % 3], c = t[(k + 2) % 3];
          if (mesh.positions[a][axis] < level || mesh.positions[b][axis] < level ||
              mesh.positions[c][axis] >= level)
            continue;
          rim.emplace_back(a, b);
          rings.join(a, b);
        }
      for (const auto& [a, b] : rim) {
        const std::uint32_t first = rings.find(a);
        if (a != first && b != first) result.triangles.push_back({first, a, b});
      }
    }
  return result;
}

TracedMesh islands(const TracedMesh& mesh, int count, std::uint32_t seed) {
  Random random(seed);
  TracedMesh result = mesh;
  const std::vector<Vec3f> normals = normals_of(mesh);
  const float size = size_of(mesh);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t v = below(random, normals.size());
    const float radius = size * static_cast<float>(uniform(random, 0.001, 0.005));
    const Vec3f n = normals[v].norm() > 0.5f ? normals[v] : direction(random);
    Vec3f middle = mesh.positions[v];
    Vec3f up = n;
    int anchor = mesh.anchor[v];
    switch (i % 6) {
      case 0:
      case 1:
      case 2:
        break;
      case 3:
        middle += 2 * radius * n;
        break;
      case 4:
        middle -= 2 * radius * n;
        up = direction(random);
        break;
      default:
        up = direction(random);
        middle += size * static_cast<float>(uniform(random, 0.2, 1)) * up;
        anchor = -1;
    }
    switch (below(random, 4)) {
      case 0:
        add_island(result, middle, up, radius, 3, true, anchor);
        break;
      case 1:
        add_island(result, middle, up, radius, 6, false, anchor);
        break;
      case 2:
        add_island(result, middle, up, radius, 3, false, anchor);
        break;
      default:
        add_vertex(result, middle, -1, anchor);
    }
  }
  return result;
}

TracedMesh zero_area_faces(const TracedMesh& mesh, double share, std::uint32_t seed) {
  Random random(seed);
  TracedMesh result = mesh;
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    if (uniform(random, 0, 1) >= share) continue;
    const auto [a, b, c] = mesh.triangles[i];
    switch (below(random, 4)) {
      case 0:
        result.triangles.push_back({a, a, b});
        break;
      case 1:
        result.triangles.push_back({c, c, c});
        break;
      case 2:
        result.triangles.push_back({a, b, copy_vertex(result, a)});
        break;
      default: {
        const Vec3f& p = mesh.positions[a];
        // On the line exactly, whatever rounding does.
        const Vec3f half(p.x(), p.y(), 0.5f * (p.z() + mesh.positions[b].z()));
        const Vec3f full(p.x(), p.y(), mesh.positions[b].z());
        result.triangles.push_back(
            {a, add_vertex(result, half, -1, mesh.anchor[a]), add_vertex(result, full, -1, mesh.anchor[a])});
      }
    }
  }
  return result;
}

TracedMesh duplicate_vertices(const TracedMesh& mesh, double share, std::uint32_t seed) {
  Random random(seed);
  TracedMesh result = mesh;
  std::vector<std::uint32_t> copy(mesh.positions.size());
  for (std::uint32_t v = 0; v < copy.size(); ++v)
    copy[v] = uniform(random, 0, 1) < share ? copy_vertex(result, v) : v;
  for (Triangle& t : result.triangles)
    for (std::uint32_t& v : t)
      if (random() & 1) v = copy[v];
  return result;
}

TracedMesh renumbered(const TracedMesh& mesh, std::uint32_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> order(mesh.positions.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t v = order.size(); v > 1; --v) std::swap(order[v - 1], order[below(random, v)]);
  TracedMesh result;
  result.placement = mesh.placement;
  std::vector<std::uint32_t> place(order.size());
  for (const std::uint32_t v : order)
    place[v] = add_vertex(result, mesh.positions[v], mesh.source[v], mesh.anchor[v]);
  for (const Triangle& t : mesh.triangles) {
    Triangle own{place[t[0]], place[t[1]], place[t[2]]};
    std::rotate(own.begin(), own.begin() + below(random, 3), own.end());
    result.triangles.push_back(own);
  }
  for (std::size_t t = result.triangles.size(); t > 1; --t)
    std::swap(result.triangles[t - 1], result.triangles[below(random, t)]);
  return result;
}

TracedMesh turned(const TracedMesh& mesh, double angle, const Vec3d& axis) {
  TracedMesh result = mesh;
  const Affine3d turn(Eigen::AngleAxisd(angle, axis.normalized()));
  for (Vec3f& p : result.positions) p = (turn * p.cast<double>()).cast<float>();
  result.placement = turn * mesh.placement;
  return result;
}

TracedMesh placed(const TracedMesh& mesh, double scale, const Vec3d& shift) {
  TracedMesh result = mesh;
  for (Vec3f& p : result.positions) p = (scale * p.cast<double>() + shift).cast<float>();
  Affine3d place = Affine3d::Identity();
  place.translate(shift).scale(scale);
  result.placement = place * mesh.placement;
  return result;
}

TracedMesh noisy(const TracedMesh& mesh, double amount, std::uint32_t seed) {
  Random random(seed);
  TracedMesh result = mesh;
  const double most = amount * size_of(mesh);
  for (Vec3f& p : result.positions)
    for (int k = 0; k < 3; ++k) p[k] += static_cast<float>(uniform(random, -most, most));
  return result;
}

TracedMesh clothed(const TracedMesh& mesh, const Vec3f& point, const Vec3f& normal, float distance) {
  TracedMesh cloth = cut_open(mesh, point, -normal);
  const std::vector<Vec3f> normals = normals_of(cloth);
  TracedMesh result = mesh;
  const auto shift = static_cast<std::uint32_t>(result.positions.size());
  for (std::size_t v = 0; v < normals.size(); ++v)
    add_vertex(result, cloth.positions[v] + distance * normals[v], -1, cloth.anchor[v]);
  for (const auto& [a, b, c] : cloth.triangles) result.triangles.push_back({a + shift, b + shift, c + shift});
  return result;
}

TracedMesh unwelded(const TracedMesh& mesh) {
  TracedMesh result;
  result.placement = mesh.placement;
  for (const Triangle& t : mesh.triangles) {
    Triangle own;
    for (std::size_t k = 0; k < 3; ++k)
      own[k] = add_vertex(result, mesh.positions[t[k]], mesh.source[t[k]], mesh.anchor[t[k]]);
    result.triangles.push_back(own);
  }
  return result;
}

TracedMesh welded(const TracedMesh& mesh) {
  const Weld weld = weld_vertices(mesh.positions);
  TracedMesh result;
  result.placement = mesh.placement;
  for (const std::uint32_t v : weld.first_vertex)
    add_vertex(result, mesh.positions[v], mesh.source[v], mesh.anchor[v]);
  result.triangles = weld_triangles(weld, mesh.triangles).triangles;
  return result;
}

Vec3f middle_of(const TracedMesh& mesh) {
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : mesh.positions) box.extend(p);
  return box.center();
}

float size_of(const TracedMesh& mesh) {
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : mesh.positions) box.extend(p);
  return box.diagonal().norm();
}

std::span<const Damage> damages() {
  return kDamages;
}

}  // namespace sinew::test
