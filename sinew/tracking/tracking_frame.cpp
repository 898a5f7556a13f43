#include <sinew/tracking/tracking_frame.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numbers>

#include <sinew/implicit/covered_points.h>
#include <sinew/tracking/gradients.h>

namespace sinew {

using namespace meeting;

namespace {

// A vertex must not go past its own bone, behind which the gradient turns round: cosine to where it began.
constexpr float kPastBone = 0.2f;
constexpr float kLongestStep = 0.5f;     // of a projection, in support radii
constexpr float kLongestReturn = 0.25f;  // of a step back to the own side
constexpr float kReach = 0.35f;          // how far from a block fields are looked for, in support radii
constexpr float kReturnBudget = 2;       // of the way back, in ways that the own field alone would need
constexpr float kDeepContact = 0.15f;    // field value across a contact from which on it is smoothed wholly
constexpr float kHeld = 0.07f;           // the same from which on it stays at the contact
constexpr float kKeptBulge = 0.5f;       // share of a vertex's height over its ring that smoothing keeps
constexpr float kDeepest = 0.9f;         // own field up to which a vertex is brought back: a bone is at 1
constexpr float kSmoothed = 0.1f;        // beta from which on the last projection leaves the iso-value alone
constexpr float kRoomy = 0.2f;           // from which on there is room for it to swell
// Cosine of two parts' gradients up to which skin may be between them, and from which on it is beside both.
constexpr float kBetween = 0.4f;
constexpr float kBeside = 0.85f;
constexpr float kInFold = 0.5f;
constexpr float kNearFold = 0.1f;  // from which on skin beside a fold has no room
// Above the iso-value, from which on skin that lies against another's is in a fold, and wholly is.
constexpr float kShallow = 0.02f;
constexpr float kInside = 0.12f;
// Over its bone, of its height at rest, that skin keeps which has sunk in.
constexpr float kLeastHeight = 0.25f;
// So far from where its bone carries it, in support radii times the tolerance, a vertex is as at rest: over a
// radius a field changes by one or less.
constexpr float kAsAtRest = 1;
constexpr int kReturnSteps = 12;
// So far on its own side a vertex is brought back: aimed at 0, steps only come closer and closer to it.
constexpr float kAcross = 2e-4f;
constexpr int kHalvings = 5;
// Values of a part's field that is no neighbour: from which on it is felt, and wholly is.
constexpr float kFaint = 0.05f;
constexpr float kFelt = 0.35f;
// Where the fields are as flat as their gradient says: so far, in support radii, from where they were asked,
// and so much on the own side.
constexpr float kFlatReach = 0.02f;
constexpr float kAfar = 0.1f;
// Within so many support radii of where they were asked there are no other fields that matter.
constexpr float kStillKnown = 0.05f;
constexpr std::uint8_t kMostFollowed = 2;  // rounds in a row that go by the same gradient
constexpr float kNoGradient = 1e-6f;
constexpr float kLeastBeta = 1e-3f;

}  // namespace

/// Vertices of one block, the points at which they ask for the fields, and what these are there.
class SkinTracker::Frame::Batch {
 public:
  explicit Batch(Finds finds) : finds_(finds) {}

  void clear() { count_ = 0; }
  /// `anew`: Asked::known_here asks which fields are there.
  void add(std::size_t i, const Vec3f& at, bool anew = true) { add(i, at, anew, Probe()); }
  void add(std::size_t i, const Vec3f& at, bool anew, const Probe& probe) {
    lanes_[count_] = {static_cast<std::uint32_t>(i), at, anew};
    std::construct_at(probes() + count_, probe);
    ++count_;
  }
  /// Only the first lanes stay.
  void shorten(std::size_t count) { count_ = count; }
  void replace(std::size_t lane, const Vec3f& at, const Probe& probe) {
    lanes_[lane].at = at, (*this)[lane] = probe;
  }
  void move(std::size_t from, std::size_t to) { lanes_[to] = lanes_[from], (*this)[to] = (*this)[from]; }

  Finds finds() const { return finds_; }
  std::size_t size() const { return count_; }
  std::size_t vertex(std::size_t lane) const { return lanes_[lane].vertex; }
  const Vec3f& at(std::size_t lane) const { return lanes_[lane].at; }
  Probe& operator[](std::size_t lane) { return probes()[lane]; }
  std::span<const ProbeLane> all_lanes() const { return {lanes_.data(), count_}; }
  std::span<Probe> all_probes() { return {probes(), count_}; }

 private:
  Probe* probes() { return std::launder(reinterpret_cast<Probe*>(storage_.data())); }

  Finds finds_;
  std::size_t count_ = 0;
  std::array<ProbeLane, kBlock> lanes_;
  // Of these few are used, most of the time: none is made before.
  alignas(Probe) std::array<std::byte, kBlock * sizeof(Probe)> storage_;
};

/// Some lanes of a batch and where they are to go.
struct SkinTracker::Frame::Ways {
  std::size_t count = 0;
  std::array<std::uint8_t, kBlock> lane;
  std::array<Vec3f, kBlock> way;
  std::array<float, kBlock> taken;  // share of it, once they went

