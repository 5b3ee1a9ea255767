// Independent steps of a program on streams of their own: how many pay, and what that asks of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace tenon::compile {

// Lets tensors live as long as steps beside their last use may run, on up to `most` streams beside the caller's; the
// program says how many find work. Returns the last step during which each step's workspace is in use. Steps and
// lifetimes stand already, places do not.
std::vector<int32_t> spreadOverStreams(plan::Program& program, int32_t most);

}  // namespace tenon::compile
