#include <sinew/authoring/bind_scene.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include <sinew/character/joined_surface.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/pattern.h>
#include <sinew/geometry/oriented_surface.h>
#include <sinew/scene/merge_rig.h>
#include <sinew/skeleton/flesh_bones.h>
#include <sinew/skeleton/joint_names.h>

namespace sinew {

namespace {

// Joints farther than this share of the rig's size from their partners' mirror images are no partners.
constexpr double kWorstMirror = 0.15;

bool is_deform_name(std::string_view name) {
  return without_namespace(name).starts_with("DEF-");
}

/// By the customs of Rigify and other rigs: what the animator or the rig's own mechanism moves.
bool is_control_name(std::string_view name) {
  static constexpr std::string_view kPrefixes[] = {"MCH-",  "MCH_",  "ORG-",  "ORG_", "CTRL-", "CTRL_",
                                                   "ctrl-", "ctrl_", "Ctrl_", "IK_",  "ik_",   "IK-"};
  const std::string_view plain = without_namespace(name);
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return plain.starts_with(prefix); });
}

std::string box_text(const Eigen::AlignedBox3d& box) {
  const Vec3d size = box.sizes(), middle = box.center();
  return fmt::format("{:.3g} × {:.3g} × {:.3g} m about ({:.3g}, {:.3g}, {:.3g})", size.x(), size.y(),
                     size.z(), middle.x(), middle.y(), middle.z());
}

class SceneBinder {
 public:
  SceneBinder(const Scene& mesh, const Scene& rig, const BindSceneOptions& options)
      : mesh_(mesh), rig_(rig), options_(options) {}

  Scene run() {
    chosen_ = choose_meshes(mesh_, options_.meshes);
    rig_pose_ = bind_pose(rig_);
    const std::vector<Affine3d> scene_from_mesh = bind_pose(mesh_).scene_from_mesh;
    surface_ = join_surfaces(mesh_, chosen_, scene_from_mesh,
                             options_.lock.empty() ? WeldBy::position : WeldBy::position_and_skin);
    choose_joints();
    const OrientedSurface oriented(surface_.view());
    make_bones(oriented);
    const SkinWeights weights =
        bind_surface(surface_.view(), bones_, surface_options(), &report_.surface, &oriented);
    // A rig's own list of joints stays whole, for engines that count on it.
    std::vector<int> listed = joints_of_skins(rig_);
    if (listed.empty()) listed.assign(weighted_joints_.begin(), weighted_joints_.end());
    MergedRig bound =
        bind_joined(mesh_, rig_, surface_, scene_from_mesh, rig_pose_.world_from_joint, listed, weights);
    report_.warnings.insert(report_.warnings.end(), bound.warnings.begin(), bound.warnings.end());
    describe(bound);
    return std::move(bound.scene);
  }

  BindSceneReport take_report() { return std::move(report_); }

 private:
  const std::string& joint_name(int joint) const { return rig_.skeleton.joints[to_size(joint)].name; }

  /// Its bone in a rig with controllers, or null.
  const RigBone* control_bone(int joint) const {
    const int bone = rig_.control_rig ? rig_.joint_bones[to_size(joint)] : -1;
    return bone < 0 ? nullptr : &rig_.control_rig->bones[to_size(bone)];
  }

  bool is_controller(int joint) const {
    const RigBone* bone = control_bone(joint);
    return bone != nullptr && !bone->deforms;
  }

  // --- joints

