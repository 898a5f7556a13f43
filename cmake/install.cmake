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
  # The program itself writes its manual page and completions; where it cannot run here they are left out.
  set(cli_texts "man:${CMAKE_INSTALL_MANDIR}/man1/sinew.1"
                "completion bash:${CMAKE_INSTALL_DATADIR}/bash-completion/completions/sinew"
                "completion zsh:${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_sinew"
                "completion fish:${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/sinew.fish")
  foreach(text IN LISTS cli_texts)
    string(REGEX MATCH "^(.*):(.*)/([^/]*)$" matched "${text}")
    string(REPLACE " " ";" arguments "${CMAKE_MATCH_1}")
    install(CODE "
      set(file \"${PROJECT_BINARY_DIR}/cli_texts/${CMAKE_MATCH_3}\")
      file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/cli_texts\")
      execute_process(COMMAND \"$<TARGET_FILE:sinew_cli>\" ${arguments} OUTPUT_FILE \"\${file}\" RESULT_VARIABLE result)
      if(result EQUAL 0)
        file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_MATCH_2}\" TYPE FILE FILES \"\${file}\")
      else()
        message(WARNING \"sinew ${CMAKE_MATCH_1} failed: \${result}\")
      endif()")
  endforeach()
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
