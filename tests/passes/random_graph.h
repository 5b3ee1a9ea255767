// Random graphs over the whole range of operators, from a seed: what the passes and builds are tried on.
#pragma once

#include "graph/graph.h"

namespace tenon::passes {

// The same graph for the same seed, for ever within one revision. Inputs: x (f32, of four axes), and k (i32) in some.
graph::Graph randomGraph(uint64_t seed);

// The same of images and products some eight times as wide, for what works in tiles.
graph::Graph largeRandomGraph(uint64_t seed);

// The same of loops and conditionals, whose bodies are random graphs.
graph::Graph randomRegions(uint64_t seed);

}  // namespace tenon::passes
