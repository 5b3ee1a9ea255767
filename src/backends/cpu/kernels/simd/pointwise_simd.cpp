// Vector forms of the scalar operators, in Highway: written once, compiled per instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/pointwise_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include <cmath>

#include "backends/cpu/kernels/simd/pointwise_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/exp.inc"
#include "backends/cpu/kernels/simd/minmax.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

#define UNARY(name, expression)                                                 \
  void name(const void* va, const void*, const void*, void* vo, size_t count) { \
    const D d;                                                                  \
    const auto* pa = static_cast<const float*>(va);                             \
    auto* out = static_cast<float*>(vo);                                        \
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {                          \
      const V a = hn::LoadU(d, pa + i);                                         \
      hn::StoreU(expression, d, out + i);                                       \
    }                                                                           \
  }
// kSame: b is one element.
#define BINARY(name, expression)                                                   \
  template <bool kSame = false>                                                    \
  void name(const void* va, const void* vb, const void*, void* vo, size_t count) { \
    const D d;                                                                     \
    const auto* pa = static_cast<const float*>(va);                                \
    const auto* pb = static_cast<const float*>(vb);                                \
    auto* out = static_cast<float*>(vo);                                           \
    const V same = hn::Set(d, kSame ? *pb : 0.f);                                  \
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {                             \
      const V a = hn::LoadU(d, pa + i);                                            \
      const V b = kSame ? same : hn::LoadU(d, pb + i);                             \
      hn::StoreU(expression, d, out + i);                                          \
    }                                                                              \
  }
// kSame: which of b (2) and c (4) are one element.
#define TERNARY(name, expression)                                                     \
  template <int kSame = 0>                                                            \
  void name(const void* va, const void* vb, const void* vc, void* vo, size_t count) { \
    const D d;                                                                        \
    const auto* pa = static_cast<const float*>(va);                                   \
    const auto* pb = static_cast<const float*>(vb);                                   \
    const auto* pc = static_cast<const float*>(vc);                                   \
    auto* out = static_cast<float*>(vo);                                              \
    constexpr bool kSameB = (kSame & 2) != 0;                                         \
    constexpr bool kSameC = (kSame & 4) != 0;                                         \
    const V sameB = hn::Set(d, kSameB ? *pb : 0.f);                                   \
    const V sameC = hn::Set(d, kSameC ? *pc : 0.f);                                   \
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {                                \
      const V a = hn::LoadU(d, pa + i);                                               \
      const V b = kSameB ? sameB : hn::LoadU(d, pb + i);                              \
      const V c = kSameC ? sameC : hn::LoadU(d, pc + i);                              \
      hn::StoreU(expression, d, out + i);                                             \
    }                                                                                 \
  }

#include "backends/cpu/kernels/simd/pointwise_functions.inc"

UNARY(vIdentity, a)

