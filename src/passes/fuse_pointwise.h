// Chains of pointwise nodes become one node.
#pragma once

#include "ops/scalar.h"
#include "passes/pipeline.h"

namespace tenon::passes {

// Whether every backend's kernels have room for the expression: its operands, literals and results.
bool hasRoom(const ops::ScalarExpr& expr, size_t inputs);

int fusePointwise(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
