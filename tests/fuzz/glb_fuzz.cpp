// Bytes as a GLB file: what is wrong must come out as sinew::Error and nothing else.

#include <cstddef>
#include <cstdint>
#include <span>

#include <sinew/core/error.h>
#include <sinew/scene/gltf.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sinew::parse_gltf(std::as_bytes(std::span(data, size)), "fuzz.glb");
  } catch (const sinew::Error&) {
  }
  return 0;
}
