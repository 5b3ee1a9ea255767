// What every kernel shares: element types, their arithmetic types, wide access, index spaces, block reductions.
#pragma once

#include "backends/cuda/kernels/common/space_parameters.h"
#include "intrinsics.cuh"

using namespace tenon::backends::cuda;  // parameters, which the host shares

typedef float f32;
typedef int32_t i32;
typedef int64_t i64;
typedef signed char i8;
typedef unsigned char u8;
struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};
struct f8e4m3 {
  unsigned char bits;
};
struct b8 {
  unsigned char bits;
};  // bool as stored

__device__ inline float infinity() { return __int_as_float(0x7f800000); }
__device__ inline float notANumber() { return __int_as_float(0x7fc00000); }

// Floating values to integers as everywhere in Tenon: truncated, saturated, NaN is 0.
__device__ inline i64 saturateToInteger(double value) {
  if (value != value) return 0;
  if (value >= 9223372036854775808.0) return 9223372036854775807ll;
  return value < -9223372036854775808.0 ? -9223372036854775807ll - 1 : (i64)value;
}

__device__ inline float bitsToFloat8(unsigned char bits) {  // E4M3: no infinity, NaN is 0x7f
  const int exponent = bits >> 3 & 15;
  const int mantissa = bits & 7;
  float value = exponent == 0 ? mantissa * 0.001953125f : __int_as_float((exponent + 120) << 23 | mantissa << 20);
  if ((bits & 0x7f) == 0x7f) value = notANumber();
  return bits & 0x80 ? -value : value;
}

__device__ inline unsigned char floatToBits8(float value) {  // nearest even, saturated to 448
  const unsigned char sign = __float_as_int(value) < 0 ? 0x80 : 0;
  const float magnitude = fabsf(value);
  if (magnitude != magnitude) return sign | 0x7f;
  if (magnitude >= 448.f) return sign | 0x7e;
  if (magnitude < 0.015625f) return sign | (unsigned char)rintf(magnitude * 512.f);  // multiples of 2^-9
  int bits = __float_as_int(magnitude);
  bits += 0x7ffff + (bits >> 20 & 1);
  return sign | (unsigned char)((bits >> 20) - (120 << 3));
}

// How a stored type is read and written. Compute is what kernels calculate in.
template <typename S>
struct Element;
template <>
struct Element<f32> {
  typedef float Compute;
  __device__ static float load(f32 s) { return s; }
  __device__ static f32 store(float v) { return v; }
};
template <>
struct Element<f16> {
  typedef float Compute;
  __device__ static float load(f16 s) { return halfToFloat(s.bits); }
  __device__ static f16 store(float v) { return {floatToHalf(v)}; }
};
template <>
struct Element<bf16> {
  typedef float Compute;
  __device__ static float load(bf16 s) { return __int_as_float((int)s.bits << 16); }
  __device__ static bf16 store(float v) { return {floatToBfloat(v)}; }
};
template <>
struct Element<f8e4m3> {
  typedef float Compute;
  __device__ static float load(f8e4m3 s) { return bitsToFloat8(s.bits); }
  __device__ static f8e4m3 store(float v) { return {floatToBits8(v)}; }
};
template <>
struct Element<b8> {
  typedef i64 Compute;
  __device__ static i64 load(b8 s) { return s.bits != 0; }
  __device__ static b8 store(i64 v) { return {(unsigned char)(v != 0)}; }
};
template <typename S, i64 kLow, i64 kHigh>
struct IntegerElement {
  typedef i64 Compute;
  __device__ static i64 load(S s) { return s; }
  __device__ static S store(i64 v) { return (S)(v < kLow ? kLow : v > kHigh ? kHigh : v); }
};
template <>
struct Element<i64> : IntegerElement<i64, -9223372036854775807ll - 1, 9223372036854775807ll> {};
template <>
struct Element<i32> : IntegerElement<i32, -2147483648ll, 2147483647ll> {};
template <>
struct Element<i8> : IntegerElement<i8, -128, 127> {};
template <>
struct Element<u8> : IntegerElement<u8, 0, 255> {};

