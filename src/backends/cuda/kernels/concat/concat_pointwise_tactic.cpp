// Concatenation with a pointwise epilogue.
#include "ops/op/concat_pointwise.h"

#include <algorithm>

#include "backends/cuda/kernels/concat/concat_instance.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class ConcatPointwiseTactic final : public OwnTacticOf<ops::ConcatPointwise> {
 public:
  ConcatPointwiseTactic() : OwnTacticOf("cuda.concat_pointwise", Formats::kAlsoChannelsLast, 10) {}

 protected:
  compile::Support acceptsOp(const ops::ConcatPointwise& op, const compile::Problem& problem) const override {
    const auto types = inputTypes(problem);
    const auto& y = problem.outputs[0];
    const auto parts = static_cast<size_t>(op.parts);
    const auto axis = static_cast<int>(op.axis < 0 ? op.axis + y.dims.rank : op.axis);
    const size_t operands = problem.inputs.size() - parts;
    if (!std::all_of(types.begin(), types.end(), [&](DataType type) { return type == y.dtype; }))
      return compile::no("the operands have different types");
    if (operands > kMostConcatOperands || op.expr.inputCount() != static_cast<int>(operands) + 1)
      return compile::no("{} operands; at most {} are supported", operands, kMostConcatOperands);
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const auto& x = problem.inputs[i];
      if (i < parts && x.constant != nullptr) return compile::no("a part of the concatenation is a constant");
      const int at = axis - (y.dims.rank - x.dims.rank);
      if (i >= parts && x.dims.count() != 1 &&
          (at < 0 || x.dims.count() != x.dims[at] || x.dims.count() != y.dims[axis])) {
        return compile::no("an operand of shape {}; only one element, or one per index of the axis, is supported",
                           x.dims.text());
      }
    }
    if (y.dims.count() >= int64_t{1} << 31) return compile::no("more than 2^31 elements are not supported");
    return {pointwiseUnsupported(op.expr, std::vector<DataType>(operands + 1, y.dtype), y.dtype)};
  }
};

}  // namespace

const compile::Tactic& tactic_concat_pointwise() {
  static const ConcatPointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
