// Outputs that are inputs updated in place.
#pragma once

#include <utility>
#include <vector>

#include "plan/program.h"

namespace tenon::runtime {

// Pairs of an output and the input whose memory it must be, as indices of the engine's inputs and outputs: results of
// cache updates whose cache is an input.
std::vector<std::pair<int, int>> aliasedIo(const plan::Program& program);

// The same of plugins' outputs: the plugin works in the input's memory where the caller gives both one address, and on
// a copy elsewhere. Inputs that something else reads are left out.
std::vector<std::pair<int, int>> sharedIo(const plan::Program& program);

}  // namespace tenon::runtime
