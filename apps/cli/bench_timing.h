#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/core/progress.h>

/// What the two parts of `sinew bench` share: a stopwatch that is fair to all it compares, and a hash.
namespace sinew::cli {

/// How often to time. Zero repeats: up to kMostRepeats, fewer where that would take longer than `seconds`.
struct TimingOptions {
  int repeats = 0;
  double seconds = 5;
};
inline constexpr int kMostRepeats = 60;

/// One of the things that are compared.
struct Contestant {
  int threads = 1;
  /// Does it once. `round` is the same for all contestants that are timed together; `step` counts within it.
  std::function<void(int round, int step)> work;
};

/// Seconds that one piece of work takes.
struct Timing {
  double median = 0;
  double fastest = 0;
  double slowest = 0;  ///< of a round: of frames, the worst part of a clip
  int repeats = 0;
};

/// Times all contestants in turns, so that whatever else the machine does hits them alike. In each round each
/// of them does one piece of work untimed, to warm up, then as many as take about 2 ms (at most 64), timed.
/// Runs each in an oneTBB arena of its number of threads.
std::vector<Timing> time_in_turns(std::span<const Contestant> contestants, const TimingOptions& options,
                                  const Progress& progress);

/// The middle one; of an even number, the higher of the two.
double median(std::vector<double> values);

/// FNV-1a: the same bytes, the same number. Goes on from `hash`.
std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t hash = 0xcbf29ce484222325u);
inline std::uint64_t hash_of(std::span<const Vec3f> values, std::uint64_t hash = 0xcbf29ce484222325u) {
  return hash_of(std::as_bytes(values), hash);
}

/// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// Seconds on a clock that never goes back.
double now_seconds();

}  // namespace sinew::cli
