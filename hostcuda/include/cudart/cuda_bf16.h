/* The bfloat16 type of CUDA for host code: storage and conversion, no arithmetic beyond what float gives. */
#pragma once

#include "driver_types.h"

#if defined(__cplusplus)

#include <cstring>

struct __nv_bfloat16_raw {
  unsigned short x;
};

/* Nearest bfloat16, ties to even; a NaN stays one. */
inline unsigned short tenonBfloat16Bits(float value) {
  unsigned int bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>(0x7fffu);
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

struct alignas(2) __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : x_(tenonBfloat16Bits(value)) {}
  __nv_bfloat16(double value) : x_(tenonBfloat16Bits(static_cast<float>(value))) {}
  __nv_bfloat16(int value) : x_(tenonBfloat16Bits(static_cast<float>(value))) {}
  __nv_bfloat16(const __nv_bfloat16_raw& raw) : x_(raw.x) {}
  operator float() const {
    const unsigned int bits = static_cast<unsigned int>(x_) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{x_}; }

 private:
  unsigned short x_;
};
typedef __nv_bfloat16 nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16(__nv_bfloat16_raw{bits}); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return static_cast<__nv_bfloat16_raw>(value).x; }

#endif
