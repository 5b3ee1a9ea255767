// Gathers from concatenations that no tensor holds.
#include "ops/op/concat_gather.h"

#include "backends/cuda/kernels/indexing/concat_gather_parameters.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class ConcatGatherTactic final : public OwnTacticOf<ops::ConcatGather> {
 public:
  ConcatGatherTactic() : OwnTacticOf("cuda.concat_gather", Formats::kAlsoChannelsLast, 10) {}

 protected:
  compile::Support acceptsOp(const ops::ConcatGather&, const compile::Problem& problem) const override {
    const size_t parts = problem.inputs.size() - 1;
    if (parts > kMostGatheredParts)
      return compile::no("{} tensors; at most {} are supported", parts, kMostGatheredParts);
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      if (i != ops::ConcatGather::kIndices && problem.inputs[i].constant != nullptr)
        return compile::no("tensor {} is a constant", i);
    }
    if (problem.outputs[0].dims.count() >= int64_t{1} << 31)
      return compile::no("more than 2^31 elements are not supported");
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_concat_gather() {
  static const ConcatGatherTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
