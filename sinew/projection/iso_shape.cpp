#include <sinew/projection/iso_shape.h>

#include <algorithm>

#include <sinew/contact/contact_sides.h>
#include <sinew/core/error.h>
#include <sinew/core/parallel.h>

namespace sinew {

namespace {

constexpr std::size_t kShapesPerTask = 16;

/// What is joined to each field, and how.
struct Joined {
  std::uint16_t other;
  const Operator* operation;  // null: a union
  bool is_joint;
};

bool is_table(const Operator* operation) {
  return operation != nullptr && operation->kind() != OperatorKind::union_ &&
         operation->kind() != OperatorKind::contact;
}

std::vector<std::vector<Joined>> joined_fields(const FieldSet& set) {
  std::vector<std::vector<Joined>> joined(set.fields.size());
  const auto join = [&](std::uint32_t a, std::uint32_t b, const Operator* operation, bool is_joint) {
    joined[a].push_back({static_cast<std::uint16_t>(b), operation, is_joint});
    joined[b].push_back({static_cast<std::uint16_t>(a), operation, is_joint});
  };
  for (const FieldPair& pair : set.pairs) {
    if (pair.first >= set.fields.size() || pair.second >= set.fields.size() || pair.first == pair.second)
      throw Error("contact: a pair of fields that are not there");
    join(pair.first, pair.second, &pair.operation, pair.is_joint);
  }
  for (const FieldJoint& joint : set.joints) {
    const auto& known = joined[joint.parent];
    const bool operated = std::any_of(known.begin(), known.end(),
                                      [&](const Joined& j) { return j.is_joint && j.other == joint.child; });
    if (!operated) join(joint.parent, joint.child, nullptr, true);
  }
  return joined;
}

}  // namespace

IsoShape::IsoShape(const ContactSkin& skin, const FieldSet& fields, const ContactParams& params,
                   const ContactFrame& rest)
    : skin_(skin), params_(params) {
  if (fields.pairs.empty() && fields.muscles.empty()) return;
  const std::vector<std::vector<Joined>> joined = joined_fields(fields);
  std::vector<std::uint8_t> has_muscle(fields.fields.size(), 0);
  for (const Muscle& muscle : fields.muscles) has_muscle[muscle.host] = 1;
  const ContactSides sides(*skin.weights, fields, params);
  for (std::uint32_t v = 0; v < skin.vertex_count; ++v) {
    if (skin.rings[v].empty()) continue;
    const auto first = static_cast<std::uint32_t>(pairs_.size());
    bool asked = false;
    float operated = 0, gain = 0;
    const auto weight = [&](std::uint16_t field) {
      for (const ContactSides::Own& own : sides.own(v))
        if (own.field == field) return own.weight;
      return 0.0f;
    };
    for (const ContactSides::Own& own : sides.own(v)) {
      asked |= has_muscle[own.field] != 0;
      pairs_.push_back({own.field, own.field, own.share, nullptr});
      for (const Joined& j : joined[own.field]) {
        pairs_.push_back({own.field, j.other, own.share, j.operation});
        asked |= j.operation != nullptr || has_muscle[j.other] != 0;
        if (is_table(j.operation))
          gain = std::max(gain, j.operation->kind() == OperatorKind::bulge ? params.bulge_gain : 1.0f);
        if (j.operation != nullptr && j.is_joint) operated = std::max(operated, own.weight + weight(j.other));
      }
    }
    if (!asked) {
      pairs_.resize(first);
      continue;
    }
    // Near the next joint along, without an operator, the shape fades.
    vertices_.push_back(v);
    rows_.push_back({first, static_cast<std::uint32_t>(pairs_.size()),
                     std::clamp(2 * operated - 1, 0.0f, 1.0f), gain, 0, 0});
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.value = composed(row, Part::unions, rest.fields, rest.placed[vertices_[i]]);
    row.at_rest = stand(vertices_[i], row, rest);
  }
}

float IsoShape::composed(const Row& row, Part part, std::span<const PosedField> fields,
                         const Vec3f& at) const {
  float largest = 0;
  FieldSample own, other;
  for (std::uint32_t p = row.first_pair; p < row.last_pair; ++p) {
    const Pair& pair = pairs_[p];
    const auto sample = [&](std::uint16_t field) {
      if (!fields[field].usable) return FieldSample();
      return part == Part::bones ? fields[field].sample_bone(at) : fields[field].sample(at);
    };
    float value;
    if (pair.own == pair.other) {
      own = sample(pair.own);
      value = own.value;
    } else {
      other = sample(pair.other);
      value = part == Part::whole && is_table(pair.operation) ? combine(*pair.operation, own, other).value
                                                              : std::max(own.value, other.value);
    }
    largest = std::max(largest, value - 1 + pair.share);
  }
  return largest;
}

float IsoShape::stop(std::uint32_t v, const Row& row, Part part, const ContactFrame& frame) const {
  constexpr int kNodes = 24, kPieces = 8;
  const Vec3f origin = skin_.ray_origin(v, frame), direction = frame.placed[v] - origin;
  const float length = direction.norm();
  const float edge = skin_.edge[v] * skin_.scale(v, frame);
  if (!(length > 0 && edge > 0)) return 1;
  const float whole = 1 + params_.shape_reach, piece = whole / (kNodes * kPieces);
  const float fade = params_.fade * edge / length;
  float left = 1, stop = 0;
  float before = composed(row, part, frame.fields, origin);
  for (int node = 1; node <= kNodes && left > 0; ++node) {
    const float t = whole * static_cast<float>(node) / kNodes;
    const float after = composed(row, part, frame.fields, origin + t * direction);
    for (int i = 0; i < kPieces && left > 0; ++i) {
      const float share = (static_cast<float>(i) + 0.5f) / kPieces;
      const float inside = before + share * (after - before) - row.value;
      const float rate = std::clamp(0.5f - inside / params_.side_width, 0.0f, 1.0f) / fade;
      const float fallen = left - rate * piece;
      stop += fallen >= 0 ? (left + fallen) / 2 * piece : left * left / (2 * rate);
      left = std::max(fallen, 0.0f);
    }
    before = after;
  }
  return stop;
}

float IsoShape::stand(std::uint32_t v, const Row& row, const ContactFrame& frame) const {
  float stands = stop(v, row, Part::unions, frame);
  const float unions = stands;
  if (row.operated < 1) stands -= (1 - row.operated) * stop(v, row, Part::bones, frame);
  if (row.gain > 0)
    stands += std::clamp(row.gain * (stop(v, row, Part::whole, frame) - unions), -params_.most_bulge,
                         params_.most_bulge);
  return stands;
}

float IsoShape::share(const Row& row, std::span<const PosedField> fields, const Vec3f& at) const {
  float sum = 0, weights = 0;
  FieldSample own;
  for (std::uint32_t p = row.first_pair; p < row.last_pair; ++p) {
    const Pair& pair = pairs_[p];
    if (pair.own == pair.other) own = fields[pair.own].usable ? fields[pair.own].sample(at) : FieldSample();
    if (pair.operation == nullptr || pair.own == pair.other || !fields[pair.other].usable) continue;
    const FieldSample other = fields[pair.other].sample(at);
    const float weight = pair.share * other.value, lengths = own.gradient.norm() * other.gradient.norm();
    if (!(weight > 0) || !(lengths > 0)) continue;
    const float cosine = own.gradient.dot(other.gradient) / lengths;
    float part =
        std::clamp((cosine - params_.shape_ends) / (params_.shape_fades - params_.shape_ends), 0.0f, 1.0f);
    if (pair.operation->kind() == OperatorKind::contact)
      part *= 1 - pair.operation->depth(own.gradient, other.gradient);
    sum += weight * part;
    weights += weight;
  }
  return weights > 0 ? sum / weights : 1;
}

void IsoShape::apply(ContactFrame& frame) const {
  parallel_blocks(vertices_.size(), kShapesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = vertices_[i];
      float shape = stand(v, rows_[i], frame) - rows_[i].at_rest;
      if (shape > 0) shape *= share(rows_[i], frame.fields, frame.placed[v]);
      frame.pushes[v] = shape;
    }
  });
  for (int sweep = 0; sweep < params_.shape_sweeps; ++sweep) {
    parallel_blocks(vertices_.size(), kShapesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint32_t v = vertices_[i];
        const float even = 0.5f * rows_[i].operated;
        frame.next[v] = frame.pushes[v] + even * (skin_.ring_mean(v, frame.pushes) - frame.pushes[v]);
      }
    });
    for (const std::uint32_t v : vertices_) frame.pushes[v] = frame.next[v];
  }
  for (const std::uint32_t v : vertices_) {
    frame.placed[v] += frame.pushes[v] * (frame.placed[v] - skin_.ray_origin(v, frame));
    frame.pushes[v] = frame.next[v] = 0;
  }
}

}  // namespace sinew
