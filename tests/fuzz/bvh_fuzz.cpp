// Bytes as BVH text: what is wrong must come out as sinew::Error and nothing else.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sinew/core/error.h>
#include <sinew/scene/bvh.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sinew::parse_bvh(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.bvh");
  } catch (const sinew::Error&) {
  }
  return 0;
}
