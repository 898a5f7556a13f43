#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include <sinew/skeleton/control_rig.h>

/// Rigs as JSON values, for the files that hold them. Private to scene/.
namespace sinew {

/// Most bones of a rig, and most constraints of a bone.
inline constexpr std::size_t kMostBones = 65'536;
inline constexpr std::size_t kMostConstraints = 1'000;
inline constexpr std::size_t kMostTargets = 1'000;
/// Arrays and objects in a rig's file nest no deeper; in a dump's less, since its values move down when it is
/// written as another format.
inline constexpr std::size_t kRigDepth = 64;
inline constexpr std::size_t kDumpDepth = 56;

/// A value from a rig's file with the place it stands at, to name what is wrong with it. The JSON must
/// outlive it.
class RigValue {
 public:
  RigValue(const nlohmann::ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {}

  /// The member, or null.
  const nlohmann::ordered_json* find(const char* key) const;
  /// Members that are not there leave `value` as it is, as does null for texts. Others must be what the type
  /// says, or it throws Error.
  void read(const char* key, bool& value) const;
  void read(const char* key, std::string& value) const;
  void read(const char* key, int& value, int smallest) const;
  void read(const char* key, double& value) const;
  /// Must be there: [x, y, z].
  Vec3d point(const char* key) const;
  /// A list that may be missing; throws when it has more than `most` entries.
  const nlohmann::ordered_json& list(const char* key, std::size_t most) const;
  [[noreturn]] void fail(const char* key, const std::string& expected) const;
  const std::string& where() const { return where_; }

 private:
  const nlohmann::ordered_json& json_;
  std::string where_;
};

/// Parses a rig's file. Throws Error, prefixed with `name`.
nlohmann::ordered_json parse_rig_text(std::string_view text, const std::string& name);
/// JSON as text. Throws Error, prefixed with `name`, for texts that are not UTF-8.
std::string rig_text(const nlohmann::ordered_json& json, int indent, const std::string& name);
/// ControlRig::extras and the like as JSON: an empty object when there is nothing. Throws Error.
nlohmann::ordered_json extras_json(const std::string& extras, const std::string& where);

/// The document of scene/rig_json.h. The rig passes check_rig.
ControlRig rig_from_json(const nlohmann::ordered_json& document, const std::string& name);
nlohmann::ordered_json rig_to_json(const ControlRig& rig);
/// An entry of "bones", and the document without them.
nlohmann::ordered_json bone_to_json(const ControlRig& rig, const RigBone& bone);
nlohmann::ordered_json rig_header_json(const ControlRig& rig);

/// The document of scene/rigify_dump.h.
bool is_dump(const nlohmann::ordered_json& document);
ControlRig rig_from_dump(const nlohmann::ordered_json& document, const std::string& name);

}  // namespace sinew
