#include <sinew/character/character.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <sinew/character/base_layer.h>
#include <sinew/character/rest_joints.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/normal_slots.h>
#include <sinew/scene/refine_mesh.h>
#include <sinew/scene/weld_keys.h>

namespace sinew {

namespace {

constexpr std::size_t kMaxBindings = 65536;  // PackedWeights counts joints in 16 bits

// File normals of one point that differ by less are rounding, not a hard edge.
constexpr float kSmoothCosine = 0.99985f;  // 1°

std::uint32_t add_binding(std::vector<Binding>& bindings, int joint, const Affine3d& joint_from_rest,
                          const Scene& scene) {
  if (bindings.size() == kMaxBindings)
    throw Error(fmt::format("{}: more than {} joint bindings", scene.source.string(), kMaxBindings));
  bindings.push_back({joint, joint_from_rest});
  return static_cast<std::uint32_t>(bindings.size() - 1);
}

/// The joint of a skin that comes first in the skeleton: what a vertex without weights follows.
std::uint32_t root_of_skin(const Skin& skin) {
  const auto root = std::min_element(skin.joints.begin(), skin.joints.end());
  return static_cast<std::uint32_t>(root - skin.joints.begin());
}

/// The first `tolerant` vertices weld within a tolerance, the others, added by refinement, where they are the
/// same point: edges that were halved may be shorter than the tolerance.
Weld weld_in_two(std::span<const Vec3f> positions, std::span<const std::uint32_t> keys, std::size_t tolerant,
                 float tolerance) {
  if (tolerant >= positions.size() || tolerance == 0) return weld_vertices(positions, keys, tolerance);
  Weld weld = weld_vertices(positions.first(tolerant), keys.first(tolerant), tolerance);
  const Weld added = weld_vertices(positions.subspan(tolerant), keys.subspan(tolerant));
  const auto first = static_cast<std::uint32_t>(weld.size());
  for (const std::uint32_t w : added.welded_of_vertex) weld.welded_of_vertex.push_back(first + w);
  for (const std::uint32_t v : added.first_vertex)
    weld.first_vertex.push_back(v + static_cast<std::uint32_t>(tolerant));
  return weld;
}

/// Gives each slot the number of its smooth group: slots of one welded vertex whose file normals agree.
std::vector<std::uint32_t> group_slots(const NormalSlots& slots, const Weld& weld, std::size_t& group_count) {
  struct Group {
    std::uint32_t number;
    Vec3f normal;
  };
  std::vector<std::vector<Group>> groups(weld.size());
  std::vector<std::uint32_t> slot_group(slots.slot_vertex.size());
  for (std::size_t s = 0; s < slot_group.size(); ++s) {
    std::vector<Group>& candidates = groups[weld.welded_of_vertex[slots.slot_vertex[s]]];
    const Vec3f& normal = slots.file_normal[s];
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Group& group) {
      return normal.isZero() || group.normal.isZero() || group.normal.dot(normal) > kSmoothCosine;
    });
    if (same != candidates.end()) {
      slot_group[s] = same->number;
    } else {
      slot_group[s] = static_cast<std::uint32_t>(group_count++);
      candidates.push_back({slot_group[s], normal});
    }
  }
  return slot_group;
}

}  // namespace

std::shared_ptr<Character> Character::make_bare(const Scene& scene, const Recipe& recipe, const Scene& file) {
  std::shared_ptr<Character> character(new Character());
  character->skeleton_ = scene.skeleton;
  character->rest_pose_ = sinew::rest_pose(scene);
  character->morph_weight_count_ = scene.morph_weight_count();
  SkinWeights weights;
  std::vector<Triangle> corner_groups;
  std::size_t group_count = 0;
  for (std::size_t m = 0; m < scene.meshes.size(); ++m)
    character->add_mesh(scene, m, recipe, file.meshes[m].surface.positions.size(), weights, corner_groups,
                        group_count);
  for (auto& [name, values] : character->painted_) values.resize(character->rest_.size(), 0);
  for (std::vector<std::uint32_t>* numbers : {&weights.starts, &weights.joints}) numbers->shrink_to_fit();
  weights.values.shrink_to_fit();
  character->packed_weights_ = std::make_shared<const PackedWeights>(weights);
  character->skin_weights_ = SharedWeights(std::move(weights));
  auto solver = std::make_unique<const NormalSolver>(character->triangles_, corner_groups, group_count);
  character->set_normal_signs(scene, *solver);
  if (recipe.normals) character->normal_solver_ = std::move(solver);
  return character;
}

