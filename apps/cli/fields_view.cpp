#include "apps/cli/fields_view.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include <sinew/core/index.h>

namespace sinew::cli {

namespace {

constexpr int kLeastViewWithKey = 320;  // pixels; the key of a field's colours would hide a smaller one

/// All of rest space that a grid knows of.
Eigen::AlignedBox3d box_of(const FieldGrid& grid) {
  const Affine3d rest_from_grid = grid.grid_from_rest().inverse();
  Eigen::AlignedBox3d box;
  for (int corner = 0; corner < 8; ++corner) {
    Vec3d at = Vec3d::Zero();
    for (int axis = 0; axis < 3; ++axis)
      if (corner >> axis & 1) at[axis] = grid.size()[to_size(axis)] - 1;
    box.extend(rest_from_grid * at);
  }
  return box;
}

}  // namespace

FieldsView::FieldsView(const Character& character, bool solids)
    : character_(character),
      layer_(*find_field_layer(character)),
      set_(layer_.fields()),
      posed_(set_.fields.size()) {
  if (!solids) return;
  skin_ = std::make_unique<DrawnSurface>(MeshView{character.rest(), character.triangles()});
  std::vector<DrawnField> drawn;
  for (std::size_t f = 0; f < set_.fields.size(); ++f) {
    const FieldGrid& grid = set_.fields[f].grid;
    const int joint = character.bindings()[set_.transform[f]].joint;
    drawn.push_back({[&grid](const Vec3d& at) { return double{grid.sample_rest(at).value}; }, box_of(grid),
                     distinct_color(to_size(std::max(0, joint)))});
  }
  solids_ = std::make_unique<FieldPicture>(drawn);
}

Image FieldsView::render_slice(const CharacterPicture& picture, const Performer& performer,
                               const AxisPlane& plane, const Camera& camera, const ClayOptions& clay,
                               const Pose* skeleton_pose) {
  pose_fields(set_, performer.posed_from_rest(), posed_);
  const FieldFunction field = [this](const Vec3d& at) {
    return double{sample(set_, posed_, at.cast<float>()).value};
  };
  FieldSliceOptions slice;
  slice.step = clay.quality == ClayQuality::draft ? 2 : 1;  // of a draft nobody looks at single pixels
  slice.key = std::min(clay.width, clay.height) >= kLeastViewWithKey;
  return picture.render_slice(performer, field, {Vec3f::Unit(plane.axis), plane.offset}, camera, clay, slice,
                              skeleton_pose);
}

Image FieldsView::render_solids(const Performer& performer, const Camera& camera, const ClayOptions& clay,
                                const Pose* skeleton_pose) const {
  std::vector<Affine3d> moved;
  const std::span<const Affine3d> carried = performer.posed_from_rest();
  for (const std::uint32_t transform : set_.transform) moved.push_back(carried[transform]);
  ClayOptions options = clay;
  options.ghost.surface = skin_.get();
  options.ghost.positions = performer.welded_positions();
  std::vector<DrawnBone> bones;
  if (skeleton_pose != nullptr) bones = drawn_bones(character_, performer.welded_positions(), *skeleton_pose);
  options.bones = bones;
  return solids_->render(camera, options, moved);
}

}  // namespace sinew::cli
