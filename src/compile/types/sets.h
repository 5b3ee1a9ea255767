// The types that each node of a weakly typed network may compute in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compile/tactics/tactic.h"
#include "compile/types/options.h"
#include "core/log.h"
#include "graph/graph.h"

namespace tenon::compile {

// By node id: f32 where a node stays as it is, else f16 or bf16 in place of f32.
using NodeTypes = std::vector<DataType>;

// A node as it is with a half type in place of f32.
struct TypedNode {
  ops::Operator op;
  std::vector<ops::TensorType> inputs;
  std::vector<ops::TensorType> outputs;
};

// None where the operator does not take the type.
std::optional<TypedNode> inHalf(const graph::Graph& graph, const graph::Node& node, DataType half);

// The same bytes of values as a half, beyond the range its greatest value; infinities stay. With `keepRecipes` a
// recipe.
graph::ConstantPtr halfConstant(const graph::ConstantPtr& constant, DataType half, bool keepRecipes);

// Whether the device has a kernel for a node as it would be.
using KernelExists = std::function<bool(const graph::Node& node, const Problem& problem)>;

// Refers to all it is made of.
class TypeSets {
 public:
  TypeSets(const graph::Graph& graph, const TypeOptions& options, const SymbolValues& symbols,
           const KernelExists& hasKernel);

  const graph::Graph& graph() const noexcept { return graph_; }
  const TypeOptions& options() const noexcept { return options_; }
  const SymbolValues& symbols() const noexcept { return symbols_; }
  // Whether a value takes part: it is f32.
  bool isFree(graph::ValueId id) const { return graph_.value(id).type.dtype == DataType::kF32; }
  // Whether a node may compute in a half: it has f32 results, the operator keeps its accuracy there or the user demands
  // it, operator and device take it, and nobody watches its results.
  bool may(graph::NodeId id, DataType half) const { return refusal(id, half).empty(); }
  // Why it may not; empty: it may.
  const std::string& refusal(graph::NodeId id, DataType half) const;
  // What the user demands of a node: that of its layers, f32 where they disagree and one of them says so.
  std::optional<DataType> demand(graph::NodeId id) const;
  // Says which demands for halves `types` does not meet: Unsupported where they are to be obeyed, else a warning each.
  void reportUnmet(const NodeTypes& types, Log& log) const;

 private:
  std::string whyNot(const graph::Node& node, DataType half) const;
  std::optional<DataType> demandOf(const std::string& layer) const;

  const graph::Graph& graph_;
  const TypeOptions& options_;
  const SymbolValues& symbols_;
  const KernelExists& hasKernel_;
  mutable std::vector<std::optional<std::string>> refusals_[2];  // by node id, asked for once
};

// Contractions and gathers from constant tables compute in the preferred half, and what takes their results follows;
// with `demandedOnly`, for devices that gain nothing by halves, nothing but what the user demands.
NodeTypes typesByRule(const TypeSets& sets, bool demandedOnly);

}  // namespace tenon::compile
