// Fusion that is measured: composites replace nodes where that is faster.
#pragma once

#include <memory>
#include <span>

#include "compile/assignment.h"

namespace tenon::compile {

// Nodes become one where the device has a kernel for it that is clearly faster, each by its fastest candidate in
// whichever formats. Not where a filter chooses candidates: it is asked about the network's own nodes alone.
// Other threads may still make candidates ready; they read what is returned, which stays until all options are known,
// or to OptionSource::abandon().
std::shared_ptr<const void> joinNodes(graph::Graph& graph, const SymbolValues& symbols, const runtime::Device& device,
                                      OptionSource& source, const BuildOptions& options);

// Whether nodes that a join made are so much faster than what they stand for that a network gains by them: seconds of
// all together.
bool isClearlyFaster(const graph::Graph& graph, std::span<const graph::NodeId> made, bool onHost, double together,
                     double apart);

}  // namespace tenon::compile
