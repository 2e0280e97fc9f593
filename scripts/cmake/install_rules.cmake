# What `cmake --install` puts where: the program, the library, its public headers, the man pages, and the two ways
# in which other projects find the library (CMake's find_package and pkg-config).
include(CMakePackageConfigHelpers)

install(TARGETS wdelta EXPORT wdelta_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS wdelta_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Used as <wdelta/wdelta.h>. Headers include each other by their paths from where they lie, so that no other folder has to
# be searched. tests/consumer/run finds what is missing here, and what is too much.
foreach(header wdelta.h reports.h stats_report.h core/context.h core/environment.h core/json_object.h core/result.h
    core/stop.h core/words.h)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/lib/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wdelta/${folder})
endforeach()

foreach(section 1 5)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/wdelta)
install(EXPORT wdelta_targets NAMESPACE wdelta:: FILE wdeltaTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/wdeltaConfig.cmake.in
  ${PROJECT_BINARY_DIR}/wdeltaConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wdeltaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wdeltaConfig.cmake ${PROJECT_BINARY_DIR}/wdeltaConfigVersion.cmake
  DESTINATION ${package_dir})

# The paths in wdelta.pc start from where the file itself lies, so that a staged or moved install works too.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/wdelta.pc.in ${PROJECT_BINARY_DIR}/wdelta.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wdelta.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
