// Loops of scattering with an operator: plain ones, of which the compiler makes vectors for each instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/scatter_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/simd/scatter_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace scattering {

using ops::ReduceOp;

// b where `takes`, else a, of integers, without a branch: which it is follows no pattern.
template <typename T>
HWY_INLINE T selected(bool takes, T b, T a) {
  const T mask = static_cast<T>(-static_cast<T>(takes));
  return static_cast<T>(a ^ ((b ^ a) & mask));
}

// Integers wrap; NaN wins, and stays.
template <ReduceOp kOp, typename T>
HWY_INLINE T combined(T a, T b) {
  constexpr bool kIsExtreme = kOp == ReduceOp::kMax || kOp == ReduceOp::kMin;
  if constexpr (kIsExtreme && std::is_floating_point_v<T>) {
    const T better = kOp == ReduceOp::kMax ? (a > b ? a : b) : (a < b ? a : b);  // one instruction; b where it is NaN
    return a != a ? a : better;  // NOLINT(misc-redundant-expression): NaN is not itself
  } else if constexpr (kIsExtreme && sizeof(T) < sizeof(int32_t)) {
    const int32_t difference = int32_t{a} - int32_t{b};
    const int32_t below = difference & (difference >> 31);  // where it is negative, else 0
    return static_cast<T>(kOp == ReduceOp::kMax ? a - below : b + below);
  } else if constexpr (kIsExtreme) {
    return selected(kOp == ReduceOp::kMax ? b > a : b < a, b, a);
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    const auto x = static_cast<Unsigned>(a);
    const auto y = static_cast<Unsigned>(b);
    return static_cast<T>(kOp == ReduceOp::kProd ? x * y : x + y);
  } else {
    return kOp == ReduceOp::kProd ? a * b : a + b;
  }
}

template <ReduceOp kOp, typename T>
void row(void* vto, const void* vfrom, size_t count) {
  T* HWY_RESTRICT to = static_cast<T*>(vto);
  const T* HWY_RESTRICT from = static_cast<const T*>(vfrom);
  if constexpr (std::is_integral_v<T> && kOp != ReduceOp::kSum && kOp != ReduceOp::kProd) {  // one vector instruction
    for (size_t i = 0; i < count; ++i)
      to[i] = kOp == ReduceOp::kMax ? std::max(to[i], from[i]) : std::min(to[i], from[i]);
    return;
  }
  for (size_t i = 0; i < count; ++i) to[i] = combined<kOp>(to[i], from[i]);
}

template <ReduceOp kOp, typename T, typename Index, bool kIsLine>
HWY_INLINE size_t scatter(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, const Index* HWY_RESTRICT indices,
                          int64_t step, int64_t extent, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    int64_t index = indices[i];
    index += index < 0 ? extent : 0;
    if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(extent)) return i;
    T& at = kIsLine ? to[index] : to[static_cast<int64_t>(i) + index * step];
    at = combined<kOp>(at, from[i]);
  }
  return count;
}

template <ReduceOp kOp, typename T, typename Index>
size_t elements(void* to, const void* from, const void* indices, int64_t step, int64_t extent, size_t count) {
  return scatter<kOp, T, Index, false>(static_cast<T*>(to), static_cast<const T*>(from),
                                       static_cast<const Index*>(indices), step, extent, count);
}
template <ReduceOp kOp, typename T, typename Index>
size_t narrow(void* vto, const void* vfrom, const void* vindices, int64_t step, int64_t extent, size_t count,
              size_t rows, int64_t fromStep) {
  for (size_t r = 0; r < rows; ++r) {
    const int64_t at = static_cast<int64_t>(r) * fromStep;
    const size_t done = scatter<kOp, T, Index, false>(static_cast<T*>(vto), static_cast<const T*>(vfrom) + at,
                                                      static_cast<const Index*>(vindices) + at, step, extent, count);
    if (done < count) return static_cast<size_t>(at) + done;
  }
  return kAllScattered;
}
template <ReduceOp kOp, typename T, typename Index>
size_t lines(void* vto, const void* vfrom, const void* vindices, int64_t toStep, int64_t extent, size_t count,
             size_t lineCount) {
  for (size_t l = 0; l < lineCount; ++l) {
    const size_t done = scatter<kOp, T, Index, true>(static_cast<T*>(vto) + static_cast<int64_t>(l) * toStep,
                                                     static_cast<const T*>(vfrom) + l * count,
                                                     static_cast<const Index*>(vindices) + l * count, 1, extent, count);
    if (done < count) return l * count + done;
  }
  return kAllScattered;
}

template <typename Index>
bool areAlike(const void* vindices, size_t count) {
  const Index* HWY_RESTRICT indices = static_cast<const Index*>(vindices);
  const Index first = indices[0];
  if (indices[count - 1] != first) return false;
  Index differ = 0;
  for (size_t i = 0; i < count; ++i) differ |= indices[i] ^ first;
  return differ == 0;
}

template <ReduceOp kOp, typename T, typename Index>
constexpr ScatterFunctions kFunctions{row<kOp, T>, elements<kOp, T, Index>, narrow<kOp, T, Index>, lines<kOp, T, Index>,
                                      areAlike<Index>};

template <typename T, typename Index>
ScatterFunctions ofIndex(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return kFunctions<ReduceOp::kSum, T, Index>;
    case ReduceOp::kProd: return kFunctions<ReduceOp::kProd, T, Index>;
    case ReduceOp::kMax: return kFunctions<ReduceOp::kMax, T, Index>;
    default: return kFunctions<ReduceOp::kMin, T, Index>;
  }
}

template <typename T>
ScatterFunctions of(ReduceOp op, DataType indices) {
  return indices == DataType::kI64 ? ofIndex<T, int64_t>(op) : ofIndex<T, int32_t>(op);
}

}  // namespace scattering

ScatterFunctions findScatter(ops::ReduceOp op, DataType type, DataType indices) {
  switch (type) {
    case DataType::kF32: return scattering::of<float>(op, indices);
    case DataType::kI64: return scattering::of<int64_t>(op, indices);
    case DataType::kI32: return scattering::of<int32_t>(op, indices);
    case DataType::kI8: return scattering::of<int8_t>(op, indices);
    case DataType::kU8: return scattering::of<uint8_t>(op, indices);
    default: return {};
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findScatter);

}  // namespace

ScatterFunctions scatterFunctions(ops::ReduceOp op, DataType type, DataType indices) {
  return TENON_SIMD_BEST(findScatter)(op, type, indices);
}

}  // namespace tenon::backends::cpu
#endif
