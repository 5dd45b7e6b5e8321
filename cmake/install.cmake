# `cmake --install` for C++ programs: headers, the static library, and what find_package(ramet)
# reads, as the component `cpp`. A Python package has the extension instead, the component `python`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ramet)
install(TARGETS ramet EXPORT ramet ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
install(DIRECTORY include/ramet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp
  FILES_MATCHING PATTERN "*.h")
install(EXPORT ramet NAMESPACE ramet:: FILE ramet-targets.cmake DESTINATION ${package_folder}
  COMPONENT cpp)

configure_file(cmake/ramet-config.cmake.in ramet-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ramet-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/ramet-config.cmake ${CMAKE_BINARY_DIR}/ramet-config-version.cmake
  DESTINATION ${package_folder} COMPONENT cpp)
