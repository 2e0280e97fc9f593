# What wdelta stands on, all of it packaged by Debian 12. scripts/setup installs it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
find_package(CLI11 REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.4)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl>=7.80)

# Not in Debian 12, and needed only for deltas of other systems that have such checksums.
pkg_check_modules(blake3 QUIET libblake3)

if(WDELTA_TESTS OR WDELTA_FUZZ)
  find_package(doctest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# ccache refuses sources with precompiled headers unless it is told that their macros may be trusted; ours come from the
# command line alone.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
