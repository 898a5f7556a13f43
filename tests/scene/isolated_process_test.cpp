#include <sinew/scene/isolated_process.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>

#include <gtest/gtest.h>
#include <unistd.h>

#include <sinew/core/error.h>
#include <tests/support/temporary_directory.h>

namespace sinew {
namespace {

using Bytes = std::vector<std::byte>;

std::string error_of(const std::function<Bytes()>& work, IsolationLimits limits = {}) {
  try {
    run_isolated(work, "a.fbx", limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(IsolatedProcess, BytesComeBack) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{5'000'000}}) {
    const Bytes bytes = run_isolated(
        [&] {
          Bytes made(size);
          for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 7);
          return made;
        },
        "a.fbx", {});
    ASSERT_EQ(bytes.size(), size);
    for (std::size_t i = 0; i < size; i += 997) ASSERT_EQ(bytes[i], static_cast<std::byte>(i * 7));
  }
}

TEST(IsolatedProcess, NothingElseChangesHere) {
  int touched = 0;
  run_isolated(
      [&] {
        touched = 1;
        return Bytes();
      },
      "a.fbx", {});
  EXPECT_EQ(touched, 0);
}

TEST(IsolatedProcess, ErrorsAreThrownHereAgain) {
  EXPECT_EQ(error_of([]() -> Bytes { throw Error("a.fbx: line 3: bad"); }), "a.fbx: line 3: bad");
}

TEST(IsolatedProcess, CrashesBecomeErrors) {
  const std::string crashed = "a.fbx: the importer crashed; the file is damaged";
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGKILL, SIGBUS})
    EXPECT_EQ(error_of([&]() -> Bytes {
                raise(signal);
                return {};
              }),
              crashed)
        << signal;
  EXPECT_EQ(error_of([]() -> Bytes { std::_Exit(0); }), crashed);
  EXPECT_EQ(error_of([]() -> Bytes { throw std::runtime_error("x"); }), crashed);
}

TEST(IsolatedProcess, MemoryIsLimited) {
  EXPECT_EQ(error_of([]() -> Bytes { throw std::bad_alloc(); }),
            "a.fbx: reading it takes more than 4096 MB of memory; the file is damaged or too large");
}

TEST(IsolatedProcess, TimeIsLimited) {
  IsolationLimits limits;
  limits.cpu_seconds = 1;
  const std::string error = error_of(
      []() -> Bytes {
        volatile unsigned number = 0;
        for (;;) number = number + 1;
      },
      limits);
  EXPECT_EQ(error, "a.fbx: reading it takes too long (1 s); the file is damaged or too large");
  limits.wall_seconds = 1;
  EXPECT_EQ(error_of(
                []() -> Bytes {
                  for (;;) pause();
                },
                limits),
            error);
}

TEST(IsolatedProcess, NoFileCanBeWritten) {
  test::TemporaryDirectory directory;
  error_of([&] {
    std::ofstream(directory / "left") << "behind" << std::flush;
    return Bytes();
  });
  for (const std::string& file : directory.files())
    EXPECT_EQ(std::filesystem::file_size(directory / file), 0u);
}

}  // namespace
}  // namespace sinew
