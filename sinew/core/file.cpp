#include <sinew/core/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <sinew/core/error.h>
#include <sinew/core/text.h>

namespace sinew {

namespace fs = std::filesystem;

namespace {

std::string system_reason() {
  return std::generic_category().message(errno);
}

// Of a directory with more entries only so many are looked at: it may be anyone's.
constexpr int kMostEntries = 4096;

/// The file in the directory of `missing` whose name is nearest to it; empty where none is near.
fs::path nearest_file(const fs::path& missing, std::span<const std::string_view> extensions) {
  const std::string stem = lower_case(missing.stem().string()), extension = lower_case_extension(missing);
  const std::size_t most = (stem.size() + 1) / 3;  // a third of a name may be wrong, of one letter none
  const fs::path directory = missing.parent_path();
  // The nearest stem counts first, then the same extension; the alphabet makes it one.
  std::tuple<std::size_t, bool, std::string> best(most + 1, false, "");
  std::error_code error;
  fs::directory_iterator at(directory.empty() ? "." : directory, error);
  for (int looked_at = 0; !error && at != fs::directory_iterator() && looked_at < kMostEntries;
       at.increment(error), ++looked_at) {
    const fs::path name = at->path().filename();
    const std::string its_extension = lower_case_extension(name);
    if (std::find(extensions.begin(), extensions.end(), its_extension) == extensions.end()) continue;
    const std::size_t distance = edit_distance(stem, lower_case(name.stem().string()), most);
    std::tuple candidate(distance, its_extension != extension, name.string());
    std::error_code ignored;
    if (distance <= most && candidate < best && at->is_regular_file(ignored)) best = std::move(candidate);
  }
  return std::get<0>(best) <= most ? directory / std::get<2>(best) : fs::path();
}

[[noreturn]] void throw_missing(const fs::path& path, std::span<const std::string_view> extensions) {
  const fs::path directory = path.parent_path();
  std::error_code ignored;
  if (!directory.empty() && !fs::is_directory(directory, ignored))
    throw Error(fmt::format("{}: no such file: the directory '{}' does not exist", path.string(),
                            directory.string()));
  const fs::path nearest = nearest_file(path, extensions);
  throw Error(fmt::format("{}: no such file{}", path.string(),
                          nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest.string())));
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& path, std::uint64_t size_limit) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    const std::string extension = lower_case_extension(path);
    throw_missing(path, std::array<std::string_view, 1>{extension});
  }
  if (fs::is_directory(status)) throw Error(fmt::format("{}: is a directory, not a file", path.string()));
  if (!fs::is_regular_file(status)) throw Error(fmt::format("{}: not a regular file", path.string()));
  const std::uint64_t size = fs::file_size(path, error);
  if (error) throw Error(fmt::format("{}: {}", path.string(), error.message()));
  if (size > size_limit)
    throw Error(fmt::format("{}: {} bytes, more than the {} that are read", path.string(), size, size_limit));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(fmt::format("{}: cannot open: {}", path.string(), system_reason()));
  std::vector<std::byte> bytes(size);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::uint64_t>(stream.gcount()) != size)
    throw Error(fmt::format("{}: read {} of {} bytes", path.string(), stream.gcount(), size));
  return bytes;
}

void require_file(const fs::path& path, std::span<const std::string_view> extensions) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw_missing(path, extensions);
}

std::string lower_case_extension(const fs::path& path) {
  return lower_case(path.extension().string());
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored))
    throw Error(fmt::format("{}: is a directory, not a file", path_.string()));
  const fs::path directory = path_.parent_path();
  if (!directory.empty() && !fs::is_directory(directory, ignored))
    throw Error(fmt::format("{}: directory '{}' does not exist", path_.string(), directory.string()));
  // The process id keeps two programs that write the same output apart; the address, two writers in one.
  temporary_ = path_;
  temporary_ += fmt::format(".{}-{:x}.part", ::getpid(), reinterpret_cast<std::uintptr_t>(this));
  errno = 0;
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) throw Error(fmt::format("{}: cannot write: {}", path_.string(), system_reason()));
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  stream_.close();
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void AtomicFile::write(const void* data, std::size_t size) {
  errno = 0;
  stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  if (!stream_) throw Error(fmt::format("{}: cannot write: {}", path_.string(), system_reason()));
}

void AtomicFile::seek(std::uint64_t offset) {
  stream_.seekp(static_cast<std::streamoff>(offset));
  if (!stream_) throw Error(fmt::format("{}: cannot seek to byte {}", path_.string(), offset));
}

void AtomicFile::close() {
  if (!stream_.is_open()) return;
  errno = 0;
  stream_.close();
  if (!stream_) throw Error(fmt::format("{}: cannot write: {}", path_.string(), system_reason()));
}

void AtomicFile::commit() {
  close();
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error)
    throw Error(fmt::format("{}: cannot rename the finished file: {}", path_.string(), error.message()));
  committed_ = true;
}

void write_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace sinew
