#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace sinew::test {

/// A real character of the shared assets, looked up in $SINEW_ASSETS or else in ../shared/assets beside the
/// source tree. Nothing when it is not there: such a test skips, saying missing_asset(name).
std::optional<std::filesystem::path> asset(const std::string& name);

std::string missing_asset(const std::string& name);

}  // namespace sinew::test
