// Bits of elements that are not zero, and overlaps of boxes, in Highway: written once, compiled per instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/nonzero_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/simd/nonzero_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/minmax.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace nonzero {

namespace hn = hwy::HWY_NAMESPACE;

// Of the sign and the rest, only the rest counts in floating types.
template <typename T, bool kIsFloating>
void masks(const void* vx, size_t words, uint64_t* out) {
  const hn::CappedTag<T, 64> d;
  const size_t lanes = hn::Lanes(d);
  const uint64_t valid = lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
  const auto* x = static_cast<const T*>(vx);
  const auto zero = hn::Zero(d);
  for (size_t w = 0; w < words; ++w, x += 64) {
    uint64_t word = 0;
    for (size_t i = 0; i < 64; i += lanes) {
      auto v = hn::LoadU(d, x + i);
      if constexpr (kIsFloating) v = hn::Add(v, v);
      uint8_t bytes[8] = {};
      (void)hn::StoreMaskBits(d, hn::Ne(v, zero), bytes);
      uint64_t bits = 0;
      std::memcpy(&bits, bytes, sizeof(bits));
      word |= (bits & valid) << i;
    }
    out[w] = word;
  }
}

bool overlaps(const BoxColumns& boxes, size_t count, double x1, double y1, double x2, double y2, double area,
              double threshold) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  const auto left = hn::Set(d, x1);
  const auto top = hn::Set(d, y1);
  const auto right = hn::Set(d, x2);
  const auto bottom = hn::Set(d, y2);
  const auto own = hn::Set(d, area);
  const auto part = hn::Set(d, threshold);
  const auto zero = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto width = hn::Sub(lesser(hn::LoadU(d, boxes.x2 + i), right), greater(hn::LoadU(d, boxes.x1 + i), left));
    const auto height = hn::Sub(lesser(hn::LoadU(d, boxes.y2 + i), bottom), greater(hn::LoadU(d, boxes.y1 + i), top));
    const auto shared = hn::Mul(width, height);
    const auto whole = hn::Sub(hn::Add(hn::LoadU(d, boxes.area + i), own), shared);
    const auto meets = hn::And(hn::Gt(width, zero), hn::Gt(height, zero));
    if (!hn::AllFalse(d, hn::And(meets, hn::Gt(shared, hn::Mul(part, whole))))) return true;
  }
  for (; i < count; ++i) {
    const double width = std::min(boxes.x2[i], x2) - std::max(boxes.x1[i], x1);
    const double height = std::min(boxes.y2[i], y2) - std::max(boxes.y1[i], y1);
    const double shared = width * height;
    if (width > 0 && height > 0 && shared > threshold * (boxes.area[i] + area - shared)) return true;
  }
  return false;
}

NonZeroMasks masksOf(DataType type) {
  switch (type) {
    case DataType::kF32: return &masks<uint32_t, true>;
    case DataType::kI32: return &masks<uint32_t, false>;
    case DataType::kF16:
    case DataType::kBF16: return &masks<uint16_t, true>;
    case DataType::kI64: return &masks<uint64_t, false>;
    case DataType::kI8:
    case DataType::kU8:
    case DataType::kBool: return &masks<uint8_t, false>;
    default: return nullptr;
  }
}

OverlapsAny overlapFunction() { return &overlaps; }

}  // namespace nonzero

NonZeroMasks masksOf(DataType type) { return nonzero::masksOf(type); }
OverlapsAny overlapFunction() { return nonzero::overlapFunction(); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(masksOf);
TENON_SIMD_TABLE(overlapFunction);

}  // namespace

NonZeroMasks nonZeroMasks(DataType type) { return TENON_SIMD_BEST(masksOf)(type); }
OverlapsAny overlapsAny() { return TENON_SIMD_BEST(overlapFunction)(); }

}  // namespace tenon::backends::cpu
#endif