  /// Settles which joints may have weights: candidates_, of which bone_joints_ get some now.
  void choose_joints() {
    candidates_ = rig_joints(rig_);
    if (candidates_.empty() && rig_.control_rig)
      throw Error(fmt::format("{}: none of the rig's {} bones deforms; mark those that shall move the mesh",
                              rig_.source.string(), rig_.control_rig->bones.size()));
    if (candidates_.empty())
      throw Error(
          fmt::format("{}: has no skeleton to bind to; name another file with one, or a built-in "
                      "character such as model:mannequin",
                      rig_.source.string()));
    std::set<int> left(candidates_.begin(), candidates_.end());
    const auto leave_out = [&](auto&& goes, const std::string& reason) {
      for (const int joint : candidates_)
        if (left.contains(joint) && !matches_any(joint_name(joint), options_.lock) && goes(joint)) {
          left.erase(joint);
          report_.left_out.push_back({joint_name(joint), reason});
        }
    };
    if (!rig_.skins.empty())
      for (std::size_t j = 0; j < rig_.skeleton.size(); ++j)
        if (!left.contains(static_cast<int>(j)) && !rig_.skeleton.joints[j].name.empty() &&
            !is_controller(static_cast<int>(j)))
          report_.left_out.push_back({rig_.skeleton.joints[j].name, "not in the rig's skin"});
    for (std::size_t j = 0; j < rig_.skeleton.size(); ++j)
      if (is_controller(static_cast<int>(j)))
        report_.left_out.push_back({rig_.skeleton.joints[j].name, "a controller of the rig"});
    check_patterns(options_.ignore, "ignore");
    check_patterns(options_.lock, "lock");
    for (const int joint : candidates_)
      if (matches_any(joint_name(joint), options_.ignore) && matches_any(joint_name(joint), options_.lock))
        throw Error(
            fmt::format("joint '{}' is both to be ignored and locked; choose one", joint_name(joint)));
    leave_out([&](int joint) { return matches_any(joint_name(joint), options_.ignore); }, "ignored");
    const auto any = [&](auto&& test) { return std::any_of(left.begin(), left.end(), test); };
    // A rig that says which bones deform leaves nothing to guess.
    if (rig_.control_rig)
      leave_out([&](int joint) { return control_bone(joint) == nullptr; }, "no bone of the rig");
    else if (any([&](int joint) { return is_deform_name(joint_name(joint)); }))
      leave_out([&](int joint) { return !is_deform_name(joint_name(joint)); },
                "the rig has DEF- joints for the weights");
    else if (any([&](int joint) { return !is_control_name(joint_name(joint)); }))
      leave_out([&](int joint) { return is_control_name(joint_name(joint)); }, "a controller by its name");
    bone_joints_ = left;
    leave_out([&](int joint) { return is_bone_end(joint); }, "only marks the end of its parent's bone");
    weighted_joints_ = left;
    if (weighted_joints_.empty())
      throw Error(fmt::format("{}: no joint is left to bind to: all {} are ignored", rig_.source.string(),
                              candidates_.size()));
    for (const int joint : weighted_joints_)
      if (matches_any(joint_name(joint), options_.lock)) locked_joints_.insert(joint);
  }

  void check_patterns(const std::vector<std::string>& patterns, const char* what) const {
    for (const std::string& pattern : patterns)
      if (std::none_of(candidates_.begin(), candidates_.end(),
                       [&](int joint) { return matches_pattern(joint_name(joint), pattern); }))
        throw Error(fmt::format("{}: joints to {}: none is called '{}'; `sinew info --json` lists them",
                                rig_.source.string(), what, pattern));
  }

  /// Exporters mark a last bone's tail by a joint NAME_end, which nothing hangs on.
  bool is_bone_end(int joint) const {
    const Joint& end = rig_.skeleton.joints[to_size(joint)];
    if (control_bone(joint) != nullptr || end.parent < 0 || !bone_joints_.contains(end.parent)) return false;
    const std::string& parent = joint_name(end.parent);
    const bool named = end.name == parent + "_end" || end.name == parent + "_End";
    return named && std::none_of(rig_.skeleton.joints.begin(), rig_.skeleton.joints.end(),
                                 [&](const Joint& other) { return other.parent == joint; });
  }

  // --- bones

  std::vector<Bone> find_bones(const OrientedSurface& oriented) const {
    if (rig_.control_rig) return rig_bones();
    Skeleton deforming = rig_.skeleton;
    for (std::size_t j = 0; j < deforming.size(); ++j)
      deforming.joints[j].deforms = bone_joints_.contains(static_cast<int>(j));
    return bones_in_flesh(deforming, rig_pose_.world_from_joint, oriented);
  }

  /// A rig with controllers says where its bones end: on the joint's own y axis.
  std::vector<Bone> rig_bones() const {
    std::vector<Bone> bones;
    for (const int joint : bone_joints_) {
      const Affine3d& world = rig_pose_.world_from_joint[to_size(joint)];
      const RigBone* bone = control_bone(joint);
      const double length = bone == nullptr ? 0 : bone->length();
      bones.push_back({joint, -1, world.translation(), world * Vec3d(0, length, 0)});
    }
    return bones;
  }

