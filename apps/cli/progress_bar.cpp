#include "apps/cli/progress_bar.h"

#include <csignal>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace sinew::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

Progress progress_bar(const std::string& label) {
  // Work that is interrupted ends in order, so that it can remove what it wrote; a second signal ends it at
  // once.
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int number) {
      interrupted = 1;
      std::signal(number, SIG_DFL);
    });
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  return [label, terminal, shown = -1](double share_done) mutable {
    if (interrupted != 0) return false;
    if (!terminal) return true;
    const int percent = static_cast<int>(100 * share_done);
    if (percent == shown) return true;
    shown = percent;
    constexpr int kWidth = 40;
    const int filled = percent * kWidth / 100;
    fmt::print(stderr, "\r{} [{:#>{}}{:.>{}}] {:3} %{}", label, "", filled, "", kWidth - filled, percent,
               percent == 100 ? "\n" : "");
    std::fflush(stderr);
    return true;
  };
}

}  // namespace sinew::cli
