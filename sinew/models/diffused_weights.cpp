#include <sinew/models/diffused_weights.h>

#include <algorithm>

#include <Eigen/SparseCholesky>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/laplacian.h>

namespace sinew {

namespace {

constexpr double kFade = 0.01;  // weights below are gone
constexpr double kWhole = 0.2;  // and above are kept whole

double faded(double weight) {
  // Twice differentiable: a kink of the weights would show as a ring on the bent limb.
  const double t = std::clamp((weight - kFade) / (kWhole - kFade), 0.0, 1.0);
  return weight * t * t * t * (t * (6 * t - 15) + 10);
}

}  // namespace

SkinWeights diffused_weights(const MeshView& mesh, std::span<const int> part, std::size_t joint_count,
                             std::span<const double> reach) {
  const auto count = static_cast<Eigen::Index>(mesh.positions.size());
  Eigen::VectorXd screen = lumped_mass(mesh);
  for (Eigen::Index v = 0; v < count; ++v) {
    const double l = reach[to_size(v)];
    screen[v] /= l * l;
  }
  Eigen::SparseMatrix<double> system = cotangent_laplacian(mesh);
  system.diagonal() += screen;
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver(system);
  if (solver.info() != Eigen::Success) throw Error("weights: the surface cannot be diffused over");

  // Joint after joint; only what counts is kept, so memory does not grow with the number of joints.
  std::vector<std::vector<Influence>> rows(mesh.positions.size());
  std::vector<Eigen::VectorXd> smooth(joint_count);
  constexpr std::size_t kJointsAtOnce = 8;
  for (std::size_t first = 0; first < joint_count; first += kJointsAtOnce) {
    const std::size_t batch = std::min(kJointsAtOnce, joint_count - first);
    parallel_blocks(batch, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        Eigen::VectorXd indicator = Eigen::VectorXd::Zero(count);
        for (Eigen::Index v = 0; v < count; ++v)
          if (part[to_size(v)] == static_cast<int>(first + i)) indicator[v] = 1;
        Eigen::VectorXd once = solver.solve(screen.cwiseProduct(indicator));
        smooth[first + i] = solver.solve(screen.cwiseProduct(once));
      }
    });
    for (std::size_t i = first; i < first + batch; ++i) {
      for (Eigen::Index v = 0; v < count; ++v)
        if (smooth[i][v] > kFade)
          rows[to_size(v)].push_back(
              {static_cast<std::uint32_t>(i), static_cast<float>(faded(smooth[i][v]))});
      smooth[i].resize(0);
    }
  }
  SkinWeights weights;
  WeightRepairs repairs;
  for (std::vector<Influence>& row : rows) append_row(weights, row, 4, repairs);
  return weights;
}

}  // namespace sinew