// Four vectors at a time need no bounds where all of them are in range, which their bits say of NaN too.
void vExp(const void* va, const void*, const void*, void* vo, size_t count) {
  constexpr size_t kTogether = 4;
  const D d;
  const hn::RebindToUnsigned<D> du;
  const auto magnitude = hn::Set(du, 0x7fffffffu);
  const size_t lanes = hn::Lanes(d);
  const auto* pa = static_cast<const float*>(va);
  auto* out = static_cast<float*>(vo);
  size_t i = 0;
  for (; i + kTogether * lanes <= count; i += kTogether * lanes) {
    V a[kTogether];
    auto most = hn::Zero(du);
#pragma GCC unroll 4
    for (size_t k = 0; k < kTogether; ++k) {
      a[k] = hn::LoadU(d, pa + i + k * lanes);
      most = greater(most, hn::And(hn::BitCast(du, a[k]), magnitude));
    }
    const bool inRange = hn::AllTrue(d, hn::Lt(hn::BitCast(d, most), constant(87.f)));  // false of NaN
#pragma GCC unroll 4
    for (size_t k = 0; k < kTogether; ++k)
      hn::StoreU(inRange ? exponential::inRange(a[k]) : exponential::ofAny(a[k]), d, out + i + k * lanes);
  }
  for (; i < count; i += lanes) hn::StoreU(exponential::ofAny(hn::LoadU(d, pa + i)), d, out + i);
}
UNARY(vSqrt, hn::Sqrt(a))
UNARY(vRsqrt, hn::Div(constant(1.f), hn::Sqrt(a)))
UNARY(vRecip, hn::Div(constant(1.f), a))
UNARY(vAbs, hn::Abs(a))
UNARY(vNeg, hn::Neg(a))
UNARY(vTanh, hyperbolicTangent(a))
UNARY(vSin, sine(a))
UNARY(vCos, cosine(a))
UNARY(vTan, tangent(a))
UNARY(vAsin, within1(a, hn::Asin(d, a)))
UNARY(vAcos, within1(a, hn::Acos(d, a)))
UNARY(vAtan, keepNan(a, hn::Atan(d, a)))
UNARY(vAsinh, finite(a, hn::Asinh(d, a)))
UNARY(vAcosh, arcHyperbolicCosine(a))
UNARY(vAtanh, arcHyperbolicTangent(a))
UNARY(vSinh, hyperbolicSine(a))
UNARY(vCosh, hyperbolicCosine(a))
UNARY(vCube, hn::Mul(hn::Mul(a, a), a))
BINARY(vPow, power(a, b))
UNARY(vCeil, hn::Ceil(a))
UNARY(vFloor, hn::Floor(a))
UNARY(vRound, hn::Round(a))
UNARY(vNot, truth(hn::Eq(a, hn::Zero(d))))
UNARY(vRelu, hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Zero(d), a))
UNARY(vLog, logarithm(a))
UNARY(vErf, errorFunction(a))
UNARY(vSigmoid, hn::Div(constant(1.f), sigmoidDivisor(a)))
UNARY(vSwish, hn::Div(a, sigmoidDivisor(a)))
UNARY(vSoftplus, softplus(a))
UNARY(vGelu, gelu(a))
UNARY(vGeluTanh, geluTanh(a))
BINARY(vElu, elu(a, b))
TERNARY(vSelu, hn::Mul(c, elu(a, b)))
UNARY(vSoftsign, hn::Div(a, hn::Add(constant(1.f), hn::Abs(a))))
BINARY(vLeakyRelu, hn::IfThenElse(hn::Ge(a, hn::Zero(d)), a, hn::Mul(a, b)))
BINARY(vThresholdedRelu, hn::IfThenElseZero(hn::Gt(a, b), a))
TERNARY(vClip, hn::IfThenElse(hn::Lt(a, b), b, hn::IfThenElse(hn::Gt(a, c), c, a)))
TERNARY(vHardSigmoid, hardSigmoid(a, b, c))
TERNARY(vHardSwish, hn::Mul(a, hardSigmoid(a, b, c)))
BINARY(vAdd, hn::Add(a, b))
BINARY(vSub, hn::Sub(a, b))
BINARY(vSubFrom, hn::Sub(b, a))
BINARY(vMul, hn::Mul(a, b))
BINARY(vDiv, hn::Div(a, b))
BINARY(vDivInto, hn::Div(b, a))
BINARY(vMin, hn::IfThenElse(hn::Or(hn::Lt(b, a), isNan(b)), b, a))
BINARY(vMax, hn::IfThenElse(hn::Or(hn::Gt(b, a), isNan(b)), b, a))
BINARY(vAnd, truth(hn::And(isTrue(a), isTrue(b))))
BINARY(vOr, truth(hn::Or(isTrue(a), isTrue(b))))
BINARY(vXor, truth(hn::Xor(isTrue(a), isTrue(b))))
UNARY(vIsNan, truth(isNan(a)))
UNARY(vIsInf, truth(hn::Eq(hn::Abs(a), constant(HUGE_VALF))))
UNARY(vSign,
      hn::IfThenElse(hn::Gt(a, hn::Zero(d)), constant(1.f), hn::IfThenElse(hn::Lt(a, hn::Zero(d)), constant(-1.f), a)))
