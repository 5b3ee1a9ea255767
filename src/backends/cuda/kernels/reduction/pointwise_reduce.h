// Generated code of reductions with scalar work in front of them.
#pragma once

#include <span>
#include <string>

#include "backends/cuda/kernels/reduction/reduction_parameters.h"
#include "core/dtype.h"
#include "ops/op/pointwise_reduce.h"

namespace tenon::backends::cuda {

// The kernels of pointwise_reduce.cuh for one expression. Deterministic.
std::string pointwiseReduceSource(const ops::PointwiseReduce& op, std::span<const DataType> inputs, DataType output);

}  // namespace tenon::backends::cuda
