// IActivationLayer.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarOp;

class ActivationLayer final
    : public LayerOf<nv::IActivationLayer, nv::apiv::VActivationLayer, nv::LayerType::kACTIVATION> {
 public:
  using LayerOf::LayerOf;

  void setActivationType(nv::ActivationType type) noexcept override { setEnum("setActivationType", type_, type); }
  nv::ActivationType getActivationType() const noexcept override { return type_; }
  void setAlpha(float alpha) noexcept override { set(alpha_, alpha); }
  void setBeta(float beta) noexcept override { set(beta_, beta); }
  float getAlpha() const noexcept override { return alpha_.value_or(0); }
  float getBeta() const noexcept override { return beta_.value_or(0); }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.add(ops::Pointwise{expression()}, {context.input(0)})};
  }

 private:
  ScalarExpr expression() const {
    using Type = nv::ActivationType;
    const auto x = ScalarArgument::input(0);
    const auto alpha = ScalarArgument::constant(getAlpha());
    const auto beta = ScalarArgument::constant(getBeta());
    switch (type_) {
      case Type::kRELU: return ScalarExpr::of(ScalarOp::k_relu);
      case Type::kSIGMOID: return ScalarExpr::of(ScalarOp::k_sigmoid);
      case Type::kTANH: return ScalarExpr::of(ScalarOp::k_tanh);
      case Type::kLEAKY_RELU: return ScalarExpr::of(ScalarOp::k_leaky_relu, {x, alpha});
      case Type::kELU: return ScalarExpr::of(ScalarOp::k_elu, {x, alpha});
      case Type::kSELU: return ScalarExpr::of(ScalarOp::k_selu, {x, alpha, beta});
      case Type::kSOFTSIGN: return ScalarExpr::of(ScalarOp::k_softsign);
      case Type::kSOFTPLUS: return softplus();
      case Type::kCLIP: return ScalarExpr::of(ScalarOp::k_clip, {x, alpha, beta});
      case Type::kHARD_SIGMOID: return ScalarExpr::of(ScalarOp::k_hard_sigmoid, {x, alpha, beta});
      case Type::kSCALED_TANH: return scaledTanh();
      case Type::kTHRESHOLDED_RELU: return ScalarExpr::of(ScalarOp::k_thresholded_relu, {x, alpha});
      case Type::kGELU_ERF: return ScalarExpr::of(ScalarOp::k_gelu_erf);
      case Type::kGELU_TANH: return ScalarExpr::of(ScalarOp::k_gelu_tanh);
    }
    throw InternalError("activation type {} is not supported", static_cast<int>(type_));
  }

  // alpha * log(exp(beta * x) + 1)
  ScalarExpr softplus() const { return scaled(ScalarOp::k_softplus); }
  // alpha * tanh(beta * x)
  ScalarExpr scaledTanh() const { return scaled(ScalarOp::k_tanh); }

  // Scales that nobody set are 1.
  ScalarExpr scaled(ScalarOp op) const {
    const auto x = ScalarArgument::input(0);
    const float inner = beta_.value_or(1);
    const float outer = alpha_.value_or(1);
    ScalarExpr expr = ScalarExpr::of(op);
    if (inner != 1) expr = expr.compose(0, ScalarExpr::of(ScalarOp::k_mul, {x, ScalarArgument::constant(inner)}));
    if (outer == 1) return expr;
    return ScalarExpr::of(ScalarOp::k_mul, {x, ScalarArgument::constant(outer)}).compose(0, expr);
  }

  nv::ActivationType type_ = nv::ActivationType::kRELU;
  std::optional<float> alpha_;
  std::optional<float> beta_;
};

}  // namespace

LayerInfo layerInfo_activation() { return describeLayer<ActivationLayer>(); }

}  // namespace tenon::api
