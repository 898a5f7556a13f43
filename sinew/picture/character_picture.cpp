#include <sinew/picture/character_picture.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/picture/text.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skinning/leaf_bones.h>

namespace sinew {

namespace {

constexpr Rgb kUnbound{150, 150, 150};

struct MarkStyle {
  const char* name;
  Rgb color;
};
// In the order of VertexMark from `moved` on; plain vertices have the options' clay.
constexpr std::array<MarkStyle, 2> kMarks{{{"moved", {124, 164, 208}}, {"contact", {205, 44, 48}}}};

/// Swatches with names in the lower right corner.
void draw_mark_legend(Image& image, const Rgb& clay) {
  std::vector<MarkStyle> lines{{"not moved", clay}};
  lines.insert(lines.end(), kMarks.begin(), kMarks.end());
  TextStyle style;
  style.size = std::clamp(0.022f * static_cast<float>(image.height), 11.0f, 18.0f);
  const int unit = static_cast<int>(style.size), line = text_line_height(style), swatch = 4 * unit / 5;
  int width = 0;
  for (const MarkStyle& mark : lines) width = std::max(width, text_width(mark.name, style));
  width += swatch + unit / 2;
  const int height = static_cast<int>(lines.size()) * line;
  if (image.width < width + 3 * unit || image.height < height + 3 * unit) return;  // no room to read it in
  const int left = image.width - unit - width, top = image.height - unit - height;
  for (int y = top - unit / 2; y < image.height - unit / 3; ++y)
    for (int x = left - unit / 2; x < image.width - unit / 3; ++x) blend(image, x, y, {250, 251, 252}, 0.72f);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const int middle = top + static_cast<int>(i) * line + line / 2;
    fill_rectangle(image, left, middle - swatch / 2, swatch, swatch, lines[i].color);
    draw_text(image, left + swatch + unit / 2, middle + text_cap_height(style) / 2, lines[i].name, style);
  }
}

std::vector<Affine3d> world_of(const Skeleton& skeleton, const Pose& pose) {
  std::vector<Affine3d> world_from_joint(skeleton.size(), Affine3d::Identity());
  if (pose.joints.size() == skeleton.size()) forward_kinematics(skeleton, pose.joints, world_from_joint);
  return world_from_joint;
}

Rgb color_of_binding(const Character& character, std::uint32_t binding) {
  const int joint = character.bindings()[binding].joint;
  return joint < 0 ? kUnbound : distinct_color(to_size(joint));
}

std::vector<Rgb> weight_colors(const Character& character, bool strongest_only) {
  const SkinWeights& weights = character.skin_weights();
  std::vector<Rgb> colors;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    const auto joints = weights.row_joints(v);
    if (strongest_only) {
      colors.push_back(color_of_binding(character, joints[0]));
      continue;
    }
    Vec3f mixed = Vec3f::Zero();
    for (std::size_t i = 0; i < joints.size(); ++i)
      mixed += weights.row_values(v)[i] * linear_from_srgb(color_of_binding(character, joints[i]));
    colors.push_back(srgb_from_linear(mixed));
  }
  return colors;
}

/// Weight of a joint on a vertex, over all its bindings.
float weight_of(const Character& character, std::size_t vertex, int joint) {
  const SkinWeights& weights = character.skin_weights();
  float sum = 0;
  for (std::size_t i = 0; i < weights.row_size(vertex); ++i)
    if (character.bindings()[weights.row_joints(vertex)[i]].joint == joint)
      sum += weights.row_values(vertex)[i];
  return sum;
}

}  // namespace

