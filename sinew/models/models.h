#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/core/progress.h>
#include <sinew/models/limbs.h>
#include <sinew/scene/scene.h>

namespace sinew {

struct ModelOptions {
  std::size_t vertices = 0;  ///< 0: the model's usual number
  Proportions proportions;
};

/// A built-in character: scene with mesh, skeleton, weights and clips, and its joints' limits.
struct BuiltModel {
  Scene scene;
  Rig rig;  ///< joints in the order of scene.skeleton
};

/// A built-in character's entry in the list.
struct Model {
  std::string_view name;
  std::string_view summary;
  std::size_t least_vertices;  ///< at least 8 round the thinnest limb, at usual proportions
  std::size_t usual_vertices;
  std::string_view thinnest_limb;
  BuiltModel (*make)(const ModelOptions& options, const Progress& progress);
};

inline constexpr std::size_t kMostModelVertices = 1'000'000;

std::span<const Model> models();
/// "tube, arm, hand, mannequin, cat, insect": for messages.
std::string model_names();

/// Makes the character of that name: closed, manifold, with exactly options.vertices vertices whose spacing
/// follows the limbs' thickness, facing +z, standing on y = 0 (limbs without a body start at the origin).
/// Throws Error for unknown names, vertices outside the model's range (its least number grows as proportions
/// make limbs longer or thinner), proportions outside 0.5 to 2, and such as tear holes into the body.
BuiltModel make_model(std::string_view name, const ModelOptions& options = {}, const Progress& progress = {});

/// Meshes the flesh, gives it weights by the rig's bones and wraps all up. `inside` lies in the flesh, `cell`
/// (metres) is fine enough for the thinnest part.
BuiltModel finish_model(std::string_view name, Rig rig, const Flesh& flesh, const Vec3d& inside, double cell,
                        std::size_t vertices, const Progress& progress);

BuiltModel make_tube_model(const ModelOptions& options, const Progress& progress);
BuiltModel make_arm_model(const ModelOptions& options, const Progress& progress);
BuiltModel make_hand_model(const ModelOptions& options, const Progress& progress);
BuiltModel make_mannequin_model(const ModelOptions& options, const Progress& progress);
BuiltModel make_cat_model(const ModelOptions& options, const Progress& progress);
BuiltModel make_insect_model(const ModelOptions& options, const Progress& progress);

}  // namespace sinew