std::shared_ptr<const Scene> Character::refine_where_wanted(const Scene& scene, const Recipe& recipe,
                                                            std::size_t& first_layer,
                                                            std::vector<RefinementStencils>& stencils) const {
  std::vector<std::uint8_t> levels(triangles_.size(), 0);
  first_layer = recipe.layers.size();
  for (std::size_t l = 0; l < recipe.layers.size(); ++l) {
    if (!recipe.layers[l].options)
      continue;  // a method's defaults want nothing of a surface they do not know
    const std::vector<std::uint8_t> wanted = recipe.layers[l].options->triangle_levels(*this);
    if (std::any_of(wanted.begin(), wanted.end(), [](std::uint8_t level) { return level > 0; }))
      first_layer = std::min(first_layer, l);
    for (std::size_t t = 0; t < wanted.size(); ++t) levels[t] = std::max(levels[t], wanted[t]);
  }
  if (std::all_of(levels.begin(), levels.end(), [](std::uint8_t level) { return level == 0; })) return {};
  auto refined = std::make_shared<Scene>(scene);
  std::size_t first = 0;
  for (std::size_t m = 0; m < meshes_.size(); ++m) {
    const Mesh& surface = scene.meshes[m].surface;
    const WeldedTriangles welded = weld_triangles(meshes_[m].weld, surface.triangles);
    std::vector<std::uint8_t> own(surface.triangles.size(), 0);
    for (std::size_t t = 0; t < welded.sources.size(); ++t) own[welded.sources[t]] = levels[first + t];
    first += welded.sources.size();
    refined->meshes[m] = refine_mesh(scene.meshes[m], own, static_cast<float>(recipe.weld_tolerance),
                                     &stencils.emplace_back());
  }
  return refined;
}

std::shared_ptr<const Character> Character::make(const Scene& scene, const Recipe& recipe,
                                                 const std::vector<LayerMaker>& own_layers) {
  check_scene(scene);
  if (scene.meshes.empty()) throw Error(fmt::format("{}: has no mesh to deform", scene.source.string()));
  check_layers(recipe, "recipe");
  std::shared_ptr<Character> character = make_bare(scene, recipe, scene);
  std::size_t first_layer = 0;
  std::vector<RefinementStencils> stencils;
  BaseLayer* base_layer = nullptr;
  if (auto refined = character->refine_where_wanted(scene, recipe, first_layer, stencils)) {
    Recipe below = recipe;
    below.layers.resize(first_layer);
    below.normals = false;
    const std::shared_ptr<const Character> base = make(scene, below);
    character = make_bare(*refined, recipe, scene);
    character->refined_scene_ = std::move(refined);
    character->warnings_.assign(base->warnings().begin(), base->warnings().end());
    auto layer = std::make_unique<BaseLayer>(base, *character, std::move(stencils));
    base_layer = layer.get();
    character->layers_.push_back(std::move(layer));
  } else {
    first_layer = 0;
  }
  for (std::size_t l = first_layer; l < recipe.layers.size(); ++l) {
    const LayerRecipe& layer = recipe.layers[l];
    const LayerMethod* method = find_layer_method(layer.method);
    const auto options = layer.options ? layer.options : method->make_options();
    character->layers_.push_back(method->make_layer(*options, *character));
    if (const std::string reason = character->layers_.back()->idle_because(); !reason.empty())
      character->warnings_.push_back(fmt::format("layer '{}' does nothing: {}", layer.method, reason));
    for (const std::string& note : character->layers_.back()->notes())
      character->warnings_.push_back(fmt::format("layer '{}': {}", layer.method, note));
  }
  for (const LayerMaker& make_layer : own_layers) character->layers_.push_back(make_layer(*character));
  if (base_layer != nullptr)
    base_layer->keep_free_motion(std::any_of(character->layers_.begin(), character->layers_.end(),
                                             [](const auto& layer) { return layer->uses_free_motion(); }));
  return character;
}