  void add(std::size_t of_lane, const Vec3f& to = Vec3f::Zero()) {
    lane[count] = static_cast<std::uint8_t>(of_lane), way[count] = to;
    ++count;
  }
};

SkinTracker::Frame::Frame(const SkinTracker& tracker, TrackingScratch& scratch)
    : t_(tracker),
      s_(scratch),
      tables_{static_cast<float>(t_.options_.gap),
              t_.own_,
              &t_.neighbours_,
              &t_.twist_shares_,
              &t_.palm_shares_,
              t_.edge_,
              t_.fineness_,
              t_.rest_,
              t_.skin_edge_,
              t_.radius_,
              t_.kin_,
              t_.palm_of_,
              t_.rest_segments_,
              t_.segment_starts_,
              s_.posed,
              s_.centers,
              s_.segments,
              s_.joints,
              s_.planes,
              s_.joint_radius,
              s_.out,
              s_.bone,
              s_.twists,
              s_.seen,
              s_.turned,
              s_.slides,
              s_.present},
      step_(static_cast<float>(t_.options_.step)),
      tolerance_(static_cast<float>(t_.options_.tolerance)),
      cos_turn_(static_cast<float>(std::cos(t_.options_.turn * std::numbers::pi / 180))),
      gap_(static_cast<float>(t_.options_.gap)),
      swelling_(static_cast<float>(t_.options_.swelling)),
      coherence_(static_cast<float>(t_.options_.coherence)),
      strain_(static_cast<float>(t_.options_.strain)),
      relaxation_(static_cast<float>(t_.options_.relaxation)) {}

void SkinTracker::Frame::find_twists(std::size_t b) const {
  const auto joints = t_.twist_joints(b);
  if (std::none_of(joints.begin(), joints.end(), [&](std::uint16_t j) { return s_.twists[j].share > 0; })) {
    std::fill(s_.turned.begin() + static_cast<std::ptrdiff_t>(b * kBlock),
              s_.turned.begin() + static_cast<std::ptrdiff_t>(std::min((b + 1) * kBlock, t_.tracked_)),
              std::uint8_t{0});
    return;
  }
  for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i) {
    const std::uint32_t first = t_.twist_shares_.starts[i], last = t_.twist_shares_.starts[i + 1];
    bool twists = false, turned = false;
    for (std::uint32_t e = first; e < last; ++e)
      twists = twists || s_.twists[t_.twist_shares_.entries[e].joint].share > 0;
    for (std::uint32_t e = first; twists && e < last; ++e) {
      const TwistShare& share = t_.twist_shares_.entries[e];
      s_.seen[e] = seen_turn(s_.twists[share.joint], share);
      turned = turned || s_.seen[e].sine != 0 || s_.seen[e].cosine != 1;
    }
    s_.turned[i] = turned;
  }
}

void SkinTracker::Frame::find_fields(std::size_t b) const {
  const std::size_t begin = b * kBlock, end = std::min(begin + kBlock, t_.tracked_);
  TrackingScratch::Block& block = s_.blocks[b];
  Vec3f low = Vec3f::Constant(std::numeric_limits<float>::max()), high = -low;
  float margin = 0;
  for (std::size_t i = begin; i < end; ++i) {
    low = low.cwiseMin(s_.now[i]), high = high.cwiseMax(s_.now[i]);
    margin = std::max(margin, kReach * radius(t_.own_[i]));
    if (!s_.turned[i]) continue;
    for (std::uint32_t e = t_.twist_shares_.starts[i]; e < t_.twist_shares_.starts[i + 1]; ++e) {
      const Vec3f seen = tables_.seen_place(i, t_.twist_shares_.entries[e].field, s_.now[i]);
      low = low.cwiseMin(seen), high = high.cwiseMax(seen);
    }
  }
  low.array() -= margin, high.array() += margin;
  // A palm's mean is composed in place of the own field, which need not reach as far.
  const bool has_palm =
      !t_.unions_only_ && begin < end && t_.palm_shares_.starts[begin] != t_.palm_shares_.starts[end];
  const auto is_own = [&](std::size_t f) {
    return std::find(t_.own_.begin() + static_cast<std::ptrdiff_t>(begin),
                     t_.own_.begin() + static_cast<std::ptrdiff_t>(end),
                     f) != t_.own_.begin() + static_cast<std::ptrdiff_t>(end);
  };
  block.field_count = 0;
  for (std::size_t f = 0; f < s_.posed.size() && block.field_count < block.fields.size(); ++f)
    if (reaches(s_.posed[f], low, high) || (has_palm && is_own(f)))
      block.fields[block.field_count++] = static_cast<std::uint16_t>(f);
  if (!t_.unions_only_) t_.fields_->tree.prune({block.fields.data(), block.field_count}, block.steps);
}

