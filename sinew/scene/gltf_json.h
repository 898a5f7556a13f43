#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace sinew {

/// `text` fit for an error message: control characters and broken UTF-8 shown as \xNN, long text cut.
std::string printable(std::string_view text);

/// One value of a glTF file's JSON together with its place, so that whatever is wrong with it can be named:
/// "hand.glb: accessors[12].count: expected a non-negative integer". Every function throws Error that way
/// when the value is not what the caller asks for. Private to scene/. The JSON and `file` must outlive it.
class GltfValue {
 public:
  /// The whole file; `file` is what errors call it.
  GltfValue(const nlohmann::ordered_json& json, const std::string& file) : json_(&json), file_(&file) {}

  const nlohmann::ordered_json& json() const { return *json_; }
  const std::string& file() const { return *file_; }
  /// "hand.glb: accessors[12].count"
  std::string where() const;
  [[noreturn]] void fail(std::string_view what) const;

  /// A member of this object; find() answers nothing, member() throws, when it is not there.
  std::optional<GltfValue> find(const char* key) const;
  GltfValue member(const char* key) const;
  bool has(const char* key) const { return find(key).has_value(); }
  /// Names and values of an object, in file order.
  std::vector<std::pair<std::string, GltfValue>> members() const;

  /// The array's length and elements; `i` must be smaller than size().
  std::size_t size() const;
  GltfValue element(std::size_t i) const;
  /// The elements of member `key`, none when it is not there.
  std::vector<GltfValue> elements(const char* key) const;
  /// Their number.
  std::size_t count(const char* key) const;

  /// A whole number from 0 to 2^53.
  std::uint64_t natural() const;
  /// A natural number below `count`, the number of `kind`s ("node") that exist.
  std::size_t index(std::size_t count, const char* kind) const;
  /// A number that is finite as a float.
  float number() const;
  /// An array of exactly `count` such numbers.
  std::vector<float> numbers(std::size_t count) const;
  bool boolean() const;
  const std::string& text() const;

  /// The member "name", byte for byte; empty when there is none.
  std::string name() const;

 private:
  GltfValue(const nlohmann::ordered_json& json, const std::string& file, std::string place)
      : json_(&json), file_(&file), place_(std::move(place)) {}

  const nlohmann::ordered_json* json_;
  const std::string* file_;
  std::string place_;
};

/// What messages call an element: "mesh 'body'", or "mesh 3" when it has no name.
std::string gltf_label(const char* kind, std::size_t index, std::string_view name);

}  // namespace sinew
