#include <sinew/scene/import_conversion.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>
#include <Eigen/LU>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

/// FNV-1a over plain values.
class Hash {
 public:
  void add(const void* data, std::size_t size) {
    const unsigned char* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ bytes[i]) * 0x100000001b3u;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// Numbers values in the order they come; equal bits get the same number.
template <class Vector>
class UniqueValues {
 public:
  std::uint32_t number(const Vector& value, std::vector<Vector>& values) {
    Hash hash;
    hash.add(value.data(), sizeof(float) * to_size(value.size()));
    const auto [first, last] = numbers_.equal_range(hash.value());
    for (auto entry = first; entry != last; ++entry)
      if (values[entry->second] == value) return entry->second;
    const std::uint32_t number = static_cast<std::uint32_t>(values.size());
    values.push_back(value);
    numbers_.emplace(hash.value(), number);
    return number;
  }

 private:
  std::unordered_multimap<std::uint64_t, std::uint32_t> numbers_;
};

Affine3d affine_of(const Mat4f& matrix, double metres_per_unit) {
  Affine3d affine(matrix.cast<double>());
  affine.translation() *= metres_per_unit;
  affine.makeAffine();
  return affine;
}

Mat3d cofactors(const Mat3d& linear) {
  Mat3d result;
  for (int c = 0; c < 3; ++c) result.col(c) = linear.col((c + 1) % 3).cross(linear.col((c + 2) % 3));
  return linear.determinant() < 0 ? Mat3d(-result) : result;
}

/// Vertices of one output mesh while it is put together: one per corner, still in mesh space.
struct LooseMesh {
  std::string name;
  std::vector<Vec3f> positions;  ///< metres
  std::vector<Vec3f> normals;
  std::vector<Vec2f> texcoords;
  std::vector<std::vector<Influence>> influences;  ///< joints count in the skin
  std::vector<MorphTarget> morphs;
  std::vector<float> morph_weights;
  Polygons polygons;
  bool has_normals = true;
  bool has_texcoords = true;
};

class Conversion {
 public:
  Conversion(ImportedScene imported, const ImportSpace& space, const std::string& name)
      : imported_(std::move(imported)), space_(space), name_(name) {}

