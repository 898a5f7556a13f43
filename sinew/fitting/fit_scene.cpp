#include <sinew/fitting/fit_scene.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/rotation.h>
#include <sinew/fitting/rig_graph.h>
#include <sinew/scene/merge_rig.h>
#include <sinew/skeleton/joint_names.h>
#include <sinew/skeleton/rig_from_skeleton.h>

namespace sinew {

namespace {

// A joint that rests otherwise than the rig's by more than this was posed differently.
constexpr double kPosedDifferently = 25 * 3.14159265358979323846 / 180;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

/// A head whose joints are only eyes, ears and jaw does not end at one of them, but goes on from the neck, a
/// little farther than they are away.
void end_head_in_front_of_face(ControlRig& rig) {
  const int head = find_head_bone(rig);
  RigBone& bone = rig.bones[u(head)];
  if (bone.parent < 0) return;
  double farthest = 0;
  int children = 0;
  for (const RigBone& child : rig.bones) {
    if (child.parent != head) continue;
    const bool leaf = std::none_of(rig.bones.begin(), rig.bones.end(), [&](const RigBone& other) {
      return other.parent >= 0 && &rig.bones[u(other.parent)] == &child;
    });
    if (!leaf) return;
    farthest = std::max(farthest, (child.head - bone.head).norm());
    ++children;
  }
  const Vec3d way = bone.head - rig.bones[u(bone.parent)].head;
  if (children < 2 || !(way.norm() > 0) || !(farthest > 0)) return;
  const Mat3d frame = bone_frame(bone.tail - bone.head, bone.roll);
  bone.tail = bone.head + 1.3 * farthest * way.normalized();
  // The axes as near as they were.
  const Quatd turn = shortest_turn(frame.col(1), way.normalized());
  bone.roll = bone_roll(turn.toRotationMatrix() * frame);
}

/// A rig, with the joint of each bone.
struct RigOfScene {
  ControlRig rig;
  std::vector<int> joint_of_bone;
  std::vector<Affine3d> world_from_joint;
  bool plain = false;  ///< made of joints alone
};

RigOfScene rig_of(const Scene& scene) {
  RigOfScene result;
  if (scene.control_rig) {
    result.rig = *scene.control_rig;
    result.joint_of_bone.assign(result.rig.bones.size(), -1);
    for (std::size_t j = 0; j < scene.joint_bones.size(); ++j)
      if (scene.joint_bones[j] >= 0) result.joint_of_bone[u(scene.joint_bones[j])] = static_cast<int>(j);
    std::vector<Transform> rest;
    for (const Joint& joint : scene.skeleton.joints) rest.push_back(joint.rest);
    result.world_from_joint.resize(scene.skeleton.size());
    forward_kinematics(scene.skeleton, rest, result.world_from_joint);
    return result;
  }
  result.plain = true;
  result.world_from_joint = bind_pose(scene).world_from_joint;
  std::vector<int> joints = rig_joints(scene);
  if (joints.empty())
    throw Error(fmt::format("{}: has no joints to fit; give a rig with --rig, such as template:biped",
                            scene.source.string()));
  result.rig = rig_from_skeleton(scene.skeleton, result.world_from_joint, joints);
  result.rig.name = scene.source.stem().string();
  for (std::size_t b = 0; b < joints.size(); ++b) {
    RigBone& bone = result.rig.bones[b];
    const auto children =
        std::count_if(result.rig.bones.begin(), result.rig.bones.end(),
                      [&](const RigBone& other) { return other.parent == static_cast<int>(b); });
    if (bone.parent < 0 && children == 1 && is_ground_name(bone.name)) bone.deforms = false;
  }
  end_head_in_front_of_face(result.rig);
  result.joint_of_bone = std::move(joints);
  return result;
}

/// All meshes as they stand among the joints.
Mesh joined(const Scene& scene) {
  const BindPose pose = bind_pose(scene);
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  for (std::size_t m = 0; m < scene.meshes.size(); ++m) {
    const Mesh& surface = scene.meshes[m].surface;
    const auto first = static_cast<std::uint32_t>(positions.size());
    for (const Vec3f& p : surface.positions)
      positions.push_back((pose.scene_from_mesh[m] * p.cast<double>()).cast<float>());
    for (const Triangle& t : surface.triangles)
      triangles.push_back({t[0] + first, t[1] + first, t[2] + first});
  }
  return make_mesh(std::move(positions), triangles);
}

/// The rig's scene with its joints in their new places, without those of dropped bones.
class MovedRig {
 public:
  MovedRig(const Scene& source, const RigOfScene& rig, const FittedRig& fitted)
      : source_(source), rig_(rig), fitted_(fitted) {}

