// Code of expressions whose operand and result lie in different formats (turned_pointwise.cuh).
#pragma once

#include "backends/cuda/kernels/pointwise/pointwise_code.h"

namespace tenon::backends::cuda {

Code turnedPointwiseCode(const ops::ScalarExpr& expr, DataType input, DataType output);

}  // namespace tenon::backends::cuda