BINARY(vEqual, truth(hn::Eq(a, b)))
BINARY(vGreater, truth(hn::Gt(a, b)))
BINARY(vLess, truth(hn::Lt(a, b)))
TERNARY(vSelect, hn::IfThenElse(isTrue(a), b, c))
TERNARY(vFma, hn::Add(hn::Mul(a, b), c))

#undef UNARY
#undef BINARY
#undef TERNARY

VectorFunction find(ops::ScalarOp op) {
  using ops::ScalarOp;
  switch (op) {
    case ScalarOp::k_identity:
    case ScalarOp::k_cast: return vIdentity;
    case ScalarOp::k_exp: return vExp;
    case ScalarOp::k_log: return vLog;
    case ScalarOp::k_erf: return vErf;
    case ScalarOp::k_softplus: return vSoftplus;
    case ScalarOp::k_gelu_erf: return vGelu;
    case ScalarOp::k_gelu_tanh: return vGeluTanh;
    case ScalarOp::k_elu: return vElu<>;
    case ScalarOp::k_selu: return vSelu<>;
    case ScalarOp::k_sqrt: return vSqrt;
    case ScalarOp::k_rsqrt: return vRsqrt;
    case ScalarOp::k_recip: return vRecip;
    case ScalarOp::k_abs: return vAbs;
    case ScalarOp::k_neg: return vNeg;
    case ScalarOp::k_tanh: return vTanh;
    case ScalarOp::k_sin: return vSin;
    case ScalarOp::k_cos: return vCos;
    case ScalarOp::k_tan: return vTan;
    case ScalarOp::k_asin: return vAsin;
    case ScalarOp::k_acos: return vAcos;
    case ScalarOp::k_atan: return vAtan;
    case ScalarOp::k_sinh: return vSinh;
    case ScalarOp::k_cosh: return vCosh;
    case ScalarOp::k_asinh: return vAsinh;
    case ScalarOp::k_acosh: return vAcosh;
    case ScalarOp::k_atanh: return vAtanh;
    case ScalarOp::k_pow: return vPow<>;
    case ScalarOp::k_ceil: return vCeil;
    case ScalarOp::k_floor: return vFloor;
    case ScalarOp::k_round: return vRound;
    case ScalarOp::k_not: return vNot;
    case ScalarOp::k_relu: return vRelu;
    case ScalarOp::k_sigmoid: return vSigmoid;
    case ScalarOp::k_softsign: return vSoftsign;
    case ScalarOp::k_leaky_relu: return vLeakyRelu<>;
    case ScalarOp::k_thresholded_relu: return vThresholdedRelu<>;
    case ScalarOp::k_clip: return vClip<>;
    case ScalarOp::k_hard_sigmoid: return vHardSigmoid<>;
    case ScalarOp::k_add: return vAdd<>;
    case ScalarOp::k_sub: return vSub<>;
    case ScalarOp::k_mul: return vMul<>;
    case ScalarOp::k_div: return vDiv<>;
    case ScalarOp::k_min: return vMin<>;
    case ScalarOp::k_max: return vMax<>;
    case ScalarOp::k_and: return vAnd<>;
    case ScalarOp::k_or: return vOr<>;
    case ScalarOp::k_xor: return vXor<>;
    case ScalarOp::k_isnan: return vIsNan;
    case ScalarOp::k_isinf: return vIsInf;
    case ScalarOp::k_sign: return vSign;
    case ScalarOp::k_equal: return vEqual<>;
    case ScalarOp::k_greater: return vGreater<>;
    case ScalarOp::k_less: return vLess<>;
    case ScalarOp::k_select: return vSelect<>;
    case ScalarOp::k_fma: return vFma<>;
    default: return nullptr;
  }
}

