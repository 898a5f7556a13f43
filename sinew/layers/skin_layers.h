#pragma once

#include <memory>

#include <sinew/character/layer.h>

namespace sinew {

/// Linear blend skinning (skinning/linear_blend.h) as a layer.
std::unique_ptr<const Layer> make_linear_blend_layer(const LayerOptions& options, const Character& character);

/// Dual quaternion skinning (skinning/dual_quaternion.h) as a layer.
std::unique_ptr<const Layer> make_dual_quaternion_layer(const LayerOptions& options,
                                                        const Character& character);

}  // namespace sinew
