// Pointwise chains that scale and shift by constants along one axis, as one scale and one shift.
#pragma once

#include <span>

#include "graph/graph.h"
#include "ops/scalar.h"

namespace tenon::passes {

// scale * x + shift, as constants of rank 0 or 1 with one element or one for each index of the axis; null scale is 1,
// null shift 0.
struct Affine {
  graph::ConstantPtr scale;
  graph::ConstantPtr shift;

  void multiply(const graph::ConstantPtr& by);
  void add(const graph::ConstantPtr& by);
};

// How many of a pointwise node's first instructions form a chain that is affine in its input `running` with constants
// along `axis`; `affine` becomes what the chain is.
size_t readAffine(const graph::Graph& graph, const graph::Node& node, graph::ValueId running, int axis, Affine& affine);
// The same of an expression over these inputs, whose result has this type.
size_t readAffine(const graph::Graph& graph, const ops::ScalarExpr& expr, std::span<const graph::ValueId> inputs,
                  const ops::TensorType& type, graph::ValueId running, int axis, Affine& affine);

// Whether instructions from `first` on read a result of the chain before its last, or the chain's own input.
bool looksInside(const ops::ScalarExpr& expr, size_t first, std::span<const graph::ValueId> inputs,
                 graph::ValueId running);

graph::ConstantPtr combineConstants(ops::ScalarOp op, const graph::ConstantPtr& a, const graph::ConstantPtr& b);

// The vector laid along one axis of a tensor of the given rank.
graph::ConstantPtr laidAlong(const graph::ConstantPtr& vector, int axis, int rank);

// A scalar or one-element vector stretched to a vector of `count`.
graph::ConstantPtr stretchedTo(const graph::ConstantPtr& vector, int64_t count, DataType type);

}  // namespace tenon::passes
