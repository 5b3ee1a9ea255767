// Composite: types and values by those of its parts.
#include "ops/op/composite.h"

#include "core/error.h"

namespace tenon::ops {
namespace {

// Checks an operand of part `part` and gives the place of its value: inputs first, then results.
size_t placeOf(const Composite& composite, size_t inputs, size_t part, int32_t operand) {
  if (operand >= 0) {
    checkUser(static_cast<size_t>(operand) < inputs, "composite: part {} ({}) reads input {} of {}", part,
              composite.parts[part].op.name(), operand, inputs);
    return static_cast<size_t>(operand);
  }
  const auto result = static_cast<size_t>(-1 - static_cast<int64_t>(operand));
  checkUser(result < part, "composite: part {} ({}) reads the result of part {}, which comes later", part,
            composite.parts[part].op.name(), result);
  return inputs + result;
}

size_t outputOf(const Composite& composite, int32_t part) {
  checkUser(part >= 0 && static_cast<size_t>(part) < composite.parts.size(),
            "composite: output of part {}, there are {}", part, composite.parts.size());
  return static_cast<size_t>(part);
}

TensorType inferPart(const Operator& op, const std::vector<TensorType>& inputs) {
  auto types = op.infer(op.name(), inputs);
  checkUser(types.size() == 1, "composite: {} has {} outputs, a part has one", op.name(), types.size());
  return std::move(types[0]);
}

}  // namespace

Facts Composite::facts() const {
  Facts facts;
  for (const auto& part : parts) {
    const auto own = part.op.facts();
    facts.deterministic = facts.deterministic && own.deterministic;
    facts.sideEffects = facts.sideEffects || own.sideEffects;
  }
  return facts;
}

void Composite::infer(InferContext& context) const {
  std::vector<TensorType> types;
  for (size_t i = 0; i < context.inputCount(); ++i) types.push_back(context.input(i));
  for (size_t p = 0; p < parts.size(); ++p) {
    std::vector<TensorType> inputs;
    for (const auto operand : parts[p].inputs)
      inputs.push_back(types[placeOf(*this, context.inputCount(), p, operand)]);
    types.push_back(inferPart(parts[p].op, inputs));
  }
  for (const auto part : outputs) {
    auto& type = types[context.inputCount() + outputOf(*this, part)];
    context.output(type.dtype, type.shape, type.contents);
  }
}

void Composite::evaluate(const EvalContext& context) const {
  std::vector<TensorView> views(context.inputs.begin(), context.inputs.end());
  std::vector<HostTensor> results;
  results.reserve(parts.size());
  for (size_t p = 0; p < parts.size(); ++p) {
    std::vector<TensorView> inputs;
    std::vector<TensorType> types;
    for (const auto operand : parts[p].inputs) {
      inputs.push_back(views[placeOf(*this, context.inputs.size(), p, operand)]);
      types.push_back({inputs.back().dtype, Shape(inputs.back().dims.begin(), inputs.back().dims.end()), std::nullopt});
    }
    const auto op = context.symbols == nullptr ? parts[p].op : parts[p].op.bind(*context.symbols);
    const auto type = inferPart(op, types);
    results.emplace_back(type.dtype,
                         tenon::evaluate(type.shape, context.symbols == nullptr ? SymbolValues{} : *context.symbols));
    views.push_back(results.back().view());
    const TensorView output[] = {views.back()};
    op.evaluate({inputs, output, context.symbols});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& from = views[context.inputs.size() + outputOf(*this, outputs[i])];
    std::copy_n(static_cast<const char*>(from.data), from.bytes(), static_cast<char*>(context.outputs[i].data));
  }
}

OperatorInfo operatorInfo_composite() { return describe<Composite>(); }

}  // namespace tenon::ops