  Scene run() {
    scene_.source = name_;
    scene_.original_space = space_.original;
    if (!space_.warning.empty()) warn(space_.warning);
    for (const std::string& message : imported_.messages) warn(message);
    convert_nodes();
    rest_world_.resize(scene_.skeleton.size());
    forward_kinematics(scene_.skeleton, rest_pose(scene_.skeleton).joints, rest_world_);
    for (std::size_t n = 0; n < imported_.nodes.size(); ++n) convert_meshes(n);
    for (const Skin& skin : scene_.skins)
      for (const int joint : skin.joints) scene_.skeleton.joints[to_size(joint)].deforms = true;
    for (const ImportedClip& clip : imported_.clips) convert_clip(clip);
    report();
    if (scene_.meshes.empty() && scene_.skeleton.size() == 0) fail("holds no mesh and no skeleton");
    check_scene(scene_);
    return std::move(scene_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(fmt::format("{}: {}", name_, what)); }
  void warn(const std::string& what) { scene_.warnings.push_back(fmt::format("{}: {}", name_, what)); }

  // ---- nodes

  bool first_node_is_needed() const {
    const ImportedNode& root = imported_.nodes.front();
    if (root.local != Mat4f::Identity() || !root.meshes.empty() || imported_.nodes.size() == 1) return true;
    for (const ImportedMesh& mesh : imported_.meshes)
      for (const ImportedBone& bone : mesh.bones)
        if (bone.node == root.name) return true;
    for (const ImportedClip& clip : imported_.clips)
      for (const ImportedChannel& channel : clip.channels)
        if (channel.node == root.name) return true;
    return false;
  }

  void convert_nodes() {
    if (imported_.nodes.empty()) fail("holds no nodes");
    // The importer's root stands for the scene itself and is no node of the file.
    const std::size_t first = first_node_is_needed() ? 0 : 1;
    joint_of_node_.assign(imported_.nodes.size(), -1);
    std::size_t sheared = 0;
    for (std::size_t n = first; n < imported_.nodes.size(); ++n) {
      const ImportedNode& node = imported_.nodes[n];
      if (node.parent < -1 || node.parent >= static_cast<int>(n))
        fail("the importer failed; the file is damaged");
      if (!node.local.allFinite()) fail(fmt::format("node '{}': its transform is not finite", node.name));
      Joint joint;
      joint.name = node.name;
      joint.parent = node.parent < 0 ? -1 : joint_of_node_[to_size(node.parent)];
      Affine3d local = affine_of(node.local, space_.original.metres_per_unit);
      if (joint.parent < 0) local = space_.scene_from_file * local;
      double shear = 0;
      joint.rest = decompose(local, &shear);
      if (shear > 1e-4 * std::max(1.0, local.matrix().cwiseAbs().maxCoeff())) ++sheared;
      joint_of_node_[n] = static_cast<int>(scene_.skeleton.size());
      joint_by_name_.try_emplace(node.name, joint_of_node_[n]);
      scene_.skeleton.joints.push_back(std::move(joint));
    }
    if (sheared > 0) warn(fmt::format("{} nodes have shear, which was dropped", sheared));
  }

  // ---- meshes

  void convert_meshes(std::size_t node) {
    for (const bool skinned : {true, false}) {
      LooseMesh loose;
      Skin skin;
      for (const std::uint32_t m : imported_.nodes[node].meshes) {
        if (m >= imported_.meshes.size()) fail("the importer failed; the file is damaged");
        const ImportedMesh& mesh = imported_.meshes[m];
        if (mesh.bones.empty() != skinned) append(mesh, loose, skin);
      }
      if (loose.polygons.size() == 0) continue;
      if (loose.name.empty()) loose.name = imported_.nodes[node].name;
      skin.name = imported_.nodes[node].name;
      finish_mesh(std::move(loose), std::move(skin), joint_of_node_[node]);
      mesh_nodes_.push_back(node);
    }
  }

  void append(const ImportedMesh& mesh, LooseMesh& loose, Skin& skin) {
    const std::size_t first = loose.positions.size();
    const std::size_t count = mesh.positions.size();
    const double metres = space_.original.metres_per_unit;
    const auto bad = [&](const std::string& what) { fail(fmt::format("mesh '{}': {}", mesh.name, what)); };
    if (first + count >= kNoIndex || loose.polygons.corners.size() + mesh.corners.size() >= kNoIndex)
      bad("has more corners than can be counted");
    if (loose.name.empty()) loose.name = mesh.name;
    for (std::size_t v = 0; v < count; ++v) {
      loose.positions.push_back((mesh.positions[v].cast<double>() * metres).cast<float>());
      if (!loose.positions.back().allFinite()) bad(fmt::format("position {} is not finite", v));
    }
    append_corner_values(mesh.normals, count, first, loose.normals, loose.has_normals);
    append_corner_values(mesh.texcoords, count, first, loose.texcoords, loose.has_texcoords);
    append_polygons(mesh, first, loose);
    loose.influences.resize(first + count);
    for (const ImportedBone& bone : mesh.bones) append_bone(mesh, bone, first, loose, skin);
    for (MorphTarget& target : loose.morphs) target.displacements.resize(first + count, Vec3f::Zero());
    for (const ImportedMorph& morph : mesh.morphs) append_morph(mesh, morph, first, loose);
  }

  template <class Vector>
  static void append_corner_values(const std::vector<Vector>& values, std::size_t count, std::size_t first,
                                   std::vector<Vector>& all, bool& complete) {
    if (values.size() != count) complete = false;
    all.resize(first, Vector::Zero());
    for (const Vector& value : values) all.push_back(value.allFinite() ? value : Vector(Vector::Zero()));
    all.resize(first + count, Vector::Zero());
  }

  void append_polygons(const ImportedMesh& mesh, std::size_t first, LooseMesh& loose) {
    std::vector<std::uint32_t> polygon;
    for (std::size_t p = 0; p + 1 < mesh.starts.size(); ++p) {
      const std::size_t begin = mesh.starts[p], end = mesh.starts[p + 1];
      if (begin > end || end > mesh.corners.size()) fail("the importer failed; the file is damaged");
      if (end - begin < 3) {
        ++small_polygons_;
        continue;
      }
      polygon.clear();
      for (std::size_t c = begin; c < end; ++c) {
        if (mesh.corners[c] >= mesh.positions.size())
          fail(fmt::format("mesh '{}': vertex {} does not exist ({})", mesh.name, mesh.corners[c],
                           mesh.positions.size()));
        polygon.push_back(static_cast<std::uint32_t>(first + mesh.corners[c]));
      }
      loose.polygons.add(polygon);
    }
  }

  void append_bone(const ImportedMesh& mesh, const ImportedBone& bone, std::size_t first, LooseMesh& loose,
                   Skin& skin) {
    const auto found = joint_by_name_.find(bone.node);
    if (found == joint_by_name_.end())
      fail(fmt::format("mesh '{}': bone '{}' has no node of that name", mesh.name, bone.node));
    if (!bone.bone_from_mesh.allFinite() || bone.vertices.size() != bone.weights.size())
      fail(fmt::format("mesh '{}': the bind matrix of bone '{}' is not finite", mesh.name, bone.node));
    const Mat4f matrix =
        affine_of(bone.bone_from_mesh, space_.original.metres_per_unit).matrix().cast<float>();
    std::size_t slot = 0;  // parts of one mesh share their bones
    while (slot < skin.joints.size() &&
           (skin.joints[slot] != found->second || skin.joint_from_mesh[slot] != matrix))
      ++slot;
    if (slot == skin.joints.size()) {
      skin.joints.push_back(found->second);
      skin.joint_from_mesh.push_back(matrix);
    }
    for (std::size_t i = 0; i < bone.vertices.size(); ++i) {
      if (bone.vertices[i] >= mesh.positions.size() || !std::isfinite(bone.weights[i]))
        fail(fmt::format("mesh '{}': bone '{}' moves vertex {} by {} ({} vertices)", mesh.name, bone.node,
                         bone.vertices[i], bone.weights[i], mesh.positions.size()));
      loose.influences[first + bone.vertices[i]].push_back(
          {static_cast<std::uint32_t>(slot), bone.weights[i]});
    }
  }

  void append_morph(const ImportedMesh& mesh, const ImportedMorph& morph, std::size_t first,
                    LooseMesh& loose) {
    if (morph.positions.size() != mesh.positions.size()) return;
    auto target = std::find_if(loose.morphs.begin(), loose.morphs.end(),
                               [&](const MorphTarget& other) { return other.name == morph.name; });
    if (target == loose.morphs.end()) {
      target = loose.morphs.emplace(target);
      target->name = morph.name;
      target->displacements.assign(loose.positions.size(), Vec3f::Zero());
      loose.morph_weights.push_back(std::isfinite(morph.weight) ? morph.weight : 0.0f);
    }
    for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
      const Vec3d moved =
          (morph.positions[v] - mesh.positions[v]).cast<double>() * space_.original.metres_per_unit;
      target->displacements[first + v] = moved.cast<float>();
      if (!target->displacements[first + v].allFinite())
        fail(fmt::format("mesh '{}': morph '{}' is not finite", mesh.name, morph.name));
    }
  }

