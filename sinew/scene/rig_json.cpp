#include <sinew/scene/rig_json.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/rig_file.h>
#include <sinew/scene/rig_values.h>

namespace sinew {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kVersion = 1;
constexpr std::array<std::string_view, 4> kRigFields{"sinew_rig", "name", "bones", "drivers"};
constexpr std::array<std::string_view, 8> kBoneFields{"name", "parent", "head",      "tail",
                                                      "roll", "deform", "connected", "constraints"};
constexpr std::array<std::string_view, 9> kConstraintFields{
    "type", "name", "target", "targets", "influence", "pole", "pole_angle", "chain_length", "length"};
constexpr std::array<std::string_view, 2> kTargetFields{"bone", "weight"};

/// The members that are none of `fields`, as text; empty when there is none.
std::string other_members(const Json& object, std::span<const std::string_view> fields) {
  Json extras = Json::object();
  for (const auto& [key, value] : object.items())
    if (std::find(fields.begin(), fields.end(), key) == fields.end()) extras[key] = value;
  return extras.empty() ? std::string() : extras.dump();
}

void add_extras(Json& object, const std::string& extras, std::span<const std::string_view> fields,
                const std::string& where) {
  if (extras.empty()) return;
  const Json members = extras_json(extras, where);
  for (const auto& [key, value] : members.items())
    if (std::find(fields.begin(), fields.end(), key) == fields.end()) object[key] = value;
}

std::vector<ConstraintTarget> read_targets(const RigValue& value) {
  const Json& list = value.list("targets", kMostTargets);
  const bool has_list = value.find("targets") != nullptr;
  if (value.find("target") == nullptr) {
    std::vector<ConstraintTarget> targets;
    for (std::size_t t = 0; t < list.size(); ++t) {
      if (!list[t].is_object()) value.fail("targets", "objects with bone and weight");
      const RigValue entry(list[t], fmt::format("{}: targets[{}]", value.where(), t));
      ConstraintTarget& target = targets.emplace_back();
      entry.read("bone", target.bone);
      entry.read("weight", target.weight);
      target.extras = other_members(list[t], kTargetFields);
    }
    return targets;
  }
  if (has_list) value.fail("targets", "nothing beside target");
  std::string bone;
  value.read("target", bone);
  return bone.empty() ? std::vector<ConstraintTarget>() : std::vector<ConstraintTarget>{{bone}};
}

RigConstraint read_constraint(const Json& json, const std::string& where) {
  if (!json.is_object()) throw Error(where + ": expected an object");
  const RigValue value(json, where);
  RigConstraint constraint;
  std::string type;
  value.read("type", type);
  if (type.empty()) value.fail("type", "a text such as ik or copy_rotation");
  constraint.kind = constraint_kind(type);
  if (constraint.kind == ConstraintKind::other) constraint.type = type;
  value.read("name", constraint.name);
  constraint.targets = read_targets(value);
  value.read("influence", constraint.influence);
  if (!(constraint.influence >= 0 && constraint.influence <= 1))
    value.fail("influence", "a number from 0 to 1");
  value.read("pole", constraint.pole);
  value.read("pole_angle", constraint.pole_angle);
  value.read("chain_length", constraint.chain_length, 0);
  value.read("length", constraint.length);
  if (constraint.length < 0) value.fail("length", "a length in metres, not negative");
  constraint.extras = other_members(json, kConstraintFields);
  return constraint;
}

RigBone read_bone(const Json& json, const std::string& file, std::size_t number) {
  const std::string place = fmt::format("{}: bones[{}]", file, number);
  if (!json.is_object()) throw Error(place + ": expected an object");
  RigBone bone;
  RigValue(json, place).read("name", bone.name);
  if (bone.name.empty()) RigValue(json, place).fail("name", "a text that is not empty");
  const std::string where = fmt::format("{}: bone '{}'", file, bone.name);
  const RigValue value(json, where);
  bone.head = value.point("head");
  bone.tail = value.point("tail");
  value.read("roll", bone.roll);
  value.read("deform", bone.deforms);
  value.read("connected", bone.connected);
  const Json& constraints = value.list("constraints", kMostConstraints);
  for (std::size_t c = 0; c < constraints.size(); ++c)
    bone.constraints.push_back(read_constraint(constraints[c], fmt::format("{}: constraints[{}]", where, c)));
  bone.extras = other_members(json, kBoneFields);
  return bone;
}

Json constraint_to_json(const RigConstraint& constraint, const std::string& where) {
  const RigConstraint standard;
  Json json;
  json["type"] = constraint.kind != ConstraintKind::other ? std::string(constraint_name(constraint.kind))
                 : constraint.type.empty()                ? std::string("other")
                                                          : constraint.type;
  if (!constraint.name.empty()) json["name"] = constraint.name;
  const std::vector<ConstraintTarget>& targets = constraint.targets;
  if (targets.size() == 1 && targets[0] == ConstraintTarget{targets[0].bone} && !targets[0].bone.empty() &&
      constraint.kind != ConstraintKind::armature) {
    json["target"] = targets[0].bone;
  } else if (!targets.empty()) {
    json["targets"] = Json::array();
    for (const ConstraintTarget& target : targets) {
      Json entry{{"bone", target.bone}, {"weight", target.weight}};
      add_extras(entry, target.extras, kTargetFields, where);
      json["targets"].push_back(std::move(entry));
    }
  }
  json["influence"] = constraint.influence;
  const bool ik = constraint.kind == ConstraintKind::ik;
  if (!constraint.pole.empty()) json["pole"] = constraint.pole;
  if (constraint.pole_angle != 0) json["pole_angle"] = constraint.pole_angle;
  if (ik || constraint.chain_length != 0) json["chain_length"] = constraint.chain_length;
  if (constraint.length != 0) json["length"] = constraint.length;
  add_extras(json, constraint.extras, kConstraintFields, where);
  return json;
}

}  // namespace

