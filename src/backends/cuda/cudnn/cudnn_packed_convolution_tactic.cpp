// First convolutions of half networks, of images of up to four channels: packed into blocks, then through cuDNN.
#include "backends/cuda/cudnn/packed_convolution.h"
#include "backends/cuda/tactics/cudnn_window_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;

constexpr size_t kMost = 4;

// The convolution of blocks as a problem of its own.
struct PackedProblem {
  explicit PackedProblem(const Problem& from, const ops::Convolution& convolution)
      : packed(make(from, convolution)),
        op(packed.op),
        problem{op, from.inputs, from.outputs, from.symbols, from.tf32} {
    problem.inputs[0].dims = packed.x;
    problem.inputs[1].dims = packed.w;
  }
  PackedProblem(const PackedProblem&) = delete;
  PackedProblem& operator=(const PackedProblem&) = delete;

  PackedConvolution packed;
  ops::Operator op;
  Problem problem;

 private:
  static PackedConvolution make(const Problem& from, const ops::Convolution& convolution) {
    std::vector<runtime::TensorShape> inputs, outputs;
    for (const auto& input : from.inputs) inputs.push_back({input.dtype, input.dims, Layout::kLinear});
    for (const auto& output : from.outputs) outputs.push_back({output.dtype, output.dims, Layout::kLinear});
    return {convolution, {inputs, outputs, &from.symbols}};
  }
};

class PackedTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.cudnn_packed_convolution"; }
  int version() const override { return 1'000'000 + dnn::library().version; }

  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return no("it computes convolutions");
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    if (bits(problem.inputs[0].dtype) != 16 || !isFloating(problem.inputs[0].dtype))
      return no("operands of {}", tenon::name(problem.inputs[0].dtype));
    if (problem.inputs[1].constant == nullptr) return no("the weights are not constant");
    const PackedProblem blocks(problem, *op);
    if (!blocks.packed.refusal.empty()) return no("{}", blocks.packed.refusal);
    // At batch 128 (H200) the best of four engines took 2.5 and 3.6 times as long.
    if (problem.more == 0 && isTakenBy("cuda.image_convolution", problem))
      return no("cuda.image_convolution is faster");
    return windowSupport(dnn::windowOp(blocks.packed.op), blocks.problem);
  }

  // Of those that cuDNN proposes for blocks, the ones with the whole epilogue inside; the image as it lies.
  std::vector<Candidate> candidates(const Problem& problem) const override {
    const PackedProblem blocks(problem, *problem.op.as<ops::Convolution>());
    std::vector<Candidate> result;
    for (auto& candidate : windowCandidates(name(), dnn::windowOp(blocks.op), blocks.problem)) {
      if (result.size() == kMost) break;
      if (candidate.outputs[0] != Layout::kChannelsLast ||
          dnn::Choice::parse(candidate.variant).fusion != dnn::Fusion::kWhole)
        continue;
      candidate.inputs[0] = Layout::kLinear;
      result.push_back(std::move(candidate));
    }
    return result;
  }

  void prepare(const Problem& problem, std::span<const Candidate> candidates) const override {
    const PackedProblem blocks(problem, *problem.op.as<ops::Convolution>());
    prepareWindow(dnn::windowOp(blocks.op), blocks.problem, candidates);
  }

  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    const PackedProblem blocks(problem, *problem.op.as<ops::Convolution>());
    const auto& block = blocks.packed.block;
    return {"cuda",
            "cudnn_packed_convolution",
            1,
            problem.op.text(),
            fmt::format("{},{},{};{}", problem.inputs[0].dims[1], block[0], block[1], candidate.variant),
            -1};
  }

  std::vector<std::byte> nativeCode(const Problem&, const Candidate&, const plan::KernelRecord& record) const override {
    return ownCode(record);
  }

  // Where nothing is measured, behind cuDNN's convolution of the image as it is.
  int rank(const Problem&, const Candidate&) const override { return 12; }
};

}  // namespace

const compile::Tactic& tactic_cudnn_packed_convolution() {
  static const PackedTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
