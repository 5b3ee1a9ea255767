// Steps of recurrent networks in Highway: the sums of a panel's gates stay in registers while the state goes by.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/recurrent_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backends/cpu/kernels/simd/recurrent_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/exp.inc"
#include "backends/cpu/kernels/simd/minmax.inc"
#include "backends/cpu/kernels/simd/tanh.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace recurrent {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);
static_assert(kRecurrentUnits % kLanes == 0);
constexpr int kVectors = static_cast<int>(kRecurrentUnits / kLanes);

HWY_INLINE V constant(float value) { return hn::Set(D(), value); }
HWY_INLINE V within(V a, float bound) { return lesser(constant(bound), greater(constant(-bound), a)); }
HWY_INLINE V sigmoid(V x) {
  return exponential::reciprocal(hn::Add(constant(1.f), exponential::inRange(hn::Neg(within(x, 87.f)))));
}

HWY_NOINLINE V rare(const GateFunctionOf& f, V x) {
  alignas(64) float lanes[kLanes];
  hn::Store(x, D(), lanes);
  for (float& lane : lanes) lane = static_cast<float>(ops::evaluate(f.kind, f.a, f.b, lane));
  return hn::Load(D(), lanes);
}
HWY_INLINE V apply(const GateFunctionOf& f, float clip, V operand) {
  const V x = clip > 0 ? within(operand, clip) : operand;
  if (HWY_LIKELY(f.kind == ops::GateFunction::kSigmoid)) return sigmoid(x);
  if (HWY_LIKELY(f.kind == ops::GateFunction::kTanh)) return hyperbolicTangent(x);
  if (f.kind == ops::GateFunction::kRelu) return greater(x, hn::Zero(D()));
  if (f.kind == ops::GateFunction::kHardSigmoid)
    return lesser(constant(1.f), greater(hn::Zero(D()), hn::MulAdd(constant(f.a), x, constant(f.b))));
  return rare(f, x);
}

// Rows of the batch whose weights are loaded once; what a sum is does not depend on how many there are, but on whether
// the batch has many: then fewer sets of sums for each row hide the latency, and registers hold more rows.
constexpr bool kHasManyRegisters = HWY_TARGET <= HWY_AVX3;
constexpr int kMostRows = kHasManyRegisters ? 3 : 1;
constexpr int kMostOfMany = 6;

// kGates gates from `panel` on, whose rows are `pitch` floats, of which those of `next` are read after it. Several sets
// of sums hide the latency of additions; lines are asked for a page ahead, since the processor's own prefetching ends
// with the page.
template <int kGates, int kRows, bool kIsMany>
HWY_INLINE void gateSums(const float* panel, const float* next, const float* const* states, int64_t depth,
                         int64_t pitch, float* const* sums, int64_t offset) {
  const D d;
  constexpr int kSums = kGates * kVectors;
  constexpr int kChains = kIsMany ? 4 : 8;  // of additions, for each row
  constexpr int kSets = kSums >= kChains ? 1 : kChains / kSums;
  constexpr int64_t kFloatsAhead = 1024;
  V sum[kRows][kSets][kSums];
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) {
    for (auto& row : sum) {
      for (auto& set : row) set[i] = hn::Zero(d);
    }
  }
  const float* state[kRows];
  for (int r = 0; r < kRows; ++r) state[r] = states[r];
  const auto add = [&](int set, int64_t k, const float* ahead) HWY_ATTR {
    const float* const weights = panel + k * pitch;
    if constexpr (kRows < 3) {  // more rows are bound by their multiplications
#pragma GCC unroll 4
      for (int gate = 0; gate < kGates; ++gate) hwy::Prefetch(ahead + gate * kRecurrentUnits);
    }
    V h[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) h[r] = hn::Set(d, state[r][k]);
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) {
      const V weight = hn::LoadU(d, weights + static_cast<size_t>(i) * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][set][i] = hn::MulAdd(h[r], weight, sum[r][set][i]);
    }
  };
  // Rows of weights [k, last), with those ahead from `ahead` on.
  const auto rows = [&](int64_t k, int64_t last, const float* ahead) HWY_ATTR {
    for (; k + kSets <= last; k += kSets) {
#pragma GCC unroll 8
      for (int set = 0; set < kSets; ++set, ahead += pitch) add(set, k + set, ahead);
    }
    for (; k < last; ++k, ahead += pitch) add(0, k, ahead);
  };
  const int64_t rowsAhead = std::min(depth, kFloatsAhead / pitch);
  rows(0, depth - rowsAhead, panel + rowsAhead * pitch);
  rows(depth - rowsAhead, depth, next);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) {
      V all = sum[r][0][i];
#pragma GCC unroll 8
      for (int set = 1; set < kSets; ++set) all = hn::Add(all, sum[r][set][i]);
      hn::StoreU(all, d, sums[r] + offset + static_cast<size_t>(i) * kLanes);
    }
  }
}

template <int kRows, bool kIsMany>
void sumsOfRows(const float* panel, const float* next, const float* const* states, int64_t depth, int64_t gates,
                int64_t first, int64_t last, float* const* results) {
  const int64_t pitch = gates * kRecurrentUnits;
  const int64_t offset = first * kRecurrentUnits;
  panel += offset;
  next += offset;
  switch (last - first) {
    case 4: return gateSums<4, kRows, kIsMany>(panel, next, states, depth, pitch, results, offset);
    case 3: return gateSums<3, kRows, kIsMany>(panel, next, states, depth, pitch, results, offset);
    case 2: return gateSums<2, kRows, kIsMany>(panel, next, states, depth, pitch, results, offset);
    default: return gateSums<1, kRows, kIsMany>(panel, next, states, depth, pitch, results, offset);
  }
}

