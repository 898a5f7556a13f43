#include "tests/reference/elastic_relaxation.h"

#include <Eigen/SparseCholesky>

namespace sinew::reference {

namespace {

/// The directions in which each vertex may go, one column each: B.
Eigen::SparseMatrix<double> free_directions(std::span<const Vec3d> normals, std::span<const double> hold) {
  std::vector<Eigen::Triplet<double>> entries;
  Eigen::Index columns = 0;
  for (std::size_t i = 0; i < normals.size(); ++i) {
    if (!(hold[i] > 0)) continue;
    Mat3d axes = Mat3d::Identity();
    Eigen::Index first = 0;
    if (normals[i].norm() > 0.5) {
      // The last two columns of an orthonormal frame that begins with the normal.
      axes.col(0) = normals[i].normalized();
      axes.col(1) = axes.col(0).unitOrthogonal();
      axes.col(2) = axes.col(0).cross(axes.col(1));
      first = 1;
    }
    for (Eigen::Index axis = first; axis < 3; ++axis, ++columns)
      for (Eigen::Index k = 0; k < 3; ++k)
        entries.emplace_back(3 * static_cast<Eigen::Index>(i) + k, columns, axes(k, axis));
  }
  Eigen::SparseMatrix<double> result(3 * static_cast<Eigen::Index>(normals.size()), columns);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

}  // namespace

double elastic_energy(const ElasticEnergy& energy, std::span<const Vec3d> positions,
                      std::span<const Vec3d> slid) {
  double sum = 0;
  for (std::size_t i = 0; i < energy.rest.size(); ++i) {
    sum += 2 * energy.hold[i] * slid[i].squaredNorm();
    for (Eigen::SparseMatrix<double>::InnerIterator entry(energy.laplacian, static_cast<Eigen::Index>(i));
         entry; ++entry) {
      const auto j = static_cast<std::size_t>(entry.row());
      if (j == i) continue;
      const Vec3d edge = positions[i] - positions[j],
                  wanted = energy.turns[i] * (energy.rest[i] - energy.rest[j]);
      sum += -entry.value() * (edge - wanted).squaredNorm();
    }
  }
  return sum;
}

std::vector<Vec3d> elastic_gradient(const ElasticEnergy& energy, std::span<const Vec3d> positions,
                                    std::span<const Vec3d> slid) {
  std::vector<Vec3d> result(energy.rest.size(), Vec3d::Zero());
  for (std::size_t i = 0; i < energy.rest.size(); ++i) {
    result[i] = energy.hold[i] * slid[i];
    for (Eigen::SparseMatrix<double>::InnerIterator entry(energy.laplacian, static_cast<Eigen::Index>(i));
         entry; ++entry) {
      const auto j = static_cast<std::size_t>(entry.row());
      if (j == i) continue;
      const Vec3d wanted = 0.5 * (energy.turns[i] + energy.turns[j]) * (energy.rest[i] - energy.rest[j]);
      result[i] += -entry.value() * (positions[i] - positions[j] - wanted);
    }
  }
  return result;
}

std::vector<Vec3d> elastic_moves(const ElasticEnergy& energy, std::span<const Vec3d> positions,
                                 std::span<const Vec3d> slid, std::span<const Vec3d> normals) {
  const auto size = static_cast<Eigen::Index>(3 * positions.size());
  std::vector<Eigen::Triplet<double>> entries;
  for (Eigen::Index i = 0; i < energy.laplacian.outerSize(); ++i) {
    for (Eigen::Index k = 0; k < 3; ++k)
      entries.emplace_back(3 * i + k, 3 * i + k, energy.hold[static_cast<std::size_t>(i)]);
    for (Eigen::SparseMatrix<double>::InnerIterator entry(energy.laplacian, i); entry; ++entry)
      for (Eigen::Index k = 0; k < 3; ++k)
        entries.emplace_back(3 * entry.row() + k, 3 * i + k, entry.value());
  }
  Eigen::SparseMatrix<double> matrix(size, size);
  matrix.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SparseMatrix<double> directions = free_directions(normals, energy.hold);
  const std::vector<Vec3d> gradient = elastic_gradient(energy, positions, slid);
  Eigen::VectorXd right(size);
  for (std::size_t i = 0; i < positions.size(); ++i)
    right.segment<3>(3 * static_cast<Eigen::Index>(i)) = -gradient[i];
  const Eigen::SparseMatrix<double> across = directions.transpose();
  const Eigen::SparseMatrix<double> system = across * matrix * directions;
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(system);
  const Eigen::VectorXd steps = factors.solve(across * right);
  const Eigen::VectorXd moves = directions * steps;
  std::vector<Vec3d> result;
  for (Eigen::Index i = 0; i < static_cast<Eigen::Index>(positions.size()); ++i)
    result.emplace_back(moves.segment<3>(3 * i));
  return result;
}

}  // namespace sinew::reference
