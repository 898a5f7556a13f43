#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <sinew/character/layer.h>
#include <sinew/implicit/field_set.h>

namespace sinew {

/// What a frame did to a vertex. Pictures colour them by it.
enum class SkinMark : std::uint8_t {
  still = 0,    ///< is where the layer before put it
  moved = 1,    ///< was moved: took the shape of an operator, or made up for lost volume, or slid
  contact = 2,  ///< was stopped by other skin
};

/// A layer that works with the fields of a character's bones. Pictures and rulers use this interface to show
/// the fields and what the layer did.
class FieldLayer : public Layer {
 public:
  virtual const FieldSet& fields() const = 0;
  /// What the last frame did to each welded vertex; `state` is one of this layer's.
  virtual std::span<const SkinMark> marks(const LayerState& state) const = 0;

  std::string idle_because() const override;
};

/// The character's first such layer and its number among the layers; null when it has none.
const FieldLayer* find_field_layer(const Character& character, std::size_t* number = nullptr);

}  // namespace sinew
