#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/character/field_visitor.h>
#include <sinew/core/math.h>
#include <sinew/skeleton/skeleton.h>

namespace sinew {

class Character;

/// What a layer may know of the frame it deforms.
struct LayerFrame {
  const Pose& pose;                            ///< cleaned: finite, unit quaternions
  std::span<const Affine3d> world_from_joint;  ///< per joint of the skeleton
  std::span<const Affine3d> posed_from_rest;   ///< per binding of the character, see Character::bindings
  std::span<const Vec3f> rest;                 ///< welded rest surface with this frame's morph targets
  double seconds = 0;                          ///< since the performer's last frame
  /// Free-motion mask: per welded vertex, the share of a displacement that later layers may give it. 1 at
  /// first; layers that bring skin into contact lower it there, down to 0. Empty when no layer asks for it.
  std::span<float> free_motion = {};
};

/// What a layer remembers or needs as scratch for one performer.
class LayerState {
 public:
  virtual ~LayerState() = default;
  /// A copy that goes on exactly as this one would, or null for states that cannot be copied: those that are
  /// scratch only. Layers with history must override it, so that a performer can return to earlier frames.
  virtual std::unique_ptr<LayerState> clone() const { return nullptr; }
  /// About how much memory it holds beside itself. Layers without history whose states grow with the mesh
  /// must override it: it tells how many performers may work side by side.
  virtual std::size_t bytes() const { return 0; }
};

/// Takes the pose and the surface so far and deforms it. Immutable and shared by all performers of a
/// character; what changes from frame to frame is in the state. A layer never knows which layers stand before
/// it.
class Layer {
 public:
  virtual ~Layer() = default;
  /// Whether a frame's result depends on earlier frames. Without history frames may be baked in any order.
  virtual bool has_history() const { return false; }
  /// Why it never does anything on its character, such as "no tail was found"; empty when it may do
  /// something.
  virtual std::string idle_because() const { return {}; }
  /// What a user should know about it on this character, one line each, such as parts that it leaves alone.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Whether it reads LayerFrame::free_motion.
  virtual bool uses_free_motion() const { return false; }
  /// May be null for layers that need none.
  virtual std::unique_ptr<LayerState> make_state() const { return nullptr; }
  /// `positions` are the welded vertices: what the layer before left (the rest surface for the first), to be
  /// replaced. Must not throw or allocate.
  virtual void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const = 0;
};

/// The settings of one layer in a recipe. Methods with settings derive from it.
class LayerOptions {
 public:
  virtual ~LayerOptions() = default;
  virtual void visit(FieldVisitor&) {}
  /// How often each triangle of the welded surface has to be halved (scene/refine_mesh.h) for the layer to
  /// show what it does; empty: it takes the surface as it is. `character` is complete but for its layers.
  virtual std::vector<std::uint8_t> triangle_levels(const Character& character) const;
};

/// A deformation method as recipes know it. A new method is registered once, in layer_methods.cpp; recipe,
/// command line, bench and demo then know it.
struct LayerMethod {
  std::string_view name;     ///< in recipes and after --skin
  std::string_view summary;  ///< one line
  bool is_skin;  ///< starts from the rest surface, so a recipe has at most one of these, and first
  std::unique_ptr<LayerOptions> (*make_options)();
  std::unique_ptr<const Layer> (*make_layer)(const LayerOptions& options, const Character& character);
};

/// All methods of this build.
std::span<const LayerMethod> layer_methods();
/// The method of that name, or null.
const LayerMethod* find_layer_method(std::string_view name);
/// "lbs, dqs": for messages.
std::string layer_method_names();

}  // namespace sinew