  /// How far two transforms differ over a mesh, relative to its size.
  static double difference(const Affine3d& a, const Affine3d& b, double radius) {
    const double linear = (a.linear() - b.linear()).cwiseAbs().maxCoeff() * radius;
    const double shift = (a.translation() - b.translation()).cwiseAbs().maxCoeff();
    const double size = std::max(1e-30, b.linear().cwiseAbs().maxCoeff() * radius);
    return std::max(linear, shift) / size;
  }

  /// Where the skinned mesh stood in the scene when it was bound: there its vertices are put. Where the rest
  /// pose is the bind pose every joint gives the same answer. Otherwise FBX, which binds where the mesh's
  /// node is, and Collada, which ignores the node, are served by the first of these that some joint confirms.
  /// Any answer gives the same animation, since the bind matrices take it out again.
  Affine3d scene_from_bound_mesh(const LooseMesh& loose, const Skin& skin, int node_joint) const {
    double radius = 0;
    for (const Vec3f& position : loose.positions) radius = std::max(radius, double{position.norm()});
    std::vector<Affine3d> choices;
    if (node_joint >= 0) choices.push_back(rest_world_[to_size(node_joint)]);
    choices.push_back(Affine3d(space_.scene_from_file));
    std::vector<Affine3d> told;
    for (std::size_t j = 0; j < skin.joints.size(); ++j)
      told.push_back(rest_world_[to_size(skin.joints[j])] * Affine3d(skin.joint_from_mesh[j].cast<double>()));
    const std::size_t fixed = choices.size();
    choices.insert(choices.end(), told.begin(), told.begin() + std::min<std::ptrdiff_t>(1, std::ssize(told)));
    const auto usable = [](const Affine3d& choice) {
      const double size = choice.linear().cwiseAbs().maxCoeff();
      return choice.matrix().allFinite() && size > 0 &&
             std::abs(choice.linear().determinant()) > 1e-9 * size * size * size;
    };
    for (const Affine3d& choice : choices)
      if (usable(choice) && std::all_of(told.begin(), told.end(), [&](const Affine3d& joint) {
            return difference(joint, choice, radius) < 1e-3;
          }))
        return choice;
    for (std::size_t c = 0; c < fixed; ++c)
      if (usable(choices[c]) && std::any_of(told.begin(), told.end(), [&](const Affine3d& joint) {
            return difference(joint, choices[c], radius) < 1e-3;
          }))
        return choices[c];
    return usable(choices.front()) ? choices.front() : Affine3d(space_.scene_from_file);
  }

