#include <sinew/measure/flicker.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <Eigen/LU>

#include <sinew/core/index.h>

namespace sinew {

namespace {

// Beyond this a bone is flat: what it sees would be rounding.
constexpr double kWorstCondition = 1e6;

std::optional<Affine3d> inverted(const Affine3d& transform) {
  const Mat3d linear = transform.linear();
  const Mat3d inverse = linear.inverse();
  if (!inverse.allFinite() || !(linear.norm() * inverse.norm() < kWorstCondition)) return std::nullopt;
  Affine3d result = Affine3d::Identity();
  result.linear() = inverse;
  result.translation() = -(inverse * transform.translation());
  if (!result.translation().allFinite()) return std::nullopt;
  return result;
}

}  // namespace

FlickerMeter::FlickerMeter(const SkinWeights& weights, std::span<const std::uint8_t> counts)
    : strongest_(weights.rows(), kNone) {
  assert(counts.size() == weights.rows());
  for (std::size_t v = 0; v < strongest_.size(); ++v) {
    if (!counts[v] || weights.row_size(v) == 0) continue;
    const auto values = weights.row_values(v);
    strongest_[v] =
        weights.row_joints(v)[to_size(std::max_element(values.begin(), values.end()) - values.begin())];
  }
}

std::optional<Flicker> FlickerMeter::add(std::span<const Vec3f> positions,
                                         std::span<const Affine3d> posed_from_rest) {
  assert(positions.size() == strongest_.size());
  std::rotate(frames_.begin(), frames_.begin() + 1, frames_.end());
  Frame& frame = frames_.back();
  frame.seen.resize(positions.size());
  frame.usable.assign(positions.size(), 0);
  std::vector<std::optional<Affine3d>> rest_from_posed;
  for (const Affine3d& transform : posed_from_rest) rest_from_posed.push_back(inverted(transform));
  for (std::size_t v = 0; v < positions.size(); ++v) {
    if (strongest_[v] == kNone) continue;
    const Vec3d position = positions[v].cast<double>();
    if (posed_from_rest.empty()) {
      frame.seen[v] = position;
    } else if (const auto& transform = rest_from_posed[strongest_[v]]) {
      frame.seen[v] = *transform * position;
    } else {
      continue;
    }
    frame.usable[v] = 1;
  }
  known_ = std::min(known_ + 1, 3);
  if (known_ < 3) return std::nullopt;

  Flicker flicker;
  double squares = 0;
  std::size_t count = 0;
  for (std::size_t v = 0; v < positions.size(); ++v) {
    if (!frames_[0].usable[v] || !frames_[1].usable[v] || !frames_[2].usable[v]) continue;
    const double squared = (frames_[0].seen[v] - 2 * frames_[1].seen[v] + frames_[2].seen[v]).squaredNorm();
    squares += squared;
    flicker.largest = std::max(flicker.largest, std::sqrt(squared));
    ++count;
  }
  flicker.rms = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
  return flicker;
}

}  // namespace sinew
