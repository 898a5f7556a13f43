// Bytes as Collada: what is wrong must come out as sinew::Error and nothing else. Assimp works in a process
// of its own, here as in the library, so its crashes are errors too.

#include <cstddef>
#include <cstdint>
#include <span>

#include <pthread.h>
#include <sanitizer/common_interface_defs.h>

#include <sinew/core/error.h>
#include <sinew/scene/assimp_import.h>

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // The fuzzer must not save a crash of the copy as one of its own finds.
  pthread_atfork(nullptr, nullptr, [] { __sanitizer_set_death_callback([] {}); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sinew::parse_assimp(std::as_bytes(std::span(data, size)), "fuzz.dae", "dae");
  } catch (const sinew::Error&) {
  }
  return 0;
}
