#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include <sinew/scene/gltf_reading.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// Rigs with controllers in glTF: each bone's node has the bone's entry of a rig file (scene/rig_json.h) as
/// extras.sinew_bone, and the scene has the rest as extras.sinew_rig, with the bones' names in their order.
/// Private to scene/.

/// Sets the scene's control_rig when the nodes hold one; call it after nodes and skins. Where a node has
/// moved since, the bone follows it, and where the hierarchy changed, it counts: both with a warning. Extras
/// that are no rig give a warning, and a scene without.
void read_gltf_rig(GltfReading& reading);

/// Puts the scene's rig into the document, or takes an old one out. Does nothing when `base`, what the
/// document says, has the same. The spans hold the node number of each joint of the two scenes.
void write_gltf_rig(nlohmann::ordered_json& document, const Scene& scene, std::span<const int> joint_nodes,
                    const Scene& base, std::span<const int> base_joint_nodes);

}  // namespace sinew