// Rows in groups of nearly the same size.
template <int kMost, bool kIsMany>
void sumsInGroups(const float* panel, const float* next, const float* const* states, int64_t rows, int64_t depth,
                  int64_t gates, int64_t first, int64_t last, float* const* results) {
  const auto ofRows = [&](auto count, const float* following) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    if constexpr (kCount <= kMost)
      sumsOfRows<kCount, kIsMany>(panel, following, states, depth, gates, first, last, results);
  };
  for (int64_t groups = (rows + kMost - 1) / kMost; groups > 0; --groups) {
    const int64_t count = (rows + groups - 1) / groups;
    const float* const following = groups == 1 ? next : panel;
    switch (count) {
      case 6: ofRows(std::integral_constant<int, 6>(), following); break;
      case 5: ofRows(std::integral_constant<int, 5>(), following); break;
      case 4: ofRows(std::integral_constant<int, 4>(), following); break;
      case 3: ofRows(std::integral_constant<int, 3>(), following); break;
      case 2: ofRows(std::integral_constant<int, 2>(), following); break;
      default: ofRows(std::integral_constant<int, 1>(), following); break;
    }
    states += count;
    results += count;
    rows -= count;
  }
}

void sums(const float* panel, const float* next, const float* const* states, int64_t rows, int64_t depth, int64_t gates,
          int64_t first, int64_t last, bool isMany, float* const* results) {
  if constexpr (kHasManyRegisters) {
    if (isMany) return sumsInGroups<kMostOfMany, true>(panel, next, states, rows, depth, gates, first, last, results);
  }
  sumsInGroups<kMostRows, false>(panel, next, states, rows, depth, gates, first, last, results);
}

// Calls body(unit, lanes that count) for each vector of the panel.
template <typename Body>
HWY_INLINE void vectors(int64_t count, Body&& body) {
  for (int64_t unit = 0; unit < count; unit += kLanes) body(unit, std::min(kLanes, static_cast<size_t>(count - unit)));
}

// The first n lanes; a panel's last vector may have fewer than all.
HWY_INLINE V load(const float* from, size_t n) {
  if (HWY_LIKELY(n == kLanes)) return hn::LoadU(D(), from);
  alignas(64) float lanes[kLanes] = {};
  std::copy_n(from, n, lanes);
  return hn::Load(D(), lanes);
}
HWY_INLINE void store(V v, float* to, size_t n) {
  if (HWY_LIKELY(n == kLanes)) return hn::StoreU(v, D(), to);
  alignas(64) float lanes[kLanes];
  hn::Store(v, D(), lanes);
  std::copy_n(lanes, n, to);
}
HWY_INLINE V loadOrZero(const float* from, int64_t unit, size_t n) {
  return from == nullptr ? hn::Zero(D()) : load(from + unit, n);
}

void step(const RecurrentStep& s, const float* sums) {
  const D d;
  const auto kept = [&](int64_t gate, int64_t unit) {
    const int64_t panel = unit / kRecurrentUnits * s.gates;
    return hn::LoadU(d, sums + (panel + gate) * kRecurrentUnits + unit % kRecurrentUnits);
  };
  const auto sum = [&](int64_t gate, int64_t unit, size_t n) {
    return hn::Add(load(s.products + gate * s.hidden + unit, n), kept(gate, unit));
  };
  const auto gate = [&](int function, V x) { return apply(s.functions[function], s.clip, x); };
  vectors(s.count, [&](int64_t unit, size_t n) {
    V state;
    if (s.cell == ops::Cell::kLstm) {
      const auto peephole = [&](int64_t index, V x, V cell) {
        return s.peepholes == nullptr ? x : hn::MulAdd(load(s.peepholes + index * s.hidden + unit, n), cell, x);
      };
      const V before = load(s.cells + unit, n);
      const V i = gate(0, peephole(0, sum(0, unit, n), before));
      const V f = s.coupled ? hn::Sub(constant(1.f), i) : gate(0, peephole(2, sum(2, unit, n), before));
      const V cell = hn::MulAdd(f, before, hn::Mul(i, gate(1, sum(3, unit, n))));
      store(cell, s.cells + unit, n);
      state = hn::Mul(gate(0, peephole(1, sum(1, unit, n), cell)), gate(2, cell));
    } else if (s.cell == ops::Cell::kGru) {
      const V z = gate(0, sum(0, unit, n));
      V inner = hn::Add(kept(2, unit), loadOrZero(s.bias, unit, n));
      if (s.late) inner = hn::Mul(gate(0, sum(1, unit, n)), inner);
      const V candidate = gate(1, hn::Add(load(s.products + 2 * s.hidden + unit, n), inner));
      state = hn::MulAdd(z, hn::Sub(load(s.before + unit, n), candidate), candidate);
    } else {
      state = gate(0, sum(0, unit, n));
    }
    store(state, s.state + unit, n);
  });
}

void reset(const RecurrentStep& s, const float* sums, float* to) {
  const D d;
  vectors(s.count, [&](int64_t unit, size_t n) {
    const V x = hn::Add(load(s.products + s.hidden + unit, n), hn::LoadU(d, sums + kRecurrentUnits + unit));
    store(hn::Mul(apply(s.functions[0], s.clip, x), load(s.before + unit, n)), to + unit, n);
  });
}

}  // namespace recurrent

RecurrentFunctions findRecurrent() { return {recurrent::sums, recurrent::step, recurrent::reset}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findRecurrent);

}  // namespace

RecurrentFunctions recurrentFunctions() { return TENON_SIMD_BEST(findRecurrent)(); }

}  // namespace tenon::backends::cpu
#endif
