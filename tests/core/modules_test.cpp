// Keeps the library's modules in order: each may use the ones before it in the list of docs/architecture.md
// and no others.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinew {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kOrder{"core",    "geometry",   "skeleton",  "skinning", "scene",  "implicit",
                                      "contact", "projection", "effects",   "fitting",  "sketch", "character",
                                      "layers",  "measure",    "authoring", "models",   "picture"};
// Used by apps, tests and benches only.
const std::vector<std::string> kLeaves{"models", "picture"};

TEST(Modules, UseOnlyTheModulesBeforeThem) {
  const fs::path root = fs::path(SINEW_SOURCE_DIR) / "sinew";
  const std::string include = "#include <sinew/";
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string module = entry.path().parent_path().filename();
    const auto place = std::find(kOrder.begin(), kOrder.end(), module);
    ASSERT_NE(place, kOrder.end()) << entry.path() << " is in no known module";
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);) {
      if (!line.starts_with(include)) continue;
      const std::string used =
          line.substr(include.size(), line.find_first_of("/>", include.size()) - include.size());
      if (used == "version.h") continue;
      ++checked;
      const auto used_place = std::find(kOrder.begin(), kOrder.end(), used);
      EXPECT_LE(used_place, place) << entry.path() << " uses " << used;
      const bool leaf = std::count(kLeaves.begin(), kLeaves.end(), used) > 0;
      EXPECT_TRUE(used == module || !leaf) << entry.path() << " uses " << used;
    }
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace sinew
