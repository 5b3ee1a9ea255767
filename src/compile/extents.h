// What the extents of a network come to at the shapes of its profiles, checked before work is spent on them.
#pragma once

#include <span>

#include "compile/profiles.h"
#include "runtime/device.h"

namespace tenon::compile {

// Every value at the min, opt and max shapes of each profile: its extents are not negative and its bytes can be
// addressed, and each operator takes its inputs at these extents. Throws UserError naming the layer, the extents, the
// profile and which of its shapes, and what to change.
void checkExtents(const graph::Graph& graph, std::span<const ProfileSymbols> profiles);

// The operands and results of each node at the opt shapes, for which kernels are tried, fit into the device's memory,
// and those at the max shapes into twice that. For a graph that was optimized: what kernels keep to themselves no
// longer stands in it.
void checkMemory(const graph::Graph& graph, std::span<const ProfileSymbols> profiles, const runtime::Device& device);

}  // namespace tenon::compile