  static void transform(LooseMesh& loose, const Affine3d& matrix) {
    if (matrix.matrix() == Mat4d::Identity()) return;
    for (Vec3f& position : loose.positions) position = (matrix * position.cast<double>()).cast<float>();
    const Mat3d turn = cofactors(matrix.linear());
    for (Vec3f& normal : loose.normals) normal = (turn * normal.cast<double>()).cast<float>();
    for (MorphTarget& target : loose.morphs)
      for (Vec3f& moved : target.displacements)
        moved = (matrix.linear() * moved.cast<double>()).cast<float>();
  }

  void finish_mesh(LooseMesh loose, Skin skin, int node_joint) {
    const bool skinned = !skin.joints.empty();
    if (skinned) {
      const Affine3d scene_from_mesh = scene_from_bound_mesh(loose, skin, node_joint);
      transform(loose, scene_from_mesh);
      const Mat4d mesh_from_scene = scene_from_mesh.inverse().matrix();
      if (scene_from_mesh.matrix() != Mat4d::Identity())
        for (Mat4f& matrix : skin.joint_from_mesh)
          matrix = (matrix.cast<double>() * mesh_from_scene).cast<float>();
    }
    SkinWeights loose_weights;
    if (skinned)
      for (std::vector<Influence>& row : loose.influences) append_row(loose_weights, row, 0, repairs_);

    SceneMesh mesh;
    mesh.name = std::move(loose.name);
    mesh.joint = node_joint;
    std::vector<Vec3f> positions;
    Polygons polygons;
    polygons.starts = loose.polygons.starts;
    polygons.corners.reserve(loose.polygons.corners.size());
    for (const MorphTarget& target : loose.morphs) mesh.morph_targets.push_back({target.name, {}});
    mesh.morph_weights = loose.morph_weights;

    const std::vector<std::uint32_t> joined = join_vertices(loose, loose_weights);
    std::vector<std::uint32_t> number(loose.positions.size(), kNoIndex);
    std::vector<Influence> row;
    for (const std::uint32_t corner : loose.polygons.corners) {
      const std::uint32_t loose_vertex = joined[corner];
      if (number[loose_vertex] == kNoIndex) {
        number[loose_vertex] = static_cast<std::uint32_t>(positions.size());
        positions.push_back(loose.positions[loose_vertex]);
        for (std::size_t t = 0; t < loose.morphs.size(); ++t)
          mesh.morph_targets[t].displacements.push_back(loose.morphs[t].displacements[loose_vertex]);
        if (skinned) copy_row(loose_weights, loose_vertex, mesh.weights);
      }
      polygons.corners.push_back(number[loose_vertex]);
    }
    if (loose.has_normals) collect_normals(loose, mesh.normals);
    if (loose.has_texcoords) collect_texcoords(loose, mesh.texcoords);
    mesh.surface = make_mesh(std::move(positions), std::move(polygons));
    if (skinned) mesh.skin = number_of(std::move(skin));
    scene_.meshes.push_back(std::move(mesh));
  }

