#include <sinew/tracking/lift_chains.h>

#include <algorithm>
#include <cmath>

namespace sinew {

namespace {

constexpr double kSpacing = 0.5;  // of samples along a bone, in support radii
constexpr int kMostSamples = 32;  // of a segment
// Extremities: at least so many hang on the same bone, none longer than so many times its length and radius.
constexpr int kFingers = 3;
constexpr double kFinger = 1.5;
constexpr double kTrunkBone = 0.8;  // longest, in support radii of the bones at its ends
constexpr int kEnd = 1;             // the last bone of a limb and so many before it are its end
constexpr double kStump = 0.35;     // longest, in support radii
constexpr float kTrunk = 1.5f;      // size of a trunk, in those of the limbs beside it
// Bones lie side by side in the same flesh: field of one at the other, and cosine.
constexpr float kInsideChain = 0.5f;
constexpr double kParallel = 0.8;
constexpr double kShortBone = 1;  // of a palm, in support radii: up to which it hides in the flesh
// Of a segment's length: a joint nearer to its tail is the tail.
constexpr double kSamePlace = 0.05;

std::vector<std::int32_t> parents(const FieldSet& fields) {
  std::vector<std::int32_t> parent(fields.fields.size(), -1);
  for (const FieldJoint& joint : fields.joints) parent[joint.child] = static_cast<std::int32_t>(joint.parent);
  return parent;
}

std::vector<std::uint32_t> parents_first(std::span<const std::int32_t> parent) {
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> placed(parent.size(), 0);
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t f = 0; f < parent.size(); ++f) {
      if (placed[f] || (parent[f] >= 0 && !placed[static_cast<std::size_t>(parent[f])])) continue;
      order.push_back(f);
      placed[f] = 1, more = true;
    }
  }
  return order;
}

double longest_segment(const BoneField& field) {
  double longest = 0;
  for (const BoneSegment& segment : field.segments)
    longest = std::max(longest, (segment.tail - segment.head).norm());
  return longest;
}

/// What hangs on a bone is carried by it and does not move it; neighbours fold. The root of a limb slides in
/// and out of the trunk it hangs on, as shoulder blades and thighs of animals do.
std::vector<std::uint8_t> find_meetings(const FieldSet& fields, std::span<const std::int32_t> parent,
                                        const LiftChains& chains) {
  const std::size_t count = fields.fields.size();
  std::vector<std::uint8_t> meets(count * count, 1);
  for (std::size_t f = 0; f < count; ++f) {
    meets[f * count + f] = 0;
    std::size_t steps = 0;  // so that it ends, whatever the joints say
    for (std::int32_t above = parent[f]; above >= 0 && steps < count; ++steps) {
      meets[static_cast<std::size_t>(above) * count + f] = 0;
      above = parent[static_cast<std::size_t>(above)];
    }
  }
  for (const FieldJoint& joint : fields.joints) meets[joint.child * count + joint.parent] = 0;
  // Bones of a trunk are thicker than long and come close to the next but one whenever it bends.
  for (std::size_t f = 0; f < count; ++f) {
    double between = 0;
    std::size_t steps = 0;
    for (std::int32_t above = parent[f]; above >= 0 && steps < count;
         above = parent[static_cast<std::size_t>(above)], ++steps) {
      const auto a = static_cast<std::size_t>(above);
      if (between < kTrunkBone * (fields.fields[f].radius + fields.fields[a].radius))
        meets[f * count + a] = 0;
      between += longest_segment(fields.fields[a]);
    }
  }
  for (std::size_t f = 0; f < count; ++f) {
    const auto samples = chains.samples_of(f);
    if (parent[f] < 0 || samples.empty()) continue;
    const std::int32_t trunk = parent[static_cast<std::size_t>(parent[f])];
    if (trunk >= 0 && chains.is_known(samples[0], static_cast<std::uint16_t>(trunk)))
      meets[f * count + static_cast<std::size_t>(trunk)] = 0;
    for (std::size_t g = 0; g < count; ++g)
      if (parent[g] == parent[f] && chains.size[g] > kTrunk * chains.size[f]) meets[f * count + g] = 0;
  }
  return meets;
}