void SkinTracker::Frame::start(std::size_t b, int times) const {
  const std::size_t begin = b * kBlock, end = std::min(begin + kBlock, t_.tracked_);
  TrackingScratch::Block& block = s_.blocks[b];
  find_twists(b);
  find_fields(b);
  Batch batch(Finds::sides);
  for (std::size_t i = begin; i < end; ++i) {
    s_.state[i] = TrackMark::still;
    s_.beta[i] = s_.next_beta[i] = s_.held[i] = 0;
    forget_sliding(i);
    if (!is_as_at_rest(block, i)) {
      batch.add(i, s_.now[i]);
      continue;
    }
    s_.target[i] = t_.iso_[i];
    s_.free[i] = t_.rest_free_[i];
    const float length = s_.out[i].norm();
    s_.inwards[i] = length > kNoGradient ? Vec3f(s_.out[i] / -length) : Vec3f(Vec3f::Zero());
  }
  probe(block, Asked::here, batch);
  block.active = 0;
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const std::size_t i = batch.vertex(k);
    const Probe& p = batch[k];
    s_.target[i] = swollen_target(i, p);
    // What nobody sees is not worth the work; less than that is taken off everywhere, so that nothing pops.
    s_.target[i] += std::clamp(p.all.value - s_.target[i], -t_.ease_[i], t_.ease_[i]);
    const float slope = p.own.gradient.norm();
    s_.inwards[i] = slope > kNoGradient ? Vec3f(p.own.gradient / slope) : Vec3f(Vec3f::Zero());
    note(i, p);
    // Positions that are not finite have no fields.
    if (!(p.all.value > 0) || !std::isfinite(s_.now[i].sum()) ||
        (std::abs(s_.error[i]) <= tolerance_ && p.nearest.side >= 0))
      continue;
    s_.work[begin + block.active] = static_cast<std::uint32_t>(i);
    batch.move(k, block.active);
    ++block.active;
  }
  batch.shorten(block.active);
  project(block, times, batch);
}

bool SkinTracker::Frame::is_as_at_rest(const TrackingScratch::Block& block, std::size_t i) const {
  const std::size_t own = t_.own_[i];
  if (!s_.at_rest[t_.field_group_[i]] || s_.turned[i] || !s_.posed[own].usable || t_.rest_free_[i] < 0)
    return false;
  // Where a field's value differs by less than what counts as arrived.
  const float most = kAsAtRest * tolerance_ * s_.posed_radius[own];
  if (!((s_.transforms[own] * t_.rest_[i] - s_.now[i]).squaredNorm() < most * most)) return false;
  return std::none_of(block.fields.begin(), block.fields.begin() + block.field_count, [&](std::uint16_t f) {
    return s_.motion[f] != s_.motion[own] && may_reach(s_.posed[f], s_.now[i], s_.now[i]);
  });
}

void SkinTracker::Frame::aim(std::size_t b) const {
  Batch batch(Finds::sides);
  for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i) {
    forget_sliding(i);
    batch.add(i, s_.start[i]);
  }
  probe(s_.blocks[b], Asked::here, batch);
  for (std::size_t k = 0; k < batch.size(); ++k)
    s_.target[batch.vertex(k)] = swollen_target(batch.vertex(k), batch[k]);
  find_present(b);
}

void SkinTracker::Frame::settle(std::size_t b, int times, std::span<Vec3f> normals) const {
  const TrackingScratch::Block& block = s_.blocks[b];
  Batch batch(Finds::pressure);
  for (std::size_t k = 0; k < block.active; ++k) {
    const std::size_t i = s_.work[b * kBlock + k];
    batch.add(i, s_.now[i], has_gone_far(i, s_.now[i]));
    s_.state[i] = TrackMark::still;
  }
  probe(block, Asked::known_here, batch);
  Ways ways;
  const auto take = [&](const auto& way_of) {
    ways.count = 0;
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const std::size_t i = batch.vertex(k);
      const Vec3f way = way_of(i, batch[k]);
      if (way == Vec3f::Zero()) continue;
      s_.now[i] += way;
      s_.state[i] = TrackMark::moved;
      ways.add(k);
    }
    look_again(block, Asked::known_here, batch, ways);
  };
  take([&](std::size_t i, const Probe& p) { return way_round(i, p); });
  take([&](std::size_t i, const Probe& p) { return way_to_fold(i, p); });

  // Where the fields of two parts point the same way there is nothing to go back to, only farther in. A
  // joint's plane knows better.
  std::array<float, kBlock> share;
  std::array<Vec3f, kBlock> before;
  ways.count = 0;
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const std::size_t i = batch.vertex(k);
    const Probe& p = batch[k];
    const float slope = p.own.gradient.norm();
    s_.inwards[i] = slope > kNoGradient ? Vec3f(p.own.gradient / slope) : Vec3f(Vec3f::Zero());
    share[k] = between(p);
    before[k] = s_.now[i];
    if (!(p.nearest.side < 0) || !(share[k] > 0)) continue;
    ways.add(k);
    s_.state[i] = TrackMark::returned;
  }
  bring_back(block, batch, ways);
  Ways halfway;
  for (std::size_t n = 0; n < ways.count; ++n) {
    const std::size_t k = ways.lane[n], i = batch.vertex(k);
    if (!(share[k] < 1)) continue;
    s_.now[i] = before[k] + share[k] * (s_.now[i] - before[k]);
    halfway.add(k);
  }
  look_again(block, Asked::known, batch, halfway);

  std::array<float, kBlock> fold;
  std::array<std::uint8_t, kBlock> goes;
  for (std::size_t k = 0; k < batch.size(); ++k) fold[k] = folded(batch.vertex(k), batch[k]), goes[k] = 1;
  for (int step = 0; step < times; ++step) {
    ways.count = 0;
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const std::size_t i = batch.vertex(k);
      const Probe& p = batch[k];
      if (!goes[k] || !(std::abs(p.all.value - s_.target[i]) > tolerance_)) continue;
      // What lies in a fold stays there: along it only the relaxation moves it.
      if (fold[k] > kInFold || (p.nearest.side < 0 && share[k] > kInFold)) continue;
      if (!(p.all.gradient.squaredNorm() > kNoGradient * kNoGradient)) continue;
      // Behind its bone the way to the iso-value leads out on the wrong side.
      if (p.all.value > s_.target[i] && p.own.gradient.dot(s_.out[i]) > 0) continue;
      s_.held[i] = fold[k] / kInFold;
      ways.add(k, newton_move(i, p));
    }
    if (ways.count == 0) break;
    const std::array<std::uint8_t, kBlock> went = goes;
    goes.fill(0);
    go(block, batch, ways,
       [&](std::size_t k, const Probe& q) { return is_good_step(batch.vertex(k), batch[k], q); });
    for (std::size_t n = 0; n < ways.count; ++n) {
      const std::size_t k = ways.lane[n], i = batch.vertex(k);
      fold[k] = folded(i, batch[k]);
      if (s_.state[i] == TrackMark::still) s_.state[i] = TrackMark::moved;
      goes[k] = went[k] && ways.taken[n] == 1;
    }
  }
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const std::size_t i = batch.vertex(k);
    const Probe& p = batch[k];
    s_.beta[i] = fold[k];
    s_.free[i] = room_at(p);
    if (fold[k] > kInFold && s_.state[i] != TrackMark::returned) s_.state[i] = TrackMark::contact;
    const Vec3f across = fold[k] > kInFold ? p.off : p.all.gradient;
    const float slope = across.norm();
    normals[i] = slope > kNoGradient ? Vec3f(across / slope) : Vec3f(Vec3f::Zero());
  }
}