  static void copy_row(const SkinWeights& from, std::size_t row, SkinWeights& to) {
    to.joints.insert(to.joints.end(), from.row_joints(row).begin(), from.row_joints(row).end());
    to.values.insert(to.values.end(), from.row_values(row).begin(), from.row_values(row).end());
    to.starts.push_back(static_cast<std::uint32_t>(to.joints.size()));
  }

  /// Per loose vertex, the first one that cannot be told from it.
  static std::vector<std::uint32_t> join_vertices(LooseMesh& loose, const SkinWeights& weights) {
    const bool skinned = weights.rows() > 0;
    for (Vec3f& position : loose.positions) position += Vec3f::Zero();  // -0 becomes 0
    const auto same = [&](std::size_t a, std::size_t b) {
      if (loose.positions[a] != loose.positions[b]) return false;
      if (skinned && (!std::ranges::equal(weights.row_joints(a), weights.row_joints(b)) ||
                      !std::ranges::equal(weights.row_values(a), weights.row_values(b))))
        return false;
      for (const MorphTarget& target : loose.morphs)
        if (target.displacements[a] != target.displacements[b]) return false;
      return true;
    };
    std::vector<std::uint32_t> first(loose.positions.size());
    std::unordered_multimap<std::uint64_t, std::uint32_t> seen;
    seen.reserve(loose.positions.size() / 3);
    for (std::size_t v = 0; v < first.size(); ++v) {
      Hash hash;
      hash.add(loose.positions[v].data(), sizeof(Vec3f));
      if (skinned) {
        hash.add(weights.row_joints(v).data(), weights.row_joints(v).size_bytes());
        hash.add(weights.row_values(v).data(), weights.row_values(v).size_bytes());
      }
      first[v] = static_cast<std::uint32_t>(v);
      const auto [begin, end] = seen.equal_range(hash.value());
      const auto twin = std::find_if(begin, end, [&](const auto& entry) { return same(entry.second, v); });
      if (twin != end)
        first[v] = twin->second;
      else
        seen.emplace(hash.value(), static_cast<std::uint32_t>(v));
    }
    return first;
  }

  static void collect_normals(const LooseMesh& loose, CornerValues<Vec3f>& normals) {
    UniqueValues<Vec3f> unique;
    for (std::size_t p = 0; p < loose.polygons.size(); ++p) {
      const std::span<const std::uint32_t> polygon = loose.polygons[p];
      for (const std::uint32_t corner : polygon) {
        Vec3d normal = loose.normals[corner].cast<double>();
        if (!(normal.norm() > 0)) {  // none: the polygon's own
          for (std::size_t c = 0; c < polygon.size(); ++c)
            normal += loose.positions[polygon[c]].cast<double>().cross(
                loose.positions[polygon[(c + 1) % polygon.size()]].cast<double>());
        }
        const double length = normal.norm();
        const Vec3f unit = length > 0 ? Vec3f((normal / length).cast<float>()) : Vec3f(Vec3f::UnitY());
        normals.corners.push_back(unique.number(unit, normals.values));
      }
    }
  }

  static void collect_texcoords(const LooseMesh& loose, CornerValues<Vec2f>& texcoords) {
    UniqueValues<Vec2f> unique;
    for (const std::uint32_t corner : loose.polygons.corners) {
      const Vec2f& up = loose.texcoords[corner];
      const Vec2f down(up.x(), static_cast<float>(1.0 - static_cast<double>(up.y())));
      texcoords.corners.push_back(unique.number(down, texcoords.values));
    }
  }

  /// Meshes with the same joints and bind matrices share one skin.
  int number_of(Skin skin) {
    for (std::size_t s = 0; s < scene_.skins.size(); ++s)
      if (scene_.skins[s].joints == skin.joints && scene_.skins[s].joint_from_mesh == skin.joint_from_mesh)
        return static_cast<int>(s);
    scene_.skins.push_back(std::move(skin));
    return static_cast<int>(scene_.skins.size()) - 1;
  }

  // ---- clips