  void make_bones(const OrientedSurface& oriented) {
    for (Bone& bone : find_bones(oriented))
      if (weighted_joints_.contains(bone.joint)) bones_.push_back(std::move(bone));
    look_for_misfits(oriented);
    std::erase_if(bones_, [&](const Bone& bone) { return locked_joints_.contains(bone.joint); });
    if (bones_.empty()) throw Error("all joints are locked: nothing is left to bind");
  }

  /// Rig and mesh that do not belong together, or not in this place.
  void look_for_misfits(const OrientedSurface& oriented) {
    Eigen::AlignedBox3d skin, skeleton;
    for (const Vec3f& p : surface_.positions) skin.extend(p.cast<double>());
    for (const Bone& bone : bones_) {
      skeleton.extend(bone.head);
      if (bone.child >= 0) skeleton.extend(bone.tail);  // a leaf's reaches for the surface, however far
    }
    const double skin_size = skin.diagonal().norm(), skeleton_size = skeleton.diagonal().norm();
    Eigen::AlignedBox3d around = skeleton;
    around.extend(skeleton.min() - Vec3d::Constant(0.1 * skeleton_size));
    around.extend(skeleton.max() + Vec3d::Constant(0.1 * skeleton_size));
    const bool is_part = around.contains(skin) && 3 * skin_size < 2 * skeleton_size;
    if (!is_part && skeleton_size > 0 && skin_size > 0 &&
        (skeleton_size > 4 * skin_size || skin_size > 8 * skeleton_size)) {
      report_.warnings.push_back(fmt::format(
          "rig and mesh differ in size: the rig is {}, the mesh {}; other units? Scale the mesh by {:.3g} to "
          "fit",
          box_text(skeleton), box_text(skin), likely_scale(skeleton_size / skin_size)));
      return;
    }
    if (!skin.intersects(skeleton)) {
      report_.warnings.push_back(
          fmt::format("rig and mesh do not overlap: the rig is {}, the mesh {}; move one onto the other",
                      box_text(skeleton), box_text(skin)));
      return;
    }
    std::vector<std::string> outside;
    const auto find_outside = [&] {
      outside.clear();
      for (const int joint : weighted_joints_)
        if (std::none_of(bones_.begin(), bones_.end(), [&](const Bone& bone) {
              return bone.joint == joint && touches_inside(oriented, bone);
            }))
          outside.push_back(joint_name(joint));
    };
    find_outside();
    if (2 * outside.size() <= weighted_joints_.size() && leave_out_roots(oriented)) find_outside();
    if (outside.empty()) return;
    if (is_part)
      report_.warnings.push_back(fmt::format(
          "the mesh covers a part of the rig: {} of {} joints lie outside of it; clothes round a bound body "
          "get the body's weights by `sinew transfer`",
          outside.size(), weighted_joints_.size()));
    else if (2 * outside.size() > weighted_joints_.size())
      report_.warnings.push_back(fmt::format(
          "{} of {} bones lie outside of the mesh: the rig is {}, the mesh {}; does the rig stand in the "
          "mesh's pose?",
          outside.size(), weighted_joints_.size(), box_text(skeleton), box_text(skin)));
    else
      report_.warnings.push_back(
          fmt::format("{} bone{} outside of the mesh: {}; leave {} out with --ignore, or "
                      "move {} inside, if the weights show it",
                      outside.size(), outside.size() == 1 ? " lies" : "s lie", list_names(outside),
                      outside.size() == 1 ? "it" : "them", outside.size() == 1 ? "it" : "them"));
  }

  /// Rigs have a root on the floor that carries the whole. Skin that follows it, between the legs, stays
  /// behind when the hips move.
  bool leave_out_roots(const OrientedSurface& oriented) {
    constexpr int kMostRoots = 8;  // one or two are usual; each costs a walk over the rig
    bool any = false;
    for (int roots = 0; roots < kMostRoots && weighted_joints_.size() > 1; ++roots) {
      const int root = *weighted_joints_.begin();  // parents have smaller numbers
      const auto is_roots = [&](const Bone& bone) { return bone.joint == root; };
      const auto bone = std::find_if(bones_.begin(), bones_.end(), is_roots);
      const bool carries_all = bone != bones_.end() && bone->child >= 0 &&
                               std::count_if(bones_.begin(), bones_.end(), is_roots) == 1 &&
                               std::all_of(weighted_joints_.begin(), weighted_joints_.end(),
                                           [&](int joint) { return hangs_on(joint, root); });
      if (!carries_all || locked_joints_.contains(root)) break;
      if (oriented.contains(bone->head) || oriented.contains(0.5 * (bone->head + bone->tail))) break;
      weighted_joints_.erase(root);
      bones_.erase(bone);
      report_.left_out.push_back({joint_name(root), "a root that comes from outside of the mesh"});
      any = true;
    }
    return any;
  }

