#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinew {

/// The whole file. Throws Error when it is missing, not a regular file, or larger than `size_limit` bytes.
std::vector<std::byte> read_file(const std::filesystem::path& path,
                                 std::uint64_t size_limit = std::uint64_t{8} << 30);

/// Throws Error where nothing has this path: "humn.glb: no such file; did you mean human.glb?". What it
/// proposes is the nearest name in the directory with one of the extensions (in lower case, with the dot),
/// whatever its case. Says so when the directory is missing. Anything else than a file passes: reading it
/// will tell.
void require_file(const std::filesystem::path& path, std::span<const std::string_view> extensions);

/// ".glb" of "HAND.GLB": extensions are compared in lower case everywhere. Empty where there is none.
std::string lower_case_extension(const std::filesystem::path& path);

/// Bytes viewed as text; the bytes must outlive the view.
std::string_view as_text(std::span<const std::byte> bytes);

/// A file that appears whole or not at all: bytes go to a temporary name in the same directory, commit()
/// renames it. Destroyed without commit() it removes what it wrote. Every failure throws Error naming the
/// path and the system's reason. An existing file at `path` stays untouched until commit().
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, std::size_t size);
  void write(std::span<const std::byte> bytes) { write(bytes.data(), bytes.size()); }
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Moves the write position, to fill in a header whose content is known only at the end.
  void seek(std::uint64_t offset);
  /// Ends the writing and gives the system's file back, so that many finished files can wait for commit().
  void close();
  void commit();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  bool committed_ = false;
};

/// Writes one whole file through AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace sinew