std::vector<float> mean_edges(const MeshView& rest, std::span<const std::int32_t> own, std::size_t fields) {
  std::vector<double> sum(fields, 0), edges(fields, 0);
  for (const Triangle& t : rest.triangles)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = t[k], b = t[(k + 1) % 3];
      if (own[a] < 0) continue;
      sum[static_cast<std::size_t>(own[a])] += (rest.positions[a] - rest.positions[b]).cast<double>().norm();
      ++edges[static_cast<std::size_t>(own[a])];
    }
  std::vector<float> mean;
  for (std::size_t f = 0; f < fields; ++f)
    mean.push_back(edges[f] > 0 ? static_cast<float>(sum[f] / edges[f]) : 0.0f);
  return mean;
}

std::vector<float> limb_sizes(const FieldSet& fields, std::span<const std::uint32_t> order,
                              std::span<const std::int32_t> parent) {
  std::vector<double> volume(fields.fields.size(), 0);
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t f = order[i];
    const BoneField& field = fields.fields[f];
    double length = field.radius;
    for (const BoneSegment& segment : field.segments)
      length += (segment.tail - segment.head).norm() / static_cast<double>(field.segments.size());
    volume[f] += field.radius * field.radius * length;
    if (parent[f] >= 0) volume[static_cast<std::size_t>(parent[f])] += volume[f];
  }
  std::vector<float> size;
  for (const double v : volume) size.push_back(static_cast<float>(std::cbrt(v)));
  return size;
}

/// Fills in nodes, tails and samples.
void add_bones(const FieldSet& fields, std::span<const PosedField> rest, LiftChains& chains) {
  const std::size_t count = fields.fields.size();
  for (std::size_t f = 0; f < count; ++f) {
    const BoneField& field = fields.fields[f];
    chains.rest_nodes.push_back(field.segments.empty() ? Vec3d(Vec3d::Zero()) : field.segments[0].head);
    chains.node_field.push_back(static_cast<std::uint16_t>(f));
  }
  for (std::size_t f = 0; f < count; ++f) {
    const BoneField& field = fields.fields[f];
    for (std::size_t k = 0; k < field.segments.size(); ++k) {
      const BoneSegment& segment = field.segments[k];
      const Vec3d axis = segment.tail - segment.head;
      const auto next = static_cast<std::uint32_t>(chains.rest_nodes.size());
      std::uint32_t tail = next;
      double nearest = kSamePlace * axis.norm();
      for (const FieldJoint& joint : fields.joints) {
        const double apart = (joint.place - segment.tail).norm();
        if (joint.parent == f && apart <= nearest) tail = joint.child, nearest = apart;
      }
      if (tail == next) {
        chains.rest_nodes.push_back(segment.tail);
        chains.node_field.push_back(static_cast<std::uint16_t>(f));
      }
      chains.tails.push_back(tail);
      const double pieces = std::clamp(std::ceil(axis.norm() / (kSpacing * field.radius)), 1.0,
                                       static_cast<double>(kMostSamples));
      for (double piece = 0; piece <= pieces; ++piece) {
        LiftChains::Sample sample;
        sample.field = static_cast<std::uint16_t>(f);
        sample.segment = static_cast<std::uint16_t>(k);
        sample.along = static_cast<float>(piece / pieces);
        sample.first_known = static_cast<std::uint32_t>(chains.known.size());
        const Vec3f at = (segment.head + piece / pieces * axis).cast<float>();
        for (std::size_t b = 0; b < count; ++b)
          if (rest[b].usable && rest[b].sample(at).value > kKnownField)
            chains.known.push_back(static_cast<std::uint16_t>(b));
        sample.last_known = static_cast<std::uint32_t>(chains.known.size());
        chains.samples.push_back(sample);
      }
    }
    chains.first_segment.push_back(static_cast<std::uint32_t>(chains.tails.size()));
    chains.first_sample.push_back(static_cast<std::uint32_t>(chains.samples.size()));
  }
}

/// The fields that hang on a group, if they are many and short, as fingers on a palm and toes on a foot;
/// none otherwise.
std::vector<std::uint32_t> find_extremities(std::span<const std::uint32_t> group,
                                            std::span<const std::uint32_t> nodes,
                                            std::span<const std::int32_t> parent, const FieldSet& fields) {
  const auto in_group = [&](std::uint32_t f) {
    return std::find(group.begin(), group.end(), f) != group.end();
  };
  const auto length = [&](std::uint32_t f) { return longest_segment(fields.fields[f]); };
  std::vector<std::uint32_t> hanging;
  for (const std::uint32_t n : nodes)
    if (n < parent.size() && !in_group(n)) hanging.push_back(n);
  double reach = 0;  // of the group itself
  for (const std::uint32_t f : group) reach = std::max(reach, length(f) + fields.fields[f].radius);
  int branches = 0;
  for (const std::uint32_t f : hanging) {
    double chain = 0;
    std::uint32_t at = f;
    for (std::size_t steps = 0; !in_group(at); ++steps) {
      if (parent[at] < 0 || steps > parent.size()) return {};
      chain += length(at);
      at = static_cast<std::uint32_t>(parent[at]);
    }
    if (chain > kFinger * reach) return {};
    if (in_group(static_cast<std::uint32_t>(parent[f]))) ++branches;
  }
  return branches >= kFingers ? hanging : std::vector<std::uint32_t>{};
}

