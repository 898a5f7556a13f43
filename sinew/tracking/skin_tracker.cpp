#include <sinew/tracking/skin_tracker.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/tracking/smooth_step.h>

namespace sinew {

namespace {

constexpr float kNoContact = 2;  // more than two fields can differ by
// Skin whose outward normal points away from a neighbouring part does not meet it: cosines from which on it
// does, and wholly does.
constexpr float kFacesAway = 0.1f;
constexpr float kFaces = 0.5f;
// The same for parts that are near at rest (distance to the bone in support radii, and so many joints away at
// most) but have little to do with the vertex then.
constexpr float kAway = 0;
constexpr float kTowards = 0.3f;
constexpr float kNear = 1.5f;
constexpr float kFar = 2.5f;
constexpr int kKinJoints = 3;
// Edges per support radius: from kFine on neighbours are near enough to take anything over from each other,
// and below kTooCoarse a field means nothing to the mesh.
constexpr float kFine = 3;
constexpr float kCoarse = 2;
constexpr float kTooCoarse = 0.7f;
// Fields of parts that hang together shift a little against each other in every pose. That much is no
// contact; more where both gradients point the same way, as they do outside of folds.
constexpr float kShift = 0.03f;
constexpr float kShiftAlong = 0.15f;
// A vertex must not go past its own bone, behind which the gradient turns round: cosine to where it began.
constexpr float kPastBone = 0.2f;
constexpr float kLongestStep = 0.5f;     // of a projection, in support radii
constexpr float kLongestReturn = 0.25f;  // of a step back to the own side
constexpr float kReach = 0.35f;          // how far from a block fields are looked for, in support radii
constexpr float kReturnBudget = 2;       // of the way back, in ways that the own field alone would need
constexpr float kDeepContact = 0.15f;    // field value across a contact from which on it is smoothed wholly
constexpr float kHeld = 0.07f;           // the same from which on it stays at the contact
constexpr float kKeptBulge = 0.5f;       // share of a vertex's height over its ring that smoothing keeps
constexpr float kThinTriangle = 0.2f;    // area over that at rest below which a triangle is nearly flipped
constexpr float kTurned = 0.8f;          // trace of a turn by 45 degrees, in thirds: from there on it may be
constexpr float kDeepest = 0.9f;         // own field up to which a vertex is brought back: a bone is at 1
constexpr float kSmoothed = 0.1f;        // beta from which on the last projection leaves the iso-value alone
constexpr int kReturnSteps = 12;
constexpr int kHalvings = 5;
constexpr int kRestraints = 2;
constexpr float kClear = 0.35f;  // own field less another's from which on they are not in contact
// Where several fields cover the same skin, as on chest and palm, they differ by their fit. Ease there, in
// eases.
constexpr float kSharedEase = 10;
constexpr float kNoGradient = 1e-6f;
constexpr float kLeastBeta = 1e-3f;

/// Interleaves the bits of three coordinates: points with similar numbers are near each other.
std::uint64_t morton_code(const Vec3f& unit) {
  const auto spread = [](float coordinate) {
    auto v = static_cast<std::uint64_t>(std::clamp(coordinate, 0.0f, 1.0f) * 2097151.0f);
    v = (v | v << 32) & 0x1f00000000ffff;
    v = (v | v << 16) & 0x1f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    v = (v | v << 2) & 0x1249249249249249;
    return v;
  };
  return spread(unit.x()) | spread(unit.y()) << 1 | spread(unit.z()) << 2;
}

Vec3f nearest_bone_point(const BoneField& field, const Vec3f& at) {
  const Vec3d x = at.cast<double>();
  Vec3d nearest = x;
  double least = std::numeric_limits<double>::infinity();
  for (const BoneSegment& segment : field.segments) {
    const Vec3d along = segment.tail - segment.head;
    const double length2 = along.squaredNorm();
    const double t = length2 > 0 ? std::clamp((x - segment.head).dot(along) / length2, 0.0, 1.0) : 0.0;
    const Vec3d point = segment.head + t * along;
    if ((x - point).squaredNorm() < least) least = (x - point).squaredNorm(), nearest = point;
  }
  return nearest.cast<float>();
}

/// From a point to the nearest one of some segments.
Vec3f way_to(std::span<const std::array<Vec3f, 2>> segments, const Vec3f& from) {
  Vec3f way = Vec3f::Zero();
  float least = std::numeric_limits<float>::max();
  for (const std::array<Vec3f, 2>& segment : segments) {
    const Vec3f head = segment[0] - from, along = segment[1] - segment[0];
    const float length2 = along.squaredNorm();
    const float t = length2 > 0 ? std::clamp(-head.dot(along) / length2, 0.0f, 1.0f) : 0.0f;
    const Vec3f to = head + t * along;
    if (to.squaredNorm() < least) least = to.squaredNorm(), way = to;
  }
  return way;
}

Vec3f middle(const BoneField& field) {
  Vec3d sum = Vec3d::Zero();
  for (const HermitePoint& sample : field.samples) sum += sample.position;
  return (sum / static_cast<double>(std::max<std::size_t>(field.samples.size(), 1))).cast<float>();
}

}  // namespace

/// The fields at a point as a vertex sees them.
struct SkinTracker::Probe {
  FieldSample own;              // of the vertex's own bone
  FieldSample all;              // composed
  float side = kNoContact;      // how far on its own side of the nearest contact; negative: across
  Vec3f rival = Vec3f::Zero();  // gradient of the field beyond that contact
};

/// One frame's work, shared by the threads that do it.
class SkinTracker::Frame {
 public:
  Frame(const SkinTracker& tracker, TrackingScratch& scratch)
      : t_(tracker),
        s_(scratch),
        step_(static_cast<float>(t_.options_.step)),
        tolerance_(static_cast<float>(t_.options_.tolerance)),
        cos_turn_(static_cast<float>(std::cos(t_.options_.turn * std::numbers::pi / 180))),
        gap_(static_cast<float>(t_.options_.gap)),
        swelling_(static_cast<float>(t_.options_.swelling)),
        coherence_(static_cast<float>(t_.options_.coherence)),
        strain_(static_cast<float>(t_.options_.strain)),
        relaxation_(static_cast<float>(t_.options_.relaxation)) {}

