#include <sinew/layers/character_hinges.h>

#include <cstdint>
#include <map>

#include <Eigen/LU>

#include <sinew/core/index.h>
#include <sinew/geometry/disjoint_sets.h>

namespace sinew {

namespace {

/// Which bindings move pieces of surface that hang together. Skins that share joints, each with bind matrices
/// of its own, stay apart, and so do bindings that move nothing.
DisjointSets bindings_by_piece(const Character& character) {
  DisjointSets sets(character.bindings().size());
  const SkinWeights& weights = character.skin_weights();
  for (std::size_t v = 0; v < weights.rows(); ++v)
    for (const std::uint32_t binding : weights.row_joints(v)) sets.join(weights.row_joints(v)[0], binding);
  for (const Triangle& f : character.triangles())
    for (const std::uint32_t v : f)
      if (weights.row_size(f[0]) > 0 && weights.row_size(v) > 0)
        sets.join(weights.row_joints(f[0])[0], weights.row_joints(v)[0]);
  return sets;
}

}  // namespace

std::vector<Hinge> find_hinges(const Character& character) {
  const std::span<const Binding> bindings = character.bindings();
  const std::vector<Joint>& joints = character.skeleton().joints;
  DisjointSets pieces = bindings_by_piece(character);
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> binding_of;  // joint and piece: the first such
  for (std::uint32_t b = 0; b < bindings.size(); ++b)
    if (bindings[b].joint >= 0) binding_of.try_emplace({bindings[b].joint, pieces.find(b)}, b);

  std::vector<Hinge> hinges;
  for (std::uint32_t b = 0; b < bindings.size(); ++b) {
    if (bindings[b].joint < 0) continue;
    const auto joint = to_size(bindings[b].joint);
    const Vec3d position = bindings[b].joint_from_rest.inverse().translation();
    if (!position.allFinite()) continue;
    for (int above = joints[joint].parent; above >= 0; above = joints[to_size(above)].parent) {
      const auto found = binding_of.find({above, pieces.find(b)});
      if (found == binding_of.end()) continue;
      hinges.push_back({joints[joint].name, b, found->second, position});
      break;
    }
  }
  return hinges;
}

}  // namespace sinew
