// When generated pointwise code can read operands that are slices of tensors.
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/pointwise/pointwise_form.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "ops/op/sliced_pointwise.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;

class SlicedPointwiseTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.sliced_pointwise"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::SlicedPointwise>();
    if (op == nullptr) return no("it computes pointwise operators of slices");
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    const size_t operands = problem.inputs.size() + problem.outputs.size();
    if (operands > kMaxOperands + 1) return no("{} operands; at most {} are supported", operands, kMaxOperands + 1);
    return {pointwiseUnsupported(op->expr, inputTypes(problem), problem.outputs[0].dtype)};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Candidate> result{compile::rowMajor(name(), problem)};
    const int rank = problem.outputs[0].dims.rank;
    if (rank == 4 || rank == 5) result.push_back(channelsLastCandidate(name(), problem));
    return result;
  }
  plan::KernelRecord build(const Problem& problem, const Candidate&) const override {
    auto types = inputTypes(problem);
    for (const auto& output : problem.outputs) types.push_back(output.dtype);
    return {"cuda", "sliced_pointwise", 1, problem.op.text(), FieldText<std::vector<DataType>>::write(types), -1};
  }
  std::vector<std::byte> nativeCode(const Problem& problem, const Candidate&,
                                    const plan::KernelRecord&) const override {
    const auto* op = problem.op.as<ops::SlicedPointwise>();
    std::vector<DataType> outputs;
    for (const auto& output : problem.outputs) outputs.push_back(output.dtype);
    const auto inputs = inputTypes(problem);
    return compile(pointwiseSource({op->expr, op->results, inputs, outputs}), computeCapability());
  }
  int rank(const Problem&, const Candidate& candidate) const override {
    return candidate.outputs[0] == Layout::kLinear ? 10 : 11;
  }
};

}  // namespace

const compile::Tactic& tactic_sliced_pointwise() {
  static const SlicedPointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
