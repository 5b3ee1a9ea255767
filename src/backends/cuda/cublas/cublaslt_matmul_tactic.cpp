// When the matmul of cuBLASLt can be used: one candidate per algorithm of its heuristic, and as many more as the
// problem asks for.
#include "backends/cuda/cublas/blas_first_use.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/movement/strided_copy.h"
#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;
using compile::yes;

constexpr int kMostWhole = 16;
constexpr int kMostParted = 8;
constexpr int kMostBare = 4;  // where the epilogue can be inside as well

std::vector<DataType> epilogueTypes(const ops::MatMul& op, DataType type) {
  return std::vector<DataType>(static_cast<size_t>(op.epilogue.inputCount()), type);
}

std::string generatedRefusal(const ops::MatMul& op, DataType type) {
  if (op.epilogue.empty()) return {};
  if (op.epilogue.instructions.back().op == ops::ScalarOp::k_cast) return "the epilogue changes the type";
  if (!nvrtc().missing.empty()) return nvrtc().missing;
  return pointwiseUnsupported(op.epilogue, epilogueTypes(op, type), type);
}

class MatMulTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.cublaslt_matmul"; }
  int version() const override { return kBlasMatMulVersion; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::MatMul>();
    if (op == nullptr) return no("it computes matmul");
    if (!blasLt().missing.empty()) return no("{}", blasLt().missing);
    const LinearOperands operands(problem);
    if (const auto refusal = blasRefusal(*op, operands.shapes); !refusal.empty()) return no("{}", refusal);
    if (isForOwnProducts(problem, true)) return no("cuda.mma90_matmul is faster");
    if (matchEpilogue(op->epilogue, operands.shapes.inputs.subspan(2), problem.outputs[0].dims)) return yes();
    return {generatedRefusal(*op, problem.outputs[0].dtype)};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    const auto& op = *problem.op.as<ops::MatMul>();
    const LinearOperands operands(problem);
    const auto shape = blasShape(op, operands.shapes);
    std::vector<Candidate> result;
    const auto ask = [&](const BlasShape& asked, const BlasEpilogue& epilogue, bool whole, bool parted, int most) {
      for (const auto& algorithm : BlasProduct(asked, epilogue, problem.tf32).search(most, whole ? problem.more : 0)) {
        auto candidate = compile::rowMajor(name(), problem);
        candidate.variant = BlasChoice{whole, parted, problem.tf32 && shape.type == DataType::kF32, algorithm}.text();
        result.push_back(std::move(candidate));
      }
    };
    if (const auto epilogue = matchEpilogue(op.epilogue, operands.shapes.inputs.subspan(2), problem.outputs[0].dims)) {
      ask(shape, *epilogue, true, false, kMostWhole);
      const auto part = wholeProduct(shape);
      if (part.n != 0 && epilogue->mayBeParted() && nvrtc().missing.empty())
        ask(part, *epilogue, true, true, kMostParted);
    }
    if (!op.epilogue.empty() && generatedRefusal(op, shape.type).empty())
      ask(shape, {}, false, false, result.empty() ? kMostWhole : kMostBare);
    return result;
  }
  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    const LinearOperands operands(problem);
    const auto shape = blasShape(*problem.op.as<ops::MatMul>(), operands.shapes);
    return {"cuda", "cublaslt_matmul", kBlasMatMulVersion, problem.op.text(), candidate.variant + ";" + shape.text(),
            -1};
  }
  std::vector<std::byte> nativeCode(const Problem& problem, const Candidate& candidate,
                                    const plan::KernelRecord&) const override {
    const auto& op = *problem.op.as<ops::MatMul>();
    const auto choice = BlasChoice::parse(candidate.variant);
    if (choice.parted) return compile(copyCode().source(), computeCapability());
    if (op.epilogue.empty() || choice.whole) return {};
    const auto type = problem.outputs[0].dtype;
    return compile(pointwiseSource(op.epilogue, epilogueTypes(op, type), type), computeCapability());
  }
  void prepare(const Problem& problem, std::span<const Candidate> candidates) const override {
    const auto& op = *problem.op.as<ops::MatMul>();
    const LinearOperands operands(problem);
    const auto extras = operands.shapes.inputs.subspan(2);
    for (const auto& candidate : candidates) {
      const auto choice = BlasChoice::parse(candidate.variant);
      const auto epilogue = choice.whole ? matchEpilogue(op.epilogue, extras, problem.outputs[0].dims) : BlasEpilogue();
      if (epilogue && !choice.parted)
        useBlasFirst(blasShape(op, operands.shapes), *epilogue, choice.tf32, choice.algorithm);
    }
  }
  int rank(const Problem&, const Candidate& candidate) const override {
    return candidate.variant.rfind("bare", 0) == 0 ? 12 : candidate.variant.rfind("parted", 0) == 0 ? 9 : 10;
  }
};

}  // namespace

const compile::Tactic& tactic_cublaslt_matmul() {
  static const MatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
