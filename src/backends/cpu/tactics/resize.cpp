// When the axis-by-axis resize can be used.
#include "ops/op/resize.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class ResizeTactic final : public SimpleTactic {
 public:
  ResizeTactic() : SimpleTactic("cpu.resize", true, 10) {}
  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Resize>() == nullptr) return compile::no("it resizes");
    const auto type = problem.inputs[0].dtype;
    if (type == DataType::kF16 || type == DataType::kBF16 || type == DataType::kI8 || type == DataType::kU8)
      return compile::yes();
    return onlyF32(problem);
  }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    if (problem.inputs[0].dtype != DataType::kF32) {  // halves and bytes row-major only
      result.resize(1);
      return result;
    }
    allowPitch(result);
    for (auto& candidate : result) {
      candidate.pitchedInputs = 0;
      if (problem.inputs[0].dims[1] != problem.outputs[0].dims[1]) candidate.pitchedOutputs = 0;
    }
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_resize() {
  static const ResizeTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
