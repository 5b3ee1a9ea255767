// When elements are combined with others at indices.
#include "ops/op/scatter_reduce.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class ScatterReduceTactic final : public SimpleTactic {
 public:
  ScatterReduceTactic() : SimpleTactic("cpu.scatter_reduce", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::ScatterReduce>();
    if (op == nullptr) return compile::no("it combines elements at indices");
    if (op->rows) return compile::no("rows at indices; only single elements are supported");
    const DataType type = problem.inputs[0].dtype;
    if (type == DataType::kF32 || (isInteger(type) && bits(type) >= 8)) return compile::yes();
    return compile::no("values of {}; expected f32 or integers of whole bytes", tenon::name(type));
  }
};

}  // namespace

const compile::Tactic& tactic_scatter_reduce() {
  static const ScatterReduceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
