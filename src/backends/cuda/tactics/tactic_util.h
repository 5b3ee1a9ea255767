// What the tactics of the CUDA backend share.
#pragma once

#include <string_view>
#include <vector>

#include "compile/tactics/tactic.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// Results channels-last, and the operands of 4 or 5 axes that are no constants.
compile::Candidate channelsLastCandidate(std::string_view tactic, const compile::Problem& problem);
// The operands as a kernel is given them, every one in kLinear.
struct LinearOperands {
  explicit LinearOperands(const compile::Problem& problem) {
    for (const auto& input : problem.inputs) inputs.push_back({input.dtype, input.dims, Layout::kLinear});
    for (const auto& output : problem.outputs) outputs.push_back({output.dtype, output.dims, Layout::kLinear});
    shapes = {inputs, outputs, &problem.symbols};
  }
  LinearOperands(const LinearOperands&) = delete;
  LinearOperands& operator=(const LinearOperands&) = delete;

  std::vector<runtime::TensorShape> inputs, outputs;
  runtime::Shapes shapes;
};

std::vector<DataType> inputTypes(const compile::Problem& problem);
// Whether tensor cores may compute it: operands of 16 bits, and f32 that may be rounded to TF32.
bool mayUseTensorCores(const compile::Problem& problem);
// Whether the tactic of that name supports the problem.
bool isTakenBy(std::string_view tactic, const compile::Problem& problem);

}  // namespace tenon::backends::cuda
