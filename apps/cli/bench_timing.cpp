#include "apps/cli/bench_timing.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <sinew/core/index.h>

namespace sinew::cli {

namespace {

constexpr double kBatchSeconds = 0.002;
constexpr int kLargestBatch = 64;
constexpr int kLeastRepeats = 3;

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  assert(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t hash) {
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

std::vector<Timing> time_in_turns(std::span<const Contestant> contestants, const TimingOptions& options,
                                  const Progress& progress) {
  std::map<int, tbb::task_arena> arenas;
  for (const Contestant& contestant : contestants) arenas.try_emplace(contestant.threads, contestant.threads);
  std::vector<std::vector<double>> seconds(contestants.size());
  std::vector<int> batch(contestants.size(), 0);
  const double begin = now_seconds();
  const auto share_done = [&](int round) {
    if (options.repeats > 0) return static_cast<double>(round) / options.repeats;
    const double by_time = round < kLeastRepeats ? 0.0 : (now_seconds() - begin) / options.seconds;
    return std::max(static_cast<double>(round) / kMostRepeats, by_time);
  };
  for (int round = 0; share_done(round) < 1; ++round) {
    report_progress(progress, share_done(round));
    for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
      // Another one starts each round, so that none always follows the same neighbour's caches.
      const std::size_t c = (turn + to_size(round)) % contestants.size();
      const Contestant& contestant = contestants[c];
      arenas.at(contestant.threads).execute([&] {
        int step = 0;
        contestant.work(round, step++);
        if (batch[c] == 0) {
          const double start = now_seconds();
          contestant.work(round, step++);
          const double one = std::max(now_seconds() - start, 1e-7);
          batch[c] = std::clamp(static_cast<int>(std::ceil(kBatchSeconds / one)), 1, kLargestBatch);
        }
        const double start = now_seconds();
        for (int i = 0; i < batch[c]; ++i) contestant.work(round, step++);
        seconds[c].push_back((now_seconds() - start) / batch[c]);
      });
    }
  }
  report_progress(progress, 1);
  std::vector<Timing> timings;
  for (const std::vector<double>& samples : seconds)
    timings.push_back({median(samples), *std::min_element(samples.begin(), samples.end()),
                       *std::max_element(samples.begin(), samples.end()), static_cast<int>(samples.size())});
  return timings;
}

}  // namespace sinew::cli