  void convert_clip(const ImportedClip& imported) {
    Clip clip;
    clip.name = imported.name;
    for (const ImportedChannel& channel : imported.channels) {
      const auto found = joint_by_name_.find(channel.node);
      if (found == joint_by_name_.end()) {
        ++lost_channels_;
        continue;
      }
      const std::size_t joint = to_size(found->second);
      const bool root = scene_.skeleton.joints[joint].parent < 0;
      const Transform& rest = scene_.skeleton.joints[joint].rest;
      const Mat3d turn = root ? space_.scene_from_file : Mat3d(Mat3d::Identity());
      const double metres = space_.original.metres_per_unit;

      std::vector<Vec3f> translations;
      for (const Vec3f& key : channel.translations)
        translations.push_back((turn * (key.cast<double>() * metres)).cast<float>());
      add_channel(clip, imported, found->second, ChannelPath::translation, channel.translation_times,
                  translations, rest.translation);

      std::vector<Vec4f> rotations;
      for (const Vec4f& key : channel.rotations) {
        const double length = key.cast<double>().norm();
        if (!(length > 1e-6) || !std::isfinite(length))
          fail(fmt::format("clip '{}', node '{}': a rotation is not a unit quaternion", imported.name,
                           channel.node));
        Quatd rotation(Eigen::Vector4d(key.cast<double>() / length));
        if (root) rotation = Quatd(turn) * rotation;
        Vec4f unit = rotation.normalized().coeffs().cast<float>();
        if (!rotations.empty() && unit.dot(rotations.back()) < 0) unit = -unit;
        rotations.push_back(unit);
      }
      add_channel(clip, imported, found->second, ChannelPath::rotation, channel.rotation_times, rotations,
                  Vec4f(rest.rotation.coeffs()));
      add_channel(clip, imported, found->second, ChannelPath::scale, channel.scale_times, channel.scales,
                  rest.scale);
    }
    for (const ImportedMorphChannel& channel : imported.morph_channels)
      add_morph_channel(clip, imported, channel);
    if (!clip.channels.empty()) scene_.clips.push_back(std::move(clip));
  }

  /// Importers give every property of a node at least one key; one that only repeats the rest pose is left
  /// out.
  template <class Vector>
  void add_channel(Clip& clip, const ImportedClip& imported, int joint, ChannelPath path,
                   const std::vector<double>& times, const std::vector<Vector>& keys, const Vector& rest) {
    if (times.size() != keys.size()) fail("the importer failed; the file is damaged");
    Channel channel;
    channel.target = joint;
    channel.path = path;
    channel.width = static_cast<int>(rest.size());
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (add_time(channel, times[k], imported))
        channel.values.insert(channel.values.end(), keys[k].data(), keys[k].data() + keys[k].size());
    if (channel.times.empty()) return;
    if (channel.times.size() == 1) {
      const Vector key = Eigen::Map<const Vector>(channel.values.data());
      const float size = std::max(1e-6f, rest.cwiseAbs().maxCoeff());
      const float apart =
          std::min((key - rest).cwiseAbs().maxCoeff(),
                   path == ChannelPath::rotation ? (key + rest).cwiseAbs().maxCoeff() : 1e30f);
      if (apart <= 1e-5f * size) return;
    }
    clip.channels.push_back(std::move(channel));
  }

  /// Adds a key's time; false when it does not come after the last one.
  bool add_time(Channel& channel, double seconds, const ImportedClip& imported) {
    const float time = static_cast<float>(seconds);
    if (!std::isfinite(time)) fail(fmt::format("clip '{}': the time of a key is not finite", imported.name));
    if (!channel.times.empty() && !(time > channel.times.back())) {
      ++lost_keys_;
      return false;
    }
    channel.times.push_back(time);
    return true;
  }

  void add_morph_channel(Clip& clip, const ImportedClip& imported, const ImportedMorphChannel& from) {
    if (from.starts.size() != from.times.size() + 1 || from.targets.size() != from.weights.size())
      fail("the importer failed; the file is damaged");
    for (std::size_t m = 0; m < scene_.meshes.size(); ++m) {
      const SceneMesh& mesh = scene_.meshes[m];
      if (imported_.nodes[mesh_nodes_[m]].name != from.node || mesh.morph_targets.empty()) continue;
      Channel channel;
      channel.target = static_cast<int>(scene_.first_morph_weight(m));
      channel.path = ChannelPath::morph_weights;
      channel.width = static_cast<int>(mesh.morph_targets.size());
      for (std::size_t k = 0; k < from.times.size(); ++k) {
        if (from.starts[k] > from.starts[k + 1] || from.starts[k + 1] > from.targets.size())
          fail("the importer failed; the file is damaged");
        if (!add_time(channel, from.times[k], imported)) continue;
        const std::size_t first = channel.values.size();
        channel.values.insert(channel.values.end(), mesh.morph_weights.begin(), mesh.morph_weights.end());
        for (std::size_t i = from.starts[k]; i < from.starts[k + 1]; ++i)
          if (from.targets[i] < mesh.morph_targets.size())
            channel.values[first + from.targets[i]] = from.weights[i];
      }
      if (!channel.times.empty()) clip.channels.push_back(std::move(channel));
      return;
    }
    ++lost_channels_;
  }

