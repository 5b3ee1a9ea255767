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

HWY_INLINE V constant(float value) { return hn::Set(D(), value); }
HWY_INLINE V truth(hn::Mask<D> mask) { return hn::IfThenElseZero(mask, constant(1.f)); }
// Highway's Ne is false where an operand is NaN.
HWY_INLINE hn::Mask<D> isTrue(V v) { return hn::Not(hn::Eq(v, hn::Zero(D()))); }
HWY_INLINE hn::Mask<D> isNan(V v) { return hn::IsNaN(v); }

// The minimum and the maximum take their second operand where one is NaN.
HWY_INLINE V within(V a, float bound) { return lesser(constant(bound), greater(constant(-bound), a)); }
// 1 + exp(-a); at the bounds its reciprocal is 0 or 1 to within 2e-38.
HWY_INLINE V sigmoidDivisor(V a) { return hn::Add(constant(1.f), exponential::inRange(hn::Neg(within(a, 87.f)))); }
HWY_INLINE V hardSigmoid(V a, V b, V c) { return lesser(constant(1.f), greater(hn::Zero(D()), hn::MulAdd(b, a, c))); }
HWY_INLINE V keepNan(V a, V result) { return hn::IfThenElse(isNan(a), a, result); }

// A quotient of polynomials (Eigen's); beyond 4 the error function is 1 in single precision.
HWY_INLINE V errorFunction(V a) {
  const V x = within(a, 4.f);
  const V square = hn::Mul(x, x);
  V above = hn::MulAdd(constant(-2.72614225801306e-10f), square, constant(2.77068142495902e-08f));
  above = hn::MulAdd(above, square, constant(-2.10102402082508e-06f));
  above = hn::MulAdd(above, square, constant(-5.69250639462346e-05f));
  above = hn::MulAdd(above, square, constant(-7.34990630326855e-04f));
  above = hn::MulAdd(above, square, constant(-2.95459980854025e-03f));
  above = hn::MulAdd(above, square, constant(-1.60960333262415e-02f));
  V below = hn::MulAdd(constant(-1.45660718464996e-05f), square, constant(-2.13374055278905e-04f));
  below = hn::MulAdd(below, square, constant(-1.68282697438203e-03f));
  below = hn::MulAdd(below, square, constant(-7.37332916720468e-03f));
  below = hn::MulAdd(below, square, constant(-1.42647390514189e-02f));
  return hn::Mul(x, hn::Div(above, below));
}

// A quotient of polynomials (Eigen's); beyond 7.9 the result is 1 in single precision. Small numbers are their own.
HWY_INLINE V hyperbolicTangent(V a) {
  const V x = within(a, 7.90531110763549805f);
  const V square = hn::Mul(x, x);
  V above = hn::MulAdd(constant(-2.76076847742355e-16f), square, constant(2.00018790482477e-13f));
  above = hn::MulAdd(above, square, constant(-8.60467152213735e-11f));
  above = hn::MulAdd(above, square, constant(5.12229709037114e-08f));
  above = hn::MulAdd(above, square, constant(1.48572235717979e-05f));
  above = hn::MulAdd(above, square, constant(6.37261928875436e-04f));
  above = hn::MulAdd(above, square, constant(4.89352455891786e-03f));
  V below = hn::MulAdd(constant(1.19825839466702e-06f), square, constant(1.18534705686654e-04f));
  below = hn::MulAdd(below, square, constant(2.26843463243900e-03f));
  below = hn::MulAdd(below, square, constant(4.89352518554385e-03f));
  const V result = hn::Div(hn::Mul(x, above), below);
  return hn::IfThenElse(hn::Lt(hn::Abs(a), constant(4e-4f)), a, result);
}

// Function by function where an argument is out of what the vector form takes: far from zero, infinite, NaN.
template <typename F>
HWY_NOINLINE V each(V a, V b, F function) {
  const D d;
  alignas(64) float x[kLanes], y[kLanes];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  for (size_t i = 0; i < hn::Lanes(d); ++i) x[i] = function(x[i], y[i]);
  return hn::Load(d, x);
}
constexpr float kFarAngle = 8192.f;  // below it, pi in three parts reduces the argument exactly enough
HWY_INLINE V sine(V a) {
  if (HWY_LIKELY(hn::AllTrue(D(), hn::Le(hn::Abs(a), constant(kFarAngle))))) return hn::Sin(D(), a);
  return each(a, a, [](float x, float) { return static_cast<float>(std::sin(static_cast<double>(x))); });
}
HWY_INLINE V cosine(V a) {
  if (HWY_LIKELY(hn::AllTrue(D(), hn::Le(hn::Abs(a), constant(kFarAngle))))) return hn::Cos(D(), a);
  return each(a, a, [](float x, float) { return static_cast<float>(std::cos(static_cast<double>(x))); });
}

HWY_INLINE V tangent(V a) {
  if (HWY_LIKELY(hn::AllTrue(D(), hn::Le(hn::Abs(a), constant(kFarAngle)))))
    return hn::Div(hn::Sin(D(), a), hn::Cos(D(), a));
  return each(a, a, [](float x, float) { return static_cast<float>(std::tan(static_cast<double>(x))); });
}

// The inverse functions are Highway's where these hold; beyond, they are NaN or what their limits say.
HWY_INLINE V within1(V a, V result) { return hn::IfThenElse(hn::Le(hn::Abs(a), constant(1.f)), result, constant(NAN)); }
HWY_INLINE V finite(V a, V result) { return hn::IfThenElse(hn::Lt(hn::Abs(a), constant(HUGE_VALF)), result, a); }
HWY_INLINE V arcHyperbolicCosine(V a) {
  return hn::IfThenElse(hn::Lt(a, constant(1.f)), constant(NAN), finite(a, hn::Acosh(D(), a)));
}
HWY_INLINE V arcHyperbolicTangent(V a) {
  const V size = hn::Abs(a);
  const V result = hn::Atanh(D(), lesser(size, constant(0.99999994f)));
  const V limited = hn::IfThenElse(hn::Eq(size, constant(1.f)), constant(HUGE_VALF), result);
  return hn::CopySign(within1(a, limited), a);
}

