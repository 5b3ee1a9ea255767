// Scalar expressions over f32 evaluated block by block: the reference's arithmetic in the reference's order, for
// weights that folding goes through.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// False, and nothing done, where a type other than f32 or a cast takes part. Gives the bits that ScalarProgram gives.
bool evaluateInBlocks(const ScalarExpr& expr, const EvalContext& context);

}  // namespace tenon::ops
