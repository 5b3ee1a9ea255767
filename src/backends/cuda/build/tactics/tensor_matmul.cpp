// Products of halves with few rows by tensor cores: one candidate per form that may be the fastest.
#include "backends/cuda/build/direct_tactic.h"
#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/tensor_matmul.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kRank = 30;  // behind the libraries' first choice

class TensorMatMulTactic final : public OwnTacticOf<ops::MatMul> {
 public:
  TensorMatMulTactic() : OwnTacticOf("cuda.tensor_matmul", Formats::kLinear, kRank) {}

  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    std::vector<build::Candidate> result;
    for (const auto& form : tensorForms(extentsOf(problem))) {
      result.push_back(linearCandidate(name(), problem));
      result.back().variant = form.text();
    }
    return result;
  }
  plan::KernelRecord build(const build::Problem& problem, const build::Candidate& candidate) const override {
    return {"cuda", "tensor_matmul", 1, problem.op.text(), choiceOf(problem, candidate).text(), -1};
  }
  int rank(const build::Problem& problem, const build::Candidate& candidate) const override {
    int place = 0;
    for (const auto& form : tensorForms(extentsOf(problem))) {
      if (form.text() == candidate.variant) break;
      ++place;
    }
    return kRank + place;
  }

 protected:
  build::Support acceptsOp(const ops::MatMul& op, const build::Problem& problem) const override {
    const auto type = problem.inputs[0].dtype;
    if (type != DataType::kF16 && type != DataType::kBF16) return build::no("operands of {}; it takes f16 and bf16", tenon::name(type));
    if (problem.inputs[1].dtype != type) return build::no("operands of {} and {}", tenon::name(type), tenon::name(problem.inputs[1].dtype));
    if (auto support = flatProduct(op, problem); !support) return support;
    if (tensorForms(extentsOf(problem)).empty()) return build::no("so many rows, or none");
    return {directUnsupported(op.epilogue, inputTypes(problem), 2)};
  }

 private:
  static ProductExtents extentsOf(const build::Problem& problem) {
    const Dims& y = problem.outputs[0].dims;
    const Dims& a = problem.inputs[0].dims;
    return {y.count(0, y.rank - 1), y[y.rank - 1], a[a.rank - 1]};
  }
  static TensorChoice choiceOf(const build::Problem& problem, const build::Candidate& candidate) {
    return {{inputTypes(problem), {problem.outputs[0].dtype}}, TensorForm::parse(candidate.variant), problem.inputs[1].constant != nullptr};
  }
};

}  // namespace

const build::Tactic& tactic_tensor_matmul() {
  static const TensorMatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
