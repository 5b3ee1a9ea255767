// Pointwise: type and shape rule, symbolic contents of shape arithmetic, reference in double or int64.
#include "ops/op/pointwise.h"

#include "ops/infer_util.h"
#include "ops/scalar_blocks.h"
#include "ops/scalar_program.h"
#include "ops/shape_arithmetic.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

std::optional<std::vector<Extent>> inferContents(const ScalarExpr& expr, const InferContext& context,
                                                 const Shape& shape, const std::vector<DataType>& types,
                                                 DataType type) {
  if (!followsContents(shape) || !followsType(type)) return std::nullopt;
  const int64_t count = shape.empty() ? 1 : shape[0].constant();
  if (isFloating(type) && count > kMaxFractions) return std::nullopt;
  for (size_t i = 0; i < context.inputCount(); ++i) {
    if (!context.input(i).contents) return std::nullopt;
  }
  std::vector<Extent> result;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<Extent> inputs;
    for (size_t i = 0; i < context.inputCount(); ++i) {
      const auto& contents = *context.input(i).contents;
      inputs.push_back(contents.at(contents.size() == 1 ? 0 : static_cast<size_t>(k)));
    }
    const auto value = followScalar(expr, inputs, types);
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

}  // namespace

Facts Pointwise::facts() const {
  Facts facts;
  facts.pointwise = true;
  for (int i = 0; i < expr.inputCount(); ++i) facts.aliases.push_back({0, i, false});
  return facts;
}

void Pointwise::infer(InferContext& context) const {
  auto [shape, types] = scalarOperands(context, expr);
  DataType type = DataType::kF32;
  try {
    type = resultType(expr, types);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
  auto contents = inferContents(expr, context, shape, types, type);
  context.output(type, std::move(shape), std::move(contents));
}

void Pointwise::evaluate(const EvalContext& context) const {
  if (evaluateInBlocks(expr, context)) return;
  const auto& out = context.outputs[0];
  std::vector<DataType> types;
  std::vector<Strides> strides;
  for (const auto& in : context.inputs) {
    types.push_back(in.dtype);
    strides.push_back(broadcastStrides(in.dims, out.dims));
  }
  ScalarProgram program(expr, types);
  std::vector<Number> inputs(types.size());
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) {
    for (size_t k = 0; k < inputs.size(); ++k) inputs[k] = Number::load(context.inputs[k], i.dot(strides[k]));
    program(inputs).store(out, position);
  }
}

OperatorInfo operatorInfo_pointwise() { return describe<Pointwise>(); }

}  // namespace tenon::ops
