#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/skeleton/clip.h>
#include <sinew/skeleton/control_rig.h>
#include <sinew/skeleton/skeleton.h>
#include <sinew/skinning/weights.h>

namespace sinew {

struct GltfDocument;  // scene/gltf_document.h

/// Values that polygon corners refer to: UVs or normals. `corners[c]` is the value of corner c of
/// Mesh::polygons.corners. Empty when the file has none.
template <class Value>
struct CornerValues {
  std::vector<Value> values;
  std::vector<std::uint32_t> corners;

  bool empty() const { return corners.empty(); }
  bool operator==(const CornerValues&) const = default;
};

/// A named per-vertex attribute of the file, such as glTF's _SIGMA: `width` floats per vertex.
struct VertexAttribute {
  std::string name;
  int width = 1;
  std::vector<float> values;

  bool operator==(const VertexAttribute&) const = default;
};

/// Displacements of one morph target, one per vertex (all zero where the file gives none).
struct MorphTarget {
  std::string name;
  std::vector<Vec3f> displacements;

  bool operator==(const MorphTarget&) const = default;
};

/// One mesh as it stands in the scene. Vertices in file order: for glTF, primitive after primitive.
struct SceneMesh {
  std::string name;
  Mesh surface;                   ///< in mesh space, metres, Y up
  CornerValues<Vec3f> normals;    ///< unit length, as in the file
  CornerValues<Vec2f> texcoords;  ///< first UV set; v runs down, as in glTF
  std::vector<VertexAttribute> attributes;
  std::vector<MorphTarget> morph_targets;
  std::vector<float> morph_weights;  ///< at rest, one per target
  int joint = -1;                    ///< the joint (node) it hangs on; ignored when it is skinned
  int skin = -1;                     ///< index into Scene::skins, or -1
  SkinWeights weights;               ///< one row per vertex when skinned; joints count in the skin's list
  /// OBJ only: the lines (o, g, usemtl, s) that stand before a polygon, for writing them back.
  std::vector<std::pair<std::uint32_t, std::string>> obj_directives;
  /// Per polygon, the primitive of the file's mesh it belongs to, when there are several: that is where glTF
  /// has materials.
  std::vector<std::uint32_t> polygon_groups;

  bool operator==(const SceneMesh&) const = default;
};

/// A list of joints that meshes can be bound to, with the matrices that take the mesh's space to each joint's
/// at bind time. Real files have bind matrices that disagree with the rest pose; both are kept.
struct Skin {
  std::string name;
  std::vector<int> joints;             ///< joints of the scene's skeleton
  std::vector<Mat4f> joint_from_mesh;  ///< inverse bind matrices, affine, one per joint

  bool operator==(const Skin&) const = default;
};

/// What the file said before it was brought to metres and Y up.
struct OriginalSpace {
  char up_axis = 'y';
  double metres_per_unit = 1.0;
};

/// All that a file holds for us. Space: metres, Y up, right-handed.
struct Scene {
  std::filesystem::path source;
  OriginalSpace original_space;
  Skeleton skeleton;
  std::vector<Skin> skins;
  std::vector<SceneMesh> meshes;
  std::vector<Clip> clips;
  /// What the reader mended or skipped, one line each; a user wants to see them once.
  std::vector<std::string> warnings;
  /// glTF only: the file's own content, so that a writer can pass on what Sinew does not know, and the node
  /// number of each joint and mesh in it (-1: not in the document).
  std::shared_ptr<const GltfDocument> document;
  std::vector<int> joint_nodes;
  std::vector<int> mesh_nodes;
  /// The rig with its controllers, where the file has one (docs/rigs.md), and the bone number of each joint
  /// (-1: no bone of it). Every bone has a joint. Then Joint::deforms says, before there is a skin, which may
  /// get weights.
  std::shared_ptr<const ControlRig> control_rig;
  std::vector<int> joint_bones;

  std::size_t morph_weight_count() const;
  /// Where the morph weights of `mesh` start in Pose::morph_weights.
  std::size_t first_morph_weight(std::size_t mesh) const;
};

/// Rest transforms and the files' own morph weights.
Pose rest_pose(const Scene& scene);

/// Reads any supported file, by extension: .glb .gltf .obj .fbx .dae .bvh, and .json for rigs
/// (scene/rig_file.h). Throws Error.
Scene read_scene(const std::filesystem::path& path);

/// Throws Error unless all indices, sizes and numbers of the scene agree. Every reader ends with it, so that
/// nothing behind it needs to check again; call it after building a scene by hand.
void check_scene(const Scene& scene);

}  // namespace sinew
