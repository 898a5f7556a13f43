#include <sinew/skeleton/flesh_bones.h>

#include <array>
#include <cassert>
#include <cmath>
#include <map>

#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr double kAlongAxis = 0.95;
constexpr double kAgreement = 0.6;
constexpr int kFewestVotes = 3;
constexpr double kAxisCone = 30, kParentCone = 45;  // degrees
// A child this near to a bone's direction continues it …
constexpr double kContinues = 50;  // degrees
// … unless the flesh goes on for so many times its distance.
constexpr double kFleshBeyond = 3;
// Own bones shorter than this share of the bone before are only the joint's own girth.
constexpr double kShortest = 0.4;

// Bones end at this share of the distance to the surface. On it, rounding would decide who sees them.
constexpr double kTailShare = 0.9;

double radians(double degrees) {
  return degrees * M_PI / 180;
}

/// The displacement to the surface, within a cone, that goes farthest in the cone's own direction. Zero
/// outside.
Vec3d longest_reach(const OrientedSurface& surface, const Vec3d& from, const Vec3d& direction,
                    double degrees) {
  constexpr int kRings = 5;
  const Vec3d side = direction.unitOrthogonal(), other = direction.cross(side);
  Vec3d best = Vec3d::Zero();
  double farthest = 0;
  for (int ring = 0; ring <= kRings; ++ring) {
    const double tilt = radians(degrees) * ring / kRings;
    const int count = ring == 0 ? 1 : 8 * ring;
    for (int k = 0; k < count; ++k) {
      const double turn = 2 * M_PI * k / count;
      const Vec3d tilted =
          std::cos(tilt) * direction + std::sin(tilt) * (std::cos(turn) * side + std::sin(turn) * other);
      const double length = surface.reach(from, tilted);
      // Tilting must be worth it: rounding alone does not turn a bone.
      if (length * std::cos(tilt) > farthest * 1.001) {
        farthest = length * std::cos(tilt);
        best = length * tilted;
      }
    }
  }
  return best;
}

}  // namespace

BoneAxis find_bone_axis(std::span<const Bone> bones, std::span<const Affine3d> world_from_joint) {
  std::map<int, int> children;
  for (const Bone& bone : bones)
    if (bone.child >= 0) ++children[bone.joint];
  std::array<int, 6> votes{};
  int voters = 0;
  for (const Bone& bone : bones) {
    const Vec3d along = bone.tail - bone.head;
    if (bone.child < 0 || children[bone.joint] != 1 || !(along.norm() > 0)) continue;
    ++voters;
    const Mat3d linear = world_from_joint[to_size(bone.joint)].linear();
    for (int i = 0; i < 3; ++i) {
      const Vec3d axis = linear.col(i);
      const double cosine = axis.dot(along) / (axis.norm() * along.norm());
      if (cosine > kAlongAxis) ++votes[to_size(2 * i)];
      if (cosine < -kAlongAxis) ++votes[to_size(2 * i + 1)];
    }
  }
  for (int i = 0; i < 6; ++i)
    if (voters >= kFewestVotes && votes[to_size(i)] > kAgreement * voters)
      return {i / 2, i % 2 == 0 ? 1.0 : -1.0};
  return {};
}

std::vector<Bone> bones_in_flesh(const Skeleton& skeleton, std::span<const Affine3d> world_from_joint,
                                 const OrientedSurface& surface) {
  assert(world_from_joint.size() == skeleton.size());
  const std::vector<Bone> plain = derive_bones(skeleton, world_from_joint);
  const BoneAxis axis = find_bone_axis(plain, world_from_joint);
  const auto usable_axis = [&](int joint) {
    return axis.axis >= 0 && world_from_joint[to_size(joint)].linear().col(axis.axis).norm() > 1e-12;
  };

  // Per joint: the bone that leads to it, and what its own bones lead to.
  std::vector<Vec3d> incoming(skeleton.size(), Vec3d::Zero());
  std::vector<std::uint8_t> is_leaf(skeleton.size(), 0), has_limb(skeleton.size(), 0);
  std::vector<int> parent(skeleton.size(), -1);
  for (const Bone& bone : plain) {
    if (bone.child < 0) {
      is_leaf[to_size(bone.joint)] = 1;
    } else {
      incoming[to_size(bone.child)] = bone.tail - bone.head;
      parent[to_size(bone.child)] = bone.joint;
    }
  }
  for (const Bone& bone : plain)
    if (bone.child >= 0 && is_leaf[to_size(bone.child)] == 0) has_limb[to_size(bone.joint)] = 1;

  // Joints whose children are leaves and leave the flesh ahead to them.
  std::vector<Bone> own(skeleton.size());
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    if (is_leaf[j] != 0 || has_limb[j] != 0 || !(incoming[j].norm() > 0)) continue;
    const int joint = static_cast<int>(j);
    const Vec3d head = world_from_joint[j].translation();
    const Vec3d direction =
        usable_axis(joint) ? axis.direction(world_from_joint[j]) : Vec3d(incoming[j].normalized());
    const double length = surface.reach(head, direction);
    if (length < kShortest * incoming[j].norm()) continue;
    bool taken = false, any = false;
    for (const Bone& bone : plain) {
      if (bone.joint != joint) continue;
      any = true;
      const Vec3d along = bone.tail - bone.head;
      taken = taken || (along.dot(direction) > std::cos(radians(kContinues)) * along.norm() &&
                        length < kFleshBeyond * along.norm());
    }
    if (any && !taken) own[j] = {joint, -1, head, head + kTailShare * length * direction};
  }

  const LeafTail tail = [&](int joint, const Vec3d& head, const Vec3d& direction) -> std::optional<Vec3d> {
    const int above = parent[to_size(joint)];
    const bool follows_axis = usable_axis(joint);
    if (!follows_axis && above >= 0 && own[to_size(above)].joint >= 0) return std::nullopt;
    const Vec3d reach =
        follows_axis
            ? longest_reach(surface, head, axis.direction(world_from_joint[to_size(joint)]), kAxisCone)
            : longest_reach(surface, head, direction, kParentCone);
    if (reach.isZero()) return std::nullopt;
    return head + kTailShare * reach;
  };
  std::vector<Bone> bones;
  for (const Bone& bone : derive_bones(skeleton, world_from_joint, tail)) {
    // Sorted by joint: a joint's own bone comes before its others.
    if (own[to_size(bone.joint)].joint >= 0) {
      bones.push_back(own[to_size(bone.joint)]);
      own[to_size(bone.joint)].joint = -1;
    }
    bones.push_back(bone);
  }
  return bones;
}

}  // namespace sinew
