// Refines the choice of kernels in the whole engine: candidates that were nearly as fast by themselves replace the
// chosen ones in turn, and stay where the whole engine is faster.
#pragma once

#include "compile/assignment.h"
#include "compile/builder.h"
#include "compile/profiles.h"
#include "compile/schedule/placement.h"
#include "compile/tune/timing_cache.h"
#include "plan/program.h"

namespace tenon::compile {

// Whether that is done on this device, as options.wholeTrials and the level say.
bool finishesWithWhole(const runtime::Device& device, const BuildOptions& options);

// Changes choices of the assignment; formats and places stay. `facts` has io, symbols, target and the profiles. What is
// decided is in the cache afterwards, and a build that finds it there measures nothing.
void refine(const graph::Graph& graph, Assignment& assignment, const Placement& placement,
            const ProfileSymbols& symbols, const plan::Plan& facts, size_t profile, runtime::Device& device,
            OptionSource& source, TimingCache& cache, const BuildOptions& options);

}  // namespace tenon::compile
