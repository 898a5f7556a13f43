#include <sinew/scene/gltf_accessors.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

/// Elements of an accessor without data behind it.
constexpr std::uint64_t kMaxZeroElements = std::uint64_t{1} << 26;

/// What any file may unfold to, and how much more per byte of buffer or JSON value. A scene of a thousand
/// instances passes, a file made to exhaust the memory does not.
constexpr std::uint64_t kFreeValues = std::uint64_t{1} << 25;
constexpr std::uint64_t kValuesPerByte = 256;

std::size_t component_size(GltfComponent component) {
  switch (component) {
    case GltfComponent::i8:
    case GltfComponent::u8:
      return 1;
    case GltfComponent::i16:
    case GltfComponent::u16:
      return 2;
    case GltfComponent::u32:
    case GltfComponent::f32:
      return 4;
  }
  return 4;
}

GltfComponent read_component(const GltfValue& value) {
  switch (value.natural()) {
    case 5120:
      return GltfComponent::i8;
    case 5121:
      return GltfComponent::u8;
    case 5122:
      return GltfComponent::i16;
    case 5123:
      return GltfComponent::u16;
    case 5125:
      return GltfComponent::u32;
    case 5126:
      return GltfComponent::f32;
    default:
      value.fail(fmt::format("{} is no component type (5120 to 5123, 5125, 5126)", value.natural()));
  }
}

void read_type(const GltfValue& value, GltfAccessor& accessor) {
  const std::string& type = value.text();
  if (type == "SCALAR") {
    accessor.width = 1;
  } else if (type == "VEC2") {
    accessor.width = 2;
  } else if (type == "VEC3") {
    accessor.width = 3;
  } else if (type == "VEC4") {
    accessor.width = 4;
  } else if (type == "MAT2" || type == "MAT3" || type == "MAT4") {
    const int order = type[3] - '0';
    accessor.width = order * order;
    accessor.is_matrix = true;
  } else {
    value.fail(fmt::format("'{}' is no accessor type (SCALAR, VEC2 to VEC4, MAT2 to MAT4)", printable(type)));
  }
}

/// Runs body with a value of the component's C++ type.
template <class Body>
void with_component(GltfComponent component, const Body& body) {
  switch (component) {
    case GltfComponent::i8:
      return body(std::int8_t{});
    case GltfComponent::u8:
      return body(std::uint8_t{});
    case GltfComponent::i16:
      return body(std::int16_t{});
    case GltfComponent::u16:
      return body(std::uint16_t{});
    case GltfComponent::u32:
      return body(std::uint32_t{});
    case GltfComponent::f32:
      return body(float{});
  }
}

template <class To, class From>
To convert(From value, bool normalized) {
  if constexpr (std::is_same_v<To, float> && std::is_integral_v<From>) {
    // glTF 2.0, 3.11: f = c / max for unsigned, f = max(c / max, -1) for signed components.
    if (normalized) {
      const float f = static_cast<float>(value) / static_cast<float>(std::numeric_limits<From>::max());
      return std::max(f, -1.0f);
    }
  }
  return static_cast<To>(value);
}

template <class From, class To>
void convert_element(const std::byte* source, int width, bool normalized, To* out) {
  for (int c = 0; c < width; ++c) {
    From value;
    std::memcpy(&value, source + to_size(c) * sizeof(From), sizeof(From));
    out[c] = convert<To>(value, normalized);
  }
}

template <class From, class To>
void convert_elements(const std::byte* source, std::size_t stride, std::size_t count, int width,
                      bool normalized, To* out) {
  if (std::is_same_v<From, To> && stride == to_size(width) * sizeof(From)) {
    std::memcpy(out, source, count * stride);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    convert_element<From>(source + i * stride, width, normalized, out + i * to_size(width));
}

std::uint32_t sparse_index(const GltfAccessor& accessor, std::size_t i) {
  std::uint32_t index = 0;
  const std::size_t size = component_size(accessor.sparse_index_component);
  std::memcpy(&index, accessor.sparse_indices + i * size, size);
  return index;
}

template <class To>
void decode_as(const GltfAccessor& accessor, std::span<To> out) {
  assert(out.size() == accessor.values());
  with_component(accessor.component, [&](auto sample) {
    using From = decltype(sample);
    if constexpr (std::is_same_v<To, float> || std::is_unsigned_v<From>) {
      const std::size_t width = to_size(accessor.width);
      if (accessor.data != nullptr)
        convert_elements<From>(accessor.data, accessor.stride, accessor.count, accessor.width,
                               accessor.normalized, out.data());
      else
        std::fill(out.begin(), out.end(), To{});
      for (std::size_t i = 0; i < accessor.sparse_count; ++i)
        convert_element<From>(accessor.sparse_values + i * width * sizeof(From), accessor.width,
                              accessor.normalized, out.data() + sparse_index(accessor, i) * width);
    } else {
      assert(false && "signed or float components asked for as unsigned integers");
    }
  });
}

}  // namespace

GltfAccessors::GltfAccessors(const GltfDocument& document, const GltfValue& root)
    : document_(&document),
      root_(root),
      accessor_count_(root.count("accessors")),
      view_count_(root.count("bufferViews")),
      budget_(kFreeValues) {
  for (const auto& buffer : document.buffers) budget_ += kValuesPerByte * buffer.size();
}

void GltfAccessors::charge(std::uint64_t values) {
  if (values > budget_)
    root_.fail("its meshes and animations unfold to far more data than the file holds; is it damaged?");
  budget_ -= values;
}

