// The functions that expressions of pointwise.table use beside the standard ones, for double and int64_t.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace tenon::ops::scalar_math {

using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::ceil;
using std::cos;
using std::cosh;
using std::erf;
using std::exp;
using std::expm1;
using std::floor;
using std::log;
using std::log1p;
using std::rint;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;

inline bool isInfinite(double a) { return std::isinf(a); }
inline bool isInfinite(int64_t) { return false; }
inline double clampUnit(double a) { return a < 0 ? 0 : (a > 1 ? 1 : a); }

inline double divide(double a, double b) { return a / b; }
inline double floorDivide(double a, double b) { return std::floor(a / b); }
inline double truncatedModulo(double a, double b) { return std::fmod(a, b); }
inline double floorModulo(double a, double b) {
  const double m = std::fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
inline double power(double a, double b) { return std::pow(a, b); }

// Integers: division by zero gives 0 and the one overflow wraps, so that no input can trap.
inline int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}
inline int64_t truncatedModulo(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
inline int64_t floorDivide(int64_t a, int64_t b) {
  const int64_t quotient = divide(a, b);
  return truncatedModulo(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
inline int64_t floorModulo(int64_t a, int64_t b) {
  const int64_t m = truncatedModulo(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
inline int64_t power(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : (a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
  uint64_t result = 1;
  for (uint64_t base = static_cast<uint64_t>(a); b > 0; b >>= 1, base *= base) {
    if ((b & 1) != 0) result *= base;
  }
  return static_cast<int64_t>(result);
}

// Bits of integers in two's complement. Counts below 0 or beyond the bits shift everything out; the sign comes in from
// the left. What a narrower type keeps of the result is what its own shift would give.
inline int64_t bitNot(int64_t a) { return ~a; }
inline int64_t bitAnd(int64_t a, int64_t b) { return a & b; }
inline int64_t bitOr(int64_t a, int64_t b) { return a | b; }
inline int64_t bitXor(int64_t a, int64_t b) { return a ^ b; }
inline int64_t shiftLeft(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}
inline int64_t shiftRight(int64_t a, int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); }

// Real numbers have no bits and types refuse them; these are for tables that have each row for both classes.
inline int64_t wholePart(double a) { return a > -0x1p63 && a < 0x1p63 ? static_cast<int64_t>(a) : 0; }
inline double bitNot(double a) { return static_cast<double>(bitNot(wholePart(a))); }
inline double bitAnd(double a, double b) { return static_cast<double>(bitAnd(wholePart(a), wholePart(b))); }
inline double bitOr(double a, double b) { return static_cast<double>(bitOr(wholePart(a), wholePart(b))); }
inline double bitXor(double a, double b) { return static_cast<double>(bitXor(wholePart(a), wholePart(b))); }
inline double shiftLeft(double a, double b) { return static_cast<double>(shiftLeft(wholePart(a), wholePart(b))); }
inline double shiftRight(double a, double b) { return static_cast<double>(shiftRight(wholePart(a), wholePart(b))); }

}  // namespace tenon::ops::scalar_math
