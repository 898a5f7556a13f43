#include <sinew/measure/pose_deviation.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <Eigen/LU>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/polar.h>

namespace sinew {

PoseDeviationMeter::PoseDeviationMeter(std::span<const Vec3f> rest, const SkinWeights& weights,
                                       std::span<const std::uint8_t> counts) {
  assert(weights.rows() == rest.size() && counts.size() == rest.size());
  std::vector<std::vector<std::uint32_t>> own;
  for (std::uint32_t v = 0; v < rest.size(); ++v) {
    if (!counts[v] || weights.row_size(v) == 0) continue;
    const auto values = weights.row_values(v);
    const std::uint32_t binding =
        weights.row_joints(v)[to_size(std::max_element(values.begin(), values.end()) - values.begin())];
    if (binding >= own.size()) own.resize(binding + 1);
    own[binding].push_back(v);
  }
  for (std::uint32_t b = 0; b < own.size(); ++b) {
    if (own[b].size() < kFewest) continue;
    bindings_.push_back(b);
    own_.push_back(std::move(own[b]));
  }
}

std::vector<BindingDeviation> PoseDeviationMeter::measure(std::span<const Vec3f> rest,
                                                          std::span<const Vec3f> positions,
                                                          std::span<const Affine3d> posed_from_rest) const {
  std::vector<BindingDeviation> all(bindings_.size());
  parallel_blocks(bindings_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      BindingDeviation& result = all[b];
      result.binding = bindings_[b];
      result.rms = -1;
      if (bindings_[b] >= posed_from_rest.size()) continue;
      const Affine3d& posed = posed_from_rest[bindings_[b]];
      if (!(std::abs(posed.linear().determinant()) > 0)) continue;
      // Where the pose carries its skin, and where that is: the best rigid motion from one to the other.
      const auto count = static_cast<double>(own_[b].size());
      Vec3d from_middle = Vec3d::Zero(), to_middle = Vec3d::Zero();
      for (const std::uint32_t v : own_[b]) {
        from_middle += posed * rest[v].cast<double>() / count;
        to_middle += positions[v].cast<double>() / count;
      }
      Mat3d covariance = Mat3d::Zero();
      for (const std::uint32_t v : own_[b])
        covariance += (positions[v].cast<double>() - to_middle) *
                      (posed * rest[v].cast<double>() - from_middle).transpose();
      const Mat3d turn = nearest_rotation(covariance);
      double squares = 0;
      for (const std::uint32_t v : own_[b]) {
        const Vec3d carried = posed * rest[v].cast<double>();
        const double off = (turn * (carried - from_middle) + to_middle - carried).norm();
        squares += off * off;
        result.largest = std::max(result.largest, off);
      }
      result.rms = std::sqrt(squares / count);
    }
  });
  std::erase_if(all, [](const BindingDeviation& d) { return d.rms < 0; });
  return all;
}

}  // namespace sinew
