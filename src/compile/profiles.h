// Optimization profiles as values of symbols: what shapes to tune for and what bounds to plan memory for.
#pragma once

#include <map>
#include <string>

#include "core/extent.h"
#include "graph/graph.h"
#include "plan/program.h"

namespace tenon::compile {

struct ProfileSymbols {
  SymbolValues min;  // every symbol at its lower bound
  SymbolValues opt;
  SymbolValues max;  // every symbol at its upper bound
  SymbolIntervals bounds;
};

// Binds every symbol of the graph's inputs. UserError naming the input, the axis and the values when the profile lacks
// an input, contradicts the network's extents, is negative or empty (min > max, opt outside).
ProfileSymbols bindProfile(const graph::Graph& graph, const std::map<std::string, plan::InputRange>& profile);

}  // namespace tenon::compile