Json bone_to_json(const ControlRig& rig, const RigBone& bone) {
  const std::string where = fmt::format("rig '{}': bone '{}'", rig.name, bone.name);
  Json json;
  json["name"] = bone.name;
  json["parent"] = bone.parent < 0 ? Json() : Json(rig.bones[to_size(bone.parent)].name);
  json["head"] = {bone.head.x(), bone.head.y(), bone.head.z()};
  json["tail"] = {bone.tail.x(), bone.tail.y(), bone.tail.z()};
  json["roll"] = bone.roll;
  json["deform"] = bone.deforms;
  json["connected"] = bone.connected;
  if (!bone.constraints.empty()) json["constraints"] = Json::array();
  for (const RigConstraint& constraint : bone.constraints)
    json["constraints"].push_back(
        constraint_to_json(constraint, fmt::format("{}: constraint '{}'", where, constraint.name)));
  add_extras(json, bone.extras, kBoneFields, where);
  return json;
}

Json rig_header_json(const ControlRig& rig) {
  const std::string where = fmt::format("rig '{}'", rig.name);
  Json json;
  json["sinew_rig"] = kVersion;
  json["name"] = rig.name;
  if (!rig.drivers.empty()) {
    json["drivers"] = parse_rig_text(rig.drivers, where + ": drivers");
    if (!json["drivers"].is_array()) throw Error(where + ": drivers: expected a JSON array");
  }
  add_extras(json, rig.extras, kRigFields, where);
  return json;
}

Json rig_to_json(const ControlRig& rig) {
  check_rig(rig, fmt::format("rig '{}'", rig.name));
  Json json = rig_header_json(rig);
  json["bones"] = Json::array();
  for (const RigBone& bone : rig.bones) json["bones"].push_back(bone_to_json(rig, bone));
  return json;
}

ControlRig rig_from_json(const Json& document, const std::string& name) {
  if (!document.is_object() || !document.contains("sinew_rig"))
    throw Error(fmt::format("{}: is no Sinew rig: the member \"sinew_rig\" is missing", name));
  const RigValue value(document, name);
  int version = 0;
  value.read("sinew_rig", version, 1);
  if (version != kVersion)
    value.fail("sinew_rig", fmt::format("version {}, which this program reads", kVersion));
  ControlRig rig;
  value.read("name", rig.name);
  const Json& bones = value.list("bones", kMostBones);
  if (bones.empty()) value.fail("bones", "a list of at least one bone");
  std::unordered_map<std::string, int> numbers;
  for (std::size_t b = 0; b < bones.size(); ++b) {
    rig.bones.push_back(read_bone(bones[b], name, b));
    numbers.emplace(rig.bones.back().name, static_cast<int>(b));
  }
  for (std::size_t b = 0; b < bones.size(); ++b) {
    const RigValue bone(bones[b], fmt::format("{}: bone '{}'", name, rig.bones[b].name));
    std::string parent;
    bone.read("parent", parent);
    const Json* given = bone.find("parent");
    if (given == nullptr || given->is_null()) continue;
    const auto found = numbers.find(parent);
    if (found == numbers.end()) bone.fail("parent", "null or the name of a bone");
    rig.bones[b].parent = found->second;
  }
  if (value.find("drivers") != nullptr)
    rig.drivers = value.list("drivers", static_cast<std::size_t>(-1)).dump();
  rig.extras = other_members(document, kRigFields);
  check_rig(rig, name);
  return rig;
}

ControlRig parse_rig_json(std::string_view text, const std::string& name) {
  return rig_from_json(parse_rig_text(text, name), name);
}

ControlRig read_rig_json(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path, kLargestRigFile);
  return parse_rig_json(as_text(bytes), path.string());
}

std::string rig_json_text(const ControlRig& rig) {
  return rig_text(rig_to_json(rig), 1, fmt::format("rig '{}'", rig.name)) + "\n";
}

void write_rig_json(const ControlRig& rig, const std::filesystem::path& path) {
  write_file(path, rig_json_text(rig));
}

}  // namespace sinew
