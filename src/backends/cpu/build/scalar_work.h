// What the block-wise runner of scalar expressions can compute.
#pragma once

#include <span>

#include "build/tactics/tactic.h"
#include "ops/scalar.h"

namespace tenon::backends::cpu {

// "no" where an operand, a step or a result is of a type that it lacks, or where the expression needs more than so many
// buffers: one for each operand, literal and step.
build::Support scalarWorkSupport(const ops::ScalarExpr& expr, const build::Problem& problem, size_t buffers);

}  // namespace tenon::backends::cpu
