#pragma once

#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/support/this_build.h"

namespace sinew::test {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs the built program as a user would: arguments in; exit code, stdout, stderr and files out.
class CliFixture : public ::testing::Test {
 protected:
  Outcome sinew(const std::string& arguments) { return run_program(cli_program(), arguments); }

  /// The same for another program.
  Outcome run_program(const std::string& program, const std::string& arguments);

  void expect_success(const std::string& arguments);

  /// Expects exit code 1, one line on stderr that holds `expected`, nothing on stdout and nothing new in the
  /// directory.
  void expect_failure(const std::string& arguments, const std::string& expected);

  /// A file in the test's own directory.
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

  TemporaryDirectory directory_;

 private:
  TemporaryDirectory scratch_;
};

}  // namespace sinew::test
