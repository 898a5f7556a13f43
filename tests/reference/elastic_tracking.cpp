#include "tests/reference/elastic_tracking.h"

#include <Eigen/SVD>
#include <Eigen/SparseCholesky>

namespace sinew::reference {

namespace {

/// The directions in which each vertex may go, one column each.
Eigen::SparseMatrix<double> free_directions(std::span<const Vec3d> normals,
                                            std::span<const std::uint8_t> fixed) {
  std::vector<Eigen::Triplet<double>> entries;
  Eigen::Index columns = 0;
  for (std::size_t i = 0; i < normals.size(); ++i) {
    if (fixed[i] != 0) continue;
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

std::vector<Mat3d> blended_turns(const SkinWeights& weights, std::span<const Affine3d> posed_from_rest) {
  std::vector<Quatd> rotations;
  std::vector<Mat3d> stretches;
  for (const Affine3d& transform : posed_from_rest) {
    const Eigen::JacobiSVD<Mat3d> svd(transform.linear(), Eigen::ComputeFullU | Eigen::ComputeFullV);
    Mat3d rotation = svd.matrixU() * svd.matrixV().transpose();
    if (rotation.determinant() < 0) rotation = -rotation;
    rotations.emplace_back(rotation);
    stretches.push_back(rotation.transpose() * transform.linear());
  }
  std::vector<Mat3d> result;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    const auto joints = weights.row_joints(v);
    Quatd sum(0, 0, 0, 0);
    Mat3d stretch = Mat3d::Zero();
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const Quatd& rotation = rotations[joints[k]];
      const double weight = weights.row_values(v)[k];
      const double sign = rotation.dot(rotations[joints[0]]) < 0 ? -1 : 1;
      sum.coeffs() += sign * weight * rotation.coeffs();
      stretch += weight * stretches[joints[k]];
    }
    result.push_back(sum.normalized().toRotationMatrix() * stretch);
  }
  return result;
}

double elastic_energy(const ElasticSkin& skin, std::span<const Mat3d> turns,
                      std::span<const Vec3d> positions) {
  double sum = 0;
  for (std::size_t i = 0; i < skin.rest.size(); ++i)
    for (Eigen::SparseMatrix<double>::InnerIterator entry(skin.laplacian, static_cast<Eigen::Index>(i));
         entry; ++entry) {
      const auto j = static_cast<std::size_t>(entry.row());
      if (j == i) continue;
      const Vec3d edge = positions[i] - positions[j], wanted = turns[i] * (skin.rest[i] - skin.rest[j]);
      sum += -entry.value() * (edge - wanted).squaredNorm();
    }
  return sum;
}

std::vector<Vec3d> elastic_gradient(const ElasticSkin& skin, std::span<const Mat3d> turns,
                                    std::span<const Vec3d> positions) {
  std::vector<Vec3d> result(skin.rest.size(), Vec3d::Zero());
  for (std::size_t i = 0; i < skin.rest.size(); ++i)
    for (Eigen::SparseMatrix<double>::InnerIterator entry(skin.laplacian, static_cast<Eigen::Index>(i));
         entry; ++entry) {
      const auto j = static_cast<std::size_t>(entry.row());
      if (j == i) continue;
      const Vec3d wanted = 0.5 * (turns[i] + turns[j]) * (skin.rest[i] - skin.rest[j]);
      result[i] += -entry.value() * (positions[i] - positions[j] - wanted);
    }
  return result;
}

std::vector<Vec3d> tangential_gradient(const ElasticSkin& skin, std::span<const Mat3d> turns,
                                       std::span<const Vec3d> positions, std::span<const Vec3d> normals,
                                       std::span<const std::uint8_t> fixed) {
  std::vector<Vec3d> result = elastic_gradient(skin, turns, positions);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] -= result[i].dot(normals[i]) * normals[i];
    if (fixed[i] != 0) result[i].setZero();
  }
  return result;
}

std::vector<Vec3d> elastic_minimum(const ElasticSkin& skin, std::span<const Mat3d> turns,
                                   std::span<const Vec3d> positions, std::span<const Vec3d> normals,
                                   std::span<const std::uint8_t> fixed) {
  const auto size = static_cast<Eigen::Index>(3 * positions.size());
  std::vector<Eigen::Triplet<double>> entries;
  for (Eigen::Index i = 0; i < skin.laplacian.outerSize(); ++i)
    for (Eigen::SparseMatrix<double>::InnerIterator entry(skin.laplacian, i); entry; ++entry)
      for (Eigen::Index k = 0; k < 3; ++k)
        entries.emplace_back(3 * entry.row() + k, 3 * i + k, entry.value());
  Eigen::SparseMatrix<double> laplacian(size, size);
  laplacian.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SparseMatrix<double> directions = free_directions(normals, fixed);
  const std::vector<Vec3d> gradient = elastic_gradient(skin, turns, positions);
  Eigen::VectorXd right(size);
  for (std::size_t i = 0; i < positions.size(); ++i)
    right.segment<3>(3 * static_cast<Eigen::Index>(i)) = -gradient[i];
  const Eigen::SparseMatrix<double> across = directions.transpose();
  const Eigen::SparseMatrix<double> system = across * laplacian * directions;
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(system);
  const Eigen::VectorXd steps = factors.solve(across * right);
  const Eigen::VectorXd moves = directions * steps;
  std::vector<Vec3d> result(positions.begin(), positions.end());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] += moves.segment<3>(3 * static_cast<Eigen::Index>(i));
  return result;
}

}  // namespace sinew::reference
