// Movement operations of the emitter: reshape, transpose, slice, concatenation, gather, reduction.
#include <numeric>

#include "emitter.h"
#include "fold.h"

namespace tenon::onnxparser {

using nvinfer1::ElementWiseOperation;
using nvinfer1::SampleMode;

namespace {

bool allKnown(const Extents& extents) {
  for (const Extent& extent : extents) {
    if (!extent.known()) {
      return false;
    }
  }
  return true;
}

Shape numbersOf(const Extents& extents) {
  Shape shape;
  for (const Extent& extent : extents) {
    shape.push_back(extent.known() ? extent.value : 0);
  }
  return shape;
}

// Replaces the one -1 of `target` by what remains of `count` elements and checks that the counts agree.
void resolveWildcard(Shape& target, const Shape& from) {
  const int64_t count = elementCount(from);
  int64_t rest = 1;
  int64_t* wildcard = nullptr;
  for (int64_t& extent : target) {
    if (extent == -1 && wildcard == nullptr) {
      wildcard = &extent;
    } else if (extent < 0) {
      fail(ErrorCode::kINVALID_NODE, fmt::format("reshape of {} to {}: extents must be 0 or more, and -1 once at most",
                                                 toString(from), toString(target)));
    } else if (__builtin_mul_overflow(rest, extent, &rest)) {
      fail(ErrorCode::kINVALID_NODE, fmt::format("reshape of {} ({} elements) to {}, which has more elements than 2^63",
                                                 toString(from), count, toString(target)));
    }
  }
  if (wildcard != nullptr) {
    *wildcard = rest == 0 ? 0 : count / rest;
    rest *= *wildcard;
  }
  if (rest != count) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("reshape of {} ({} elements) to {} ({} elements): the counts differ",
                                               toString(from), count, toString(target), rest));
  }
}

}  // namespace

Value Emitter::reshape(const Value& value, const Extents& target) {
  const Extents in = dims(value);
  if (in == target) {
    return value;
  }
  Extents goal = target;
  if (allKnown(in) && allKnown(target)) {
    Shape numbers = numbersOf(target);
    resolveWildcard(numbers, numbersOf(in));
    if (value.isConstant()) {
      return store_.add(value.constant().type, numbers, value.constant().data, value.constant().name);
    }
    for (size_t i = 0; i < goal.size(); ++i) {
      goal[i] = Extent::of(numbers[i]);
    }
  }
  if (value.isExtents() && goal.size() <= 1 && allKnown(goal)) {
    return fromExtents(value.extents(), goal.empty(), value.extentsType());
  }
  return reshapeTensor(value, std::move(goal));
}

// The static form where it can say it: 0 copies the extent of the input at that place, -1 is what remains.
Value Emitter::reshapeTensor(const Value& value, Extents target) {
  const Extents in = dims(value);
  Shape numbers;
  bool hasZero = false;
  bool copies = false;
  int64_t unknown = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    const bool copied = !target[i].known() && i < in.size() && target[i] == in[i];
    const bool rest = !target[i].known() && !copied;
    hasZero = hasZero || target[i].is(0);
    copies = copies || copied;
    unknown += (rest || target[i].is(-1)) ? 1 : 0;
    numbers.push_back(copied ? 0 : (rest ? -1 : target[i].value));
  }
  auto& layer = added(network_.addShuffle(tensor(value)), "addShuffle");
  layer.setZeroIsPlaceholder(copies);
  if (unknown <= 1 && !(hasZero && (copies || unknown > 0))) {
    layer.setReshapeDimensions(toDims(numbers));
  } else {
    layer.setZeroIsPlaceholder(false);
    layer.setInput(1, shapeTensor(target));
  }
  return output(layer);
}

Value Emitter::unsqueeze(const Value& value, const std::vector<int64_t>& axes) {
  const Extents in = dims(value);
  const size_t rank = in.size() + axes.size();
  std::vector<bool> inserted(rank, false);
  for (const int64_t axis : axes) {
    const auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(rank), "unsqueezed axis"));
    if (inserted[at]) {
      fail(ErrorCode::kINVALID_NODE, fmt::format("axis {} is unsqueezed twice", axis));
    }
    inserted[at] = true;
  }
  Extents target;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    target.push_back(inserted[i] ? Extent::of(1) : in[next++]);
  }
  return reshape(value, target);
}

Value Emitter::squeeze(const Value& value, const std::vector<int64_t>& axes) {
  const Extents in = dims(value);
  std::vector<bool> removed(in.size(), false);
  for (const int64_t axis : axes) {
    const auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(in.size()), "squeezed axis"));
    if (in[at].known() && in[at].value != 1) {
      fail(ErrorCode::kINVALID_NODE, fmt::format("squeezed axis {} of shape {} has extent {}; expected 1", axis,
                                                 toString(shapeOf(value)), in[at].value));
    }
    removed[at] = true;
  }
  Extents target;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!removed[i]) {
      target.push_back(in[i]);
    }
  }
  return reshape(value, target);
}

Value Emitter::transpose(const Value& value, const std::vector<int32_t>& order) {
  bool identity = true;
  for (size_t i = 0; i < order.size(); ++i) {
    identity = identity && order[i] == static_cast<int32_t>(i);
  }
  if (identity) {
    return value;
  }
  if (value.isConstant()) {
    if (const Constant* folded = foldTranspose(store_, value.constant(), order)) {
      return *folded;
    }
  }
  nvinfer1::Permutation permutation{};
  for (size_t i = 0; i < order.size(); ++i) {
    permutation.order[i] = order[i];
  }
  auto& layer = added(network_.addShuffle(tensor(value)), "addShuffle");
  layer.setFirstTranspose(permutation);
  return output(layer);
}

