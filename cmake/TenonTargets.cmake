# Helpers that turn a folder into a target. Sources are found, not listed: a new file needs no edit anywhere.
include_guard()

# The standard library and fmt are parsed once: most of the compile time of a small file is its headers. The checksum
# file lets ccache know the precompiled header by its content's source and not by its bytes, which differ from build to build.
function(tenon_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/${name}.cpp CONTENT "// Only so that the target has a source.\n")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/pch/${name}.cpp)
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  string(SHA1 sum "${arg_HEADERS} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${TENON_SANITIZE}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum "${sum}")
endfunction()

# tenon_component(<name> [NO_PCH] [SOURCES ...] [LINK ...]): the static library tenon_<name> from the folder's *.cpp files
# (LINK is PUBLIC). All code of one shared library is made of such components, with hidden visibility. NO_PCH: for folders
# with compiler options of their own.
function(tenon_component name)
  cmake_parse_arguments(arg "NO_PCH" "" "SOURCES;LINK" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  if(arg_SOURCES)
    add_library(tenon_${name} STATIC ${arg_SOURCES})
    target_include_directories(tenon_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(tenon_${name} PUBLIC fmt::fmt ${arg_LINK})
    if(NOT arg_NO_PCH)
      target_precompile_headers(tenon_${name} REUSE_FROM tenon_pch)
    endif()
  else()
    add_library(tenon_${name} INTERFACE)
    target_include_directories(tenon_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(tenon_${name} INTERFACE fmt::fmt ${arg_LINK})
  endif()
endfunction()

# tenon_shared(<target> OUTPUT <name> SOVERSION <n> EXPORTS <file> [SOURCES ...] [LINK ...]): a public shared library
# that exports exactly the symbols of its version script.
function(tenon_shared target)
  cmake_parse_arguments(arg "" "OUTPUT;VERSION;SOVERSION;EXPORTS" "SOURCES;LINK" ${ARGN})
  add_library(${target} SHARED ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_OUTPUT} VERSION ${arg_VERSION}
    SOVERSION ${arg_SOVERSION} LINK_DEPENDS ${arg_EXPORTS})
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  target_link_options(${target} PRIVATE -Wl,--version-script=${arg_EXPORTS} -Wl,--gc-sections)
  if(NOT (TENON_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))  # Clang's sanitizers are defined by the program
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# tenon_file_table(<variable> <backend> TACTICS|KERNELS <file>...): writes the table of a backend's tactics or kernels,
# one per file and named after it, and sets the variable to the written file. A new file needs no edit of a list.
function(tenon_file_table variable backend kind)
  if(kind STREQUAL "TACTICS")
    set(output ${CMAKE_CURRENT_BINARY_DIR}/tactic_table.cpp)
    set(header build/tactics/tactic.h)
    set(type "const build::Tactic* const")
    set(span tacticTable)
  else()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/kernel_table.cpp)
    set(header backends/${backend}/run/kernel_row.h)
    set(type "const KernelRow")
    set(span kernelTable)
  endif()
  set(declarations "")
  set(rows "")
  foreach(file IN LISTS ARGN)
    get_filename_component(stem ${file} NAME_WE)
    if(kind STREQUAL "TACTICS")
      string(APPEND declarations "const build::Tactic& tactic_${stem}();\n")
      string(APPEND rows "      &tactic_${stem}(),\n")
    else()
      string(APPEND declarations "KernelRow kernelRow_${stem}();\n")
      string(APPEND rows "      kernelRow_${stem}(),\n")
    endif()
  endforeach()
  set(source "")
  if(kind STREQUAL "TACTICS")
    set(source "namespace tenon::backends {
build::TacticSource tacticSource_${backend}() { return {\"${backend}\", ${backend}::tacticTable()}; }
}  // namespace tenon::backends
")
  endif()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"// Generated from the names of the files.
#include \"@header@\"
namespace tenon::backends::@backend@ {
@declarations@
std::span<@type@> @span@() {
  static @type@ kTable[] = {
@rows@  };
  return kTable;
}
}  // namespace tenon::backends::@backend@
@source@")
  set(${variable} ${output} PARENT_SCOPE)
endfunction()

# tenon_test(<name> [ANY_DEVICE] [SOURCES ...] [LINK ...]): one GoogleTest program from the folder's *.cpp files, run as one
# CTest entry per test case; without ANY_DEVICE, on the CPU also where there is a GPU.
function(tenon_test name)
  cmake_parse_arguments(arg "ANY_DEVICE" "" "SOURCES;LINK" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  set(environment ENVIRONMENT TENON_DEVICE=cpu)
  if(arg_ANY_DEVICE)
    set(environment "")
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_LINK} GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # The header is compiled once, for a library; a program is compiled as one (-fPIC, not -fPIE), or it could not use it.
  set_target_properties(test_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(test_${name} PRIVATE -fPIC)
  target_precompile_headers(test_${name} REUSE_FROM tenon_test_pch)
  gtest_discover_tests(test_${name} TEST_PREFIX ${name}/ DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ${environment})
endfunction()
