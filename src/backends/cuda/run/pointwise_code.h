// CUDA C++ from scalar expressions, and its compilation by NVRTC for one chip.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/scalar.h"

namespace tenon::backends::cuda {

constexpr int kMaxOperands = 8;  // inputs of a generated kernel
constexpr int kMaxAxes = 8;

// What a launch passes: addresses, extents of the collapsed index space (innermost last) and strides per operand.
struct PointwiseParameters {
  void* out;
  const void* in[kMaxOperands];
  long long count;
  int axes;
  long long extent[kMaxAxes];
  long long outStride[kMaxAxes];
  long long inStride[kMaxOperands][kMaxAxes];
};

// Reason why there is no code for the types, or empty.
std::string pointwiseUnsupported(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output);

// Source of a kernel `tenon_pointwise(PointwiseParameters)`: deterministic, one thread per element and grid stride.
std::string pointwiseSource(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output);

// Machine code for compute capability `capability` (for example 90). Throws Unsupported with the compiler's log.
std::vector<std::byte> compile(const std::string& source, int capability);

}  // namespace tenon::backends::cuda
