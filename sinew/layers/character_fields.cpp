#include <sinew/layers/character_fields.h>

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include <sinew/character/rest_joints.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/pattern.h>
#include <sinew/geometry/orientation.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/layers/character_muscles.h>

namespace sinew {

namespace {

constexpr float kWeak = 0.1f;

/// Which binding moves a triangle most; -1: none.
std::int32_t strongest_binding(const SkinWeights& weights, const Triangle& triangle) {
  std::array<Influence, 48> sums;
  std::size_t count = 0;
  for (const std::uint32_t v : triangle) {
    const auto joints = weights.row_joints(v);
    const auto values = weights.row_values(v);
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const auto end = sums.begin() + static_cast<std::ptrdiff_t>(count);
      const auto found =
          std::find_if(sums.begin(), end, [&](const Influence& i) { return i.joint == joints[k]; });
      if (found != end)
        found->weight += values[k];
      else if (count < sums.size())
        sums[count++] = {joints[k], values[k]};
    }
  }
  const auto best = std::max_element(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(count),
                                     [](const Influence& a, const Influence& b) {
                                       return a.weight != b.weight ? a.weight < b.weight : a.joint > b.joint;
                                     });
  return count > 0 ? static_cast<std::int32_t>(best->joint) : -1;
}

/// A joint's part: the triangles of one mesh, and the binding that moves them.
struct JointPart {
  std::size_t binding = 0;
  std::size_t mesh = 0;
  std::vector<std::uint32_t> triangles;
};

double triangle_area(const Character& character, const Triangle& t) {
  const auto rest = character.rest();
  const Vec3d a = rest[t[0]].cast<double>(), b = rest[t[1]].cast<double>(), c = rest[t[2]].cast<double>();
  return (b - a).cross(c - a).norm() / 2;
}

std::vector<std::size_t> mesh_of_vertices(const Character& character) {
  std::vector<std::size_t> mesh(character.rest().size(), 0);
  for (std::size_t m = 0; m < character.meshes().size(); ++m) {
    const CharacterMesh& part = character.meshes()[m];
    std::size_t end = character.rest().size();
    if (m + 1 < character.meshes().size()) end = character.meshes()[m + 1].first_vertex;
    for (std::size_t v = part.first_vertex; v < end; ++v) mesh[v] = m;
  }
  return mesh;
}

/// Per joint of the skeleton, the part its field is made of; without triangles: none.
std::vector<JointPart> joint_parts(const Character& character, const FieldLayerOptions& options) {
  const std::size_t mesh_count = character.meshes().size();
  const std::vector<std::size_t> mesh_of_vertex = mesh_of_vertices(character);
  std::vector<std::uint8_t> allowed(mesh_count, 1);
  for (std::size_t m = 0; m < mesh_count; ++m)
    allowed[m] = character.meshes()[m].skinned &&
                 (options.meshes.empty() || matches_pattern(character.meshes()[m].name, options.meshes));
  if (!options.meshes.empty() && std::find(allowed.begin(), allowed.end(), 1) == allowed.end())
    throw Error(fmt::format("implicit: meshes: no skinned mesh is named {}", options.meshes));

  std::vector<double> mesh_area(mesh_count, 0);
  std::vector<std::int32_t> binding_of_triangle;
  for (const Triangle& t : character.triangles()) {
    binding_of_triangle.push_back(strongest_binding(character.skin_weights(), t));
    mesh_area[mesh_of_vertex[t[0]]] += triangle_area(character, t);
  }
  std::vector<std::size_t> by_area(mesh_count);
  std::iota(by_area.begin(), by_area.end(), std::size_t{0});
  std::stable_sort(by_area.begin(), by_area.end(),
                   [&](std::size_t a, std::size_t b) { return mesh_area[a] > mesh_area[b]; });
  std::vector<std::size_t> rank(mesh_count);
  for (std::size_t i = 0; i < mesh_count; ++i) rank[by_area[i]] = i;

  std::vector<JointPart> parts(character.skeleton().size());
  std::vector<std::size_t> part_rank(parts.size(), mesh_count);
  for (std::uint32_t t = 0; t < character.triangles().size(); ++t) {
    const std::int32_t binding = binding_of_triangle[t];
    const std::size_t mesh = mesh_of_vertex[character.triangles()[t][0]];
    if (binding < 0 || !allowed[mesh]) continue;
    const int joint = character.bindings()[to_size(binding)].joint;
    if (joint < 0) continue;
    JointPart& part = parts[to_size(joint)];
    std::size_t& best = part_rank[to_size(joint)];
    if (rank[mesh] > best) continue;
    if (rank[mesh] < best) best = rank[mesh], part = {to_size(binding), mesh, {}};
    part.triangles.push_back(t);
  }
  return parts;
}

/// The nearest joint above that has a part; -1: none.
int parent_with_part(const Skeleton& skeleton, std::span<const JointPart> parts, int joint) {
  int parent = skeleton.joints[to_size(joint)].parent;
  while (parent >= 0 && parts[to_size(parent)].triangles.empty())
    parent = skeleton.joints[to_size(parent)].parent;
  return parent;
}

BonePart bone_part(const Character& character, const RestJoints& joints, std::span<const JointPart> parts,
                   int joint) {
  const JointPart& source = parts[to_size(joint)];
  BonePart part;
  part.triangles = source.triangles;
  const CharacterMesh& body = character.meshes()[source.mesh];
  part.first_body_vertex = static_cast<std::uint32_t>(body.first_vertex);
  part.last_body_vertex = static_cast<std::uint32_t>(source.mesh + 1 < character.meshes().size()
                                                         ? character.meshes()[source.mesh + 1].first_vertex
                                                         : character.rest().size());
  const Vec3d head = joints.place(source.binding);
  if (!head.allFinite()) return part;
  const std::span<const Bone> bones = joints.bones_of(joint);
  for (const Bone& bone : bones) {
    BoneSegment segment;
    segment.head = head;
    segment.tail = joints.tail(source.binding, bone);
    if (!segment.tail.allFinite()) continue;
    // Where several bones begin, the joint is inside of the part.
    segment.close_head = bones.size() == 1 && parent_with_part(character.skeleton(), parts, joint) >= 0;
    segment.close_tail = bone.child >= 0 && !parts[to_size(bone.child)].triangles.empty();
    if (bones.size() > 1 && bone.child >= 0) {
      const std::span<const Bone> onward = joints.bones_of(bone.child);
      if (!onward.empty()) segment.tail_direction = onward[0].tail - onward[0].head;
    }
    part.segments.push_back(segment);
  }
  return part;
}

const BoneFieldOptions& field_options(const FieldLayerOptions& options,
                                      std::span<const BoneFieldOptions> edited, const std::string& joint) {
  for (std::size_t i = options.fields.size(); i-- > 0;)
    if (matches_pattern(joint, options.fields[i].joint)) return edited[i];
  return options.field;
}

/// The operators that the options name: that of all joints first, then those of the entries of `joints`.
struct NamedOperators {
  NamedOperators(const FieldLayerOptions& options) {
    add(options.operation, "implicit");
    for (std::size_t i = 0; i < options.joints.size(); ++i) {
      const std::string where = fmt::format("implicit: joints: {}", i);
      add(options.joints[i].operation, where);
      if (!options.joints[i].between.empty() && options.joints[i].between.size() != 2)
        throw Error(fmt::format("{}: between: names {} parts; it takes two", where,
                                options.joints[i].between.size()));
      if (!options.joints[i].between.empty() && is_named(operators.size() - 1) &&
          !is_first(operators.size() - 1))
        throw Error(
            fmt::format("{}: between: parts that no joint connects touch by themselves; it takes "
                        "blend, bulge or profile",
                        where));
    }
  }
  void add(const OperatorChoice& choice, const std::string& where) {
    operators.push_back(choice.make(shared_operators(), where));
    choices.push_back(&choice);
  }
  /// Joined before all others.
  bool is_first(std::size_t number) const {
    const auto kind = static_cast<OperatorKind>(choices[number]->kind);
    return kind == OperatorKind::blend || kind == OperatorKind::bulge || kind == OperatorKind::profile;
  }
  bool is_named(std::size_t number) const { return choices[number]->kind != OperatorChoice::kNone; }

