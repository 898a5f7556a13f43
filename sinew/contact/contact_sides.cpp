#include <sinew/contact/contact_sides.h>

#include <algorithm>
#include <cmath>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

std::vector<float> field_strengths(const FieldSet& fields, const ContactParams& params) {
  double largest = 0;
  for (const BoneField& field : fields.fields) largest = std::max(largest, field.radius);
  std::vector<float> strengths;
  for (std::size_t f = 0; f < fields.fields.size(); ++f) {
    const double radius = fields.fields[f].radius, below = static_cast<double>(params.hard_below) * largest;
    const double smaller = radius > 0 ? std::max(1.0, below / radius) : 1.0;
    const double softness = fields.softness.empty() ? 0.0 : static_cast<double>(fields.softness[f]);
    strengths.push_back(
        static_cast<float>(std::pow(smaller, static_cast<double>(params.hardness)) * std::exp2(-softness)));
  }
  return strengths;
}

ContactSides::ContactSides(const SkinWeights& weights, const FieldSet& fields, const ContactParams& params)
    : strengths_(field_strengths(fields, params)) {
  if (fields.fields.size() > 0xffff) throw Error("contact: more than 65 535 fields");
  const std::vector<std::int32_t> field_of = fields_of_transforms(fields);
  std::vector<Influence> row;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    row.clear();
    for (std::size_t k = 0; k < weights.row_size(v); ++k) {
      const std::uint32_t transform = weights.row_joints(v)[k];
      const std::int32_t field = transform < field_of.size() ? field_of[transform] : -1;
      if (field < 0) continue;
      const auto number = static_cast<std::uint32_t>(field);
      const auto same =
          std::find_if(row.begin(), row.end(), [&](const Influence& i) { return i.joint == number; });
      if (same != row.end())
        same->weight += weights.row_values(v)[k];
      else
        row.push_back({number, weights.row_values(v)[k]});
    }
    float largest = 0;
    for (const Influence& i : row) largest = std::max(largest, i.weight);
    for (const Influence& i : row) {
      const float share = (i.weight / largest - params.own_from) / (params.own_wholly - params.own_from);
      if (share > 0) own_.push_back({static_cast<std::uint16_t>(i.joint), std::min(share, 1.0f), i.weight});
    }
    starts_.push_back(static_cast<std::uint32_t>(own_.size()));
  }
}

ContactSides::Present ContactSides::present(std::span<const PosedField> posed, const Vec3f& low,
                                            const Vec3f& high) const {
  Present present;
  for (std::size_t f = 0; f < posed.size(); ++f) {
    if (!posed[f].usable || !may_reach(posed[f], low, high)) continue;
    if (present.count == Present::kMost) {
      present.all = true;
      break;
    }
    present.fields[present.count++] = static_cast<std::uint16_t>(f);
  }
  return present;
}

float ContactSides::side(std::uint32_t vertex, std::span<const PosedField> posed, const Present& present,
                         const Vec3f& at) const {
  const Own* begin = own_.data() + starts_[vertex];
  const Own* end = own_.data() + starts_[vertex + 1];
  // Fields that are not present are 0 there.
  float own = -1, other = static_cast<std::size_t>(end - begin) < posed.size() ? 0.0f : -1.0f;
  for (const Own* o = begin; o != end; ++o) {
    own = std::max(own, o->share - 1);
    other = std::max(other, -o->share);
  }
  const auto ask = [&](std::size_t field) {
    if (!posed[field].usable) return;
    const float value = strengths_[field] * posed[field].sample(at).value;
    const Own* found = std::find_if(begin, end, [&](const Own& o) { return o.field == field; });
    const float share = found == end ? 0.0f : found->share;
    own = std::max(own, value - 1 + share);
    other = std::max(other, value - share);
  };
  if (present.all)
    for (std::size_t f = 0; f < posed.size(); ++f) ask(f);
  else
    for (std::size_t i = 0; i < present.count; ++i) ask(present.fields[i]);
  return own - other;
}

}  // namespace sinew
