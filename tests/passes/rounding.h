// How far apart results may be that differ in rounding alone: a graph evaluated with every result a little off.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tenon::passes {

// Whether a node gives the same bits however it is computed, given the same bits: it moves, compares, counts or rounds.
bool isExactNode(const graph::Graph& graph, const graph::Node& node);

// The outputs when each value of a floating type, but for those that are computed exactly, is off by up to one unit of
// its last place, at random.
// `narrow`: a type that values of f32 may have been computed in, inputs and constants among them.
std::vector<HostTensor> evaluateWithNoise(const graph::Graph& graph, std::span<const TensorView> inputs, uint64_t seed,
                                          DataType narrow = DataType::kF32);

// A unit of the last place of the narrowest floating type that the graph computes in.
double narrowestUnit(const graph::Graph& graph, DataType narrow = DataType::kF32);

// Largest relative error of an output under such noise, so many times over; what a comparison may be off by is a
// multiple.
std::vector<double> noiseOfOutputs(const graph::Graph& graph, std::span<const TensorView> inputs,
                                   const std::vector<HostTensor>& expected, uint64_t times = 4,
                                   DataType narrow = DataType::kF32);

}  // namespace tenon::passes
