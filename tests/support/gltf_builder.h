#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace sinew::test {

/// A glTF file made piece by piece; tests bend its JSON and bytes as they like.
class GltfFile {
 public:
  /// Only the asset's version.
  GltfFile();

  nlohmann::ordered_json json;
  std::vector<std::byte> binary;

  /// Appends bytes at a multiple of 4. Returns the view's number.
  int add_view(std::span<const std::byte> bytes, int stride = 0);
  /// Appends an accessor for a view. Returns its number.
  int add_accessor(int view, std::size_t count, const char* type, int component_type, std::size_t offset = 0);
  /// Both at once, tightly packed. T is one of the six component types.
  template <class T>
  int add(const std::vector<T>& values, const char* type, bool normalized = false);

  /// Overwrites one number of tightly packed data.
  template <class T>
  void poke(int accessor, std::size_t place, T value);

  std::vector<std::byte> glb() const;
  /// JSON with the binary as a data URI.
  std::string gltf() const;
  /// JSON whose buffer is `uri`.
  std::string gltf_with_buffer(const std::string& uri) const;

 private:
  nlohmann::ordered_json with_buffer() const;
};

std::string base64(std::span<const std::byte> bytes);
std::vector<std::byte> to_bytes(std::string_view text);

/// A GLB from its parts as they are. `length` overwrites the header's.
std::vector<std::byte> make_glb(std::string_view json, std::span<const std::byte> binary);

/// One triangle, (0 0 0) (1 0 0) (0 1 0), with indices, on node 0 "shape".
GltfFile triangle_file();

/// A square of two triangles with all that a character has. Nodes: 0 "root" with children 1 and 2, 1 "upper"
/// with child 3, 2 "body" showing mesh 0 by skin 0, 3 "lower". Skin 0 "arm" of the nodes 1 and 3. Mesh 0
/// "body" with normals, UVs, _SIGMA, weights and a morph target "smile" of weight 0.25. Animation 0 "bend"
/// with one channel each: rotation of 3, translation of 0, weights of 2, at the times 0 and 1.
GltfFile arm_file();

/// Accessors of arm_file.
struct Arm {
  static constexpr int kPositions = 0, kNormals = 1, kTexcoords = 2, kSigma = 3, kJoints = 4, kWeights = 5,
                       kIndices = 6, kSmile = 7, kBinds = 8, kTimes = 9, kRotations = 10, kTranslations = 11,
                       kMorphs = 12;
};

}  // namespace sinew::test
