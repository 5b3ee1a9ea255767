// What quantization and its way back are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

struct QuantizeParameters {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* zero = nullptr;
  void* y = nullptr;
  int64_t count = 0;
  int32_t single = 0;  // one scale for all
  int32_t rank = 0;
  int64_t extent[kMaxAxes] = {};
  int64_t block[kMaxAxes] = {};   // elements per scale
  int64_t stride[kMaxAxes] = {};  // of the scale
};

}  // namespace tenon::backends::cuda