void find_groups(const FieldSet& fields, std::span<const PosedField> rest,
                 std::span<const std::int32_t> parent, LiftChains& chains) {
  const auto count = static_cast<std::uint32_t>(fields.fields.size());
  std::vector<std::uint32_t> leader(count);
  for (std::uint32_t f = 0; f < count; ++f) leader[f] = f;
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t from = leader[a], to = leader[b];
    std::replace(leader.begin(), leader.end(), from, to);
  };
  const auto axis = [&](std::uint32_t f) {
    Vec3d sum = Vec3d::Zero();
    for (const BoneSegment& segment : fields.fields[f].segments) sum += segment.tail - segment.head;
    return sum;
  };
  // By half of its samples at least.
  const auto lies_in = [&](std::uint32_t inner, std::uint32_t outer) {
    const auto samples = chains.samples_of(inner);
    const BoneField& field = fields.fields[inner];
    const auto inside = std::count_if(samples.begin(), samples.end(), [&](const LiftChains::Sample& s) {
      const BoneSegment& segment = field.segments[s.segment];
      const Vec3d at = segment.head + static_cast<double>(s.along) * (segment.tail - segment.head);
      return rest[outer].usable && rest[outer].sample(at.cast<float>()).value > kInsideChain;
    });
    return 2 * static_cast<std::size_t>(inside) >= samples.size();
  };
  const auto side_by_side = [&](std::uint32_t a, std::uint32_t b) {
    const Vec3d one = axis(a), other = axis(b);
    return one.dot(other) > kParallel * one.norm() * other.norm() && (lies_in(a, b) || lies_in(b, a));
  };
  const auto stump = [&](const BoneField& field) {
    return std::all_of(field.segments.begin(), field.segments.end(), [&](const BoneSegment& segment) {
      return (segment.tail - segment.head).norm() < kStump * field.radius;
    });
  };
  std::vector<std::uint32_t> clump(count);  // of bones side by side, the first of them
  for (std::uint32_t f = 0; f < count; ++f) clump[f] = f;
  for (std::uint32_t f = 0; f < count; ++f) {
    if (parent[f] < 0) continue;
    const auto above = static_cast<std::uint32_t>(parent[f]);
    if (stump(fields.fields[above])) join(f, above);
    for (std::uint32_t g = 0; g < f; ++g) {
      if (parent[f] != parent[g] || !side_by_side(f, g)) continue;
      join(f, g);
      const auto [first, second] = std::minmax(clump[f], clump[g]);
      std::replace(clump.begin(), clump.end(), std::uint32_t{second}, std::uint32_t{first});
    }
  }
  // Two that lie in each other are the legs of a slender animal.
  chains.palm_of.assign(count, -1);
  for (std::uint32_t f = 0; f < count; ++f)
    if (std::count(clump.begin(), clump.end(), clump[f]) >= kFingers)
      chains.palm_of[f] = static_cast<std::int32_t>(clump[f]);
  // With them the stump that they leave; and of a thumb, whose first bone is a carpal one, the next: its
  // ball.
  const std::vector<std::int32_t> palms = chains.palm_of;
  for (std::uint32_t f = 0; f < count; ++f) {
    if (parent[f] < 0) continue;
    const auto above = static_cast<std::size_t>(parent[f]);
    const BoneField& field = fields.fields[above];
    if (palms[f] >= 0 && chains.palm_of[above] < 0 && stump(field)) chains.palm_of[above] = palms[f];
    if (palms[f] < 0 && palms[above] >= 0 && longest_segment(field) < kShortBone * field.radius)
      chains.palm_of[f] = palms[above];
  }
  std::vector<std::int32_t> group_of(count, -1);
  for (const std::uint32_t f : chains.order) {
    std::int32_t& group = group_of[leader[f]];
    if (group < 0) {
      group = static_cast<std::int32_t>(chains.groups.size());
      chains.groups.emplace_back();
    }
    chains.groups[static_cast<std::size_t>(group)].push_back(f);
  }
  chains.group_of.resize(count);
  for (std::uint32_t g = 0; g < chains.groups.size(); ++g)
    for (const std::uint32_t f : chains.groups[g]) chains.group_of[f] = g;

  std::vector<std::vector<std::uint32_t>>& below = chains.below;
  below.resize(count);
  for (std::size_t i = chains.order.size(); i-- > 0;) {
    const std::uint32_t f = chains.order[i];
    for (const std::uint32_t tail : chains.tails_of(f)) {
      below[f].push_back(tail);
      if (tail < count) below[f].insert(below[f].end(), below[tail].begin(), below[tail].end());
    }
  }
  for (const std::vector<std::uint32_t>& group : chains.groups) {
    std::vector<std::uint32_t> nodes = group;
    for (const std::uint32_t f : group) nodes.insert(nodes.end(), below[f].begin(), below[f].end());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    chains.extremities.push_back(find_extremities(group, nodes, parent, fields));
    chains.carried.push_back(std::move(nodes));
  }
}