  /// Finds the fields that reach a block, and its vertices that have something to do.
  void start(std::size_t b) const {
    const std::size_t begin = b * kBlock, end = std::min(begin + kBlock, t_.tracked_);
    TrackingScratch::Block& block = s_.blocks[b];
    Vec3f low = Vec3f::Constant(std::numeric_limits<float>::max()), high = -low;
    float margin = 0;
    for (std::size_t i = begin; i < end; ++i) {
      low = low.cwiseMin(s_.now[i]), high = high.cwiseMax(s_.now[i]);
      margin = std::max(margin, kReach * radius(t_.own_[i]));
    }
    low.array() -= margin, high.array() += margin;
    block.field_count = 0;
    for (std::size_t f = 0; f < s_.posed.size() && block.field_count < block.fields.size(); ++f)
      if (reaches(s_.posed[f], low, high)) block.fields[block.field_count++] = static_cast<std::uint16_t>(f);
    if (!t_.unions_only_) t_.fields_->tree.prune({block.fields.data(), block.field_count}, block.steps);
    block.active = 0;
    for (std::size_t i = begin; i < end; ++i) {
      s_.state[i] = TrackMark::still;
      s_.beta[i] = s_.next_beta[i] = s_.held[i] = 0;
      find_sliding(i);
      s_.present[i] = present_fields(block, s_.now[i]);
      const Probe p = probe(block, i, s_.now[i]);
      // Skin that the layer before has swollen may keep some of it: tissue that a fold displaces.
      const float error = p.all.value - t_.iso_[i];
      s_.target[i] = t_.iso_[i] + swelling_ * std::min(0.0f, error);
      // What nobody sees is not worth the work; less than that is taken off everywhere, so that nothing pops.
      s_.target[i] += std::clamp(p.all.value - s_.target[i], -t_.ease_[i], t_.ease_[i]);
      const float slope = p.own.gradient.norm();
      s_.inwards[i] = slope > kNoGradient ? Vec3f(p.own.gradient / slope) : Vec3f(Vec3f::Zero());
      note(i, p);
      // Positions that are not finite have no fields.
      if (!(p.all.value > 0) || !std::isfinite(s_.now[i].sum()) ||
          (std::abs(s_.error[i]) <= tolerance_ && p.side >= 0))
        continue;
      s_.work[begin + block.active++] = static_cast<std::uint32_t>(i);
    }
  }

  /// Brings active vertices to their own side, then up to `times` steps towards their iso-value.
  void project(std::size_t b, int times) const {
    const TrackingScratch::Block& block = s_.blocks[b];
    for (std::size_t k = 0; k < block.active; ++k) {
      const std::size_t i = s_.work[b * kBlock + k];
      Vec3f x = s_.now[i];
      Probe p = probe(block, i, x);
      if (p.side < 0) {
        // The deeper it was, the more it is smoothed, and a touch not at all: nothing pops.
        s_.beta[i] = std::max(s_.beta[i], smooth_step(0, kDeepContact, -p.side));
        s_.held[i] = std::max(s_.held[i], smooth_step(0, kHeld, -p.side));
        bring_back(block, i, x, p);
        s_.state[i] = TrackMark::returned;
      }
      // What has been brought back from afar stays at the contact. From there its iso-value could be
      // anywhere.
      const int steps = s_.held[i] >= 1 ? 0 : times;
      for (int step = 0; step < steps && std::abs(p.all.value - s_.target[i]) > tolerance_; ++step) {
        if (!(p.all.gradient.squaredNorm() > kNoGradient * kNoGradient)) break;
        if (!newton_step(block, i, x, p)) {
          s_.state[i] = TrackMark::contact;
          s_.beta[i] =
              std::max(s_.beta[i], smooth_step(0, kDeepContact, std::abs(p.all.value - s_.target[i])));
          break;
        }
        if (s_.state[i] == TrackMark::still) s_.state[i] = TrackMark::moved;
      }
      s_.now[i] = x;
      note(i, p);
    }
  }

