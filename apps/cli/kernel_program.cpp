#include "apps/cli/kernel_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kName = "sinew_bench_kernels";

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(fmt::format("{}: {}: {}", kName, what, std::generic_category().message(error)));
}

/// All that comes until the other end is closed; what a signal interrupts goes on.
std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), to_size(count));
  }
}

/// Starts a program with its standard output in a pipe, of which `output` becomes the end to read.
pid_t start(const fs::path& program, std::vector<std::string> arguments, int& output) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    fail("cannot start it", error);
  }
  output = ends[0];
  return child;
}

}  // namespace

fs::path find_kernel_program() {
  std::error_code error;
  const fs::path ours = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path program = ours.parent_path() / kName;
  return ::access(program.c_str(), X_OK) == 0 ? program : fs::path();
}

std::vector<KernelRun> run_kernel_program(const fs::path& program, std::size_t vertices, int repeats) {
  const auto threads = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  int output = -1;
  const pid_t child = start(
      program, {program.string(), std::to_string(vertices), std::to_string(repeats), std::to_string(threads)},
      output);
  const std::string text = read_all(output);
  ::close(output);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::vector<KernelRun> runs;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    runs.push_back(parse_kernel_line(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || runs.empty())
    throw Error(WIFSIGNALED(status) ? fmt::format("{}: ended by signal {}", kName, WTERMSIG(status))
                                    : fmt::format("{}: failed", kName));
  return runs;
}

}  // namespace sinew::cli
