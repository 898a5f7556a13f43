#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <sinew/character/character.h>
#include <sinew/implicit/operators.h>

/// Operator tables take longer to build than to read: the program keeps them between runs.
namespace sinew::cli {

/// Where the program keeps tables: $XDG_CACHE_HOME/sinew, or ~/.cache/sinew. Empty where SINEW_CACHE is "off"
/// or the user has no home.
std::filesystem::path operator_table_directory();

/// An operator library's tables in a directory, a file per content key. Keeping them is a favour: whatever is
/// wrong with the directory or with files in it is as if they were not there. Safe to use from many threads.
class OperatorTableCache {
 public:
  /// So many files stay, the latest.
  static constexpr std::size_t kMostFiles = 8;

  /// An empty directory name keeps nothing. `library` must outlive this.
  OperatorTableCache(OperatorLibrary& library, std::filesystem::path directory);

  /// Gives the library what is there, each file checked; once: later calls do nothing.
  void load() noexcept;
  /// Writes the library's tables that load() did not find, each once, and makes the directory for them. Files
  /// beyond kMostFiles go.
  void save() noexcept;

 private:
  void save_new_tables();

  OperatorLibrary& library_;
  std::filesystem::path directory_;
  std::mutex mutex_;
  bool loaded_ = false;
  std::set<std::string> kept_;  // keys that need not be written
};

/// Whether one of the recipe's layers is implicit skinning.
bool has_implicit_layer(const Recipe& recipe);

/// Character::make, with the tables that earlier runs have left where the recipe has an implicit layer.
std::shared_ptr<const Character> make_character(const Scene& scene, const Recipe& recipe);

}  // namespace sinew::cli
