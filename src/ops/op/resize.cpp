// Resizing: shape rule and separable reference.
#include "ops/op/resize.h"

#include <algorithm>
#include <cmath>

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

// One input element and its weight in an output element, along one axis.
struct Tap {
  int64_t index;
  double weight;
};

double coordinate(const Resize& op, size_t axis, int64_t o, int64_t in, int64_t out) {
  if (out == 1 && op.selector == SelectorForSinglePixel::kUpper) return 0;
  const auto ratio = [](int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  if (op.coordinates == CoordinateTransform::kAlignCorners) return out == 1 ? 0 : ratio(o * (in - 1), out - 1);
  const bool halfPixel = op.coordinates == CoordinateTransform::kHalfPixel;
  if (op.scales.empty()) return halfPixel ? ratio((2 * o + 1) * in - out, 2 * out) : ratio(o * in, out);
  const auto scale = static_cast<float>(op.scales[axis]);
  const auto position = static_cast<float>(o);
  return halfPixel ? (position + 0.5f) / scale - 0.5f : position / scale;
}

int64_t nearestIndex(NearestRounding rounding, double x) {
  switch (rounding) {
    case NearestRounding::kHalfUp:
      return static_cast<int64_t>(std::floor(x + 0.5));
    case NearestRounding::kHalfDown:
      return static_cast<int64_t>(std::ceil(x - 0.5));
    case NearestRounding::kFloor:
      return static_cast<int64_t>(std::floor(x));
    default:
      return static_cast<int64_t>(std::ceil(x));
  }
}

// The cubic convolution kernel at distance x, with coefficient a (-0.75 or -0.5 usually).
double cubicWeight(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

std::vector<Tap> cubicTaps(const Resize& op, double x, int64_t in) {
  const auto floor = static_cast<int64_t>(std::floor(x));
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t i = floor - 1; i <= floor + 2; ++i) {
    const bool outside = i < 0 || i >= in;
    if (outside && op.excludeOutside) continue;
    const double weight = cubicWeight(op.cubicCoeff, x - static_cast<double>(i));
    taps.push_back({std::clamp<int64_t>(i, 0, in - 1), weight});
    sum += weight;
  }
  if (op.excludeOutside) {
    for (auto& tap : taps) tap.weight /= sum;
  }
  return taps;
}

std::vector<Tap> tapsOf(const Resize& op, size_t axis, int64_t o, int64_t in, int64_t out) {
  const double x = coordinate(op, axis, o, in, out);
  const auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
  if (op.mode == ResizeMode::kNearest) return {{inside(nearestIndex(op.rounding, x)), 1}};
  if (op.mode == ResizeMode::kCubic)
    return in == out && x == static_cast<double>(o) ? std::vector<Tap>{{o, 1}} : cubicTaps(op, x, in);
  const double floor = std::floor(x);
  const auto i = static_cast<int64_t>(floor);
  return {{inside(i), 1 - (x - floor)}, {inside(i + 1), x - floor}};
}

// Interpolates along one axis: values of extents `dims` become values with extent `out` there.
std::vector<double> resizeAxis(const Resize& op, const std::vector<double>& values, const Dims& dims, int axis,
                               int64_t out) {
  const int64_t in = dims[axis];
  const int64_t inner = dims.count(axis + 1, dims.rank);
  const int64_t outer = dims.count(0, axis);
  std::vector<double> result(static_cast<size_t>(outer * out * inner));
  for (int64_t o = 0; o < out && !result.empty(); ++o) {
    const auto taps = tapsOf(op, static_cast<size_t>(axis), o, in, out);
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
      offsets[a].push_back(tapsOf(op, a, o, x.dims[axis], out.dims[axis])[0].index * strides[a]);
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

Facts Resize::facts() const {
  return {};
}

void Resize::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.check(shape.size() == x.shape.size(), "shape {} needs one entry per axis of the input {}", text(shape),
                text(x.shape));
  context.check(scales.empty() || scales.size() == shape.size(), "{} scales, expected none or one per axis of {}",
                scales.size(), text(shape));
  for (const auto scale : scales) context.check(scale > 0, "scale {} is not above zero", scale);
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

OperatorInfo operatorInfo_resize() {
  return describe<Resize>();
}

}  // namespace tenon::ops
