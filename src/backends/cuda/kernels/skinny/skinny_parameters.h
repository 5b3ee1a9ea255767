// What products with few rows are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/direct/direct_parameters.h"

namespace tenon::backends::cuda {

struct SkinnyParameters {
  void* data[kMaxDirectOperands] = {};  // y, x1.. of the epilogue
  const void* x = nullptr;              // [rows][inner]
  const void* w = nullptr;              // [columns][inner]
  const void* bias = nullptr;           // [columns], or null
  int64_t rows = 0, columns = 0, inner = 0;
  int64_t stride[kMaxDirectOperands][2] = {};  // of data: along rows and columns
  int32_t packs = 0;                           // rows are whole packs of 16 bytes
};

}  // namespace tenon::backends::cuda
