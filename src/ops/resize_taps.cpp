// Coordinates, rounding and weights of a resize.
#include "ops/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace tenon::ops {
namespace {

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
    case NearestRounding::kHalfUp: return static_cast<int64_t>(std::floor(x + 0.5));
    case NearestRounding::kHalfDown: return static_cast<int64_t>(std::ceil(x - 0.5));
    case NearestRounding::kFloor: return static_cast<int64_t>(std::floor(x));
    default: return static_cast<int64_t>(std::ceil(x));
  }
}

// The cubic convolution kernel at distance x, with coefficient a (-0.75 or -0.5 usually).
double cubicWeight(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

std::vector<ResizeTap> cubicTaps(const Resize& op, double x, int64_t in) {
  const auto floor = static_cast<int64_t>(std::floor(x));
  std::vector<ResizeTap> taps;
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

}  // namespace

std::vector<ResizeTap> resizeTaps(const Resize& op, size_t axis, int64_t o, int64_t in, int64_t out) {
  const double x = coordinate(op, axis, o, in, out);
  const auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
  if (op.mode == ResizeMode::kNearest) return {{inside(nearestIndex(op.rounding, x)), 1}};
  if (op.mode == ResizeMode::kCubic)
    return in == out && x == static_cast<double>(o) ? std::vector<ResizeTap>{{o, 1}} : cubicTaps(op, x, in);
  const double floor = std::floor(x);
  const auto i = static_cast<int64_t>(floor);
  return {{inside(i), 1 - (x - floor)}, {inside(i + 1), x - floor}};
}

}  // namespace tenon::ops
