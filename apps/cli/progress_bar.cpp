#include "apps/cli/progress_bar.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace sinew::cli {

Progress progress_bar(const std::string& label) {
  if (::isatty(STDERR_FILENO) == 0) return {};
  return [label, shown = -1](double share_done) mutable {
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
