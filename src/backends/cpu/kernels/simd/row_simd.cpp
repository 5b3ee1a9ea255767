// Row functions of normalization, in Highway: written once, compiled per instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/row_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/simd/row_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
namespace rows {

// Lanes sum up to this many elements in f32 before the partial sum goes on in double, so that long rows stay exact.
constexpr size_t kChunk = 4096;

// Loads of parts of a vector read nothing behind it; below AVX2 Highway's do.
constexpr bool kMasked = HWY_TARGET <= HWY_AVX2;

// The sum over i of term(x[i]): two chains of vectors, the rest one by one.
template <typename VectorTerm, typename ScalarTerm>
HWY_INLINE double sumOf(const float* HWY_RESTRICT x, size_t count, VectorTerm vectorTerm, ScalarTerm scalarTerm) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  double total = 0;
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t end = std::min(count, begin + kChunk);
    V a = hn::Zero(d);
    V b = hn::Zero(d);
    size_t i = begin;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      a = hn::Add(a, vectorTerm(hn::LoadU(d, x + i)));
      b = hn::Add(b, vectorTerm(hn::LoadU(d, x + i + lanes)));
    }
    for (; i + lanes <= end; i += lanes) a = hn::Add(a, vectorTerm(hn::LoadU(d, x + i)));
    if constexpr (kMasked) {
      if (i < end) {
        const auto some = hn::FirstN(d, end - i);
        b = hn::Add(b, hn::IfThenElseZero(some, vectorTerm(hn::MaskedLoad(some, d, x + i))));
        i = end;
      }
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b))));
    for (; i < end; ++i) total += static_cast<double>(scalarTerm(x[i]));
  }
  return total;
}

HWY_INLINE double sum(const float* x, size_t count) {
  return sumOf(
      x, count, [](V v) HWY_ATTR { return v; }, [](float v) { return v; });
}

HWY_INLINE double squares(const float* x, float mean, size_t count) {
  const V shift = hn::Set(D(), mean);
  const auto square = [shift](V v) HWY_ATTR {
    const V difference = hn::Sub(v, shift);
    return hn::Mul(difference, difference);
  };
  return sumOf(x, count, square, [mean](float v) { return (v - mean) * (v - mean); });
}

double magnitudes(const float* x, size_t count) {
  return sumOf(
      x, count, [](V v) HWY_ATTR { return hn::Abs(v); }, [](float v) { return std::abs(v); });
}

double products(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  constexpr size_t kChains = 4;
  double total = 0;
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t end = std::min(count, begin + kChunk);
    V sums[kChains];
    for (auto& each : sums) each = hn::Zero(d);
    size_t i = begin;
    for (; i + kChains * lanes <= end; i += kChains * lanes) {
      for (size_t v = 0; v < kChains; ++v)
        sums[v] = hn::MulAdd(hn::LoadU(d, x + i + v * lanes), hn::LoadU(d, y + i + v * lanes), sums[v]);
    }
    for (; i + lanes <= end; i += lanes) sums[0] = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sums[0]);
    if constexpr (kMasked) {
      if (i < end) {
        const auto some = hn::FirstN(d, end - i);
        sums[1] = hn::MulAdd(hn::MaskedLoad(some, d, x + i), hn::MaskedLoad(some, d, y + i), sums[1]);
        i = end;
      }
    }
    const V all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, all)));
    for (; i < end; ++i) total += static_cast<double>(x[i] * y[i]);
  }
  return total;
}

HWY_INLINE void scaleEach(const float* x, float* y, size_t count, float mean, float factor, const float* scale,
                          const float* bias) {
  const D d;
  const V m = hn::Set(d, mean);
  const V f = hn::Set(d, factor);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const V normal = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), f);
    hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, scale + i), hn::LoadU(d, bias + i)), d, y + i);
  }
  for (; i < count; ++i) y[i] = (x[i] - mean) * factor * scale[i] + bias[i];
}

void normalize(const float* x, float* y, size_t rows, size_t count, bool centered, double epsilon, const float* scale,
               const float* bias) {
  const auto length = static_cast<double>(count);
  for (size_t r = 0; r < rows; ++r, x += count, y += count) {
    const auto mean = static_cast<float>((centered ? sum(x, count) : 0) / length);
    const auto factor = static_cast<float>(1 / std::sqrt(squares(x, mean, count) / length + epsilon));
    scaleEach(x, y, count, mean, factor, scale, bias);
  }
}

void addRows(const float* x, size_t step, size_t rows, double* sums, size_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    auto s0 = hn::LoadU(d, sums + i);
    auto s1 = hn::LoadU(d, sums + i + lanes);
    auto s2 = hn::LoadU(d, sums + i + 2 * lanes);
    auto s3 = hn::LoadU(d, sums + i + 3 * lanes);
    const float* from = x + i;
    for (size_t r = 0; r < rows; ++r, from += step) {
      s0 = hn::Add(s0, hn::PromoteTo(d, hn::LoadU(narrow, from)));
      s1 = hn::Add(s1, hn::PromoteTo(d, hn::LoadU(narrow, from + lanes)));
      s2 = hn::Add(s2, hn::PromoteTo(d, hn::LoadU(narrow, from + 2 * lanes)));
      s3 = hn::Add(s3, hn::PromoteTo(d, hn::LoadU(narrow, from + 3 * lanes)));
    }
    hn::StoreU(s0, d, sums + i);
    hn::StoreU(s1, d, sums + i + lanes);
    hn::StoreU(s2, d, sums + i + 2 * lanes);
    hn::StoreU(s3, d, sums + i + 3 * lanes);
  }
  for (; i < count; ++i) {
    for (size_t r = 0; r < rows; ++r) sums[i] += static_cast<double>(x[r * step + i]);
  }
}

