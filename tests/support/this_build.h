#pragma once

/// The test programs are linked from the same objects to different builds of the library. This tells which.
namespace sinew::test {

/// Whether the library runs under a sanitizer, ten to fifty times slower: tests then take smaller meshes.
bool is_sanitized();

/// Whether the library is optimised.
bool is_optimized();

/// The command line that goes with this build.
const char* cli_program();

/// Where characters that tests share are kept, and the key of the code that makes them.
const char* models_directory();
const char* models_key();

}  // namespace sinew::test
