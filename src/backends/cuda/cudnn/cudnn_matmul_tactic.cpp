// When the matmul of cuDNN can be used: for epilogues that would be a separate kernel after cuBLASLt.
#include "backends/cuda/cublas/blas_matmul.h"
#include "backends/cuda/cudnn/cudnn_product.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;

constexpr size_t kMost = 8;

class CudnnMatMulTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.cudnn_matmul"; }
  // Engines are numbered by release of cuDNN.
  int version() const override { return 1'000'000 + dnn::library().version; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::MatMul>();
    if (op == nullptr) return no("it computes matmul");
    const LinearOperands operands(problem);
    if (matchEpilogue(op->epilogue, operands.shapes.inputs.subspan(std::min<size_t>(2, operands.shapes.inputs.size())),
                      problem.outputs[0].dims)) {
      return no("cuBLASLt has this epilogue");
    }
    if (isForOwnProducts(problem, false)) return no("cuda.mma90_matmul is faster");
    if (!dnn::library().missing.empty()) return no("{}", dnn::library().missing);
    return {dnn::productRefusal(*op, operands.shapes)};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Candidate> result;
    const LinearOperands operands(problem);
    try {
      const auto graph = dnn::productGraph(dnn::Chip::here(), *problem.op.as<ops::MatMul>(), operands.shapes);
      for (auto& engine : graph.graph.propose(dnn::HeuristicMode::kA, dnn::Math::kAny, kMost)) {
        result.push_back(compile::rowMajor(name(), problem));
        result.back().variant = dnn::Choice{dnn::Fusion::kWhole, dnn::Math::kAny, std::move(engine)}.text();
      }
    } catch (const Unsupported&) {
      // No engine takes the graph.
    }
    return result;
  }
  void prepare(const Problem& problem, std::span<const Candidate> candidates) const override {
    const LinearOperands operands(problem);
    std::vector<dnn::EngineChoice> engines;
    for (const auto& candidate : candidates) engines.push_back(dnn::Choice::parse(candidate.variant).engine);
    dnn::productGraph(dnn::Chip::here(), *problem.op.as<ops::MatMul>(), operands.shapes).graph.planAll(engines);
  }
  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    return {"cuda", "cudnn_matmul", 1, problem.op.text(), candidate.variant, -1};
  }
  std::vector<std::byte> nativeCode(const Problem& problem, const Candidate& candidate,
                                    const plan::KernelRecord&) const override {
    const LinearOperands operands(problem);
    try {
      return dnn::productGraph(dnn::Chip::here(), *problem.op.as<ops::MatMul>(), operands.shapes)
          .graph.codeOf(dnn::Choice::parse(candidate.variant).engine);
    } catch (const Unsupported&) {
      return {};  // the measurement will say so
    }
  }
  int rank(const Problem&, const Candidate&) const override { return 20; }
};

}  // namespace

const compile::Tactic& tactic_cudnn_matmul() {
  static const CudnnMatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
