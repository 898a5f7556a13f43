#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/character/layer.h>
#include <sinew/character/recipe.h>
#include <sinew/geometry/normals.h>
#include <sinew/geometry/weld.h>
#include <sinew/scene/scene.h>
#include <sinew/skinning/packed_weights.h>

namespace sinew {

struct RefinementStencils;  // scene/refine_mesh.h
class RestJoints;           // character/rest_joints.h

/// Makes a layer that no recipe knows, for a character that is complete but for its layers.
using LayerMaker = std::function<std::unique_ptr<const Layer>(const Character& character)>;

/// Ties welded vertices to a joint: their rest position, in the common rest space, follows
/// world_from_joint · joint_from_rest. Several skins may bind one joint, each with matrices of its own.
struct Binding {
  int joint = -1;  ///< of the skeleton; -1: stands still
  Affine3d joint_from_rest = Affine3d::Identity();
};

/// One mesh of the scene within the character's welded surface.
struct CharacterMesh {
  std::string name;
  bool skinned = false;
  int joint = -1;  ///< the joint an unskinned mesh hangs on
  /// From the file's mesh space to the common rest space; identity for skinned meshes.
  Affine3d rest_from_mesh = Affine3d::Identity();
  std::size_t first_vertex = 0;  ///< its welded vertices within Character::rest()
  Weld weld;                     ///< file vertex to welded vertex, counted from first_vertex
  std::size_t first_morph_weight = 0;
  std::vector<std::vector<Vec3f>> morph_displacements;  ///< per target, per welded vertex
  /// Output normals (scene/normal_slots.h): which smooth group each slot shows, and the sign that makes it
  /// agree with the file's normal where a file winds its triangles the other way round.
  std::vector<std::uint32_t> slot_group;
  std::vector<float> slot_sign;
  std::vector<std::uint32_t> slot_binding;  ///< per slot, its vertex's heaviest binding
};

/// Rest mesh, skeleton, binding and layers, made from a scene and a recipe. Immutable; share it between
/// threads and performers. All meshes of the scene form one welded surface in one rest space: bind space for
/// skinned meshes, scene space at rest for the others.
class Character {
 public:
  /// Throws Error when the scene has no mesh, does not hold together (check_scene) or has more than 65 536
  /// joint bindings, and whatever the recipe's layers throw for characters they cannot serve. `own_layers`
  /// come after those of the recipe.
  static std::shared_ptr<const Character> make(const Scene& scene, const Recipe& recipe,
                                               const std::vector<LayerMaker>& own_layers = {});

  /// What the character was made from, with more triangles where its layers wanted them: the scene that its
  /// frames fit, for writers. The file's vertices are the first of each mesh. Null when no layer wanted any:
  /// then it is the scene that make() was given.
  const Scene* refined_scene() const { return refined_scene_.get(); }
  /// That, or the scene that make() was given.
  const Scene& shown_scene(const Scene& made_from) const {
    return refined_scene_ ? *refined_scene_ : made_from;
  }
  const Skeleton& skeleton() const { return skeleton_; }
  std::span<const Binding> bindings() const { return bindings_; }
  std::span<const CharacterMesh> meshes() const { return meshes_; }
  std::span<const Vec3f> rest() const { return rest_; }
  std::span<const Triangle> triangles() const { return triangles_; }
  /// One row per welded vertex, none empty; joints are numbers of bindings.
  const SkinWeights& skin_weights() const { return *skin_weights_; }
  /// The same, for layers and others that keep them.
  const SharedWeights& shared_skin_weights() const { return skin_weights_; }
  std::shared_ptr<const PackedWeights> weights() const { return packed_weights_; }
  /// Where the bind matrices put the joints, and their bones; made when first asked for, by any thread.
  const RestJoints& rest_joints() const;
  /// What was painted on the vertices: the first component of the files' attribute of that name, such as
  /// "_RIGID", per welded vertex (the largest of those welded; finite), 0 for meshes without it. Empty when
  /// no mesh has it.
  std::span<const float> painted(std::string_view attribute) const;
  /// Whether the mesh of that number has such an attribute.
  bool is_painted(std::string_view attribute, std::size_t mesh) const;
  /// Null when the recipe wants no normals.
  const NormalSolver* normal_solver() const { return normal_solver_.get(); }
  std::size_t morph_weight_count() const { return morph_weight_count_; }
  const Pose& rest_pose() const { return rest_pose_; }
  std::span<const std::unique_ptr<const Layer>> layers() const { return layers_; }
  /// Whether any layer has history: frames must then be performed in order.
  bool has_history() const;
  /// What had to be mended to make the character, one line each.
  std::span<const std::string> warnings() const { return warnings_; }

  ~Character();

 private:
  Character();
  /// `file`: the scene before it was refined, or the same.
  static std::shared_ptr<Character> make_bare(const Scene& scene, const Recipe& recipe, const Scene& file);
  /// Null when no layer wants more triangles.
  /// Else `first_layer` is the first that does, and there are stencils for each mesh.
  std::shared_ptr<const Scene> refine_where_wanted(const Scene& scene, const Recipe& recipe,
                                                   std::size_t& first_layer,
                                                   std::vector<RefinementStencils>& stencils) const;
  void add_mesh(const Scene& scene, std::size_t mesh_index, const Recipe& recipe, std::size_t file_vertices,
                SkinWeights& weights, std::vector<Triangle>& corner_groups, std::size_t& group_count);
  void set_normal_signs(const Scene& scene, const NormalSolver& solver);
  std::uint32_t bind_skin(const Scene& scene, int skin);

  std::shared_ptr<const Scene> refined_scene_;
  Skeleton skeleton_;
  std::vector<Binding> bindings_;
  std::vector<std::int64_t> first_binding_of_skin_;  // -1 until a mesh uses the skin
  std::vector<CharacterMesh> meshes_;
  std::vector<Vec3f> rest_;
  std::vector<Triangle> triangles_;
  SharedWeights skin_weights_;
  std::map<std::string, std::vector<float>, std::less<>> painted_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> painted_meshes_;
  std::shared_ptr<const PackedWeights> packed_weights_;
  mutable std::once_flag rest_joints_once_;
  mutable std::unique_ptr<const RestJoints> rest_joints_;
  std::unique_ptr<const NormalSolver> normal_solver_;
  std::size_t morph_weight_count_ = 0;
  Pose rest_pose_;
  std::vector<std::unique_ptr<const Layer>> layers_;
  std::vector<std::string> warnings_;
};

}  // namespace sinew
