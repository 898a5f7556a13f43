#include <sinew/fitting/fit_scene.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/rotation.h>
#include <sinew/fitting/rig_bones.h>
#include <sinew/fitting/rig_graph.h>
#include <sinew/scene/merge_rig.h>
#include <sinew/skeleton/joint_names.h>
#include <sinew/skeleton/rig_from_skeleton.h>

namespace sinew {

namespace {

/// By hand, on the built-in characters and human.glb.
struct FitSceneParams {
  /// Radians: a joint whose rest rotation differs by more from the rig's was posed differently, as a shoulder
  /// in T-pose and A-pose.
  double posed_differently = 25 * kDegree;
  /// Length of a head whose joints are only those of its face, over the distance of the farthest of them.
  double head_length = 1.3;
};
constexpr FitSceneParams kFitSceneParams;

/// A head whose joints are only eyes, ears and jaw does not end at one of them, but continues the neck, a
/// little farther than they are away.
void end_head_in_front_of_face(ControlRig& rig) {
  const BoneId head = find_head_bone(rig);
  RigBone& bone = bone_at(rig, head);
  if (bone.parent < 0) return;
  const auto has_parent = [](BoneId parent) {
    return [parent](const RigBone& other) { return BoneId(other.parent) == parent; };
  };
  double farthest = 0;
  int children = 0;
  for (const BoneId b : bone_ids(rig)) {
    if (parent_of(rig, b) != head) continue;
    if (std::any_of(rig.bones.begin(), rig.bones.end(), has_parent(b))) return;
    farthest = std::max(farthest, (bone_at(rig, b).head - bone.head).norm());
    ++children;
  }
  const Vec3d neck = bone.head - bone_at(rig, parent_of(rig, head)).head;
  if (children < 2 || !(neck.norm() > 0) || !(farthest > 0)) return;
  const Mat3d frame = bone_frame(bone.tail - bone.head, bone.roll);
  bone.tail = bone.head + kFitSceneParams.head_length * farthest * neck.normalized();
  // The axes as near as they were.
  const Quatd turn = shortest_turn(frame.col(1), neck.normalized());
  bone.roll = bone_roll(turn.toRotationMatrix() * frame);
}

/// A rig, with the joint of each bone.
struct SceneRig {
  ControlRig rig;
  PerBone<JointId> joint_of_bone;
  PerJoint<Affine3d> world_from_joint;
  bool joints_only = false;  ///< made from a skeleton, which knows no tails and no controllers
};

SceneRig rig_of(const Scene& scene) {
  SceneRig result;
  if (scene.control_rig) {
    result.rig = *scene.control_rig;
    result.joint_of_bone.assign(result.rig.bones.size(), JointId::kNone);
    for (std::size_t j = 0; j < scene.joint_bones.size(); ++j)
      if (const BoneId bone(scene.joint_bones[j]); bone.valid()) result.joint_of_bone[bone] = JointId(j);
    std::vector<Transform> rest;
    for (const Joint& joint : scene.skeleton.joints) rest.push_back(joint.rest);
    std::vector<Affine3d> world(scene.skeleton.size());
    forward_kinematics(scene.skeleton, rest, world);
    result.world_from_joint = PerJoint<Affine3d>(std::move(world));
    return result;
  }
  result.joints_only = true;
  const std::vector<Affine3d> world = bind_pose(scene).world_from_joint;
  const std::vector<int> joints = rig_joints(scene);
  if (joints.empty())
    throw Error(fmt::format("{}: has no joints to fit; give a rig with --rig, such as template:biped",
                            scene.source.string()));
  result.rig = rig_from_skeleton(scene.skeleton, world, joints);
  result.rig.name = scene.source.stem().string();
  for (const BoneId b : bone_ids(result.rig)) {
    RigBone& bone = bone_at(result.rig, b);
    const auto children = std::count_if(result.rig.bones.begin(), result.rig.bones.end(),
                                        [&](const RigBone& other) { return BoneId(other.parent) == b; });
    if (bone.parent < 0 && children == 1 && is_ground_name(bone.name)) bone.deforms = false;
  }
  end_head_in_front_of_face(result.rig);
  for (const int joint : joints) result.joint_of_bone.push_back(JointId(joint));
  result.world_from_joint = PerJoint<Affine3d>(world);
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
  MovedRig(const Scene& source, const SceneRig& rig, const FittedRig& fitted)
      : source_(source), rig_(rig), fitted_(fitted) {}

  Scene make(double scale) {
    const std::size_t count = source_.skeleton.size();
    bone_of_joint_.assign(count, BoneId::kNone);
    for (const BoneId b : rig_.joint_of_bone.ids())
      if (rig_.joint_of_bone[b].valid()) bone_of_joint_[rig_.joint_of_bone[b]] = b;
    scene_.source = source_.source;
    moved_.assign(count, JointId::kNone);
    for (const JointId j : moved_.ids()) move_joint(j);
    scene_.control_rig = std::make_shared<ControlRig>(without_dropped(fitted_));
    scene_.joint_bones.assign(scene_.skeleton.size(), -1);
    for (const JointId j : moved_.ids())
      if (moved_[j].valid() && bone_of_joint_[j].valid())
        scene_.joint_bones[moved_[j].offset()] =
            scene_.control_rig->find(bone_at(rig_.rig, bone_of_joint_[j]).name);
    for (const Clip& clip : source_.clips) move_clip(clip, scale);
    return std::move(scene_);
  }

 private:
  const Joint& source_joint(JointId j) const { return source_.skeleton.joints[j.offset()]; }

  void move_joint(JointId j) {
    const Joint& joint = source_joint(j);
    const BoneId bone = bone_of_joint_[j];
    const JointId old_parent(joint.parent);
    JointId parent = old_parent;
    while (parent.valid() && !moved_[parent].valid()) parent = JointId(source_joint(parent).parent);
    Affine3d world;
    if (bone.valid()) {
      if (fitted_.fate[bone] == BoneFate::dropped) {
        world_.push_back(Affine3d::Identity());
        return;
      }
      const RigBone &before = bone_at(rig_.rig, bone), &now = bone_at(fitted_.rig, bone);
      world.linear() = bone_frame(now.tail - now.head, now.roll) *
                       bone_frame(before.tail - before.head, before.roll).transpose() *
                       rig_.world_from_joint[j].linear();
      world.translation() = now.head;
    } else {
      // Nodes that are no bones: those above the rig stay, those below move with it.
      const Affine3d above = old_parent.valid() ? rig_.world_from_joint[old_parent] : Affine3d::Identity();
      Affine3d local = above.inverse() * rig_.world_from_joint[j];
      const BoneId carrier = old_parent.valid() ? bone_of_joint_[old_parent] : BoneId::kNone;
      if (carrier.valid() && bone_at(rig_.rig, carrier).length() > 0)
        local.translation() *= bone_at(fitted_.rig, carrier).length() / bone_at(rig_.rig, carrier).length();
      world = (parent.valid() ? world_[parent] : Affine3d::Identity()) * local;
    }
    world_.push_back(world);
    Joint moved = joint;
    moved.parent = parent.valid() ? moved_[parent].value() : -1;
    moved.deforms = bone.valid() && bone_at(rig_.rig, bone).deforms;
    moved.rest = decompose((parent.valid() ? world_[parent].inverse() : Affine3d::Identity()) * world);
    moved_[j] = JointId(scene_.skeleton.size());
    scene_.skeleton.joints.push_back(std::move(moved));
  }

  void move_clip(const Clip& clip, double scale) {
    Clip moved;
    moved.name = clip.name;
    for (Channel channel : clip.channels) {
      if (channel.path == ChannelPath::morph_weights) continue;
      const JointId joint(channel.target);
      if (!moved_[joint].valid()) continue;
      const Transform &before = source_joint(joint).rest,
                      &now = scene_.skeleton.joints[moved_[joint].offset()].rest;
      channel.target = moved_[joint].value();
      const auto width = to_size(channel.width);
      const std::size_t keys = channel.values.size() / width;
      const bool cubic = channel.interpolation == Interpolation::cubic_spline;
      for (std::size_t k = 0; k < keys; ++k) {
        float* value = channel.values.data() + k * width;
        const bool tangent = cubic && k % 3 != 1;
        if (channel.path == ChannelPath::rotation) {
          // From the joint's rest, or from where the rig's would be.
          const Quatf base = before.rotation.angularDistance(now.rotation) > kFitSceneParams.posed_differently
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
  const SceneRig& rig_;
  const FittedRig& fitted_;
  Scene scene_;
  PerJoint<BoneId> bone_of_joint_;  // of the source's joints …
  PerJoint<JointId> moved_;         // … and the joint of the new scene
  PerJoint<Affine3d> world_;        // new, per joint of the source
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
      matrices.push_back((world[to_size(joint)].inverse() * from_mesh).matrix().cast<float>());
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
  PerBone<BoneId> kept(rig.bones.size());
  rig.bones.clear();
  for (const BoneId b : fitted.fate.ids())
    if (fitted.fate[b] != BoneFate::dropped) {
      kept[b] = BoneId(rig.bones.size());
      rig.bones.push_back(bone_at(fitted.rig, b));
    }
  const auto is_gone = [&](const std::string& name) {
    const BoneId bone = name.empty() ? BoneId::kNone : find_bone(fitted.rig, name);
    return bone.valid() && !kept[bone].valid();
  };
  for (RigBone& bone : rig.bones) {
    BoneId parent(bone.parent);
    while (parent.valid() && !kept[parent].valid()) {
      parent = parent_of(fitted.rig, parent);
      bone.connected = false;
    }
    bone.parent = parent.valid() ? kept[parent].value() : -1;
    for (RigConstraint& constraint : bone.constraints) {
      for (ConstraintTarget& target : constraint.targets)
        if (is_gone(target.bone)) target.bone.clear();
      if (is_gone(constraint.pole)) constraint.pole.clear();
    }
  }
  return rig;
}

FittedScene fit_scene(const Scene& mesh, const Scene& rig, const FitOptions& options) {
  if (mesh.meshes.empty()) throw Error(fmt::format("{}: has no mesh to fit a rig to", mesh.source.string()));
  const SceneRig source = rig_of(rig);
  FitOptions own = options;
  if (source.joints_only) own.placement.tails_known = false;
  const Mesh surface = joined(mesh);
  FittedScene result;
  const FittedRig fitted = fit_rig(surface.view(), source.rig, own, &result.report);
  MovedRig moved(rig, source, fitted);
  const Scene moved_scene = moved.make(result.report.scale);
  result.rig = *moved_scene.control_rig;
  MergedRig merged = merge_rig(mesh, moved_scene);
  result.scene = std::move(merged.scene);
  result.warnings = std::move(merged.warnings);
  if (source.joints_only) {
    result.scene.control_rig.reset();
    result.scene.joint_bones.clear();
  }
  bind_to_new_rig(result.scene, moved_scene, merged.joint_of_rig, bind_pose(mesh).scene_from_mesh);
  check_scene(result.scene);
  return result;
}

}  // namespace sinew
