#pragma once

#include <nlohmann/json.hpp>

namespace sinew::cli {

/// Fields stay in the order in which they were given.
using Json = nlohmann::ordered_json;

/// Prints a report on stdout. Bytes that are not UTF-8 are replaced.
void print_json(const Json& report);

}  // namespace sinew::cli
