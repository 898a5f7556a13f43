#include <sinew/scene/rigify_dump.h>

#include <cctype>
#include <unordered_map>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/core/nesting.h>
#include <sinew/core/text.h>
#include <sinew/scene/rig_file.h>
#include <sinew/scene/rig_values.h>

namespace sinew {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kOriginal = "blender";  // the member of the extras that holds the dump's own values

Vec3d from_blender(const Vec3d& p) {
  return {p.x(), p.z(), -p.y()};
}
Json to_blender(const Vec3d& p) {
  return {p.x(), p.z() == 0 ? 0.0 : -p.z(), p.y()};
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// What the dump calls the member of a constraint that is RigConstraint::length; null: it has none.
const char* length_field(ConstraintKind kind) {
  if (kind == ConstraintKind::stretch_to) return "rest_length";
  if (kind == ConstraintKind::limit_distance) return "distance";
  return nullptr;
}

/// Reads the parts of a dump of one armature.
class DumpReader {
 public:
  DumpReader(std::string object, std::unordered_map<std::string, int> bones)
      : object_(std::move(object)), bones_(std::move(bones)) {}

  RigBone bone(const Json& json, const std::string& where) const {
    const RigValue value(json, where);
    RigBone bone;
    value.read("name", bone.name);
    bone.head = from_blender(value.point("head"));
    bone.tail = from_blender(value.point("tail"));
    value.read("roll", bone.roll);
    value.read("use_connect", bone.connected);
    std::string category;
    value.read("category", category);
    bone.deforms = category.empty() || category == "deform";
    value.read("use_deform", bone.deforms);
    const Json& constraints = value.list("constraints", kMostConstraints);
    for (std::size_t c = 0; c < constraints.size(); ++c) {
      const std::string place = fmt::format("{}: constraints[{}]", where, c);
      if (!constraints[c].is_object()) throw Error(place + ": expected an object");
      bone.constraints.push_back(constraint(constraints[c], place));
      bone.constraints.back().extras = Json{{kOriginal, constraints[c]}}.dump();
    }
    if (const Json* parent = value.find("parent"); parent != nullptr && !parent->is_null()) {
      if (!parent->is_string() || !bones_.contains(parent->get<std::string>()))
        value.fail("parent", "null or the name of a bone");
      bone.parent = bones_.at(parent->get<std::string>());
    }
    return bone;
  }

  /// Without extras.
  RigConstraint constraint(const Json& json, const std::string& where) const {
    const RigValue value(json, where);
    RigConstraint constraint;
    std::string type;
    value.read("type", type);
    if (type.empty()) value.fail("type", "a text such as IK or COPY_ROTATION");
    constraint.kind = constraint_kind(lower_case(type));
    if (constraint.kind == ConstraintKind::other) constraint.type = type;
    value.read("name", constraint.name);
    value.read("influence", constraint.influence);
    if (const std::string bone = target(value, "target", "subtarget"); !bone.empty())
      constraint.targets.push_back({bone});
    if (constraint.kind == ConstraintKind::armature) {
      constraint.targets.clear();
      const Json& targets = value.list("targets", kMostTargets);
      for (std::size_t t = 0; t < targets.size(); ++t) {
        const RigValue entry(targets[t], fmt::format("{}: targets[{}]", where, t));
        if (!targets[t].is_object()) value.fail("targets", "a list of objects");
        constraint.targets.push_back({target(entry, "target", "subtarget")});
        entry.read("weight", constraint.targets.back().weight);
      }
    }
    if (constraint.kind == ConstraintKind::ik) {
      constraint.pole = target(value, "pole_target", "pole_subtarget");
      value.read("pole_angle", constraint.pole_angle);
      value.read("chain_count", constraint.chain_length, 0);
    }
    if (const char* field = length_field(constraint.kind)) value.read(field, constraint.length);
    return constraint;
  }

 private:
  /// The bone a constraint looks at; empty when there is none, or it belongs to another object. Objects stand
  /// as their name or as {"id": "Object", "name": …}.
  std::string target(const RigValue& value, const char* object_field, const char* bone_field) const {
    const Json* object = value.find(object_field);
    if (object == nullptr) return {};
    if (object->is_object() && object->contains("name")) object = &(*object)["name"];
    if (!object->is_string() || object->get<std::string>() != object_) return {};
    std::string bone;
    value.read(bone_field, bone);
    return bones_.contains(bone) ? bone : std::string();
  }

  std::string object_;
  std::unordered_map<std::string, int> bones_;
};

/// The dump's own value for a part of a rig, or null.
Json original(const std::string& extras, const std::string& where) {
  Json json = extras_json(extras, where);
  const auto found = json.find(kOriginal);
  return found != json.end() && found->is_object() ? std::move(*found) : Json();
}

/// Writes a rig over the values of the dump it came from.
class DumpWriter {
 public:
  explicit DumpWriter(const ControlRig& rig) : rig_(rig), where_(fmt::format("rig '{}'", rig.name)) {
    check_rig(rig, where_);
    document_ = original(rig.extras, where_);
    std::string object;
    if (document_.is_null())
      document_ = Json{{"blender", "unknown"},
                       {"space", "armature, Blender Z-up, character faces -Y, metres"},
                       {"n_bones", 0}};
    else
      RigValue(document_, where_).read("object", object);
    was_object_ = object;
    for (std::size_t b = 0; b < rig.bones.size(); ++b)
      numbers_.emplace(rig.bones[b].name, static_cast<int>(b));
  }

  Json run() {
    if (rig_.name != was_object_) document_["object"] = rig_.name;
    if (document_.contains("n_bones")) document_["n_bones"] = rig_.bones.size();
    Json bones = Json::array();
    for (const RigBone& bone : rig_.bones) bones.push_back(bone_json(bone));
    document_["bones"] = std::move(bones);
    if (!rig_.drivers.empty()) {
      document_["drivers"] = parse_rig_text(rig_.drivers, where_ + ": drivers");
      if (!document_["drivers"].is_array()) throw Error(where_ + ": drivers: expected a JSON array");
    }
    return std::move(document_);
  }

 private:
  Json bone_json(const RigBone& bone) {
    const std::string where = fmt::format("{}: bone '{}'", where_, bone.name);
    Json json = original(bone.extras, where);
    RigBone was;
    const bool is_new = json.is_null();
    if (is_new) json = Json::object();
    json["name"] = bone.name;
    json["parent"] = bone.parent < 0 ? Json() : Json(rig_.bones[to_size(bone.parent)].name);
    if (!is_new) was = DumpReader(was_object_, {}).bone(without_links(json), where);
    if (is_new || was.head != bone.head) json["head"] = to_blender(bone.head);
    if (is_new || was.tail != bone.tail) json["tail"] = to_blender(bone.tail);
    if (is_new || was.roll != bone.roll) json["roll"] = bone.roll;
    if (is_new || was.head != bone.head || was.tail != bone.tail || was.roll != bone.roll) {
      json["length"] = bone.length();
      json["matrix_rest"] = matrix_rest(bone);
    }
    if (is_new || was.connected != bone.connected) json["use_connect"] = bone.connected;
    if (is_new || was.deforms != bone.deforms) json["use_deform"] = bone.deforms;
    if (bone.constraints.empty() && !json.contains("constraints")) return json;
    Json constraints = Json::array();
    for (const RigConstraint& constraint : bone.constraints)
      constraints.push_back(
          constraint_json(constraint, fmt::format("{}: constraint '{}'", where, constraint.name)));
    json["constraints"] = std::move(constraints);
    return json;
  }

  /// A bone as the dump has it, without what refers to others.
  static Json without_links(Json bone) {
    bone.erase("parent");
    bone.erase("constraints");
    return bone;
  }

  static Json matrix_rest(const RigBone& bone) {
    const Mat3d frame = bone_frame(bone.tail - bone.head, bone.roll);
    Json rows = Json::array({Json::array(), Json::array(), Json::array(), {0.0, 0.0, 0.0, 1.0}});
    for (Eigen::Index column = 0; column < 4; ++column) {
      const Json values = to_blender(column < 3 ? Vec3d(frame.col(column)) : bone.head);
      for (std::size_t row = 0; row < 3; ++row) rows[row].push_back(values[row]);
    }
    return rows;
  }

  Json constraint_json(const RigConstraint& constraint, const std::string& where) {
    Json json = original(constraint.extras, where);
    const bool is_new = json.is_null();
    if (is_new) json = Json::object();
    const RigConstraint was =
        is_new ? RigConstraint{} : DumpReader(was_object_, numbers_).constraint(json, where);
    if (is_new || was.kind != constraint.kind || was.type != constraint.type)
      json["type"] = constraint.kind == ConstraintKind::other
                         ? constraint.type
                         : upper_case(std::string(constraint_name(constraint.kind)));
    if (is_new || was.name != constraint.name) json["name"] = constraint.name;
    if (is_new || was.influence != constraint.influence) json["influence"] = constraint.influence;
    // Targets say the armature's name, too.
    const bool renamed = rig_.name != was_object_;
    if (was.targets != constraint.targets || (renamed && !was.targets.empty())) set_targets(json, constraint);
    if (was.pole != constraint.pole || (renamed && !was.pole.empty()))
      set_target(json, "pole_target", "pole_subtarget", constraint.pole);
    if (was.pole_angle != constraint.pole_angle) json["pole_angle"] = constraint.pole_angle;
    if (was.chain_length != constraint.chain_length) json["chain_count"] = constraint.chain_length;
    if (const char* field = length_field(constraint.kind))
      if (was.length != constraint.length) json[field] = constraint.length;
    return json;
  }

  void set_targets(Json& json, const RigConstraint& constraint) const {
    if (constraint.kind != ConstraintKind::armature) {
      set_target(json, "target", "subtarget",
                 constraint.targets.empty() ? std::string() : constraint.targets[0].bone);
      return;
    }
    Json targets = Json::array();
    for (const ConstraintTarget& target : constraint.targets)
      targets.push_back(Json{{"target", target.bone.empty() ? Json() : Json(rig_.name)},
                             {"subtarget", target.bone},
                             {"weight", target.weight}});
    json["targets"] = std::move(targets);
  }

  void set_target(Json& json, const char* object_field, const char* bone_field,
                  const std::string& bone) const {
    json[object_field] = bone.empty() ? Json() : Json{{"id", "Object"}, {"name", rig_.name}};
    json[bone_field] = bone;
  }

  const ControlRig& rig_;
  std::string where_;
  std::string was_object_;  // the armature's name in the dump
  std::unordered_map<std::string, int> numbers_;
  Json document_;
};

}  // namespace

bool is_dump(const Json& document) {
  if (!document.is_object() || document.contains("sinew_rig")) return false;
  const auto version = document.find("blender"), bones = document.find("bones");
  return version != document.end() && version->is_string() && bones != document.end() && bones->is_array();
}

ControlRig rig_from_dump(const Json& document, const std::string& name) {
  if (!is_dump(document))
    throw Error(
        fmt::format("{}: is no dump of a Blender rig: expected the members \"blender\" and \"bones\"", name));
  const RigValue value(document, name);
  ControlRig rig;
  value.read("object", rig.name);
  const Json& bones = value.list("bones", kMostBones);
  if (bones.empty()) value.fail("bones", "a list of at least one bone");
  std::unordered_map<std::string, int> numbers;
  for (std::size_t b = 0; b < bones.size(); ++b) {
    const RigValue bone(bones[b], fmt::format("{}: bones[{}]", name, b));
    std::string bone_name;
    if (bones[b].is_object()) bone.read("name", bone_name);
    if (bone_name.empty()) throw Error(bone.where() + ": expected an object with a name");
    numbers.emplace(bone_name, static_cast<int>(b));
  }
  const DumpReader reader(rig.name, std::move(numbers));
  for (const Json& json : bones) {
    rig.bones.push_back(
        reader.bone(json, fmt::format("{}: bone '{}'", name, json["name"].get<std::string>())));
    // Constraints have extras of their own; an empty list keeps their place.
    Json kept = json;
    if (kept.contains("constraints")) kept["constraints"] = Json::array();
    rig.bones.back().extras = Json{{kOriginal, std::move(kept)}}.dump();
  }
  if (value.find("drivers") != nullptr)
    rig.drivers = value.list("drivers", static_cast<std::size_t>(-1)).dump();
  Json kept = Json::object();
  for (const auto& [key, member] : document.items())
    kept[key] = key == "bones" || key == "drivers" ? Json::array() : member;
  rig.extras = Json{{kOriginal, std::move(kept)}}.dump();
  check_rig(rig, name);
  return rig;
}

ControlRig parse_rigify_dump(std::string_view text, const std::string& name) {
  const Json document = parse_rig_text(text, name);
  check_json_nesting(text, name, kDumpDepth);
  return rig_from_dump(document, name);
}

ControlRig read_rigify_dump(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path, kLargestRigFile);
  return parse_rigify_dump(as_text(bytes), path.string());
}

bool is_from_dump(const ControlRig& rig) {
  return !original(rig.extras, fmt::format("rig '{}'", rig.name)).is_null();
}

std::string rigify_dump_text(const ControlRig& rig) {
  return rig_text(DumpWriter(rig).run(), 1, fmt::format("rig '{}'", rig.name)) + "\n";
}

void write_rigify_dump(const ControlRig& rig, const std::filesystem::path& path) {
  write_file(path, rigify_dump_text(rig));
}

}  // namespace sinew
