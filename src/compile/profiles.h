// Optimization profiles as values of symbols: what shapes to tune for and what bounds to plan memory for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/extent.h"
#include "graph/graph.h"
#include "plan/program.h"

namespace tenon::compile {

struct ProfileSymbols {
  SymbolValues min;  // every symbol of an input at its lower bound
  SymbolValues opt;
  SymbolValues max;  // every symbol of an input at its upper bound
  SymbolIntervals bounds;
  std::vector<Interval> shapeBounds;  // of the symbols that the graph's shape program computes, in its order
};

// Binds every symbol of the graph's inputs. UserError naming the input, the axis and the values when the profile lacks
// an input, contradicts the network's extents, is negative or empty (min > max, opt outside). Symbols that the shape
// program computes are evaluated there too; their bounds are what all shapes of the profile lead to where these are
// few, else what corners, edges and a sample do. The runtime holds each shape against them. Sizes that the device
// computes have the values that their nodes expect, and at max their bounds.
ProfileSymbols bindProfile(const graph::Graph& graph, const std::map<std::string, plan::InputRange>& profile);

}  // namespace tenon::compile
