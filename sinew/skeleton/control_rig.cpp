#include <sinew/skeleton/control_rig.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

constexpr std::array<std::pair<ConstraintKind, std::string_view>, 12> kConstraintNames{{
    {ConstraintKind::ik, "ik"},
    {ConstraintKind::copy_rotation, "copy_rotation"},
    {ConstraintKind::copy_location, "copy_location"},
    {ConstraintKind::copy_scale, "copy_scale"},
    {ConstraintKind::copy_transforms, "copy_transforms"},
    {ConstraintKind::damped_track, "damped_track"},
    {ConstraintKind::armature, "armature"},
    {ConstraintKind::limit_rotation, "limit_rotation"},
    {ConstraintKind::limit_location, "limit_location"},
    {ConstraintKind::limit_scale, "limit_scale"},
    {ConstraintKind::limit_distance, "limit_distance"},
    {ConstraintKind::stretch_to, "stretch_to"},
}};

// Blender takes directions this near to -y, in radians, for -y itself (armature.c, vec_roll_to_mat3).
constexpr double kOpposite = 2.5e-4;
// As for vertices: beyond it, products no longer fit a float.
constexpr double kFarthest = 1e15;

const RigBone& at(const ControlRig& rig, int bone) {
  return rig.bones[to_size(bone)];
}

/// Whether `ancestor` is `bone` or above it, going up by `parents`.
bool is_above(const std::vector<int>& parents, int ancestor, int bone) {
  for (std::size_t steps = 0; bone >= 0 && steps <= parents.size(); ++steps) {
    if (bone == ancestor) return true;
    bone = parents[to_size(bone)];
  }
  return false;
}

}  // namespace

int ControlRig::find(std::string_view bone) const {
  for (std::size_t b = 0; b < bones.size(); ++b)
    if (bones[b].name == bone) return static_cast<int>(b);
  return -1;
}

Mat3d bone_frame(const Vec3d& direction, double roll) {
  const double length = direction.norm();
  Vec3d y = length > 0 && std::isfinite(length) ? Vec3d(direction / length) : Vec3d(Vec3d::UnitY());
  // In Blender's axes, where the frame without roll is the shortest turn from +y.
  const Vec3d d(y.x(), -y.z(), y.y());
  Mat3d turn;
  // 1 + d.y, without its cancellation near -y.
  const double beside = d.x() * d.x() + d.z() * d.z();
  const double c = d.y() > 0 ? 1 + d.y() : beside / (1 - d.y());
  if (beside > kOpposite * kOpposite || d.y() > 0)
    turn << 1 - d.x() * d.x() / c, d.x(), -d.x() * d.z() / c,  //
        -d.x(), d.y(), -d.z(),                                 //
        -d.x() * d.z() / c, d.z(), 1 - d.z() * d.z() / c;
  else  // half a turn about z, as Blender has it
    turn << -1, 0, 0, 0, -1, 0, 0, 0, 1;
  Mat3d ours;
  ours << turn.row(0), turn.row(2), -turn.row(1);
  // Exact also where the half turn stands for a direction beside it.
  ours.col(1) = y;
  ours.col(0) = (ours.col(0) - ours.col(0).dot(y) * y).normalized();
  ours.col(2) = ours.col(0).cross(y);
  return Eigen::AngleAxisd(roll, y).toRotationMatrix() * ours;
}

double bone_roll(const Mat3d& frame) {
  const Mat3d flat = bone_frame(frame.col(1), 0);
  const Vec3d x = frame.col(0);
  return std::atan2(x.dot(flat.col(0).cross(frame.col(1))) * -1, x.dot(flat.col(0)));
}

std::vector<int> parents_first(const ControlRig& rig) {
  const std::size_t count = rig.bones.size();
  std::vector<int> order;
  order.reserve(count);
  std::vector<char> done(count, 0);
  std::vector<int> path;
  for (std::size_t b = 0; b < count; ++b) {
    path.clear();
    for (int up = static_cast<int>(b); up >= 0 && !done[to_size(up)] && path.size() <= count;
         up = at(rig, up).parent)
      path.push_back(up);
    for (auto bone = path.rbegin(); bone != path.rend(); ++bone) {
      if (done[to_size(*bone)]) continue;
      done[to_size(*bone)] = 1;
      order.push_back(*bone);
    }
  }
  return order;
}

