# Compiles a target's files in a few large units that share the headers they parse, and precompiles the headers that nearly
# all of them include: a third of the processor time. The preset `gcc` and `./run test alone` do without, so that every file
# still includes what it needs.

# Files in one unit. More save little, and make a change of one file expensive.
set(SINEW_FILES_IN_A_UNIT 20)

function(sinew_fast_build target)
  target_precompile_headers(${target} PRIVATE <Eigen/Core> <Eigen/Geometry> <Eigen/LU> <Eigen/SVD> <fmt/format.h> <algorithm>
                            <array> <cmath> <filesystem> <functional> <map> <memory> <numeric> <optional> <set> <span> <string>
                            <string_view> <unordered_map> <variant> <vector>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    # Kernels include themselves once per instruction set: they stay by themselves.
    file(STRINGS ${source} is_kernel REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(is_kernel)
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME module)
    if(source MATCHES "/template_builder")
      continue()  # inlined into the templates, it has their constants folded to other last bits
    endif()
    if(NOT DEFINED count_${module})
      set(count_${module} 0)
    endif()
    math(EXPR unit "${count_${module}} / ${SINEW_FILES_IN_A_UNIT}")
    math(EXPR count_${module} "${count_${module}} + 1")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${module}_${unit})
  endforeach()
endfunction()
