// Transposes as passes see them that move what is behind one in front of it.
#pragma once

#include "graph/graph.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {

// The transpose that computes a value of which the user demands nothing, or null.
const ops::Transpose* transposeBehind(const graph::Graph& graph, graph::ValueId value);

// A slice seen through the transpose in front of it.
ops::Slice slicedBack(const ops::Slice& slice, const std::vector<int64_t>& permutation);

}  // namespace tenon::passes
