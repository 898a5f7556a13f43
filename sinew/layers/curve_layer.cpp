#include <sinew/layers/curve_layer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <sinew/character/character.h>
#include <sinew/character/rest_joints.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/skeleton/joint_names.h>

namespace sinew {

namespace {

constexpr double kMostLengthRatio = 3, kMostUnnamedLengthRatio = 1.5;
constexpr std::size_t kLeastUnnamed = 6;

/// Joints that make a chain.
std::size_t least_joints(SoftPart part) {
  return part == SoftPart::spine ? 4 : 3;
}

/// The joints that have bones, as a tree of its own.
struct BoneTree {
  explicit BoneTree(const Character& character, std::span<const Bone> bones)
      : parent(character.skeleton().size(), -1),
        children(character.skeleton().size()),
        has_bone(character.skeleton().size(), false),
        place(character.skeleton().size(), Vec3d::Zero()) {
    for (const Bone& bone : bones) {
      const auto joint = to_size(bone.joint);
      has_bone[joint] = true;
      place[joint] = bone.head;
      if (bone.child < 0) continue;
      parent[to_size(bone.child)] = bone.joint;
      children[joint].push_back(bone.child);
    }
  }
  double length(int joint) const {  // of the bone from its parent
    const auto j = to_size(joint);
    return (place[j] - place[to_size(parent[j])]).norm();
  }
  std::vector<int> parent;
  std::vector<std::vector<int>> children;
  std::vector<bool> has_bone;
  std::vector<Vec3d> place;
};

/// Cuts a row of joints where neighbouring bones differ too much in length, and keeps the long pieces.
void keep_even_pieces(const BoneTree& tree, const std::vector<int>& row, double most_ratio,
                      std::size_t least_joints, std::vector<std::vector<int>>& chains) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= row.size(); ++i) {
    bool even = i < row.size();
    if (even && i >= begin + 2) {
      const double before = tree.length(row[i - 1]), here = tree.length(row[i]);
      even = here <= most_ratio * before && before <= most_ratio * here;
    }
    if (even) continue;
    if (i - begin >= least_joints)
      chains.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(begin),
                          row.begin() + static_cast<std::ptrdiff_t>(i));
    begin = i;
  }
}

/// The joints from `from` down to `to`, those with bones only; empty when `to` is not below `from`.
std::vector<int> path(const Skeleton& skeleton, const BoneTree& tree, int from, int to) {
  std::vector<int> joints;
  int joint = to;
  for (; joint >= 0; joint = skeleton.joints[to_size(joint)].parent) {
    if (tree.has_bone[to_size(joint)]) joints.push_back(joint);
    if (joint == from) break;
  }
  if (joint < 0) return {};
  std::reverse(joints.begin(), joints.end());
  return joints;
}

int require_joint(const Skeleton& skeleton, const std::string& name, const std::string& where) {
  if (name.empty()) throw Error(fmt::format("{}: is missing; it names a joint", where));
  const int joint = skeleton.find(name);
  if (joint >= 0) return joint;
  std::string some;
  for (const Joint& known : skeleton.joints) {
    if (some.size() + known.name.size() > 160) {
      some += ", ...";
      break;
    }
    some.append(some.empty() ? "" : ", ").append(known.name);
  }
  throw Error(fmt::format("{}: there is no joint '{}'; there are: {}", where, name, some));
}

std::vector<std::vector<int>> named_chains(const CurveOptions& options, const Character& character,
                                           std::span<const Bone> bones) {
  const Skeleton& skeleton = character.skeleton();
  const BoneTree tree(character, bones);
  std::vector<std::vector<int>> chains;
  std::vector<int> chain_of_joint(skeleton.size(), -1);
  for (std::size_t c = 0; c < options.chains.size(); ++c) {
    const ChainOptions& named = options.chains[c];
    const std::string where = fmt::format("curves: chains[{}]", c);
    const int from = require_joint(skeleton, named.from, where + ".from");
    const int to = require_joint(skeleton, named.to, where + ".to");
    std::vector<int> chain = path(skeleton, tree, from, to);
    if (chain.empty()) throw Error(fmt::format("{}.to: '{}' is not below '{}'", where, named.to, named.from));
    if (chain.size() < 2)
      throw Error(fmt::format("{}: has only one joint that moves the skin; at least 2 make a curve", where));
    for (const int joint : chain) {
      int& owner = chain_of_joint[to_size(joint)];
      if (owner >= 0)
        throw Error(fmt::format("{}: joint '{}' is in chains[{}] already", where,
                                skeleton.joints[to_size(joint)].name, owner));
      owner = static_cast<int>(c);
    }
    chains.push_back(std::move(chain));
  }
  return chains;
}

/// Where the last joint's bone ends: of several bones the one that carries on.
Vec3d tip_of_chain(const RestJoints& joints, const CurveChain& chain, int last_joint) {
  const std::size_t binding = chain.joints.back();
  Vec3d direction = Vec3d::Zero();
  if (chain.places.size() > 1) direction = chain.places.back() - chain.places[chain.places.size() - 2];
  Vec3d tip = chain.places.back();
  double best = -std::numeric_limits<double>::infinity();
  for (const Bone& bone : joints.bones_of(last_joint)) {
    const Vec3d tail = joints.tail(binding, bone);
    const Vec3d onward = tail - chain.places.back();
    const double length = onward.norm();
    if (!std::isfinite(length) || !(length > 0)) continue;
    const double agreement = direction.dot(onward) / length;
    if (agreement > best) best = agreement, tip = tail;
  }
  return tip;
}

