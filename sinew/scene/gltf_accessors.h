#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/scene/gltf_document.h>
#include <sinew/scene/gltf_json.h>

namespace sinew {

/// glTF's numbers for component types.
enum class GltfComponent { i8 = 5120, u8 = 5121, i16 = 5122, u16 = 5123, u32 = 5125, f32 = 5126 };

/// An accessor whose sizes, offsets and strides have been checked against its buffers.
struct GltfAccessor {
  std::size_t number = 0;
  std::size_t count = 0;  ///< elements, at least 1
  int width = 1;          ///< components per element; 16 for MAT4
  bool is_matrix = false;
  GltfComponent component = GltfComponent::f32;
  bool normalized = false;

  const std::byte* data = nullptr;  ///< null: all zero, but for the sparse elements
  std::size_t stride = 0;

  std::size_t sparse_count = 0;
  GltfComponent sparse_index_component = GltfComponent::u16;
  const std::byte* sparse_indices = nullptr;
  const std::byte* sparse_values = nullptr;

  std::size_t values() const { return count * to_size(width); }
};

/// Decodes accessors into the caller's memory. Nothing in the JSON is trusted: Error names the accessor.
/// Private to scene/. The document and the name behind `root` must outlive it.
class GltfAccessors {
 public:
  GltfAccessors(const GltfDocument& document, const GltfValue& root);

  /// The accessor that `reference` (a JSON number, such as attributes.POSITION) names.
  GltfAccessor find(const GltfValue& reference) const;

  /// Components as floats, normalised integers brought to [0, 1] or [-1, 1]. `out` holds accessor.values().
  /// Numbers may be anything, also not finite.
  void decode(const GltfAccessor& accessor, std::span<float> out) const;
  /// Components of an unsigned integer accessor.
  void decode(const GltfAccessor& accessor, std::span<std::uint32_t> out) const;

  /// Call before taking memory for `values` more numbers of 4 bytes. A few bytes of JSON can ask for the same
  /// data many times or for zeros without data; Error when the total is out of proportion to the file.
  void charge(std::uint64_t values);

 private:
  std::span<const std::byte> buffer_view(const GltfValue& reference, std::size_t* stride) const;
  void read_sparse(const GltfValue& sparse, GltfAccessor& accessor) const;
  void check_sparse_indices(const GltfAccessor& accessor) const;

  const GltfDocument* document_;
  GltfValue root_;
  std::size_t accessor_count_;
  std::size_t view_count_;
  std::uint64_t budget_;
};

}  // namespace sinew