  /// Tangential relaxation (eq. 7 and 8) of displacements that have been made coherent, into `next`.
  void relax(std::size_t b) const {
    const TrackingScratch::Block& block = s_.blocks[b];
    for (std::size_t k = 0; k < block.active; ++k) {
      const std::size_t i = s_.work[b * kBlock + k];
      s_.next[i] = s_.start[i] + coherent(i, coherence_ * t_.fineness_[i]);
      const float length = s_.gradient[i].norm();
      if (!t_.mean_values_.valid[i] || !(length > kNoGradient)) continue;
      const float rest = 1 - std::min(std::abs(s_.error[i]), 1.0f);
      const float mu = relaxation_ * (1 - rest * rest * rest * rest);
      const Vec3f normal = s_.gradient[i] / length;
      Vec3f offset = ring_mean(i) - s_.now[i];
      offset -= offset.dot(normal) * normal;
      s_.next[i] += mu * offset;
    }
  }

  /// No displacement differs from its neighbours' by more than the strain allows; into `next`.
  void restrain(std::size_t b) const {
    const TrackingScratch::Block& block = s_.blocks[b];
    for (std::size_t k = 0; k < block.active; ++k) {
      const std::size_t i = s_.work[b * kBlock + k];
      s_.next[i] = s_.start[i] + coherent(i, 0);
    }
  }

  /// Vertices of triangles that are flipped, or nearly, go to their ring's mean, into `next`.
  void untangle(std::size_t b) const {
    const TrackingScratch::Block& block = s_.blocks[b];
    for (std::size_t k = 0; k < block.active; ++k) {
      const std::size_t i = s_.work[b * kBlock + k];
      s_.next[i] = s_.now[i];
      if (!t_.mean_values_.valid[i]) continue;
      const float share = 1 - smooth_step(0, kThinTriangle, smallest_area(i));
      if (share > 0) s_.next[i] += share * t_.fineness_[i] * (ring_mean(i) - s_.now[i]);
    }
  }

  void take_next(std::size_t b) const {
    const TrackingScratch::Block& block = s_.blocks[b];
    for (std::size_t k = 0; k < block.active; ++k) {
      const std::size_t i = s_.work[b * kBlock + k];
      s_.now[i] = s_.next[i];
    }
  }

  /// One sweep that spreads β over the surface. Blocks to which none can come are passed over.
  void diffuse(std::size_t b) const {
    const auto near = t_.near_blocks(b);
    s_.next_warm[b] = 0;
    if (std::none_of(near.begin(), near.end(), [&](std::uint32_t n) { return s_.warm[n] != 0; })) return;
    for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i) {
      float sum = s_.beta[i];
      const auto ring = t_.rings_[i];
      for (const std::uint32_t n : ring) sum += s_.beta[n];
      const float mean = sum / static_cast<float>(ring.size() + 1);
      s_.next_beta[i] = s_.beta[i] + t_.fineness_[i] * (mean - s_.beta[i]);
      if (s_.next_beta[i] > 0) s_.next_warm[b] = 1;
    }
  }