float SkinTracker::Frame::between(const Probe& p) const {
  return std::max(p.nearest.firm,
                  1 - smooth_step(kBetween, kBeside, gradient_cosine(p.own.gradient, p.nearest.rival)));
}

float SkinTracker::Frame::sunk(std::size_t i, const Probe& p) const {
  return smooth_step(kShallow, kInside, p.all.value - s_.target[i]);
}

Vec3f SkinTracker::Frame::way_round(std::size_t i, const Probe& p) const {
  const float share = sunk(i, p);
  if (!(share > 0)) return Vec3f::Zero();
  const Vec3f way = s_.transforms[t_.own_[i]].linear() * (t_.rest_[i] - t_.rest_bone_[i]);
  const float height = (s_.now[i] - s_.bone[i]).dot(way), least = kLeastHeight * way.squaredNorm();
  const float longest = kLongestReturn * radius(t_.own_[i]);
  if (!(height < least) || !(way.norm() > kNoGradient * longest)) return Vec3f::Zero();
  return std::min(share * (least - height) / way.norm(), longest) * way.normalized();
}

Vec3f SkinTracker::Frame::way_to_fold(std::size_t i, const Probe& p) const {
  const float share = p.nearest.firm * sunk(i, p), slope = p.nearest.back.norm();
  // As far as it slides, `side` is not a distance.
  const float slides = 1 - p.nearest.meets, side = p.nearest.side - slides * slides * slides * Contact::kNone;
  const float off = side - std::clamp(side, 0.0f, kTight);
  if (!(share > 0) || off == 0 || !(slope > kNoGradient)) return Vec3f::Zero();
  const float longest = kLongestReturn * radius(t_.own_[i]);
  return -std::clamp(share * off / slope, -longest, longest) / slope * p.nearest.back;
}

float SkinTracker::Frame::swollen_target(std::size_t i, const Probe& p) const {
  const float kept = swelling_ * (1 - smooth_step(kFaint, kFelt, p.stranger));
  return t_.iso_[i] + kept * std::min(0.0f, p.all.value - t_.iso_[i]);
}

float SkinTracker::Frame::folded(std::size_t i, const Probe& p) const {
  return p.pressed * sunk(i, p);
}

void SkinTracker::Frame::find_touch(std::size_t b, bool bones_have_moved) const {
  const std::size_t begin = b * kBlock, end = std::min(begin + kBlock, t_.tracked_);
  find_fields(b);
  find_present(b);
  const TrackingScratch::Block& block = s_.blocks[b];
  for (std::size_t i = begin; i < end; ++i) {
    s_.next_beta[i] = 0;
    if (std::popcount(s_.present[i]) < 2 || !s_.posed[t_.own_[i]].usable) continue;
    if (bones_have_moved) forget_sliding(i);
    s_.next_beta[i] = touch(block, i);
  }
}

