#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/layer.h>
#include <sinew/effects/damped_spring.h>
#include <sinew/effects/flesh.h>
#include <sinew/layers/implicit_options.h>

namespace sinew {

/// An element of flesh in a recipe.
struct FleshChoice {
  std::string name = "flesh";  ///< for messages
  std::string joint;           ///< dominant: carries the element; a pattern makes one for each that fits
  /// Joints at the other end of its bone: their barycentre; of a pattern, those below the dominant one.
  /// Empty: the end of the dominant joint's bone.
  std::string to;
  std::string
      skin;  ///< joints whose skin belongs to it; empty: the dominant one and those on the way to `to`
  std::string weight;     ///< joints whose skin weights multiply its share; empty: none
  std::string attribute;  ///< painted share
  std::vector<RecipeBall> region;
  double frequency = 2.5;                                ///< hertz
  double damping = 0.25;                                 ///< ratio
  double mass = 0, stiffness = 0, damping_constant = 0;  ///< instead, when mass and stiffness are set
  double gravity = 0.25;
  double thickness = 0;  ///< of the bone, as a share of the distance to the farthest skin
  double limit = 1;      ///< of the stretch, in thicknesses of the flesh
  double strength = 1;
  double rotation = 0;
  std::size_t attenuation = 0;
  void visit(FieldVisitor& fields);
  /// Throws Error, prefixed with `where`, for springs that do not hold.
  DampedSpring spring(const std::string& where) const;
};

class FleshLayerOptions : public LayerOptions {
 public:
  std::vector<FleshChoice> elements;
  void visit(FieldVisitor& fields) override;
};

/// Flesh that jiggles behind its bones (effects/flesh.h), whatever layer stands before it. Recipes without
/// elements get those of suggest_flesh().
class FleshLayer : public Layer {
 public:
  struct Element {
    std::string name;
    std::uint32_t binding = 0;     ///< of the dominant joint
    Vec3d centre = Vec3d::Zero();  ///< the middle of its bone, at rest
    FleshWeights flesh;
    DampedSpring spring{1, 1};
    double gravity = 1, limit = 1, strength = 1, rotation = 0;
  };

  /// Throws Error for elements that no joint fits, and springs that do not hold.
  FleshLayer(const Character& character, const FleshLayerOptions& options);

  std::span<const Element> elements() const { return elements_; }
  bool has_history() const override { return true; }
  std::string idle_because() const override;
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 private:
  std::vector<Element> elements_;
};

std::unique_ptr<LayerOptions> make_flesh_options();
std::unique_ptr<const Layer> make_flesh_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