  /// Says which blocks have some β.
  void find_warm(std::size_t b) const {
    s_.warm[b] = 0;
    for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i)
      if (s_.beta[i] > 0) s_.warm[b] = 1;
  }

  /// Makes the vertices that β reached active, too, and those of flipped triangles. What is smoothed stays
  /// where that puts it: it has no iso-value in a contact.
  void widen(std::size_t b) const {
    TrackingScratch::Block& block = s_.blocks[b];
    block.active = 0;
    for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i) {
      s_.held[i] = std::max(s_.held[i], std::min(s_.beta[i] / kSmoothed, 1.0f));
      if (!std::isfinite(s_.now[i].sum())) continue;
      if (s_.beta[i] > kLeastBeta || s_.state[i] != TrackMark::still ||
          (t_.options_.untangling > 0 && may_be_flipped(i) && smallest_area(i) < kThinTriangle))
        s_.work[b * kBlock + block.active++] = static_cast<std::uint32_t>(i);
    }
  }

  /// Vertices that have gone some way may have come to other fields.
  void look_round(std::size_t b) const {
    const TrackingScratch::Block& block = s_.blocks[b];
    for (std::size_t k = 0; k < block.active; ++k) {
      const std::size_t i = s_.work[b * kBlock + k];
      s_.present[i] = present_fields(block, s_.now[i]);
    }
  }

  /// Laplacian smoothing by β (eq. 9), into `next`. The mean is by the ring's mean value coordinates, which
  /// keep what is irregular in the mesh at rest; with some of the vertex's height over it at rest, without
  /// which fingers would become thin.
  void smooth(std::size_t b) const {
    const TrackingScratch::Block& block = s_.blocks[b];
    for (std::size_t k = 0; k < block.active; ++k) {
      const std::size_t i = s_.work[b * kBlock + k];
      s_.next[i] = s_.now[i];
      if (s_.beta[i] > kLeastBeta && t_.mean_values_.valid[i])
        s_.next[i] += s_.beta[i] * t_.fineness_[i] * (smooth_place(i) - s_.now[i]);
    }
  }

 private:
  float radius(std::size_t field) const { return static_cast<float>(t_.fields_->fields[field].radius); }

  void note(std::size_t i, const Probe& p) const {
    s_.error[i] = p.all.value - s_.target[i];
    s_.gradient[i] = p.all.gradient;
  }

  /// How far each neighbour's field just slides over the vertex: skin that does not face it does not meet it.
  /// By the part's place, not by its gradient, which turns round behind its bone.
  void find_sliding(std::size_t i) const {
    const Eigen::Affine3f& own = s_.transforms[t_.own_[i]];
    const Vec3f out = own.linear() * t_.rest_out_[i];
    const Vec3f bone = own * t_.rest_bone_[i];
    s_.out[i] = out, s_.bone[i] = bone;
    for (std::uint32_t e = t_.neighbours_.starts[i]; e < t_.neighbours_.starts[i + 1]; ++e) {
      const FieldNeighbour& neighbour = t_.neighbours_.entries[e];
      const Vec3f way = s_.centers[neighbour.field] - bone;
      const float lengths = way.norm() * out.norm();
      const float facing = lengths > 0 ? out.dot(way) / lengths : 0.0f;
      s_.slides[e] = std::max(neighbour.nearness * (1 - smooth_step(kFacesAway, kFaces, facing)),
                              (1 - neighbour.nearness) * (1 - faced(i, neighbour.field)));
    }
  }

  /// Which of a block's fields are not zero at a vertex: of the others it hears nothing until it is asked
  /// again.
  std::uint64_t present_fields(const TrackingScratch::Block& block, const Vec3f& at) const {
    std::uint64_t present = 0;
    for (std::size_t k = 0; k < block.field_count; ++k)
      present |= std::uint64_t{s_.posed[block.fields[k]].covers(at)} << k;
    return present;
  }

  Probe probe(const TrackingScratch::Block& block, std::size_t i, const Vec3f& at) const {
    return t_.unions_only_ ? probe_with<true>(block, i, at) : probe_with<false>(block, i, at);
  }

  template <bool kUnions>
  Probe probe_with(const TrackingScratch::Block& block, std::size_t i, const Vec3f& at) const {
    const std::uint16_t own = t_.own_[i];
    std::array<FieldSample, kUnions ? 1 : CompositionTree::kMostLeaves> samples;
    Probe result;
    if (s_.posed[own].usable) result.own = s_.posed[own].sample(at);
    result.all = result.own;
    const FieldNeighbour* const first = t_.neighbours_.entries.data();
    const FieldNeighbour* neighbour = first + t_.neighbours_.starts[i];
    const FieldNeighbour* const last = first + t_.neighbours_.starts[i + 1];
    for (std::uint64_t left = s_.present[i]; left != 0; left &= left - 1) {
      const auto k = static_cast<std::size_t>(std::countr_zero(left));
      const std::uint16_t field = block.fields[k];
      FieldSample other = field == own ? result.own : s_.posed[field].sample(at);
      if (field != own && other.value > 0) {
        while (neighbour != last && neighbour->field < field) ++neighbour;
        float side;
        if (neighbour != last && neighbour->field == field) {
          side = neighbour_side(*neighbour, s_.slides[static_cast<std::size_t>(neighbour - first)],
                                result.own, other, at);
          other.value *= neighbour->damping, other.gradient *= neighbour->damping;
        } else {
          if (!kUnions || other.value > result.own.value - gap_) {
            const float share = faced(i, field);
            other.value *= share, other.gradient *= share;
          }
          side = result.own.value - other.value - gap_;
        }
        if (side < result.side) result.side = side, result.rival = other.gradient;
      }
      if constexpr (kUnions) {
        if (other.value > result.all.value) result.all = other;
      } else {
        samples[k] = other;
      }
    }
    if constexpr (!kUnions) {
      if (block.field_count == 0) return result;
      for (std::size_t k = 0; k + 1 < block.field_count; ++k) {
        const CompositionTree::Step& step = block.steps[k];
        samples[step.target] = combine(*step.operation, samples[step.target], samples[step.other]);
      }
      result.all = samples[0];
    }
    return result;
  }

  /// How far a vertex meets a field that it has little to do with at rest, though its part is near: not at
  /// all when its skin faces away from that bone. Then the part has come below it, as a thigh below the back.
  float faced(std::size_t i, std::size_t field) const {
    if (!t_.kin(t_.own_[i], static_cast<std::int32_t>(field))) return 1;
    const std::span<const Segment> rest = t_.segments_of(t_.rest_segments_, field);
    const float near = 1 - smooth_step(kNear, kFar, way_to(rest, t_.rest_[i]).norm() / radius(field));
    if (near == 0) return 1;
    const Vec3f way = way_to(t_.segments_of(s_.segments, field), s_.bone[i]);
    const float lengths = way.norm() * s_.out[i].norm();
    if (!(lengths > 0)) return 1;
    return 1 - near * (1 - smooth_step(kAway, kTowards, s_.out[i].dot(way) / lengths));
  }

  /// The side of a contact with a field that the vertex has to do with at rest.
  float neighbour_side(const FieldNeighbour& neighbour, float slides, const FieldSample& own,
                       const FieldSample& other, const Vec3f& at) const {
    float side = own.value - other.value;
    if (side > kClear) return side;
    if (neighbour.joint >= 0) {
      const auto joint = static_cast<std::size_t>(neighbour.joint);
      side -= neighbour.joint_bias *
              joint_bias_share((at - s_.joints[joint]).norm(), t_.neighbours_.joint_radius[joint]);
    }
    const float cosine = gradient_cosine(own.gradient, other.gradient);
    const float shift = kShift + kShiftAlong * neighbour.nearness * smooth_step(0.7f, 0.97f, cosine);
    float allowed = std::min(neighbour.rest_side - shift, gap_);
    const float folds = std::max(0.0f, opposition(own.gradient, other.gradient) - neighbour.rest_opposition);
    allowed += folds * (gap_ - allowed);
    // Cubed: skin that just begins to turn away still meets it.
    return side - (1 - slides) * allowed + slides * slides * slides * kNoContact;
  }

  bool past_bone(std::size_t i, const Probe& p) const {
    return p.own.gradient.dot(s_.inwards[i]) < kPastBone * p.own.gradient.norm();
  }

  /// Along the steepest way of f_own − f_other, but not away from the own bone: behind the other's bone its
  /// gradient points the wrong way. Ends at the best place there was.
  void bring_back(const TrackingScratch::Block& block, std::size_t i, Vec3f& x, Probe& p) const {
    const float deepest = std::max(kDeepest, p.own.value);
    const float longest = kLongestReturn * radius(t_.own_[i]);
    // The whole way is bounded by how far across the vertex is, in lengths of its own field. Where both
    // gradients point the same way it would be long for a trifle, and the skin would jump.
    const float first_slope = p.own.gradient.norm();
    float left = first_slope > kNoGradient ? kReturnBudget * -p.side / first_slope : 0.0f;
    Vec3f best = x;
    Probe best_probe = p;
    for (int step = 0; step < kReturnSteps && p.side < 0; ++step) {
      const float slope = p.own.gradient.norm();
      if (!(slope > kNoGradient)) break;
      const Vec3f inwards = p.own.gradient / slope;
      const Vec3f direction =
          (p.own.gradient - (p.rival - std::max(0.0f, inwards.dot(p.rival)) * inwards)).normalized();
      const float rate = std::max(direction.dot(p.own.gradient - p.rival), 0.5f * slope);
      float length = std::min({-p.side / rate, longest, left});
      if (!(length > 0)) break;
      const Vec3f before = x;
      const bool past = !go(block, i, length * direction, x, p,
                            [&](const Probe& q) { return !past_bone(i, q) && q.own.value <= deepest; });
      left -= (x - before).norm();
      if (p.side > best_probe.side) best = x, best_probe = p;
      if (past) break;
    }
    x = best, p = best_probe;
  }

  /// One step of Newton's method for f = target (eq. 6, whose sign the papers print wrongly). False when it
  /// was stopped: at a contact; where the gradient turns too far; where the value would leave its goal.
  bool newton_step(const TrackingScratch::Block& block, std::size_t i, Vec3f& x, Probe& p) const {
    const float error = p.all.value - s_.target[i];
    Vec3f move = (-step_ * (1 - s_.held[i]) * error / p.all.gradient.squaredNorm()) * p.all.gradient;
    const float length = move.norm(), longest = kLongestStep * radius(t_.own_[i]);
    if (length > longest) move *= longest / length;
    const float least = std::min(0.0f, p.side);
    // One that could not be brought back all the way does not go farther across.
    const auto good = [&, at = p](const Probe& q) {
      return q.side >= least && gradient_cosine(at.all.gradient, q.all.gradient) >= cos_turn_ &&
             !past_bone(i, q) && std::abs(q.all.value - s_.target[i]) <= std::abs(error);
    };
    return go(block, i, move, x, p, good);
  }

  /// Moves x, and the probe of it, all the way when the end of it is good; else as far as it is, to a
  /// thirty-second: what is done to a vertex must be continuous in the pose. False when it was cut short.
  template <typename Good>
  bool go(const TrackingScratch::Block& block, std::size_t i, const Vec3f& move, Vec3f& x, Probe& p,
          const Good& good) const {
    s_.present[i] |= present_fields(block, x + move);
    const Probe end = probe(block, i, x + move);
    if (good(end)) {
      x += move, p = end;
      return true;
    }
    float inside = 0, outside = 1;
    Probe reached = p;
    for (int cut = 0; cut < kHalvings; ++cut) {
      const float half = (inside + outside) / 2;
      const Probe q = probe(block, i, x + half * move);
      if (good(q))
        inside = half, reached = q;
      else
        outside = half;
    }
    x += inside * move, p = reached;
    return false;
  }

  /// The vertex's displacement, nearer to its neighbours' by a share, and near enough for the strain. Where
  /// neighbours disagree one of them is wrong.
  Vec3f coherent(std::size_t i, float share) const {
    const auto ring = t_.rings_[i];
    const Vec3f own = s_.now[i] - s_.start[i];
    if (ring.empty()) return own;
    Vec3f mean = Vec3f::Zero();
    for (const std::uint32_t n : ring) mean += s_.now[n] - s_.start[n];
    mean /= static_cast<float>(ring.size());
    if (!std::isfinite(mean.sum())) return own;
    Vec3f apart = (1 - share) * (own - mean);
    const float length = apart.norm(), longest = strain_ * t_.edge_[i];
    if (length > longest) apart *= longest / length;
    return mean + apart;
  }

  /// Of the triangles round a vertex, the least area over that at rest; negative when it is flipped against
  /// where the vertex's joints carry it.
  float smallest_area(std::size_t i) const {
    const Eigen::Matrix3f turn = blended_linear(i);
    const auto ring = t_.rings_[i];
    float least = 1;
    Vec3f before = s_.now[ring.back()] - s_.now[i], rest_before = t_.rest_[ring.back()] - t_.rest_[i];
    for (const std::uint32_t n : ring) {
      const Vec3f edge = s_.now[n] - s_.now[i], rest_edge = t_.rest_[n] - t_.rest_[i];
      const Vec3f carried = turn * rest_before.cross(rest_edge);
      const float size = carried.squaredNorm();
      if (size > 0) least = std::min(least, before.cross(edge).dot(carried) / size);
      before = edge, rest_before = rest_edge;
    }
    return least;
  }

  Eigen::Matrix3f blended_linear(std::size_t i) const {
    Eigen::Matrix3f sum = Eigen::Matrix3f::Zero();
    for (std::size_t k = 0; k < t_.weights_.row_size(i); ++k)
      sum += t_.weights_.row_values(i)[k] * s_.turns[t_.weights_.row_joints(i)[k]];
    return sum;
  }

  /// Whether two joints that move a vertex have turned against each other by so much that its triangles may
  /// be flipped.
  bool may_be_flipped(std::size_t i) const {
    const auto joints = t_.weights_.row_joints(i);
    if (joints.size() < 2 || !t_.mean_values_.valid[i]) return false;
    const Eigen::Matrix3f &a = s_.turns[joints[0]], &b = s_.turns[joints[1]];
    return a.cwiseProduct(b).sum() < kTurned * a.norm() * b.norm();
  }

  Vec3f smooth_place(std::size_t i) const {
    const Vec3f height = s_.transforms[t_.own_[i]].linear() * t_.rest_height_[i];
    const Vec3f place = ring_mean(i) + kKeptBulge * height;
    return std::isfinite(place.sum()) ? place : s_.now[i];
  }

  Vec3f ring_mean(std::size_t i) const {
    Vec3f mean = Vec3f::Zero();
    const auto ring = t_.rings_[i];
    const float* phi = t_.mean_values_.values.data() + t_.rings_.starts[i];
    for (std::size_t k = 0; k < ring.size(); ++k) mean += phi[k] * s_.now[ring[k]];
    return std::isfinite(mean.sum()) ? mean : s_.now[i];
  }

  const SkinTracker& t_;
  TrackingScratch& s_;
  float step_, tolerance_, cos_turn_, gap_, swelling_, coherence_, strain_, relaxation_;
};

