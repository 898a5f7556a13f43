#pragma once

#include "tests/support/this_build.h"

namespace sinew::test {

/// is_sanitized(), also for parameters of tests that are made before main().
static const bool kSanitized = is_sanitized();

}  // namespace sinew::test
