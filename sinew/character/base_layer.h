#pragma once

#include <memory>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/layer.h>
#include <sinew/scene/refine_mesh.h>

namespace sinew {

/// The first layer of a character that was refined: what layers before the one that wanted more triangles do
/// is done to the file's own surface, by a character of its own, and spread to the new vertices by the
/// stencils that placed them at rest. So a skin looks and costs the same with and without such a layer behind
/// it.
class BaseLayer : public Layer {
 public:
  /// `stencils`: one per mesh, from those of `base` to those of `refined`.
  BaseLayer(std::shared_ptr<const Character> base, const Character& refined,
            std::vector<RefinementStencils> stencils);

  const Character& base() const { return *base_; }
  /// Whether to pass on the free-motion mask, for layers behind it that ask.
  void keep_free_motion(bool keep) { keeps_free_motion_ = keep; }

  bool has_history() const override;
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 private:
  struct Part {
    RefinementStencils stencils;
    std::size_t first_vertex = 0;              // of its welded vertices within the refined character
    std::vector<std::uint32_t> welded_vertex;  // per welded vertex, one of the mesh
    std::size_t first_base_vertex = 0;         // of its welded vertices within the base
    std::vector<std::uint32_t> base_welded;    // per file vertex, its welded vertex of the base
  };
  std::shared_ptr<const Character> base_;
  std::vector<Part> parts_;
  bool keeps_free_motion_ = false;
};

}  // namespace sinew