CharacterPicture::CharacterPicture(std::shared_ptr<const Character> character, Coloring coloring)
    : character_(std::move(character)),
      coloring_(std::move(coloring)),
      surface_(MeshView{character_->rest(), character_->triangles()}) {
  const std::size_t vertices = character_->rest().size();
  switch (coloring_.by) {
    case Coloring::By::clay:
      break;
    case Coloring::By::weights:
    case Coloring::By::partition:
      colors_ = weight_colors(*character_, coloring_.by == Coloring::By::partition);
      break;
    case Coloring::By::joint: {
      const int joint = coloring_.joint;
      if (joint < 0 || to_size(joint) >= character_->skeleton().size())
        throw Error(fmt::format("there is no joint {} ({} joints)", joint, character_->skeleton().size()));
      scale_ = ColorScale{.low = 0,
                          .high = 1,
                          .diverging = false,
                          .title = "weight of " + character_->skeleton().joints[to_size(joint)].name,
                          .low_label = "0",
                          .middle_label = "0.5",
                          .high_label = "1"};
      for (std::size_t v = 0; v < vertices; ++v)
        colors_.push_back(scale_->color(weight_of(*character_, v, joint)));
      break;
    }
    case Coloring::By::stretch:
      scale_ = ColorScale{.low = -1,
                          .high = 1,
                          .diverging = true,
                          .title = "area against rest",
                          .low_label = "0.5×",
                          .middle_label = "1×",
                          .high_label = "2×"};
      break;
    case Coloring::By::values:
      if (coloring_.values.size() != vertices)
        throw Error(fmt::format("{} values for {} vertices", coloring_.values.size(), vertices));
      scale_ = coloring_.scale;
      colors_ = colors_of(coloring_.values, coloring_.scale);
      break;
    case Coloring::By::marks:
      marks_.assign(vertices, 0);
      break;
  }
}

void CharacterPicture::set_marks(std::span<const std::uint8_t> marks) {
  if (coloring_.by != Coloring::By::marks) throw Error("marks are for a picture coloured by marks");
  if (marks.size() != marks_.size())
    throw Error(fmt::format("{} marks for {} vertices", marks.size(), marks_.size()));
  for (std::size_t v = 0; v < marks.size(); ++v)
    if (marks[v] > kMarks.size())
      throw Error(fmt::format("vertex {}: there is no mark {} ({} at most)", v, marks[v], kMarks.size()));
  std::copy(marks.begin(), marks.end(), marks_.begin());
}

/// The frame and all that ClayOptions name, kept while it is drawn.
struct CharacterPicture::Shown {
  ClayFrame frame;
  ClayOptions options;
  std::vector<Rgb> colors;
  std::vector<DrawnBone> bones;
};

void CharacterPicture::show(const Performer& performer, const ClayOptions& options, const Pose* skeleton_pose,
                            Shown& shown) const {
  assert(&performer.character() == character_.get());
  const std::span<const Vec3f> positions = performer.welded_positions();
  if (coloring_.by == Coloring::By::stretch)
    shown.colors = colors_of(area_stretch(*character_, positions), *scale_);
  for (const std::uint8_t mark : marks_)
    shown.colors.push_back(mark == 0 ? options.clay : kMarks[mark - 1u].color);
  shown.options = options;
  if (skeleton_pose != nullptr) {
    shown.bones = drawn_bones(*character_, positions, *skeleton_pose);
    shown.options.bones = shown.bones;
  }
  shown.frame = {positions, shown.colors.empty() ? colors_ : shown.colors,
                 coloring_.by == Coloring::By::partition};
}

Image CharacterPicture::render(const Performer& performer, const Camera& camera, const ClayOptions& options,
                               const Pose* skeleton_pose) const {
  Shown shown;
  show(performer, options, skeleton_pose, shown);
  Image image = render_clay(surface_, shown.frame, camera, shown.options);
  if (scale_) draw_color_bar(image, *scale_);
  if (coloring_.by == Coloring::By::marks) draw_mark_legend(image, options.clay);
  return image;
}

Image CharacterPicture::render_slice(const Performer& performer, const FieldFunction& field,
                                     const CutPlane& plane, const Camera& camera, const ClayOptions& options,
                                     const FieldSliceOptions& slice, const Pose* skeleton_pose) const {
  Shown shown;
  show(performer, options, skeleton_pose, shown);
  return render_field_slice(surface_, shown.frame, field, plane, camera, shown.options, slice);
}

