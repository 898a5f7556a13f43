#include <sinew/tracking/bone_lift.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cmath>

#include <Eigen/SVD>

#include <sinew/core/parallel.h>
#include <sinew/core/rotation.h>
#include <sinew/core/smooth_step.h>
#include <sinew/implicit/compact_support.h>

namespace sinew {

namespace {

constexpr double kSpacing = 0.5;   // of samples along a bone, in support radii
constexpr int kMostSamples = 32;   // of a segment
constexpr float kKnown = 0.05f;    // field at rest from which on a bone lies in it anyway
constexpr float kSkin = 0.5f;
constexpr float kDeep = 0.75f;       // field from which on a bone rises beyond the skin
constexpr float kClearance = 0.4f;   // by so many of its own support radii
// Edges of the other's skin, in own support radii: up to which it can be dented, and from which on the limb
// has to lie on it.
constexpr float kFineEdges = 0.7f;
constexpr float kCoarseEdges = 1.5f;
constexpr float kCoarseClearance = 0.9f;
constexpr double kAxisShare = 0.1;  // of a bone's mean axis in its turn, where it has several tails
constexpr int kRounds = 5;
constexpr double kStump = 0.35;  // longest, in support radii
constexpr float kMostTurn = 0.08f;  // of a bone, radians about
// Size of the other and all that hangs on it over the own: up to which a bone stays and the other has to
// move, and from which on it is the one that moves.
constexpr float kHeavier = 0.7f;
constexpr float kLighter = 1.4f;
constexpr int kSteps = 16;
constexpr float kLongestStep = 0.25f;  // in support radii
constexpr float kLeast = 1e-6f;

/// The rotation nearest to a matrix; never a mirrored one.
Mat3d nearest_rotation(const Mat3d& matrix) {
  const Eigen::JacobiSVD<Mat3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Mat3d u = svd.matrixU();
  if ((u * svd.matrixV().transpose()).determinant() < 0) u.col(2) = -u.col(2);
  return u * svd.matrixV().transpose();
}

}  // namespace

BoneLift::BoneLift(const MeshView& rest_mesh, std::span<const std::int32_t> own,
                   std::shared_ptr<const FieldSet> fields, const SkinWeights& weights, std::size_t transform_count, double share)
    : fields_(std::move(fields)),
      own_(own.begin(), own.end()),
      weights_(weights),
      transform_count_(transform_count),
      share_(static_cast<float>(share)) {
  const std::size_t count = fields_->fields.size();
  std::vector<double> edges(count, 0), edge_count(count, 0);
  for (const Triangle& t : rest_mesh.triangles)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = t[k], b = t[(k + 1) % 3];
      if (own[a] < 0) continue;
      edges[static_cast<std::size_t>(own[a])] += static_cast<double>((rest_mesh.positions[a] - rest_mesh.positions[b]).norm());
      ++edge_count[static_cast<std::size_t>(own[a])];
    }
  for (std::size_t f = 0; f < count; ++f)
    edge_.push_back(edge_count[f] > 0 ? static_cast<float>(edges[f] / edge_count[f]) : 0.0f);
  joined_.assign(count * count, 0);
  for (std::size_t f = 0; f < count; ++f) joined_[f * count + f] = 1;
  for (const FieldJoint& joint : fields_->joints)
    joined_[joint.parent * count + joint.child] = joined_[joint.child * count + joint.parent] = 1;
  field_of_.assign(transform_count, -1);
  for (std::size_t f = 0; f < count; ++f)
    if (fields_->transform[f] < transform_count) field_of_[fields_->transform[f]] = static_cast<std::int32_t>(f);
  node_count_ = count;
  for (std::size_t f = 0; f < count; ++f) {
    const BoneField& field = fields_->fields[f];
    rest_nodes_.push_back(field.segments.empty() ? Vec3d(Vec3d::Zero()) : field.segments[0].head);
    node_field_.push_back(static_cast<std::uint16_t>(f));
  }
  std::vector<std::int32_t> parent(count, -1);
  for (const FieldJoint& joint : fields_->joints) parent[joint.child] = static_cast<std::int32_t>(joint.parent);
  // What hangs on a bone is carried by it, and does not move it.
  for (std::size_t f = 0; f < count; ++f)
    for (std::int32_t above = parent[f]; above >= 0; above = parent[static_cast<std::size_t>(above)])
      joined_[static_cast<std::size_t>(above) * count + f] = 1;
  std::vector<std::uint8_t> placed(count, 0);
  for (std::size_t left = count; left > 0;) {
    const std::size_t before = left;
    for (std::uint32_t f = 0; f < count; ++f)
      if (!placed[f] && (parent[f] < 0 || placed[static_cast<std::size_t>(parent[f])])) order_.push_back(f), placed[f] = 1, --left;
    if (left == before) break;
  }
  const std::vector<Affine3d> identity(transform_count, Affine3d::Identity());
  std::vector<PosedField> rest(count);
  pose_fields(*fields_, identity, rest);
  for (std::size_t f = 0; f < count; ++f) {
    const BoneField& field = fields_->fields[f];
    for (std::size_t k = 0; k < field.segments.size(); ++k) {
      const BoneSegment& segment = field.segments[k];
      const double length = (segment.tail - segment.head).norm();
      std::uint32_t tail = static_cast<std::uint32_t>(node_count_);
      for (const FieldJoint& joint : fields_->joints)
        if (joint.parent == f && (joint.place - segment.tail).norm() <= 0.05 * length + 1e-9) tail = joint.child;
      if (tail == node_count_) {
        ++node_count_;
        rest_nodes_.push_back(segment.tail);
        node_field_.push_back(static_cast<std::uint16_t>(f));
      }
      tail_node_.push_back(tail);
      const int pieces = std::clamp(static_cast<int>(std::ceil(length / (kSpacing * field.radius))), 1, kMostSamples);
      for (int p = 0; p <= pieces; ++p) {
        Sample sample;
        sample.field = static_cast<std::uint16_t>(f);
        sample.segment = static_cast<std::uint16_t>(k);
        sample.along = static_cast<float>(p) / static_cast<float>(pieces);
        sample.rest = (segment.head + static_cast<double>(sample.along) * (segment.tail - segment.head)).cast<float>();
        sample.first_known = static_cast<std::uint32_t>(known_.size());
        for (std::size_t b = 0; b < count; ++b)
          if (rest[b].usable && rest[b].sample(sample.rest).value > kKnown)
            known_.push_back(static_cast<std::uint16_t>(b));
        sample.last_known = static_cast<std::uint32_t>(known_.size());
        samples_.push_back(sample);
      }
    }
    first_segment_.push_back(static_cast<std::uint32_t>(tail_node_.size()));
    first_sample_.push_back(static_cast<std::uint32_t>(samples_.size()));
  }
  // Bones that leave the same one and lie in each other's flesh, as those of a palm, rise together, and with
  // the one they leave where that is a stump.
  std::vector<std::uint32_t> leader(count);
  for (std::uint32_t f = 0; f < count; ++f) leader[f] = f;
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t from = leader[a], to = leader[b];
    for (std::uint32_t& l : leader)
      if (l == from) l = to;
  };
  const auto lies_in = [&](std::uint32_t inner, std::uint32_t outer) {
    std::uint32_t inside = 0;
    for (std::uint32_t i = first_sample_[inner]; i < first_sample_[inner + 1]; ++i)
      inside += rest[outer].usable && rest[outer].sample(samples_[i].rest).value > kKnown;
    return 2 * inside >= first_sample_[inner + 1] - first_sample_[inner];
  };
  const auto stump = [&](const BoneField& field) {
    return std::all_of(field.segments.begin(), field.segments.end(), [&](const BoneSegment& segment) {
      return (segment.tail - segment.head).norm() < kStump * field.radius;
    });
  };
  for (std::uint32_t f = 0; f < count; ++f) {
    if (parent[f] < 0) continue;
    const auto above = static_cast<std::uint32_t>(parent[f]);
    if (stump(fields_->fields[above])) join(f, above);
    for (std::uint32_t g = 0; g < f; ++g)
      if (parent[f] == parent[g] && (lies_in(f, g) || lies_in(g, f))) join(f, g);
  }
  std::vector<std::int32_t> group_of(count, -1);
  for (const std::uint32_t f : order_) {
    std::int32_t& group = group_of[leader[f]];
    if (group < 0) {
      group = static_cast<std::int32_t>(groups_.size());
      groups_.emplace_back();
    }
    groups_[static_cast<std::size_t>(group)].push_back(f);
  }
  // What carries less gives way.
  std::vector<double> volume(count, 0);
  for (std::size_t i = order_.size(); i-- > 0;) {
    const BoneField& field = fields_->fields[order_[i]];
    for (const BoneSegment& segment : field.segments)
      volume[order_[i]] += field.radius * field.radius * (segment.tail - segment.head).norm() / static_cast<double>(field.segments.size());
    volume[order_[i]] += field.radius * field.radius * field.radius;
    if (parent[order_[i]] >= 0) volume[static_cast<std::size_t>(parent[order_[i]])] += volume[order_[i]];
  }
  for (std::size_t f = 0; f < count; ++f) size_.push_back(static_cast<float>(std::cbrt(volume[f])));
  std::vector<std::vector<std::uint32_t>> below(count);  // nodes that hang on its head
  for (std::size_t i = order_.size(); i-- > 0;) {
    const std::uint32_t f = order_[i];
    for (std::size_t k = 0; k < fields_->fields[f].segments.size(); ++k) {
      const std::uint32_t tail = tail_node(f, k);
      below[f].push_back(tail);
      if (tail < count) below[f].insert(below[f].end(), below[tail].begin(), below[tail].end());
    }
  }
  for (const std::vector<std::uint32_t>& group : groups_) {
    std::vector<std::uint32_t> nodes = group;
    for (const std::uint32_t f : group) nodes.insert(nodes.end(), below[f].begin(), below[f].end());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    carried_.push_back(std::move(nodes));
  }
}

