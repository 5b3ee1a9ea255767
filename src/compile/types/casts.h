// How values become halves: what is beyond the range of f16 becomes its greatest value, never an infinity.
#pragma once

#include "ops/scalar.h"

namespace tenon::compile {

constexpr double kGreatestHalf = 65504;

ops::ScalarExpr castExpression(DataType to, bool keepInfinities = false);

}  // namespace tenon::compile
