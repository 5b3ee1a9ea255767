// Pointwise with several results: type and shape rule; the reference is that of Pointwise for each result.
#include "ops/op/multi_pointwise.h"

#include <algorithm>

#include "ops/infer_util.h"
#include "ops/op/pointwise.h"

namespace tenon::ops {

// No result takes the memory of an operand: another result may still be computed from it.
Facts MultiPointwise::facts() const { return {}; }

void MultiPointwise::infer(InferContext& context) const {
  auto [shape, types] = scalarOperands(context, expr);
  context.check(!results.empty(), "there are no results; name at least one of the {} instructions",
                expr.instructions.size());
  std::vector<DataType> steps;
  try {
    resultType(expr, types);
    steps = instructionTypes(expr, types);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    context.check(results[i] >= 0 && results[i] < static_cast<int64_t>(steps.size()),
                  "result {} is instruction {}, expected one of the {} instructions", i, results[i], steps.size());
    context.check(std::count(results.begin(), results.end(), results[i]) == 1, "instruction {} is a result twice",
                  results[i]);
    context.output(steps[static_cast<size_t>(results[i])], shape);
  }
}

void MultiPointwise::evaluate(const EvalContext& context) const {
  for (size_t i = 0; i < results.size(); ++i) {
    const auto end = expr.instructions.begin() + static_cast<std::ptrdiff_t>(results[i] + 1);
    const Pointwise one{{{expr.instructions.begin(), end}}};
    one.evaluate({context.inputs, context.outputs.subspan(i, 1), context.symbols});
  }
}

OperatorInfo operatorInfo_multi_pointwise() { return describe<MultiPointwise>(); }

}  // namespace tenon::ops
