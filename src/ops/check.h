// A check before an evaluation whose shapes come from elsewhere.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Infers the operator once more from the tensors' extents and throws UserError where it refuses them, or where an
// output has other extents or another type than it says: two extents that had to be equal and are not, a slice that
// leaves its input. References trust their tensors, so callers with symbolic extents check each new set of shapes once.
void checkShapes(const Operator& op, std::string_view node, const EvalContext& context);

// Evaluates unless every output is empty: a reference may take memory by the extents that stand beside the 0.
void evaluateWhatIsThere(const Operator& op, const EvalContext& context);

}  // namespace tenon::ops
