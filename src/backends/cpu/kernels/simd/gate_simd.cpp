// Gates of rows in Highway.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/gate_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/gate_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/exp.inc"
#include "backends/cpu/kernels/simd/minmax.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// The minimum and the maximum take their second operand where one is NaN, so NaN stays. At the bounds the sigmoid is 0
// or 1 to within 2e-38.
struct Swish {
  explicit Swish(const GateCall&) {}
  HWY_INLINE V operator()(V x) const {
    const D d;
    const V within = lesser(hn::Set(d, 87.f), greater(hn::Set(d, -87.f), hn::Neg(x)));
    return hn::Div(x, hn::Add(hn::Set(d, 1.f), exponential::inRange(within)));
  }
};

struct HardSwish {
  explicit HardSwish(const GateCall& call) : slope(hn::Set(D(), call.slope)), offset(hn::Set(D(), call.offset)) {}
  HWY_INLINE V operator()(V x) const {
    const D d;
    return hn::Mul(x, lesser(hn::Set(d, 1.f), greater(hn::Zero(d), hn::MulAdd(slope, x, offset))));
  }
  V slope, offset;
};

// The end of a row, by pieces of fixed sizes: in place a masked store would span what the next row's load waits for,
// and a copy of any size is a call.
HWY_INLINE void storeEnd(V value, int64_t count, float* to) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, D(), buffer);
  const float* from = buffer;
  const auto copy = [&](auto size) {
    if ((count & size()) == 0) return;
    std::memcpy(to, from, size() * sizeof(float));
    to += size();
    from += size();
  };
  copy(std::integral_constant<int64_t, 8>{});
  copy(std::integral_constant<int64_t, 4>{});
  copy(std::integral_constant<int64_t, 2>{});
  copy(std::integral_constant<int64_t, 1>{});
}

HWY_INLINE V loadEnd(const float* from, int64_t count) {
  const D d;
  constexpr bool kMasked = HWY_TARGET <= HWY_AVX2;  // Highway's masks touch other memory below
  if constexpr (kMasked) return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy_n(from, count, buffer);
  return hn::Load(d, buffer);
}

// Bounds that bound nothing are left out: they take a sixth of the time.
template <typename Gate, bool kClamps>
HWY_INLINE void gateRows(const GateCall& call) {
  const D d;
  const Gate gate(call);
  const V low = hn::Set(d, call.low);
  const V high = hn::Set(d, call.high);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto clamp = [&](V value) {
    if constexpr (!kClamps) return value;
    return lesser(high, greater(low, value));
  };
  for (int64_t r = 0; r < call.rows; ++r) {
    const float* const from = call.from + r * call.fromStride;
    const float* const addend = call.addend == nullptr ? nullptr : call.addend + r * call.addendStride;
    float* const out = call.out + r * call.outStride;
    int64_t j = 0;
    for (; j + lanes <= call.width; j += lanes) {
      V value = gate(hn::LoadU(d, from + j));
      if (addend != nullptr) value = hn::Add(value, hn::LoadU(d, addend + j));
      hn::StoreU(clamp(value), d, out + j);
    }
    if (j == call.width) continue;
    const int64_t some = call.width - j;
    V value = gate(loadEnd(from + j, some));
    if (addend != nullptr) value = hn::Add(value, loadEnd(addend + j, some));
    storeEnd(clamp(value), some, out + j);
  }
}

template <typename Gate>
void gateAny(const GateCall& call) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (call.low == -kInfinity && call.high == kInfinity) return gateRows<Gate, false>(call);
  gateRows<Gate, true>(call);
}

void gate(const GateCall& call) {
  if (call.isHard) return gateAny<HardSwish>(call);
  gateAny<Swish>(call);
}

GateFunction function() { return &gate; }

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(function);

}  // namespace

GateFunction gateFunction() {
  static const GateFunction kFunction = TENON_SIMD_BEST(function)();
  return kFunction;
}

}  // namespace tenon::backends::cpu
#endif
