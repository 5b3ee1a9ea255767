// Outputs that are inputs updated in place.
#pragma once

#include <utility>
#include <vector>

#include "plan/program.h"

namespace tenon::runtime {

// Pairs of an output and the input whose memory it must be, as indices of the engine's inputs and outputs: results of
// cache updates whose cache is an input.
std::vector<std::pair<int, int>> aliasedIo(const plan::Program& program);

}  // namespace tenon::runtime
