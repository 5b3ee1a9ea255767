# Compiler settings that hold for every target of the project.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archive)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib")

# -O2 everywhere and -O3 where loops over data are compiled (the CPU's kernels): -O3 takes GCC an eighth longer and nothing
# else here is measurably faster by it. Tests, parsers and code that calls and copies choose -O1 themselves, which compiles
# in two thirds of the time.
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)  # false alarms of GCC 12
endif()
if(TENON_WERROR)
  add_compile_options(-Werror)
endif()
if(TENON_SANITIZE)
  add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -g1 -O1)
  add_link_options(-fsanitize=${TENON_SANITIZE})
  if(TENON_SANITIZE MATCHES "undefined")
    # The CUDA runtime's enums come from C callers, who may pass any number; we answer those with an error.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=enum)
  endif()
endif()

if(TENON_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "TENON_FUZZ needs Clang, which brings libFuzzer; the compiler is ${CMAKE_CXX_COMPILER_ID}. Use the preset 'fuzz'.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC)  # one set of instructions: a fraction of the time to compile
endif()

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TENON_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TENON_CCACHE})
endif()

find_program(TENON_PYTHON3 python3 HINTS /usr/bin)  # not a wrapper of some version manager, which takes longer
mark_as_advanced(TENON_PYTHON3)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
