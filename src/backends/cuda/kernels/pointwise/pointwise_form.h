// Generated pointwise code with any number of outputs.
#pragma once

#include <span>
#include <string>

#include "backends/cuda/kernels/pointwise/pointwise_code.h"

namespace tenon::backends::cuda {

// Output i is the result of instruction results[i]; no results: one output, of the last instruction. The operands of a
// kernel are the outputs, then the inputs: kMaxOperands + 1 in all.
struct PointwiseForm {
  const ops::ScalarExpr& expr;
  std::span<const int64_t> results;
  std::span<const DataType> inputs;
  std::span<const DataType> outputs;
};

// Elements that one thread of the packed kernel computes: as many as 16 bytes hold of the widest operand.
int pointwisePack(const PointwiseForm& form);

// The kernels that pointwiseSource() of pointwise_code.h names.
std::string pointwiseSource(const PointwiseForm& form);

}  // namespace tenon::backends::cuda