Value Emitter::concat(const Values& values, int32_t axis) {
  if (values.size() == 1) {
    return values.front();
  }
  std::vector<const Constant*> constants;
  Extents all;
  bool lists = true;
  bool unknown = false;
  for (const Value& value : values) {
    if (value.isConstant()) {
      constants.push_back(&value.constant());
    }
    Extents part;
    lists = lists && rankOf(value) == 1 && asList(value, part);
    unknown = unknown || value.isExtents();
    all.insert(all.end(), part.begin(), part.end());
  }
  if (constants.size() == values.size()) {
    if (const Constant* folded = foldConcat(store_, constants, axis)) {
      return *folded;
    }
  }
  if (lists && unknown) {
    return fromExtents(std::move(all), false, typeOf(values.front()));
  }
  std::vector<nvinfer1::ITensor*> tensors;
  for (const Value& value : values) {
    tensors.push_back(&tensor(value));
  }
  auto& layer =
      added(network_.addConcatenation(tensors.data(), static_cast<int32_t>(tensors.size())), "addConcatenation");
  layer.setAxis(axis);
  return output(layer);
}

Value Emitter::slice(const Value& value, const Extents& start, const Extents& size, const Extents& stride) {
  const bool fixed = allKnown(start) && allKnown(size) && allKnown(stride);
  if (fixed && value.isConstant()) {
    if (const Constant* folded =
            foldSlice(store_, value.constant(), numbersOf(start), numbersOf(size), numbersOf(stride))) {
      return *folded;
    }
  }
  if (fixed && value.isExtents() && !value.scalarExtents()) {
    Extents picked;
    for (int64_t i = 0; i < size[0].value; ++i) {
      const int64_t at = start[0].value + i * stride[0].value;
      if (at < 0 || at >= static_cast<int64_t>(value.extents().size())) {
        fail(ErrorCode::kINVALID_NODE,
             fmt::format("slice reads element {} of a list of {}", at, value.extents().size()));
      }
      picked.push_back(value.extents()[static_cast<size_t>(at)]);
    }
    return fromExtents(std::move(picked), false, value.extentsType());
  }
  return slice(value, start, size, stride, SampleMode::kSTRICT_BOUNDS, {});
}

Value Emitter::slice(const Value& value, const Extents& start, const Extents& size, const Extents& stride,
                     SampleMode mode, const Value& fill) {
  nvinfer1::ITensor& input = tensor(value);
  auto& layer =
      added(network_.addSlice(input, toDims(numbersOf(start)), toDims(numbersOf(size)), toDims(numbersOf(stride))),
            "addSlice");
  layer.setMode(mode);
  const Extents* parts[] = {&start, &size, &stride};
  for (int32_t i = 0; i < 3; ++i) {
    if (!allKnown(*parts[i])) {
      layer.setInput(i + 1, shapeTensor(*parts[i]));
    }
  }
  if (!fill.isNone()) {
    layer.setInput(4, tensor(fill));
  }
  return output(layer);
}

Value Emitter::expand(const Value& value, const Extents& target) {
  const Value aligned = alignRank(value, static_cast<int64_t>(target.size()));
  const Extents in = dims(aligned);
  if (in == target) {
    return aligned;
  }
  Extents stride;
  for (size_t i = 0; i < in.size(); ++i) {
    // An extent of 1 repeats its element; one that is unknown may turn out to be 1.
    const Extent less = combine(in[i], Extent::of(1), ElementWiseOperation::kSUB);
    stride.push_back(in[i] == target[i] ? Extent::of(1) : combine(less, Extent::of(1), ElementWiseOperation::kMIN));
  }
  return slice(aligned, Extents(in.size(), Extent::of(0)), target, stride);
}

Value Emitter::gather(const Value& value, const Value& indices, int32_t axis) {
  if (indices.isConstant() && value.isConstant()) {
    if (const Constant* folded = foldGather(store_, value.constant(), indices.constant(), axis)) {
      return *folded;
    }
  }
  if (indices.isConstant() && value.isExtents() && indices.constant().shape.size() <= 1) {
    const auto count = static_cast<int64_t>(value.extents().size());
    Extents picked;
    for (const int64_t index : toInts(indices.constant())) {
      const int32_t at = normalizeAxis(index, count, "gathered index");
      picked.push_back(value.extents()[static_cast<size_t>(at)]);
    }
    return fromExtents(std::move(picked), indices.constant().shape.empty(), value.extentsType());
  }
  return output(added(network_.addGather(tensor(value), tensor(indices), axis), "addGather"));
}

Value Emitter::reduce(const Value& value, nvinfer1::ReduceOperation operation, uint32_t axes, bool keepDimensions) {
  if (value.isConstant()) {
    if (const Constant* folded = foldReduce(store_, value.constant(), operation, axes, keepDimensions)) {
      return *folded;
    }
  }
  if (value.isExtents() && !value.scalarExtents() && axes == 1 && operation == nvinfer1::ReduceOperation::kPROD) {
    const Extent all = product(value.extents(), 0, value.extents().size());
    return fromExtents({all}, !keepDimensions, value.extentsType());
  }
  return output(added(network_.addReduce(tensor(value), operation, axes, keepDimensions), "addReduce"));
}

}  // namespace tenon::onnxparser
