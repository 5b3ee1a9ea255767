// Arithmetic of extents: quotients that round to either side, sums and products that saturate.
#pragma once

#include <cstdint>
#include <limits>

#include "core/error.h"

namespace tenon {

// Towards zero; the one quotient that is no int64_t saturates. `exact`: nothing was cut off.
inline int64_t divide(int64_t a, int64_t b, bool& exact) {
  checkUser(b != 0, "division of extent {} by 0: the divisor must not be zero", a);
  exact = b == -1 || a % b == 0;
  if (b == -1) return a == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -a;
  return a / b;
}

inline int64_t floorDivide(int64_t a, int64_t b) {
  bool exact = false;
  const int64_t quotient = divide(a, b, exact);
  return quotient - (!exact && (a < 0) != (b < 0) ? 1 : 0);
}

inline int64_t ceilDivide(int64_t a, int64_t b) {
  bool exact = false;
  const int64_t quotient = divide(a, b, exact);
  return quotient + (!exact && (a < 0) == (b < 0) ? 1 : 0);
}

// Saturating, so that absurd extents become absurd bounds and not wrapped ones.
inline int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

inline int64_t saturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace tenon
