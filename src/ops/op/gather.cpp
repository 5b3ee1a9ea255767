// Gather: shape rules of the three modes, contents, reference.
#include "ops/op/gather.h"

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

void append(Shape& shape, const Shape& from, size_t first, size_t last) {
  shape.insert(shape.end(), from.begin() + static_cast<std::ptrdiff_t>(first),
               from.begin() + static_cast<std::ptrdiff_t>(last));
}

// Extent of the last axis of nd indices: how many axes of data one index names.
size_t indexLength(const InferContext& context, const Gather& gather, const Shape& data, const Shape& indices) {
  context.check(!indices.empty() && indices.back().isConstant(),
                "indices {} of mode nd need a last extent that is known while building", text(indices));
  const int64_t length = indices.back().constant();
  const auto room = static_cast<int64_t>(data.size()) - gather.batchDims;
  context.check(gather.batchDims < static_cast<int64_t>(indices.size()),
                "batchDims {} leaves no index axis in the indices {}", gather.batchDims, text(indices));
  context.check(length >= 1 && length <= room, "an index names {} axes, the data {} has {} after batchDims {}", length,
                text(data), room, gather.batchDims);
  return static_cast<size_t>(length);
}

Shape defaultShape(const InferContext& context, const Gather& gather, const Shape& data, const Shape& indices) {
  const auto at = static_cast<size_t>(context.axis(gather.axis, static_cast<int>(data.size())));
  const auto batch = static_cast<size_t>(gather.batchDims);
  context.check(batch <= at, "batchDims {} exceeds the axis {}", batch, at);
  Shape shape;
  for (size_t i = 0; i < batch; ++i) shape.push_back(context.merge(data[i], indices[i], "batch extents"));
  append(shape, data, batch, at);
  append(shape, indices, batch, indices.size());
  append(shape, data, at + 1, data.size());
  return shape;
}

Shape ndShape(const InferContext& context, const Gather& gather, const Shape& data, const Shape& indices) {
  const auto batch = static_cast<size_t>(gather.batchDims);
  const size_t length = indexLength(context, gather, data, indices);
  Shape shape;
  for (size_t i = 0; i < batch; ++i) shape.push_back(context.merge(data[i], indices[i], "batch extents"));
  append(shape, indices, batch, indices.size() - 1);
  append(shape, data, batch + length, data.size());
  return shape;
}

// Data of rank 1 and known indices: all modes pick single elements.
Contents gatherContents(const InferContext& context, const Gather& gather, const Shape& shape) {
  const auto& data = context.input(0);
  const auto& indices = context.input(1);
  if (data.rank() != 1 || gather.batchDims != 0 || !data.contents || !indices.contents || !followsContents(shape)) {
    return std::nullopt;
  }
  std::vector<Extent> result;
  const auto count = static_cast<int64_t>(data.contents->size());
  for (const auto& index : *indices.contents) {
    if (!index.isConstant()) return std::nullopt;
    const int64_t value = index.constant();
    context.check(value >= -count && value < count, "index {} is outside the axis of extent {}", value, count);
    result.push_back((*data.contents)[static_cast<size_t>(value < 0 ? value + count : value)]);
  }
  return result;
}

bool isInside(int64_t index, int64_t extent) { return index >= -extent && index < extent; }

std::string outsideText(int64_t index, int64_t extent, int axis) {
  return fmt::format("index {} is outside axis {} of extent {}", index, axis, extent);
}

int64_t checkedIndex(int64_t index, int64_t extent, int axis) {
  if (!isInside(index, extent)) throw UserError("gather: {}", outsideText(index, extent, axis));
  return index < 0 ? index + extent : index;
}

void evaluateDefault(const Gather& gather, const EvalContext& context) {
  const auto& data = context.inputs[0];
  const auto& indices = context.inputs[1];
  const ElementCopy copy(data, context.outputs[0]);
  const int at = positiveAxis(gather.axis, data.dims.rank);
  const auto batch = static_cast<int>(gather.batchDims);
  const int64_t batches = data.dims.count(0, batch);
  const int64_t outer = data.dims.count(batch, at);
  const int64_t picks = indices.dims.count(batch, indices.dims.rank);
  const int64_t inner = data.dims.count(at + 1, data.dims.rank);
  const int64_t extent = data.dims[at];
  int64_t position = 0;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t p = 0; p < picks; ++p) {
        if (inner == 0) continue;
        const int64_t index = checkedIndex(indices.loadInt(b * picks + p), extent, at);
        for (int64_t i = 0; i < inner; ++i) copy(((b * outer + o) * extent + index) * inner + i, position++);
      }
    }
  }
}

