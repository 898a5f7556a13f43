#include <tests/support/validator.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#ifndef SINEW_SOURCE_DIR
#define SINEW_SOURCE_DIR "."
#endif
#ifndef SINEW_VALIDATOR_DIR
#define SINEW_VALIDATOR_DIR SINEW_SOURCE_DIR "/build/validator"
#endif

namespace sinew::test {

namespace fs = std::filesystem;

namespace {

fs::path directory() {
  const char* chosen = std::getenv("SINEW_VALIDATOR_DIR");
  return chosen != nullptr ? chosen : SINEW_VALIDATOR_DIR;
}

std::string quoted(const fs::path& path) {
  std::string result = "'";
  for (char c : path.string()) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

std::optional<Validation> validate_glb(const fs::path& path) {
  if (!fs::is_directory(directory() / "node_modules" / "gltf-validator")) return std::nullopt;
  const std::string command = "node " +
                              quoted(fs::path(SINEW_SOURCE_DIR) / "tests/support/validate_gltf.cjs") + " " +
                              quoted(directory()) + " " + quoted(path) + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) output.append(part, n);
  const int status = ::pclose(pipe);

  std::istringstream lines(output);
  Validation result;
  if (status != 0 || !(lines >> result.errors >> result.warnings))
    return Validation{1, 0, {"node failed: " + output}};
  std::string line;
  while (std::getline(lines, line))
    if (!line.empty()) result.messages.push_back(line);
  return result;
}

void expect_valid(const fs::path& path, bool allow_warnings) {
  const std::optional<Validation> validation = validate_glb(path);
  if (!validation) {
    const std::string reason =
        "gltf-validator is not in " + directory().string() +
        "; npm install --prefix DIR gltf-validator@2.0.0-dev.3.10 and set SINEW_VALIDATOR_DIR";
    const char* required = std::getenv("SINEW_REQUIRE_VALIDATOR");
    if (required != nullptr && std::string(required) == "1")
      ADD_FAILURE() << reason;
    else
      GTEST_SKIP() << reason;
    return;
  }
  std::string messages;
  for (const std::string& message : validation->messages) messages += "\n  " + message;
  EXPECT_EQ(validation->errors, 0) << path << messages;
  EXPECT_TRUE(allow_warnings || validation->warnings == 0) << path << messages;
}

}  // namespace sinew::test
