#include <sinew/character/bulge_free_layer.h>
#include <sinew/character/layer.h>
#include <sinew/character/skin_layers.h>

namespace sinew {

namespace {

std::unique_ptr<LayerOptions> no_options() {
  return std::make_unique<LayerOptions>();
}

constexpr LayerMethod kMethods[] = {
    {"lbs", "linear blend skinning: what engines do; collapses where joints twist", true, no_options,
     make_linear_blend_layer},
    {"dqs", "dual quaternion skinning: keeps its volume under twist; bulges where joints bend", true,
     no_options, make_dual_quaternion_layer},
    {"bulge_free", "dual quaternion skinning without its bulge: bent skin keeps its distance to the bones",
     true, make_bulge_free_options, make_bulge_free_layer},
};

}  // namespace

std::span<const LayerMethod> layer_methods() {
  return kMethods;
}

const LayerMethod* find_layer_method(std::string_view name) {
  for (const LayerMethod& method : kMethods)
    if (method.name == name) return &method;
  return nullptr;
}

std::string layer_method_names() {
  std::string names;
  for (const LayerMethod& method : kMethods) {
    if (!names.empty()) names += ", ";
    names += method.name;
  }
  return names;
}

}  // namespace sinew