float SkinTracker::Frame::touch(const TrackingScratch::Block& block, std::size_t i) const {
  const std::uint16_t own = t_.own_[i];
  const Vec3f& at = s_.now[i];
  const FieldSample mine = tables_.own_sample(i, at);
  float most = 0, pressed = 0, all = mine.value;
  const FieldNeighbour* const entries = t_.neighbours_.entries.data();
  const FieldNeighbour* const last = entries + t_.neighbours_.starts[i + 1];
  for (std::uint64_t left = s_.present[i]; left != 0; left &= left - 1) {
    const std::uint16_t field = block.fields[static_cast<std::size_t>(std::countr_zero(left))];
    if (field == own || t_.are_one_palm(own, field)) continue;
    const FieldSample other = tables_.sample(i, field, at);
    if (!(other.value > 0)) continue;
    float apart = mine.value - other.value;
    const FieldNeighbour* neighbour = entries + t_.neighbours_.starts[i];
    while (neighbour != last && neighbour->field != field) ++neighbour;
    float meets, firm = 0;
    if (neighbour != last) {
      const Contact contact =
          tables_.meet_neighbour(i, static_cast<std::uint32_t>(neighbour - entries), mine, other, at);
      meets = contact.meets, apart = contact.apart, firm = contact.firm;
      all = std::max(all, neighbour->damping * other.value);
    } else {
      meets = tables_.faced(i, field);
      all = std::max(all, meets * other.value);
    }
    if (meets == 0 || apart > gap_ + kRoomy) continue;
    pressed = std::max(pressed, meets * (1 - smooth_step(kTight, kLoose, apart - gap_)));
    const float between =
        std::max(firm, 1 - smooth_step(kBetween, kBeside, gradient_cosine(mine.gradient, other.gradient)));
    most = std::max(most, meets * between * (1 - smooth_step(kTight, kRoomy, apart - gap_)));
  }
  const float fold = pressed * smooth_step(kShallow, kInside, all - s_.target[i]);
  return std::max(most, std::min(fold / kNearFold, 1.0f));
}

void SkinTracker::Frame::project_again(std::size_t b, int times) const {
  const TrackingScratch::Block& block = s_.blocks[b];
  Batch batch(Finds::sides);
  for (std::size_t k = 0; k < block.active; ++k) {
    const std::size_t i = s_.work[b * kBlock + k];
    batch.add(i, s_.now[i]);
  }
  probe(block, Asked::here, batch);
  project(block, times, batch);
}

void SkinTracker::Frame::follow(std::size_t b, int times) const {
  const TrackingScratch::Block& block = s_.blocks[b];
  Batch batch(Finds::sides);
  for (std::size_t k = 0; k < block.active; ++k) {
    const std::size_t i = s_.work[b * kBlock + k];
    if (follow_plane(i, times)) continue;
    s_.now[i] = s_.next[i];
    batch.add(i, s_.now[i], has_gone_far(i, s_.now[i]));
  }
  probe(block, Asked::known_here, batch);
  project(block, times, batch);
}

bool SkinTracker::Frame::follow_plane(std::size_t i, int times) const {
  if (times != 1 || s_.state[i] != TrackMark::moved || !(s_.side[i] > kAfar) ||
      s_.followed[i] == kMostFollowed)
    return false;
  const Vec3f& gradient = s_.gradient[i];
  const Vec3f move = s_.next[i] - s_.now[i];
  const float slope = gradient.squaredNorm(), longest = kFlatReach * radius(t_.own_[i]);
  if (!(slope > kNoGradient * kNoGradient) || !(move.squaredNorm() < longest * longest)) return false;
  const float error = s_.error[i] + gradient.dot(move);
  const float taken = step_ * (1 - s_.held[i]) * error;
  if (!(taken * taken < longest * longest * slope)) return false;
  s_.now[i] = s_.next[i] - (taken / slope) * gradient;
  s_.error[i] = error - taken;
  ++s_.followed[i];
  return true;
}

void SkinTracker::Frame::project(const TrackingScratch::Block& block, int times, Batch& batch) const {
  Ways ways;
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const std::size_t i = batch.vertex(k);
    const float side = batch[k].nearest.side;
    if (!(side < 0)) continue;
    // The deeper it was, the more it is smoothed, and a touch not at all: nothing pops.
    s_.beta[i] = std::max(s_.beta[i], smooth_step(0, kDeepContact, -side));
    s_.held[i] = std::max(s_.held[i], smooth_step(0, kHeld, -side));
    s_.state[i] = TrackMark::returned;
    ways.add(k);
  }
  bring_back(block, batch, ways);
  std::array<std::uint8_t, kBlock> goes;
  // What has been brought back from afar stays at the contact. From there its iso-value could be anywhere.
  for (std::size_t k = 0; k < batch.size(); ++k) goes[k] = s_.held[batch.vertex(k)] < 1;
  for (int step = 0; step < times; ++step) {
    ways.count = 0;
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const std::size_t i = batch.vertex(k);
      const Probe& p = batch[k];
      if (goes[k] && std::abs(p.all.value - s_.target[i]) > tolerance_ &&
          p.all.gradient.squaredNorm() > kNoGradient * kNoGradient)
        ways.add(k, newton_move(i, p));
    }
    if (ways.count == 0) break;
    go(block, batch, ways,
       [&](std::size_t k, const Probe& q) { return is_good_step(batch.vertex(k), batch[k], q); });
    for (std::size_t n = 0; n < ways.count; ++n) {
      const std::size_t k = ways.lane[n], i = batch.vertex(k);
      if (ways.taken[n] == 1) {
        if (s_.state[i] == TrackMark::still) s_.state[i] = TrackMark::moved;
        continue;
      }
      goes[k] = 0;
      if (s_.state[i] != TrackMark::returned) s_.state[i] = TrackMark::contact;
      s_.beta[i] =
          std::max(s_.beta[i], smooth_step(0, kDeepContact, std::abs(batch[k].all.value - s_.target[i])));
    }
  }
  for (std::size_t k = 0; k < batch.size(); ++k) note(batch.vertex(k), batch[k]);
}