HWY_INLINE void scaleAll(const float* x, float* y, size_t count, float mean, float factor, float bias) {
  const D d;
  const V m = hn::Set(d, mean);
  const V f = hn::Set(d, factor);
  const V b = hn::Set(d, bias);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, x + i), m), f, b), d, y + i);
  if constexpr (kMasked) {
    if (i == count) return;
    const auto some = hn::FirstN(d, count - i);
    hn::BlendedStore(hn::MulAdd(hn::Sub(hn::MaskedLoad(some, d, x + i), m), f, b), some, d, y + i);
    return;
  }
  for (; i < count; ++i) y[i] = (x[i] - mean) * factor + bias;
}

// Some rows at a time: the sums of one wait for those of no other.
void normalizeChannels(const float* x, float* y, size_t rows, size_t count, bool centered, double epsilon,
                       ChannelValues values) {
  constexpr size_t kTogether = 8;
  const auto length = static_cast<double>(count);
  for (size_t first = 0; first < rows; first += kTogether) {
    const size_t some = std::min(kTogether, rows - first);
    const float* const from = x + first * count;
    float means[kTogether] = {};
    double variances[kTogether] = {};
    for (size_t r = 0; centered && r < some; ++r) means[r] = static_cast<float>(sum(from + r * count, count) / length);
    for (size_t r = 0; r < some; ++r) variances[r] = squares(from + r * count, means[r], count) / length;
    float factors[kTogether];
    for (size_t r = 0; r < kTogether; ++r) factors[r] = static_cast<float>(1 / std::sqrt(variances[r] + epsilon));
    for (size_t r = 0; r < some; ++r) {
      const auto row = static_cast<int64_t>(first + r);
      scaleAll(from + r * count, y + (first + r) * count, count, means[r],
               factors[r] * values.scale[row * values.scaleStep], values.bias[row * values.biasStep]);
    }
  }
}

// kTaps: how many there are, 0 where only `taps` says it.
template <size_t kTaps>
HWY_INLINE void combineTaps(const float* x, const int64_t* places, const float* weights, size_t taps, size_t step,
                            float* HWY_RESTRICT y, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const size_t all = kTaps == 0 ? taps : kTaps;
  const auto from = [&](size_t t) { return x + places[t] * static_cast<int64_t>(step); };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    V sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, from(0) + i));
    for (size_t t = 1; t < all; ++t) sum = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, from(t) + i), sum);
    hn::StoreU(sum, d, y + i);
  }
  for (; i < count; ++i) {
    float sum = weights[0] * from(0)[i];
    for (size_t t = 1; t < all; ++t) sum += weights[t] * from(t)[i];
    y[i] = sum;
  }
}
void combine(const float* x, const int64_t* places, const float* weights, size_t taps, size_t step, float* y,
             size_t count) {
  switch (taps) {
    case 1: return combineTaps<1>(x, places, weights, taps, step, y, count);
    case 2: return combineTaps<2>(x, places, weights, taps, step, y, count);
    case 4: return combineTaps<4>(x, places, weights, taps, step, y, count);
    default: return combineTaps<0>(x, places, weights, taps, step, y, count);
  }
}

void addLines(const float* const* lines, size_t number, float start, float* HWY_RESTRICT y, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    V a = hn::Set(d, start);
    V b = a;
    for (size_t line = 0; line < number; ++line) {
      a = hn::Add(a, hn::LoadU(d, lines[line] + i));
      b = hn::Add(b, hn::LoadU(d, lines[line] + i + lanes));
    }
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
  }
  if (i < count && count >= lanes) {  // the last vector shares results with the one before
    for (; i < count; i += lanes) {
      const size_t at = std::min(i, count - lanes);
      V sum = hn::Set(d, start);
      for (size_t line = 0; line < number; ++line) sum = hn::Add(sum, hn::LoadU(d, lines[line] + at));
      hn::StoreU(sum, d, y + at);
    }
    return;
  }
  const hn::CappedTag<float, 4> few;
  for (const size_t some = hn::Lanes(few); i + some <= count; i += some) {
    auto sum = hn::Set(few, start);
    for (size_t line = 0; line < number; ++line) sum = hn::Add(sum, hn::LoadU(few, lines[line] + i));
    hn::StoreU(sum, few, y + i);
  }
  for (; i < count; ++i) {
    float sum = start;
    for (size_t line = 0; line < number; ++line) sum += lines[line][i];
    y[i] = sum;
  }
}

}  // namespace rows

RowFunctions allRowFunctions() {
  return {rows::sum,      rows::squares,   rows::products,          rows::magnitudes, rows::scaleEach, rows::addRows,
          rows::scaleAll, rows::normalize, rows::normalizeChannels, rows::combine,    rows::addLines};
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(allRowFunctions);

}  // namespace

const RowFunctions& rowFunctions() {
  static const RowFunctions kFunctions = TENON_SIMD_BEST(allRowFunctions)();
  return kFunctions;
}

}  // namespace tenon::backends::cpu
#endif
