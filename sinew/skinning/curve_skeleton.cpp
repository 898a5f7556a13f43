#include <sinew/skinning/curve_skeleton.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/polar.h>

namespace sinew {

namespace {

// A bone that bends by 90° turns by 4° from sample to sample; what linear interpolation between them loses
// of a radius is then below one in a thousand.
constexpr int kSamplesPerBone = 24;
constexpr std::size_t kMostSamples = 65536;  // PackedWeights counts in 16 bits
constexpr std::size_t kVerticesPerTask = 4096;
// How far the places of two neighbouring vertices may lie apart on the curve, over their distance.
constexpr double kMostStride = 3;
constexpr int kSpreadRounds = 8, kSpreadPasses = 20;

double wrapped(double angle) {
  return std::remainder(angle, 2 * std::numbers::pi);
}

/// A unit vector at right angles to the unit vector `t`, near to `wish` where that is possible.
Vec3d normal_near(const Vec3d& t, const Vec3d& wish) {
  Vec3d normal = wish - wish.dot(t) * t;
  const double length = normal.norm();
  return length > 1e-6 ? Vec3d(normal / length) : t.unitOrthogonal();
}

/// Fills in tangents that vanish (several knots in one place) from their neighbours and makes all unit.
void normalize_tangents(std::span<Vec3d> tangents) {
  double largest = 0;
  for (const Vec3d& tangent : tangents) largest = std::max(largest, tangent.norm());
  const double least = 1e-9 * largest;
  Vec3d last = Vec3d::Zero();
  for (Vec3d& tangent : tangents) {
    const double length = tangent.norm();
    if (length > least) last = tangent / length;
    tangent = last;
  }
  last = tangents.back().isZero() ? Vec3d::UnitX() : tangents.back();
  for (std::size_t s = tangents.size(); s-- > 0;) {
    if (tangents[s].isZero())
      tangents[s] = last;
    else
      last = tangents[s];
  }
}

/// Carries `normals[0]` along the curve without turning about it: double reflection, Wang et al. 2008,
/// table I. Falls back to the smallest rotation between tangents where two points coincide.
void transport_normals(std::span<const Vec3d> points, std::span<const Vec3d> tangents,
                       std::span<Vec3d> normals) {
  for (std::size_t s = 0; s + 1 < points.size(); ++s) {
    const Vec3d& t = tangents[s];
    const Vec3d& next_t = tangents[s + 1];
    const Vec3d v1 = points[s + 1] - points[s];
    const double c1 = v1.squaredNorm();
    Vec3d normal;
    bool reflected = false;
    if (c1 > 1e-280) {
      const Vec3d reflected_normal = normals[s] - 2 / c1 * v1.dot(normals[s]) * v1;
      const Vec3d reflected_t = t - 2 / c1 * v1.dot(t) * v1;
      const Vec3d v2 = next_t - reflected_t;
      const double c2 = v2.squaredNorm();
      if (c2 > 1e-12) {
        normal = reflected_normal - 2 / c2 * v2.dot(reflected_normal) * v2;
        reflected = true;
      }
    }
    if (!reflected) normal = Quatd::FromTwoVectors(t, next_t) * normals[s];
    normals[s + 1] = normal_near(next_t, normal);
  }
}

Mat3d frame(const Vec3d& tangent, const Vec3d& normal) {
  Mat3d axes;
  axes << tangent, normal, tangent.cross(normal);
  return axes;
}

/// Harmonic mean of the slopes on both sides, 0 where they disagree: the interpolated roll then never
/// overshoots (Fritsch & Carlson).
double knot_slope(double before, double after) {
  return before * after > 0 ? 2 * before * after / (before + after) : 0;
}

}  // namespace

SkinCurve::SkinCurve(const CurveChain& chain, int samples) : samples_per_bone_(samples) {
  assert(!chain.joints.empty() && chain.joints.size() == chain.places.size() && samples >= 2);
  double length = 0;
  for (std::size_t j = 0; j < chain.joints.size(); ++j)
    length += ((j + 1 < chain.joints.size() ? chain.places[j + 1] : chain.tip) - chain.places[j]).norm();
  if (!(length > 0) || !std::isfinite(length))
    throw Error("curve: all its joints and its tip are in one place");
  for (std::size_t j = 0; j <= chain.joints.size(); ++j) {
    const bool is_tip = j == chain.joints.size();
    const Knot knot{chain.joints[is_tip ? j - 1 : j], is_tip ? chain.tip : chain.places[j]};
    if (!knots_.empty() && (knot.place - knots_.back().place).norm() <= 1e-6 * length)
      knots_.back() = knot;
    else
      knots_.push_back(knot);
    knot_of_joint_.push_back(knots_.size() - 1);
  }
  if (knots_.size() < 2) throw Error("curve: all its joints and its tip are in one place");
  for (const Knot& knot : knots_) rest_knots_.push_back(knot.place);
  for (std::size_t k = 0; k + 1 < knots_.size(); ++k)
    spacing_.push_back(std::sqrt((rest_knots_[k + 1] - rest_knots_[k]).norm() / length));
  for (std::size_t bone = 0; bone + 1 < knots_.size(); ++bone)
    for (int s = 0; s < samples; ++s) samples_.push_back(sample_at(bone, static_cast<double>(s) / samples));
  samples_.push_back(sample_at(knots_.size() - 2, 1));
  rest_points_.resize(samples_.size());
  rest_tangents_.resize(samples_.size());
  rest_normals_.resize(samples_.size());
  for (std::size_t s = 0; s < samples_.size(); ++s)
    evaluate(rest_knots_, samples_[s], rest_points_[s], rest_tangents_[s]);
  normalize_tangents(rest_tangents_);
  rest_normals_[0] = rest_tangents_[0].unitOrthogonal();
  transport_normals(rest_points_, rest_tangents_, rest_normals_);
}

SkinCurve::Sample SkinCurve::sample_at(std::size_t bone, double along) const {
  const std::size_t last = knots_.size() - 1;
  Sample sample{bone == 0 ? 0 : bone - 1, {}, {}, bone, along};
  // Cubic Hermite: h00 P + h10 h m + h01 Q + h11 h n, and its derivative by `along`.
  const double x = along, h = spacing_[bone];
  const double value[4] = {(1 + 2 * x) * (1 - x) * (1 - x), x * (1 - x) * (1 - x) * h, x * x * (3 - 2 * x),
                           x * x * (x - 1) * h};
  const double slope[4] = {6 * x * (x - 1), (1 - x) * (1 - 3 * x) * h, 6 * x * (1 - x), x * (3 * x - 2) * h};
  const auto add = [&](std::size_t knot, double of_value, double of_slope) {
    assert(knot >= sample.first && knot - sample.first < 4);
    sample.point[knot - sample.first] += of_value;
    sample.tangent[knot - sample.first] += of_slope;
  };
  const auto add_chord = [&](std::size_t from, double of_value, double of_slope) {
    add(from + 1, of_value / spacing_[from], of_slope / spacing_[from]);
    add(from, -of_value / spacing_[from], -of_slope / spacing_[from]);
  };
  const auto add_inner_velocity = [&](std::size_t knot, double of_value, double of_slope) {
    const double before = spacing_[knot - 1], after = spacing_[knot], sum = before + after;
    add_chord(knot, of_value * before / sum, of_slope * before / sum);
    add_chord(knot - 1, of_value * after / sum, of_slope * after / sum);
  };
  const auto add_velocity = [&](std::size_t knot, double of_value, double of_slope) {
    if (knot == 0) {
      add_chord(0, of_value, of_slope);
    } else if (knot < last) {
      add_inner_velocity(knot, of_value, of_slope);
    } else if (last == 1) {
      add_chord(0, of_value, of_slope);
    } else {  // no curvature at the tip
      add_chord(last - 1, 1.5 * of_value, 1.5 * of_slope);
      add_inner_velocity(last - 1, -0.5 * of_value, -0.5 * of_slope);
    }
  };
  add(bone, value[0], slope[0]);
  add_velocity(bone, value[1], slope[1]);
  add(bone + 1, value[2], slope[2]);
  add_velocity(bone + 1, value[3], slope[3]);
  return sample;
}

void SkinCurve::evaluate(std::span<const Vec3d> knots, const Sample& sample, Vec3d& point,
                         Vec3d& tangent) const {
  point.setZero();
  tangent.setZero();
  for (std::size_t i = 0; i < 4 && sample.first + i < knots.size(); ++i) {
    point += sample.point[i] * knots[sample.first + i];
    tangent += sample.tangent[i] * knots[sample.first + i];
  }
}

CurvePlace SkinCurve::nearest(const Vec3d& p, std::size_t begin, std::size_t end) const {
  assert(begin <= end && end < samples_.size());
  std::size_t best = begin;
  for (std::size_t s = begin; s <= end; ++s)
    if ((p - rest_points_[s]).squaredNorm() < (p - rest_points_[best]).squaredNorm()) best = s;

  // Between the neighbours of the best sample, where (p − c(x)) · c'(x) changes its sign.
  const auto ahead = [&](double x) {
    const auto bone = std::min(to_size(x / samples_per_bone_), knots_.size() - 2);
    Vec3d point, tangent;
    evaluate(rest_knots_, sample_at(bone, x / samples_per_bone_ - static_cast<double>(bone)), point, tangent);
    return (p - point).dot(tangent);
  };
  double low = static_cast<double>(best > begin ? best - 1 : best);
  double high = static_cast<double>(best < end ? best + 1 : best);
  double x = static_cast<double>(best);
  if (ahead(low) <= 0) {
    x = best > begin ? x : low;
  } else if (ahead(high) >= 0) {
    x = best < end ? x : high;
  } else {
    for (int step = 0; step < 40; ++step) {
      x = 0.5 * (low + high);
      (ahead(x) > 0 ? low : high) = x;
    }
  }
  const auto sample = std::min(to_size(x), samples_.size() - 2);
  return {sample, x - static_cast<double>(sample)};
}

SkinCurve::Scratch SkinCurve::make_scratch() const {
  Scratch scratch;
  for (auto* values : {&scratch.points, &scratch.tangents, &scratch.normals}) values->resize(samples_.size());
  scratch.knots.resize(knots_.size());
  scratch.rotations.resize(knots_.size());
  scratch.stretches.resize(knots_.size());
  scratch.twists.resize(knots_.size());
  scratch.slopes.resize(knots_.size());
  return scratch;
}

void SkinCurve::pose(std::span<const Affine3d> posed_from_rest, Scratch& scratch,
                     std::span<Affine3d> motions) const {
  assert(motions.size() == samples_.size() && scratch.points.size() == samples_.size());
  for (std::size_t k = 0; k < knots_.size(); ++k) {
    const Affine3d& transform = posed_from_rest[knots_[k].joint];
    scratch.knots[k] = transform * knots_[k].place;
    const Mat3d linear = transform.linear();
    Mat3d rotation = linear;
    scratch.stretches[k].setIdentity();
    if (!(linear.transpose() * linear).isIdentity(1e-12) || linear.determinant() < 0) {
      const PolarFactors factors = polar_factors(linear);
      rotation = factors.rotation;
      scratch.stretches[k] = factors.stretch;
    }
    scratch.rotations[k] = Quatd(rotation);
  }
  for (std::size_t s = 0; s < samples_.size(); ++s)
    evaluate(scratch.knots, samples_[s], scratch.points[s], scratch.tangents[s]);
  normalize_tangents(scratch.tangents);
  // Along with the first joint, so that a motion of the whole chain is exactly that.
  const Quatd onto_tangent =
      Quatd::FromTwoVectors(scratch.rotations[0] * rest_tangents_[0], scratch.tangents[0]);
  scratch.normals[0] =
      normal_near(scratch.tangents[0], onto_tangent * (scratch.rotations[0] * rest_normals_[0]));
  transport_normals(scratch.points, scratch.tangents, scratch.normals);

  const auto untwisted = [&](std::size_t s) -> Mat3d {
    return frame(scratch.tangents[s], scratch.normals[s]) *
           frame(rest_tangents_[s], rest_normals_[s]).transpose();
  };
  double twist = 0;
  for (std::size_t k = 0; k < knots_.size(); ++k) {
    const std::size_t s = k * to_size(samples_per_bone_);
    const Quatd missing = scratch.rotations[k] * Quatd(untwisted(s)).conjugate();
    const double along = missing.vec().dot(scratch.tangents[s]);
    // Where the joint looks back along the curve its roll is undefined: the last one's stays.
    const double defined = std::clamp((std::hypot(along, missing.w()) - 0.05) / 0.2, 0.0, 1.0);
    twist += defined * wrapped(2 * std::atan2(along, missing.w()) - twist);
    scratch.twists[k] = twist;
  }
  const auto steepness = [&](std::size_t bone) {
    return (scratch.twists[bone + 1] - scratch.twists[bone]) / spacing_[bone];
  };
  const std::size_t last = knots_.size() - 1;
  scratch.slopes[0] = steepness(0);
  scratch.slopes[last] = steepness(last - 1);
  for (std::size_t k = 1; k < last; ++k) scratch.slopes[k] = knot_slope(steepness(k - 1), steepness(k));

  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const std::size_t k = samples_[s].bone;
    const double x = samples_[s].along, h = spacing_[k];
    const double angle =
        (1 + 2 * x) * (1 - x) * (1 - x) * scratch.twists[k] + x * (1 - x) * (1 - x) * h * scratch.slopes[k] +
        x * x * (3 - 2 * x) * scratch.twists[k + 1] + x * x * (x - 1) * h * scratch.slopes[k + 1];
    const Mat3d stretch = (1 - x) * scratch.stretches[k] + x * scratch.stretches[k + 1];
    Affine3d& motion = motions[s];
    motion.linear() =
        Eigen::AngleAxisd(angle, scratch.tangents[s]).toRotationMatrix() * untwisted(s) * stretch;
    motion.translation() = scratch.points[s] - motion.linear() * rest_points_[s];
    motion.makeAffine();
    // Joints apart by more than numbers can hold: better a bone than nothing.
    if (!motion.matrix().allFinite()) motion = posed_from_rest[knots_[k].joint];
  }
}

