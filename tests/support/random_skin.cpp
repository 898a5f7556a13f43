#include "tests/support/random_skin.h"

#include <algorithm>

namespace sinew::test {

RandomSkin make_random_skin(std::uint32_t seed, std::size_t vertices, int joints, int most_influences,
                            RandomTransforms transforms) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  RandomSkin skin;
  for (int j = 0; j < joints; ++j) {
    // Random unit quaternions lie in both hemispheres, so that signs matter.
    const Quatd rotation = Quatd(unit(random), unit(random), unit(random), unit(random) + 1e-3).normalized();
    Affine3d transform = Affine3d::Identity();
    transform.linear() = rotation.toRotationMatrix();
    if (transforms == RandomTransforms::scaled) {
      Mat3d stretch = Mat3d::Identity() * (1.5 + unit(random));
      stretch(0, 1) = stretch(1, 0) = 0.3 * unit(random);
      stretch(2, 2) *= 1 + 0.5 * unit(random);
      transform.linear() = transform.linear() * stretch;
    }
    transform.translation() = Vec3d(unit(random), unit(random), unit(random));
    skin.posed_from_rest.push_back(transform);
  }
  WeightRepairs repairs;
  std::vector<Influence> row;
  for (std::size_t v = 0; v < vertices; ++v) {
    skin.rest.emplace_back(unit(random), unit(random), unit(random));
    row.clear();
    const int count = 1 + static_cast<int>(random() % static_cast<std::uint32_t>(most_influences));
    for (int k = 0; k < count; ++k)
      row.push_back({static_cast<std::uint32_t>(random() % static_cast<std::uint32_t>(joints)),
                     static_cast<float>(1.01 + unit(random))});
    append_row(skin.weights, row, 0, repairs);
  }
  return skin;
}

}  // namespace sinew::test
