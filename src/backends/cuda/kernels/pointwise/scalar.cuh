// The functions of scalar expressions in CUDA: for float, and for integers of 64 bits whose arithmetic wraps.
#pragma once

#include "prelude.cuh"

__device__ inline bool isInfinite(float a) { return isinf(a); }
__device__ inline float clampUnit(float a) { return a < 0.f ? 0.f : (a > 1.f ? 1.f : a); }
__device__ inline float divide(float a, float b) { return a / b; }
__device__ inline float floorDivide(float a, float b) { return floorf(a / b); }
__device__ inline float truncatedModulo(float a, float b) { return fmodf(a, b); }
__device__ inline float floorModulo(float a, float b) {
  const float m = fmodf(a, b);
  return m != 0.f && (m < 0.f) != (b < 0.f) ? m + b : m;
}
__device__ inline float power(float a, float b) { return powf(a, b); }

// For results of 16 bits: relative errors below 2^-20, of narrowGelu below 2^-14 down to -8 (where it is -5e-15).
__device__ inline float narrowExp(float a) { return powerOfTwo(a * 1.44269504f); }
__device__ inline float narrowSigmoid(float a) { return quickDivide(1.f, 1.f + narrowExp(-a)); }
__device__ inline float narrowTanh(float a) {
  const float square = a * a;
  return square < 0.01f ? a * (1.f - square * (0.33333333f - square * 0.13333333f))
                        : 1.f - quickDivide(2.f, 1.f + narrowExp(2.f * a));
}
// a / 2 (1 + erf(a / sqrt(2))): of the normal distribution's tail below -|a| the logarithm is a polynomial up to 8,
// which does not cancel below zero and takes one special function.
__device__ inline float narrowGelu(float a) {
  const float x = fminf(fabsf(a), 8.f);
  const float logarithm =
      -1.0000430f +
      x * (-1.1506100f +
           x * (-0.45995685f +
                x * (-0.052635379f +
                     x * (0.0079445783f + x * (-8.0724829e-4f + x * (4.8203303e-5f + x * -1.2624590e-6f))))));
  return fmaf(-x, powerOfTwo(logarithm), maxFloats(a, 0.f));
}
__device__ inline float narrowGeluTanh(float a) {
  return a * quickDivide(1.f, 1.f + powerOfTwo(a * fmaf(a * a, -0.10294324f, -2.3022082f)));
}

// As ops/wrapping_integer.h: division by zero gives 0, the one overflow wraps.
struct Integer {
  i64 value;

  Integer() = default;
  __device__ explicit Integer(i64 number) : value(number) {}
  __device__ explicit Integer(int number) : value(number) {}
  __device__ explicit Integer(bool number) : value(number) {}
  __device__ explicit Integer(double number) : value(saturateToInteger(number)) {}
  __device__ explicit Integer(float number) : value(saturateToInteger(number)) {}
  __device__ operator double() const { return (double)value; }
};
__device__ inline Integer wrapped(unsigned long long bits) { return Integer((i64)bits); }
__device__ inline unsigned long long bitsOf(Integer a) { return (unsigned long long)a.value; }
__device__ inline Integer operator+(Integer a, Integer b) { return wrapped(bitsOf(a) + bitsOf(b)); }
__device__ inline Integer operator-(Integer a, Integer b) { return wrapped(bitsOf(a) - bitsOf(b)); }
__device__ inline Integer operator*(Integer a, Integer b) { return wrapped(bitsOf(a) * bitsOf(b)); }
__device__ inline Integer operator-(Integer a) { return wrapped(0 - bitsOf(a)); }
__device__ inline bool operator==(Integer a, Integer b) { return a.value == b.value; }
__device__ inline bool operator!=(Integer a, Integer b) { return a.value != b.value; }
__device__ inline bool operator<(Integer a, Integer b) { return a.value < b.value; }
__device__ inline bool operator>(Integer a, Integer b) { return a.value > b.value; }
__device__ inline bool operator<=(Integer a, Integer b) { return a.value <= b.value; }
__device__ inline bool operator>=(Integer a, Integer b) { return a.value >= b.value; }

