#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sinew/core/math.h>

/// Results that shall not change unnoticed: hashes of what every method makes of small built-in characters.
namespace sinew::test {

/// What one case gave on one instruction set.
struct PinnedResult {
  std::uint64_t hash = 0;
  std::vector<Vec3f> samples;  ///< some of the points that were hashed, metres: to tell how far they moved
};

/// By case ("mannequin/crouch/implicit") and instruction set ("AVX2").
using PinnedResults = std::map<std::pair<std::string, std::string>, PinnedResult>;

/// Adds points to a result: all to the hash, and a few to the samples, the same ones always.
class ResultPinner {
 public:
  void add(const Vec3f* points, std::size_t count);
  void add_bytes(const void* data, std::size_t size);
  PinnedResult finish() const { return result_; }

 private:
  PinnedResult result_{0xcbf29ce484222325u, {}};
};

/// The file of pins: a line per hash, and a line of samples per case (of one instruction set only: they
/// differ by micrometres). Throws Error when a line makes no sense.
PinnedResults read_pins(const std::filesystem::path& path);
void write_pins(const std::filesystem::path& path, const PinnedResults& results);

/// How far `now` is from `before`, for a person: "largest 0.31 mm, RMS 0.02 mm (of 192 samples)".
std::string difference_text(const PinnedResult& before, const PinnedResult& now);

}  // namespace sinew::test
