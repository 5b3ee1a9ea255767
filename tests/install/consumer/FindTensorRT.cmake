# Finds TensorRT by its files alone, in the way that projects commonly do: a root folder, NvInfer.h, libnvinfer.
include(FindPackageHandleStandardArgs)

set(roots ${TensorRT_ROOT} ${TENSORRT_ROOT} $ENV{TensorRT_ROOT} $ENV{TENSORRT_ROOT})
find_path(TensorRT_INCLUDE_DIR NvInfer.h HINTS ${roots} PATH_SUFFIXES include)
find_library(TensorRT_nvinfer_LIBRARY nvinfer HINTS ${roots} PATH_SUFFIXES lib lib64)
find_library(TensorRT_nvonnxparser_LIBRARY nvonnxparser HINTS ${roots} PATH_SUFFIXES lib lib64)

# A CUDA toolkit goes first; a machine without one has what came with the libraries.
find_path(TensorRT_CUDART_INCLUDE_DIR cuda_runtime_api.h HINTS /usr/local/cuda/include ${roots}
  PATH_SUFFIXES include/tenon/hostcuda)
find_library(TensorRT_CUDART_LIBRARY cudart HINTS ${roots} PATH_SUFFIXES lib)

if(TensorRT_INCLUDE_DIR)
  file(STRINGS ${TensorRT_INCLUDE_DIR}/NvInferVersion.h lines REGEX "^#define (NV_TENSORRT|TRT)_(MAJOR|MINOR|PATCH)")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    string(REGEX MATCH "(NV_TENSORRT_${part}|TRT_${part}_ENTERPRISE) +([0-9]+)" unused "${lines}")
    set(version_${part} ${CMAKE_MATCH_2})
  endforeach()
  set(TensorRT_VERSION ${version_MAJOR}.${version_MINOR}.${version_PATCH})
endif()

find_package_handle_standard_args(TensorRT
  REQUIRED_VARS TensorRT_nvinfer_LIBRARY TensorRT_nvonnxparser_LIBRARY TensorRT_INCLUDE_DIR
  VERSION_VAR TensorRT_VERSION)
set(TensorRT_LIBRARIES ${TensorRT_nvinfer_LIBRARY} ${TensorRT_nvonnxparser_LIBRARY})
set(TensorRT_INCLUDE_DIRS ${TensorRT_INCLUDE_DIR})
