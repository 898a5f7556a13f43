#pragma once

#include <memory>

#include <sinew/character/layer.h>

namespace sinew {

struct BulgeFreeLayerOptions : LayerOptions {
  double strength = 1;  ///< 0 … 1: 0 is plain dual quaternion skinning
  void visit(FieldVisitor& visitor) override;
};

std::unique_ptr<LayerOptions> make_bulge_free_options();

/// Dual quaternion skinning without its bulge (skinning/bulge_free.h) as a layer. `options` are
/// BulgeFreeLayerOptions.
std::unique_ptr<const Layer> make_bulge_free_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
