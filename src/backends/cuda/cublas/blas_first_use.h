// Kernels of cuBLASLt come to the device when they are launched for the first time, some milliseconds each: builds,
// which try hundreds, launch them beside the measurements.
#pragma once

#include "backends/cuda/cublas/blas_matmul.h"

namespace tenon::backends::cuda {

// Launches what an algorithm runs, on a small product of the same kind and a stream of its own, if this process has not
// done so. Thread-safe; what goes wrong is left to whoever launches the product itself.
void useBlasFirst(const BlasShape& shape, const BlasEpilogue& epilogue, bool tf32, const BlasAlgorithm& algorithm);

}  // namespace tenon::backends::cuda
