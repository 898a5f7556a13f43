// Bytes as OBJ text: what is wrong must come out as sinew::Error and nothing else.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sinew/core/error.h>
#include <sinew/scene/obj.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sinew::parse_obj(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.obj");
  } catch (const sinew::Error&) {
  }
  return 0;
}
