#pragma once

#include <sinew/scene/scene.h>
#include <sinew/skinning/weights.h>

namespace sinew::test {

/// Binds every vertex of a mesh to the first joint of its skin alone.
inline void bind_to_first_joint(SceneMesh& mesh) {
  WeightRepairs repairs;
  mesh.weights = {};
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
    Influence row[1] = {{0, 1}};
    append_row(mesh.weights, row, 0, repairs);
  }
}

}  // namespace sinew::test
