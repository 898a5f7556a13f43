#include "apps/cli/kernel_run.h"

#include <fmt/format.h>

#include <sinew/core/error.h>

#include "apps/cli/json.h"

namespace sinew::cli {

std::string kernel_case(std::size_t vertices) {
  return fmt::format("kernels {}", vertices);
}

std::string kernel_run_line(const KernelRun& run) {
  return Json{{"method", run.method},           {"output", run.output},
              {"vertices", run.vertices},       {"threads", run.threads},
              {"median", run.timing.median},    {"fastest", run.timing.fastest},
              {"slowest", run.timing.slowest},  {"repeats", run.timing.repeats},
              {"times_plain", run.times_plain}, {"hash", run.hash}}
      .dump();
}

std::string kernel_error_line(const std::string& message) {
  return Json{{"error", message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

KernelRun parse_kernel_line(const std::string& line) {
  std::string failure;
  try {
    const Json json = Json::parse(line);
    if (!json.contains("error"))
      return {json.at("method"),
              json.at("output"),
              json.at("vertices"),
              json.at("threads"),
              {json.at("median"), json.at("fastest"), json.at("slowest"), json.at("repeats")},
              json.at("times_plain"),
              json.at("hash")};
    failure = json.at("error").get<std::string>();
  } catch (const Json::exception&) {
    throw Error(fmt::format("sinew_bench_kernels: not a result: {}", line));
  }
  throw Error(failure);
}

}  // namespace sinew::cli