std::vector<DrawnBone> drawn_bones(const Character& character, std::span<const Vec3f> positions,
                                   const Pose& pose) {
  const Skeleton& skeleton = character.skeleton();
  if (skeleton.size() == 0) return {};
  const std::vector<Affine3d> world_from_joint = world_of(skeleton, pose);
  std::vector<int> joint_of_weight;
  for (const Binding& binding : character.bindings()) joint_of_weight.push_back(binding.joint);
  const LeafTail leaf_tail = leaf_tail_from_weights(positions, character.skin_weights(), joint_of_weight);
  std::vector<DrawnBone> drawn;
  for (const Bone& bone : derive_bones(skeleton, world_from_joint, leaf_tail)) {
    DrawnBone line;
    line.head = bone.head.cast<float>();
    line.tail = bone.tail.cast<float>();
    drawn.push_back(line);
  }
  return drawn;
}

std::vector<float> area_stretch(const Character& character, std::span<const Vec3f> positions) {
  const std::span<const Vec3f> rest = character.rest();
  assert(positions.size() == rest.size());
  std::vector<double> now(rest.size(), 0), before(rest.size(), 0);
  const auto area = [](std::span<const Vec3f> points, const Triangle& f) {
    const Vec3d a = points[f[0]].cast<double>();
    return (points[f[1]].cast<double>() - a).cross(points[f[2]].cast<double>() - a).norm();
  };
  for (const Triangle& f : character.triangles()) {
    const double area_now = area(positions, f), area_before = area(rest, f);
    for (const std::uint32_t v : f) {
      now[v] += area_now;
      before[v] += area_before;
    }
  }
  std::vector<float> stretch(rest.size(), 0.0f);
  for (std::size_t v = 0; v < stretch.size(); ++v)
    if (before[v] > 0) stretch[v] = static_cast<float>(std::log2(std::max(now[v] / before[v], 1e-9)));
  return stretch;
}

Vec3d joint_position(const Skeleton& skeleton, const Pose& pose, int joint) {
  assert(joint >= 0 && to_size(joint) < skeleton.size());
  return world_of(skeleton, pose)[to_size(joint)].translation();
}

double focus_radius(const Character& character, int joint) {
  constexpr double kLimbThicknesses = 3.2;
  constexpr float kBlend = 0.12f;
  const Skeleton& skeleton = character.skeleton();
  // Measured in bind space, where the rest surface is: joint_from_rest takes the joint to its origin.
  std::vector<double> blended, moved;
  const SkinWeights& weights = character.skin_weights();
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    float own = 0, others = 0;
    const Binding* binding = nullptr;
    for (std::size_t i = 0; i < weights.row_size(v); ++i) {
      const Binding& candidate = character.bindings()[weights.row_joints(v)[i]];
      if (candidate.joint == joint) {
        own += weights.row_values(v)[i];
        binding = &candidate;
      } else {
        others += weights.row_values(v)[i];
      }
    }
    if (binding == nullptr || !(own > kBlend)) continue;
    const Vec3d origin = binding->joint_from_rest.inverse().translation();
    const double distance = (character.rest()[v].cast<double>() - origin).norm();
    if (!std::isfinite(distance)) continue;
    moved.push_back(distance);
    if (others > kBlend) blended.push_back(distance);
  }
  std::vector<double>& distances = blended.size() >= 8 ? blended : moved;
  if (distances.empty())
    throw Error(fmt::format("joint '{}' moves no skin", skeleton.joints[to_size(joint)].name));
  // The nearest third are the skin round the joint itself; the others are already along the bones.
  const auto third = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 3);
  std::nth_element(distances.begin(), third, distances.end());
  return kLimbThicknesses * std::max(*third, 1e-9);
}

}  // namespace sinew
