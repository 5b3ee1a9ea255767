// Loops of the scalar operators over integers and truth values. They are plain loops, of which the compiler makes
// vectors for each instruction set: most are a load, an operation and a store. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/typed_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/common/whole_functions.h"
#include "backends/cpu/kernels/simd/typed_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace typed {

// Arithmetic that wraps: unsigned of the same size.
template <typename T, bool Integer = std::is_integral_v<T>>
struct Wrapping {
  using Type = std::make_unsigned_t<T>;
};
template <typename T>
struct Wrapping<T, false> {
  using Type = T;
};
template <typename T>
using WrappingOf = typename Wrapping<T>::Type;

#define UNARY(name, result, expression)                                         \
  template <typename T>                                                         \
  void name(const void* va, const void*, const void*, void* vo, size_t count) { \
    using R [[maybe_unused]] = T;                                               \
    using U [[maybe_unused]] = WrappingOf<T>;                                   \
    const T* HWY_RESTRICT pa = static_cast<const T*>(va);                       \
    result* HWY_RESTRICT out = static_cast<result*>(vo);                        \
    for (size_t i = 0; i < count; ++i) {                                        \
      const T a = pa[i];                                                        \
      out[i] = static_cast<result>(expression);                                 \
    }                                                                           \
  }
// kSame: b is one element.
#define BINARY(name, result, expression)                                           \
  template <typename T, bool kSame = false>                                        \
  void name(const void* va, const void* vb, const void*, void* vo, size_t count) { \
    using R [[maybe_unused]] = T;                                                  \
    using U [[maybe_unused]] = WrappingOf<T>;                                      \
    const T* HWY_RESTRICT pa = static_cast<const T*>(va);                          \
    const T* HWY_RESTRICT pb = static_cast<const T*>(vb);                          \
    result* HWY_RESTRICT out = static_cast<result*>(vo);                           \
    const T same = kSame ? *pb : T(0);                                             \
    for (size_t i = 0; i < count; ++i) {                                           \
      const T a = pa[i];                                                           \
      const T b = kSame ? same : pb[i];                                            \
      out[i] = static_cast<result>(expression);                                    \
    }                                                                              \
  }
// kSame: which of b (2) and c (4) are one element.
#define TERNARY(name, first, expression)                                              \
  template <typename T, int kSame = 0>                                                \
  void name(const void* va, const void* vb, const void* vc, void* vo, size_t count) { \
    using U [[maybe_unused]] = WrappingOf<T>;                                         \
    const first* HWY_RESTRICT pa = static_cast<const first*>(va);                     \
    const T* HWY_RESTRICT pb = static_cast<const T*>(vb);                             \
    const T* HWY_RESTRICT pc = static_cast<const T*>(vc);                             \
    T* HWY_RESTRICT out = static_cast<T*>(vo);                                        \
    constexpr bool kSameB = (kSame & 2) != 0;                                         \
    constexpr bool kSameC = (kSame & 4) != 0;                                         \
    const T sameB = kSameB ? *pb : T(0);                                              \
    const T sameC = kSameC ? *pc : T(0);                                              \
    for (size_t i = 0; i < count; ++i) {                                              \
      const first a = pa[i];                                                          \
      const T b = kSameB ? sameB : pb[i];                                             \
      const T c = kSameC ? sameC : pc[i];                                             \
      out[i] = static_cast<T>(expression);                                            \
    }                                                                                 \
  }

template <typename T>
void spread(const void* va, const void*, const void*, void* vo, size_t count) {
  const T value = *static_cast<const T*>(va);
  T* HWY_RESTRICT out = static_cast<T*>(vo);
  for (size_t i = 0; i < count; ++i) out[i] = value;
}

