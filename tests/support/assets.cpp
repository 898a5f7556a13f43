#include <tests/support/assets.h>

#include <cstdlib>

#ifndef SINEW_SOURCE_DIR
#define SINEW_SOURCE_DIR "."
#endif

namespace sinew::test {

namespace fs = std::filesystem;

namespace {

fs::path directory() {
  const char* chosen = std::getenv("SINEW_ASSETS");
  return chosen != nullptr ? fs::path(chosen) : fs::path(SINEW_SOURCE_DIR) / ".." / "shared" / "assets";
}

}  // namespace

std::optional<fs::path> asset(const std::string& name) {
  const fs::path path = directory() / name;
  if (!fs::is_regular_file(path)) return std::nullopt;
  return path;
}

std::string missing_asset(const std::string& name) {
  return name + " is not in " + directory().string() + "; set SINEW_ASSETS to the directory that holds it";
}

}  // namespace sinew::test