/// Out of what extremities rise together with the group that they belong to.
void find_common_meetings(LiftChains& chains) {
  const std::size_t count = chains.parent.size();
  chains.meets_as_one.assign(count * count, 0);
  for (std::size_t g = 0; g < chains.groups.size(); ++g) {
    const std::vector<std::uint32_t>& carried = chains.carried[g];
    for (std::uint32_t b = 0; b < count; ++b) {
      const bool is_part = std::find(carried.begin(), carried.end(), b) != carried.end();
      for (const std::uint32_t f : chains.extremities[g])
        if (!is_part) chains.meets_as_one[f * count + b] = chains.meets[f * count + b];
      // What a group carries along it cannot leave.
      for (const std::uint32_t f : chains.groups[g])
        if (is_part) chains.meets[f * count + b] = 0;
    }
  }
}

/// Fills in `extremity_of`, `is_end` and `is_pinned`.
void find_ends(LiftChains& chains) {
  const std::size_t count = chains.groups.size();
  chains.extremity_of.assign(count, -1);
  for (std::size_t g = 0; g < count; ++g)
    for (const std::uint32_t f : chains.extremities[g])
      chains.extremity_of[chains.group_of[f]] = static_cast<std::int32_t>(g);
  const auto above = [&](std::size_t g) {
    const std::int32_t parent = chains.parent[chains.groups[g][0]];
    return parent < 0 ? -1 : static_cast<std::int32_t>(chains.group_of[static_cast<std::size_t>(parent)]);
  };
  std::vector<int> branches(count, 0), following(count, 0);
  for (std::size_t g = count; g-- > 0;) {
    if (above(g) < 0) continue;
    const auto parent = static_cast<std::size_t>(above(g));
    ++branches[parent];
    if (chains.extremity_of[g] < 0) following[parent] = std::max(following[parent], following[g] + 1);
  }
  for (std::size_t g = 0; g < count; ++g) {
    chains.is_end.push_back(following[g] <= kEnd);
    chains.is_pinned.push_back(above(g) >= 0 && branches[static_cast<std::size_t>(above(g))] > 1);
  }
}

}  // namespace

bool LiftChains::is_known(const Sample& sample, std::uint16_t field) const {
  const auto first = known.begin() + sample.first_known, last = known.begin() + sample.last_known;
  return std::find(first, last, field) != last;
}

LiftChains make_lift_chains(const MeshView& rest, std::span<const std::int32_t> own, const FieldSet& fields,
                            std::size_t transform_count) {
  LiftChains chains;
  const std::vector<std::int32_t> parent = parents(fields);
  std::vector<PosedField> posed(fields.fields.size());
  pose_fields(fields, std::vector<Affine3d>(transform_count, Affine3d::Identity()), posed);
  chains.parent = parent;
  chains.order = parents_first(parent);
  chains.edge = mean_edges(rest, own, fields.fields.size());
  chains.size = limb_sizes(fields, chains.order, parent);
  add_bones(fields, posed, chains);
  chains.meets = find_meetings(fields, parent, chains);
  find_groups(fields, posed, parent, chains);
  find_common_meetings(chains);
  find_ends(chains);
  return chains;
}

}  // namespace sinew