/// The chain as every skin binds it: each may have a rest space of its own.
std::vector<CurveChain> bound_chains(const Character& character, const RestJoints& joints,
                                     std::span<const std::vector<int>> chains) {
  std::vector<CurveChain> result;
  for (const std::vector<int>& chain : chains) {
    std::set<std::uint32_t> covered;
    for (std::size_t b = 0; b < character.bindings().size(); ++b) {
      const int joint = character.bindings()[b].joint;
      if (joint < 0 || joints.is_solid(b) || covered.contains(static_cast<std::uint32_t>(b)) ||
          std::find(chain.begin(), chain.end(), joint) == chain.end())
        continue;
      CurveChain bound;
      int last = -1;
      double length = 0;
      for (const int member : chain) {
        const int beside = member == joint ? static_cast<int>(b) : joints.binding_beside(b, member);
        if (beside < 0) continue;
        const Vec3d& place = joints.place(to_size(beside));
        if (!place.allFinite()) continue;
        bound.joints.push_back(static_cast<std::uint32_t>(beside));
        bound.places.push_back(place);
        length += (place - bound.places.front()).norm();
        last = member;
      }
      covered.insert(static_cast<std::uint32_t>(b));
      covered.insert(bound.joints.begin(), bound.joints.end());
      // In one place altogether there is no curve to follow; the skin before stays.
      if (bound.joints.size() < 2 || !(length > 0) || !std::isfinite(length)) continue;
      bound.tip = tip_of_chain(joints, bound, last);
      result.push_back(std::move(bound));
    }
  }
  return result;
}

class CurveLayer : public Layer {
 public:
  CurveLayer(const Character& character, std::span<const CurveChain> chains)
      : has_chains_(!chains.empty()),
        curves_({character.rest(), character.triangles()}, character.skin_weights(), chains) {}

  std::string idle_because() const override {
    return has_chains_ ? ""
                       : "no tail of 3 joints and no spine or neck of 4 was found; a recipe may name the "
                         "ends of one: "
                         "{\"method\": \"curves\", \"chains\": [{\"from\": \"spine_01\", \"to\": \"neck\"}]}";
  }

  std::unique_ptr<LayerState> make_state() const override {
    auto state = std::make_unique<State>();
    state->scratch = curves_.make_scratch();
    return state;
  }

  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override {
    curves_.deform(frame.rest, frame.posed_from_rest, static_cast<State*>(state)->scratch, positions);
  }

 private:
  struct State : LayerState {
    std::size_t bytes() const override { return scratch.bytes(); }
    CurveSkeleton::Scratch scratch;
  };
  bool has_chains_;
  CurveSkeleton curves_;
};

std::vector<std::vector<int>> find_chains(const Character& character, std::span<const Bone> bones) {
  const Skeleton& skeleton = character.skeleton();
  const BoneTree tree(character, bones);
  std::vector<SoftPart> family(skeleton.size(), SoftPart::none);
  for (std::size_t j = 0; j < skeleton.size(); ++j)
    if (tree.has_bone[j]) family[j] = soft_part_of(skeleton.joints[j].name);

  std::vector<std::vector<int>> chains;
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    if (family[j] == SoftPart::none) continue;
    const auto same = [&](int other) { return other >= 0 && family[to_size(other)] == family[j]; };
    if (same(tree.parent[j])) continue;
    std::vector<int> row{static_cast<int>(j)};
    for (;;) {
      const std::vector<int>& children = tree.children[to_size(row.back())];
      if (std::count_if(children.begin(), children.end(), same) != 1) break;
      row.push_back(*std::find_if(children.begin(), children.end(), same));
    }
    keep_even_pieces(tree, row, kMostLengthRatio, least_joints(family[j]), chains);
  }

  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const auto is_plain = [&](int joint) {
      const auto k = to_size(joint);
      return tree.has_bone[k] && tree.children[k].size() <= 1 && family[k] == SoftPart::none &&
             !is_limb_name(skeleton.joints[k].name);
    };
    if (!is_plain(static_cast<int>(j)) || (tree.parent[j] >= 0 && is_plain(tree.parent[j]))) continue;
    std::vector<int> row{static_cast<int>(j)};
    for (;;) {
      const std::vector<int>& children = tree.children[to_size(row.back())];
      if (children.empty() || !is_plain(children.front())) break;
      row.push_back(children.front());
    }
    keep_even_pieces(tree, row, kMostUnnamedLengthRatio, kLeastUnnamed, chains);
  }
  return chains;
}

}  // namespace

void ChainOptions::visit(FieldVisitor& fields) {
  fields.text("from", from, "name of the chain's first joint");
  fields.text("to", to, "name of its last joint, below the first");
}

void CurveOptions::visit(FieldVisitor& fields) {
  fields.list(
      "chains", chains,
      "chains of joints that become curves (empty: tails, spines and the like, found by their names)");
}

std::unique_ptr<LayerOptions> make_curve_options() {
  return std::make_unique<CurveOptions>();
}

std::unique_ptr<const Layer> make_curve_layer(const LayerOptions& options, const Character& character) {
  const auto& settings = dynamic_cast<const CurveOptions&>(options);
  const RestJoints& joints = character.rest_joints();
  const std::vector<std::vector<int>> chains = settings.chains.empty()
                                                   ? find_chains(character, joints.bones())
                                                   : named_chains(settings, character, joints.bones());
  return std::make_unique<CurveLayer>(character, bound_chains(character, joints, chains));
}

std::vector<std::vector<int>> find_chains(const Character& character) {
  return find_chains(character, character.rest_joints().bones());
}

}  // namespace sinew
