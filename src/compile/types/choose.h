// The types of a weakly typed network's values: the rule, or what is fastest on the device.
#pragma once

#include "compile/assignment.h"
#include "compile/types/cheapest.h"

namespace tenon::compile {

// Whether a build measures types: at optimization levels 4 and 5, where halves are permitted and the device computes in
// them, and nothing restricts the candidates.
bool measuresTypes(const BuildOptions& options, const runtime::Device& device);

// The times of all nodes that may be in `half`, and of casts around them, from the kernels the device would use.
TypeTimes measureTypes(const TypeSets& sets, DataType half, OptionSource& source, const BuildOptions& options);

// The types, with their reasons in the log. Throws Unsupported for demands that are to be obeyed and cannot be.
NodeTypes chooseTypes(const TypeSets& sets, OptionSource& source, const BuildOptions& options,
                      const runtime::Device& device);

// The graph in the types that were chosen.
graph::Graph inChosenTypes(const graph::Graph& graph, const BuildOptions& options, const runtime::Device& device,
                           const SymbolValues& symbols, OptionSource& source);

}  // namespace tenon::compile
