// What the tactics of kernels made of tiles share.
#pragma once

#include <algorithm>

#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/scalar.h"

namespace tenon::backends::cpu {

// The kernels compute epilogues in f32 alone: a cast to another type and back would change nothing there.
inline compile::Support staysF32(const ops::ScalarExpr& epilogue) {
  for (const auto& instruction : epilogue.instructions) {
    if (instruction.op == ops::ScalarOp::k_cast && instruction.castTo != DataType::kF32)
      return compile::no("the epilogue casts to {}; only f32 is supported", name(instruction.castTo));
  }
  return compile::yes();
}

// Whether every operand of the epilogue, from input `firstExtra` on, is as large as the result, one value per entry of
// axis `columnAxis`, or one value; and whether the expression is short enough for a tile's buffers.
inline compile::Support tileEpilogueFits(const compile::Problem& problem, const ops::ScalarExpr& expr,
                                         size_t firstExtra, int columnAxis) {
  if (const auto support = staysF32(expr); !support) return support;
  const auto& y = problem.outputs[0].dims;
  for (size_t i = firstExtra; i < problem.inputs.size(); ++i) {
    const auto& x = problem.inputs[i].dims;
    if (x.count() == 1) continue;
    if (x == y) {
      // Constants come row-major, a tile of an image reads channels-last.
      if (problem.inputs[i].constant == nullptr || columnAxis == y.rank - 1) continue;
      if (x.count() != y[columnAxis])
        return compile::no("an operand of the epilogue is a constant of the size of the result");
    }
    const int shift = y.rank - x.rank;
    for (int axis = 0; axis < x.rank; ++axis) {
      if (x[axis] != (axis + shift == columnAxis ? y[columnAxis] : 1))
        return compile::no("an epilogue operand of shape {} for a result {}", x.text(), y.text());
    }
  }
  size_t buffers = 1 + problem.inputs.size() - firstExtra;
  for (const auto& instruction : expr.instructions) buffers += static_cast<size_t>(row(instruction.op).arity);
  constexpr size_t kBuffers = 24;
  if (buffers > kBuffers)
    return compile::no("an epilogue of {} operands and results; at most {} are supported", buffers, kBuffers);
  return compile::yes();
}

// A tile reads its part of a matrix of the epilogue before it writes there, and no other tile touches it.
inline void allowOverwriting(const compile::Problem& problem, size_t firstExtra,
                             std::vector<compile::Candidate>& candidates) {
  for (auto& candidate : candidates) {
    for (size_t i = firstExtra; i < std::min<size_t>(problem.inputs.size(), 64); ++i) {
      const bool alike =
          problem.inputs[i].dims == problem.outputs[0].dims && candidate.inputs[i] == candidate.outputs[0];
      if (alike && problem.inputs[i].constant == nullptr) candidate.overwritten |= uint64_t{1} << i;
    }
  }
}

}  // namespace tenon::backends::cpu
