// When the CUDA backend's two kernels can be used.
#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/libraries.h"
#include "backends/cuda/run/pointwise_code.h"
#include "build/tactics/tactic.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"

namespace tenon::backends {
namespace {

using build::Candidate;
using build::no;
using build::Problem;
using build::Support;
using build::yes;

Candidate linear(std::string_view tactic, const Problem& problem) {
  return {std::string(tactic), "", std::vector<Format>(problem.inputs.size(), Format::kLinear),
          std::vector<Format>(problem.outputs.size(), Format::kLinear)};
}

std::vector<DataType> inputTypes(const Problem& problem) {
  std::vector<DataType> types;
  for (const auto& input : problem.inputs) types.push_back(input.dtype);
  return types;
}

class PointwiseTactic final : public build::Tactic {
 public:
  std::string_view name() const override { return "cuda.pointwise"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pointwise>();
    if (op == nullptr) return no("it computes pointwise operators");
    if (!cuda::nvrtc().missing.empty()) return no("{}", cuda::nvrtc().missing);
    return {cuda::pointwiseUnsupported(op->expr, inputTypes(problem), problem.outputs[0].dtype)};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override { return {linear(name(), problem)}; }
  plan::KernelRecord build(const Problem& problem, const Candidate&) const override {
    auto types = inputTypes(problem);
    types.push_back(problem.outputs[0].dtype);
    return {"cuda", "pointwise", 1, problem.op.text(), FieldText<std::vector<DataType>>::write(types), -1};
  }
  std::vector<std::byte> nativeCode(const Problem& problem, const Candidate&, const plan::KernelRecord&) const override {
    const auto* op = problem.op.as<ops::Pointwise>();
    return cuda::compile(cuda::pointwiseSource(op->expr, inputTypes(problem), problem.outputs[0].dtype), cuda::computeCapability());
  }
  int rank(const Problem&, const Candidate&) const override { return 10; }
};

class MatMulTactic final : public build::Tactic {
 public:
  std::string_view name() const override { return "cuda.cublaslt_matmul"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::MatMul>();
    if (op == nullptr) return no("it computes matrix products");
    if (!cuda::blasLt().missing.empty()) return no("{}", cuda::blasLt().missing);
    for (const auto type : inputTypes(problem)) {
      if (type != DataType::kF32) return no("operands of {}; it computes in f32", tenon::name(type));
    }
    const auto& y = problem.outputs[0].dims;
    for (size_t i = 0; i < 2; ++i) {
      const auto& dims = problem.inputs[i].dims;
      if (dims.count() == 0) return no("operand {} is empty", i);
      const int64_t batch = dims.count(0, dims.rank - 2);
      if (batch != 1 && batch != y.count(0, y.rank - 2)) return no("operand {} broadcasts some batch axes and not others", i);
    }
    if (op->epilogue.inputCount() > cuda::kMaxOperands) return no("an epilogue of {} inputs", op->epilogue.inputCount());
    return yes();
  }
  std::vector<Candidate> candidates(const Problem& problem) const override { return {linear(name(), problem)}; }
  plan::KernelRecord build(const Problem& problem, const Candidate&) const override {
    return {"cuda", "cublaslt_matmul", 1, problem.op.text(), "", -1};
  }
  int rank(const Problem&, const Candidate&) const override { return 10; }
};

}  // namespace

build::TacticSource tacticSource_cuda() {
  static const PointwiseTactic kPointwise;
  static const MatMulTactic kMatMul;
  static const build::Tactic* const kTactics[] = {&kPointwise, &kMatMul};
  return {"cuda", kTactics};
}

}  // namespace tenon::backends
