// Pictures whose pixels are rows of a tensor, by the movement between the two.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace tenon::passes {

// Whether all that is made of a picture are rows, one for each pixel: [N,K,H,W] -> [N,K,H*W] -> [N,H*W,K].
bool becomesRows(const graph::Graph& graph, graph::ValueId picture);

// The rows that a picture is made of: [N,H*W,C] -> [N,C,H*W] -> [N,C,H,W].
std::optional<graph::ValueId> pixelRowsOf(const graph::Graph& graph, graph::ValueId picture);

}  // namespace tenon::passes