std::span<const std::byte> GltfAccessors::buffer_view(const GltfValue& reference, std::size_t* stride) const {
  const std::size_t number = reference.index(view_count_, "bufferView");
  const GltfValue view = root_.member("bufferViews").element(number);
  const std::vector<std::byte>& buffer =
      document_->buffers[view.member("buffer").index(document_->buffers.size(), "buffer")];
  // Offset and length were checked with the document.
  const auto offset = view.find("byteOffset");
  const auto stride_value = view.find("byteStride");
  *stride = stride_value ? to_size(stride_value->natural()) : 0;
  return std::span(buffer).subspan(offset ? offset->natural() : 0, view.member("byteLength").natural());
}

GltfAccessor GltfAccessors::find(const GltfValue& reference) const {
  const std::size_t number = reference.index(accessor_count_, "accessor");
  const GltfValue json = root_.member("accessors").element(number);
  GltfAccessor accessor;
  accessor.number = number;
  accessor.component = read_component(json.member("componentType"));
  read_type(json.member("type"), accessor);
  const GltfValue count = json.member("count");
  const std::uint64_t elements = count.natural();
  if (elements == 0) count.fail("expected a positive integer");
  if (const auto normalized = json.find("normalized"))
    accessor.normalized = normalized->boolean() && accessor.component != GltfComponent::f32;

  const std::uint64_t element_size =
      component_size(accessor.component) * static_cast<std::uint64_t>(accessor.width);
  if (accessor.is_matrix && accessor.component != GltfComponent::f32)
    json.fail("matrices of integers are not supported");
  if (const auto view_reference = json.find("bufferView")) {
    std::size_t stride = 0;
    const std::span<const std::byte> view = buffer_view(*view_reference, &stride);
    const auto offset_value = json.find("byteOffset");
    const std::uint64_t offset = offset_value ? offset_value->natural() : 0;
    // Some exporters write 0 for "tightly packed".
    if (stride == 0) stride = element_size;
    if (stride < element_size)
      json.fail(
          fmt::format("elements of {} bytes, but the bufferView's byteStride is {}", element_size, stride));
    // Divisions, since the products may overflow.
    if (offset > view.size() || element_size > view.size() - offset ||
        elements - 1 > (view.size() - offset - element_size) / stride)
      json.fail(fmt::format(
          "{} elements of {} bytes at stride {} from byte {} do not fit the bufferView ({} bytes)", elements,
          element_size, stride, offset, view.size()));
    accessor.data = view.data() + offset;
    accessor.stride = stride;
  } else if (elements > kMaxZeroElements) {
    json.fail(fmt::format("{} elements without data, at most {} are read", elements, kMaxZeroElements));
  }
  accessor.count = to_size(elements);
  if (const auto sparse = json.find("sparse")) read_sparse(*sparse, accessor);
  return accessor;
}

void GltfAccessors::read_sparse(const GltfValue& sparse, GltfAccessor& accessor) const {
  const GltfValue count = sparse.member("count");
  const std::uint64_t elements = count.natural();
  if (elements > accessor.count)
    count.fail(fmt::format("{} sparse elements in an accessor of {}", elements, accessor.count));

  // Sparse data is tightly packed, whatever stride its view claims.
  std::size_t ignored_stride = 0;
  const auto packed = [&](const char* part, std::uint64_t element_size) {
    const GltfValue value = sparse.member(part);
    const std::span<const std::byte> view = buffer_view(value.member("bufferView"), &ignored_stride);
    const auto offset_value = value.find("byteOffset");
    const std::uint64_t offset = offset_value ? offset_value->natural() : 0;
    if (offset > view.size() || elements > (view.size() - offset) / element_size)
      value.fail(fmt::format("{} elements of {} bytes from byte {} do not fit the bufferView ({} bytes)",
                             elements, element_size, offset, view.size()));
    return view.data() + offset;
  };
  const GltfValue index_component = sparse.member("indices").member("componentType");
  accessor.sparse_index_component = read_component(index_component);
  if (accessor.sparse_index_component != GltfComponent::u8 &&
      accessor.sparse_index_component != GltfComponent::u16 &&
      accessor.sparse_index_component != GltfComponent::u32)
    index_component.fail("sparse indices must be unsigned integers (5121, 5123, 5125)");
  accessor.sparse_indices = packed("indices", component_size(accessor.sparse_index_component));
  accessor.sparse_values =
      packed("values", component_size(accessor.component) * static_cast<std::uint64_t>(accessor.width));
  accessor.sparse_count = to_size(elements);
}

void GltfAccessors::check_sparse_indices(const GltfAccessor& accessor) const {
  for (std::size_t i = 0; i < accessor.sparse_count; ++i) {
    const std::uint32_t index = sparse_index(accessor, i);
    const bool increasing = i == 0 || index > sparse_index(accessor, i - 1);
    if (index < accessor.count && increasing) continue;
    const GltfValue indices =
        root_.member("accessors").element(accessor.number).member("sparse").member("indices");
    if (index >= accessor.count)
      indices.fail(fmt::format("index {} is {}, but the accessor has {} elements", i, index, accessor.count));
    indices.fail(fmt::format("index {} ({}) is not larger than the one before it", i, index));
  }
}

void GltfAccessors::decode(const GltfAccessor& accessor, std::span<float> out) const {
  check_sparse_indices(accessor);
  decode_as(accessor, out);
}

void GltfAccessors::decode(const GltfAccessor& accessor, std::span<std::uint32_t> out) const {
  check_sparse_indices(accessor);
  decode_as(accessor, out);
}

}  // namespace sinew
