#include "tests/support/cli_fixture.h"

#include <algorithm>
#include <cstdlib>

#include <sys/wait.h>

#include <sinew/core/file.h>

namespace sinew::test {

Outcome CliFixture::run_program(const std::string& program, const std::string& arguments) {
  const auto out = scratch_ / "stdout", err = scratch_ / "stderr";
  const std::string command =
      program + " " + arguments + " >" + out.string() + " 2>" + err.string() + " </dev/null";
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.out = std::string(as_text(read_file(out)));
  outcome.err = std::string(as_text(read_file(err)));
  return outcome;
}

void CliFixture::expect_success(const std::string& arguments) {
  const Outcome outcome = sinew(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n  said: " << outcome.err;
}

void CliFixture::expect_failure(const std::string& arguments, const std::string& expected) {
  const std::vector<std::string> before = directory_.files();
  const Outcome outcome = sinew(arguments);
  EXPECT_EQ(outcome.exit_code, 1) << arguments;
  EXPECT_NE(outcome.err.find(expected), std::string::npos) << arguments << "\n  said: " << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_EQ(directory_.files(), before) << arguments;
}

}  // namespace sinew::test
