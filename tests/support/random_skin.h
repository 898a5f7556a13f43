#pragma once

#include <random>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/skinning/weights.h>

namespace sinew::test {

/// Vertices with 1 to `most_influences` random influences each, and random joint transforms.
struct RandomSkin {
  std::vector<Vec3f> rest;
  SkinWeights weights;
  std::vector<Affine3d> posed_from_rest;
};

enum class RandomTransforms { rigid, scaled };

RandomSkin make_random_skin(std::uint32_t seed, std::size_t vertices, int joints, int most_influences,
                            RandomTransforms transforms);

}  // namespace sinew::test
