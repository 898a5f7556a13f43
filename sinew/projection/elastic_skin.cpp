#include <sinew/projection/elastic_skin.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/projection/contact_frame.h>

namespace sinew {

namespace {

constexpr std::size_t kVerticesPerTask = 256;
constexpr int kActiveRings = 3;       // round skin that is pulled at, that may slide with it
constexpr float kPulled = 1e-3f;      // shares of an edge: skin that would go less far is left alone ...
constexpr float kSlid = 1e-5f;        // ... when it has slid less far than that
constexpr float kLongestWalk = 1.0f;  // support radii, in a frame

/// Per vertex, the support radius of the fields of its bones, by weight.
std::vector<float> radii(const SkinWeights& weights, const FieldSet& fields) {
  const std::vector<std::int32_t> field_of = fields_of_transforms(fields);
  std::vector<float> result(weights.rows(), 0);
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    double sum = 0, known = 0;
    for (std::size_t k = 0; k < weights.row_size(v); ++k) {
      const std::uint32_t transform = weights.row_joints(v)[k];
      const std::int32_t field = transform < field_of.size() ? field_of[transform] : -1;
      if (field < 0) continue;
      const double weight = static_cast<double>(weights.row_values(v)[k]);
      sum += weight * fields.fields[to_size(field)].radius;
      known += weight;
    }
    if (known > 0) result[v] = static_cast<float>(sum / known);
  }
  return result;
}

std::vector<float> anchors(const ContactProjection& contact, std::span<const float> freedom,
                           const ElasticParams& params) {
  std::vector<float> result = radii(*contact.skin().weights, contact.fields());
  if (freedom.size() != result.size())
    throw Error(fmt::format("elastic: {} freedoms for {} vertices", freedom.size(), result.size()));
  for (std::size_t v = 0; v < result.size(); ++v) result[v] *= params.reach * freedom[v];
  return result;
}

}  // namespace

ElasticSkin::ElasticSkin(const MeshView& rest, const ContactProjection& contact,
                         std::span<const float> freedom, const ElasticParams& params)
    : params_(params),
      skin_(contact.skin()),
      anchor_(anchors(contact, freedom, params)),
      walk_(rest.positions.size(), rest.triangles),
      relaxation_(rest, anchor_) {}

ElasticState ElasticSkin::make_state() const {
  ElasticState s;
  const std::size_t count = skin_.vertex_count;
  for (std::uint32_t v = 0; v < count; ++v) s.places.push_back(walk_.at(v));
  s.relaxation = relaxation_.make_scratch();
  s.base.assign(count, Vec3f::Zero());
  s.scale.assign(count, 1);
  s.active.reserve(count);
  s.listed.assign(count, 0);
  return s;
}

void ElasticSkin::carry(ElasticState& s, std::span<Vec3f> positions) const {
  std::copy(positions.begin(), positions.end(), s.base.begin());
  parallel_blocks(positions.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const auto vertex = static_cast<std::uint32_t>(v);
      if (!relaxation_.is_free(vertex) || !walk_.has_triangle(vertex)) continue;
      positions[v] = walk_.position(s.places[v], s.base);
      s.relaxation.slid[v].head<3>() = positions[v] - s.base[v];
    }
  });
}

void ElasticSkin::find_active(const ContactFrame& frame, std::span<const Vec3f> rest,
                              std::span<const Vec3f> positions, ElasticState& s) const {
  RelaxationScratch& r = s.relaxation;
  parallel_blocks(positions.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto v = static_cast<std::uint32_t>(i);
      s.scale[v] = skin_.scale(v, frame);
      r.turns[v] = skin_.turn(v, frame).toRotationMatrix() * s.scale[v];
    }
  });
  parallel_blocks(positions.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto v = static_cast<std::uint32_t>(i);
      s.listed[v] = 0;
      if (!relaxation_.is_free(v)) continue;
      r.pulls[v] = relaxation_.pull(v, rest, positions, r);
      const float edge = skin_.edge[v] * s.scale[v];
      s.listed[v] = r.slid[v].norm() > kSlid * edge || relaxation_.way(v, r.pulls[v]) > kPulled * edge;
    }
  });
  const auto list = [&] {
    s.active.clear();
    for (std::uint32_t v = 0; v < s.listed.size(); ++v)
      if (s.listed[v] != 0) s.active.push_back(v);
  };
  list();
  std::size_t begin = 0;
  for (int ring = 0; ring < kActiveRings; ++ring) {
    const std::size_t end = s.active.size();
    for (std::size_t i = begin; i < end; ++i)
      for (const std::uint32_t n : skin_.rings[s.active[i]])
        if (s.listed[n] == 0 && relaxation_.is_free(n)) s.listed[n] = 1, s.active.push_back(n);
    begin = end;
  }
  list();  // in order
  parallel_blocks(s.active.size(), kVerticesPerTask, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      r.normals[s.active[i]].head<3>() = skin_.normal(s.active[i], positions);
  });
}

void ElasticSkin::limit_strain(ElasticState& s) const {
  // A sweep reads `moves` and writes `next`, which is free by now.
  std::vector<Vec4f>&moves = s.relaxation.moves, &next = s.relaxation.next_direction;
  const std::vector<Vec4f>& slid = s.relaxation.slid;
  std::atomic<bool> is_over{true};
  for (int sweep = 0; sweep < params_.strain_sweeps && is_over; ++sweep) {
    is_over = false;
    parallel_blocks(s.active.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint32_t v = s.active[i];
        const auto& ring = skin_.rings[v];
        next[v] = moves[v];
        if (ring.empty()) continue;
        Vec4f mean = Vec4f::Zero();
        for (const std::uint32_t n : ring) mean += slid[n] + moves[n];
        mean /= static_cast<float>(ring.size());
        const Vec4f apart = slid[v] + moves[v] - mean;
        const float length = apart.norm(), most = params_.strain * skin_.edge[v] * s.scale[v];
        if (!(length > most)) continue;
        next[v] -= (1 - most / length) * apart;
        is_over.store(true, std::memory_order_relaxed);
      }
    });
    moves.swap(next);  // both are zero elsewhere
  }
}

void ElasticSkin::slide(const ContactFrame& frame, std::span<const Vec3f> rest,
                        std::span<const Vec3f> positions, double seconds, ElasticState& s) const {
  s.active.clear();
  if (!frame.is_placed || !(seconds > 0)) return;
  find_active(frame, rest, positions, s);
  if (s.active.empty()) return;
  relaxation_.find_moves(s.active, params_.sweeps, s.relaxation);
  // Not 1 - exp(-seconds / settle): this way skin lags behind a steady motion by the same time, `settle`, at
  // any frame rate.
  const auto share = static_cast<float>(std::min(1.0, seconds / static_cast<double>(params_.settle)));
  for (const std::uint32_t v : s.active) s.relaxation.moves[v] *= share;
  limit_strain(s);
  parallel_blocks(s.active.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = s.active[i];
      if (!walk_.has_triangle(v)) continue;
      Vec3f move = s.relaxation.moves[v].head<3>();
      const float length = move.norm(), longest = kLongestWalk * anchor_[v] * s.scale[v];
      if (length > longest) move *= longest / length;
      s.places[v] = walk_.walk(s.places[v], move, s.base);
    }
  });
}

}  // namespace sinew
