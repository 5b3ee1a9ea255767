// Half precision in networks that leave it to the builder: which values are kept in f16 or bf16.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "compile/tactics/tactic.h"
#include "core/log.h"
#include "graph/graph.h"

namespace tenon::compile {

struct PrecisionOptions {
  std::optional<DataType> half;  // f16 or bf16; nothing: every type stays
  // What the user demands of layers, by name: f32 keeps a layer as it is, the half type computes in it whatever is
  // around.
  std::map<std::string, DataType, std::less<>> layers;
  bool keepRecipes = false;  // constants stay recipes over the weights they were made from
  bool obey = false;         // a demand for the half type that cannot be met is Unsupported, else one line of the log
  Log* log = nullptr;        // required where `half` is set and layers demand it
};

// The same graph with nodes in the half type and casts between: contractions, gathers from constant tables, and what
// takes their results, as long as the operator keeps its accuracy there and `supported` says that the device has it.
// Network inputs and outputs, values with demands of the user, integers and truth values keep their types; so do
// powers, exponentials and sums, whose results a half may not hold. What is beyond the range of f16 becomes its
// greatest value, never an infinity.
graph::Graph lowerPrecision(const graph::Graph& graph, const PrecisionOptions& options, const SymbolValues& symbols,
                            const std::function<bool(const graph::Node& node, const Problem& problem)>& supported);

}  // namespace tenon::compile
