#include "apps/cli/json.h"

#include <fmt/format.h>

namespace sinew::cli {

void print_json(const Json& report) {
  fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace sinew::cli