std::uint32_t Character::bind_skin(const Scene& scene, int number) {
  first_binding_of_skin_.resize(scene.skins.size(), -1);
  std::int64_t& first = first_binding_of_skin_[to_size(number)];
  if (first < 0) {
    const Skin& skin = scene.skins[to_size(number)];
    first = static_cast<std::int64_t>(bindings_.size());
    for (std::size_t j = 0; j < skin.joints.size(); ++j)
      add_binding(bindings_, skin.joints[j], Affine3d(skin.joint_from_mesh[j].cast<double>()), scene);
  }
  return static_cast<std::uint32_t>(first);
}

void Character::add_mesh(const Scene& scene, std::size_t mesh_index, const Recipe& recipe,
                         std::size_t file_vertices, SkinWeights& weights,
                         std::vector<Triangle>& corner_groups, std::size_t& group_count) {
  const SceneMesh& source = scene.meshes[mesh_index];
  CharacterMesh mesh;
  mesh.name = source.name;
  mesh.skinned = source.skin >= 0;
  mesh.joint = source.joint;
  mesh.first_vertex = rest_.size();
  mesh.first_morph_weight = scene.first_morph_weight(mesh_index);
  mesh.weld = weld_in_two(source.surface.positions, weld_keys(source), file_vertices,
                          static_cast<float>(recipe.weld_tolerance));

  // Bindings, and the transform that takes the mesh to the common rest space.
  const std::uint32_t first_binding =
      mesh.skinned ? bind_skin(scene, source.skin) : static_cast<std::uint32_t>(bindings_.size());
  std::uint32_t fallback_binding = first_binding;
  if (mesh.skinned) {
    fallback_binding += root_of_skin(scene.skins[to_size(source.skin)]);
  } else if (source.joint >= 0) {
    std::vector<Affine3d> world_from_joint(skeleton_.size());
    forward_kinematics(skeleton_, rest_pose_.joints, world_from_joint);
    const Affine3d& world = world_from_joint[to_size(source.joint)];
    const double volume = std::abs(world.linear().determinant());
    // A node scaled to nothing at rest has no way back: its mesh then stays in its own space.
    if (volume > 1e-30 && volume < 1e30 && world.matrix().cwiseAbs().maxCoeff() < 1e15)
      mesh.rest_from_mesh = world;
    add_binding(bindings_, source.joint, mesh.rest_from_mesh.inverse(), scene);
  } else {
    add_binding(bindings_, -1, Affine3d::Identity(), scene);
  }

  const auto to_rest = [&](const Vec3f& p) -> Vec3f {
    return mesh.skinned ? p : Vec3f((mesh.rest_from_mesh * p.cast<double>()).cast<float>());
  };
  for (std::uint32_t first : mesh.weld.first_vertex)
    rest_.push_back(to_rest(source.surface.positions[first]));
  for (const VertexAttribute& attribute : source.attributes) {
    const auto width = to_size(std::max(attribute.width, 1));
    std::vector<float>& painted = painted_[attribute.name];
    painted.resize(rest_.size(), 0);
    painted_meshes_[attribute.name].push_back(mesh_index);
    std::vector<bool> seen(mesh.weld.size(), false);
    for (std::size_t v = 0; v < mesh.weld.welded_of_vertex.size() && v * width < attribute.values.size();
         ++v) {
      const std::uint32_t welded = mesh.weld.welded_of_vertex[v];
      const float given = attribute.values[v * width], value = std::isfinite(given) ? given : 0.0f;
      float& kept = painted[mesh.first_vertex + welded];
      kept = seen[welded] ? std::max(kept, value) : value;
      seen[welded] = true;
    }
  }
  for (const MorphTarget& target : source.morph_targets) {
    std::vector<Vec3f> displacements;
    displacements.reserve(mesh.weld.size());
    for (std::uint32_t first : mesh.weld.first_vertex)
      displacements.push_back(
          (mesh.rest_from_mesh.linear() * target.displacements[first].cast<double>()).cast<float>());
    mesh.morph_displacements.push_back(std::move(displacements));
  }

  WeightRepairs repairs;
  std::vector<Influence> row;
  std::size_t unweighted = 0;
  for (std::uint32_t first : mesh.weld.first_vertex) {
    row.clear();
    if (mesh.skinned)
      for (std::size_t i = source.weights.starts[first]; i < source.weights.starts[first + 1]; ++i)
        row.push_back({first_binding + source.weights.joints[i], source.weights.values[i]});
    if (std::none_of(row.begin(), row.end(),
                     [](const Influence& influence) { return influence.weight > 0; })) {
      row = {{fallback_binding, 1.0f}};
      if (mesh.skinned) ++unweighted;
    }
    append_row(weights, row, to_size(recipe.influences), repairs);
  }
  if (unweighted > 0)
    warnings_.push_back(fmt::format("mesh '{}': {} vertices without weights follow joint '{}'", mesh.name,
                                    unweighted,
                                    skeleton_.joints[to_size(bindings_[fallback_binding].joint)].name));

  const NormalSlots slots = normal_slots(source);
  mesh.slot_group = group_slots(slots, mesh.weld, group_count);
  mesh.slot_sign.assign(mesh.slot_group.size(), 1.0f);
  for (const std::uint32_t vertex : slots.slot_vertex) {
    const std::size_t welded = mesh.first_vertex + mesh.weld.welded_of_vertex[vertex];
    mesh.slot_binding.push_back(weights.row_joints(welded)[0]);
  }
  const WeldedTriangles welded = weld_triangles(mesh.weld, source.surface.triangles);
  for (std::size_t t = 0; t < welded.triangles.size(); ++t) {
    Triangle triangle, groups;
    for (std::size_t c = 0; c < 3; ++c) {
      triangle[c] = static_cast<std::uint32_t>(mesh.first_vertex + welded.triangles[t][c]);
      const std::uint32_t corner = source.surface.triangle_corners[welded.sources[t]][c];
      groups[c] = mesh.slot_group[slots.corner_slot[corner]];
    }
    triangles_.push_back(triangle);
    corner_groups.push_back(groups);
  }
  meshes_.push_back(std::move(mesh));
}

