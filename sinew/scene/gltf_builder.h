#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sinew/core/math.h>
#include <sinew/scene/gltf_accessors.h>
#include <sinew/scene/gltf_document.h>

namespace sinew {

/// What a buffer view is for, in glTF's numbers.
enum class ViewTarget { none = 0, vertices = 34962, indices = 34963 };

/// A glTF document in the making: its JSON and the bytes of its only buffer. Private to scene/.
class GltfBuilder {
 public:
  /// An empty document with one scene, made by Sinew.
  GltfBuilder();
  /// A copy of the document with its buffers put into one, in order, and images that lie beside it embedded.
  explicit GltfBuilder(const GltfDocument& document);

  nlohmann::ordered_json json;

  /// Appends to a top-level array, made when it is not there. Returns the entry's number.
  int append(const char* array, nlohmann::ordered_json entry);

  /// Appends bytes to the buffer, at a multiple of 4. Returns the number of the new buffer view.
  int add_view(std::span<const std::byte> bytes, ViewTarget target);

  /// Accessors for data appended with them. `width` is the number of floats per element: 1 to 4, 9 or 16.
  /// `bounds` says whether min and max are written.
  int add_floats(std::span<const float> values, int width, ViewTarget target, bool bounds);
  int add_vectors(std::span<const Vec3f> values, bool bounds);
  /// Indices in 16 bits where all are below 65535, else in 32.
  int add_indices(std::span<const std::uint32_t> indices);
  /// Four joint numbers per element, in 8 bits for a skin of up to 256 joints, else in 16 (up to 65536).
  int add_joint_numbers(std::span<const std::uint32_t> joints, std::size_t joint_count);

  /// Drops accessors, buffer views and bytes that nothing names. Does nothing when the document uses an
  /// extension that could name them in a way Sinew does not know.
  void drop_unused();

  const std::vector<std::byte>& binary() const { return binary_; }
  /// Writes the file. Throws Error when it would pass the 4 GiB that a GLB can hold.
  void write(const std::filesystem::path& path);

 private:
  void embed_images(const std::filesystem::path& directory);
  int add_accessor(int view, GltfComponent component, std::size_t count, int width);

  std::vector<std::byte> binary_;
};

/// "SCALAR", "VEC2" … for 1, 2, 3, 4, 9 or 16 numbers per element. Throws Error for others.
const char* gltf_accessor_type(int width);

/// The buffers' JSON for a GLB whose binary chunk has `size` bytes.
void set_only_buffer(nlohmann::ordered_json& json, std::uint64_t size);

/// Takes the compressed copy of its data from a primitive that was changed; it would bring the old data back.
void drop_draco(nlohmann::ordered_json& primitive);

/// The JSON as text. Bytes that are not UTF-8 (names from other formats) become U+FFFD.
std::string gltf_text(const nlohmann::ordered_json& json);

constexpr std::uint64_t kGlbHeadSize = 12 + 8;  ///< file header and header of the JSON chunk
constexpr std::uint64_t kGlbBinaryHeadSize = 8;
constexpr std::uint64_t kGlbSizeLimit = (std::uint64_t{1} << 32) - 1;

constexpr std::uint64_t padded_to_4(std::uint64_t size) {
  return (size + 3) / 4 * 4;
}

/// The headers of a GLB. Both sizes must be padded to 4; a binary chunk of size 0 is left out of the file.
std::vector<std::byte> glb_head(std::uint64_t json_size, std::uint64_t binary_size);
std::vector<std::byte> glb_binary_head(std::uint64_t binary_size);

}  // namespace sinew
