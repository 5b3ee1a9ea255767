// Phases of a program: when its symbols and tensors are known.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/shape_binder.h"
#include "plan/program.h"

namespace tenon::plan {

struct ProgramPhases {
  std::vector<int32_t> ofSize;    // by Plan::sizes: the first phase that knows it
  std::vector<int32_t> ofTensor;  // the first one that knows where the tensor stands and how large it is
  int32_t count = 1;

  bool isOne() const noexcept { return count == 1; }
};

// The phase of a step; that of the number of steps is the last one.
int32_t phaseOf(const Program& program, int32_t step);
// Steps [first, last) of a phase.
std::pair<size_t, size_t> stepsOf(const Program& program, int32_t phase);

// Throws UserError where a size is read before it is computed, or a step or tensor would have to be ready before the
// sizes that it needs.
ProgramPhases phasesOf(const Plan& plan, const Program& program, const ops::ShapeBinder& shapes);

}  // namespace tenon::plan
