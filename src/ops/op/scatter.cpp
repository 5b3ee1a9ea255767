// Scatter: shape rules of both modes, contents, reference.
#include "ops/op/scatter.h"

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

void inferElement(const InferContext& context, const Scatter& scatter) {
  const auto& data = context.input(0).shape;
  const auto& indices = context.input(1).shape;
  const auto& updates = context.input(2).shape;
  context.check(indices.size() == data.size(), "data {} and indices {} have different ranks", text(data),
                text(indices));
  context.check(updates.size() == indices.size(), "updates {} and indices {} have different ranks", text(updates),
                text(indices));
  const auto at = static_cast<size_t>(context.axis(scatter.axis, static_cast<int>(data.size())));
  for (size_t i = 0; i < data.size(); ++i) {
    const Extent n = context.merge(indices[i], updates[i], "indices and updates");
    context.check(i == at || !n.isConstant() || !data[i].isConstant() || n.constant() <= data[i].constant(),
                  "axis {}: indices {} exceed the data {}", i, text(indices), text(data));
  }
}

void inferNd(const InferContext& context) {
  const auto& data = context.input(0).shape;
  const auto& indices = context.input(1).shape;
  const auto& updates = context.input(2).shape;
  context.check(!indices.empty() && indices.back().isConstant(),
                "indices {} of mode nd need a last extent that is known while building", text(indices));
  const int64_t length = indices.back().constant();
  context.check(length >= 1 && length <= static_cast<int64_t>(data.size()),
                "an index names {} axes, the data {} has {}", length, text(data), data.size());
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + length, data.end());
  context.check(updates.size() == expected.size(), "updates have shape {}, expected {}", text(updates), text(expected));
  for (size_t i = 0; i < expected.size(); ++i)
    context.merge(updates[i], expected[i], "updates and what the indices name");
}

// Data of rank 1 and known indices: both modes replace single elements.
Contents scatterContents(const InferContext& context) {
  const auto& data = context.input(0);
  const auto& indices = context.input(1);
  const auto& updates = context.input(2);
  if (data.rank() != 1 || !data.contents || !indices.contents || !updates.contents) return std::nullopt;
  auto result = *data.contents;
  const auto count = static_cast<int64_t>(result.size());
  for (size_t i = 0; i < indices.contents->size(); ++i) {
    const auto& index = (*indices.contents)[i];
    if (!index.isConstant()) return std::nullopt;
    const int64_t value = index.constant();
    context.check(value >= -count && value < count, "index {} is outside the axis of extent {}", value, count);
    result[static_cast<size_t>(value < 0 ? value + count : value)] = (*updates.contents)[i];
  }
  return result;
}

int64_t checkedIndex(int64_t index, int64_t extent, int axis) {
  checkUser(index >= -extent && index < extent, "scatter: index {} is outside axis {} of extent {}", index, axis,
            extent);
  return index < 0 ? index + extent : index;
}

void evaluateElement(const Scatter& scatter, const EvalContext& context) {
  const auto& indices = context.inputs[1];
  const Dims& out = context.outputs[0].dims;
  const ElementCopy copy(context.inputs[2], context.outputs[0]);
  const int at = positiveAxis(scatter.axis, out.rank);
  auto strides = out.strides();
  const int64_t axisStride = strides[static_cast<size_t>(at)];
  strides[static_cast<size_t>(at)] = 0;
  int64_t position = 0;
  for (IndexIterator i(indices.dims); i.valid(); i.next(), ++position) {
    copy(position, i.dot(strides) + checkedIndex(indices.loadInt(position), out[at], at) * axisStride);
  }
}

void evaluateNd(const EvalContext& context) {
  const auto& indices = context.inputs[1];
  const Dims& out = context.outputs[0].dims;
  const ElementCopy copy(context.inputs[2], context.outputs[0]);
  const auto length = static_cast<int>(indices.dims[indices.dims.rank - 1]);
  const auto strides = out.strides();
  const int64_t rows = indices.dims.count(0, indices.dims.rank - 1);
  const int64_t inner = out.count(length, out.rank);
  if (inner == 0) return;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t to = 0;
    for (int k = 0; k < length; ++k) {
      to += checkedIndex(indices.loadInt(row * length + k), out[k], k) * strides[static_cast<size_t>(k)];
    }
    for (int64_t i = 0; i < inner; ++i) copy(row * inner + i, to + i);
  }
}

}  // namespace

Facts Scatter::facts() const {
  Facts facts;
  facts.aliases.push_back({0, 0, false});
  facts.indices = Indices{1, mode == ScatterMode::kNd ? std::nullopt : std::optional(axis)};
  return facts;
}

void Scatter::infer(InferContext& context) const {
  const auto& data = context.input(0);
  const auto& indices = context.input(1);
  const auto& updates = context.input(2);
  context.check(indices.dtype == DataType::kI32 || indices.dtype == DataType::kI64,
                "indices have type {}, expected i32 or i64", name(indices.dtype));
  context.check(updates.dtype == data.dtype, "updates have type {}, the data {}", name(updates.dtype),
                name(data.dtype));
  if (mode == ScatterMode::kNd) {
    inferNd(context);
  } else {
    inferElement(context, *this);
  }
  context.output(data.dtype, data.shape, scatterContents(context));
}

void Scatter::evaluate(const EvalContext& context) const {
  const auto& data = context.inputs[0];
  if (data.data != context.outputs[0].data) copyAll(data, context.outputs[0]);
  if (mode == ScatterMode::kNd) {
    evaluateNd(context);
  } else {
    evaluateElement(*this, context);
  }
}

OperatorInfo operatorInfo_scatter() { return describe<Scatter>(); }

}  // namespace tenon::ops
