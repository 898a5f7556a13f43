#pragma once

#include <functional>

#include <sinew/core/error.h>

namespace sinew {

/// Called with the share done, 0 to 1, from the thread that started the work. Return false to stop: the work
/// then throws Cancelled and leaves nothing behind. An empty function reports nothing.
using Progress = std::function<bool(double share_done)>;

inline void report_progress(const Progress& progress, double share_done) {
  if (progress && !progress(share_done)) throw Cancelled();
}

}  // namespace sinew
