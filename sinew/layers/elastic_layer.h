#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/layers/implicit_layer.h>
#include <sinew/projection/elastic_skin.h>

namespace sinew {

/// Joints whose skin is stiffer than the rest.
struct RigidPart {
  std::string joint = "*";
  double rigidity = 1;
  void visit(FieldVisitor& fields);
};

/// All that a recipe may say about elastic skinning.
class ElasticLayerOptions : public FieldLayerOptions {
 public:
  double reach = ElasticParams().reach;
  double settle = ElasticParams().settle;
  std::vector<RigidPart> rigid;  ///< the last that matches counts
  std::string rigid_attribute = "_RIGID";
  void visit(FieldVisitor& visitor) override;
};

/// Elastic implicit skinning (projection/elastic_skin.h) of one character: the contact of ImplicitLayer, of
/// skin that slides. Put it after dual quaternion skinning.
class ElasticLayer : public ImplicitLayer {
 public:
  ElasticLayer(const Character& character, const ElasticLayerOptions& options);

  bool has_history() const override { return true; }
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 private:
  struct State;

  std::unique_ptr<const ElasticSkin> elastic_;
  std::vector<float> rigidity_;             // per vertex; empty: none is rigid
  std::vector<std::uint32_t> own_binding_;  // per vertex, the one that moves it most
};

std::unique_ptr<LayerOptions> make_elastic_options();
std::unique_ptr<const Layer> make_elastic_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