  bool hangs_on(int joint, int ancestor) const {
    while (joint >= 0 && joint != ancestor) joint = rig_.skeleton.joints[to_size(joint)].parent;
    return joint == ancestor;
  }

  /// The scale people mean when sizes are that far apart.
  static double likely_scale(double ratio) {
    for (const double usual : {100.0, 0.01, 1000.0, 0.001, 10.0, 0.1, 39.37, 0.0254})
      if (ratio > 0.6 * usual && ratio < 1.6 * usual) return usual;
    return ratio;
  }

  static bool touches_inside(const OrientedSurface& oriented, const Bone& bone) {
    for (const double share : {0.5, 0.1, 0.9})
      if (oriented.contains((1 - share) * bone.head + share * bone.tail)) return true;
    return false;
  }

  // --- what bind_surface is told

  BindOptions surface_options() {
    BindOptions options;
    options.method = options_.method;
    options.influences = options_.influences;
    options.prune = options_.prune;
    options.sharpness = options_.sharpness;
    options.smooth = options_.smooth;
    options.symmetry = symmetry();
    if (!locked_joints_.empty()) options.locked = locked_rows();
    return options;
  }

  std::optional<BindSymmetry> symmetry() {
    if (options_.symmetry == SymmetryChoice::none) return std::nullopt;
    std::vector<int> partner = mirror_joints(rig_.skeleton);
    for (std::size_t j = 0; j < partner.size(); ++j)
      if (!weighted_joints_.contains(static_cast<int>(j)) || !weighted_joints_.contains(partner[j]))
        partner[j] = -1;
    std::optional<MirrorPlane> plane;
    if (options_.symmetry == SymmetryChoice::automatic) {
      MirrorFit fit;
      plane = find_mirror_plane(rig_.skeleton, rig_pose_.world_from_joint, partner, &fit);
      if (!plane && fit.pairs > 0)
        report_.warnings.push_back(fmt::format(
            "{} pairs of joints, left and right by name, do not mirror each other, or not across the joints "
            "between them (root mean square {:.2g} m and median {:.2g} m off): bound without symmetry; "
            "--symmetry x, y or z demands it",
            fit.pairs, fit.pair_residual, fit.axial_residual));
    } else {
      plane = axis_plane(partner);
      if (std::none_of(weighted_joints_.begin(), weighted_joints_.end(), [&](int joint) {
            const int other = partner[to_size(joint)];
            return other >= 0 && other != joint;
          }))
        pair_by_place(*plane, partner);
      check_mirrors(*plane, partner);
    }
    if (!plane) return std::nullopt;
    // Without a side in its name a joint stands on the plane, or is a prop of one side.
    Eigen::AlignedBox3d box;
    for (const int joint : weighted_joints_) box.extend(place(joint));
    for (const int joint : weighted_joints_)
      if (partner[to_size(joint)] == joint &&
          std::abs(plane->height(place(joint))) > kMirrorTolerance * box.diagonal().norm())
        partner[to_size(joint)] = -1;
    report_.mirror = plane;
    std::size_t with_partner = 0;
    for (std::size_t j = 0; j < partner.size(); ++j)
      with_partner += partner[j] >= 0 && partner[j] != static_cast<int>(j);
    report_.mirror_pairs = with_partner / 2;
    return BindSymmetry{*plane, std::move(partner)};
  }