namespace {

/// A vertex bound to a curve.
struct BoundVertex {
  std::uint32_t vertex;
  std::uint32_t curve;
  double weight;
  double place;        // in samples
  double least, most;  // samples of the bones it has weights on
};

/// Where a curve bends more sharply than its skin is thick, the nearest points of neighbouring vertices lie
/// far apart, and a pose would tear the skin between them. Such vertices take places between those of their
/// neighbours instead, ever more of them until none is torn. Entries are sorted by vertex and curve.
void spread_torn_places(std::span<BoundVertex> bound, std::size_t vertex_count,
                        std::span<const SkinCurve> curves, const MeshView& surface) {
  std::vector<std::size_t> first(vertex_count + 1, 0);
  for (const BoundVertex& b : bound) ++first[b.vertex + 1];
  for (std::size_t v = 0; v < vertex_count; ++v) first[v + 1] += first[v];
  struct Link {
    std::size_t vertex, neighbour;  // entries
    double reach;                   // how far their places may lie apart, metres
    bool operator<(const Link& other) const {
      return std::pair(vertex, neighbour) < std::pair(other.vertex, other.neighbour);
    }
  };
  std::vector<Link> links;
  for (const Triangle& triangle : surface.triangles)
    for (const auto& [a, b] : {std::pair(triangle[0], triangle[1]), std::pair(triangle[1], triangle[2]),
                               std::pair(triangle[2], triangle[0])})
      for (std::size_t i = first[a]; i < first[a + 1]; ++i)
        for (std::size_t j = first[b]; j < first[b + 1]; ++j) {
          if (bound[i].curve != bound[j].curve) continue;
          const double reach =
              kMostStride * static_cast<double>((surface.positions[a] - surface.positions[b]).norm());
          links.push_back({i, j, reach});
          links.push_back({j, i, reach});
        }
  if (links.empty()) return;
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end(),
                          [](const Link& a, const Link& b) { return !(a < b) && !(b < a); }),
              links.end());

  std::vector<std::vector<double>> lengths;  // per curve, up to each sample
  for (const SkinCurve& curve : curves) {
    std::vector<double>& length = lengths.emplace_back(1, 0.0);
    for (std::size_t s = 0; s + 1 < curve.sample_count(); ++s)
      length.push_back(length.back() + (curve.rest_points()[s + 1] - curve.rest_points()[s]).norm());
  }
  const auto length_at = [&](const BoundVertex& b) {
    const std::vector<double>& length = lengths[b.curve];
    const auto s = std::min(to_size(b.place), length.size() - 2);
    return length[s] + (b.place - static_cast<double>(s)) * (length[s + 1] - length[s]);
  };
  std::vector<bool> torn(bound.size(), false);
  std::vector<Link> loose;
  for (int round = 0; round < kSpreadRounds; ++round) {
    bool any = false;
    for (const Link& link : links)
      if (std::abs(length_at(bound[link.vertex]) - length_at(bound[link.neighbour])) > link.reach)
        any = torn[link.vertex] = torn[link.neighbour] = true;
    if (!any) return;
    loose.clear();
    for (const Link& link : links)
      if (torn[link.vertex]) loose.push_back(link);
    for (int pass = 0; pass < kSpreadPasses; ++pass)
      for (std::size_t begin = 0, end = 0; begin < loose.size(); begin = end) {
        double sum = 0;
        for (; end < loose.size() && loose[end].vertex == loose[begin].vertex; ++end)
          sum += bound[loose[end].neighbour].place;
        BoundVertex& vertex = bound[loose[begin].vertex];
        vertex.place = std::clamp(sum / static_cast<double>(end - begin), vertex.least, vertex.most);
      }
  }
}

}  // namespace