void SkinTracker::Frame::relax(std::size_t b) const {
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

void SkinTracker::Frame::restrain(std::size_t b) const {
  const TrackingScratch::Block& block = s_.blocks[b];
  for (std::size_t k = 0; k < block.active; ++k) {
    const std::size_t i = s_.work[b * kBlock + k];
    s_.next[i] = s_.start[i] + coherent(i, 0);
  }
}

void SkinTracker::Frame::take_next(std::size_t b) const {
  const TrackingScratch::Block& block = s_.blocks[b];
  for (std::size_t k = 0; k < block.active; ++k) {
    const std::size_t i = s_.work[b * kBlock + k];
    s_.now[i] = s_.next[i];
  }
}

void SkinTracker::Frame::diffuse(std::size_t b) const {
  s_.next_warm[b] = 0;
  if (!any_near(b, s_.warm, 1)) return;
  for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i) {
    float sum = s_.beta[i];
    const auto ring = t_.rings_[i];
    for (const std::uint32_t n : ring) sum += s_.beta[n];
    const float mean = sum / static_cast<float>(ring.size() + 1);
    s_.next_beta[i] = s_.beta[i] + t_.fineness_[i] * (mean - s_.beta[i]);
    if (s_.next_beta[i] > 0) s_.next_warm[b] = 1;
  }
}

void SkinTracker::Frame::find_warm(std::size_t b) const {
  s_.warm[b] = 0;
  for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i)
    if (s_.beta[i] > 0) s_.warm[b] = 1;
}

bool SkinTracker::Frame::any_near(std::size_t b, std::span<const std::uint8_t> marks,
                                  std::uint8_t mark) const {
  const auto near = t_.near_blocks(b);
  return std::any_of(near.begin(), near.end(), [&](std::uint32_t n) { return marks[n] == mark; });
}

void SkinTracker::Frame::widen(std::size_t b) const {
  TrackingScratch::Block& block = s_.blocks[b];
  block.active = 0;
  for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, t_.tracked_); ++i) {
    s_.held[i] = std::max(s_.held[i], std::min(s_.beta[i] / kSmoothed, 1.0f));
    if (std::isfinite(s_.now[i].sum()) && stirred(i))
      s_.work[b * kBlock + block.active++] = static_cast<std::uint32_t>(i);
  }
}

void SkinTracker::Frame::look_round(std::size_t b) const {
  const TrackingScratch::Block& block = s_.blocks[b];
  for (std::size_t k = 0; k < block.active; ++k) {
    const std::size_t i = s_.work[b * kBlock + k];
    s_.present[i] = present_fields(block, i, s_.now[i]);
    s_.asked_at[i] = s_.now[i];
  }
}

void SkinTracker::Frame::smooth(std::size_t b) const {
  const TrackingScratch::Block& block = s_.blocks[b];
  for (std::size_t k = 0; k < block.active; ++k) {
    const std::size_t i = s_.work[b * kBlock + k];
    s_.next[i] = s_.now[i];
    if (s_.beta[i] > kLeastBeta && t_.mean_values_.valid[i])
      s_.next[i] += s_.beta[i] * t_.fineness_[i] * (smooth_place(i) - s_.now[i]);
  }
}

float SkinTracker::Frame::room_at(const Probe& p) const {
  if (p.nearest.side > kRoomy) return 1;
  // Where both gradients point the same way the other part lies behind it.
  return 1 - between(p) * (1 - smooth_step(kTight, kRoomy, p.nearest.side));
}

void SkinTracker::Frame::note(std::size_t i, const Probe& p) const {
  s_.error[i] = p.all.value - s_.target[i];
  s_.gradient[i] = p.all.gradient;
  s_.side[i] = p.nearest.side;
  s_.followed[i] = 0;
  s_.free[i] = room_at(p);
}

void SkinTracker::Frame::forget_sliding(std::size_t i) const {
  const Eigen::Affine3f& own = s_.transforms[t_.own_[i]];
  s_.out[i] = own.linear() * t_.rest_out_[i];
  s_.bone[i] = own * t_.rest_bone_[i];
  for (std::uint32_t e = t_.neighbours_.starts[i]; e < t_.neighbours_.starts[i + 1]; ++e)
    s_.slides[e] = ProbeTables::kNotAsked;
}

void SkinTracker::Frame::find_present(std::size_t b) const {
  static_assert(kBlock == PointBlock::kSize);
  const std::size_t begin = b * kBlock, end = std::min(begin + kBlock, t_.tracked_);
  const TrackingScratch::Block& block = s_.blocks[b];
  PointBlock points;
  for (std::size_t i = begin; i < end; ++i) {
    s_.asked_at[i] = s_.now[i];
    if (!s_.turned[i]) points.set(i - begin, s_.now[i]);
    s_.present[i] = s_.turned[i] ? present_fields(block, i, s_.now[i]) : 0;
  }
  for (std::size_t k = 0; k < block.field_count; ++k) {
    const PosedField& field = s_.posed[block.fields[k]];
    if (field.muscle_count != 0) {
      for (std::size_t i = begin; i < end; ++i)
        if (!s_.turned[i] && field.covers(s_.now[i])) s_.present[i] |= std::uint64_t{1} << k;
      continue;
    }
    for (std::uint64_t left = covered_points(field, points); left != 0; left &= left - 1)
      s_.present[begin + static_cast<std::size_t>(std::countr_zero(left))] |= std::uint64_t{1} << k;
  }
}

