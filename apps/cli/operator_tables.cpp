#include "apps/cli/operator_tables.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sinew/core/file.h>
#include <sinew/implicit/operator_cache.h>

namespace sinew::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kExtension = ".table";
constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 20;  // bytes; usual ones have one million

/// What a variable of the environment names, if it is a path that does not depend on where the program runs.
fs::path absolute_path_in(const char* variable) {
  const char* value = std::getenv(variable);
  fs::path path = value != nullptr ? value : "";
  return path.is_absolute() ? path : fs::path();
}

struct File {
  fs::path path;
  fs::file_time_type written;
};

/// Regular files with names that end so, the latest first.
std::vector<File> files_of(const fs::path& directory, std::string_view extension) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().extension() != extension || !at->is_regular_file(ignored)) continue;
    const fs::file_time_type written = at->last_write_time(ignored);
    if (!ignored) files.push_back({at->path(), written});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return a.written != b.written ? a.written > b.written : a.path < b.path;
  });
  return files;
}

/// Leaves the latest tables, and what other programs may be writing just now.
void tidy_up(const fs::path& directory) {
  std::error_code ignored;
  const std::vector<File> tables = files_of(directory, kExtension);
  for (std::size_t i = OperatorTableCache::kMostFiles; i < tables.size(); ++i)
    fs::remove(tables[i].path, ignored);
  const auto abandoned = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const File& file : files_of(directory, ".part"))
    if (file.written < abandoned) fs::remove(file.path, ignored);
}

}  // namespace

fs::path operator_table_directory() {
  const char* choice = std::getenv("SINEW_CACHE");
  if (choice != nullptr && std::string_view(choice) == "off") return {};
  if (const fs::path cache = absolute_path_in("XDG_CACHE_HOME"); !cache.empty()) return cache / "sinew";
  const fs::path home = absolute_path_in("HOME");
  std::error_code ignored;
  // Homes that do not exist are not ours to make.
  return !home.empty() && fs::is_directory(home, ignored) ? home / ".cache" / "sinew" : fs::path();
}

OperatorTableCache::OperatorTableCache(OperatorLibrary& library, fs::path directory)
    : library_(library), directory_(std::move(directory)) {}

void OperatorTableCache::load() noexcept try {
  const std::lock_guard lock(mutex_);
  if (loaded_ || directory_.empty()) return;
  loaded_ = true;
  std::vector<File> files = files_of(directory_, kExtension);
  if (files.size() > kMostFiles) files.resize(kMostFiles);
  for (const File& file : files) {
    try {
      const std::vector<std::byte> bytes = read_file(file.path, kLargestFile);
      const std::string key = content_key(from_bytes(bytes).spec());
      if (file.path.stem() != key) continue;  // to be overwritten by the one it should be
      library_.adopt(bytes);
      kept_.insert(key);
    } catch (const std::exception&) {
      // Damaged, of another version, unreadable: built anew where it is needed.
    }
  }
} catch (const std::exception&) {
  // As without files.
}

void OperatorTableCache::save_new_tables() {
  bool written = false;
  for (const auto& table : library_.tables()) {
    if (table == nullptr) continue;  // asked for, but there was not enough memory to build it
    const std::string key = content_key(table->spec());
    if (!kept_.insert(key).second) continue;
    if (!written && fs::create_directories(directory_)) fs::permissions(directory_, fs::perms::owner_all);
    written = true;
    try {
      AtomicFile file(directory_ / (key + kExtension));
      file.write(to_bytes(*table));
      file.commit();
    } catch (const std::exception&) {
      // Something else has that name, or the disk is full: the others may do.
    }
  }
  if (written) tidy_up(directory_);
}

void OperatorTableCache::save() noexcept try {
  const std::lock_guard lock(mutex_);
  if (!directory_.empty()) save_new_tables();
} catch (const std::exception&) {
  // No directory to be had: the next run builds its tables, too.
}

bool has_implicit_layer(const Recipe& recipe) {
  return std::any_of(recipe.layers.begin(), recipe.layers.end(), [](const LayerRecipe& layer) {
    return layer.method == "implicit" || layer.method == "elastic";
  });
}

std::shared_ptr<const Character> make_character(const Scene& scene, const Recipe& recipe) {
  if (!has_implicit_layer(recipe)) return Character::make(scene, recipe);
  static OperatorTableCache cache(shared_operators(), operator_table_directory());
  cache.load();
  std::shared_ptr<const Character> character = Character::make(scene, recipe);
  cache.save();
  return character;
}

}  // namespace sinew::cli
