# What `cmake --install` puts where: libraries, headers, programs, and the files by which other projects find them.
#
#   <prefix>/bin/trtexec, tensorrt_player
#   <prefix>/share/man/man1/trtexec.1, share/bash-completion, share/zsh, share/fish    made from the table of its flags
#   <prefix>/include/NvInfer.h ...                     also what common FindTensorRT scripts look for
#   <prefix>/include/tenon/hostcuda/cuda_runtime_api.h ...   apart, so that it never hides a CUDA toolkit's
#   <prefix>/lib/libnvinfer.so.10 ...                  and the unversioned links
#   <prefix>/lib/cmake/Tenon/, <prefix>/lib/pkgconfig/
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_targets "")
foreach(target IN ITEMS nvinfer nvinfer_plugin nvonnxparser tenon_hostcuda cudart12 cudart13)
  if(TARGET ${target})
    list(APPEND library_targets ${target})
  endif()
endforeach()
if(NOT library_targets)
  return()
endif()

# All that is installed, and no tests: what to build before `cmake --install`.
add_custom_target(tenon DEPENDS ${library_targets})
foreach(target IN ITEMS cudart_link trtexec tenon_check_plugins tensorrt_player tensorrt_shim)
  if(TARGET ${target})
    add_dependencies(tenon ${target})
  endif()
endforeach()

install(TARGETS ${library_targets} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET cudart13)
  install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libcudart.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET trtexec)
  install(TARGETS trtexec RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(pages ${PROJECT_BINARY_DIR}/share/trtexec)
  install(FILES ${pages}/trtexec.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pages}/trtexec DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/_trtexec DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${pages}/trtexec.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
if(TARGET tenon_check_plugins)
  install(TARGETS tenon_check_plugins RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET tensorrt_player)
  install(TARGETS tensorrt_player tensorrt_shim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/hostcuda/include/cudart/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon/hostcuda
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tenon)

# Compatibility is by the major version of the interface, so the package carries that number too.
file(STRINGS ${PROJECT_SOURCE_DIR}/include/NvInferVersion.h version_lines REGEX "define TRT_[A-Z]+_ENTERPRISE")
set(TENON_API_VERSION "")
foreach(part IN ITEMS MAJOR MINOR PATCH BUILD)
  string(REGEX MATCH "TRT_${part}_ENTERPRISE ([0-9]+)" unused "${version_lines}")
  list(APPEND TENON_API_VERSION ${CMAKE_MATCH_1})
endforeach()
string(REPLACE ";" "." TENON_API_VERSION "${TENON_API_VERSION}")

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TenonConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TenonConfig.cmake INSTALL_DESTINATION ${config_folder}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
  DESTINATION ${config_folder})

foreach(name IN ITEMS tenon tenon-cudart)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