CurveSkeleton::CurveSkeleton(const MeshView& surface, const SkinWeights& weights,
                             std::span<const CurveChain> chains) {
  assert(surface.positions.size() == weights.rows());
  std::size_t bones = 0;
  for (const CurveChain& chain : chains) bones += chain.joints.size();
  const std::size_t room = kMostSamples > chains.size() ? kMostSamples - chains.size() : 0;
  if (2 * bones > room)
    throw Error(fmt::format("curves: {} bones in {} chains are too many", bones, chains.size()));
  const int samples =
      bones == 0 ? kSamplesPerBone : static_cast<int>(std::min<std::size_t>(kSamplesPerBone, room / bones));

  struct ChainJoint {
    std::uint32_t chain, number;
  };
  constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<ChainJoint> chain_of_joint;
  for (std::uint32_t c = 0; c < chains.size(); ++c) {
    curves_.emplace_back(chains[c], samples);
    first_sample_.push_back(sample_count_);
    sample_count_ += curves_.back().sample_count();
    for (std::uint32_t j = 0; j < chains[c].joints.size(); ++j) {
      const std::size_t joint = chains[c].joints[j];
      if (chain_of_joint.size() <= joint) chain_of_joint.resize(joint + 1, {kNone, 0});
      if (chain_of_joint[joint].chain == kNone) chain_of_joint[joint] = {c, j};
    }
  }

  struct Hold {
    std::uint32_t chain;
    double weight;
    std::size_t first, last;
  };
  std::vector<BoundVertex> bound;
  std::vector<Hold> holds;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    holds.clear();
    for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i) {
      if (weights.joints[i] >= chain_of_joint.size()) continue;
      const ChainJoint& at = chain_of_joint[weights.joints[i]];
      if (at.chain == kNone) continue;
      auto hold = std::find_if(holds.begin(), holds.end(),
                               [&](const Hold& known) { return known.chain == at.chain; });
      if (hold == holds.end()) hold = holds.insert(holds.end(), {at.chain, 0, at.number, at.number});
      hold->weight += static_cast<double>(weights.values[i]);
      hold->first = std::min<std::size_t>(hold->first, at.number);
      hold->last = std::max<std::size_t>(hold->last, at.number);
    }
    const Vec3d p = surface.positions[v].cast<double>();
    for (const Hold& hold : holds) {
      // A bone to each side: a vertex near a joint may have weights on one side only.
      const SkinCurve& curve = curves_[hold.chain];
      const std::size_t first = curve.sample_of_joint(hold.first > 0 ? hold.first - 1 : 0);
      const std::size_t last =
          curve.sample_of_joint(std::min(hold.last + 2, chains[hold.chain].joints.size()));
      const CurvePlace place = curve.nearest(p, first, last);
      bound.push_back({static_cast<std::uint32_t>(v), hold.chain, hold.weight,
                       static_cast<double>(place.sample) + place.share, static_cast<double>(first),
                       static_cast<double>(last)});
    }
  }
  std::sort(bound.begin(), bound.end(), [](const BoundVertex& a, const BoundVertex& b) {
    return std::pair(a.vertex, a.curve) < std::pair(b.vertex, b.curve);
  });
  spread_torn_places(bound, weights.rows(), curves_, surface);

  WeightRepairs repairs;
  std::vector<Influence> row;
  for (std::size_t begin = 0, end = 0; begin < bound.size(); begin = end) {
    row.clear();
    double share = 0;
    for (; end < bound.size() && bound[end].vertex == bound[begin].vertex; ++end) share += bound[end].weight;
    for (std::size_t i = begin; i < end; ++i) {
      const BoundVertex& b = bound[i];
      const auto sample = std::min(to_size(b.place), curves_[b.curve].sample_count() - 2);
      const double beyond = b.place - static_cast<double>(sample);
      const auto number = static_cast<std::uint32_t>(first_sample_[b.curve] + sample);
      row.push_back({number, static_cast<float>(b.weight / share * (1 - beyond))});
      row.push_back({number + 1, static_cast<float>(b.weight / share * beyond)});
    }
    append_row(sample_rows_, row, 0, repairs);
    vertices_.push_back(bound[begin].vertex);
    // The bones have moved the vertex by its weights on the chain already. Blending by the weight once more
    // would count the chain twice where it leaves the body, and pinch the skin there; the square hardly does.
    shares_.push_back(share > 1 - 1e-6 ? 1.0f : static_cast<float>(share * share));
  }
  packed_rows_ = PackedWeights(sample_rows_);
}

