// Writes the types that were chosen into a graph.
#pragma once

#include "compile/types/sets.h"

namespace tenon::compile {

// The same graph with nodes in the types of `types` and casts between. Network inputs and outputs, integers and truth
// values keep their types. What is beyond the range of f16 becomes its greatest value, never an infinity. With
// `keepRecipes` constants stay recipes over the weights they were made from.
graph::Graph lowerPrecision(const graph::Graph& graph, const TypeOptions& options, const NodeTypes& types,
                            bool keepRecipes);

}  // namespace tenon::compile