  Scene make(double scale) {
    const std::size_t count = source_.skeleton.size();
    bone_of_joint_.assign(count, -1);
    for (std::size_t b = 0; b < rig_.joint_of_bone.size(); ++b)
      if (rig_.joint_of_bone[b] >= 0) bone_of_joint_[u(rig_.joint_of_bone[b])] = static_cast<int>(b);
    scene_.source = source_.source;
    place_.assign(count, -1);
    for (std::size_t j = 0; j < count; ++j) move_joint(static_cast<int>(j));
    scene_.control_rig = std::make_shared<ControlRig>(without_dropped(fitted_));
    scene_.joint_bones.assign(scene_.skeleton.size(), -1);
    for (std::size_t j = 0; j < count; ++j)
      if (place_[j] >= 0 && bone_of_joint_[j] >= 0)
        scene_.joint_bones[u(place_[j])] =
            scene_.control_rig->find(rig_.rig.bones[u(bone_of_joint_[j])].name);
    for (const Clip& clip : source_.clips) move_clip(clip, scale);
    return std::move(scene_);
  }

 private:
  void move_joint(int j) {
    const Joint& joint = source_.skeleton.joints[u(j)];
    const int bone = bone_of_joint_[u(j)];
    int parent = joint.parent;
    while (parent >= 0 && place_[u(parent)] < 0) parent = source_.skeleton.joints[u(parent)].parent;
    Affine3d world;
    if (bone >= 0) {
      if (fitted_.fate[u(bone)] == BoneFate::dropped) {
        world_.push_back(Affine3d::Identity());
        return;
      }
      const RigBone &before = rig_.rig.bones[u(bone)], &now = fitted_.rig.bones[u(bone)];
      world.linear() = bone_frame(now.tail - now.head, now.roll) *
                       bone_frame(before.tail - before.head, before.roll).transpose() *
                       rig_.world_from_joint[u(j)].linear();
      world.translation() = now.head;
    } else {
      // Nodes that are no bones: those above the rig stay, those below go with it.
      const Affine3d above =
          joint.parent >= 0 ? rig_.world_from_joint[u(joint.parent)] : Affine3d::Identity();
      Affine3d local = above.inverse() * rig_.world_from_joint[u(j)];
      const int carrier = joint.parent >= 0 ? bone_of_joint_[u(joint.parent)] : -1;
      if (carrier >= 0 && rig_.rig.bones[u(carrier)].length() > 0)
        local.translation() *= fitted_.rig.bones[u(carrier)].length() / rig_.rig.bones[u(carrier)].length();
      world = (parent >= 0 ? world_[u(parent)] : Affine3d::Identity()) * local;
    }
    world_.push_back(world);
    Joint moved = joint;
    moved.parent = parent >= 0 ? place_[u(parent)] : -1;
    moved.deforms = bone >= 0 && rig_.rig.bones[u(bone)].deforms;
    moved.rest = decompose((parent >= 0 ? world_[u(parent)].inverse() : Affine3d::Identity()) * world);
    place_[u(j)] = static_cast<int>(scene_.skeleton.size());
    scene_.skeleton.joints.push_back(std::move(moved));
  }

  void move_clip(const Clip& clip, double scale) {
    Clip moved;
    moved.name = clip.name;
    for (Channel channel : clip.channels) {
      if (channel.path == ChannelPath::morph_weights) continue;
      const int joint = channel.target;
      if (place_[u(joint)] < 0) continue;
      const Transform &before = source_.skeleton.joints[u(joint)].rest,
                      &now = scene_.skeleton.joints[u(place_[u(joint)])].rest;
      channel.target = place_[u(joint)];
      const std::size_t width = u(channel.width), keys = channel.values.size() / width;
      const bool cubic = channel.interpolation == Interpolation::cubic_spline;
      for (std::size_t k = 0; k < keys; ++k) {
        float* value = channel.values.data() + k * width;
        const bool tangent = cubic && k % 3 != 1;
        if (channel.path == ChannelPath::rotation) {
          // From the joint's rest, or from where the rig's would be.
          const Quatf base = before.rotation.angularDistance(now.rotation) > kPosedDifferently
                                 ? Quatf::Identity()
                                 : Quatf(now.rotation * before.rotation.conjugate());
          const Quatf turned = base * Quatf(value[3], value[0], value[1], value[2]);
          value[0] = turned.x(), value[1] = turned.y(), value[2] = turned.z(), value[3] = turned.w();
        } else if (channel.path == ChannelPath::translation) {
          for (int axis = 0; axis < 3; ++axis) {
            const float from = tangent ? 0 : before.translation[axis],
                        to = tangent ? 0 : now.translation[axis];
            value[axis] = to + static_cast<float>(scale) * (value[axis] - from);
          }
        }
      }
      moved.channels.push_back(std::move(channel));
    }
    if (!moved.channels.empty()) scene_.clips.push_back(std::move(moved));
  }

