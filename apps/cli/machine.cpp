#include "apps/cli/machine.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include <sinew/core/simd.h>
#include <sinew/version.h>

namespace sinew::cli {

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

ProcessorTime ProcessorTime::now() {
  std::ifstream file("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
  file >> label >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen;
  const auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  double ours = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {  // the kernels run in a program of their own
    rusage usage{};
    ::getrusage(who, &usage);
    ours += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return {ours, (user + nice + system + interrupts + soft + stolen) / tick, (idle + waiting) / tick};
}

double share_of_others(const ProcessorTime& start) {
  const ProcessorTime end = ProcessorTime::now();
  const double busy = end.everyones - start.everyones, all = busy + end.idle - start.idle;
  return all > 0 ? std::clamp((busy - (end.ours - start.ours)) / all, 0.0, 1.0) : 0;
}

Json machine() {
#ifdef __clang__
  const char* compiler = "Clang " __clang_version__;
#else
  const char* compiler = "GCC " __VERSION__;
#endif
  return {{"version", SINEW_VERSION},
          {"processor", processor_name()},
          {"hardware_threads", std::thread::hardware_concurrency()},
          {"simd", simd_target()},
          {"compiler", compiler}};
}

}  // namespace sinew::cli
