// What the chosen kernels need at the shapes of a profile, and whether they take these shapes at all.
#pragma once

#include <string>
#include <vector>

#include "compile/assignment.h"
#include "compile/profiles.h"
#include "compile/schedule/placement.h"

namespace tenon::compile {

struct KernelNeeds {
  uint64_t workspaceBytes = 0;  // the most at the min, opt and max shapes
  std::string
      implementation;   // of its library, at the opt shapes, for which it was measured; empty: there is no choice
  std::string refused;  // "min", "opt" or "max": shapes that it does not take; empty: it takes all
  std::string refusal;  // and why
};

// By node. Kernels are loaded for that, alike ones once.
std::vector<KernelNeeds> askKernels(const graph::Graph& graph, const Assignment& assignment, const Placement& placement,
                                    const ProfileSymbols& symbols, Log& log);

// Extents and what they are called in a refusal.
struct NamedExtents {
  std::string_view name;
  const SymbolValues* values;
};

// Of an option in the place of a node's choice, at some extents; the first are those that it was measured at.
KernelNeeds askKernel(const graph::Graph& graph, const Assignment& assignment, graph::NodeId id, const Option& option,
                      std::span<const NamedExtents> at, Log& log);

}  // namespace tenon::compile
