#include <sinew/scene/gltf_json.h>

#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr std::size_t kShownBytes = 80;
constexpr double kMaxNatural = 9007199254740992.0;  // 2^53: every whole number up to here is exact in JSON

/// Length of the UTF-8 sequence at the start of `text`, 0 when it is broken.
std::size_t utf8_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    if (shown.size() >= kShownBytes) return shown + "...";
    const std::size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      shown += fmt::format("\\x{:02X}", byte);
      ++i;
    } else {
      shown += text.substr(i, length);
      i += length;
    }
  }
  return shown;
}

std::string gltf_label(const char* kind, std::size_t index, std::string_view name) {
  if (name.empty()) return fmt::format("{} {}", kind, index);
  return fmt::format("{} '{}'", kind, printable(name));
}

std::string GltfValue::where() const {
  return place_.empty() ? *file_ : fmt::format("{}: {}", *file_, place_);
}

void GltfValue::fail(std::string_view what) const {
  throw Error(fmt::format("{}: {}", where(), what));
}

std::optional<GltfValue> GltfValue::find(const char* key) const {
  if (!json_->is_object()) fail("expected an object");
  const auto found = json_->find(key);
  if (found == json_->end()) return std::nullopt;
  return GltfValue(*found, *file_, place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key));
}

GltfValue GltfValue::member(const char* key) const {
  auto found = find(key);
  if (!found) fail(fmt::format("'{}' is missing", key));
  return *std::move(found);
}

std::vector<std::pair<std::string, GltfValue>> GltfValue::members() const {
  if (!json_->is_object()) fail("expected an object");
  std::vector<std::pair<std::string, GltfValue>> all;
  all.reserve(json_->size());
  for (auto member = json_->begin(); member != json_->end(); ++member)
    all.emplace_back(member.key(),
                     GltfValue(*member, *file_, fmt::format("{}.{}", place_, printable(member.key()))));
  return all;
}

std::size_t GltfValue::size() const {
  if (!json_->is_array()) fail("expected an array");
  return json_->size();
}

GltfValue GltfValue::element(std::size_t i) const {
  return GltfValue((*json_)[i], *file_, fmt::format("{}[{}]", place_, i));
}

std::vector<GltfValue> GltfValue::elements(const char* key) const {
  std::vector<GltfValue> all;
  if (const auto array = find(key)) {
    const std::size_t n = array->size();
    all.reserve(n);
    for (std::size_t i = 0; i < n; ++i) all.push_back(array->element(i));
  }
  return all;
}

std::size_t GltfValue::count(const char* key) const {
  const auto array = find(key);
  return array ? array->size() : 0;
}

std::uint64_t GltfValue::natural() const {
  // JSON knows numbers only: some exporters write 12.0 where 12 is meant.
  if (json_->is_number()) {
    const double value = json_->get<double>();
    if (value >= 0 && value <= kMaxNatural && std::floor(value) == value)
      return static_cast<std::uint64_t>(value);
  }
  fail("expected a non-negative integer");
}

std::size_t GltfValue::index(std::size_t count, const char* kind) const {
  const std::uint64_t value = natural();
  if (value >= count) {
    const char* plural = std::string_view(kind) == "mesh" ? "es" : "s";
    fail(fmt::format("{} {} does not exist ({} {}{})", kind, value, count, kind, count == 1 ? "" : plural));
  }
  return to_size(value);
}

float GltfValue::number() const {
  if (!json_->is_number()) fail("expected a number");
  const float value = static_cast<float>(json_->get<double>());
  if (!std::isfinite(value)) fail("the number is too large");
  return value;
}

std::vector<float> GltfValue::numbers(std::size_t count) const {
  if (!json_->is_array() || json_->size() != count)
    fail(fmt::format("expected an array of {} numbers", count));
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = element(i).number();
  return values;
}

bool GltfValue::boolean() const {
  if (!json_->is_boolean()) fail("expected true or false");
  return json_->get<bool>();
}

const std::string& GltfValue::text() const {
  if (!json_->is_string()) fail("expected a string");
  return json_->get_ref<const std::string&>();
}

std::string GltfValue::name() const {
  const auto value = find("name");
  return value ? value->text() : std::string();
}

}  // namespace sinew
