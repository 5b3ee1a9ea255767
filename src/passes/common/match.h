// Small questions that several passes ask of a graph.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace tenon::passes {

// The operator that computes a value when it is a T, else null.
template <typename T>
const T* producerOp(const graph::Graph& graph, graph::ValueId value) {
  const graph::NodeId producer = graph.value(value).producer;
  return producer == graph::kNone ? nullptr : graph.node(producer).op.as<T>();
}

// The only use of a value that is no output and carries no demand of the user; nothing otherwise.
std::optional<graph::Use> onlyUse(const graph::Graph& graph, graph::ValueId value);

// The first of the uses when one node makes them all: x * sigmoid(x) reads x twice.
std::optional<graph::Use> onlyUser(const graph::Graph& graph, graph::ValueId value);

// Whether no element of a value can be below zero, as far as the nodes that compute it tell.
bool isNonNegative(const graph::Graph& graph, graph::ValueId value, int depth = 8);

// Whether a constant varies along one axis only of a tensor of the given shape, when broadcast to it (or not at all):
// its dims, aligned at the right, are 1 everywhere but at `axis`, where they are 1 or the extent.
bool variesAlong(const Dims& constant, const Shape& shape, int axis);

// The constant as a vector: rank 1, of 1 or `extent` elements. A reshape recipe.
graph::ConstantPtr asVector(const graph::ConstantPtr& constant);

}  // namespace tenon::passes
