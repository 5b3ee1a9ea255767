// CUDA C++ from scalar expressions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/pointwise/pointwise_parameters.h"
#include "ops/scalar.h"

namespace tenon::backends::cuda {

// Name of a type in CUDA source ("f16"), or null where it has none (the types of four bits).
const char* cudaName(DataType type);

// Reason why there is no code for the types, or empty.
std::string pointwiseUnsupported(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output);

// Elements that one thread of the packed kernel computes: as many as 16 bytes hold of the widest operand, 2 to 8.
int pointwisePack(std::span<const DataType> inputs, DataType output);

// Source of the kernels tenon_pointwise_packed (a pack of the innermost axis per thread), tenon_pointwise (one element)
// and tenon_pointwise_wide (one element, for spaces of 2^31 and more). Deterministic.
std::string pointwiseSource(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output);

// The expression as statements on values x0, x1, ..., indented; `result` becomes the name of its value.
std::string scalarStatements(const ops::ScalarExpr& expr, std::span<const DataType> inputs, std::string& result);

}  // namespace tenon::backends::cuda
