#include <sinew/geometry/orientation.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sinew {

namespace {

constexpr std::uint32_t kNone = 0xffffffff;
// A patch that encloses less than this share of what a sphere of its area would is flat.
constexpr double kFlat = 1e-3;

bool has_repeated_corner(const Triangle& f) {
  return f[0] == f[1] || f[1] == f[2] || f[2] == f[0];
}

// Where an edge of a triangle goes: its larger vertex, and the corner (3 t + k) that it starts from.
struct EdgeUse {
  std::uint32_t larger;
  std::uint32_t corner;
};

// Per corner 3 t + k, the corner whose edge is the same as that from corner k to the next, where exactly two
// triangles have it.
std::vector<std::uint32_t> partner_edges(const MeshView& mesh) {
  const auto ends = [&](std::uint32_t corner) {
    const Triangle& f = mesh.triangles[corner / 3];
    const std::uint32_t a = f[corner % 3], b = f[(corner % 3 + 1) % 3];
    return std::pair(std::min(a, b), std::max(a, b));
  };
  // Edges sorted by their smaller vertex by counting; the few at one vertex then by their larger one.
  std::vector<std::uint32_t> starts(mesh.positions.size() + 1, 0);
  const auto corners = static_cast<std::uint32_t>(3 * mesh.triangles.size());
  for (std::uint32_t c = 0; c < corners; ++c)
    if (!has_repeated_corner(mesh.triangles[c / 3])) ++starts[ends(c).first + 1];
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) starts[v + 1] += starts[v];
  std::vector<EdgeUse> uses(starts.back());
  std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
  for (std::uint32_t c = 0; c < corners; ++c)
    if (!has_repeated_corner(mesh.triangles[c / 3])) {
      const auto [smaller, larger] = ends(c);
      uses[next[smaller]++] = {larger, c};
    }
  std::vector<std::uint32_t> partner(corners, kNone);
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    const auto begin = uses.begin() + starts[v], end = uses.begin() + starts[v + 1];
    std::sort(begin, end, [](const EdgeUse& a, const EdgeUse& b) {
      return a.larger != b.larger ? a.larger < b.larger : a.corner < b.corner;
    });
    for (auto first = begin; first != end;) {
      auto last = first;
      while (last != end && last->larger == first->larger) ++last;
      if (last - first == 2) {
        partner[first->corner] = first[1].corner;
        partner[first[1].corner] = first->corner;
      }
      first = last;
    }
  }
  return partner;
}

}  // namespace

std::vector<std::uint8_t> outward_reversals(const MeshView& mesh) {
  std::vector<std::uint8_t> reversed(mesh.triangles.size(), 0);
  const std::vector<std::uint32_t> partner = partner_edges(mesh);
  std::vector<std::uint8_t> reached(mesh.triangles.size(), 0);
  std::vector<std::uint32_t> patch;
  for (std::uint32_t seed = 0; seed < mesh.triangles.size(); ++seed) {
    if (reached[seed] != 0 || has_repeated_corner(mesh.triangles[seed])) continue;
    patch.assign(1, seed);
    reached[seed] = 1;
    for (std::size_t i = 0; i < patch.size(); ++i) {
      const std::uint32_t t = patch[i];
      for (std::uint32_t k = 0; k < 3; ++k) {
        const std::uint32_t other = partner[3 * t + k];
        if (other == kNone || reached[other / 3] != 0) continue;
        // Neighbours that agree run along their edge in opposite directions.
        const bool same_way = mesh.triangles[t][k] == mesh.triangles[other / 3][other % 3];
        reversed[other / 3] = same_way ? !reversed[t] : reversed[t];
        reached[other / 3] = 1;
        patch.push_back(other / 3);
      }
    }
    Vec3d middle = Vec3d::Zero();
    for (const std::uint32_t t : patch)
      for (const std::uint32_t v : mesh.triangles[t]) middle += mesh.positions[v].cast<double>();
    middle /= 3.0 * static_cast<double>(patch.size());
    double volume = 0, area = 0, reversed_area = 0;
    for (const std::uint32_t t : patch) {
      const Triangle& f = mesh.triangles[t];
      const Vec3d a = mesh.positions[f[0]].cast<double>() - middle,
                  b = mesh.positions[f[1]].cast<double>() - middle,
                  c = mesh.positions[f[2]].cast<double>() - middle;
      volume += (reversed[t] != 0 ? -1 : 1) * a.dot(b.cross(c)) / 6;
      const double triangle_area = (b - a).cross(c - a).norm() / 2;
      area += triangle_area;
      if (reversed[t] != 0) reversed_area += triangle_area;
    }
    const double sphere = std::pow(area, 1.5) / (6 * std::sqrt(M_PI));
    const bool inside_out = std::abs(volume) > kFlat * sphere ? volume < 0 : 2 * reversed_area > area;
    if (inside_out)
      for (const std::uint32_t t : patch) reversed[t] = !reversed[t];
  }
  return reversed;
}

std::vector<Vec3d> outward_normals(const MeshView& mesh, const std::vector<std::uint8_t>& reversals) {
  assert(reversals.size() == mesh.triangles.size());
  std::vector<Vec3d> normals(mesh.positions.size(), Vec3d::Zero());
  std::vector<double> areas(mesh.positions.size(), 0.0);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const Triangle& f = mesh.triangles[t];
    const Vec3d a = mesh.positions[f[0]].cast<double>();
    Vec3d normal = (mesh.positions[f[1]].cast<double>() - a).cross(mesh.positions[f[2]].cast<double>() - a);
    const double area = normal.norm();
    if (reversals[t] != 0) normal = -normal;
    for (const std::uint32_t v : f) {
      normals[v] += normal;
      areas[v] += area;
    }
  }
  for (std::size_t v = 0; v < normals.size(); ++v) {
    const double length = normals[v].norm();
    if (length > 1e-9 * areas[v])
      normals[v] /= length;
    else
      normals[v].setZero();
  }
  return normals;
}

}  // namespace sinew