SkinTracker::SkinTracker(const MeshView& rest, std::span<const std::int32_t> own,
                         std::shared_ptr<const FieldSet> fields, const SkinWeights& weights,
                         std::span<const Affine3d> posed_at_rest, const TrackingOptions& options)
    : options_(options), fields_(std::move(fields)) {
  const std::size_t count = rest.positions.size();
  const std::size_t field_count = fields_->fields.size();
  if (own.size() != count || weights.rows() != count)
    throw Error(fmt::format("tracking needs an own field and weights for each of {} vertices", count));
  if (field_count > std::numeric_limits<std::uint16_t>::max())
    throw Error(fmt::format("{} fields are too many to track", field_count));
  for (const Operator& operation : fields_->tree.operators())
    unions_only_ = unions_only_ && operation.kind() == OperatorKind::union_;

  for (const std::uint32_t joint : weights.joints)
    if (joint >= posed_at_rest.size())
      throw Error(fmt::format("tracking: weight on joint {} of {}", joint, posed_at_rest.size()));
  turn_count_ = posed_at_rest.size();

  std::vector<PosedField> posed(field_count);
  pose_fields(*fields_, posed_at_rest, posed);
  const FieldNeighbours neighbours = find_field_neighbours(*fields_, posed, rest.positions, own, weights);
  std::vector<float> iso(count, 0);
  std::vector<Vec3f> gradient(count, Vec3f::Zero());
  parallel_blocks(count, 256, [&](std::size_t begin, std::size_t end) {
    std::vector<FieldSample> samples(field_count);
    for (std::size_t v = begin; v < end; ++v) {
      if (own[v] < 0) continue;
      for (std::size_t f = 0; f < field_count; ++f)
        samples[f] = posed[f].usable ? posed[f].sample(rest.positions[v]) : FieldSample();
      for (const FieldNeighbour& n : neighbours[v])
        samples[n.field].value *= n.damping, samples[n.field].gradient *= n.damping;
      const FieldSample all = fields_->tree.compose(samples);
      iso[v] = all.value;
      gradient[v] = all.gradient;
    }
  });

  // Tracked vertices first, those near each other together.
  Vec3f low = Vec3f::Constant(std::numeric_limits<float>::max()), high = -low;
  for (const Vec3f& p : rest.positions) low = low.cwiseMin(p), high = high.cwiseMax(p);
  const float scale = 1 / std::max((high - low).maxCoeff(), 1e-30f);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  for (std::uint32_t v = 0; v < count; ++v) {
    const bool tracked = own[v] >= 0 && iso[v] > 0;
    tracked_ += tracked;
    keys.push_back(
        {tracked ? morton_code((rest.positions[v] - low) * scale) : std::numeric_limits<std::uint64_t>::max(),
         v});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> place(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    vertex_.push_back(keys[i].second);
    place[keys[i].second] = i;
  }

  std::vector<Vec3f> positions, across;
  for (const std::uint32_t v : vertex_) {
    const bool tracked = positions.size() < tracked_;
    positions.push_back(rest.positions[v]);
    across.push_back(gradient[v]);
    iso_.push_back(tracked ? iso[v] : 0.0f);
    own_.push_back(tracked ? static_cast<std::uint16_t>(own[v]) : std::uint16_t{0});
    rest_bone_.push_back(tracked ? nearest_bone_point(fields_->fields[own_.back()], rest.positions[v])
                                 : rest.positions[v]);
    rest_out_.push_back(tracked ? Vec3f(-posed[own_.back()].sample(rest.positions[v]).gradient)
                                : Vec3f(Vec3f::Zero()));
    float shared = 0;
    for (const FieldNeighbour& n : neighbours[v]) {
      neighbours_.entries.push_back(n);
      shared = std::max(shared, n.nearness * n.damping);
    }
    ease_.push_back(static_cast<float>(options.ease) * (1 + kSharedEase * shared));
    neighbours_.starts.push_back(static_cast<std::uint32_t>(neighbours_.entries.size()));
  }
  neighbours_.joint_radius = neighbours.joint_radius;
  std::vector<Triangle> triangles;
  for (const Triangle& t : rest.triangles) triangles.push_back({place[t[0]], place[t[1]], place[t[2]]});
  rings_ = one_rings(count, triangles);
  rest_ = positions;
  for (const std::uint32_t v : vertex_) {
    const auto joints = weights.row_joints(v);
    const auto values = weights.row_values(v);
    weights_.joints.insert(weights_.joints.end(), joints.begin(), joints.end());
    weights_.values.insert(weights_.values.end(), values.begin(), values.end());
    weights_.starts.push_back(static_cast<std::uint32_t>(weights_.joints.size()));
  }
  mean_values_ = mean_value_rings(positions, rings_, across);
  for (std::size_t begin = 0; begin < tracked_; begin += kBlock) {
    std::set<std::uint32_t> near{static_cast<std::uint32_t>(begin / kBlock)};
    for (std::size_t i = begin; i < std::min(begin + kBlock, tracked_); ++i)
      for (const std::uint32_t n : rings_[i])
        if (n < tracked_) near.insert(static_cast<std::uint32_t>(n / kBlock));
    near_blocks_.insert(near_blocks_.end(), near.begin(), near.end());
    near_block_starts_.push_back(static_cast<std::uint32_t>(near_blocks_.size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    Vec3f mean = Vec3f::Zero();
    for (std::size_t k = 0; k < rings_[i].size(); ++k)
      mean += mean_values_.values[rings_.starts[i] + k] * positions[rings_[i][k]];
    rest_height_.push_back(mean_values_.valid[i] ? Vec3f(positions[i] - mean) : Vec3f(Vec3f::Zero()));
    float sum = 0;
    for (const std::uint32_t n : rings_[i]) sum += (positions[n] - positions[i]).norm();
    edge_.push_back(rings_[i].empty() ? 0.0f : sum / static_cast<float>(rings_[i].size()));
    const bool loose = i >= tracked_ || !(edge_[i] > 0);
    const float edges = loose ? kFine : static_cast<float>(fields_->fields[own_[i]].radius) / edge_[i];
    fineness_.push_back(std::min(edges * edges / (kFine * kFine), 1.0f));
    trust_.push_back(smooth_step(kTooCoarse, kCoarse, edges));
  }
  parent_.assign(field_count, -1);
  for (const FieldJoint& joint : fields_->joints)
    parent_[joint.child] = static_cast<std::int32_t>(joint.parent);
  for (const BoneField& field : fields_->fields) {
    rest_center_.push_back(middle(field));
    for (const BoneSegment& segment : field.segments)
      rest_segments_.push_back({segment.head.cast<float>(), segment.tail.cast<float>()});
    segment_starts_.push_back(static_cast<std::uint32_t>(rest_segments_.size()));
  }
}

bool SkinTracker::kin(std::int32_t a, std::int32_t b) const {
  for (int up = 0; up <= kKinJoints && a >= 0; ++up, a = parent_[static_cast<std::size_t>(a)]) {
    std::int32_t other = b;
    for (int down = 0; up + down <= kKinJoints && other >= 0; ++down) {
      if (other == a) return true;
      other = parent_[static_cast<std::size_t>(other)];
    }
  }
  return false;
}

std::vector<float> SkinTracker::iso() const {
  std::vector<float> result(vertex_.size(), 0);
  for (std::size_t i = 0; i < vertex_.size(); ++i) result[vertex_[i]] = iso_[i];
  return result;
}

TrackingScratch SkinTracker::make_scratch() const {
  TrackingScratch s;
  const std::size_t count = vertex_.size(), field_count = fields_->fields.size();
  s.posed.resize(field_count);
  s.transforms.resize(field_count);
  s.centers.resize(field_count);
  s.turns.resize(turn_count_);
  s.segments.resize(rest_segments_.size());
  s.joints.resize(fields_->joints.size());
  s.blocks.resize((tracked_ + kBlock - 1) / kBlock);
  s.warm.resize(s.blocks.size());
  s.next_warm.resize(s.blocks.size());
  s.work.resize(tracked_);
  for (std::vector<Vec3f>* vectors : {&s.start, &s.now, &s.next, &s.gradient, &s.inwards, &s.out, &s.bone})
    vectors->assign(count, Vec3f::Zero());
  for (std::vector<float>* numbers : {&s.held, &s.error, &s.target, &s.beta, &s.next_beta})
    numbers->assign(count, 0);
  s.present.assign(count, 0);
  s.slides.resize(neighbours_.entries.size());
  s.state.assign(count, TrackMark::still);
  s.marks.assign(count, TrackMark::still);
  return s;
}

void SkinTracker::track(std::span<const Affine3d> posed_from_rest, TrackingScratch& s,
                        std::span<Vec3f> positions) const {
  pose_fields(*fields_, posed_from_rest, s.posed);
  for (std::size_t f = 0; f < s.transforms.size(); ++f) {
    s.transforms[f] = posed_from_rest[fields_->transform[f]].cast<float>();
    s.centers[f] = s.transforms[f] * rest_center_[f];
    for (std::uint32_t k = segment_starts_[f]; k < segment_starts_[f + 1]; ++k)
      s.segments[k] = {s.transforms[f] * rest_segments_[k][0], s.transforms[f] * rest_segments_[k][1]};
  }
  for (std::size_t j = 0; j < s.turns.size(); ++j) s.turns[j] = posed_from_rest[j].linear().cast<float>();
  for (std::size_t j = 0; j < s.joints.size(); ++j)
    s.joints[j] = s.transforms[fields_->joints[j].child] * fields_->joints[j].place.cast<float>();
  for (std::size_t i = 0; i < vertex_.size(); ++i) s.start[i] = s.now[i] = positions[vertex_[i]];

  const Frame frame(*this, s);
  const auto each_block = [&](auto&& work) {
    parallel_blocks(s.blocks.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) work(b);
    });
  };
  each_block([&](std::size_t b) { frame.start(b); });
  for (int round = 0; round < options_.rounds; ++round) {
    each_block([&](std::size_t b) { frame.project(b, options_.steps); });
    if (round + 1 == options_.rounds) break;
    each_block([&](std::size_t b) { frame.relax(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  each_block([&](std::size_t b) { frame.find_warm(b); });
  for (int sweep = 0; sweep < options_.diffusion; ++sweep) {
    each_block([&](std::size_t b) { frame.diffuse(b); });
    std::swap(s.beta, s.next_beta);
    std::swap(s.warm, s.next_warm);
  }
  each_block([&](std::size_t b) { frame.widen(b); });
  for (int sweep = 0; sweep < options_.smoothing; ++sweep) {
    each_block([&](std::size_t b) { frame.smooth(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  each_block([&](std::size_t b) {
    frame.look_round(b);
    frame.project(b, options_.steps);
  });
  for (int sweep = 0; sweep < kRestraints; ++sweep) {
    each_block([&](std::size_t b) { frame.restrain(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  for (int sweep = 0; sweep < options_.untangling; ++sweep) {
    each_block([&](std::size_t b) { frame.untangle(b); });
    each_block([&](std::size_t b) { frame.take_next(b); });
  }
  for (std::size_t i = 0; i < tracked_; ++i) {
    s.marks[vertex_[i]] = s.state[i];
    positions[vertex_[i]] =
        trust_[i] < 1 ? Vec3f(s.start[i] + trust_[i] * (s.now[i] - s.start[i])) : s.now[i];
  }
}

}  // namespace sinew