CurveSkeleton::Scratch CurveSkeleton::make_scratch() const {
  Scratch scratch;
  for (const SkinCurve& curve : curves_) scratch.curves.push_back(curve.make_scratch());
  scratch.motions.resize(sample_count_);
  scratch.matrices.resize(sample_count_);
  scratch.rest.resize(vertices_.size());
  scratch.posed.resize(vertices_.size());
  return scratch;
}

void CurveSkeleton::deform(std::span<const Vec3f> rest, std::span<const Affine3d> posed_from_rest,
                           Scratch& scratch, std::span<Vec3f> positions) const {
  assert(rest.size() == positions.size() && scratch.motions.size() == sample_count_);
  parallel_blocks(curves_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c)
      curves_[c].pose(posed_from_rest, scratch.curves[c],
                      std::span(scratch.motions).subspan(first_sample_[c], curves_[c].sample_count()));
  });
  pack_matrices(scratch.motions, scratch.matrices);
  parallel_blocks(vertices_.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) scratch.rest[i] = rest[vertices_[i]];
  });
  linear_blend_skinning(scratch.rest, packed_rows_, scratch.matrices, scratch.posed);
  parallel_blocks(vertices_.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Vec3f& position = positions[vertices_[i]];
      // A vertex that is all the curve's must not see where it was.
      position = shares_[i] == 1 ? scratch.posed[i]
                                 : Vec3f((1 - shares_[i]) * position + shares_[i] * scratch.posed[i]);
    }
  });
}

}  // namespace sinew
