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

# tenon_own_precompiled(<target> <header>...): precompiles headers, also of the project, for one target. They name the
# checkout, so that a compiler cache does not give one checkout the precompiled header of another: the same header under
# two paths would be read twice.
function(tenon_own_precompiled target)
  set(place ${CMAKE_CURRENT_BINARY_DIR}/${target}_checkout.h)
  file(CONFIGURE OUTPUT ${place} CONTENT "#pragma once\ninline constexpr char kCheckout[] = \"${PROJECT_SOURCE_DIR}\";\n")
  target_precompile_headers(${target} PRIVATE ${place} ${ARGN})
endfunction()

# tenon_unity(<variable> <name> <file>...): the files with sources joined to batches, each compiled as one, which halves the
# time that they take. unity_batches.py says which may be joined; it runs again when a source changes, and only batches that
# changed are compiled. TENON_UNITY=OFF compiles each source alone: so a source is found that does not include what it uses.
function(tenon_unity variable name)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/.*\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_BINARY_DIR}/")
  list(LENGTH sources count)
  if(NOT TENON_UNITY OR NOT TENON_PYTHON3 OR count LESS 2)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(script ${TENON_PYTHON3} -B ${PROJECT_SOURCE_DIR}/cmake/unity_batches.py)
  execute_process(COMMAND ${script} plan ${sources} OUTPUT_VARIABLE plan OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" alone "${plan}")
  list(POP_FRONT alone count)
  list(REMOVE_ITEM sources ${alone})
  if(count EQUAL 0)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(prefix ${CMAKE_CURRENT_BINARY_DIR}/unity/${name})
  if(NOT EXISTS ${prefix}_plan)
    file(WRITE ${prefix}_plan "")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${prefix}_plan)  # the script touches it where the plan is too old
  set(batches "")
  foreach(i RANGE 1 ${count})
    math(EXPR i "${i} - 1")
    list(APPEND batches ${prefix}_${i}.cpp)
  endforeach()
  add_custom_command(OUTPUT ${batches} COMMAND ${script} write ${prefix} ${count} ${sources}
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/cmake/unity_batches.py COMMENT "Joining the sources of ${name}" VERBATIM)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # From 10,000 instructions on GCC inlines less; batches are to be inlined as their sources alone are. And it takes classes
    # of the sources, which hold ones of unnamed namespaces, for classes of headers.
    set_source_files_properties(${batches} PROPERTIES COMPILE_OPTIONS "--param=large-unit-insns=100000;-Wno-subobject-linkage")
  endif()
  set(rest ${ARGN})
  list(REMOVE_ITEM rest ${sources})
  set(${variable} ${batches} ${rest} PARENT_SCOPE)
endfunction()

