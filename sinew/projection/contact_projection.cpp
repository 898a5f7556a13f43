#include <sinew/projection/contact_projection.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/polar.h>
#include <sinew/projection/ray_stop.h>

namespace sinew {

namespace {

std::shared_ptr<const FieldSet> checked(std::shared_ptr<const FieldSet> set, const ContactParams& params) {
  const std::size_t count = set->fields.size();
  const auto is_field = [&](std::size_t field) { return field < count; };
  const bool joints = std::all_of(set->joints.begin(), set->joints.end(), [&](const FieldJoint& joint) {
    return is_field(joint.parent) && is_field(joint.child);
  });
  const bool hosts = std::all_of(set->muscles.begin(), set->muscles.end(),
                                 [&](const Muscle& muscle) { return is_field(muscle.host); });
  const bool moved = std::all_of(set->field_of_transform.begin(), set->field_of_transform.end(),
                                 [&](std::int32_t field) { return field < 0 || is_field(to_size(field)); });
  if (!joints || !hosts || !moved || set->transform.size() != count)
    throw Error("contact: joints, muscles or transforms name fields that are not there");
  if (params.samples < 1 || params.samples > OverlapRun::kMostSamples)
    throw Error("contact: needs 1 to 16 samples of an overlap");
  return set;
}

}  // namespace

ContactProjection::ContactProjection(const MeshView& rest, SharedWeights weights,
                                     std::shared_ptr<const FieldSet> fields, const ContactParams& params)
    : params_(params),
      fields_(checked(std::move(fields), params)),
      skin_(rest, std::move(weights), *fields_, params_),
      retreat_(skin_, *fields_, params_),
      unfolding_(skin_, params_),
      separation_(skin_, unfolding_, params_) {
  // What overlaps at rest already stays as it is.
  ContactFrame frame = make_frame();
  const std::vector<Affine3d> unmoved(skin_.transform_count, Affine3d::Identity());
  std::copy(rest.positions.begin(), rest.positions.end(), frame.placed.begin());
  pose(unmoved, frame);
  shape_.emplace(skin_, *fields_, params_, frame);
  fit_surface(frame);
  retreat_.find(frame);
  retreat_.take_as_rest(frame);
}

ContactFrame ContactProjection::make_frame() const {
  const std::size_t count = skin_.vertex_count;
  ContactFrame frame;
  frame.fields.resize(fields_->fields.size());
  frame.transforms.resize(skin_.transform_count);
  frame.rotations.resize(skin_.transform_count);
  frame.scales.resize(skin_.transform_count);
  frame.placed.assign(count + skin_.closed.borders.size(), Vec3f::Zero());
  frame.surface = std::make_unique<PosedSurface>(*skin_.tree);
  frame.crossing = retreat_.make_scratch();
  frame.folded.assign(skin_.area.size(), 0);
  frame.region.reserve(count);
  frame.asked.assign(count, 0);
  for (auto* points : {&frame.base, &frame.back, &frame.normals, &frame.moves})
    points->assign(count, Vec3f::Zero());
  for (auto* lengths : {&frame.ray, &frame.edge, &frame.retreat, &frame.activity, &frame.pushes, &frame.next})
    lengths->assign(count, 0);
  frame.apart.assign(count, std::numeric_limits<float>::infinity());
  frame.turns.assign(count, Quatf::Identity());
  frame.partners.resize(count);
  frame.frontier.reserve(count);
  frame.next_frontier.reserve(count);
  return frame;
}

void ContactProjection::pose(std::span<const Affine3d> posed_from_rest, ContactFrame& frame) const {
  pose_fields(*fields_, posed_from_rest, frame.fields);
  for (std::size_t t = 0; t < skin_.transform_count; ++t) {
    frame.transforms[t] = posed_from_rest[t].cast<float>();
    // What mirrors turns areas the other way round.
    const Mat3d nearest = polar_rotation<double>(posed_from_rest[t].linear());
    const double volume = posed_from_rest[t].linear().determinant();
    frame.rotations[t] = Quatd(Mat3d(nearest.determinant() < 0 ? -nearest : nearest)).cast<float>();
    frame.scales[t] = static_cast<float>(std::cbrt(std::abs(volume)));
  }
}

void ContactProjection::fit_surface(ContactFrame& frame) const {
  skin_.place_fans(frame.placed);
  frame.surface->refit(frame.placed);
  frame.surface->find_normals();
}

void ContactProjection::project(std::span<const Affine3d> posed_from_rest, ContactFrame& frame,
                                std::span<Vec3f> positions) const {
  frame.clear_region();
  frame.is_placed = false;
  if (posed_from_rest.size() < skin_.transform_count || skin_.tree->nodes().empty()) return;
  for (const Vec3f& p : positions)
    if (!p.allFinite()) return;
  frame.is_placed = true;
  std::copy(positions.begin(), positions.end(), frame.placed.begin());
  pose(posed_from_rest, frame);
  unfolding_.unfold(frame);
  for (const std::uint32_t v : frame.region) positions[v] = frame.placed[v];
  shape_->apply(frame);
  for (const std::uint32_t v : shape_->vertices()) positions[v] = frame.placed[v];
  fit_surface(frame);
  retreat_.find(frame);
  if (frame.region.empty()) return;
  frame.grow_region(skin_, params_.region_rings);
  std::sort(frame.region.begin(), frame.region.end());
  retreat_.smooth(frame);
  separation_.find_activity(frame);
  for (const std::uint32_t v : frame.region) {
    frame.base[v] = frame.placed[v];
    frame.turns[v] = skin_.turn(v, frame);
    frame.placed[v] += std::min(frame.retreat[v], frame.ray[v]) * frame.back[v];
  }
  separation_.separate(frame);
  for (const std::uint32_t v : frame.region) positions[v] = frame.placed[v];
}

void ContactProjection::limit_free_motion(const ContactFrame& frame, std::span<float> free_motion) const {
  for (const std::uint32_t v : frame.region)
    free_motion[v] = std::min(free_motion[v], 1 - separation_.contact(v, frame));
}

void ContactProjection::keep_distance(std::span<const std::uint32_t> vertices, std::span<const float> far,
                                      ContactFrame& frame, std::span<float> free_motion) const {
  constexpr std::size_t kDistancesPerTask = 32;
  if (vertices.empty() || !frame.is_placed) return;
  fit_surface(frame);
  parallel_blocks(vertices.size(), kDistancesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = vertices[i];
      if (!(free_motion[v] > 0)) continue;
      const float reach = 2 * far[i] * skin_.scale(v, frame);
      if (reach > 0)
        free_motion[v] = std::min(free_motion[v], separation_.distance_before(v, reach, frame) / reach);
    }
  });
}

}  // namespace sinew
