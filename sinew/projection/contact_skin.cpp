#include <sinew/projection/contact_skin.h>

#include <algorithm>
#include <limits>

#include <sinew/core/error.h>
#include <sinew/projection/attachment.h>
#include <sinew/projection/contact_frame.h>

namespace sinew {

namespace {

std::vector<float> mean_edges(std::span<const Vec3f> rest, const OneRings& rings, int sweeps) {
  std::vector<float> edge(rest.size(), 0);
  for (std::size_t v = 0; v < rest.size(); ++v)
    for (const std::uint32_t n : rings[v])
      edge[v] += (rest[n] - rest[v]).norm() / static_cast<float>(rings[v].size());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    std::vector<float> next = edge;
    for (std::size_t v = 0; v < rest.size(); ++v) {
      if (rings[v].empty()) continue;
      float sum = 0;
      for (const std::uint32_t n : rings[v]) sum += edge[n];
      next[v] = (edge[v] + sum / static_cast<float>(rings[v].size())) / 2;
    }
    edge.swap(next);
  }
  return edge;
}

}  // namespace

ContactSkin::ContactSkin(const MeshView& rest, SharedWeights of_skin, const FieldSet& fields,
                         const ContactParams& params)
    : vertex_count(rest.positions.size()), weights(std::move(of_skin)) {
  if (weights->rows() != vertex_count) throw Error("contact: weights and vertices differ in number");
  const auto name = [&](std::uint32_t transform) {
    transform_count = std::max<std::size_t>(transform_count, std::size_t{transform} + 1);
  };
  for (const std::uint32_t transform : weights->joints) name(transform);
  for (const std::uint32_t transform : fields.transform) name(transform);
  for (const Muscle& muscle : fields.muscles)
    for (const std::uint32_t transform : {muscle.origin_transform, muscle.insertion_transform,
                                          muscle.driver_transform, muscle.driver_parent_transform})
      name(transform);
  std::vector<Triangle> triangles;
  for (const Triangle& f : rest.triangles)
    if (!repeats_corner(f)) triangles.push_back(f);
  const MeshView skin{rest.positions, triangles};
  rings = one_rings(vertex_count, triangles);
  incidence = vertex_incidence(vertex_count, triangles);
  closed = close_surface(vertex_count, triangles);
  const std::vector<Vec3f> placed = closed.place(rest.positions);
  tree = std::make_unique<TriangleTree>(MeshView{placed, closed.triangles});
  origins = ray_origins(skin, *weights, fields, *tree, closed.triangles, placed, params);
  for (std::uint32_t v = 0; v < vertex_count; ++v)
    for (const std::uint32_t n : rings[v]) {
      const float length = (rest.positions[n] - rest.positions[v]).norm();
      nearness.push_back(length > 0 ? 1 / length : 0);
    }
  constexpr int kEdgeSweeps = 3;
  edge = mean_edges(rest.positions, rings, kEdgeSweeps);
  for (const Triangle& f : triangles) {
    const Vec3f &a = rest.positions[f[0]], &b = rest.positions[f[1]], &c = rest.positions[f[2]];
    area.push_back((b - a).cross(c - a));
    for (const Vec3f& at : {a, b, c}) corner.push_back(at - (a + b + c) / 3);
  }
}

void ContactSkin::place_fans(std::span<Vec3f> placed) const {
  for (std::size_t b = 0; b < closed.borders.size(); ++b) {
    Vec3f sum = Vec3f::Zero();
    for (const std::uint32_t v : closed.borders[b]) sum += placed[v];
    placed[vertex_count + b] = sum / static_cast<float>(closed.borders[b].size());
  }
}

Vec3f ContactSkin::normal(std::uint32_t vertex, std::span<const Vec3f> placed) const {
  Vec3f sum = Vec3f::Zero();
  for (const std::uint32_t c : incidence[vertex]) {
    const Triangle& f = closed.triangles[c / 3];
    sum += (placed[f[1]] - placed[f[0]]).cross(placed[f[2]] - placed[f[0]]);
  }
  const float length = sum.norm();
  return length > 0 ? Vec3f(sum / length) : Vec3f(Vec3f::Zero());
}

Vec3f ContactSkin::ray_origin(std::uint32_t vertex, const ContactFrame& frame) const {
  if (weights->row_size(vertex) == 0) return frame.placed[vertex];
  Vec3f sum = Vec3f::Zero();
  for (std::size_t k = 0; k < weights->row_size(vertex); ++k)
    sum +=
        weights->row_values(vertex)[k] * (frame.transforms[weights->row_joints(vertex)[k]] * origins[vertex]);
  return sum;
}

float ContactSkin::scale(std::uint32_t vertex, const ContactFrame& frame) const {
  const auto joints = weights->row_joints(vertex);
  if (joints.empty()) return 1;
  float sum = 0;
  for (std::size_t k = 0; k < joints.size(); ++k)
    sum += weights->row_values(vertex)[k] * frame.scales[joints[k]];
  return sum;
}

Quatf ContactSkin::turn(std::uint32_t vertex, const ContactFrame& frame) const {
  const auto joints = weights->row_joints(vertex);
  if (joints.empty()) return Quatf::Identity();
  const Vec4f first = frame.rotations[joints[0]].coeffs();
  Vec4f sum = Vec4f::Zero();
  for (std::size_t k = 0; k < joints.size(); ++k) {
    const Vec4f q = frame.rotations[joints[k]].coeffs();
    sum += (q.dot(first) < 0 ? -1.0f : 1.0f) * weights->row_values(vertex)[k] * q;
  }
  return Quatf(Vec4f(sum.normalized()));
}

void ContactFrame::clear_region() {
  for (const std::uint32_t v : region)
    asked[v] = 0, retreat[v] = next[v] = activity[v] = pushes[v] = 0,
    apart[v] = std::numeric_limits<float>::infinity();
  region.clear();
}

void ContactFrame::grow_region(const ContactSkin& skin, int rings) {
  std::size_t begin = 0;
  for (int ring = 0; ring < rings; ++ring) {
    const std::size_t end = region.size();
    for (std::size_t i = begin; i < end; ++i)
      for (const std::uint32_t n : skin.rings[region[i]]) {
        if (asked[n]) continue;
        asked[n] = 1;
        region.push_back(n);
        edge[n] = skin.edge[n] * skin.scale(n, *this);
        const Vec3f to_origin = skin.ray_origin(n, *this) - placed[n];
        ray[n] = to_origin.norm();
        back[n] = ray[n] > 0 ? Vec3f(to_origin / ray[n]) : Vec3f(Vec3f::Zero());
      }
    begin = end;
  }
}

}  // namespace sinew
