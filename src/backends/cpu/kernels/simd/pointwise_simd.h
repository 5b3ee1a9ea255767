// One function per scalar operator over arrays of f32 (truth values as 0 and 1), compiled for every SIMD width.
#pragma once

#include <cstddef>

#include "ops/scalar.h"

namespace tenon::backends::cpu {

// Arrays of `count` elements, a multiple of kLanes, aligned as they come. `out` may be one of the operands.
constexpr size_t kLanes = 16;
using VectorFunction = void (*)(const float* a, const float* b, const float* c, float* out, size_t count);

// The best one for this processor; a scalar loop over the operator's row where no vector form exists.
VectorFunction vectorFunction(ops::ScalarOp op);

// x * gate(x, b, c) in one pass (swish, hard swish); null where no such form exists.
VectorFunction gatedFunction(ops::ScalarOp gate);

}  // namespace tenon::backends::cpu