std::uint64_t SkinTracker::Frame::present_fields(const TrackingScratch::Block& block, std::size_t i,
                                                 const Vec3f& at, std::uint64_t known) const {
  std::uint64_t present = known;
  const std::uint64_t all =
      block.field_count < 64 ? (std::uint64_t{1} << block.field_count) - 1 : ~std::uint64_t{0};
  for (std::uint64_t left = all & ~known; left != 0; left &= left - 1) {
    const auto k = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint16_t field = block.fields[k];
    const bool covers = s_.posed[field].covers(s_.turned[i] ? tables_.seen_place(i, field, at) : at);
    present |= std::uint64_t{covers} << k;
  }
  return present;
}

bool SkinTracker::Frame::has_gone_far(std::size_t i, const Vec3f& at) const {
  const float near = kStillKnown * s_.posed_radius[t_.own_[i]];
  return !((at - s_.asked_at[i]).squaredNorm() < near * near);
}

void SkinTracker::Frame::probe(const TrackingScratch::Block& block, Asked asked, Batch& batch) const {
  for (const ProbeLane& lane : batch.all_lanes())
    if (asked == Asked::here || (asked == Asked::known_here && lane.anew)) s_.asked_at[lane.vertex] = lane.at;
  if (t_.unions_only_) {
    probe_lanes(tables_, {block.fields.data(), block.field_count}, asked, batch.finds(), batch.all_lanes(),
                batch.all_probes());
    return;
  }
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const std::size_t i = batch.vertex(k);
    if (asked == Asked::here || (asked == Asked::known_here && batch.all_lanes()[k].anew))
      s_.present[i] = present_fields(block, i, batch.at(k), asked == Asked::here ? 0 : s_.present[i]);
    batch[k] = probe(block, i, batch.at(k));
  }
}

void SkinTracker::Frame::look_again(const TrackingScratch::Block& block, Asked asked, Batch& batch,
                                    const Ways& lanes) const {
  if (lanes.count == 0) return;
  Batch again(batch.finds());
  for (std::size_t n = 0; n < lanes.count; ++n) {
    const std::size_t i = batch.vertex(lanes.lane[n]);
    again.add(i, s_.now[i]);
  }
  probe(block, asked, again);
  for (std::size_t n = 0; n < lanes.count; ++n) batch[lanes.lane[n]] = again[n];
}

SkinProbe SkinTracker::Frame::probe(const TrackingScratch::Block& block, std::size_t i,
                                    const Vec3f& at) const {
  std::array<FieldSample, CompositionTree::kMostLeaves> samples;
  Probe result =
      tables_.meet_fields({block.fields.data(), block.field_count}, t_.unions_only_, i, at, samples);
  result.all = result.own;
  if (block.field_count == 0) return result;
  for (std::size_t k = 0; k + 1 < block.field_count; ++k) {
    const CompositionTree::Step& step = block.steps[k];
    samples[step.target] = combine(*step.operation, samples[step.target], samples[step.other]);
  }
  result.all = samples[0];
  return result;
}

bool SkinTracker::Frame::past_bone(std::size_t i, const Probe& p) const {
  return p.own.gradient.dot(s_.inwards[i]) < kPastBone * p.own.gradient.norm();
}

void SkinTracker::Frame::bring_back(const TrackingScratch::Block& block, Batch& batch,
                                    const Ways& across) const {
  if (across.count == 0) return;
  // By lanes of the batch.
  std::array<float, kBlock> deepest, left;
  std::array<std::uint8_t, kBlock> goes;
  Batch best(batch.finds());  // by places in `across`
  for (std::size_t n = 0; n < across.count; ++n) {
    const std::size_t k = across.lane[n], i = batch.vertex(k);
    const Probe& p = batch[k];
    deepest[k] = std::max(kDeepest, p.own.value);
    // The whole way is bounded by how far across the vertex is, in lengths of its own field. Where both
    // gradients point the same way it would be long for a trifle, and the skin would jump.
    const float slope = p.own.gradient.norm();
    left[k] = slope > kNoGradient ? kReturnBudget * -p.nearest.side / slope : 0.0f;
    goes[k] = 1;
    best.add(i, s_.now[i], false, p);
  }
  Ways ways;
  for (int step = 0; step < kReturnSteps; ++step) {
    ways.count = 0;
    for (std::size_t n = 0; n < across.count; ++n) {
      const std::size_t k = across.lane[n];
      const Probe& p = batch[k];
      const float slope = p.own.gradient.norm();
      if (!goes[k] || !(p.nearest.side < 0) || !(slope > kNoGradient)) continue;
      const Vec3f inwards = p.own.gradient / slope;
      const Vec3f& back = p.nearest.back;
      const Vec3f direction = (back + std::max(0.0f, slope - inwards.dot(back)) * inwards).normalized();
      const float rate = std::max(direction.dot(back), 0.5f * slope);
      const float longest = kLongestReturn * radius(t_.own_[batch.vertex(k)]);
      const float length = std::min({(kAcross - p.nearest.side) / rate, longest, left[k]});
      if (length > 0) ways.add(k, length * direction);
    }
    if (ways.count == 0) break;
    goes.fill(0);
    go(block, batch, ways, [&](std::size_t k, const Probe& q) {
      return !past_bone(batch.vertex(k), q) && q.own.value <= deepest[k];
    });
    for (std::size_t n = 0; n < ways.count; ++n) {
      const std::size_t k = ways.lane[n];
      left[k] -= ways.taken[n] * ways.way[n].norm();
      goes[k] = ways.taken[n] == 1;
    }
    for (std::size_t n = 0; n < across.count; ++n) {
      const std::size_t k = across.lane[n], i = batch.vertex(k);
      if (batch[k].nearest.side > best[n].nearest.side) best.replace(n, s_.now[i], batch[k]);
    }
  }
  for (std::size_t n = 0; n < across.count; ++n) {
    const std::size_t k = across.lane[n];
    s_.now[batch.vertex(k)] = best.at(n), batch[k] = best[n];
  }
}

