#pragma once

#include <string>
#include <vector>

#include <sinew/authoring/bind_scene.h>
#include <sinew/scene/scene.h>
#include <sinew/skinning/weight_transfer.h>

namespace sinew {

struct TransferSceneOptions {
  TransferOptions surface = {};
  std::size_t influences = 4;            ///< most joints per vertex; 0: all
  std::vector<std::string> meshes = {};  ///< patterns of the meshes that get weights; empty: all
};

struct TransferSceneReport {
  TransferReport surface;
  std::vector<BoundMesh> meshes;
  std::vector<BoundJoint> joints;  ///< those that move something
  /// What a user should know, one line each, with what to do about it.
  std::vector<std::string> warnings;
  double seconds = 0;

  std::size_t unbound() const;
};

/// `mesh` with the skeleton and clips of `bound`, and with the weights of its skinned meshes carried over to
/// where they are close (transfer_weights). All of these together are the source, as they were bound; so
/// `mesh` must fit them in that posture and place. Its scene comes through as in bind_scene(). Throws Error
/// when nothing of `bound` is skinned, there is no mesh to bind, or an option is out of range.
Scene transfer_scene(const Scene& bound, const Scene& mesh, const TransferSceneOptions& options = {},
                     TransferSceneReport* report = nullptr);

}  // namespace sinew
