#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sinew::test {

/// What the Khronos glTF validator says of a file.
struct Validation {
  int errors = 0;
  int warnings = 0;
  std::vector<std::string> messages;  ///< one line each, also hints
};

/// Runs the npm package gltf-validator from $SINEW_VALIDATOR_DIR/node_modules (else build/validator in the
/// source tree) by node. Nothing when it is not there.
std::optional<Validation> validate_glb(const std::filesystem::path& path);

/// Expects no errors and, unless allowed, no warnings. Without the validator it skips the test, or, when
/// SINEW_REQUIRE_VALIDATOR=1, fails it.
void expect_valid(const std::filesystem::path& path, bool allow_warnings = false);

}  // namespace sinew::test
