// When the convolution of 8-bit integers can be used.
#include "ops/op/byte_convolution.h"
#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class ByteConvolutionTactic final : public SimpleTactic {
 public:
  ByteConvolutionTactic() : SimpleTactic("cpu.byte_convolution", true, 15) {}

  compile::Support supports(const compile::Problem& problem) const override {
    return problem.op.as<ops::ByteConvolution>() == nullptr ? compile::no("it computes byte_convolution")
                                                            : compile::yes();
  }

  // The image and the result row-major or channels-last, each as suits its neighbours; weights are packed from
  // row-major ones.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result;
    const int rank = problem.outputs[0].dims.rank;
    for (const Layout from : {Layout::kLinear, Layout::kChannelsLast}) {
      for (const Layout to : {Layout::kLinear, Layout::kChannelsLast}) {
        if ((rank < 4 || rank > 5) && (from != Layout::kLinear || to != Layout::kLinear)) continue;
        compile::Candidate candidate{std::string(name()), "", {}, {}};
        candidate.inputs.assign(problem.inputs.size(), Layout::kLinear);
        candidate.inputs[0] = problem.inputs[0].constant != nullptr ? Layout::kLinear : from;
        candidate.outputs = {to};
        result.push_back(std::move(candidate));
      }
    }
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_byte_convolution() {
  static const ByteConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
