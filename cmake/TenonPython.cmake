# Which Python the module is built for: one interpreter with its headers, and pybind11's. Nothing is asked of the modules
# that come with CMake or pybind11, since each may find another Python than the one that runs the tests.
#
#   TENON_PYTHON              ON: an error where something is missing; AUTO: the module is left out, with the reason; OFF
#   TENON_PYTHON_EXECUTABLE   the interpreter; by default the first with headers of /usr/bin/python3 and python3 of PATH,
#                             those with numpy first
#   TENON_PYTHON_MORE         a list of other interpreters, of other releases, to build modules for beside it in the same package;
#                             "<interpreter>=<folder>" names the headers of pybind11 for one
set(TENON_PYTHON AUTO CACHE STRING "Build the Python module: ON, OFF, or AUTO where a Python with headers and pybind11 are found")
set(TENON_PYTHON_EXECUTABLE "" CACHE FILEPATH "The Python interpreter to build the module for")
set(TENON_PYTHON_MORE "" CACHE STRING "Other Python interpreters to build modules for, for wheels")

# tenon_python_facts(<interpreter> <prefix>): <prefix>_INCLUDE, _SUFFIX, _VERSION, _NUMPY; _REASON where it does not do.
function(tenon_python_facts interpreter prefix)
  execute_process(COMMAND ${interpreter} -E -c "
import importlib.util, os, sys, sysconfig
folder = sysconfig.get_paths()['include']
print('include=' + (folder if os.path.exists(os.path.join(folder, 'Python.h')) else ''))
print('suffix=' + sysconfig.get_config_var('EXT_SUFFIX'))
print('version=%d.%d' % sys.version_info[:2])
print('numpy=' + str(int(importlib.util.find_spec('numpy') is not None)))
print('supported=' + str(int(sys.implementation.name == 'cpython' and sys.version_info >= (3, 8))))
" OUTPUT_VARIABLE text RESULT_VARIABLE status ERROR_QUIET)
  foreach(name IN ITEMS include suffix version numpy supported)
    string(REGEX MATCH "${name}=([^\n]*)" unused "${text}")
    string(TOUPPER ${name} upper)
    set(${upper} "${CMAKE_MATCH_1}")
    set(${prefix}_${upper} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endforeach()
  set(reason "")
  if(NOT status EQUAL 0)
    set(reason "${interpreter} does not run")
  elseif(NOT SUPPORTED)
    set(reason "${interpreter} is not CPython 3.8 or newer")
  elseif(NOT INCLUDE)
    set(reason "${interpreter} has no Python.h")
  endif()
  set(${prefix}_REASON "${reason}" PARENT_SCOPE)
endfunction()

# tenon_find_python(): tenon_python (the interpreter), tenon_python_INCLUDE and the other facts, tenon_pybind11 (a folder),
# or tenon_python_missing, the reason why there is no module.
function(tenon_find_python)
  set(candidates ${TENON_PYTHON_EXECUTABLE})
  if(NOT candidates)
    set(candidates /usr/bin/python3)
    # By the order of PATH, not by what CMake thinks is newest.
    execute_process(COMMAND python3 -E -c "import sys; print(sys.executable)" OUTPUT_VARIABLE on_path
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
    if(status EQUAL 0 AND on_path)
      list(APPEND candidates ${on_path})
    endif()
    list(REMOVE_DUPLICATES candidates)
  endif()
  set(chosen "")
  set(reasons "")
  foreach(candidate IN LISTS candidates)
    tenon_python_facts(${candidate} facts)
    if(facts_REASON)
      list(APPEND reasons "${facts_REASON}")
    elseif(NOT chosen OR (facts_NUMPY AND NOT tenon_python_NUMPY))
      set(chosen ${candidate})
      foreach(name IN ITEMS INCLUDE SUFFIX VERSION NUMPY)
        set(tenon_python_${name} "${facts_${name}}")
      endforeach()
    endif()
  endforeach()
  set(missing "")
  find_path(TENON_PYBIND11 pybind11/pybind11.h)
  mark_as_advanced(TENON_PYBIND11)
  if(NOT chosen)
    list(JOIN reasons "; " missing)
  elseif(NOT TENON_PYBIND11)
    set(missing "no pybind11/pybind11.h (Debian: pybind11-dev); TENON_PYBIND11 names its folder")
  else()
    tenon_check_pybind11()
  endif()
  foreach(name IN ITEMS INCLUDE SUFFIX VERSION NUMPY)
    set(tenon_python_${name} "${tenon_python_${name}}" PARENT_SCOPE)
  endforeach()
  set(tenon_python "${chosen}" PARENT_SCOPE)
  set(tenon_python_missing "${missing}" PARENT_SCOPE)
endfunction()

# An old pybind11 does not compile with a new Python: better to see it here than in the middle of the build.
macro(tenon_check_pybind11)
  set(check_key "${tenon_python_INCLUDE} ${TENON_PYBIND11}")
  if(NOT "${TENON_PYBIND11_CHECKED}" STREQUAL check_key)
    file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/pybind11_check.cpp
      "#include <pybind11/pybind11.h>\nPYBIND11_MODULE(check, module) { module.doc() = \"\"; }\n")
    set(check_flags "")
    foreach(check_folder IN ITEMS ${tenon_python_INCLUDE} ${TENON_PYBIND11})
      if(NOT check_folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
        string(APPEND check_flags " -I${check_folder}")
      endif()
    endforeach()
    set(check_flags_before "${CMAKE_CXX_FLAGS}")
    string(APPEND CMAKE_CXX_FLAGS "${check_flags}")
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # the interpreter defines what would be missing in a program
    try_compile(TENON_PYBIND11_COMPILES ${CMAKE_BINARY_DIR}/CMakeFiles/pybind11_check
      ${CMAKE_BINARY_DIR}/CMakeFiles/pybind11_check.cpp
      CMAKE_FLAGS -DCMAKE_POSITION_INDEPENDENT_CODE=ON
      CXX_STANDARD 20 OUTPUT_VARIABLE check_output)
    set(CMAKE_CXX_FLAGS "${check_flags_before}")
    unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
    string(REGEX MATCH "[^\n]*error[^\n]*" check_error "${check_output}")
    if(TENON_PYBIND11_COMPILES)
      set(TENON_PYBIND11_CHECKED "${check_key}" CACHE INTERNAL "")
    endif()
  endif()
  if(NOT "${TENON_PYBIND11_CHECKED}" STREQUAL check_key)
    set(missing "pybind11 of ${TENON_PYBIND11} does not compile with the headers of ${tenon_python_INCLUDE}: ${check_error}")
  endif()
endmacro()
