// sinew_bench_kernels VERTICES REPEATS THREADS: what `sinew bench` starts to time the kernels (REPEATS 0: as
// many as fit into a few seconds). Prints a line of JSON for each run, or one that says what failed.
#include <charconv>
#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/format.h>
#include <tbb/global_control.h>

#include <sinew/core/error.h>

#include "apps/bench_kernels/bench_kernels.h"
#include "apps/cli/progress_bar.h"

using namespace sinew::cli;

namespace {

constexpr double kSeconds = 3;  // per case, unless REPEATS says otherwise

template <class Number>
Number parse(std::string_view text, Number least) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least)
    throw sinew::Error(fmt::format("sinew_bench_kernels: {}: expected a number of {} or more", text, least));
  return number;
}

void run(int argc, char** argv) {
  if (argc != 4)
    throw sinew::Error("sinew_bench_kernels: expected VERTICES REPEATS THREADS; see `sinew bench --help`");
  const auto vertices = parse<std::size_t>(argv[1], 100);
  const auto repeats = parse<int>(argv[2], 0);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  parse<std::size_t>(argv[3], 1));
  for (const KernelRun& run :
       bench_kernels(vertices, {repeats, kSeconds}, progress_bar(kernel_case(vertices) + ": timing")))
    fmt::print("{}\n", kernel_run_line(run));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print("{}\n", kernel_error_line(error.what()));
    return 1;
  }
}
