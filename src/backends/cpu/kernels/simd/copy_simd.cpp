// Copies of rows: whole vectors that are aligned where they are stored, and one at either end that is not. Highway
// wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/copy_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/simd/copy_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void copyRow(const void* vFrom, void* vTo, size_t bytes) {
  // The C library's is as fast or faster for long rows, and where some kilobytes go to whole lines of the cache.
  constexpr size_t kMost = 1 << 12, kString = 1 << 11, kLine = 64;
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  if (HWY_TARGET == HWY_SCALAR || bytes > kMost || bytes < lanes ||
      (bytes >= kString && reinterpret_cast<uintptr_t>(vTo) % kLine == 0)) {
    std::memcpy(vTo, vFrom, bytes);
    return;
  }
  const auto* HWY_RESTRICT from = static_cast<const uint8_t*>(vFrom);
  auto* HWY_RESTRICT to = static_cast<uint8_t*>(vTo);
  const auto first = hn::LoadU(d, from);
  const auto last = hn::LoadU(d, from + bytes - lanes);
  size_t i = lanes - reinterpret_cast<uintptr_t>(to) % lanes;
  for (; i + 4 * lanes <= bytes; i += 4 * lanes) {
    const auto a = hn::LoadU(d, from + i);
    const auto b = hn::LoadU(d, from + i + lanes);
    const auto c = hn::LoadU(d, from + i + 2 * lanes);
    const auto e = hn::LoadU(d, from + i + 3 * lanes);
    hn::StoreU(a, d, to + i);
    hn::StoreU(b, d, to + i + lanes);
    hn::StoreU(c, d, to + i + 2 * lanes);
    hn::StoreU(e, d, to + i + 3 * lanes);
  }
  for (; i + lanes <= bytes; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  hn::StoreU(first, d, to);
  hn::StoreU(last, d, to + bytes - lanes);
}

CopyRowFunction findCopyRow() { return copyRow; }

// Whole vectors, which go beyond the end of a row where the next one is written over that.
template <typename T>
void repeat(const void* vFrom, int64_t step, size_t rows, size_t count, void* vTo) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const T* HWY_RESTRICT from = static_cast<const T*>(vFrom);
  T* HWY_RESTRICT to = static_cast<T*>(vTo);
  const size_t whole = (count + lanes - 1) / lanes * lanes;
  size_t left = rows * count;
  for (; left >= whole && left > 0; left -= count, from += step, to += count) {
    const auto value = hn::Set(d, *from);
    for (size_t i = 0; i < count; i += lanes) hn::StoreU(value, d, to + i);
  }
  for (; left > 0; left -= count, from += step, to += count) {
    const T value = *from;
    for (size_t i = 0; i < count; ++i) to[i] = value;
  }
}

RepeatFunction findRepeat(int64_t bytes) {
  switch (bytes) {
    case 1: return repeat<uint8_t>;
    case 2: return repeat<uint16_t>;
    case 4: return repeat<uint32_t>;
    default: return repeat<uint64_t>;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findCopyRow);
TENON_SIMD_TABLE(findRepeat);

}  // namespace

CopyRowFunction copyRowFunction() { return TENON_SIMD_BEST(findCopyRow)(); }
RepeatFunction repeatFunction(int64_t bytes) { return TENON_SIMD_BEST(findRepeat)(bytes); }

}  // namespace tenon::backends::cpu
#endif
