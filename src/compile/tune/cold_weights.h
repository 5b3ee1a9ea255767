// Kernels of the host as they run within a network whose weights are more than the processor's caches hold: those of
// all other layers pass through them between two uses of a layer's own, which come from memory. What the layer in front
// has written is still there.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compile/tactics/tactic.h"
#include "graph/graph.h"

namespace tenon::compile {

// Whether a graph's constants are more than the last cache before memory.
bool weightsLeaveCaches(const graph::Graph& graph);

// Whether a problem has so many weights that their way from memory counts, but not so many that they drive themselves
// out between two runs.
bool hasColdWeights(const Problem& problem);

// Puts the caches into that state.
class ColdCaches {
 public:
  // Drives everything out, then reads the activations.
  void prepare(std::span<const std::span<const std::byte>> activations);

 private:
  std::vector<std::byte> other_;  // what is read in between
};

}  // namespace tenon::compile