  /// A plane that was asked for may fit badly, but not so badly that it exchanges limbs that are none.
  void check_mirrors(const MirrorPlane& plane, const std::vector<int>& partner) const {
    Eigen::AlignedBox3d box;
    double squares = 0;
    std::size_t paired = 0;
    for (const int joint : weighted_joints_) {
      box.extend(place(joint));
      const int other = partner[to_size(joint)];
      if (other < 0 || other == joint) continue;
      squares += (plane.mirrored(place(joint)) - place(other)).squaredNorm();
      ++paired;
    }
    const double off = paired > 0 ? std::sqrt(squares / static_cast<double>(paired)) : 0;
    if (off > kWorstMirror * box.diagonal().norm())
      throw Error(
          fmt::format("symmetry: left and right joints do not mirror each other across that plane (off by "
                      "{:.2g} m on the "
                      "average); choose another axis, auto or none",
                      off));
  }

  Vec3d place(int joint) const { return rig_pose_.world_from_joint[to_size(joint)].translation(); }

  /// Across the axis asked for, through the middle of the joints that are their own partners and of pairs.
  MirrorPlane axis_plane(const std::vector<int>& partner) const {
    const int axis = options_.symmetry == SymmetryChoice::x   ? 0
                     : options_.symmetry == SymmetryChoice::y ? 1
                                                              : 2;
    std::vector<double> pairs, axial;
    for (const int joint : weighted_joints_) {
      const int other = partner[to_size(joint)];
      if (other > joint) pairs.push_back(0.5 * (place(joint)[axis] + place(other)[axis]));
      if (other == joint) axial.push_back(place(joint)[axis]);
    }
    std::vector<double>& middles = pairs.empty() ? axial : pairs;
    MirrorPlane plane;
    plane.normal = Vec3d::Unit(axis);
    if (middles.empty()) return plane;
    const auto median = middles.begin() + static_cast<std::ptrdiff_t>(middles.size() / 2);
    std::nth_element(middles.begin(), median, middles.end());
    plane.point[axis] = *median;
    return plane;
  }

  /// For joints without sides in their names: the partner is where the mirror image falls.
  void pair_by_place(const MirrorPlane& plane, std::vector<int>& partner) const {
    Eigen::AlignedBox3d box;
    for (const int joint : weighted_joints_) box.extend(place(joint));
    const double near = 0.01 * box.diagonal().norm();
    const auto mirror_image = [&](int joint) {
      int best = -1;
      double distance = near;
      for (const int other : weighted_joints_) {
        const double d = (place(other) - plane.mirrored(place(joint))).norm();
        if (d > distance) continue;
        distance = d;
        best = other;
      }
      return best;
    };
    for (const int joint : weighted_joints_) {
      const int other = mirror_image(joint);
      const bool mutual = other >= 0 && mirror_image(other) == joint;
      partner[to_size(joint)] = mutual ? other : -1;
    }
  }

  /// The weights that the mesh's file has for locked joints, found by name.
  SkinWeights locked_rows() const {
    std::map<std::string_view, int> locked;
    for (const int joint : locked_joints_) locked.emplace(joint_name(joint), joint);
    std::set<int> found;
    SkinWeights rows;
    for (const JoinedSurface::Part& part : surface_.parts) {
      const SceneMesh& mesh = mesh_.meshes[part.mesh];
      std::vector<int> joint_of_slot;
      if (mesh.skin >= 0)
        for (const int joint : mesh_.skins[to_size(mesh.skin)].joints) {
          const auto entry = locked.find(mesh_.skeleton.joints[to_size(joint)].name);
          joint_of_slot.push_back(entry == locked.end() ? -1 : entry->second);
        }
      for (const std::uint32_t v : part.weld.first_vertex) {
        if (mesh.skin >= 0) append_locked(rows, mesh.weights, v, joint_of_slot, found);
        rows.starts.push_back(static_cast<std::uint32_t>(rows.joints.size()));
      }
    }
    for (const std::string& pattern : options_.lock)
      if (std::none_of(found.begin(), found.end(),
                       [&](int joint) { return matches_pattern(joint_name(joint), pattern); }))
        throw Error(fmt::format("{}: has no weights of joints called '{}' that could be kept",
                                mesh_.source.string(), pattern));
    return rows;
  }

