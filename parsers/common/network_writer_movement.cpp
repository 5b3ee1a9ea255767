// Movement operations of the network writer: reshape, transpose, slice, concatenation, gather, reduction.
#include <numeric>

#include "fold.h"
#include "network_writer.h"

namespace tenon::parsers {

using nvinfer1::ElementWiseOperation;
using nvinfer1::SampleMode;

namespace {

bool allKnown(const ParsedExtents& extents) {
  for (const ParsedExtent& extent : extents) {
    if (!extent.known()) {
      return false;
    }
  }
  return true;
}

Dimensions numbersOf(const ParsedExtents& extents) {
  Dimensions shape;
  for (const ParsedExtent& extent : extents) {
    shape.push_back(extent.known() ? extent.value : 0);
  }
  return shape;
}

// Replaces the one -1 of `target` by what remains of `count` elements and checks that the counts agree.
void resolveWildcard(Dimensions& target, const Dimensions& from) {
  const int64_t count = elementCount(from);
  int64_t rest = 1;
  int64_t* wildcard = nullptr;
  for (int64_t& extent : target) {
    if (extent == -1 && wildcard == nullptr) {
      wildcard = &extent;
    } else if (extent < 0) {
      fail(FaultKind::kInvalidNode, fmt::format("reshape of {} to {}: extents must be 0 or more, and -1 once at most",
                                                toString(from), toString(target)));
    } else if (__builtin_mul_overflow(rest, extent, &rest)) {
      fail(FaultKind::kInvalidNode, fmt::format("reshape of {} ({} elements) to {}, which has more elements than 2^63",
                                                toString(from), count, toString(target)));
    }
  }
  if (wildcard != nullptr) {
    *wildcard = rest == 0 ? 0 : count / rest;
    rest *= *wildcard;
  }
  if (rest != count) {
    fail(FaultKind::kInvalidNode, fmt::format("reshape of {} ({} elements) to {} ({} elements): the counts differ",
                                              toString(from), count, toString(target), rest));
  }
}

}  // namespace

ParsedValue NetworkWriter::reshape(const ParsedValue& value, const ParsedExtents& target) {
  const ParsedExtents in = dims(value);
  if (in == target) {
    return value;
  }
  ParsedExtents goal = target;
  if (allKnown(in) && allKnown(target)) {
    Dimensions numbers = numbersOf(target);
    resolveWildcard(numbers, numbersOf(in));
    if (value.isConstant()) {
      return store_.add(value.constant().type, numbers, value.constant().data, value.constant().name);
    }
    for (size_t i = 0; i < goal.size(); ++i) {
      goal[i] = ParsedExtent::of(numbers[i]);
    }
  }
  if (value.isExtents() && goal.size() <= 1 && allKnown(goal)) {
    return fromExtents(value.extents(), goal.empty(), value.extentsType());
  }
  return reshapeTensor(value, std::move(goal));
}

// The static form where it can say it: 0 copies the extent of the input at that place, -1 is what remains.
ParsedValue NetworkWriter::reshapeTensor(const ParsedValue& value, ParsedExtents target) {
  const ParsedExtents in = dims(value);
  Dimensions numbers;
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

ParsedValue NetworkWriter::unsqueeze(const ParsedValue& value, const std::vector<int64_t>& axes) {
  const ParsedExtents in = dims(value);
  const size_t rank = in.size() + axes.size();
  std::vector<bool> inserted(rank, false);
  for (const int64_t axis : axes) {
    const auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(rank), "unsqueezed axis"));
    if (inserted[at]) {
      fail(FaultKind::kInvalidNode, fmt::format("axis {} is unsqueezed twice", axis));
    }
    inserted[at] = true;
  }
  ParsedExtents target;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    target.push_back(inserted[i] ? ParsedExtent::of(1) : in[next++]);
  }
  return reshape(value, target);
}

ParsedValue NetworkWriter::squeeze(const ParsedValue& value, const std::vector<int64_t>& axes) {
  const ParsedExtents in = dims(value);
  std::vector<bool> removed(in.size(), false);
  for (const int64_t axis : axes) {
    const auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(in.size()), "squeezed axis"));
    if (in[at].known() && in[at].value != 1) {
      fail(FaultKind::kInvalidNode, fmt::format("squeezed axis {} of shape {} has extent {}; expected 1", axis,
                                                toString(shapeOf(value)), in[at].value));
    }
    removed[at] = true;
  }
  ParsedExtents target;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!removed[i]) {
      target.push_back(in[i]);
    }
  }
  return reshape(value, target);
}