UNARY(identity, R, a)
UNARY(absolute, R, a < 0 ? static_cast<T>(U(0) - static_cast<U>(a)) : a)
UNARY(negative, R, U(0) - static_cast<U>(a))
UNARY(sign, R, a > 0 ? T(1) : (a < 0 ? static_cast<T>(-1) : T(0)))
UNARY(positive, R, a > 0 ? a : T(0))
UNARY(isZero, uint8_t, a == 0)
UNARY(isNan, uint8_t, a != a)
UNARY(isInfinite, uint8_t, std::fabs(a) == T(HUGE_VALF))
BINARY(add, R, static_cast<U>(a) + static_cast<U>(b))
BINARY(subtract, R, static_cast<U>(a) - static_cast<U>(b))
BINARY(subtractFrom, R, static_cast<U>(b) - static_cast<U>(a))
BINARY(multiply, R, static_cast<U>(a) * static_cast<U>(b))
BINARY(least, R, b < a ? b : a)
BINARY(most, R, b > a ? b : a)
BINARY(bothOf, uint8_t, (a != 0) & (b != 0))
BINARY(eitherOf, uint8_t, (a != 0) | (b != 0))
BINARY(differOf, uint8_t, (a != 0) != (b != 0))
BINARY(agreeOf, uint8_t, (a != 0) == (b != 0))

// The same of bytes, for which the compiler makes masks bit by bit: truths are 0 or 1 by a minimum.
#define TRUTHS(name, others, expression)                                              \
  template <typename T, bool kSame = false>                                           \
  void name(const void* va, const void* vb, const void* vc, void* vo, size_t count) { \
    if constexpr (sizeof(T) != 1) return others<T, kSame>(va, vb, vc, vo, count);     \
    namespace hn = hwy::HWY_NAMESPACE;                                                \
    const hn::ScalableTag<uint8_t> d;                                                 \
    const auto one = hn::Set(d, uint8_t{1});                                          \
    const uint8_t* HWY_RESTRICT pa = static_cast<const uint8_t*>(va);                 \
    const uint8_t* HWY_RESTRICT pb = static_cast<const uint8_t*>(vb);                 \
    uint8_t* HWY_RESTRICT out = static_cast<uint8_t*>(vo);                            \
    const auto same = hn::Min(hn::Set(d, kSame ? *pb : uint8_t{0}), one);             \
    size_t i = 0;                                                                     \
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {                            \
      const auto a = hn::Min(hn::LoadU(d, pa + i), one);                              \
      const auto b = kSame ? same : hn::Min(hn::LoadU(d, pb + i), one);               \
      hn::StoreU(expression, d, out + i);                                             \
    }                                                                                 \
    others<T, kSame>(pa + i, kSame ? pb : pb + i, vc, out + i, count - i);            \
  }
TRUTHS(both, bothOf, hn::And(a, b))
TRUTHS(either, eitherOf, hn::Or(a, b))
TRUTHS(differs, differOf, hn::Xor(a, b))
TRUTHS(agree, agreeOf, hn::Xor(hn::Xor(a, b), one))
#undef TRUTHS
BINARY(equal, uint8_t, a == b)
BINARY(greater, uint8_t, a > b)
BINARY(less, uint8_t, a < b)
TERNARY(choose, uint8_t, a != 0 ? b : c)
TERNARY(clip, T, a < b ? b : (a > c ? c : a))
TERNARY(multiplyAdd, T, static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(c))

UNARY(bitNot, R, ~a)
BINARY(bitAnd, R, a& b)
BINARY(bitOr, R, a | b)
BINARY(bitXor, R, a ^ b)
// Counts of all bits or below 0 leave what the sign is.
BINARY(shiftLeft, R, static_cast<U>(b) < 8 * sizeof(T) ? static_cast<U>(static_cast<U>(a) << static_cast<U>(b)) : U(0))
BINARY(shiftRight, R,
       a >> (static_cast<U>(b) < 8 * sizeof(T) ? static_cast<U>(b) : U(8 * sizeof(T) - 1)) &
           (std::is_signed_v<T> || static_cast<U>(b) < 8 * sizeof(T) ? static_cast<T>(-1) : T(0)))

#include "backends/cpu/kernels/simd/typed_division.inc"

#undef UNARY
#undef BINARY
#undef TERNARY

// Of integers by way of double, towards zero; of what is below zero 0.
template <typename T>
void squareRoot(const void* va, const void*, const void*, void* vo, size_t count) {
  const auto* HWY_RESTRICT a = static_cast<const T*>(va);
  auto* HWY_RESTRICT out = static_cast<T*>(vo);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<T>(std::sqrt(static_cast<double>(std::max<T>(a[i], 0))));
}

