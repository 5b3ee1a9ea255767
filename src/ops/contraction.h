// What contractions (convolution, deconvolution, matmul) share: operand types, bias, and the scalar epilogue.
#pragma once

#include <vector>

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// The type in which a contraction of operands 0 and 1 accumulates and enters its epilogue: f32, f16 and bf16 their own,
// narrower floating types f32, 8-bit integers i32. UserError for others or when the operands differ.
DataType accumulatorType(DataType operand) noexcept;
DataType inferAccumulator(const InferContext& context);

// Sets the output: the epilogue's type, the given shape, to which inputs `firstExtra`.. (x1, x2, ...) must broadcast.
void inferEpilogue(InferContext& context, const ScalarExpr& epilogue, size_t firstExtra, DataType accumulator,
                   Shape shape);

// Stores the accumulated values (row-major, of the output's shape) through the epilogue.
void storeEpilogue(const EvalContext& context, const ScalarExpr& epilogue, size_t firstExtra,
                   const std::vector<double>& values);

// What the two convolutions share in infer(): bias shape and groups.
void checkBias(const InferContext& context, size_t input, const Extent& channels);
void checkGroups(const InferContext& context, int64_t groups, const Extent& channels, std::string_view role);

}  // namespace tenon::ops
