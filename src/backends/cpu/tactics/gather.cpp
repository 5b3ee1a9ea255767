// When rows can be gathered by copying.
#include "ops/op/gather.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class GatherTactic final : public SimpleTactic {
 public:
  GatherTactic() : SimpleTactic("cpu.gather", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Gather>();
    if (op == nullptr) return compile::no("it computes gather");
    if (op->mode != ops::GatherMode::kDefault || op->batchDims != 0)
      return compile::no("only gather along one axis without batch axes is supported");
    if (bits(problem.inputs[0].dtype) < 8)
      return compile::no("elements of {} bits are not supported", bits(problem.inputs[0].dtype));
    return compile::yes();
  }

  // Along the channels of images both formats do; the indices stay a row.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    const auto* op = problem.op.as<ops::Gather>();
    const int rank = problem.inputs[0].dims.rank;
    const bool alongChannels = op->axis == 1 || op->axis == 1 - rank;
    if (rank >= 4 && rank <= 5 && alongChannels && problem.inputs[1].dims.rank == 1) {
      result.push_back({std::string(name()), "", {Layout::kChannelsLast, Layout::kLinear}, {Layout::kChannelsLast}});
    }
    allowPitch(result);
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_gather() {
  static const GatherTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
