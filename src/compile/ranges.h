// Tactic ranges: another kernel for the steps of a program with open extents, where these are far from the opt shapes.
#pragma once

#include "compile/assignment.h"
#include "compile/profiles.h"
#include "compile/schedule/placement.h"
#include "plan/program.h"

namespace tenon::compile {

// Kernels are chosen for the opt shapes of a profile. At its min and max shapes the choices are measured, too, and the
// most expensive ones beside others in their formats, which read the same packed constants; one that is clearly faster
// becomes Assignment::others, for the extents on its side of the place where both take as long. `facts`: the plan
// without programs.
void chooseRanges(const graph::Graph& graph, Assignment& assignment, const Placement& placement,
                  const ProfileSymbols& symbols, const plan::Plan& facts, size_t profile, const runtime::Device& device,
                  OptionSource& source, const BuildOptions& options);

}  // namespace tenon::compile
