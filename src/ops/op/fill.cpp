// Fill: constants and ramps, with known contents for small integer tensors.
#include "ops/op/fill.h"

#include "ops/infer_util.h"
#include "ops/scalar_program.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

Contents fillContents(const InferContext& context, const Fill& fill) {
  if (!isInteger(fill.type) || !followsContents(fill.shape)) return std::nullopt;
  Extent first = saturatedInteger(fill.start);
  Extent delta = fill.deltas.empty() ? 0 : saturatedInteger(fill.deltas[0]);
  if (context.inputCount() > 0) {
    const auto& start = context.input(0).contents;
    const auto& deltas = context.input(1).contents;
    if (!start || !deltas) return std::nullopt;
    first = start->at(0);
    delta = deltas->empty() ? Extent(0) : deltas->at(0);
  }
  std::vector<Extent> result;
  const int64_t count = fill.shape.empty() ? 1 : fill.shape[0].constant();
  for (int64_t i = 0; i < count; ++i) result.push_back(first + delta * Extent(i));
  return result;
}

}  // namespace

Facts Fill::facts() const { return {}; }

void Fill::infer(InferContext& context) const {
  context.check(deltas.empty() || deltas.size() == shape.size(), "{} deltas, expected none or one per axis of {}",
                deltas.size(), text(shape));
  context.check(context.inputCount() == 0 || context.inputCount() == 2, "{} inputs, expected none, or start and deltas",
                context.inputCount());
  if (context.inputCount() == 2) {
    context.check(context.input(0).dtype == type && context.input(1).dtype == type,
                  "start and deltas have types {} and {}, expected {}", name(context.input(0).dtype),
                  name(context.input(1).dtype), name(type));
    const Extent starts = product(context.input(0).shape);
    const Extent steps = product(context.input(1).shape);
    context.check(starts.isConstant(1), "start has {} elements, expected 1", starts.text());
    context.check(steps.isConstant(0) || steps.isConstant(static_cast<int64_t>(shape.size())),
                  "deltas have {} elements, expected none or one per axis of {}", steps.text(), text(shape));
  }
  auto contents = fillContents(context, *this);
  context.output(type, shape, std::move(contents));
}

void Fill::evaluate(const EvalContext& context) const {
  const auto& out = context.outputs[0];
  const bool given = context.inputs.size() == 2;
  const bool floating = isFloating(type);
  const auto rank = static_cast<size_t>(out.dims.rank);
  std::vector<double> steps = given ? toDoubles(context.inputs[1]) : deltas;
  steps.resize(rank);
  const double first = given ? context.inputs[0].loadDouble(0) : start;
  std::vector<uint64_t> intSteps;  // unsigned: sums wrap
  for (size_t i = 0; i < rank; ++i) {
    const bool stored = given && static_cast<int64_t>(i) < context.inputs[1].count();
    intSteps.push_back(static_cast<uint64_t>(stored ? context.inputs[1].loadInt(static_cast<int64_t>(i))
                                                    : saturatedInteger(steps[i])));
  }
  const auto intFirst = static_cast<uint64_t>(given ? context.inputs[0].loadInt(0) : saturatedInteger(first));
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) {
    double value = first;
    uint64_t integer = intFirst;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (i.index[axis] == 0) continue;  // an infinite step is no NaN at index 0
      value += steps[axis] * static_cast<double>(i.index[axis]);
      integer += intSteps[axis] * static_cast<uint64_t>(i.index[axis]);
    }
    if (floating) {
      out.storeDouble(position, value);
    } else {
      out.storeInt(position, static_cast<int64_t>(integer));
    }
  }
}

OperatorInfo operatorInfo_fill() { return describe<Fill>(); }

}  // namespace tenon::ops
