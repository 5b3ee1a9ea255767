// When products of a few rows can read constant weights as one stream, and how many columns a warp may take.
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostRows = 4;
constexpr int64_t kPackBytes = 16;

class RowMatMulTactic final : public OwnTacticOf<ops::MatMul> {
 public:
  RowMatMulTactic() : OwnTacticOf("cuda.row_matmul", Formats::kLinear, kDepthwiseRank) {}

  // More columns of a warp where a column alone has few packs for its lanes, and for more rows, which the weights then
  // meet less often.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const int64_t packs = innerOf(problem) * bits(problem.inputs[0].dtype) / 8 / kPackBytes;
    const Dims& y = problem.outputs[0].dims;
    std::vector<compile::Candidate> result;
    for (const int64_t columns : {1, 2, 4}) {
      const bool isBusy = columns == 4 || packs > 32 * (8 / columns) / 2;
      const bool isSpread = columns == 1 || y[y.rank - 1] >= 512 * columns;  // warps for most multiprocessors
      if (!isBusy || (!isSpread && !result.empty())) continue;
      result.push_back(compile::rowMajor(name(), problem));
      result.back().variant = std::to_string(columns);
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    record.params = candidate.variant + ":" + record.params;
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::MatMul& op, const compile::Problem& problem) const override {
    const auto type = problem.inputs[0].dtype;
    // Of f32 a decoder took 3 % longer with it (H200), though each product was as fast by itself.
    if (!isFloating(type) || bits(type) != 16) return compile::no("operands of {}", tenon::name(type));
    if (problem.inputs[1].constant == nullptr) return compile::no("the weights are not constant");
    if (auto support = flatProduct(op, problem); !support) return support;
    const Dims& y = problem.outputs[0].dims;
    const int64_t rows = y.count(0, y.rank - 1);
    if (rows > kMostRows) return compile::no("{} rows; at most {} are supported", rows, kMostRows);
    const int64_t bytes = innerOf(problem) * bits(type) / 8;
    if (bytes % kPackBytes != 0) return compile::no("rows of {} bytes, no multiple of {}", bytes, kPackBytes);
    return {directUnsupported(op.epilogue, inputTypes(problem), 2)};
  }

 private:
  static int64_t innerOf(const compile::Problem& problem) {
    const Dims& w = problem.inputs[1].dims;
    return w[w.rank - (problem.op.as<ops::MatMul>()->transposeB ? 1 : 2)];
  }
};

}  // namespace

const compile::Tactic& tactic_row_matmul() {
  static const RowMatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
