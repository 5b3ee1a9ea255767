// Problems whose extents are the same whenever their kernels run.
#pragma once

#include <algorithm>

#include "compile/tactics/tactic.h"

namespace tenon::backends::cuda {

// Nothing in the whole network has an open extent: nodes with the same problem share their kernels, of which one may
// have.
inline bool hasFixedExtents(const compile::Problem& problem) {
  const auto isFixed = [](const compile::TensorDesc& tensor) { return tensor.openAxes == 0; };
  return problem.symbols.empty() && std::all_of(problem.inputs.begin(), problem.inputs.end(), isFixed) &&
         std::all_of(problem.outputs.begin(), problem.outputs.end(), isFixed);
}

}  // namespace tenon::backends::cuda
