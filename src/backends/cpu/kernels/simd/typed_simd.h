// Scalar operators over arrays of one type with truth values in bytes, and conversions between types, compiled for
// every SIMD width.
#pragma once

#include "backends/cpu/kernels/simd/pointwise_simd.h"
#include "core/dtype.h"

namespace tenon::backends::cpu {

// All functions here: any count; `out` overlaps no operand.

// The operator over operands of `type`: f32, i64, i32, i8, u8, or bool as bytes 0 and 1. Results that are truth values,
// and the condition of a select, are such bytes. Null where none exists. Integers wrap; those of f32 that are no
// comparisons are vectorFunction(op).
VectorFunction typedFunction(ops::ScalarOp op, DataType type);

// The same with one or two operands that are one element, see vectorFunctionWithSame(). Null where none exists.
VectorFunction typedFunctionWithSame(ops::ScalarOp op, DataType type, int same);

// a[0] in all of out, of any type of whole bytes
VectorFunction spreadFunction(DataType type);

// The operator's row over i64, whatever it is: results of every kind are i64.
VectorFunction wideFunction(ops::ScalarOp op);

// Conversion as casts and stores of the reference do: towards zero, saturating, NaN to 0, anything but 0 to true.
// Between f32, i64, i32, i8, u8 and bool, and between f32 and f16 or bf16 (rounding to even); null for others.
VectorFunction castFunction(DataType from, DataType to);

// i64 to a narrower integer modulo its range.
VectorFunction wrapFunction(DataType to);

}  // namespace tenon::backends::cpu
