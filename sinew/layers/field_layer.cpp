#include <sinew/layers/field_layer.h>

#include <sinew/character/character.h>

namespace sinew {

std::string FieldLayer::idle_because() const {
  return fields().fields.size() < 2 ? "there are not two bones with skin that could meet" : "";
}

const FieldLayer* find_field_layer(const Character& character, std::size_t* number) {
  for (std::size_t i = 0; i < character.layers().size(); ++i)
    if (const auto* layer = dynamic_cast<const FieldLayer*>(character.layers()[i].get())) {
      if (number) *number = i;
      return layer;
    }
  return nullptr;
}

}  // namespace sinew