std::vector<int> deform_parents(const ControlRig& rig) {
  const std::size_t count = rig.bones.size();
  double size = 0;
  for (const RigBone& bone : rig.bones) size = std::max(size, bone.length());
  const double tolerance = 1e-4 * size;
  // What each controller stands for: the deforming bone that starts where it does and has its direction.
  std::vector<int> stands_for(count, -1);
  for (std::size_t c = 0; c < count; ++c) {
    const RigBone& controller = rig.bones[c];
    if (controller.deforms) continue;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t b = 0; b < count; ++b) {
      const RigBone& bone = rig.bones[b];
      if (!bone.deforms || (bone.head - controller.head).norm() > tolerance) continue;
      // Both lie on one line, whichever is longer.
      const bool longer = bone.length() > controller.length();
      const Vec3d& end = longer ? controller.tail : bone.tail;
      const RigBone& longest = longer ? bone : controller;
      if ((nearest_on_segment(longest.head, longest.tail, end) - end).norm() > 10 * tolerance) continue;
      const double difference = (bone.tail - controller.tail).norm();
      if (difference < best) {
        best = difference;
        stands_for[c] = static_cast<int>(b);
      }
    }
  }
  std::vector<int> parents(count, -1);
  for (const int b : parents_first(rig)) {
    if (!at(rig, b).deforms) continue;
    std::size_t steps = 0;
    for (int up = at(rig, b).parent; up >= 0 && steps <= count; up = at(rig, up).parent, ++steps) {
      const int candidate = at(rig, up).deforms ? up : stands_for[to_size(up)];
      if (candidate < 0 || candidate == b || is_above(parents, b, candidate)) continue;
      parents[to_size(b)] = candidate;
      break;
    }
  }
  return parents;
}

void check_rig(const ControlRig& rig, const std::string& where) {
  std::unordered_set<std::string_view> names;
  const auto fail = [&](const RigBone& bone, std::string_view what) {
    throw Error(fmt::format("{}: bone '{}': {}", where, bone.name, what));
  };
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    const RigBone& bone = rig.bones[b];
    if (bone.name.empty()) throw Error(fmt::format("{}: bone {} has no name", where, b));
    if (!names.insert(bone.name).second) fail(bone, "there are two of that name");
    if (!bone.head.allFinite() || !bone.tail.allFinite() || !std::isfinite(bone.roll))
      fail(bone, "head, tail or roll is not a finite number");
    if (bone.head.cwiseAbs().maxCoeff() > kFarthest || bone.tail.cwiseAbs().maxCoeff() > kFarthest)
      fail(bone, "head or tail is more than 1e15 m from the origin");
    if (bone.parent < -1 || bone.parent >= static_cast<int>(rig.bones.size()))
      fail(bone, fmt::format("parent {} does not exist ({} bones)", bone.parent, rig.bones.size()));
  }
  for (const RigBone& bone : rig.bones)
    for (const RigConstraint& constraint : bone.constraints) {
      const auto check_target = [&](const std::string& target, std::string_view what) {
        if (!target.empty() && !names.contains(target))
          fail(bone,
               fmt::format("constraint '{}': {} '{}' is no bone of the rig", constraint.name, what, target));
      };
      bool finite = std::isfinite(constraint.influence) && std::isfinite(constraint.pole_angle) &&
                    std::isfinite(constraint.length);
      for (const ConstraintTarget& target : constraint.targets) {
        check_target(target.bone, "target");
        finite = finite && std::isfinite(target.weight);
      }
      check_target(constraint.pole, "pole");
      if (!finite)
        fail(bone, fmt::format("constraint '{}' has a number that is not finite", constraint.name));
      if (constraint.influence < 0 || constraint.influence > 1)
        fail(bone, fmt::format("constraint '{}': influence {}; allowed is 0 to 1", constraint.name,
                               constraint.influence));
      if (constraint.length < 0 || constraint.chain_length < 0)
        fail(bone, fmt::format("constraint '{}': a length is negative", constraint.name));
    }
  // A walk up from any bone ends within as many steps as there are bones, unless there is a cycle.
  std::vector<char> known(rig.bones.size(), 0);
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    std::vector<int> path;
    for (int up = static_cast<int>(b); up >= 0 && !known[to_size(up)]; up = at(rig, up).parent) {
      path.push_back(up);
      if (path.size() > rig.bones.size()) fail(rig.bones[b], "is its own ancestor");
    }
    for (const int bone : path) known[to_size(bone)] = 1;
  }
}

std::string_view constraint_name(ConstraintKind kind) {
  for (const auto& [value, name] : kConstraintNames)
    if (value == kind) return name;
  return "other";
}

ConstraintKind constraint_kind(std::string_view name) {
  for (const auto& [value, text] : kConstraintNames)
    if (text == name) return value;
  return ConstraintKind::other;
}

}  // namespace sinew
