#pragma once

#include <string_view>

#include <sinew/models/models.h>

namespace sinew::test {

/// make_model(name, options). Made once for all test programs of a build: it is kept in the
/// build directory under a key of the code that makes it, and once per process in memory. Copy it to change
/// it. What tests the making itself calls make_model().
const BuiltModel& shared_model(std::string_view name, const ModelOptions& options = {});

}  // namespace sinew::test