ParsedValue NetworkWriter::transpose(const ParsedValue& value, const std::vector<int32_t>& order) {
  bool identity = true;
  for (size_t i = 0; i < order.size(); ++i) {
    identity = identity && order[i] == static_cast<int32_t>(i);
  }
  if (identity) {
    return value;
  }
  if (value.isConstant()) {
    if (const WeightBytes* folded = foldTranspose(store_, value.constant(), order)) {
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

ParsedValue NetworkWriter::concat(const ParsedValues& values, int32_t axis) {
  if (values.size() == 1) {
    return values.front();
  }
  std::vector<const WeightBytes*> constants;
  ParsedExtents all;
  bool lists = true;
  bool unknown = false;
  for (const ParsedValue& value : values) {
    if (value.isConstant()) {
      constants.push_back(&value.constant());
    }
    ParsedExtents part;
    lists = lists && rankOf(value) == 1 && asList(value, part);
    unknown = unknown || value.isExtents();
    all.insert(all.end(), part.begin(), part.end());
  }
  if (constants.size() == values.size()) {
    if (const WeightBytes* folded = foldConcat(store_, constants, axis)) {
      return *folded;
    }
  }
  if (lists && unknown) {
    return fromExtents(std::move(all), false, typeOf(values.front()));
  }
  std::vector<nvinfer1::ITensor*> tensors;
  for (const ParsedValue& value : values) {
    tensors.push_back(&tensor(value));
  }
  auto& layer =
      added(network_.addConcatenation(tensors.data(), static_cast<int32_t>(tensors.size())), "addConcatenation");
  layer.setAxis(axis);
  return output(layer);
}

ParsedValue NetworkWriter::slice(const ParsedValue& value, const ParsedExtents& start, const ParsedExtents& size,
                                 const ParsedExtents& stride) {
  const bool fixed = allKnown(start) && allKnown(size) && allKnown(stride);
  if (fixed && value.isConstant()) {
    if (const WeightBytes* folded =
            foldSlice(store_, value.constant(), numbersOf(start), numbersOf(size), numbersOf(stride))) {
      return *folded;
    }
  }
  if (fixed && value.isExtents() && !value.scalarExtents()) {
    ParsedExtents picked;
    for (int64_t i = 0; i < size[0].value; ++i) {
      const int64_t at = start[0].value + i * stride[0].value;
      if (at < 0 || at >= static_cast<int64_t>(value.extents().size())) {
        fail(FaultKind::kInvalidNode,
             fmt::format("slice reads element {} of a list of {}", at, value.extents().size()));
      }
      picked.push_back(value.extents()[static_cast<size_t>(at)]);
    }
    return fromExtents(std::move(picked), false, value.extentsType());
  }
  return slice(value, start, size, stride, SampleMode::kSTRICT_BOUNDS, {});
}

ParsedValue NetworkWriter::slice(const ParsedValue& value, const ParsedExtents& start, const ParsedExtents& size,
                                 const ParsedExtents& stride, SampleMode mode, const ParsedValue& fill) {
  nvinfer1::ITensor& input = tensor(value);
  auto& layer =
      added(network_.addSlice(input, toDims(numbersOf(start)), toDims(numbersOf(size)), toDims(numbersOf(stride))),
            "addSlice");
  layer.setMode(mode);
  const ParsedExtents* parts[] = {&start, &size, &stride};
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

ParsedValue NetworkWriter::expand(const ParsedValue& value, const ParsedExtents& target) {
  const ParsedValue aligned = alignRank(value, static_cast<int64_t>(target.size()));
  const ParsedExtents in = dims(aligned);
  if (in == target) {
    return aligned;
  }
  ParsedExtents stride;
  for (size_t i = 0; i < in.size(); ++i) {
    // An extent of 1 repeats its element; one that is unknown may turn out to be 1.
    const ParsedExtent less = combine(in[i], ParsedExtent::of(1), ElementWiseOperation::kSUB);
    stride.push_back(in[i] == target[i] ? ParsedExtent::of(1)
                                        : combine(less, ParsedExtent::of(1), ElementWiseOperation::kMIN));
  }
  return slice(aligned, ParsedExtents(in.size(), ParsedExtent::of(0)), target, stride);
}

ParsedValue NetworkWriter::gather(const ParsedValue& value, const ParsedValue& indices, int32_t axis) {
  if (indices.isConstant() && value.isConstant()) {
    if (const WeightBytes* folded = foldGather(store_, value.constant(), indices.constant(), axis)) {
      return *folded;
    }
  }
  if (indices.isConstant() && value.isExtents() && indices.constant().shape.size() <= 1) {
    const auto count = static_cast<int64_t>(value.extents().size());
    ParsedExtents picked;
    for (const int64_t index : toInts(indices.constant())) {
      const int32_t at = normalizeAxis(index, count, "gathered index");
      picked.push_back(value.extents()[static_cast<size_t>(at)]);
    }
    return fromExtents(std::move(picked), indices.constant().shape.empty(), value.extentsType());
  }
  return output(added(network_.addGather(tensor(value), tensor(indices), axis), "addGather"));
}

ParsedValue NetworkWriter::reduce(const ParsedValue& value, nvinfer1::ReduceOperation operation, uint32_t axes,
                                  bool keepDimensions) {
  if (value.isConstant()) {
    if (const WeightBytes* folded = foldReduce(store_, value.constant(), operation, axes, keepDimensions)) {
      return *folded;
    }
  }
  if (value.isExtents() && !value.scalarExtents() && axes == 1 && operation == nvinfer1::ReduceOperation::kPROD) {
    const ParsedExtent all = product(value.extents(), 0, value.extents().size());
    return fromExtents({all}, !keepDimensions, value.extentsType());
  }
  return output(added(network_.addReduce(tensor(value), operation, axes, keepDimensions), "addReduce"));
}

}  // namespace tenon::parsers