BoneLiftScratch BoneLift::make_scratch() const {
  BoneLiftScratch s;
  s.posed.resize(fields_->fields.size());
  s.depth.resize(samples_.size());
  s.posed_nodes.resize(node_count_);
  s.nodes.resize(node_count_);
  s.lifts.resize(fields_->fields.size());
  s.transforms.resize(transform_count_);
  s.present.reserve(fields_->fields.size());
  return s;
}

Vec3f BoneLift::way_out(const Sample& sample, const Vec3f& from, float& depth,
                        const BoneLiftScratch& s) const {
  const auto own = static_cast<float>(fields_->fields[sample.field].radius);
  Vec3f x = from;
  float share = 1;
  for (int step = 0; step < kSteps; ++step) {
    Vec3f move = Vec3f::Zero();
    float lengths = 0, shares = 0;
    for (const std::uint16_t b : s.present) {
      if (std::find(known_.begin() + sample.first_known, known_.begin() + sample.last_known, b) !=
          known_.begin() + sample.last_known)
        continue;
      const FieldSample other = s.posed[b].sample(x);
      const float slope = other.gradient.norm();
      const auto radius = static_cast<float>(fields_->fields[b].radius);
      if (step == 0) depth = std::max(depth, other.value);
      const float coarse = smooth_step(kFineEdges, kCoarseEdges, edge_[b] / own);
      const float clearance = std::max(kClearance * smooth_step(kSkin, kDeep, depth), kCoarseClearance * coarse);
      const float goal = compact_support(clearance * own, radius);
      if (!(other.value > goal) || !(slope > kLeast)) continue;
      const float length = std::min((other.value - goal) / slope, kLongestStep * radius);
      move -= length * length / slope * other.gradient;
      lengths += length;
      shares += length * smooth_step(kHeavier, kLighter, size_[b] / size_[sample.field]);
    }
    if (!(lengths > 0)) break;
    if (step == 0) share = shares / lengths;
    x += move / lengths;
  }
  return share * (x - from);
}

