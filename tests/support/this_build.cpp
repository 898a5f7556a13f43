#include "tests/support/this_build.h"

#include <sinew/models_key.h>

namespace sinew::test {

bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

bool is_optimized() {
#ifdef __OPTIMIZE__
  return true;
#else
  return false;
#endif
}

const char* cli_program() {
#ifdef SINEW_CLI
  return SINEW_CLI;
#else
  return "";
#endif
}

const char* models_directory() {
  return SINEW_MODELS_DIR;
}

const char* models_key() {
  return SINEW_MODELS_KEY;
}

}  // namespace sinew::test
