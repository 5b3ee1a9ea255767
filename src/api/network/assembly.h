// The network as one graph: layers in order, loops and conditionals as one node each, whose regions are made here.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "api/network/membership.h"
#include "api/network/network.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"

namespace tenon::api {

class Assembly {
 public:
  Assembly(const Network& network, const FixedSymbols& fixed);
  graph::Graph run();

 private:
  using Values = std::unordered_map<const Tensor*, graph::ValueId>;
  // What is being lowered: the network, the body of a loop, or a branch.
  struct Scope {
    graph::Graph graph;
    const Construct* construct = nullptr;  // null: the network
    Scope* outer = nullptr;
    Values values;
    // Values of the outer graph that are read here: inputs of this graph, and what they stand for.
    std::vector<std::pair<graph::ValueId, graph::ValueId>> captured;
  };

  // A loop on its way to a node: values of its body, and of the graph around it.
  struct LoopParts {
    Scope& body;
    const std::vector<graph::ValueId>&states, &initials, &nexts, &slices, &sliced;
    const std::vector<ops::LoopAxis>& axes;
    const std::vector<graph::ValueId>&inner, &outer, &tests, &counts;
  };

  void addInputs(Scope& scope) const;
  // The layers that run directly in the scope; of those only `wanted`, where that is given.
  void lowerLayers(Scope& scope, const std::unordered_set<const LayerBase*>* wanted = nullptr);
  static void checkDepth(const Scope& scope, const Construct& construct);
  void lowerConstruct(Scope& scope, const Construct& construct);
  void lowerLoop(Scope& scope, const Construct& construct);
  struct Trips {
    graph::ValueId number;
    Extent trips;
  };
  Trips countTrips(Scope& scope, const Construct& construct, const LoopParts& parts);
  void lowerConditional(Scope& scope, const Construct& construct);
  void lowerBranch(Scope& branch, int input, std::vector<graph::ValueId>& results);
  std::vector<std::string> lowerBranches(Scope (&branches)[2], std::vector<graph::ValueId> (&results)[2]);
  std::vector<ops::ResultExtents> resultExtents(Scope& scope, const Construct& construct, Scope (&branches)[2],
                                                const std::vector<graph::ValueId> (&results)[2],
                                                const std::vector<graph::ValueId>& operands,
                                                const std::vector<graph::ValueId> (&inputs)[2]);
  // An input of the graph of a region.
  static graph::ValueId addOperand(graph::Graph& graph, ops::TensorType type) {
    return graph.addInput(fmt::format("{} operand {}", graph.name(), graph.inputs().size()), std::move(type));
  }
  // The tensor in the scope: taken in from outside where it is computed there.
  graph::ValueId valueOf(Scope& scope, const LayerBase& reader, const Tensor* tensor);
  static void settleSizes(Scope& region);
  std::vector<const LayerBase*> boundary(const Construct& construct, BoundaryRole role) const;
  std::vector<std::string> originsOf(const Construct& construct) const;
  // The layer's results under the names, marks and types that the user gave.
  void place(Scope& scope, const LayerBase& layer, const std::vector<graph::ValueId>& results);
  void checkWithin() const;

  const Network& network_;
  const FixedSymbols& fixed_;
  std::vector<const LayerBase*> order_;
  Membership membership_;
};

}  // namespace tenon::api
