// Independent steps of a program on streams of their own: how many pay, and what that asks of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace tenon::build {

// Streams beside the caller's: how many a build may use, and how many find work.
struct AuxStreams {
  int32_t most = 0;
  int32_t used = 0;
};

// Lets tensors live as long as steps beside their last use may run, on up to `streams.most`. Returns the last step during
// which each step's workspace is in use. Steps and lifetimes stand already, places do not.
std::vector<int32_t> spreadOverStreams(plan::Program& program, AuxStreams& streams);

}  // namespace tenon::build
