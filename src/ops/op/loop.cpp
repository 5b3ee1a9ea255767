// Loop: types once, since no iteration changes them; values by one iteration after the other.
#include "ops/op/loop.h"

#include <algorithm>

#include "core/environment.h"
#include "core/error.h"
#include "core/lazy_text.h"
#include "ops/slice_copy.h"

namespace tenon::ops {
namespace {

bool isOneElement(const TensorType& type) {
  return std::all_of(type.shape.begin(), type.shape.end(), [](const Extent& e) { return e.isConstant(1); });
}

void copy(const TensorView& from, const TensorView& to) {
  std::copy_n(static_cast<const char*>(from.data), from.bytes(), static_cast<char*>(to.data));
}

}  // namespace

int64_t mostIterations() { return numberSetting("TENON_LOOP_LIMIT").value_or(INT32_MAX); }

Facts Loop::facts() const {
  Facts facts = next.facts();
  const Facts other = test.facts();
  facts.deterministic = facts.deterministic && other.deterministic;
  facts.sideEffects = facts.sideEffects || other.sideEffects;
  return facts;
}

void Loop::infer(InferContext& context) const {
  context.check(counted || tested(), "the loop has neither a number of iterations nor a condition");
  const size_t first = counted ? 1 : 0;
  if (counted) {
    const auto& count = context.input(0);
    context.check((count.dtype == DataType::kI32 || count.dtype == DataType::kI64) && isOneElement(count),
                  "the number of iterations is {} {}, expected one i32 or i64", name(count.dtype),
                  tenon::text(count.shape));
  }
  context.check(states >= 0, "{} states", states);
  const auto stateCount = static_cast<size_t>(states);
  std::vector<TensorType> inputs;
  for (size_t i = first; i < context.inputCount(); ++i) {
    TensorType type = context.input(i);
    const size_t operand = i - first;
    if (operand < stateCount) type.contents.reset();
    if (operand >= stateCount && operand < stateCount + slices.size()) {
      const auto axis = slices[operand - stateCount].axis;
      context.check(axis >= 0 && axis < type.rank(), "axis {} of sliced tensor {}", axis, tenon::text(type.shape));
      context.check(bits(type.dtype) >= 8, "a sliced tensor is {}; expected a type of at least a byte",
                    name(type.dtype));
      type.shape.erase(type.shape.begin() + axis);
      type.contents.reset();
    }
    inputs.push_back(std::move(type));
  }
  context.check(inputs.size() >= stateCount + slices.size(), "{} operands, expected {} states and {} sliced tensors",
                inputs.size(), states, slices.size());
  if (tested()) {
    const auto values = test.infer(inputs);
    context.check(test->outputs.size() == 1, "the condition has {} results, expected 1", test->outputs.size());
    const auto& type = values[static_cast<size_t>(test->outputs[0])];
    context.check(type.dtype == DataType::kBool && isOneElement(type), "the condition is {} {}, expected one bool",
                  name(type.dtype), tenon::text(type.shape));
  }
  const auto values = next.infer(inputs);
  context.check(next->outputs.size() == stateCount + stacks.size(), "the body has {} results, expected {} and {}",
                next->outputs.size(), states, stacks.size());
  for (size_t i = 0; i < stateCount; ++i) {
    const auto& begins = inputs[i];
    const auto& goesOn = values[static_cast<size_t>(next->outputs[i])];
    context.check(begins.dtype == goesOn.dtype && begins.rank() == goesOn.rank(),
                  "state {} begins as {} {} and goes on as {} {}; expected the same type and shape in all iterations",
                  i, name(begins.dtype), tenon::text(begins.shape), name(goesOn.dtype), tenon::text(goesOn.shape));
    Shape shape;
    for (size_t axis = 0; axis < begins.shape.size(); ++axis) {
      const auto& x = begins.shape[axis];
      const auto& y = goesOn.shape[axis];
      context.check(x == y || !x.isConstant() || !y.isConstant(),
                    "state {} begins as {} and goes on as {}; expected the same shape in all iterations", i,
                    tenon::text(begins.shape), tenon::text(goesOn.shape));
      // What the body computes is held against it when it runs.
      shape.push_back(y.isConstant() ? y : x);
    }
    context.output(begins.dtype, std::move(shape));
  }
  for (size_t i = 0; i < stacks.size(); ++i) {
    const auto& part = values[static_cast<size_t>(next->outputs[stateCount + i])];
    context.check(stacks[i].axis >= 0 && stacks[i].axis <= part.rank(), "axis {} of results made of parts {}",
                  stacks[i].axis, tenon::text(part.shape));
    context.check(bits(part.dtype) >= 8, "a result made of parts is {}; expected a type of at least a byte",
                  name(part.dtype));
    Shape shape = part.shape;
    shape.insert(shape.begin() + stacks[i].axis, stacks[i].length);
    context.output(part.dtype, std::move(shape));
  }
}

void Loop::checkResults(std::span<const TensorView> results, std::span<const TensorView> outputs) const {
  for (size_t i = 0; i < results.size(); ++i) {
    const auto state = static_cast<size_t>(states);
    const Dims expected = i < state ? outputs[i].dims : withoutAxis(outputs[i].dims, stacks[i - state].axis);
    checkUser(results[i].dims == expected, "loop: the body gives result {} as {}, expected {}", i,
              textOf(results[i].dims), textOf(expected));
  }
}

void Loop::evaluate(const EvalContext& context) const {
  const auto stateCount = static_cast<size_t>(states);
  const int64_t count = counted ? context.inputs[0].loadInt(0) : INT64_MAX;
  const auto operands = context.inputs.subspan(counted ? 1 : 0);

  // The states live in the outputs; an iteration reads them and its results are copied over them.
  std::vector<TensorView> inputs(operands.begin(), operands.end());
  for (size_t i = 0; i < stateCount; ++i) {
    copy(operands[i], context.outputs[i]);
    inputs[i] = context.outputs[i];
  }
  std::vector<HostTensor> held;
  std::vector<SliceCopy> cuts;
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto& whole = operands[stateCount + i];
    cuts.emplace_back(whole, slices[i].axis);
    held.emplace_back(whole.dtype, withoutAxis(whole.dims, slices[i].axis));
    inputs[stateCount + i] = held.back().view();
  }
  std::vector<SliceCopy> parts;
  for (size_t i = 0; i < stacks.size(); ++i) {
    const auto& whole = context.outputs[stateCount + i];
    parts.emplace_back(whole, stacks[i].axis);
    std::fill_n(static_cast<char*>(whole.data), whole.bytes(), char{0});
  }
  std::optional<RegionRunner> tester;
  if (tested()) tester.emplace(test, inputs, context.symbols);
  RegionRunner body(next, inputs, context.symbols);
  const int64_t most = mostIterations();
  int64_t done = 0;
  for (int64_t k = 0; k < count; ++k) {
    for (size_t i = 0; i < cuts.size(); ++i) {
      const int64_t extent = cuts[i].extent;
      // The condition is asked once more than the body runs: then a slice may be missing.
      if (k < extent) cuts[i].read(slices[i].reverse ? extent - 1 - k : k, inputs[stateCount + i].data);
    }
    if (tester && tester->run(inputs)[0].loadInt(0) == 0) break;
    checkIterationLimit(k, most);
    for (const auto& cut : cuts)
      checkUser(k < cut.extent, "loop: iteration {} reads beyond the {} slices of a tensor {}", k, cut.extent,
                textOf(cut.whole.dims));
    for (const auto& part : parts)
      checkUser(k < part.extent, "loop: iteration {} gives more than the {} parts of a result {}", k, part.extent,
                textOf(part.whole.dims));
    const auto results = body.run(inputs);
    checkResults(results, context.outputs);
    for (size_t i = 0; i < parts.size(); ++i) parts[i].write(k, results[stateCount + i].data);
    done = k + 1;
    // A state may pass another one on: nothing is overwritten before all are read.
    std::vector<HostTensor> passed;
    for (size_t i = 0; i < stateCount; ++i) {
      const bool isState = std::any_of(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(stateCount),
                                       [&](const TensorView& x) { return x.data == results[i].data; });
      passed.emplace_back(isState ? results[i].dtype : DataType::kF32, isState ? results[i].dims : Dims{0});
      if (isState) copy(results[i], passed.back().view());
    }
    for (size_t i = 0; i < stateCount; ++i)
      copy(passed[i].view().count() > 0 ? passed[i].view() : results[i], context.outputs[i]);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (stacks[i].reverse) parts[i].reverse(done);
  }
}

OperatorInfo operatorInfo_loop() { return describe<Loop>(); }

}  // namespace tenon::ops
