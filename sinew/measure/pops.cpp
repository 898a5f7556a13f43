#include <sinew/measure/pops.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sinew {

namespace {

double share_of(std::size_t part, std::size_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

void PopMeter::add(std::span<const Vec3f> positions, std::span<const Vec3f> base,
                   std::span<const std::uint8_t> in_contact) {
  assert(positions.size() == counts_.size() && base.size() == counts_.size() &&
         in_contact.size() == counts_.size());
  std::rotate(displacements_.begin(), displacements_.begin() + 1, displacements_.end());
  std::vector<Vec3d>& displacement = displacements_.back();
  displacement.resize(positions.size());
  for (std::size_t v = 0; v < positions.size(); ++v)
    displacement[v] = positions[v].cast<double>() - base[v].cast<double>();
  in_contact_.assign(in_contact.begin(), in_contact.end());
  known_ = std::min(known_ + 1, 3);
}

std::optional<Pops> PopMeter::pops() const {
  if (known_ < 3) return std::nullopt;
  Pops pops;
  std::size_t count = 0, over = 0, touching = 0, touching_over = 0;
  double squares = 0;
  for (std::size_t v = 0; v < counts_.size(); ++v) {
    if (!counts_[v]) continue;
    const double pop = (displacements_[2][v] - 2 * displacements_[1][v] + displacements_[0][v]).norm();
    ++count;
    squares += pop * pop;
    pops.largest = std::max(pops.largest, pop);
    if (pop > kPop) ++over;
    if (!in_contact_[v]) continue;
    ++touching;
    if (pop > kPop) ++touching_over;
  }
  pops.share = share_of(over, count);
  pops.share_in_contact = share_of(touching_over, touching);
  pops.rms = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
  return pops;
}

std::optional<DisplacementSteps> PopMeter::steps() const {
  if (known_ < 2) return std::nullopt;
  DisplacementSteps steps;
  std::size_t count = 0, over = 0;
  for (std::size_t v = 0; v < counts_.size(); ++v) {
    if (!counts_[v]) continue;
    const double step = (displacements_[2][v] - displacements_[1][v]).norm();
    ++count;
    steps.largest = std::max(steps.largest, step);
    if (step > kPop) ++over;
  }
  steps.share = share_of(over, count);
  return steps;
}

}  // namespace sinew
