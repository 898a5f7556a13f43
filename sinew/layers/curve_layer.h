#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sinew/character/layer.h>
#include <sinew/skinning/curve_skeleton.h>

namespace sinew {

/// A chain of joints as a recipe names it.
struct ChainOptions {
  std::string from, to;
  void visit(FieldVisitor& fields);
};

/// Curve skeletons (skinning/curve_skeleton.h) as a layer on top of the skin.
class CurveOptions : public LayerOptions {
 public:
  std::vector<ChainOptions> chains;  ///< empty: find_chains
  void visit(FieldVisitor& fields) override;
};
std::unique_ptr<LayerOptions> make_curve_options();
/// Throws Error naming the field for joints that do not exist, chains that are none, and joints that are in
/// two chains.
std::unique_ptr<const Layer> make_curve_layer(const LayerOptions& options, const Character& character);

/// Chains of joints that are soft along their whole length, each from root to tip:
/// - by their names: tails, tentacles, ears and the like of at least 3 joints, spines and necks of at least
///   4, also through joints with side branches;
/// - without a name to go by: at least 6 joints in a row without branches and with bones of nearly one
///   length, none of them named like a limb.
/// Bones in a row differ in length by less than a factor of 3. Joints that move no skin are passed over.
/// Arms, legs and fingers are never chains.
std::vector<std::vector<int>> find_chains(const Character& character);

}  // namespace sinew
