// Slice: bounds rule, contents of shape arithmetic, reference.
#include "ops/op/slice.h"

#include <algorithm>
#include <optional>

#include "ops/infer_util.h"
#include "ops/scalar_math.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

// Where index i of an axis of extent n reads under the mode; -1 for outside. n is above zero, but for fill.
int64_t locate(SliceMode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case SliceMode::kClamp: return std::clamp<int64_t>(i, 0, n - 1);
    case SliceMode::kWrap: return scalar_math::floorModulo(i, n);
    case SliceMode::kReflect: {
      if (n == 1) return 0;
      const int64_t folded = scalar_math::floorModulo(i, 2 * (n - 1));
      return folded < n ? folded : 2 * (n - 1) - folded;
    }
    default: return -1;
  }
}

// Nothing where it is beyond 64 bits.
std::optional<int64_t> lastPosition(int64_t start, int64_t size, int64_t stride) {
  int64_t last = 0;
  if (__builtin_sub_overflow(size, 1, &last) || __builtin_mul_overflow(last, stride, &last) ||
      __builtin_add_overflow(start, last, &last))
    return std::nullopt;
  return last;
}

bool readsInside(int64_t start, int64_t last, int64_t n) {
  return std::min(start, last) >= 0 && std::max(start, last) < n;
}

Extent strideOf(const Slice& slice, size_t axis) { return slice.stride.empty() ? Extent(1) : slice.stride[axis]; }

// The error of constant parameters, for an axis.
void checkAxis(const InferContext& context, const Slice& slice, size_t axis, const Extent& n) {
  const Extent& start = slice.start[axis];
  const Extent& size = slice.size[axis];
  const Extent stride = strideOf(slice, axis);
  if (!size.isConstant() || size.isConstant(0)) return;
  std::optional<int64_t> last;
  if (start.isConstant() && stride.isConstant()) {
    last = lastPosition(start.constant(), size.constant(), stride.constant());
    context.check(last.has_value(), "axis {}: start {}, size {} and stride {} overflow 64 bits", axis, start.text(),
                  size.text(), stride.text());
  }
  if (slice.mode == SliceMode::kFill || !n.isConstant()) return;
  context.check(n.constant() > 0, "axis {} of the input is empty, but {} elements are read from it", axis, size.text());
  if (slice.mode != SliceMode::kStrict || !last) return;
  context.check(readsInside(start.constant(), *last, n.constant()),
                "axis {}: start {}, size {} and stride {} exceed the extent {}", axis, start.text(), size.text(),
                stride.text(), n.text());
}

Contents sliceContents(const InferContext& context, const Slice& slice) {
  const auto& x = context.input(0);
  if (!x.contents || !followsContents(slice.size)) return std::nullopt;
  if (slice.size.empty()) return x.contents;
  const Extent stride = strideOf(slice, 0);
  if (!slice.start[0].isConstant() || !stride.isConstant()) return std::nullopt;
  const auto n = static_cast<int64_t>(x.contents->size());
  std::vector<Extent> result;
  for (int64_t i = 0; i < slice.size[0].constant(); ++i) {
    if (n == 0 && slice.mode != SliceMode::kFill) return std::nullopt;
    const int64_t from = locate(slice.mode, slice.start[0].constant() + i * stride.constant(), n);
    if (from >= 0) {
      result.push_back((*x.contents)[static_cast<size_t>(from)]);
    } else if (context.inputCount() < 2) {
      result.push_back(0);
    } else {
      if (!context.input(1).contents) return std::nullopt;
      result.push_back(context.input(1).contents->at(0));
    }
  }
  return result;
}

}  // namespace

Facts Slice::facts() const {
  Facts facts;
  facts.movement = true;
  return facts;
}

void Slice::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const size_t rank = x.shape.size();
  context.check(start.size() == rank && size.size() == rank && (stride.empty() || stride.size() == rank),
                "start {}, size {} and stride {} need one entry per axis of the input {}", text(start), text(size),
                text(stride), text(x.shape));
  if (context.inputCount() > 1) {
    checkSameType(context, 0, 1);
    const Extent count = product(context.input(1).shape);
    context.check(!count.isConstant() || count.isConstant(1), "the fill value has {} elements, expected 1",
                  count.text());
  }
  for (size_t axis = 0; axis < rank; ++axis) checkAxis(context, *this, axis, x.shape[axis]);
  context.output(x.dtype, size, sliceContents(context, *this));
}

void Slice::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& out = context.outputs[0];
  const auto strides = x.dims.strides();
  // For each axis and index of the output, the offset in the input, or -1 for outside.
  std::vector<std::vector<int64_t>> offsets(static_cast<size_t>(out.dims.rank));
  for (size_t axis = 0; axis < offsets.size(); ++axis) {
    const int64_t n = x.dims[static_cast<int>(axis)];
    const int64_t first = context.value(start[axis]);
    const int64_t step = context.value(strideOf(*this, axis));
    const int64_t count = out.dims[static_cast<int>(axis)];
    if (out.count() == 0) continue;
    const auto last = lastPosition(first, count, step);
    const bool legal =
        last && (mode == SliceMode::kStrict ? readsInside(first, *last, n) : mode == SliceMode::kFill || n > 0);
    checkUser(legal, "slice ({}): axis {}: start {}, size {} and stride {} exceed the extent {}",
              enumNames(mode)[static_cast<size_t>(mode)], axis, first, count, step, n);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t from = n == 0 ? -1 : locate(mode, first + i * step, n);
      offsets[axis].push_back(from < 0 ? -1 : from * strides[axis]);
    }
  }
  const HostTensor zero(x.dtype, Dims{});
  const ElementCopy copy(x, out);
  const ElementCopy copyFill(context.inputs.size() > 1 ? context.inputs[1] : zero.view(), out);
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) {
    int64_t from = 0;
    for (size_t axis = 0; axis < offsets.size() && from >= 0; ++axis) {
      const int64_t offset = offsets[axis][static_cast<size_t>(i.index[axis])];
      from = offset < 0 ? -1 : from + offset;
    }
    if (from >= 0) {
      copy(from, position);
    } else {
      copyFill(0, position);
    }
  }
}

OperatorInfo operatorInfo_slice() { return describe<Slice>(); }

}  // namespace tenon::ops