  static void append_locked(SkinWeights& rows, const SkinWeights& weights, std::uint32_t vertex,
                            const std::vector<int>& joint_of_slot, std::set<int>& found) {
    const auto slots = weights.row_joints(vertex);
    const auto values = weights.row_values(vertex);
    double sum = 0;
    for (const float value : values) sum += value;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const int joint = joint_of_slot[slots[i]];
      if (joint < 0 || !(values[i] > 0)) continue;
      found.insert(joint);
      rows.joints.push_back(static_cast<std::uint32_t>(joint));
      rows.values.push_back(static_cast<float>(values[i] / sum));
    }
  }

  // --- the bound scene

  void describe(const MergedRig& bound) {
    report_.meshes = mesh_statistics(bound.scene, chosen_);
    std::vector<BoundJoint> all = joint_statistics(bound.scene, chosen_);
    std::vector<std::string> unused;
    for (const int joint : weighted_joints_) {
      BoundJoint& moved = all[to_size(bound.joint_of_rig[to_size(joint)])];
      moved.locked = locked_joints_.contains(joint);
      if (moved.vertices == 0) unused.push_back(moved.name);
      report_.joints.push_back(std::move(moved));
    }
    if (!unused.empty())
      report_.warnings.push_back(fmt::format("{} joint{} got no vertex: {}", unused.size(),
                                             unused.size() == 1 ? "" : "s", list_names(unused)));
  }

  const Scene& mesh_;
  const Scene& rig_;
  const BindSceneOptions& options_;
  std::vector<std::size_t> chosen_;  // meshes
  BindPose rig_pose_;
  JoinedSurface surface_;
  std::vector<int> candidates_;    // joints of the rig that its skins list, or that look like joints
  std::set<int> bone_joints_;      // of these, the ones that shape the bones …
  std::set<int> weighted_joints_;  // … and the ones that have weights in the end
  std::set<int> locked_joints_;    // of these, the ones that keep those of the mesh's file
  std::vector<Bone> bones_;
  BindSceneReport report_;
};

}  // namespace

std::size_t BindSceneReport::unbound() const {
  std::size_t count = 0;
  for (const BoundMesh& mesh : meshes) count += mesh.unbound;
  return count;
}

std::vector<BoundMesh> mesh_statistics(const Scene& scene, std::span<const std::size_t> meshes) {
  std::vector<BoundMesh> result;
  for (const std::size_t m : meshes) {
    const SceneMesh& mesh = scene.meshes[m];
    BoundMesh& bound = result.emplace_back();
    bound.name = mesh.name;
    bound.vertices = mesh.surface.positions.size();
    for (std::size_t v = mesh.weights.rows(); v-- > 0;)
      if (mesh.weights.row_size(v) == 0) {
        ++bound.unbound;
        bound.first_unbound = v;
      }
  }
  return result;
}

std::vector<BoundJoint> joint_statistics(const Scene& scene, std::span<const std::size_t> meshes) {
  std::vector<BoundJoint> joints(scene.skeleton.size());
  for (std::size_t j = 0; j < joints.size(); ++j) {
    joints[j].name = scene.skeleton.joints[j].name;
    joints[j].joint = static_cast<int>(j);
  }
  for (const std::size_t m : meshes) {
    const SceneMesh& mesh = scene.meshes[m];
    if (mesh.skin < 0) continue;
    const std::vector<int>& joint_of_slot = scene.skins[to_size(mesh.skin)].joints;
    for (std::size_t v = 0; v < mesh.weights.rows(); ++v) {
      const auto slots = mesh.weights.row_joints(v);
      const auto values = mesh.weights.row_values(v);
      for (std::size_t i = 0; i < slots.size(); ++i) {
        BoundJoint& joint = joints[to_size(joint_of_slot[slots[i]])];
        ++joint.vertices;
        joint.weight += values[i];
      }
      if (slots.empty()) continue;
      const std::size_t heaviest = to_size(std::max_element(values.begin(), values.end()) - values.begin());
      ++joints[to_size(joint_of_slot[slots[heaviest]])].dominated;
    }
  }
  return joints;
}

Scene bind_scene(const Scene& mesh, const Scene& rig, const BindSceneOptions& options,
                 BindSceneReport* report) {
  const auto start = std::chrono::steady_clock::now();
  check_scene(mesh);
  if (&rig != &mesh) check_scene(rig);
  SceneBinder binder(mesh, rig, options);
  Scene scene = binder.run();
  if (report != nullptr) {
    *report = binder.take_report();
    report->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return scene;
}

}  // namespace sinew