Vec3f SkinTracker::Frame::newton_move(std::size_t i, const Probe& p) const {
  const float error = p.all.value - s_.target[i];
  Vec3f move = (-step_ * (1 - s_.held[i]) * error / p.all.gradient.squaredNorm()) * p.all.gradient;
  const float length = move.norm(), longest = kLongestStep * radius(t_.own_[i]);
  if (length > longest) move *= longest / length;
  return move;
}

bool SkinTracker::Frame::is_good_step(std::size_t i, const Probe& p, const Probe& q) const {
  // One that could not be brought back all the way does not go farther across.
  return q.nearest.side >= std::min(0.0f, p.nearest.side) &&
         gradient_cosine(p.all.gradient, q.all.gradient) >= cos_turn_ && !past_bone(i, q) &&
         std::abs(q.all.value - s_.target[i]) <= std::abs(p.all.value - s_.target[i]);
}

template <typename Good>
void SkinTracker::Frame::go(const TrackingScratch::Block& block, Batch& batch, Ways& ways,
                            const Good& good) const {
  Batch ends(batch.finds());
  for (std::size_t n = 0; n < ways.count; ++n) {
    const std::size_t i = batch.vertex(ways.lane[n]);
    const Vec3f end = s_.now[i] + ways.way[n];
    ends.add(i, end, has_gone_far(i, end));
  }
  probe(block, Asked::known_here, ends);
  // Those that cannot go all the way, by places in `ways`, and a share of it that is too much.
  std::array<std::uint8_t, kBlock> cut;
  std::array<float, kBlock> bad;
  std::size_t cut_count = 0;
  for (std::size_t n = 0; n < ways.count; ++n) {
    const std::size_t k = ways.lane[n];
    if (good(k, ends[n])) {
      s_.now[batch.vertex(k)] = ends.at(n), batch[k] = ends[n];
      ways.taken[n] = 1;
    } else {
      ways.taken[n] = 0, bad[n] = 1;
      cut[cut_count++] = static_cast<std::uint8_t>(n);
    }
  }
  if (cut_count == 0) return;
  // From here on `ends` has the best place of each of these.
  Batch tried(batch.finds());
  for (int halving = 0; halving < kHalvings; ++halving) {
    tried.clear();
    for (std::size_t m = 0; m < cut_count; ++m) {
      const std::size_t n = cut[m], i = batch.vertex(ways.lane[n]);
      tried.add(i, s_.now[i] + (ways.taken[n] + bad[n]) / 2 * ways.way[n]);
    }
    probe(block, Asked::known, tried);
    for (std::size_t m = 0; m < cut_count; ++m) {
      const std::size_t n = cut[m];
      const float half = (ways.taken[n] + bad[n]) / 2;
      if (good(ways.lane[n], tried[m]))
        ways.taken[n] = half, ends[n] = tried[m];
      else
        bad[n] = half;
    }
  }
  for (std::size_t m = 0; m < cut_count; ++m) {
    const std::size_t n = cut[m], k = ways.lane[n];
    if (ways.taken[n] == 0) continue;
    s_.now[batch.vertex(k)] += ways.taken[n] * ways.way[n];
    batch[k] = ends[n];
  }
}

Vec3f SkinTracker::Frame::coherent(std::size_t i, float share) const {
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

bool SkinTracker::Frame::stirred(std::size_t i) const {
  return s_.beta[i] > kLeastBeta || s_.state[i] != TrackMark::still;
}

Vec3f SkinTracker::Frame::smooth_place(std::size_t i) const {
  const Vec3f height = s_.transforms[t_.own_[i]].linear() * t_.rest_height_[i];
  const Vec3f place = ring_mean(i) + kKeptBulge * height;
  return std::isfinite(place.sum()) ? place : s_.now[i];
}

Vec3f SkinTracker::Frame::ring_mean(std::size_t i) const {
  Vec3f mean = Vec3f::Zero();
  const auto ring = t_.rings_[i];
  const float* phi = t_.mean_values_.values.data() + t_.rings_.starts[i];
  for (std::size_t k = 0; k < ring.size(); ++k) mean += phi[k] * s_.now[ring[k]];
  return std::isfinite(mean.sum()) ? mean : s_.now[i];
}

}  // namespace sinew
