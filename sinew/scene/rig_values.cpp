#include <sinew/scene/rig_values.h>

#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/nesting.h>
#include <sinew/scene/gltf_json.h>

namespace sinew {

using Json = nlohmann::ordered_json;

namespace {

std::string show(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void RigValue::fail(const char* key, const std::string& expected) const {
  const Json* value = find(key);
  throw Error(fmt::format("{}: {}: expected {}, found {}", where_, key, expected,
                          value == nullptr ? "nothing" : show(*value)));
}

const Json* RigValue::find(const char* key) const {
  const auto found = json_.find(key);
  return found == json_.end() ? nullptr : &*found;
}

void RigValue::read(const char* key, bool& value) const {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_boolean()) fail(key, "true or false");
  value = json->get<bool>();
}

void RigValue::read(const char* key, std::string& value) const {
  const Json* json = find(key);
  if (json == nullptr || json->is_null()) return;
  if (!json->is_string()) fail(key, "a text");
  value = json->get<std::string>();
}

void RigValue::read(const char* key, int& value, int smallest) const {
  const Json* json = find(key);
  if (json == nullptr) return;
  const double number = json->is_number() ? json->get<double>() : NAN;
  if (!(number >= smallest && number <= 1e6) || number != std::floor(number))
    fail(key, fmt::format("a whole number from {} to 1000000", smallest));
  value = static_cast<int>(number);
}

void RigValue::read(const char* key, double& value) const {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_number()) fail(key, "a number");
  value = json->get<double>();
}

Vec3d RigValue::point(const char* key) const {
  const Json* json = find(key);
  if (json == nullptr || !json->is_array() || json->size() != 3) fail(key, "three numbers");
  Vec3d point;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(*json)[i].is_number()) fail(key, "three numbers");
    point[static_cast<Eigen::Index>(i)] = (*json)[i].get<double>();
  }
  return point;
}

const Json& RigValue::list(const char* key, std::size_t most) const {
  static const Json nothing = Json::array();
  const Json* json = find(key);
  if (json == nullptr) return nothing;
  if (!json->is_array()) fail(key, "a list");
  if (json->size() > most)
    throw Error(
        fmt::format("{}: {}: {} entries are too many; allowed are {}", where_, key, json->size(), most));
  return *json;
}

Json parse_rig_text(std::string_view text, const std::string& name) {
  check_json_nesting(text, name, kRigDepth);
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: is not JSON: {}", name, printable(error.what())));
  }
}

std::string rig_text(const Json& json, int indent, const std::string& name) {
  try {
    return json.dump(indent);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: cannot be written as JSON: {}", name, printable(error.what())));
  }
}

Json extras_json(const std::string& extras, const std::string& where) {
  if (extras.empty()) return Json::object();
  Json json = parse_rig_text(extras, where + ": extras");
  if (!json.is_object()) throw Error(where + ": extras: expected a JSON object");
  return json;
}

}  // namespace sinew
