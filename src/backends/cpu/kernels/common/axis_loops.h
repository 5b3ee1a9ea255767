// Loops over a tensor of which some axes are walked for each place of the others: reductions, softmax, running sums.
#pragma once

#include <vector>

#include "core/strided.h"

namespace tenon::backends::cpu {

struct AxisLoops {
  LoopSpace kept;     // operands: output, input
  LoopSpace reduced;  // operand: input
};

// `outStrides`: of the output, per axis of the input; those of axes in `isReduced` are not used.
inline AxisLoops splitAxes(const Dims& dims, const Strides& in, const std::vector<bool>& isReduced,
                           const std::vector<int64_t>& outStrides) {
  Dims keptDims;
  Dims reducedDims;
  Strides keptIn{}, keptOut{}, reducedIn{};
  for (int axis = 0; axis < dims.rank; ++axis) {
    const auto at = static_cast<size_t>(axis);
    if (isReduced[at]) {
      reducedIn[static_cast<size_t>(reducedDims.rank)] = in[at];
      reducedDims.push(dims[axis]);
    } else {
      keptIn[static_cast<size_t>(keptDims.rank)] = in[at];
      keptOut[static_cast<size_t>(keptDims.rank)] = outStrides[at];
      keptDims.push(dims[axis]);
    }
  }
  return {collapse(keptDims, {keptOut, keptIn}), collapse(reducedDims, {reducedIn})};
}

}  // namespace tenon::backends::cpu
