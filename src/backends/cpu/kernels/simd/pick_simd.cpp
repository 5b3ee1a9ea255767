// Loops of picking: some indices are looked through together, after which their elements are read without questions.
// Plain loops, of which the compiler makes vectors for each instruction set. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/pick_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/pick_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace picking {

constexpr size_t kTogether = 256;

// Whether all of the indices are in [0, extent): compared without signs, negative ones are large.
template <typename Index>
HWY_INLINE bool areWithin(const Index* HWY_RESTRICT indices, size_t count, int64_t extent) {
  using Unsigned = std::make_unsigned_t<Index>;
  Unsigned most = 0;
  for (size_t i = 0; i < count; ++i) most = std::max(most, static_cast<Unsigned>(indices[i]));
  return static_cast<uint64_t>(most) < static_cast<uint64_t>(extent) &&
         most <= static_cast<Unsigned>(std::numeric_limits<Index>::max());
}

template <typename T, typename Index, bool kIsLine>
HWY_INLINE bool pick(const T* from, const Index* indices, T* HWY_RESTRICT to, size_t count, int64_t step,
                     int64_t extent) {
  bool outside = false;
  for (size_t first = 0; first < count; first += kTogether) {
    const size_t end = std::min(count, first + kTogether);
    if (areWithin(indices + first, end - first, extent)) {
      for (size_t i = first; i < end; ++i) {
        const auto index = static_cast<int64_t>(indices[i]);
        to[i] = kIsLine ? from[index] : from[static_cast<int64_t>(i) + index * step];
      }
      continue;
    }
    for (size_t i = first; i < end; ++i) {
      int64_t index = indices[i];
      index += index < 0 ? extent : 0;
      const bool inside = static_cast<uint64_t>(index) < static_cast<uint64_t>(extent);
      outside |= !inside;
      index = inside ? index : 0;
      to[i] = kIsLine ? from[index] : from[static_cast<int64_t>(i) + index * step];
    }
  }
  return outside;
}

template <bool kIsLine, typename T, typename Index>
HWY_INLINE bool pickShort(const T* from, const Index* indices, T* HWY_RESTRICT to, size_t count, size_t rowCount,
                          int64_t step, int64_t extent) {
  bool outside = false;
  const size_t together = std::max<size_t>(1, kTogether / count);
  for (size_t first = 0; first < rowCount; first += together) {
    const size_t rows = std::min(together, rowCount - first);
    const bool areIn = areWithin(indices, rows * count, extent);
    for (size_t r = 0; r < rows; ++r, indices += count, to += count) {
      if (areIn) {
        for (size_t i = 0; i < count; ++i)
          to[i] = from[(kIsLine ? 0 : static_cast<int64_t>(i)) + static_cast<int64_t>(indices[i]) * step];
      } else {
        outside |= pick<T, Index, kIsLine>(from, indices, to, count, step, extent);
      }
      from += kIsLine ? extent : 0;
    }
  }
  return outside;
}
template <typename T, typename Index>
bool shortLines(const void* from, const void* indices, void* to, size_t count, size_t rowCount, int64_t extent) {
  return pickShort<true>(static_cast<const T*>(from), static_cast<const Index*>(indices), static_cast<T*>(to), count,
                         rowCount, 1, extent);
}
template <typename T, typename Index>
bool shortRows(const void* from, const void* indices, void* to, size_t count, size_t rowCount, int64_t step,
               int64_t extent) {
  return pickShort<false>(static_cast<const T*>(from), static_cast<const Index*>(indices), static_cast<T*>(to), count,
                          rowCount, step, extent);
}

template <typename T, typename Index>
bool line(const void* from, const void* indices, void* to, size_t count, int64_t extent) {
  return pick<T, Index, true>(static_cast<const T*>(from), static_cast<const Index*>(indices), static_cast<T*>(to),
                              count, 1, extent);
}
template <typename T, typename Index>
bool rows(const void* from, const void* indices, void* to, size_t count, int64_t step, int64_t extent) {
  return pick<T, Index, false>(static_cast<const T*>(from), static_cast<const Index*>(indices), static_cast<T*>(to),
                               count, step, extent);
}

template <typename T>
PickFunctions of(DataType indices) {
  if (indices == DataType::kI64)
    return {line<T, int64_t>, rows<T, int64_t>, shortLines<T, int64_t>, shortRows<T, int64_t>};
  return {line<T, int32_t>, rows<T, int32_t>, shortLines<T, int32_t>, shortRows<T, int32_t>};
}

}  // namespace picking

PickFunctions findPick(int64_t bytes, DataType indices) {
  switch (bytes) {
    case 1: return picking::of<uint8_t>(indices);
    case 2: return picking::of<uint16_t>(indices);
    case 4: return picking::of<uint32_t>(indices);
    default: return picking::of<uint64_t>(indices);
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findPick);

}  // namespace

PickFunctions pickFunctions(int64_t bytes, DataType indices) { return TENON_SIMD_BEST(findPick)(bytes, indices); }

}  // namespace tenon::backends::cpu
#endif
