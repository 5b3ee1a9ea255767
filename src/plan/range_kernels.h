// Which of a step's kernels runs at concrete extents: its own, or one that was chosen for others than its own was.
#pragma once

#include <cstdint>
#include <span>

#include "plan/program.h"

namespace tenon::plan {

constexpr int32_t kOwnKernel = -1;

// How much a step has to do: the elements of all its operands and results whose shapes have an open extent, INT64_MAX
// where there are more.
int64_t openElements(std::span<const Shape* const> shapes, const SymbolValues& values);
int64_t openElements(const Program& program, const Step& step, const SymbolValues& values);

// Position in Step::others, or kOwnKernel.
int32_t kernelFor(const Step& step, int64_t elements);

inline const KernelRecord& recordOf(const Step& step, int32_t which) {
  return which == kOwnKernel ? step.kernel : step.others[static_cast<size_t>(which)].kernel;
}

}  // namespace tenon::plan
