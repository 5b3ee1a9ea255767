// A program's steps as memory::branch() takes them.
#pragma once

#include <functional>
#include <vector>

#include "memory/branches.h"
#include "plan/program.h"

namespace tenon::plan {

// Bytes within a space of memory that nothing outside of it overlaps.
struct Place {
  int32_t space = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// `tensorPlace` of tensors that are no constants, with the one whose memory a view is (or itself); `workspacePlace` by
// step.
std::vector<memory::BranchStep> branchSteps(const Program& program,
                                            const std::function<Place(int32_t tensor, int32_t base)>& tensorPlace,
                                            const std::function<Place(size_t step)>& workspacePlace);

}  // namespace tenon::plan