template <typename T>
VectorFunction findTruth(ops::ScalarOp op) {
  using ops::ScalarOp;
  switch (op) {
    case ScalarOp::k_not: return isZero<T>;
    case ScalarOp::k_and: return both<T>;
    case ScalarOp::k_or: return either<T>;
    case ScalarOp::k_xor: return differs<T>;
    case ScalarOp::k_equal: return equal<T>;
    case ScalarOp::k_greater: return greater<T>;
    case ScalarOp::k_less: return less<T>;
    case ScalarOp::k_select: return choose<T>;
    default: return nullptr;
  }
}

template <typename T>
VectorFunction findInteger(ops::ScalarOp op) {
  using ops::ScalarOp;
  switch (op) {
    case ScalarOp::k_identity: return identity<T>;
    case ScalarOp::k_abs: return absolute<T>;
    case ScalarOp::k_neg: return negative<T>;
    case ScalarOp::k_sign: return sign<T>;
    case ScalarOp::k_relu: return positive<T>;
    case ScalarOp::k_clip: return clip<T>;
    case ScalarOp::k_add: return add<T>;
    case ScalarOp::k_sub: return subtract<T>;
    case ScalarOp::k_mul: return multiply<T>;
    case ScalarOp::k_div: return division<Divide, T>;
    case ScalarOp::k_floor_div: return division<FloorDivide, T>;
    case ScalarOp::k_mod: return division<FloorModulo, T>;
    case ScalarOp::k_fmod: return division<TruncatedModulo, T>;
    case ScalarOp::k_pow: return power<T>;
    case ScalarOp::k_sqrt: return squareRoot<T>;
    case ScalarOp::k_min: return least<T>;
    case ScalarOp::k_max: return most<T>;
    case ScalarOp::k_fma: return multiplyAdd<T>;
    case ScalarOp::k_bit_not: return bitNot<T>;
    case ScalarOp::k_bit_and: return bitAnd<T>;
    case ScalarOp::k_bit_or: return bitOr<T>;
    case ScalarOp::k_bit_xor: return bitXor<T>;
    case ScalarOp::k_shift_left: return shiftLeft<T>;
    case ScalarOp::k_shift_right: return shiftRight<T>;
    default: return findTruth<T>(op);
  }
}

// Truth values are bytes 0 and 1; what leaves them so.
VectorFunction findBool(ops::ScalarOp op) {
  using ops::ScalarOp;
  switch (op) {
    case ScalarOp::k_identity: return identity<uint8_t>;
    case ScalarOp::k_mul:
    case ScalarOp::k_min: return least<uint8_t>;
    case ScalarOp::k_max: return most<uint8_t>;
    case ScalarOp::k_equal: return agree<uint8_t>;
    default: return findTruth<uint8_t>(op);
  }
}

template <typename T>
VectorFunction findSame(ops::ScalarOp op, int same) {
  using ops::ScalarOp;
  if (op == ScalarOp::k_select) {
    switch (same) {
      case 2: return choose<T, 2>;
      case 4: return choose<T, 4>;
      case 6: return choose<T, 6>;
      default: return nullptr;
    }
  }
  if (op == ScalarOp::k_sub && same == 1 && std::is_integral_v<T>) return subtractFrom<T, true>;
  if (same != 2) return nullptr;
  switch (op) {
    case ScalarOp::k_equal: return equal<T, true>;
    case ScalarOp::k_greater: return greater<T, true>;
    case ScalarOp::k_less: return less<T, true>;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case ScalarOp::k_add: return add<T, true>;
      case ScalarOp::k_sub: return subtract<T, true>;
      case ScalarOp::k_mul: return multiply<T, true>;
      case ScalarOp::k_min: return least<T, true>;
      case ScalarOp::k_max: return most<T, true>;
      case ScalarOp::k_bit_and: return bitAnd<T, true>;
      case ScalarOp::k_bit_or: return bitOr<T, true>;
      case ScalarOp::k_bit_xor: return bitXor<T, true>;
      case ScalarOp::k_shift_left: return shiftLeft<T, true>;
      case ScalarOp::k_shift_right: return shiftRight<T, true>;
      default: break;
    }
  }
  return nullptr;
}

VectorFunction findSameOfBool(ops::ScalarOp op, int same) {
  using ops::ScalarOp;
  if (op == ScalarOp::k_select) return findSame<uint8_t>(op, same);
  if (same != 2) return nullptr;
  switch (op) {
    case ScalarOp::k_and: return both<uint8_t, true>;
    case ScalarOp::k_or: return either<uint8_t, true>;
    case ScalarOp::k_xor: return differs<uint8_t, true>;
    case ScalarOp::k_equal: return agree<uint8_t, true>;
    default: return nullptr;
  }
}