bool BoneLift::rise(bool first, BoneLiftScratch& s) const {
  const std::size_t count = fields_->fields.size();
  bool any = false;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<std::uint32_t>& group = groups_[g];
    // The farthest ways count most: a mean of all, weighted by their fourth powers.
    Vec3f head_way = Vec3f::Zero(), tail_way = Vec3f::Zero();
    float head_weight = 0, tail_weight = 0;
    for (const std::uint32_t f : group) {
      const std::size_t segments = fields_->fields[f].segments.size();
      if (segments == 0) continue;
      Vec3f low = s.nodes[f], high = low;
      for (std::size_t k = 0; k < segments; ++k)
        low = low.cwiseMin(s.nodes[tail_node(f, k)]), high = high.cwiseMax(s.nodes[tail_node(f, k)]);
      s.present.clear();
      for (std::size_t b = 0; b < count; ++b)
        if (!joined_[f * count + b] && reaches(s.posed[b], low, high))
          s.present.push_back(static_cast<std::uint16_t>(b));
      if (first) std::fill(s.depth.begin() + first_sample_[f], s.depth.begin() + first_sample_[f + 1], 0.0f);
      if (s.present.empty()) continue;
      for (std::uint32_t i = first_sample_[f]; i < first_sample_[f + 1]; ++i) {
        const Sample& sample = samples_[i];
        const std::uint32_t tail = tail_node(f, sample.segment);
        const Vec3f at = s.nodes[f] + sample.along * (s.nodes[tail] - s.nodes[f]);
        const Vec3f way = share_ * way_out(sample, at, s.depth[i], s);
        if (!(way.squaredNorm() > 0) || !way.allFinite()) continue;
        const auto add = [](const Vec3f& part, Vec3f& sum, float& weights) {
          const float weight = part.squaredNorm() * part.squaredNorm();
          sum += weight * part, weights += weight;
        };
        add(std::min(2 * (1 - sample.along), 1.0f) * way, head_way, head_weight);
        add(std::min(2 * sample.along, 1.0f) * way, tail_way, tail_weight);
      }
    }
    if (head_weight > 0) head_way /= head_weight;
    if (tail_weight > 0) tail_way /= tail_weight;
    if (!(head_weight > 0) && !(tail_weight > 0)) continue;
    any = true;
    Vec3f axis = Vec3f::Zero();
    float parts = 0;
    for (const std::uint32_t f : group)
      for (std::size_t k = 0; k < fields_->fields[f].segments.size(); ++k)
        axis += s.nodes[tail_node(f, k)] - s.nodes[f], ++parts;
    axis /= parts;
    // A bone turns by so much in a round; where that is too little, its other end comes along.
    Vec3f apart = tail_way - head_way;
    const float longest = kMostTurn * axis.norm();
    if (apart.norm() > longest) {
      apart *= longest / apart.norm();
      if (tail_way.squaredNorm() > head_way.squaredNorm())
        head_way = tail_way - apart;
      else
        tail_way = head_way + apart;
    }
    const Vec3f risen = axis + apart;
    Eigen::Matrix3f turn = Eigen::Matrix3f::Identity();
    if (axis.norm() > kLeast && risen.norm() > kLeast)
      turn = shortest_turn(axis.cast<double>().normalized(), risen.cast<double>().normalized())
                 .toRotationMatrix()
                 .cast<float>();
    // All of the group, and what hangs on it, goes rigidly about the middle of its heads.
    Vec3f middle = Vec3f::Zero();
    for (const std::uint32_t f : group) middle += s.nodes[f] / static_cast<float>(group.size());
    const Vec3f to = middle + head_way;
    for (const std::uint32_t n : carried_[g]) s.nodes[n] = to + turn * (s.nodes[n] - middle);
  }
  return any;
}

