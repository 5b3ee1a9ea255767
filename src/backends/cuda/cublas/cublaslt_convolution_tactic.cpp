// Pointwise (1x1) convolutions of channels-last tensors as matmuls, with the epilogues that cuBLASLt has.
#include "backends/cuda/cublas/blas_first_use.h"
#include "backends/cuda/cublas/point_convolution.h"
#include "backends/cuda/tactics/tactic_util.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;
using compile::yes;

constexpr int kMost = 8;

// The problem's operands as they lie where they may be channels-last.
class Matrices {
 public:
  Matrices(const ops::Convolution& op, const Problem& problem) : point_(op, shapesOf(problem)) {}
  const PointConvolution& point() const { return point_; }
  runtime::Shapes shapes() const { return point_.shapes(nullptr); }
  std::optional<BlasEpilogue> epilogue() const {
    return matchEpilogue(point_.product.epilogue, shapes().inputs.subspan(2), point_.outputs[0].dims);
  }

 private:
  runtime::Shapes shapesOf(const Problem& problem) {
    const auto candidate = channelsLastCandidate("", problem);
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      inputs_.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
    }
    outputs_ = {{problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]}};
    return {inputs_, outputs_, &problem.symbols};
  }
  std::vector<runtime::TensorShape> inputs_;
  std::vector<runtime::TensorShape> outputs_;
  PointConvolution point_;
};

class PointTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.cublaslt_convolution"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return no("it computes convolutions");
    if (!blasLt().missing.empty()) return no("{}", blasLt().missing);
    const Matrices matrices(*op, problem);
    if (!matrices.point().refusal.empty()) return no("{}", matrices.point().refusal);
    const auto refusal = blasRefusal(matrices.point().product, matrices.shapes());
    if (!refusal.empty()) return no("{}", refusal);
    return matrices.epilogue() ? yes() : no("cuBLASLt does not support this epilogue");
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    const Matrices matrices(*problem.op.as<ops::Convolution>(), problem);
    const auto shape = blasShape(matrices.point().product, matrices.shapes());
    std::vector<Candidate> result;
    for (const auto& algorithm : BlasProduct(shape, *matrices.epilogue(), problem.tf32).search(kMost, problem.more)) {
      auto candidate = channelsLastCandidate(name(), problem);
      candidate.inputs[1] = Layout::kLinear;
      candidate.variant = BlasChoice{true, false, problem.tf32 && shape.type == DataType::kF32, algorithm}.text();
      result.push_back(std::move(candidate));
    }
    return result;
  }
  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    const Matrices matrices(*problem.op.as<ops::Convolution>(), problem);
    const auto shape = blasShape(matrices.point().product, matrices.shapes());
    return {"cuda", "cublaslt_convolution", 1, problem.op.text(), candidate.variant + ";" + shape.text(), -1};
  }
  void prepare(const Problem& problem, std::span<const Candidate> candidates) const override {
    const Matrices matrices(*problem.op.as<ops::Convolution>(), problem);
    const auto shape = blasShape(matrices.point().product, matrices.shapes());
    for (const auto& candidate : candidates) {
      const auto choice = BlasChoice::parse(candidate.variant);
      useBlasFirst(shape, *matrices.epilogue(), choice.tf32, choice.algorithm);
    }
  }
  int rank(const Problem&, const Candidate&) const override { return 11; }
};

}  // namespace

const compile::Tactic& tactic_cublaslt_convolution() {
  static const PointTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