VectorFunction findFloat(ops::ScalarOp op) {
  if (op == ops::ScalarOp::k_isnan) return isNan<float>;
  if (op == ops::ScalarOp::k_isinf) return isInfinite<float>;
  return findTruth<float>(op);
}

}  // namespace typed

VectorFunction findTypedWithSame(ops::ScalarOp op, DataType type, int same) {
  switch (type) {
    case DataType::kF32: return typed::findSame<float>(op, same);
    case DataType::kI64: return typed::findSame<int64_t>(op, same);
    case DataType::kI32: return typed::findSame<int32_t>(op, same);
    case DataType::kI8: return typed::findSame<int8_t>(op, same);
    case DataType::kU8: return typed::findSame<uint8_t>(op, same);
    case DataType::kBool: return typed::findSameOfBool(op, same);
    default: return nullptr;
  }
}

// An element as often as there is place.
VectorFunction findSpread(size_t elementBytes) {
  switch (elementBytes) {
    case 1: return typed::spread<uint8_t>;
    case 2: return typed::spread<uint16_t>;
    case 4: return typed::spread<uint32_t>;
    default: return typed::spread<uint64_t>;
  }
}

VectorFunction findTyped(ops::ScalarOp op, DataType type) {
  switch (type) {
    case DataType::kF32: return typed::findFloat(op);
    case DataType::kI64: return typed::findInteger<int64_t>(op);
    case DataType::kI32: return typed::findInteger<int32_t>(op);
    case DataType::kI8: return typed::findInteger<int8_t>(op);
    case DataType::kU8: return typed::findInteger<uint8_t>(op);
    case DataType::kBool: return typed::findBool(op);
    default: return nullptr;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <utility>

namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findTyped);
TENON_SIMD_TABLE(findTypedWithSame);
TENON_SIMD_TABLE(findSpread);

template <size_t Op>
void wideLoop(const void* va, const void* vb, const void* vc, void* vo, size_t count) {
  const auto op = static_cast<ops::ScalarOp>(Op);
  const int arity = ops::row(op).arity;
  const auto* a = static_cast<const int64_t*>(va);
  const auto* b = arity > 1 ? static_cast<const int64_t*>(vb) : a;
  const auto* c = arity > 2 ? static_cast<const int64_t*>(vc) : a;
  for (size_t i = 0; i < count; ++i) static_cast<int64_t*>(vo)[i] = ops::evaluateScalar(op, a[i], b[i], c[i]);
}

template <size_t... Ops>
constexpr std::array<VectorFunction, sizeof...(Ops)> wideLoops(std::index_sequence<Ops...>) {
  return {wideLoop<Ops>...};
}

constexpr size_t kCount = 0
#define ROW(name, arity, result, expression) +1
#include "ops/pointwise.table"
#undef ROW
    ;

}  // namespace

VectorFunction typedFunction(ops::ScalarOp op, DataType type) {
  if (const auto found = TENON_SIMD_BEST(findTyped)(op, type)) return found;
  if (op == ops::ScalarOp::k_exp && type == DataType::kI32) return narrowExponential;
  const bool isTruth = ops::row(op).result == ops::ScalarResult::kBool;
  return type == DataType::kF32 && !isTruth ? vectorFunction(op) : nullptr;
}

VectorFunction typedFunctionWithSame(ops::ScalarOp op, DataType type, int same) {
  if (const auto found = TENON_SIMD_BEST(findTypedWithSame)(op, type, same)) return found;
  const bool isTruth = ops::row(op).result == ops::ScalarResult::kBool;
  return type == DataType::kF32 && !isTruth ? vectorFunctionWithSame(op, same) : nullptr;
}

VectorFunction spreadFunction(DataType type) {
  return TENON_SIMD_BEST(findSpread)(static_cast<size_t>(bits(type) / 8));
}

VectorFunction wideFunction(ops::ScalarOp op) {
  static constexpr auto kLoops = wideLoops(std::make_index_sequence<kCount>());
  if (op == ops::ScalarOp::k_exp) return wholeExponential;
  if (op == ops::ScalarOp::k_log) return wholeLogarithm;
  return kLoops[static_cast<size_t>(op)];
}

}  // namespace tenon::backends::cpu
#endif
