// What pointwise (1x1) convolutions between few channels are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/direct/direct_parameters.h"

namespace tenon::backends::cuda {

struct NarrowParameters {
  void* data[kMaxDirectOperands] = {};  // y, x1.. of the epilogue: each like y, of y's channels, or one number
  const void* x = nullptr;              // [rows][channels]
  const void* w = nullptr;              // as NarrowForm::pack() lays them out
  const void* bias = nullptr;           // of y's channels, or null
  int32_t rows = 0;
};

}  // namespace tenon::backends::cuda