void evaluateElement(const Gather& gather, const EvalContext& context) {
  const auto& data = context.inputs[0];
  const auto& indices = context.inputs[1];
  const ElementCopy copy(data, context.outputs[0]);
  const int at = positiveAxis(gather.axis, data.dims.rank);
  auto strides = data.dims.strides();
  const int64_t axisStride = strides[static_cast<size_t>(at)];
  strides[static_cast<size_t>(at)] = 0;
  int64_t position = 0;
  for (IndexIterator i(indices.dims); i.valid(); i.next(), ++position) {
    copy(i.dot(strides) + checkedIndex(indices.loadInt(position), data.dims[at], at) * axisStride, position);
  }
}

void evaluateNd(const Gather& gather, const EvalContext& context) {
  const auto& data = context.inputs[0];
  const auto& indices = context.inputs[1];
  const ElementCopy copy(data, context.outputs[0]);
  const auto batch = static_cast<int>(gather.batchDims);
  const auto length = static_cast<int>(indices.dims[indices.dims.rank - 1]);
  const auto strides = data.dims.strides();
  const int64_t batches = data.dims.count(0, batch);
  const int64_t picks = indices.dims.count(batch, indices.dims.rank - 1);
  const int64_t inner = data.dims.count(batch + length, data.dims.rank);
  const int64_t batchSize = data.dims.count(batch, data.dims.rank);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t p = 0; p < picks; ++p) {
      if (inner == 0) continue;
      const int64_t row = b * picks + p;
      int64_t from = b * batchSize;
      for (int k = 0; k < length; ++k) {
        const int axis = batch + k;
        from +=
            checkedIndex(indices.loadInt(row * length + k), data.dims[axis], axis) * strides[static_cast<size_t>(axis)];
      }
      for (int64_t i = 0; i < inner; ++i) copy(from + i, row * inner + i);
    }
  }
}

}  // namespace

Facts Gather::facts() const {
  Facts facts;
  facts.movement = true;
  facts.indices = Indices{1, mode == GatherMode::kNd ? std::nullopt : std::optional(axis)};
  return facts;
}

void Gather::infer(InferContext& context) const {
  const auto& data = context.input(0);
  const auto& indices = context.input(1);
  context.check(indices.dtype == DataType::kI32 || indices.dtype == DataType::kI64,
                "indices have type {}, expected i32 or i64", name(indices.dtype));
  context.check(batchDims >= 0 && batchDims <= std::min(data.rank(), indices.rank()),
                "batchDims is {}, expected 0 to the rank of data {} and indices {}", batchDims, text(data.shape),
                text(indices.shape));
  Shape shape;
  switch (mode) {
    case GatherMode::kDefault: shape = defaultShape(context, *this, data.shape, indices.shape); break;
    case GatherMode::kNd: shape = ndShape(context, *this, data.shape, indices.shape); break;
    case GatherMode::kElement: {
      context.check(batchDims == 0, "batchDims is {}, mode element takes 0", batchDims);
      context.check(data.rank() == indices.rank(), "data {} and indices {} have different ranks", text(data.shape),
                    text(indices.shape));
      const auto at = static_cast<size_t>(context.axis(axis, data.rank()));
      for (size_t i = 0; i < data.shape.size(); ++i) {
        const auto& n = indices.shape[i];
        const auto& limit = data.shape[i];
        context.check(i == at || !n.isConstant() || !limit.isConstant() || n.constant() <= limit.constant(),
                      "axis {}: indices {} exceed the data {}", i, text(indices.shape), text(data.shape));
      }
      shape = indices.shape;
      break;
    }
  }
  auto contents = gatherContents(context, *this, shape);
  context.output(data.dtype, std::move(shape), std::move(contents));
}

void Gather::evaluate(const EvalContext& context) const {
  switch (mode) {
    case GatherMode::kDefault: return evaluateDefault(*this, context);
    case GatherMode::kElement: return evaluateElement(*this, context);
    case GatherMode::kNd: return evaluateNd(*this, context);
  }
}

std::string Gather::outside(const Dims& data, const TensorView& indices) const {
  const bool isNd = mode == GatherMode::kNd;
  // Axes that consecutive indices are of, in turn.
  const int first = isNd ? static_cast<int>(batchDims) : positiveAxis(axis, data.rank);
  const int64_t axes = isNd ? indices.dims[indices.dims.rank - 1] : 1;
  const int64_t count = indices.dims.count();
  for (int64_t i = 0; i < count; ++i) {
    const int at = first + static_cast<int>(i % axes);
    const int64_t index = indices.loadInt(i);
    if (!isInside(index, data[at])) return outsideText(index, data[at], at);
  }
  return {};
}

OperatorInfo operatorInfo_gather() { return describe<Gather>(); }

}  // namespace tenon::ops
