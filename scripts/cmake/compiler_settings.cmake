# How every source of the project is compiled: standard, warnings, hardening, sanitizers. The target wdelta_settings
# carries it, so that a program that uses wdelta as a subproject keeps its own flags.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

add_library(wdelta_settings INTERFACE)
target_compile_options(wdelta_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-trigraphs  # "?????-model" is a pattern
  # g++ 12 sees overlaps and overflows in std::string and std::vector that are not there.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  -Wno-missing-field-initializers  # Error{kind, message} leaves the rest to its defaults
  $<$<BOOL:${WDELTA_WERROR}>:-Werror>
  -fstack-protector-strong
  $<$<CONFIG:Release,RelWithDebInfo>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
target_compile_definitions(wdelta_settings INTERFACE _GLIBCXX_ASSERTIONS _FILE_OFFSET_BITS=64)
target_link_options(wdelta_settings INTERFACE LINKER:-z,relro,-z,now)

if(WDELTA_SANITIZE)
  target_compile_options(wdelta_settings INTERFACE
    -fsanitize=${WDELTA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(wdelta_settings INTERFACE -fsanitize=${WDELTA_SANITIZE})
else()
  # The checks of the C library need optimisation, and blind the sanitizers.
  target_compile_options(wdelta_settings INTERFACE $<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE>
                         $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
  target_link_options(wdelta_settings INTERFACE LINKER:--no-undefined LINKER:--as-needed)
endif()

# The sources with the loops that touch every weight; `perf record` finds no others. All the rest, which reads headers,
# talks to remotes and words messages, is compiled for size: in half the time, to half the size, and as fast.
set(WDELTA_LOOPS "/lib/(codec|delta|walk)/|/(digest|foreign[a-z_]*|tally[a-z_]*)\\.cc$")
set(WDELTA_SMALL_CODE $<$<CONFIG:Release>:-Os>)

# What is parsed once for each target instead of once for each source. Sources still include what they use: only headers
# of the standard library belong here, so that a change in ours compiles again what includes it and nothing else.
set(WDELTA_PRECOMPILED
  <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <cstring> <filesystem> <functional> <map>
  <memory> <mutex> <optional> <set> <span> <string> <string_view> <unistd.h> <utility> <vector>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # CMake would write '-include FILE', for which clang-tidy and clangd take FILE.gch, which they cannot read. Handed on
  # to the preprocessor, it is the precompiled header for g++ and an ordinary one for them. -fpch-preprocess is for ccache.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -fpch-preprocess -Xpreprocessor -include -Xpreprocessor <PCH_HEADER>)
endif()
