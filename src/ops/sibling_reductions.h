// Reductions of one tensor over the same axes, as one operator.
#pragma once

#include <vector>

#include "ops/op/reduce.h"

namespace tenon::ops {

// Whether task by task they read the same elements.
bool areSiblings(const Reduce& a, const Reduce& b);

// The reductions that the operator is: itself, or the parts of a composite, each of its one input and an output of it
// in their order. None where it is something else.
std::vector<Reduce> siblingReductions(const Operator& op);

}  // namespace tenon::ops
