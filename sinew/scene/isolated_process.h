#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sinew {

struct IsolationLimits {
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< on top of what the process has when it starts
  int cpu_seconds = 60;
  int wall_seconds = 300;
};

/// Runs `work` in a copy of this process and returns the bytes it makes, so that a library that crashes on a
/// bad file takes only the copy with it. The copy can write to no file, prints nothing, and is ended when it
/// passes a limit or when this process ends. An Error thrown by `work` is thrown here again; a crash, any
/// other exception and a passed limit become an Error "`what`: …". `work` must not use threads: the copy has
/// only the one that called.
std::vector<std::byte> run_isolated(const std::function<std::vector<std::byte>()>& work,
                                    const std::string& what, const IsolationLimits& limits);

}  // namespace sinew
