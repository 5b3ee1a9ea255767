// ScatterReduce: shape rule and reference.
#include "ops/op/scatter_reduce.h"

#include <cmath>

#include "ops/infer_util.h"
#include "ops/scalar_program.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

double combined(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kSum: return a + b;
    case ReduceOp::kProd: return a * b;
    case ReduceOp::kMax: return std::isnan(a) || a > b ? a : b;
    default: return std::isnan(a) || a < b ? a : b;
  }
}

int64_t combined(ReduceOp op, int64_t a, int64_t b) {
  switch (op) {
    case ReduceOp::kSum: return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case ReduceOp::kProd: return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case ReduceOp::kMax: return std::max(a, b);
    default: return std::min(a, b);
  }
}

template <typename T, typename Load, typename Store>
void combine(const ScatterReduce& op, const EvalContext& context, Load load, Store store) {
  const auto& data = context.inputs[0];
  const auto& indices = context.inputs[1];
  const int axis = positiveAxis(op.axis, data.dims.rank);
  std::vector<T> values(static_cast<size_t>(data.dims.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = load(data, static_cast<int64_t>(i));
  auto strides = data.dims.strides();
  const int64_t step = strides[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] = 0;
  auto ofIndices = indices.dims.strides();
  for (size_t i = 0; i < ofIndices.size(); ++i) ofIndices[i] *= indices.dims[static_cast<int>(i)] == 1 ? 0 : 1;
  int64_t position = 0;
  for (IndexIterator i(context.inputs[2].dims); i.valid(); i.next(), ++position) {
    int64_t index = indices.loadInt(i.dot(ofIndices));
    checkUser(index >= -data.dims[axis] && index < data.dims[axis],
              "scatter_reduce: index {} is outside of axis {} of extent {}", index, axis, data.dims[axis]);
    if (index < 0) index += data.dims[axis];
    T& value = values[static_cast<size_t>(i.dot(strides) + index * step)];
    value = combined(op.op, value, load(context.inputs[2], position));
  }
  for (size_t i = 0; i < values.size(); ++i) store(static_cast<int64_t>(i), values[i]);
}

}  // namespace

Facts ScatterReduce::facts() const {
  Facts facts;
  facts.indices = Indices{1, axis};
  return facts;
}

void ScatterReduce::infer(InferContext& context) const {
  const auto& data = context.input(0);
  const auto& indices = context.input(1);
  const auto& updates = context.input(2);
  context.check(op != ReduceOp::kAvg, "op is avg; expected sum, prod, max or min");
  context.check(indices.dtype == DataType::kI32 || indices.dtype == DataType::kI64,
                "indices have type {}; expected i32 or i64", name(indices.dtype));
  context.check(data.dtype != DataType::kBool, "data of type bool; cast it");
  checkSameType(context, 0, 2);
  context.check(indices.rank() == data.rank() && updates.rank() == data.rank(),
                "data {}, indices {} and updates {} have different ranks", text(data.shape), text(indices.shape),
                text(updates.shape));
  const auto at = static_cast<size_t>(context.axis(axis, data.rank()));
  for (size_t i = 0; i < data.shape.size(); ++i) {
    if (rows && i > at) {
      context.check(indices.shape[i].isConstant(1) && updates.shape[i] == data.shape[i],
                    "axis {} of rows: data {}, indices {} and updates {} do not fit", i, text(data.shape),
                    text(indices.shape), text(updates.shape));
      continue;
    }
    const Extent n = context.merge(indices.shape[i], updates.shape[i], "indices and updates");
    context.check(i == at || !n.isConstant() || !data.shape[i].isConstant() || n.constant() <= data.shape[i].constant(),
                  "axis {}: indices {} exceed the data {}", i, text(indices.shape), text(data.shape));
  }
  context.output(data.dtype, data.shape);
}

void ScatterReduce::evaluate(const EvalContext& context) const {
  const auto& out = context.outputs[0];
  if (isFloating(out.dtype)) {
    combine<double>(
        *this, context, [](const TensorView& from, int64_t i) { return from.loadDouble(i); },
        [&](int64_t i, double value) { out.storeDouble(i, value); });
  } else {
    combine<int64_t>(
        *this, context, [](const TensorView& from, int64_t i) { return from.loadInt(i); },
        [&](int64_t i, int64_t value) { out.storeInt(i, wrapped(value, out.dtype)); });
  }
}

OperatorInfo operatorInfo_scatter_reduce() { return describe<ScatterReduce>(); }

}  // namespace tenon::ops
