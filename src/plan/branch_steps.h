// Streams of a plan, and a program's steps as memory::branch() takes them.
#pragma once

#include <functional>
#include <vector>

#include "memory/branches.h"
#include "plan/program.h"

namespace tenon::plan {

constexpr int32_t kMaxAuxStreams = 31;

// Streams beside the caller's that independent steps may run on, and that places in the arena allow for; a fact of the plan.
int32_t auxStreams(const Plan& plan);  // UserError where that is no such number
void setAuxStreams(Plan& plan, int32_t count);

// Bytes within a space of memory that nothing outside of it overlaps.
struct Place {
  int32_t space = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// `tensorPlace` of tensors that are no constants, with the one whose memory a view is (or itself); `workspacePlace` by step.
std::vector<memory::BranchStep> branchSteps(const Program& program,
                                            const std::function<Place(int32_t tensor, int32_t base)>& tensorPlace,
                                            const std::function<Place(size_t step)>& workspacePlace);

}  // namespace tenon::plan
