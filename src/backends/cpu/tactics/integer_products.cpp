// When products of integers are summed as they are made.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/pointwise_reduce.h"

namespace tenon::backends::cpu {
namespace {

class IntegerProductsTactic final : public SimpleTactic {
 public:
  IntegerProductsTactic() : SimpleTactic("cpu.integer_products", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::PointwiseReduce>();
    if (op == nullptr || op->op != ops::ReduceOp::kSum || !ops::isProductOfInputs(op->expr))
      return compile::no("it sums products of two tensors");
    const auto type = problem.outputs[0].dtype;
    if (type != DataType::kI32 && type != DataType::kI64) return compile::no("a result of {}", tenon::name(type));
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_integer_products() {
  static const IntegerProductsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
