// Resizing: shape rule and separable reference.
#include "ops/op/resize.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/infer_util.h"
#include "ops/resize_taps.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

// Interpolates along one axis: values of extents `dims` become values with extent `out` there.
std::vector<double> resizeAxis(const Resize& op, const std::vector<double>& values, const Dims& dims, int axis,
                               int64_t out) {
  const int64_t in = dims[axis];
  const int64_t inner = dims.count(axis + 1, dims.rank);
  const int64_t outer = dims.count(0, axis);
  std::vector<double> result(static_cast<size_t>(outer * out * inner));
  for (int64_t o = 0; o < out && !result.empty(); ++o) {
    const auto taps = resizeTaps(op, static_cast<size_t>(axis), o, in, out);
    for (int64_t r = 0; r < outer; ++r) {
      double* target = result.data() + (r * out + o) * inner;
      for (const auto& tap : taps) {
        if (tap.weight == 0) continue;  // an infinity beside an exact hit must not become NaN
        const double* source = values.data() + (r * in + tap.index) * inner;
        for (int64_t i = 0; i < inner; ++i) target[i] += tap.weight * source[i];
      }
    }
  }
  return result;
}

// Nearest copies elements: exact for every type.
void resizeNearest(const Resize& op, const TensorView& x, const TensorView& out) {
  const auto strides = x.dims.strides();
  std::vector<std::vector<int64_t>> offsets(static_cast<size_t>(x.dims.rank));
  for (int axis = 0; axis < x.dims.rank; ++axis) {
    const auto a = static_cast<size_t>(axis);
    for (int64_t o = 0; o < out.dims[axis]; ++o) {
      offsets[a].push_back(resizeTaps(op, a, o, x.dims[axis], out.dims[axis])[0].index * strides[a]);
    }
  }
  const ElementCopy copy(x, out);
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) {
    int64_t from = 0;
    for (size_t a = 0; a < offsets.size(); ++a) from += offsets[a][static_cast<size_t>(i.index[a])];
    copy(from, position);
  }
}

}  // namespace

Facts Resize::facts() const { return {}; }

Resize Resize::bound(const SymbolValues* symbols) const {
  Resize result = *this;
  for (size_t axis = 0; axis < scaleBits.size(); ++axis) {
    const auto& bits = scaleBits[axis];
    const int64_t value = bits.isConstant() ? bits.constant() : bits.evaluate(*symbols);
    const auto scale = std::bit_cast<float>(static_cast<int32_t>(value));
    checkUser(scale > 0 && std::isfinite(scale), "resize: the scale of axis {} is {}; expected a number above zero",
              axis, scale);
    result.scales.push_back(scale);
  }
  result.scaleBits.clear();
  return result;
}

bool Resize::isScaled(size_t axis) const {
  if (scaleBits.empty()) return !scales.empty() && scales[axis] != 1;
  return !scaleBits[axis].isConstant(std::bit_cast<int32_t>(1.f));
}

void Resize::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.check(shape.size() == x.shape.size(), "shape {} needs one entry per axis of the input {}", text(shape),
                text(x.shape));
  context.check(scales.empty() || scales.size() == shape.size(), "{} scales, expected none or one per axis of {}",
                scales.size(), text(shape));
  for (const auto scale : scales) context.check(scale > 0, "scale {} is not above zero", scale);
  context.check(scaleBits.empty() || (scales.empty() && scaleBits.size() == shape.size()),
                "{} computed scales beside {} given ones, expected one per axis of {}", scaleBits.size(), scales.size(),
                text(shape));
  context.check(mode == ResizeMode::kNearest || isFloating(x.dtype) || bits(x.dtype) <= 8,
                "input of type {}, expected a floating type or 8 bits to interpolate", name(x.dtype));
  for (size_t i = 0; i < shape.size(); ++i) {
    context.check(!x.shape[i].isConstant(0) || !shape[i].isConstant() || shape[i].isConstant(0),
                  "axis {} is empty and cannot become {}", i, shape[i].text());
  }
  context.output(x.dtype, shape);
}

void Resize::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& out = context.outputs[0];
  if (out.count() == 0) return;
  checkUser(x.count() > 0, "resize: the input {} is empty, the output {} is not", x.dims.text(), out.dims.text());
  if (!scaleBits.empty()) return bound(context.symbols).evaluate(context);
  if (mode == ResizeMode::kNearest) return resizeNearest(*this, x, out);
  auto values = toDoubles(x);
  Dims dims = x.dims;
  for (int axis = 0; axis < dims.rank; ++axis) {
    values = resizeAxis(*this, values, dims, axis, out.dims[axis]);
    dims[axis] = out.dims[axis];
  }
  const bool floating = isFloating(out.dtype);
  for (size_t i = 0; i < values.size(); ++i) {
    out.storeDouble(static_cast<int64_t>(i), floating ? values[i] : std::nearbyint(values[i]));
  }
}

OperatorInfo operatorInfo_resize() { return describe<Resize>(); }

}  // namespace tenon::ops