// The range of an integer type; 0 for others.
template <typename S>
struct IntegerLimits {
  __device__ static i64 low() { return 0; }
  __device__ static i64 high() { return 0; }
};
template <>
struct IntegerLimits<i64> {
  __device__ static i64 low() { return -9223372036854775807ll - 1; }
  __device__ static i64 high() { return 9223372036854775807ll; }
};
template <>
struct IntegerLimits<i32> {
  __device__ static i64 low() { return -2147483648ll; }
  __device__ static i64 high() { return 2147483647ll; }
};
template <>
struct IntegerLimits<i8> {
  __device__ static i64 low() { return -128; }
  __device__ static i64 high() { return 127; }
};
template <>
struct IntegerLimits<u8> {
  __device__ static i64 low() { return 0; }
  __device__ static i64 high() { return 255; }
};

template <typename S>
using ComputeOf = typename Element<S>::Compute;
template <typename S>
__device__ inline ComputeOf<S> load(const void* data, i64 index) {
  return Element<S>::load(((const S*)data)[index]);
}
template <typename S>
__device__ inline void store(void* data, i64 index, ComputeOf<S> value) {
  ((S*)data)[index] = Element<S>::store(value);
}
// From either class of arithmetic: a floating value goes to integers as a cast does.
template <typename S>
__device__ inline void storeReal(void* data, i64 index, float value) {
  ((S*)data)[index] = Element<S>::store(value);
}
template <>
__device__ inline void storeReal<i32>(void* data, i64 index, float value) {
  store<i32>(data, index, saturateToInteger(value));
}
template <>
__device__ inline void storeReal<i64>(void* data, i64 index, float value) {
  store<i64>(data, index, saturateToInteger(value));
}
template <>
__device__ inline void storeReal<i8>(void* data, i64 index, float value) {
  store<i8>(data, index, saturateToInteger(value));
}
template <>
__device__ inline void storeReal<u8>(void* data, i64 index, float value) {
  store<u8>(data, index, saturateToInteger(value));
}

// kWidth elements that one instruction moves.
template <typename S, int kWidth>
struct alignas(sizeof(S) * kWidth) Pack {
  S e[kWidth];
};

__device__ inline unsigned operator/(unsigned n, const Divider& by) {
  return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

template <int kOperands>
__device__ inline void step(const Space<kOperands>& space, int axis, i64 i, i64* at) {
#pragma unroll
  for (int k = 0; k < kOperands; ++k) at[k] += i * space.stride[k][axis];
}
// Offsets of the operands at a row-major index: with 32-bit divisions, or with 64-bit ones where the space is larger.
template <int kOperands>
__device__ inline void locate(const Space<kOperands>& space, unsigned index, i64* at) {
  for (int k = 0; k < kOperands; ++k) at[k] = 0;
  unsigned rest = index;
#pragma unroll 1
  for (int axis = space.axes - 1; axis > 0; --axis) {
    const unsigned q = rest / space.divider[axis];
    step(space, axis, rest - q * space.divider[axis].divisor, at);
    rest = q;
  }
  step(space, 0, rest, at);
}
template <int kOperands>
__device__ inline void locate(const Space<kOperands>& space, i64 index, i64* at) {
  for (int k = 0; k < kOperands; ++k) at[k] = 0;
  i64 rest = index;
#pragma unroll 1
  for (int axis = space.axes - 1; axis > 0; --axis) {
    step(space, axis, rest % space.extent[axis], at);
    rest /= space.extent[axis];
  }
  step(space, 0, rest, at);
}

// Takes the innermost index off a row-major position: rest % extent, leaving rest / extent; in 32 bits where that does.
__device__ inline i64 takeIndex(i64& rest, i64 extent) {
  if (((rest | extent) >> 32) == 0) {
    const unsigned position = (unsigned)rest;
    const unsigned quotient = position / (unsigned)extent;
    rest = quotient;
    return position - quotient * (unsigned)extent;
  }
  const i64 quotient = rest / extent;
  const i64 index = rest - quotient * extent;
  rest = quotient;
  return index;
}

__device__ inline i64 globalIndex() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }

// Joins the values of a warp; every lane gets the result.
template <typename T, typename Join>
__device__ inline T warpReduce(T value, Join join) {
  for (int mask = 16; mask > 0; mask /= 2) value = join(value, shuffleXor(value, mask));
  return value;
}

// Joins the values of all threads of a block of whole warps; every thread gets the result. `shared` has 32 entries.
template <typename T, typename Join>
__device__ inline T blockReduce(T value, Join join, T* shared) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  value = warpReduce(value, join);
  if (warps == 1) return value;
  __syncthreads();  // a former use of `shared` may still read it
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  T result = shared[0];
  for (int i = 1; i < warps; ++i) result = join(result, shared[i]);
  return result;
}

struct Add {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {  // a NaN wins
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
struct Min {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};
