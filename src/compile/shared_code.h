// Which candidates are worth compiling: kernels that several problems of a network can use cost one compilation.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compile/proposals.h"

namespace tenon::compile {

// Whether tactics put their best candidates for a problem first. For convolutions they do not know them well enough:
// the fastest of the first four takes 13 % longer in the mean than that of all, so nothing of those is left out.
bool ordersWell(const Problem& problem);

// Keeps of each tactic's candidates for a problem the first ones, which it holds for the best, and of the others those
// whose code the first ones of any of these problems, or of those before, need as well. `wanted`: such code, which
// grows. Returns by problem the candidates that were left out. What timing caches hold makes no difference.
std::vector<std::set<std::string>> leaveOutUnshared(std::span<Proposals* const> problems, std::set<uint64_t>& wanted);

}  // namespace tenon::compile
