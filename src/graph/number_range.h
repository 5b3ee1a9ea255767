// What is known of the numbers that a value may hold, for the memory that shapes computed from it will need.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace tenon::graph {

// Integers between which all elements lie; nothing where no bound is known.
struct NumberRange {
  std::optional<Extent> low;
  std::optional<Extent> high;
};

// From what computes the value: clips, minima and maxima, comparisons, indices, counts, and what passes numbers on.
NumberRange numberRange(const Graph& graph, ValueId value);

}  // namespace tenon::graph
