// The JSON of a glTF file, put into a GLB beside a fixed binary chunk, so that mutations go into the JSON
// instead of being lost in the container's lengths or in base64.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <sinew/core/error.h>
#include <sinew/scene/gltf.h>

namespace {

constexpr std::size_t kBinarySize = 1024;

void put_word(std::vector<std::byte>& out, std::size_t word) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(word >> (8 * i) & 0xFF));
}

/// Numbers that are good as small indices, as weights and as times, depending on where a view starts.
std::vector<std::byte> binary_chunk() {
  std::vector<std::byte> bytes;
  for (std::uint32_t i = 0; i < 128; ++i) put_word(bytes, i % 4);
  for (int i = 0; bytes.size() < kBinarySize; ++i) {
    const float value = static_cast<float>(i) * 0.25f;
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    put_word(bytes, word);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = std::as_bytes(std::span(data, size));
  static const std::vector<std::byte> binary = binary_chunk();
  std::vector<std::byte> glb;
  put_word(glb, 0x46546C67);
  put_word(glb, 2);
  put_word(glb, 12 + 8 + size + 8 + binary.size());
  put_word(glb, size);
  put_word(glb, 0x4E4F534A);
  glb.insert(glb.end(), json.begin(), json.end());
  put_word(glb, binary.size());
  put_word(glb, 0x004E4942);
  glb.insert(glb.end(), binary.begin(), binary.end());
  try {
    sinew::parse_gltf(glb, "fuzz.glb");
  } catch (const sinew::Error&) {
  }
  try {
    sinew::parse_gltf(json, "fuzz.gltf");
  } catch (const sinew::Error&) {
  }
  return 0;
}
