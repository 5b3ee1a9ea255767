// What the translation of scalar expressions asks of single operators, and the forms that it brings them into.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"
#include "ops/scalar.h"

namespace tenon::backends::cpu {

// Whether the type has the literal's value, or its whole part.
bool holds(DataType type, double value);

bool isLogical(ops::ScalarOp op);
bool isCommutative(ops::ScalarOp op);

// The operator whose value is the same with its operands in the other order.
ops::ScalarOp mirrored(ops::ScalarOp op);

// A product that one sum alone reads is computed with it. The product's instruction stays, unused.
ops::ScalarExpr joinProducts(ops::ScalarExpr expr, std::span<const int64_t> results);

}  // namespace tenon::backends::cpu