# tenon_component(<name> [NO_PCH] [SOURCES ...] [APART ...] [LINK ...]): the static library tenon_<name> from the
# folder's *.cpp files (LINK is PUBLIC). All code of one shared library is made of such components, with hidden visibility.
# NO_PCH: for folders with compiler options of their own. APART: more sources, joined among themselves, so that a program can bring its own in place of all of them.
function(tenon_component name)
  cmake_parse_arguments(arg "NO_PCH" "" "SOURCES;APART;LINK" ${ARGN})
  if(NOT arg_SOURCES AND NOT arg_APART)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  tenon_unity(arg_SOURCES ${name} ${arg_SOURCES})
  list(APPEND arg_SOURCES ${arg_APART})
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
  # In each library, as its names are hidden: a fork while another thread makes a static object of a function.
  add_library(${target} SHARED ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/src/core/platform/static_objects.cpp)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_OUTPUT} VERSION ${arg_VERSION}
    SOVERSION ${arg_SOVERSION} LINK_DEPENDS ${arg_EXPORTS})
  target_link_libraries(${target} PRIVATE ${arg_LINK} ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE -Wl,--version-script=${arg_EXPORTS} -Wl,--gc-sections)
  if(NOT (TENON_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))  # Clang's sanitizers are defined by the program
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# tenon_table(<output> NAMES <name>... DECLARATION <text> ROW <text> FRAME <text>): writes C++ that lists what the files or
# folders of these names define, so that a new file needs no edit of a list. @name@ in DECLARATION and ROW stands for each
# name in turn; @declarations@ and @rows@ in FRAME for all of them.
function(tenon_table output)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DECLARATION;ROW;FRAME" "NAMES")
  set(declarations "")
  set(rows "")
  foreach(name IN LISTS arg_NAMES)
    string(CONFIGURE "${arg_DECLARATION}" declaration @ONLY)
    string(CONFIGURE "${arg_ROW}" row @ONLY)
    string(APPEND declarations "${declaration}\n")
    string(APPEND rows "      ${row},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT "// Generated from the names of files.\n${arg_FRAME}")
endfunction()

# tenon_stems(<variable> <file>...): the names of files without folder and ending.
function(tenon_stems variable)
  list(TRANSFORM ARGN REPLACE "^.*/([^/.]+)[^/]*$" "\\1" OUTPUT_VARIABLE stems)
  set(${variable} ${stems} PARENT_SCOPE)
endfunction()

# tenon_tactic_table(<backend> <file>...) and tenon_kernel_table: tactic_table.cpp and kernel_table.cpp of the current
# build folder, from files that each define one tactic or one kernel and are named after it,
# with or without _tactic or _launch behind the name.
function(tenon_tactic_table backend)
  tenon_stems(stems ${ARGN})
  list(TRANSFORM stems REPLACE "_tactic$" "")
  tenon_table(${CMAKE_CURRENT_BINARY_DIR}/tactic_table.cpp NAMES ${stems}
    DECLARATION "const compile::Tactic& tactic_@name@();" ROW "&tactic_@name@()"
    FRAME "#include \"compile/tactics/tactic.h\"
namespace tenon::backends {
namespace ${backend} {
@declarations@
std::span<const compile::Tactic* const> tacticTable() {
  static const compile::Tactic* const kTable[] = {
@rows@  };
  return kTable;
}
}  // namespace ${backend}
compile::TacticSource tacticSource_${backend}() { return {\"${backend}\", ${backend}::tacticTable()}; }
}  // namespace tenon::backends
")
endfunction()

function(tenon_kernel_table backend)
  tenon_stems(stems ${ARGN})
  list(TRANSFORM stems REPLACE "_launch$" "")
  tenon_table(${CMAKE_CURRENT_BINARY_DIR}/kernel_table.cpp NAMES ${stems}
    DECLARATION "KernelRow kernelRow_@name@();" ROW "kernelRow_@name@()"
    FRAME "#include \"backends/${backend}/kernels/common/kernel_row.h\"
namespace tenon::backends::${backend} {
@declarations@
std::span<const KernelRow> kernelTable() {
  static const KernelRow kTable[] = {
@rows@  };
  return kTable;
}
}  // namespace tenon::backends::${backend}
")
endfunction()

# tenon_join_tests(<target>): compiles the target's sources of its folder some at once, as joined_tests.py joins them, which takes
# a third of the time. Options of the compiler are those of the target: none of one source. TENON_UNITY=OFF compiles each alone.
function(tenon_join_tests target)
  if(DEFINED TENON_UNITY AND NOT TENON_UNITY)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_target_property(sources ${target} SOURCES)
  set(tests "")
  set(others "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR ${source} isOfFolder)
    if(isOfFolder)
      list(APPEND tests ${source})
    else()
      list(APPEND others ${source})
    endif()
  endforeach()
  if(NOT tests)
    return()
  endif()
  list(SORT tests)
  set(script ${PROJECT_SOURCE_DIR}/cmake/joined_tests.py)
  set(joined "")
  set(folders "")
  list(LENGTH tests count)
  math(EXPR batches "(${count} + 7) / 8")  # of eight files at most: more save little, and cost more when one of them changes
  foreach(batch RANGE 1 ${batches})
    math(EXPR begin "${count} * (${batch} - 1) / ${batches}")
    math(EXPR size "${count} * ${batch} / ${batches} - ${begin}")
    list(SUBLIST tests ${begin} ${size} sources)
    foreach(source IN LISTS sources)
      cmake_path(GET source PARENT_PATH folder)
      list(APPEND folders ${folder})
    endforeach()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/joined/${target}_${batch}.cpp)
    add_custom_command(OUTPUT ${output} COMMAND ${Python3_EXECUTABLE} -I -S ${script} ${output} ${sources}
      DEPENDS ${script} ${sources} COMMENT "Joining sources of ${target}")
    list(APPEND joined ${output})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(TRANSFORM folders PREPEND "-iquote")
  target_compile_options(${target} PRIVATE ${folders})
  set_target_properties(${target} PROPERTIES SOURCES "${others};${joined}")
endfunction()

# tenon_test(<name> [ANY_DEVICE] [BUILDS] [SOURCES ...] [LINK ...]): one GoogleTest program from the folder's *.cpp files, run as
# one CTest entry per test case; without ANY_DEVICE, on the CPU also where there is a GPU. BUILDS: most of its files read
# support/build_and_run.h.
function(tenon_test name)
  cmake_parse_arguments(arg "ANY_DEVICE;BUILDS" "" "SOURCES;LINK" ${ARGN})
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
  if(arg_BUILDS)
    target_precompile_headers(test_${name} REUSE_FROM tenon_test_build_pch)
  else()
    target_precompile_headers(test_${name} REUSE_FROM tenon_test_pch)
  endif()
  tenon_join_tests(test_${name})
  gtest_discover_tests(test_${name} TEST_PREFIX ${name}/ DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ${environment})
endfunction()
