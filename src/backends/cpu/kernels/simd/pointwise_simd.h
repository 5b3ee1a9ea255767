// One function per scalar operator over arrays of f32 (truth values as 0 and 1), compiled for every SIMD width.
#pragma once

#include <cstddef>

#include "ops/scalar.h"

namespace tenon::backends::cpu {

// Arrays of `count` elements, aligned as they come. What is not needed of b and c is not read.
using VectorFunction = void (*)(const void* a, const void* b, const void* c, void* out, size_t count);

// Of functions of f32, a multiple of kLanes elements; `out` may be one of the operands.
constexpr size_t kLanes = 16;

// The best one for this processor; a scalar loop over the operator's row where no vector form exists.
VectorFunction vectorFunction(ops::ScalarOp op);

// The same where one or two operands are one element instead of an array: `same` is the sum of 1 for a, 2 for b and 4
// for c; where that is 1, the array is the second operand. Null where no such form exists.
VectorFunction vectorFunctionWithSame(ops::ScalarOp op, int same);

// a * a * a
VectorFunction cubeFunction();

// x * gate(x, b, c) in one pass (swish, hard swish); null where no such form exists.
VectorFunction gatedFunction(ops::ScalarOp gate);

}  // namespace tenon::backends::cpu
