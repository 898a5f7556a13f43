#include <sinew/scene/isolated_process.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

/// What the copy sends: a header, then `size` bytes. Anything shorter means that it died.
enum class Outcome : std::uint64_t { result = 0x5AFE'0001, error = 0x5AFE'0002, out_of_memory = 0x5AFE'0003 };

struct Header {
  Outcome outcome;
  std::uint64_t size;
};

std::uint64_t address_space_bytes() {
  std::uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    unsigned long long number = 0;
    if (std::fscanf(file, "%llu", &number) == 1) pages = number;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit_resource(decltype(RLIMIT_CPU) resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, soft);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, hard);
  ::setrlimit(resource, &limit);
}

bool write_all(int file, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= to_size(written);
  }
  return true;
}

void send(int file, Outcome outcome, const void* data, std::size_t size) {
  const Header header{outcome, size};
  if (write_all(file, &header, sizeof header)) write_all(file, data, size);
}

[[noreturn]] void run_copy(const std::function<std::vector<std::byte>()>& work, int output, pid_t parent,
                           const IsolationLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(2);  // it ended before we asked to be told
  // The host's crash reporters must not report our crash as theirs.
  for (const int signal :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGINT, SIGTERM, SIGPIPE, SIGXCPU})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {0, 1, 2})
    if (null >= 0 && standard != output) ::dup2(null, standard);
  limit_resource(RLIMIT_CORE, 0, 0);
  limit_resource(RLIMIT_FSIZE, 0, 0);
  // The soft limit says SIGXCPU, which tells it from other deaths; the hard one would kill without a word.
  const std::uint64_t seconds = static_cast<std::uint64_t>(limits.cpu_seconds);
  limit_resource(RLIMIT_CPU, seconds, seconds + 1);
  const std::uint64_t memory = address_space_bytes() + limits.memory_bytes;
  limit_resource(RLIMIT_AS, memory, memory);

  try {
    const std::vector<std::byte> result = work();
    send(output, Outcome::result, result.data(), result.size());
  } catch (const Error& error) {
    send(output, Outcome::error, error.what(), std::strlen(error.what()));
  } catch (const std::bad_alloc&) {
    send(output, Outcome::out_of_memory, nullptr, 0);
  } catch (...) {
    ::_exit(3);
  }
  ::_exit(0);  // no destructors, no flushing: they belong to the original
}

/// Ends and buries the copy, whatever happens in between.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  /// The wait status, or -1 when the host has collected it already. A copy that sent all it will send and
  /// still lives after two seconds is ended.
  int wait() {
    int status = 0;
    pid_t found = 0;
    for (int tries = 0; found == 0 || (found < 0 && errno == EINTR); ++tries) {
      if (tries == 2000) ::kill(pid_, SIGKILL);
      if (tries > 0 && tries < 2000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      found = ::waitpid(pid_, &status, tries < 2000 ? WNOHANG : 0);
    }
    pid_ = -1;
    return found < 0 ? -1 : status;
  }

 private:
  pid_t pid_;
};

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  int get() const { return file_; }

 private:
  int file_;
};

}  // namespace

std::vector<std::byte> run_isolated(const std::function<std::vector<std::byte>()>& work,
                                    const std::string& what, const IsolationLimits& limits) {
  const auto system_error = [&](const char* step) {
    return Error(fmt::format("{}: cannot {}: {}", what, step, std::generic_category().message(errno)));
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("open a pipe");
  Descriptor input(ends[0]), output(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw system_error("start a process");
  if (pid == 0) {
    input.close();
    run_copy(work, output.get(), parent, limits);
  }
  Child child(pid);
  output.close();

  const auto too_long = [&] {
    return Error(fmt::format("{}: reading it takes too long ({} s); the file is damaged or too large", what,
                             limits.cpu_seconds));
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limits.wall_seconds);
  std::vector<std::byte> bytes;
  std::size_t size = 0, wanted = sizeof(Header);
  Header header{};
  while (size < wanted) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) throw too_long();
    pollfd ready{input.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000))) <= 0) continue;
    if (bytes.size() == size) bytes.resize(std::min(wanted, size + (std::size_t{1} << 20)));
    const ssize_t got = ::read(input.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += to_size(got);
    if (size == sizeof header && wanted == sizeof header) {
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.size > limits.memory_bytes) break;
      wanted += header.size;
    }
  }
  if (size == wanted) {
    child.wait();
    bytes.erase(bytes.begin(), bytes.begin() + sizeof header);
    if (header.outcome == Outcome::result) return bytes;
    if (header.outcome == Outcome::error)
      throw Error(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (header.outcome == Outcome::out_of_memory)
      throw Error(
          fmt::format("{}: reading it takes more than {} MB of memory; the file is damaged or too large",
                      what, limits.memory_bytes >> 20));
  }
  const int status = child.wait();
  if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) throw too_long();
  throw Error(fmt::format("{}: the importer crashed; the file is damaged", what));
}

}  // namespace sinew
