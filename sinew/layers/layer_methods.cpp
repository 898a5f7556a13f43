#include <sinew/character/layer.h>
#include <sinew/layers/bulge_free_layer.h>
#include <sinew/layers/curve_layer.h>
#include <sinew/layers/elastic_layer.h>
#include <sinew/layers/flesh_layer.h>
#include <sinew/layers/implicit_layer.h>
#include <sinew/layers/skin_layers.h>
#include <sinew/layers/stretch_twist_layer.h>
#include <sinew/layers/volume_layer.h>
#include <sinew/layers/wrinkle_layer.h>

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
    {"stretch_twist",
     "stretchable, twistable bones: a wrist's turn and a moved joint are spread along the bone before it",
     true, make_stretch_twist_options, make_stretch_twist_layer},
    {"curves", "tails, spines and tentacles follow a smooth curve through their joints", false,
     make_curve_options, make_curve_layer},
    {"implicit", "implicit skinning: limbs fold into contact and keep their shape, on top of dqs", false,
     make_implicit_options, make_implicit_layer},
    {"elastic",
     "elastic implicit skinning: skin that remembers where it was stretches, slides and folds deeper, on top "
     "of dqs",
     false, make_elastic_options, make_elastic_layer},
    {"volume",
     "constant volume: what a joint loses its skin restores, as muscle, fat or rubber, after any skin", false,
     make_volume_options, make_volume_layer},
    {"flesh", "flesh that jiggles: pieces that springs drag behind their bones", false, make_flesh_options,
     make_flesh_layer},
    {"wrinkles", "skin and cloth that fold where they are compressed, as its tools say", false,
     make_wrinkle_options, make_wrinkle_layer},
};

}  // namespace

std::vector<std::uint8_t> LayerOptions::triangle_levels(const Character&) const {
  return {};
}

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
