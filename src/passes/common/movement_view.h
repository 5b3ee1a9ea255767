// How a tensor is seen through reshapes, transposes and slices: which factors of the extents it is stored in make up
// each axis.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tenon::passes {

// Factors are numbered; extents of one have none. A split in three, [B,S,3*E] seen as its second part, has the factors
// B, S, 3 (of which one index is seen) and E.
class MovementView {
 public:
  struct Factor {
    Extent extent;
    std::optional<int64_t> index;  // only this one is seen
  };

  MovementView(const graph::Graph& graph, graph::ValueId value);  // the value as it is

  // From the source to what it is computed from: through a reshape, transpose or slice of whole factors. False, and
  // nothing changes, where anything else computes the source, or extents cannot be taken apart.
  bool stepBack(const graph::Graph& graph);
  // The same through the given node, which computes the source, whatever is demanded of the source.
  bool stepBackFrom(const graph::Graph& graph, graph::NodeId producer);
  // Another tensor of the source's shape takes its place.
  void replaceSource(graph::ValueId value) { source_ = value; }

  graph::ValueId source() const { return source_; }
  const std::vector<std::vector<int>>& axes() const { return axes_; }  // of what is seen; factors outermost first
  const Factor& factor(int id) const { return factors_[static_cast<size_t>(id)]; }
  Extent extent(const std::vector<int>& ids) const;
  std::vector<int> order() const;   // of what is seen
  std::vector<int> stored() const;  // all factors in the order of memory
  std::vector<int> seen() const;    // those without an index, in the order of memory
  bool isWhole() const { return seen().size() == stored().size(); }

  // The nodes that compute the tensor with its factors in this order and under this shape from the source.
  graph::ValueId build(graph::Patch& patch, const graph::Graph& graph, const std::vector<int>& order,
                       const Shape& shape, const std::string& name, std::span<const graph::NodeId> from) const;
  // How many transposes and nodes build() makes.
  struct Cost {
    int transposes = 0;
    int nodes = 0;
  };
  Cost cost(const graph::Graph& graph, const std::vector<int>& order, const Shape& shape) const;

 private:
  bool regroup(const Shape& shape);
  bool divide(std::vector<int>& line, size_t first, std::span<const Extent> extents, size_t count,
              std::vector<std::vector<int>>& groups);
  void split(int id, const Extent& outer, const Extent& inner);
  bool backThroughSlice(const Shape& whole, const Shape& start, const Shape& size);
  using Runs = std::vector<std::vector<int>>;  // factors that move together
  Runs longestRuns(const std::vector<int>& order) const;
  Runs wholeAxes(const std::vector<int>& order) const;
  Runs runs(const std::vector<int>& order, const Shape& before, const Shape& shape) const;
  Cost costOf(const Runs& runs, const Shape& before, const Shape& shape) const;
  Shape extentsOf(const Runs& runs) const;
  Runs asStored(Runs runs) const;

  graph::ValueId source_;
  std::vector<Factor> factors_;
  std::vector<std::vector<int>> axes_;    // of what is seen
  std::vector<std::vector<int>> stored_;  // of the source
};

}  // namespace tenon::passes