  const Scene& source_;
  const RigOfScene& rig_;
  const FittedRig& fitted_;
  Scene scene_;
  std::vector<int> bone_of_joint_, place_;
  std::vector<Affine3d> world_;  // new, per joint of the source
};

/// Meshes that were bound to other joints hang on the new rig's first one until they are bound again. Else,
/// where no rig says which joints move skin (joints with axes of their own cannot be said by bones), a skin
/// does that no mesh uses yet.
void bind_to_new_rig(Scene& scene, const Scene& rig, const std::vector<int>& joint_of_rig,
                     const std::vector<Affine3d>& scene_from_mesh) {
  std::vector<Transform> rest;
  for (const Joint& joint : scene.skeleton.joints) rest.push_back(joint.rest);
  std::vector<Affine3d> world(scene.skeleton.size());
  forward_kinematics(scene.skeleton, rest, world);
  std::vector<int> joints;
  for (std::size_t j = 0; j < rig.skeleton.size(); ++j)
    if (rig.skeleton.joints[j].deforms && joint_of_rig[j] >= 0) joints.push_back(joint_of_rig[j]);
  const auto inverse_binds = [&](const Affine3d& from_mesh) {
    std::vector<Mat4f> matrices;
    for (const int joint : joints)
      matrices.push_back((world[u(joint)].inverse() * from_mesh).matrix().cast<float>());
    return matrices;
  };
  std::vector<NewBinding> bindings;
  for (std::size_t m = 0; m < scene.meshes.size(); ++m) {
    if (scene.meshes[m].skin < 0) continue;
    NewBinding binding{m, inverse_binds(scene_from_mesh[m]), {}};
    for (std::size_t v = 0; v < scene.meshes[m].surface.positions.size(); ++v) {
      binding.weights.joints.push_back(0);
      binding.weights.values.push_back(1);
      binding.weights.starts.push_back(static_cast<std::uint32_t>(v + 1));
    }
    bindings.push_back(std::move(binding));
  }
  const std::string name = rig.source.stem().string();
  if (bindings.empty() && !scene.control_rig)
    scene.skins.push_back({name, joints, inverse_binds(Affine3d::Identity())});
  else if (!bindings.empty())
    bind_meshes(scene, joints, name, std::move(bindings));
}

}  // namespace

ControlRig without_dropped(const FittedRig& fitted) {
  ControlRig rig = fitted.rig;
  std::vector<int> place(rig.bones.size(), -1);
  rig.bones.clear();
  for (std::size_t b = 0; b < fitted.rig.bones.size(); ++b)
    if (fitted.fate[b] != BoneFate::dropped) {
      place[b] = static_cast<int>(rig.bones.size());
      rig.bones.push_back(fitted.rig.bones[b]);
    }
  const auto gone = [&](const std::string& name) {
    const int bone = name.empty() ? -1 : fitted.rig.find(name);
    return bone >= 0 && place[u(bone)] < 0;
  };
  for (RigBone& bone : rig.bones) {
    while (bone.parent >= 0 && place[u(bone.parent)] < 0) {
      bone.parent = fitted.rig.bones[u(bone.parent)].parent;
      bone.connected = false;
    }
    if (bone.parent >= 0) bone.parent = place[u(bone.parent)];
    for (RigConstraint& constraint : bone.constraints) {
      for (ConstraintTarget& target : constraint.targets)
        if (gone(target.bone)) target.bone.clear();
      if (gone(constraint.pole)) constraint.pole.clear();
    }
  }
  return rig;
}

FittedScene fit_scene(const Scene& mesh, const Scene& rig, const FitOptions& options) {
  if (mesh.meshes.empty()) throw Error(fmt::format("{}: has no mesh to fit a rig to", mesh.source.string()));
  const RigOfScene source = rig_of(rig);
  FitOptions own = options;
  if (source.plain) own.placement.tails_known = false;
  const Mesh surface = joined(mesh);
  FittedScene result;
  const FittedRig fitted = fit_rig(surface.view(), source.rig, own, &result.report);
  MovedRig moved(rig, source, fitted);
  const Scene moved_scene = moved.make(result.report.scale);
  result.rig = *moved_scene.control_rig;
  MergedRig merged = merge_rig(mesh, moved_scene);
  result.scene = std::move(merged.scene);
  result.warnings = std::move(merged.warnings);
  if (source.plain) {
    result.scene.control_rig.reset();
    result.scene.joint_bones.clear();
  }
  bind_to_new_rig(result.scene, moved_scene, merged.joint_of_rig, bind_pose(mesh).scene_from_mesh);
  check_scene(result.scene);
  return result;
}

}  // namespace sinew
