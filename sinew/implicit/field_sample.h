#pragma once

#include <sinew/core/math.h>

namespace sinew {

/// A field at a point: 0 outside its support, ½ on its surface, above ½ inside. The gradient points inwards.
struct FieldSample {
  float value = 0;
  Vec3f gradient = Vec3f::Zero();
};

}  // namespace sinew