  std::vector<Operator> operators;
  std::vector<const OperatorChoice*> choices;
};

std::size_t operator_of_joint(const FieldLayerOptions& options, const std::string& name) {
  for (std::size_t i = options.joints.size(); i-- > 0;)
    if (options.joints[i].between.empty() && matches_pattern(name, options.joints[i].joint)) return i + 1;
  return 0;
}

/// The operator of two parts that no joint connects; 0: none.
std::size_t operator_between(const FieldLayerOptions& options, const std::string& a, const std::string& b) {
  const auto fits = [](const std::vector<std::string>& pair, const std::string& first,
                       const std::string& second) {
    return matches_pattern(first, pair[0]) && matches_pattern(second, pair[1]);
  };
  for (std::size_t i = options.joints.size(); i-- > 0;) {
    const std::vector<std::string>& pair = options.joints[i].between;
    if (pair.size() == 2 && (fits(pair, a, b) || fits(pair, b, a))) return i + 1;
  }
  return 0;
}

/// Puts the operators that the options name into a set whose fields and joints are known: as a tree over all
/// fields, and as pairs.
void compose_fields(const Character& character, const FieldLayerOptions& options,
                    std::span<const int> joint_of_field, FieldSet& set) {
  const NamedOperators named(options);
  const auto name = [&](std::uint32_t field) -> const std::string& {
    return character.skeleton().joints[to_size(joint_of_field[field])].name;
  };
  std::vector<CompositionJoint> joints;
  for (const FieldJoint& joint : set.joints) {
    const std::size_t number = operator_of_joint(options, name(joint.child));
    joints.push_back({joint.parent, joint.child, static_cast<std::uint32_t>(number), named.is_first(number)});
    if (named.is_named(number))
      set.pairs.push_back({joint.parent, joint.child, named.operators[number], true});
  }
  const auto is_joint = [&](std::uint32_t a, std::uint32_t b) {
    return std::any_of(set.joints.begin(), set.joints.end(), [&](const FieldJoint& joint) {
      return (joint.parent == a && joint.child == b) || (joint.parent == b && joint.child == a);
    });
  };
  for (std::uint32_t a = 0; a < set.fields.size(); ++a)
    for (std::uint32_t b = a + 1; b < set.fields.size(); ++b) {
      const std::size_t number = operator_between(options, name(a), name(b));
      if (number > 0 && named.is_named(number) && !is_joint(a, b))
        set.pairs.push_back({a, b, named.operators[number], false});
    }
  // In the tree, parts that no joint connects can only collide.
  std::vector<Operator> operators = named.operators;
  const auto between = static_cast<std::uint32_t>(operators.size());
  operators.push_back(Operator());
  set.tree = make_composition_tree(set.fields.size(), joints, std::move(operators), between);
}

}  // namespace