void BoneLift::keep_lengths(BoneLiftScratch& s) const {
  for (const std::uint32_t f : order_)
    for (std::size_t k = 0; k < fields_->fields[f].segments.size(); ++k) {
      const std::uint32_t tail = tail_node(f, k);
      const Vec3f axis = s.nodes[tail] - s.nodes[f];
      const float length = axis.norm(), posed = (s.posed_nodes[tail] - s.posed_nodes[f]).norm();
      if (length > 0) s.nodes[tail] = s.nodes[f] + posed / length * axis;
    }
}

void BoneLift::make_transforms(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const {
  for (std::size_t j = 0; j < transform_count_; ++j) s.transforms[j] = posed_from_rest[j];
  for (std::size_t f = 0; f < fields_->fields.size(); ++f) {
    const std::size_t segments = fields_->fields[f].segments.size();
    s.lifts[f] = Affine3d::Identity();
    if (segments == 0) continue;
    const Vec3d head = s.posed_nodes[f].cast<double>(), risen = s.nodes[f].cast<double>();
    Vec3d axis = Vec3d::Zero(), risen_axis = Vec3d::Zero();
    for (std::size_t k = 0; k < segments; ++k) {
      axis += s.posed_nodes[tail_node(f, k)].cast<double>() - head;
      risen_axis += s.nodes[tail_node(f, k)].cast<double>() - risen;
    }
    const double length = axis.norm(), risen_length = risen_axis.norm();
    if (length > kLeast && risen_length > kLeast) {
      const Vec3d along = axis / length;
      const Mat3d stretch =
          Mat3d::Identity() + (risen_length / length - 1) * along * along.transpose();
      const Mat3d turn = shortest_turn(along, risen_axis / risen_length).toRotationMatrix();
      if (segments == 1) {
        s.lifts[f].linear() = turn * stretch;
      } else {
        // Of several tails: the turn that fits all of them best.
        Mat3d covariance = kAxisShare * axis.squaredNorm() * turn;
        for (std::size_t k = 0; k < segments; ++k)
          covariance += (s.nodes[tail_node(f, k)].cast<double>() - risen) *
                        (s.posed_nodes[tail_node(f, k)].cast<double>() - head).transpose();
        s.lifts[f].linear() = nearest_rotation(covariance);
      }
    }
    s.lifts[f].translation() = risen - s.lifts[f].linear() * head;
    s.transforms[fields_->transform[f]] = s.lifts[f] * posed_from_rest[fields_->transform[f]];
  }
}

std::span<const Affine3d> BoneLift::lift(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s,
                                         std::span<Vec3f> positions) const {
  if (!(share_ > 0)) return posed_from_rest;
  pose_fields(*fields_, posed_from_rest, s.posed);
  for (std::size_t n = 0; n < node_count_; ++n)
    s.nodes[n] = s.posed_nodes[n] =
        (posed_from_rest[fields_->transform[node_field_[n]]] * rest_nodes_[n]).cast<float>();
  if (!rise(true, s)) return posed_from_rest;
  keep_lengths(s);
  make_transforms(posed_from_rest, s);
  for (int round = 1; round < kRounds; ++round) {
    pose_fields(*fields_, s.transforms, s.posed);
    if (!rise(false, s)) break;
    if (round + 1 < kRounds) keep_lengths(s);
    make_transforms(posed_from_rest, s);
  }
  parallel_blocks(positions.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      if (own_[v] < 0) continue;
      const Vec3d from = positions[v].cast<double>();
      Vec3d way = Vec3d::Zero();
      const auto joints = weights_.row_joints(v);
      const auto values = weights_.row_values(v);
      for (std::size_t k = 0; k < joints.size(); ++k) {
        const std::int32_t f = field_of_[joints[k]] >= 0 ? field_of_[joints[k]] : own_[v];
        way += static_cast<double>(values[k]) * (s.lifts[static_cast<std::size_t>(f)] * from - from);
      }
      positions[v] = (from + way).cast<float>();
    }
  });
  return s.transforms;
}

}  // namespace sinew
