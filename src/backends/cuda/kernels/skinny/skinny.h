// Products with few rows; mirrors skinny.cuh.
#pragma once

#include "backends/cuda/kernels/direct/direct.h"

namespace tenon::backends::cuda {

struct SkinnyParameters {
  void* data[kMaxDirectOperands] = {};
  const void* x = nullptr;
  const void* w = nullptr;
  const void* bias = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t inner = 0;
  int64_t stride[kMaxDirectOperands][2] = {};
  int32_t packs = 0;
};

Code skinnyCode(const ops::ScalarExpr& epilogue, const Types& types, size_t firstExtra);

// Launches with the rows taken so many at a time as are there, at most 8.
class SkinnyLauncher {
 public:
  explicit SkinnyLauncher(const Module& module) : module_(module) {}
  SkinnyParameters parameters;
  void configure(int elementBytes);  // after rows, columns, inner
  void launch(void* stream);         // after the addresses

 private:
  const Module& module_;
  int rowsAtOnce_ = 1;
  int elementBytes_ = 4;
  CUfunction function_ = nullptr;
};

}  // namespace tenon::backends::cuda
