// Vector forms of the scalar operators, in Highway: written once, compiled per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/run/pointwise_simd.cpp"
#include "backends/cpu/run/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>

#include "backends/cpu/run/pointwise_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

#define UNARY(name, expression)                                                                     \
  void name(const float* HWY_RESTRICT pa, const float*, const float*, float* out, size_t count) {  \
    const D d;                                                                                      \
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {                                              \
      const V a = hn::LoadU(d, pa + i);                                                             \
      hn::StoreU(expression, d, out + i);                                                           \
    }                                                                                               \
  }
#define BINARY(name, expression)                                                            \
  void name(const float* pa, const float* pb, const float*, float* out, size_t count) {    \
    const D d;                                                                              \
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {                                      \
      const V a = hn::LoadU(d, pa + i);                                                     \
      const V b = hn::LoadU(d, pb + i);                                                     \
      hn::StoreU(expression, d, out + i);                                                   \
    }                                                                                       \
  }
#define TERNARY(name, expression)                                                           \
  void name(const float* pa, const float* pb, const float* pc, float* out, size_t count) { \
    const D d;                                                                              \
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {                                      \
      const V a = hn::LoadU(d, pa + i);                                                     \
      const V b = hn::LoadU(d, pb + i);                                                     \
      const V c = hn::LoadU(d, pc + i);                                                     \
      hn::StoreU(expression, d, out + i);                                                   \
    }                                                                                       \
  }

HWY_INLINE V constant(float value) { return hn::Set(D(), value); }
HWY_INLINE V truth(hn::Mask<D> mask) { return hn::IfThenElseZero(mask, constant(1.f)); }
HWY_INLINE hn::Mask<D> isTrue(V v) { return hn::Ne(v, hn::Zero(D())); }
HWY_INLINE hn::Mask<D> isNan(V v) { return hn::Ne(v, v); }

// Below -88 exp underflows (hn::Exp gives 0 there) and 1 / (1 + 0) is 1.
HWY_INLINE V sigmoid(V a) {
  const V one = constant(1.f);
  return hn::Div(one, hn::Add(one, hn::Exp(D(), hn::Neg(a))));
}
HWY_INLINE V keepNan(V a, V result) { return hn::IfThenElse(isNan(a), a, result); }

UNARY(vIdentity, a)
UNARY(vExp, keepNan(a, hn::IfThenElse(hn::Gt(a, constant(88.72283f)), constant(HUGE_VALF), hn::Exp(d, a))))
UNARY(vSqrt, hn::Sqrt(a))
UNARY(vRsqrt, hn::Div(constant(1.f), hn::Sqrt(a)))
UNARY(vRecip, hn::Div(constant(1.f), a))
UNARY(vAbs, hn::Abs(a))
UNARY(vNeg, hn::Neg(a))
UNARY(vTanh, keepNan(a, hn::Tanh(d, hn::Min(hn::Max(a, constant(-20.f)), constant(20.f)))))
UNARY(vCeil, hn::Ceil(a))
UNARY(vFloor, hn::Floor(a))
UNARY(vRound, hn::Round(a))
UNARY(vNot, truth(hn::Eq(a, hn::Zero(d))))
UNARY(vRelu, hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Zero(d), a))
UNARY(vSigmoid, keepNan(a, sigmoid(hn::Min(hn::Max(a, constant(-87.f)), constant(87.f)))))
UNARY(vSoftsign, hn::Div(a, hn::Add(constant(1.f), hn::Abs(a))))
BINARY(vLeakyRelu, hn::IfThenElse(hn::Ge(a, hn::Zero(d)), a, hn::Mul(a, b)))
BINARY(vThresholdedRelu, hn::IfThenElseZero(hn::Gt(a, b), a))
TERNARY(vClip, hn::IfThenElse(hn::Lt(a, b), b, hn::IfThenElse(hn::Gt(a, c), c, a)))
TERNARY(vHardSigmoid, keepNan(a, hn::Min(hn::Max(hn::Add(hn::Mul(b, a), c), hn::Zero(d)), constant(1.f))))
BINARY(vAdd, hn::Add(a, b))
BINARY(vSub, hn::Sub(a, b))
BINARY(vMul, hn::Mul(a, b))
BINARY(vDiv, hn::Div(a, b))
BINARY(vMin, hn::IfThenElse(hn::Or(hn::Lt(b, a), isNan(b)), b, a))
BINARY(vMax, hn::IfThenElse(hn::Or(hn::Gt(b, a), isNan(b)), b, a))
BINARY(vAnd, truth(hn::And(isTrue(a), isTrue(b))))
BINARY(vOr, truth(hn::Or(isTrue(a), isTrue(b))))
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
    case ScalarOp::k_sqrt: return vSqrt;
    case ScalarOp::k_rsqrt: return vRsqrt;
    case ScalarOp::k_recip: return vRecip;
    case ScalarOp::k_abs: return vAbs;
    case ScalarOp::k_neg: return vNeg;
    case ScalarOp::k_tanh: return vTanh;
    case ScalarOp::k_ceil: return vCeil;
    case ScalarOp::k_floor: return vFloor;
    case ScalarOp::k_round: return vRound;
    case ScalarOp::k_not: return vNot;
    case ScalarOp::k_relu: return vRelu;
    case ScalarOp::k_sigmoid: return vSigmoid;
    case ScalarOp::k_softsign: return vSoftsign;
    case ScalarOp::k_leaky_relu: return vLeakyRelu;
    case ScalarOp::k_thresholded_relu: return vThresholdedRelu;
    case ScalarOp::k_clip: return vClip;
    case ScalarOp::k_hard_sigmoid: return vHardSigmoid;
    case ScalarOp::k_add: return vAdd;
    case ScalarOp::k_sub: return vSub;
    case ScalarOp::k_mul: return vMul;
    case ScalarOp::k_div: return vDiv;
    case ScalarOp::k_min: return vMin;
    case ScalarOp::k_max: return vMax;
    case ScalarOp::k_and: return vAnd;
    case ScalarOp::k_or: return vOr;
    case ScalarOp::k_equal: return vEqual;
    case ScalarOp::k_greater: return vGreater;
    case ScalarOp::k_less: return vLess;
    case ScalarOp::k_select: return vSelect;
    case ScalarOp::k_fma: return vFma;
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

HWY_EXPORT(find);

template <size_t Op>
void scalarLoop(const float* a, const float* b, const float* c, float* out, size_t count) {
  const auto op = static_cast<ops::ScalarOp>(Op);
  const int arity = ops::row(op).arity;
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(ops::evaluateScalar(op, static_cast<double>(a[i]), arity > 1 ? static_cast<double>(b[i]) : 0.0,
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
  limitSimdTargets();
  const VectorFunction fast = HWY_DYNAMIC_DISPATCH(find)(op);
  return fast != nullptr ? fast : kLoops[static_cast<size_t>(op)];
}

}  // namespace tenon::backends::cpu
#endif
