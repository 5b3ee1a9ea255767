// A 64-bit integer whose arithmetic wraps, so that the rows of pointwise.table are defined for all integers.
#pragma once

#include <limits>

#include "ops/scalar_math.h"

namespace tenon::ops {

struct WrappingInteger {
  int64_t value = 0;

  template <typename N>
  explicit WrappingInteger(N number) : value(convert(number)) {}
  WrappingInteger(const WrappingInteger&) = default;
  operator double() const { return static_cast<double>(value); }  // NOLINT: for the functions of real numbers

  friend WrappingInteger operator+(WrappingInteger a, WrappingInteger b) { return wrap(a.bits() + b.bits()); }
  friend WrappingInteger operator-(WrappingInteger a, WrappingInteger b) { return wrap(a.bits() - b.bits()); }
  friend WrappingInteger operator*(WrappingInteger a, WrappingInteger b) { return wrap(a.bits() * b.bits()); }
  friend WrappingInteger operator/(WrappingInteger a, WrappingInteger b) { return divide(a, b); }
  friend WrappingInteger operator-(WrappingInteger a) { return wrap(0 - a.bits()); }
  friend bool operator==(WrappingInteger a, WrappingInteger b) { return a.value == b.value; }
  friend bool operator!=(WrappingInteger a, WrappingInteger b) { return a.value != b.value; }
  friend bool operator<(WrappingInteger a, WrappingInteger b) { return a.value < b.value; }
  friend bool operator>(WrappingInteger a, WrappingInteger b) { return a.value > b.value; }
  friend bool operator<=(WrappingInteger a, WrappingInteger b) { return a.value <= b.value; }
  friend bool operator>=(WrappingInteger a, WrappingInteger b) { return a.value >= b.value; }

  // The functions of scalar_math.h and the roundings, exact for all 64 bits.
  friend WrappingInteger ceil(WrappingInteger a) { return a; }
  friend WrappingInteger floor(WrappingInteger a) { return a; }
  friend WrappingInteger rint(WrappingInteger a) { return a; }
  friend bool isInfinite(WrappingInteger) { return false; }
  friend WrappingInteger divide(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::divide(a.value, b.value));
  }
  friend WrappingInteger floorDivide(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::floorDivide(a.value, b.value));
  }
  friend WrappingInteger truncatedModulo(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::truncatedModulo(a.value, b.value));
  }
  friend WrappingInteger floorModulo(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::floorModulo(a.value, b.value));
  }
  friend WrappingInteger power(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::power(a.value, b.value));
  }
  friend WrappingInteger bitNot(WrappingInteger a) { return WrappingInteger(scalar_math::bitNot(a.value)); }
  friend WrappingInteger bitAnd(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::bitAnd(a.value, b.value));
  }
  friend WrappingInteger bitOr(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::bitOr(a.value, b.value));
  }
  friend WrappingInteger bitXor(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::bitXor(a.value, b.value));
  }
  friend WrappingInteger shiftLeft(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::shiftLeft(a.value, b.value));
  }
  friend WrappingInteger shiftRight(WrappingInteger a, WrappingInteger b) {
    return WrappingInteger(scalar_math::shiftRight(a.value, b.value));
  }

 private:
  uint64_t bits() const { return static_cast<uint64_t>(value); }
  static WrappingInteger wrap(uint64_t bits) { return WrappingInteger(static_cast<int64_t>(bits)); }
  static int64_t convert(int64_t number) { return number; }
  static int64_t convert(int number) { return number; }
  static int64_t convert(bool number) { return number ? 1 : 0; }
  static int64_t convert(double number) {  // as a store would: truncates, saturates, NaN is 0
    constexpr double kLimit = 9223372036854775808.0;
    if (number != number) return 0;
    if (number >= kLimit) return std::numeric_limits<int64_t>::max();
    return number < -kLimit ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(number);
  }
};

}  // namespace tenon::ops
