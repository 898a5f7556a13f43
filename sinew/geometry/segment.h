#pragma once

#include <algorithm>

#include <sinew/core/math.h>

namespace sinew {

/// The point of the segment from `head` to `tail` that is nearest to `at`; `head` when both are the same.
template <typename Vector>
Vector nearest_on_segment(const Vector& head, const Vector& tail, const Vector& at) {
  using Scalar = typename Vector::Scalar;
  const Vector along = tail - head;
  const Scalar length2 = along.squaredNorm();
  const Scalar t =
      length2 > 0 ? std::clamp((at - head).dot(along) / length2, Scalar{0}, Scalar{1}) : Scalar{0};
  return head + t * along;
}

}  // namespace sinew
