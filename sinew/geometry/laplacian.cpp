#include <sinew/geometry/laplacian.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/incidence.h>

namespace sinew {

namespace {

constexpr std::size_t kBlock = 2048;

Vec3d corner_position(const MeshView& mesh, const Triangle& triangle, int k) {
  return mesh.positions[triangle[k]].cast<double>();
}

// Half the cotangents at a triangle's three corners. In double no product of float coordinates can overflow
// or vanish, so tiny and huge meshes need no rescaling.
std::array<double, 3> half_cotangents(const MeshView& mesh, const Triangle& triangle) {
  const Vec3d a = corner_position(mesh, triangle, 0), b = corner_position(mesh, triangle, 1),
              c = corner_position(mesh, triangle, 2);
  const Vec3d ab = b - a, bc = c - b, ca = a - c;
  const double longest = std::max({ab.squaredNorm(), bc.squaredNorm(), ca.squaredNorm()});
  if (longest == 0) return {0, 0, 0};
  const double double_area = std::max(ab.cross(bc).norm(), kSmallestHeight * longest);
  return {-0.5 * ab.dot(ca) / double_area, -0.5 * bc.dot(ab) / double_area, -0.5 * ca.dot(bc) / double_area};
}

struct Entry {
  int row;
  double weight;
};

}  // namespace

Eigen::SparseMatrix<double> cotangent_laplacian(const MeshView& mesh) {
  assert(mesh.positions.size() < to_size(std::numeric_limits<int>::max()));
  const auto n = static_cast<int>(mesh.positions.size());
  const Incidence incidence = vertex_incidence(mesh.positions.size(), mesh.triangles);
  std::vector<std::array<double, 3>> cotangents(mesh.triangles.size());
  parallel_blocks(mesh.triangles.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) cotangents[t] = half_cotangents(mesh, mesh.triangles[t]);
  });

  // Column v, from the triangles around v in their order: entry (i, j) and entry (j, i) add the same numbers
  // in the same order, so the matrix is symmetric to the bit.
  const auto column = [&](std::size_t v, std::vector<Entry>& entries) {
    entries.clear();
    double diagonal = 0;
    for (const std::uint32_t corner : incidence[v]) {
      const Triangle& f = mesh.triangles[corner / 3];
      if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) continue;
      const std::uint32_t k = corner % 3, next = (k + 1) % 3, last = (k + 2) % 3;
      entries.push_back({static_cast<int>(f[next]), -cotangents[corner / 3][last]});
      entries.push_back({static_cast<int>(f[last]), -cotangents[corner / 3][next]});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.row < b.row; });
    std::size_t kept = 0;
    for (const Entry& entry : entries) {
      if (kept > 0 && entries[kept - 1].row == entry.row)
        entries[kept - 1].weight += entry.weight;
      else
        entries[kept++] = entry;
    }
    entries.resize(kept);
    for (const Entry& entry : entries) diagonal -= entry.weight;
    const auto place = std::lower_bound(entries.begin(), entries.end(), static_cast<int>(v),
                                        [](const Entry& entry, int row) { return entry.row < row; });
    entries.insert(place, {static_cast<int>(v), diagonal});
  };

  std::vector<int> starts(mesh.positions.size() + 1, 0);
  parallel_blocks(mesh.positions.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<Entry> entries;
    for (std::size_t v = begin; v < end; ++v) {
      column(v, entries);
      starts[v + 1] = static_cast<int>(entries.size());
    }
  });
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) starts[v + 1] += starts[v];

  Eigen::SparseMatrix<double> laplacian(n, n);
  laplacian.resizeNonZeros(starts.back());
  std::copy(starts.begin(), starts.end(), laplacian.outerIndexPtr());
  parallel_blocks(mesh.positions.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<Entry> entries;
    for (std::size_t v = begin; v < end; ++v) {
      column(v, entries);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        laplacian.innerIndexPtr()[to_size(starts[v]) + i] = entries[i].row;
        laplacian.valuePtr()[to_size(starts[v]) + i] = entries[i].weight;
      }
    }
  });
  return laplacian;
}

Eigen::VectorXd lumped_mass(const MeshView& mesh) {
  Eigen::VectorXd mass = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(mesh.positions.size()));
  double total = 0;
  for (const Triangle& f : mesh.triangles) {
    const Vec3d a = corner_position(mesh, f, 0);
    const double area = 0.5 * (corner_position(mesh, f, 1) - a).cross(corner_position(mesh, f, 2) - a).norm();
    for (const std::uint32_t v : f) mass[v] += area / 3;
    total += area;
  }
  const double floor = total > 0 ? 1e-6 * total / static_cast<double>(mass.size()) : 1.0;
  for (Eigen::Index v = 0; v < mass.size(); ++v) mass[v] = std::max(mass[v], floor);
  return mass;
}

}  // namespace sinew
