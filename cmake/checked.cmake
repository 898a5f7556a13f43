# The library once more: with AddressSanitizer and UBSan, asserts on. Tests and the command line are compiled once and linked
# to either: what is checked is the library. ASan sees what is done to its memory, whoever does it.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "SINEW_CHECKED needs Clang: configure with -DCMAKE_CXX_COMPILER=clang++")
endif()

set(sanitizers -fsanitize=address,undefined)
add_library(sinew_checked STATIC ${sinew_sources})
target_link_libraries(sinew_checked PUBLIC sinew_headers PRIVATE sinew_build_flags ${sinew_private_libraries})
target_compile_options(sinew_checked PRIVATE -O1 -g1 -UNDEBUG ${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
if(SINEW_CHECKED_BUT)
  target_compile_options(sinew_checked PRIVATE -fno-sanitize=${SINEW_CHECKED_BUT})
endif()
target_link_options(sinew_checked PUBLIC ${sanitizers})
# Kernels take minutes to compile with sanitizers: only for two instruction sets. The other build's tests run them all.
target_compile_definitions(sinew_checked PRIVATE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")
if(SINEW_FAST_BUILD)
  sinew_fast_build(sinew_checked ${sinew_sources})
endif()
if(SINEW_BUILD_FUZZERS)
  # What reads must report its coverage, or the fuzzer is blind. The rest would only be slower.
  target_compile_options(sinew_checked PRIVATE -fsanitize=fuzzer-no-link
                         -fsanitize-coverage-allowlist=${PROJECT_SOURCE_DIR}/cmake/fuzz_coverage.txt)
endif()