void Character::set_normal_signs(const Scene& scene, const NormalSolver& solver) {
  std::vector<Vec4f> scratch(solver.scratch_size());
  std::vector<Vec3f> normals(solver.slot_count());
  solver.compute(rest_, scratch, normals, Vec3f::Zero());
  for (std::size_t m = 0; m < meshes_.size(); ++m) {
    const CharacterMesh& mesh = meshes_[m];
    const Mat3d rest_from_mesh_normal = mesh.rest_from_mesh.linear().inverse().transpose();
    const NormalSlots slots = normal_slots(scene.meshes[m]);
    for (std::size_t s = 0; s < slots.slot_vertex.size(); ++s) {
      const Vec3f file_normal = (rest_from_mesh_normal * slots.file_normal[s].cast<double>()).cast<float>();
      if (normals[mesh.slot_group[s]].dot(file_normal) < 0) meshes_[m].slot_sign[s] = -1.0f;
    }
  }
}

Character::Character() = default;
Character::~Character() = default;

const RestJoints& Character::rest_joints() const {
  std::call_once(rest_joints_once_, [this] { rest_joints_ = std::make_unique<const RestJoints>(*this); });
  return *rest_joints_;
}

bool Character::is_painted(std::string_view attribute, std::size_t mesh) const {
  const auto found = painted_meshes_.find(attribute);
  return found != painted_meshes_.end() &&
         std::find(found->second.begin(), found->second.end(), mesh) != found->second.end();
}

std::span<const float> Character::painted(std::string_view attribute) const {
  const auto found = painted_.find(attribute);
  if (found == painted_.end()) return {};
  return found->second;
}

bool Character::has_history() const {
  return std::any_of(layers_.begin(), layers_.end(), [](const auto& layer) { return layer->has_history(); });
}

}  // namespace sinew
