// When generated pointwise code can be used.
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;

class PointwiseTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.pointwise"; }
  int version() const override { return 3; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pointwise>();
    if (op == nullptr) return no("it computes pointwise operators");
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    return {pointwiseUnsupported(op->expr, inputTypes(problem), problem.outputs[0].dtype)};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Candidate> result{compile::rowMajor(name(), problem)};
    const int rank = problem.outputs[0].dims.rank;
    if (rank == 4 || rank == 5) result.push_back(channelsLastCandidate(name(), problem));
    // A cast and the change of format in one kernel, where cuda.turned_pointwise has no tiles.
    constexpr int64_t kFewChannels = 7;
    if (rank == 4 && problem.inputs.size() == 1 && problem.outputs[0].dims[1] <= kFewChannels) {
      result.push_back({std::string(name()), "", {Layout::kLinear}, {Layout::kChannelsLast}});
      result.push_back({std::string(name()), "", {Layout::kChannelsLast}, {Layout::kLinear}});
    }
    return result;
  }
  plan::KernelRecord build(const Problem& problem, const Candidate&) const override {
    auto types = inputTypes(problem);
    types.push_back(problem.outputs[0].dtype);
    return {"cuda", "pointwise", 3, problem.op.text(), FieldText<std::vector<DataType>>::write(types), -1};
  }
  std::vector<std::byte> nativeCode(const Problem& problem, const Candidate&,
                                    const plan::KernelRecord&) const override {
    const auto* op = problem.op.as<ops::Pointwise>();
    return compile(pointwiseSource(op->expr, inputTypes(problem), problem.outputs[0].dtype), computeCapability());
  }
  int rank(const Problem&, const Candidate& candidate) const override {
    return candidate.outputs[0] == Layout::kLinear ? 10 : 11;
  }
};

}  // namespace

const compile::Tactic& tactic_pointwise() {
  static const PointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