  void report() {
    if (small_polygons_ > 0) warn(fmt::format("{} points and lines skipped", small_polygons_));
    if (lost_channels_ > 0)
      warn(fmt::format("{} animation channels move nothing in this file", lost_channels_));
    if (lost_keys_ > 0)
      warn(fmt::format("{} animation keys share their time with another; skipped", lost_keys_));
    if (repairs_.rescaled_rows > 0)
      warn(fmt::format("weights of {} polygon corners did not sum to 1; rescaled", repairs_.rescaled_rows));
    if (repairs_.negative_weights > 0)
      warn(fmt::format("{} negative weights set to 0", repairs_.negative_weights));
    if (repairs_.unweighted_vertices > 0)
      warn(fmt::format("{} polygon corners of skinned meshes have no weights", repairs_.unweighted_vertices));
  }

  ImportedScene imported_;
  const ImportSpace& space_;
  const std::string& name_;
  Scene scene_;
  std::vector<Affine3d> rest_world_;
  std::vector<int> joint_of_node_;  // -1 for the root that is left out
  std::unordered_map<std::string, int> joint_by_name_;
  std::vector<std::size_t> mesh_nodes_;  // per scene mesh
  WeightRepairs repairs_;
  std::size_t small_polygons_ = 0;
  std::size_t lost_channels_ = 0;
  std::size_t lost_keys_ = 0;
};

}  // namespace

ImportSpace fbx_space(const ImportedScene& imported) {
  ImportSpace space;
  space.original.metres_per_unit = 0.01 * imported.centimetres_per_unit;
  if (!(imported.centimetres_per_unit > 1e-10 && imported.centimetres_per_unit < 1e10)) {
    space.original.metres_per_unit = 0.01;
    space.warning = fmt::format("a unit of {} centimetres; taken as 1", imported.centimetres_per_unit);
  }
  const std::array<int, 3>& axes = imported.axes;  // right, up, front: our x, y, z
  if (axes[1] < 0 || axes[1] > 2) return space;    // the format's default is ours
  space.original.up_axis = static_cast<char>('x' + axes[1]);
  Mat3d turn = Mat3d::Zero();
  for (int row = 0; row < 3; ++row)
    if (axes[row] >= 0 && axes[row] <= 2) turn(row, axes[row]) = imported.axis_signs[row] < 0 ? -1 : 1;
  if (turn.determinant() != 1) {
    // Left-handed, or axes that repeat. Up is what shows; the rest is made to fit without mirroring.
    space.warning = "its axes are not a right-handed frame; only the up axis is kept";
    const Vec3d up = turn.row(1);
    const Vec3d right = std::abs(up.x()) > 0.5 ? Vec3d(0, -up.x(), 0) : Vec3d(1, 0, 0);
    turn.row(0) = right;
    turn.row(2) = right.cross(up);
  }
  space.scene_from_file = turn;
  return space;
}

ImportSpace collada_space(double metres_per_unit, char up_axis) {
  ImportSpace space;
  space.original = {up_axis, metres_per_unit};
  // Collada 1.4.1, <up_axis>: the right axis is -y with X_UP and x with Z_UP; the third one makes it
  // right-handed.
  if (up_axis == 'x') space.scene_from_file << 0, -1, 0, 1, 0, 0, 0, 0, 1;
  if (up_axis == 'z') space.scene_from_file << 1, 0, 0, 0, 0, 1, 0, -1, 0;
  return space;
}

Scene convert_import(ImportedScene imported, const ImportSpace& space, const std::string& name) {
  return Conversion(std::move(imported), space, name).run();
}

}  // namespace sinew
