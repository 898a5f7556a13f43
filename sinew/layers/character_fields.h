#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/implicit/field_set.h>
#include <sinew/layers/implicit_options.h>

namespace sinew {

/// The fields of a character's bones and which field is each welded vertex's own.
struct CharacterFields {
  std::shared_ptr<const FieldSet> set;
  std::vector<std::int32_t> own;  ///< -1: none
};

/// One field per joint with skin. Its part is what it moves most of the mesh that makes the fields: the one
/// of the largest area, or, for joints that it does not cover, the next; those that the options name, if they
/// name any. Vertices belong to the field of their strongest joint that has one, in whatever mesh they are:
/// eyes and clothes follow the body. Throws Error for operators, patterns and muscles in the options that do
/// not hold.
CharacterFields make_character_fields(const Character& character, const FieldLayerOptions& options);

}  // namespace sinew
