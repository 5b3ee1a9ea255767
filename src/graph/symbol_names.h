// Names for symbols that a graph does not have yet.
#pragma once

#include <string>

namespace tenon::graph {

class Graph;

// `wanted`, maybe with a number behind it, so that no "name[0]" and no "name[0].size" is a symbol of the graph. Symbols
// that end in ] may be negative, others count as extents.
std::string freeSymbolName(const Graph& graph, const std::string& wanted);

}  // namespace tenon::graph