__device__ inline Integer divide(Integer a, Integer b) {
  if (b.value == 0) return Integer(0);
  return b.value == -1 ? -a : Integer(a.value / b.value);
}
__device__ inline Integer operator/(Integer a, Integer b) { return divide(a, b); }
__device__ inline Integer truncatedModulo(Integer a, Integer b) {
  return Integer(b.value == 0 || b.value == -1 ? 0 : a.value % b.value);
}
__device__ inline Integer floorDivide(Integer a, Integer b) {
  const Integer quotient = divide(a, b);
  return truncatedModulo(a, b).value != 0 && (a.value < 0) != (b.value < 0) ? Integer(quotient.value - 1) : quotient;
}
__device__ inline Integer floorModulo(Integer a, Integer b) {
  const Integer m = truncatedModulo(a, b);
  return m.value != 0 && (m.value < 0) != (b.value < 0) ? m + b : m;
}
__device__ inline Integer power(Integer a, Integer b) {
  i64 exponent = b.value;
  if (exponent < 0) return Integer(a.value == 1 ? 1 : a.value == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
  Integer result(1);
  for (Integer base = a; exponent > 0; exponent >>= 1, base = base * base) {
    if (exponent & 1) result = result * base;
  }
  return result;
}
__device__ inline Integer bitNot(Integer a) { return Integer(~a.value); }
__device__ inline Integer bitAnd(Integer a, Integer b) { return Integer(a.value & b.value); }
__device__ inline Integer bitOr(Integer a, Integer b) { return Integer(a.value | b.value); }
__device__ inline Integer bitXor(Integer a, Integer b) { return Integer(a.value ^ b.value); }
__device__ inline Integer shiftLeft(Integer a, Integer b) {
  return b.value < 0 || b.value > 63 ? Integer(0) : wrapped(bitsOf(a) << b.value);
}
__device__ inline Integer shiftRight(Integer a, Integer b) {
  return Integer(a.value >> (b.value < 0 || b.value > 63 ? 63 : b.value));
}
__device__ inline Integer ceil(Integer a) { return a; }
__device__ inline Integer floor(Integer a) { return a; }
__device__ inline Integer rint(Integer a) { return a; }
__device__ inline bool isInfinite(Integer) { return false; }
__device__ inline Integer clampUnit(Integer a) {
  return a < Integer(0) ? Integer(0) : (a > Integer(1) ? Integer(1) : a);
}

// A value in an instruction's arithmetic class; and in the form in which a stored type computes.
template <typename T>
__device__ inline T as(float v) {
  return T(v);
}
template <typename T>
__device__ inline T as(bool v) {
  return T(v ? 1 : 0);
}
template <typename T>
__device__ inline T as(Integer v) {
  return T(v.value);
}
template <>
__device__ inline float as<float>(Integer v) {
  return (float)v.value;
}
template <>
__device__ inline bool as<bool>(float v) {
  return v != 0.f;
}
template <>
__device__ inline bool as<bool>(Integer v) {
  return v.value != 0;
}

// Stored elements to values and back.
template <typename S>
struct Scalar {  // integers
  typedef Integer Value;
  __device__ static Integer load(S s) { return Integer(Element<S>::load(s)); }
  template <typename V>
  __device__ static S store(V v) {
    return Element<S>::store(as<Integer>(v).value);
  }
};
#define FLOATING_SCALAR(S)                                            \
  template <>                                                         \
  struct Scalar<S> {                                                  \
    typedef float Value;                                              \
    __device__ static float load(S s) { return Element<S>::load(s); } \
    template <typename V>                                             \
    __device__ static S store(V v) {                                  \
      return Element<S>::store(as<float>(v));                         \
    }                                                                 \
  };
FLOATING_SCALAR(f32)
FLOATING_SCALAR(f16)
FLOATING_SCALAR(bf16)
FLOATING_SCALAR(f8e4m3)
#undef FLOATING_SCALAR
template <>
struct Scalar<b8> {
  typedef bool Value;
  __device__ static bool load(b8 s) { return s.bits != 0; }
  template <typename V>
  __device__ static b8 store(V v) {
    return {(unsigned char)as<bool>(v)};
  }
};
template <typename S, typename V>
__device__ inline typename Scalar<S>::Value castTo(V v) {
  return Scalar<S>::load(Scalar<S>::store(v));
}
