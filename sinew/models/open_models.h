#pragma once

#include <span>
#include <string>
#include <string_view>

#include <sinew/core/progress.h>
#include <sinew/models/models.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// A built-in surface with borders, to try wrinkles on: its entry in the list. Unlike the characters of
/// models(), which are closed, each comes in one size only.
struct OpenModel {
  std::string_view name;
  std::string_view summary;
  Scene (*make)(const Progress& progress);
};

std::span<const OpenModel> open_models();
/// "forehead, trousers": for messages.
std::string open_model_names();

/// Makes the open surface of that name: one mesh with borders, manifold, facing outwards, with skeleton,
/// weights and one clip whose last frame is its first. Throws Error for unknown names.
Scene make_open_model(std::string_view name, const Progress& progress = {});

/// The scene of a character or of an open surface, for callers to whom a name may be either. Throws Error as
/// make_model() does, and when an open surface is asked for another number of vertices or other proportions
/// than its own.
Scene make_built_in_scene(std::string_view name, const ModelOptions& options = {},
                          const Progress& progress = {});

/// A patch of 16 cm by 8 cm on an ellipsoid round the origin, in quads with UVs; `raise` pushes the brow up.
Scene make_forehead_model(const Progress& progress);
/// From waist to ankles of a standing adult, open at all three ends; `sit` bends hips and knees.
Scene make_trousers_model(const Progress& progress);

}  // namespace sinew