CharacterFields make_character_fields(const Character& character, const FieldLayerOptions& options) {
  CharacterFields result;
  auto set = std::make_shared<FieldSet>();
  const MeshView mesh{character.rest(), character.triangles()};
  const std::vector<JointPart> parts = joint_parts(character, options);
  const RestJoints& joints = character.rest_joints();
  std::vector<BoneField> fields(parts.size());
  const auto any_part =
      std::any_of(parts.begin(), parts.end(), [](const JointPart& part) { return !part.triangles.empty(); });
  if (any_part) {
    const SurfaceQuery query(mesh);
    const std::vector<Vec3d> normals = outward_normals(mesh, find_orientation(mesh, query));
    std::vector<BoneFieldOptions> edited;
    for (const FieldEdit& edit : options.fields) edited.push_back(edit.edited());
    parallel_blocks(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) {
        if (parts[j].triangles.empty()) continue;
        const BonePart part = bone_part(character, joints, parts, static_cast<int>(j));
        if (part.segments.empty()) continue;
        fields[j] = make_bone_field(mesh, normals, part,
                                    field_options(options, edited, character.skeleton().joints[j].name));
      }
    });
  }

  std::vector<std::int32_t> field_of_joint(parts.size(), -1);
  std::vector<int> joint_of_field;
  for (std::size_t j = 0; j < parts.size(); ++j) {
    if (fields[j].grid.empty()) continue;
    field_of_joint[j] = static_cast<std::int32_t>(set->fields.size());
    joint_of_field.push_back(static_cast<int>(j));
    set->fields.push_back(std::move(fields[j]));
    set->transform.push_back(static_cast<std::uint32_t>(parts[j].binding));
  }
  for (std::uint32_t f = 0; f < set->fields.size(); ++f) {
    const int joint = joint_of_field[f];
    int parent = character.skeleton().joints[to_size(joint)].parent;
    while (parent >= 0 && field_of_joint[to_size(parent)] < 0)
      parent = character.skeleton().joints[to_size(parent)].parent;
    if (parent < 0) continue;
    set->joints.push_back({static_cast<std::uint32_t>(field_of_joint[to_size(parent)]), f,
                           joints.place(parts[to_size(joint)].binding)});
  }
  for (const auto& binding : character.bindings()) {
    int joint = binding.joint;
    while (joint >= 0 && field_of_joint[to_size(joint)] < 0)
      joint = character.skeleton().joints[to_size(joint)].parent;
    set->field_of_transform.push_back(joint < 0 ? -1 : field_of_joint[to_size(joint)]);
  }
  std::vector<FieldSource> sources;
  for (const int joint : joint_of_field) {
    const JointPart& part = parts[to_size(joint)];
    sources.push_back({joint, part.binding, part.mesh});
  }
  if (!options.softness.empty())
    for (const int joint : joint_of_field) {
      set->softness.push_back(0);
      for (const PartSoftness& part : options.softness)
        if (matches_pattern(character.skeleton().joints[to_size(joint)].name, part.joint))
          set->softness.back() = static_cast<float>(part.softness);
    }
  set->muscles = make_muscles(character, joints, sources, options.muscles);
  check_muscles(*set, character.bindings().size());
  compose_fields(character, options, joint_of_field, *set);
  // In a union weak values never count: only the larger one does, and skin is at ½.
  const auto is_union = [](const Operator& operation) { return operation.kind() == OperatorKind::union_; };
  const auto& operators = set->tree.operators();
  if (std::all_of(operators.begin(), operators.end(), is_union))
    for (BoneField& field : set->fields) field.grid.bound(kWeak);

  result.own.assign(character.rest().size(), -1);
  for (std::size_t v = 0; v < result.own.size(); ++v)
    for (const std::uint32_t binding : character.skin_weights().row_joints(v)) {
      const int joint = character.bindings()[binding].joint;
      if (joint < 0 || field_of_joint[to_size(joint)] < 0) continue;
      result.own[v] = field_of_joint[to_size(joint)];
      break;
    }
  result.set = std::move(set);
  return result;
}

}  // namespace sinew
