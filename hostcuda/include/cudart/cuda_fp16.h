/* The half-precision type of CUDA for host code: storage and conversion, no arithmetic beyond what float gives. */
#pragma once

#include "driver_types.h"

#if defined(__cplusplus)

#include <cstring>

struct __half_raw {
  unsigned short x;
};

/* Nearest half, ties to even; overflow gives infinity, a NaN stays one. */
inline unsigned short tenonHalfBits(float value) {
  unsigned int bits;
  std::memcpy(&bits, &value, sizeof bits);
  const unsigned int sign = (bits >> 16) & 0x8000u;
  const unsigned int magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<unsigned short>(0x7fffu);
  if (magnitude >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u); /* 65520 and above */
  if (magnitude < 0x38800000u) { /* below the smallest normal half: units of 2^-24 */
    float scaled;
    std::memcpy(&scaled, &magnitude, sizeof scaled);
    scaled += 0.5f; /* at this exponent the unit in the last place is 2^-24, and the addition rounds to even */
    unsigned int rounded;
    std::memcpy(&rounded, &scaled, sizeof rounded);
    return static_cast<unsigned short>(sign | (rounded - 0x3f000000u));
  }
  const unsigned int odd = (magnitude >> 13) & 1u;
  return static_cast<unsigned short>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float tenonHalfValue(unsigned short half) {
  const unsigned int sign = static_cast<unsigned int>(half & 0x8000u) << 16;
  const unsigned int exponent = (half >> 10) & 0x1fu;
  const unsigned int fraction = half & 0x3ffu;
  if (exponent == 0) { /* zero and subnormals: units of 2^-24 */
    const float magnitude = static_cast<float>(fraction) * (1.0f / 16777216.0f);
    return sign != 0 ? -magnitude : magnitude;
  }
  const unsigned int bits =
      exponent == 31 ? sign | 0x7f800000u | (fraction << 13) : sign | ((exponent + 112u) << 23) | (fraction << 13);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct alignas(2) __half {
  __half() = default;
  __half(float value) : x_(tenonHalfBits(value)) {}
  __half(double value) : x_(tenonHalfBits(static_cast<float>(value))) {}
  __half(int value) : x_(tenonHalfBits(static_cast<float>(value))) {}
  __half(const __half_raw& raw) : x_(raw.x) {}
  operator float() const { return tenonHalfValue(x_); }
  operator __half_raw() const { return __half_raw{x_}; }

 private:
  unsigned short x_;
};
typedef __half half;

struct alignas(4) __half2 {
  __half x, y;
};
typedef __half2 half2;

inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline __half __double2half(double value) { return __half(value); }
inline float __half2float(__half value) { return value; }
inline __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{bits}); }
inline unsigned short __half_as_ushort(__half value) { return static_cast<__half_raw>(value).x; }

#endif
