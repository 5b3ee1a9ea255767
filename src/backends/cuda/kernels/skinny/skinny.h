// Products with few rows: their code and its launches (skinny.cuh).
#pragma once

#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/skinny/skinny_parameters.h"

namespace tenon::backends::cuda {

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