// (exp|a| - exp(-|a|)) / 2, by way of the square root of exp|a|, which has no overflow before the result has. Near 0 by
// exp(a) - 1.
HWY_INLINE V hyperbolicSine(V a) {
  const D d;
  const V size = hn::Abs(a);
  const V root = exponential::inRange(hn::Mul(lesser(size, constant(176.f)), constant(0.5f)));
  const V half = hn::Mul(root, constant(0.5f));
  const V far = hn::Sub(hn::Mul(half, root), hn::Div(constant(0.5f), hn::Mul(root, root)));
  const V minusOne = hn::Expm1(d, lesser(size, constant(1.f)));
  const V near = hn::Mul(constant(0.5f), hn::Add(minusOne, hn::Div(minusOne, hn::Add(minusOne, constant(1.f)))));
  return keepNan(a, hn::CopySign(hn::IfThenElse(hn::Lt(size, constant(1.f)), near, far), a));
}
HWY_INLINE V hyperbolicCosine(V a) {
  const V root = exponential::inRange(hn::Mul(lesser(hn::Abs(a), constant(176.f)), constant(0.5f)));
  const V half = hn::Mul(root, constant(0.5f));
  return keepNan(a, hn::Add(hn::Mul(half, root), hn::Div(constant(0.5f), hn::Mul(root, root))));
}

using Real = hn::ScalableTag<double>;
using HalfOfFloats = hn::Rebind<float, Real>;
HWY_INLINE V positivePower(V a, V b) {
  const D d;
  const Real wide;
  const HalfOfFloats half;
  alignas(64) float x[kLanes], y[kLanes];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  for (size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(wide)) {
    const auto logarithm = hn::Log(wide, hn::PromoteTo(wide, hn::Load(half, x + i)));
    const auto product = hn::Mul(logarithm, hn::PromoteTo(wide, hn::Load(half, y + i)));
    const auto bounded = lesser(greater(product, hn::Set(wide, -200.)), hn::Set(wide, 200.));
    hn::Store(hn::DemoteTo(half, hn::Exp(wide, bounded)), half, x + i);
  }
  return hn::Load(d, x);
}

// By logarithm and exponential in double, where a is finite and not 0 and b finite. Negative a have whole powers only.
HWY_INLINE V power(V a, V b) {
  const D d;
  const V size = hn::Abs(a);
  const auto fits = hn::And(hn::And(hn::Gt(size, hn::Zero(d)), hn::Lt(size, constant(HUGE_VALF))),
                            hn::Lt(hn::Abs(b), constant(HUGE_VALF)));
  if (HWY_UNLIKELY(!hn::AllTrue(d, fits)))
    return each(a, b, [](float x, float y) {
      return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
    });
  const V positive = positivePower(size, b);
  const auto isNegative = hn::Lt(a, hn::Zero(d));
  if (HWY_LIKELY(hn::AllFalse(d, isNegative))) return positive;
  const V halved = hn::Mul(b, constant(0.5f));
  const auto isWhole = hn::Eq(hn::Floor(b), b);
  const auto isEven = hn::Eq(hn::Floor(halved), halved);
  const V signedPower = hn::IfThenElse(isEven, positive, hn::Neg(positive));
  return hn::IfThenElse(isNegative, hn::IfThenElse(isWhole, signedPower, constant(NAN)), positive);
}

// a (1 + erf(a / sqrt 2)) / 2. Far below zero, where 1 + erf loses its digits, the result is small beside the rounding
// of 1.
HWY_INLINE V gelu(V a) {
  const V half = hn::Mul(a, constant(0.5f));
  return hn::MulAdd(half, errorFunction(hn::Mul(a, constant(0.70710678118654752f))), half);
}

// a sigmoid(2 u) with u = sqrt(2 / pi) (a + 0.044715 a^3), which is a (1 + tanh u) / 2.
HWY_INLINE V geluTanh(V a) {
  const V cubic = hn::MulAdd(hn::Mul(hn::Mul(a, a), constant(0.044715f)), a, a);
  return hn::Div(a, sigmoidDivisor(hn::Mul(cubic, constant(1.5957691216057308f))));
}

// log(1 + exp(a)) without overflow.
HWY_INLINE V softplus(V a) {
  const D d;
  const V rest = hn::Log1p(d, exponential::inRange(greater(constant(-87.f), hn::Neg(hn::Abs(a)))));
  return hn::Add(hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Zero(d), a), rest);
}

HWY_INLINE V logarithm(V a) {
  const D d;
  V result = hn::Log(d, a);
  result = hn::IfThenElse(hn::Eq(a, hn::Zero(d)), constant(-HUGE_VALF), result);
  result = hn::IfThenElse(hn::Lt(a, hn::Zero(d)), constant(NAN), result);
  return hn::IfThenElse(hn::Or(isNan(a), hn::Eq(a, constant(HUGE_VALF))), a, result);
}

// exp(a) - 1 for a <= 0.
HWY_INLINE V expMinusOne(V a) { return hn::Expm1(D(), greater(constant(-87.f), lesser(hn::Zero(D()), a))); }
HWY_INLINE V elu(V a, V b) {
  return keepNan(a, hn::IfThenElse(hn::Ge(a, hn::Zero(D())), a, hn::Mul(b, expMinusOne(a))));
}

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
