// When generated pointwise code can read an operand whose halves have changed places.
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "ops/op/swapped_pointwise.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;

class SwappedPointwiseTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.swapped_pointwise"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::SwappedPointwise>();
    if (op == nullptr) return no("it computes pointwise operators of an operand with swapped halves");
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    const int rank = problem.outputs[0].dims.rank;
    if (rank >= kMaxRank) return no("{} axes; at most {} are supported", rank, kMaxRank - 1);
    return {pointwiseUnsupported(op->expr, inputTypes(problem), problem.outputs[0].dtype)};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    return {compile::rowMajor(name(), problem)};
  }
  plan::KernelRecord build(const Problem& problem, const Candidate&) const override {
    auto types = inputTypes(problem);
    types.push_back(problem.outputs[0].dtype);
    return {"cuda", "swapped_pointwise", 1, problem.op.text(), FieldText<std::vector<DataType>>::write(types), -1};
  }
  std::vector<std::byte> nativeCode(const Problem& problem, const Candidate&,
                                    const plan::KernelRecord&) const override {
    const auto* op = problem.op.as<ops::SwappedPointwise>();
    return compile(pointwiseSource(op->expr, inputTypes(problem), problem.outputs[0].dtype), computeCapability());
  }
  int rank(const Problem&, const Candidate&) const override { return 10; }
};

}  // namespace

const compile::Tactic& tactic_swapped_pointwise() {
  static const SwappedPointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
