#include <cstddef>
#include <cstdint>

#include <sinew/character/recipe.h>
#include <sinew/core/error.h>

// Anything but a recipe or an Error is a bug; what was read must survive a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const sinew::Recipe recipe =
        sinew::parse_recipe({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    const std::string json = sinew::to_json(recipe);
    if (sinew::to_json(sinew::parse_recipe(json, "again.json")) != json) __builtin_trap();
  } catch (const sinew::Error&) {
  }
  return 0;
}
