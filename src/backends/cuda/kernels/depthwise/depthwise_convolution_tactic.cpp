// Depthwise convolution of channels-last tensors in packs of channels: a candidate per tile that may be the fastest.
#include "backends/cuda/kernels/depthwise/depthwise_forms.h"
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kVersion = 5;  // as depthwise_convolution_launch.cpp says

class DepthwiseTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  DepthwiseTactic() : OwnTacticOf("cuda.depthwise_convolution", Formats::kAlsoChannelsLast, kDepthwiseRank) {}
  int version() const override { return kVersion; }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result;
    const auto add = [&](std::string variant) {
      result.push_back(channelsLastCandidate(name(), problem));
      result.back().variant = std::move(variant);
    };
    add("");
    if (!problem.symbols.empty()) return result;  // a tile for each shape
    const auto choices = choicesOf(problem);
    for (size_t i = 1; i < choices.size(); ++i) add(choices[i].text());
    if (!choices.empty()) add("any");
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    record.version = kVersion;
    const auto& w = problem.inputs[1].dims;
    record.params = fmt::format("{}:{}{}", w[2] == w[3] ? w[2] : 0, candidate.variant, record.params);
    return record;
  }
  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    return OwnTactic::rank(problem, candidate) + (candidate.variant.empty() ? 0 : 1);
  }

 protected:
  compile::Support acceptsOp(const ops::Convolution& op, const compile::Problem& problem) const override {
    const auto& x = problem.inputs[0];
    const auto& w = problem.inputs[1];
    const int64_t pack = bits(x.dtype) == 16 ? 8 : 4;
    if (!isFloating(x.dtype) || bits(x.dtype) < 16) return compile::no("operands of {}", tenon::name(x.dtype));
    if (x.dims.rank != 4) return compile::no("{} spatial dimensions; only 2 are supported", x.dims.rank - 2);
    if (op.groups != x.dims[1] || op.groups != w.dims[0])
      return compile::no("{} groups of {} input and {} output channels; expected one channel per group", op.groups,
                         x.dims[1], w.dims[0]);
    if (x.dims[1] % pack != 0) return compile::no("{} channels are not a multiple of {}", x.dims[1], pack);
    if (w.constant == nullptr) return compile::no("the weights are not constant");
    return {directUnsupported(op.epilogue, inputTypes(problem), op.hasBias ? 3 : 2)};
  }

 private:
  static std::vector<DepthwiseChoice> choicesOf(const compile::Problem& problem) {
    constexpr size_t kMostTiles = 6;
    const auto& op = *problem.op.as<ops::Convolution>();
    const auto candidate = channelsLastCandidate("", problem);
    std::vector<runtime::TensorShape> inputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i)
      inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
    const std::vector<runtime::TensorShape> outputs{
        {problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]}};
    const auto& y = problem.outputs[0].dims;
    if (y.count() == 0) return {};
    WindowLaunch parameters;
    parameters.set(op, {inputs, outputs, &problem.symbols}, outputs[0], inputs[0]);
    if (!worksDownRows(parameters)) return {};
    const ElementBytes bytes{bits(problem.inputs[0].dtype) / 8, bits(problem.outputs[0].dtype) / 8};
    return depthwiseChoices(parameters, y[0], bytes, kMostTiles);
  }
};

}  // namespace

const compile::Tactic& tactic_depthwise_convolution() {
  static const DepthwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
