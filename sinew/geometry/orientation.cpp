#include <sinew/geometry/orientation.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

#include <Eigen/Geometry>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>

namespace sinew {

namespace {

// A patch that encloses less than this share of what a sphere of its area would is flat.
constexpr double kFlat = 1e-3;
// Rays leave their own triangle behind by this share of the patch's size.
constexpr float kSkip = 1e-4f;

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
  std::vector<std::uint32_t> partner(corners, kNoIndex);
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

/// Triangles that hang together by edges of exactly two triangles, and agree.
struct OrientedPatches {
  std::vector<std::uint32_t> triangles;  ///< patch after patch
  std::vector<std::size_t> starts{0};    ///< one per patch, and the end
  std::vector<std::uint8_t> reversed;    ///< per triangle, so that patches agree in themselves
  bool closed = true;

  std::size_t size() const { return starts.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t p) const {
    return {triangles.data() + starts[p], starts[p + 1] - starts[p]};
  }
};

OrientedPatches find_patches(const MeshView& mesh) {
  OrientedPatches patches;
  patches.reversed.assign(mesh.triangles.size(), 0);
  const std::vector<std::uint32_t> partner = partner_edges(mesh);
  std::vector<std::uint8_t> reached(mesh.triangles.size(), 0);
  std::vector<std::uint32_t>& queue = patches.triangles;
  for (std::uint32_t seed = 0; seed < mesh.triangles.size(); ++seed) {
    if (reached[seed] != 0 || has_repeated_corner(mesh.triangles[seed])) continue;
    queue.push_back(seed);
    reached[seed] = 1;
    for (std::size_t i = patches.starts.back(); i < queue.size(); ++i) {
      const std::uint32_t t = queue[i];
      for (std::uint32_t k = 0; k < 3; ++k) {
        const std::uint32_t other = partner[3 * t + k];
        if (other == kNoIndex) patches.closed = false;
        if (other == kNoIndex || reached[other / 3] != 0) continue;
        // Neighbours that agree run along their edge in opposite directions.
        const bool same_way = mesh.triangles[t][k] == mesh.triangles[other / 3][other % 3];
        patches.reversed[other / 3] = same_way ? !patches.reversed[t] : patches.reversed[t];
        reached[other / 3] = 1;
        queue.push_back(other / 3);
      }
    }
    patches.starts.push_back(queue.size());
  }
  return patches;
}

/// Whether a patch must be turned to enclose volume, or to face as most of it did.
bool encloses_backwards(const MeshView& mesh, std::span<const std::uint32_t> patch,
                        std::span<const std::uint8_t> reversed) {
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
  return std::abs(volume) > kFlat * sphere ? volume < 0 : 2 * reversed_area > area;
}

/// How many rays get out on either side of a patch.
struct Escapes {
  int front = 0;
  int back = 0;
};

Escapes count_escapes(const MeshView& mesh, std::span<const std::uint32_t> patch,
                      std::span<const std::uint8_t> reversed, const SurfaceQuery& query) {
  constexpr std::size_t kSampledTriangles = 8;
  constexpr int kTilted = 5;
  constexpr double kTiltAngle = 0.9;  // radians
  Eigen::AlignedBox3f box;
  for (const std::uint32_t t : patch)
    for (const std::uint32_t v : mesh.triangles[t]) box.extend(mesh.positions[v]);
  const float skip = kSkip * box.diagonal().norm();
  Escapes escapes;
  const std::size_t samples = std::min(kSampledTriangles, patch.size());
  for (std::size_t i = 0; i < samples; ++i) {
    const std::uint32_t t = patch[i * patch.size() / samples];
    const Triangle& f = mesh.triangles[t];
    const Vec3d a = mesh.positions[f[0]].cast<double>(), b = mesh.positions[f[1]].cast<double>(),
                c = mesh.positions[f[2]].cast<double>();
    Vec3d normal = (b - a).cross(c - a);
    const double length = normal.norm();
    if (!(length > 0)) continue;
    normal *= (reversed[t] != 0 ? -1 : 1) / length;
    const Vec3f middle = ((a + b + c) / 3).cast<float>();
    const Vec3d side = normal.unitOrthogonal(), other = normal.cross(side);
    for (int k = 0; k <= kTilted; ++k) {
      const double turn = 2 * M_PI * k / kTilted;
      const Vec3d way = k == kTilted
                            ? normal
                            : Vec3d(std::cos(kTiltAngle) * normal +
                                    std::sin(kTiltAngle) * (std::cos(turn) * side + std::sin(turn) * other));
      const Vec3f direction = way.cast<float>();
      if (!query.occluded(Ray{.origin = middle, .direction = direction, .t_near = skip})) ++escapes.front;
      if (!query.occluded(Ray{.origin = middle, .direction = -direction, .t_near = skip})) ++escapes.back;
    }
  }
  return escapes;
}

}  // namespace

Orientation find_orientation(const MeshView& mesh, const SurfaceQuery& query) {
  OrientedPatches patches = find_patches(mesh);
  Orientation orientation;
  orientation.patches = patches.size();
  orientation.closed = patches.closed;
  orientation.interior.assign(mesh.triangles.size(), 0);
  const bool one_closed = patches.closed && patches.size() == 1;
  std::vector<std::uint8_t> turned(patches.size(), 0);
  parallel_blocks(patches.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const Escapes escapes =
          one_closed ? Escapes{} : count_escapes(mesh, patches[p], patches.reversed, query);
      turned[p] = escapes.front != escapes.back ? escapes.back > escapes.front
                                                : encloses_backwards(mesh, patches[p], patches.reversed);
      if (!one_closed && escapes.front + escapes.back == 0)
        for (const std::uint32_t t : patches[p]) orientation.interior[t] = 1;
    }
  });
  for (std::size_t p = 0; p < patches.size(); ++p)
    if (turned[p] != 0)
      for (const std::uint32_t t : patches[p]) patches.reversed[t] = !patches.reversed[t];
  orientation.reversed = std::move(patches.reversed);
  return orientation;
}

std::vector<Vec3d> outward_normals(const MeshView& mesh, const Orientation& orientation) {
  assert(orientation.reversed.size() == mesh.triangles.size());
  std::vector<Vec3d> normals(mesh.positions.size(), Vec3d::Zero());
  std::vector<double> areas(mesh.positions.size(), 0.0);
  const auto add = [&](std::size_t t, std::uint32_t v, const Vec3d& normal) {
    normals[v] += orientation.reversed[t] != 0 ? Vec3d(-normal) : normal;
    areas[v] += normal.norm();
  };
  const auto normal_of = [&](const Triangle& f) -> Vec3d {
    const Vec3d a = mesh.positions[f[0]].cast<double>();
    return (mesh.positions[f[1]].cast<double>() - a).cross(mesh.positions[f[2]].cast<double>() - a);
  };
  std::vector<std::uint8_t> has_outer(mesh.positions.size(), 0);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    if (orientation.interior[t] == 0) {
      const Vec3d normal = normal_of(mesh.triangles[t]);
      for (const std::uint32_t v : mesh.triangles[t]) {
        has_outer[v] = 1;
        add(t, v, normal);
      }
    }
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    if (orientation.interior[t] != 0) {
      const Vec3d normal = normal_of(mesh.triangles[t]);
      for (const std::uint32_t v : mesh.triangles[t])
        if (has_outer[v] == 0) add(t, v, normal);
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