VectorFunction findWithSame(ops::ScalarOp op, int same) {
  using ops::ScalarOp;
  constexpr int kBoth = 6;
  if (same == 1 && op == ScalarOp::k_sub) return vSubFrom<true>;
  if (same == 1 && op == ScalarOp::k_div) return vDivInto<true>;
  if (same == 2) {
    switch (op) {
      case ScalarOp::k_add: return vAdd<true>;
      case ScalarOp::k_sub: return vSub<true>;
      case ScalarOp::k_mul: return vMul<true>;
      case ScalarOp::k_div: return vDiv<true>;
      case ScalarOp::k_min: return vMin<true>;
      case ScalarOp::k_max: return vMax<true>;
      case ScalarOp::k_pow: return vPow<true>;
      case ScalarOp::k_elu: return vElu<true>;
      case ScalarOp::k_leaky_relu: return vLeakyRelu<true>;
      case ScalarOp::k_thresholded_relu: return vThresholdedRelu<true>;
      case ScalarOp::k_fma: return vFma<2>;
      default: return nullptr;
    }
  }
  if (op == ScalarOp::k_fma && same == 4) return vFma<4>;
  if (same != kBoth) return nullptr;
  switch (op) {
    case ScalarOp::k_fma: return vFma<kBoth>;
    case ScalarOp::k_clip: return vClip<kBoth>;
    case ScalarOp::k_selu: return vSelu<kBoth>;
    case ScalarOp::k_hard_sigmoid: return vHardSigmoid<kBoth>;
    default: return nullptr;
  }
}

VectorFunction findCube() { return vCube; }

VectorFunction findGated(ops::ScalarOp gate) {
  if (gate == ops::ScalarOp::k_sigmoid) return vSwish;
  return gate == ops::ScalarOp::k_hard_sigmoid ? vHardSwish<> : nullptr;
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <utility>

namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(find);
TENON_SIMD_TABLE(findWithSame);
TENON_SIMD_TABLE(findCube);
TENON_SIMD_TABLE(findGated);

template <size_t Op>
void scalarLoop(const void* va, const void* vb, const void* vc, void* vo, size_t count) {
  const auto *a = static_cast<const float*>(va), *b = static_cast<const float*>(vb), *c = static_cast<const float*>(vc);
  auto* out = static_cast<float*>(vo);
  const auto op = static_cast<ops::ScalarOp>(Op);
  const int arity = ops::row(op).arity;
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(ops::evaluateScalar(op, static_cast<double>(a[i]),
                                                    arity > 1 ? static_cast<double>(b[i]) : 0.0,
                                                    arity > 2 ? static_cast<double>(c[i]) : 0.0));
  }
}

template <size_t... Ops>
constexpr std::array<VectorFunction, sizeof...(Ops)> scalarLoops(std::index_sequence<Ops...>) {
  return {scalarLoop<Ops>...};
}

constexpr size_t kCount = 0
#define ROW(name, arity, result, expression) +1
#include "ops/pointwise.table"
#undef ROW
    ;

}  // namespace

VectorFunction vectorFunction(ops::ScalarOp op) {
  static constexpr auto kLoops = scalarLoops(std::make_index_sequence<kCount>());
  const VectorFunction fast = TENON_SIMD_BEST(find)(op);
  return fast != nullptr ? fast : kLoops[static_cast<size_t>(op)];
}

VectorFunction vectorFunctionWithSame(ops::ScalarOp op, int same) { return TENON_SIMD_BEST(findWithSame)(op, same); }
VectorFunction cubeFunction() { return TENON_SIMD_BEST(findCube)(); }
VectorFunction gatedFunction(ops::ScalarOp gate) { return TENON_SIMD_BEST(findGated)(gate); }

}  // namespace tenon::backends::cpu
#endif
