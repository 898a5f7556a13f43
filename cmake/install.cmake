# `cmake --install` gives a tree in which find_package(Sinew CONFIG) finds sinew::sinew.
install(TARGETS sinew EXPORT SinewTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/sinew DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        # Private: they need libraries that users of Sinew do not.
        REGEX "scene/(gltf_|import|assimp_reader|isolated_process|text_scanner)|geometry/embree_handles" EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/generated/sinew/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sinew)
install(EXPORT SinewTargets NAMESPACE sinew:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinew)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SinewConfig.cmake.in SinewConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinew)
write_basic_package_version_file(SinewConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SinewConfig.cmake ${PROJECT_BINARY_DIR}/SinewConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinew)
if(SINEW_BUILD_CLI)
  install(TARGETS sinew_cli)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
