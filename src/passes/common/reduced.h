// Reductions along one axis in terms.
#pragma once

#include <optional>

#include "ops/op/reduce.h"
#include "passes/common/terms.h"

namespace tenon::passes {

// The axis of a reduction, which stays with extent 1, and what it reduces.
struct Reduced {
  int64_t axis;
  graph::ValueId input;
};

// Nothing where the term is not such a reduction by `op`.
std::optional<Reduced> reducedBy(const graph::Graph& graph, const Terms& terms, const Term& term, ops::ReduceOp op);

}  // namespace tenon::passes
